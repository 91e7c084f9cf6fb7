# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compilation of a function of a tree ahead of time, and its arithmetic in XLA.

XLA fuses a value into every loop that uses it, and computes it again there: of a batch, a damping
matrix for each of its 36 uses, a controller's law for each thruster. It does not repeat a
division, and has no other way to be told. So a value that is worth it is divided by a 1.0 that the
compiler does not know; x / 1.0 is x to the bit. Newer versions of XLA turn a division by one
scalar into products with its inverse, which they repeat: so each vehicle has a 1.0 of its own.

A row is one array, filled up to whole ``LANES`` with copies of its last number, or a single number
where all are the same. XLA keeps to the order in which a row is added up, so that each addition
waits for the one before it. Here a row is cut in ``LANES`` pieces that are added up, or compared,
side by side. What is left of them is written out: each ``reduce`` costs a call 0.2 µs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.engine.availability import ROUNDING_OPTIONS, precision
from marine_sim_ros.engine.trees import TreeLayout, have_same_values, pack_tree
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'ProgramCache',
    'RowProgram',
    'compile_program',
    'compile_row_program',
    'fill_row',
    'make_row',
    'reuse_common_values',
    'row_max',
    'row_min',
    'row_power',
    'row_sum',
    'trace_once',
]


# Values of a batch that are used more than once are computed once.

MIN_SAVED_OPERATIONS = 8
"""Operations saved by which a value is kept."""
_FREE_OPERATIONS = {'broadcast_in_dim', 'convert_element_type', 'reshape', 'slice', 'squeeze'}
_DEDUPLICATED_OPERATIONS = {'atan2', 'cos', 'div', 'exp', 'log', 'sin', 'sqrt', 'tan', 'tanh'}
"""XLA computes them once anyway."""


def reuse_common_values(
    function: Callable[..., Any],
    one: jax.Array,
    batch: tuple[int, ...],
    worth: int = MIN_SAVED_OPERATIONS,
) -> Callable[..., Any]:
    """Return a function of the same values, in which few of them are computed again.

    Args:
        function: function of trees of arrays, to be traced.
        one: () 1.0, computed from an argument of the program, so that it is no constant.
        batch: shape of what is kept, behind the axes of one vehicle: (N,); with () nothing is.
        worth: operations saved by which a value is kept.
    """
    if not batch:
        return function

    def run(*arguments: Any) -> Any:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        jaxpr = traced.jaxpr
        wanted = [v for eqn in jaxpr.eqns for v in eqn.invars] + jaxpr.outvars
        uses = Counter(v for v in wanted if not isinstance(v, Literal))
        values = dict(zip(jaxpr.constvars, traced.consts, strict=True))
        values |= zip(jaxpr.invars, jax.tree.leaves(arguments), strict=True)
        ones = _batch_ones(one, batch)
        repeated: dict[Any, frozenset[int]] = {}  # operations that each use would repeat

        def value(v: Any) -> Any:
            return v.val if isinstance(v, Literal) else values[v]

        for i, eqn in enumerate(jaxpr.eqns):
            functions, parameters = _bind_parameters(eqn)
            out = eqn.primitive.bind(*functions, *map(value, eqn.invars), **parameters)
            name = eqn.primitive.name
            read = [v for v in eqn.invars if not isinstance(v, Literal)]
            below = [repeated.get(v, frozenset()) for v in read]
            work = frozenset(() if name in _FREE_OPERATIONS else (i,)).union(*below)
            outs = out if eqn.primitive.multiple_results else [out]
            for v, x in zip(eqn.outvars, outs, strict=True):
                values[v] = x
                if name in _DEDUPLICATED_OPERATIONS or x.shape[-1:] != batch:
                    continue
                if x.dtype == one.dtype and (uses[v] - 1) * len(work) >= worth:
                    values[v] = x / ones
                else:
                    repeated[v] = work
        return jax.tree.unflatten(jax.tree.structure(shapes), map(value, jaxpr.outvars))

    return run


def _batch_ones(one: jax.Array, batch: tuple[int, ...]) -> jax.Array:
    """Return 1.0 for each vehicle, in a form that is no broadcast scalar to the compiler."""
    if not hasattr(jax, 'enable_x64'):  # before JAX 0.8 a scalar serves, and costs 4 % less
        return one
    count = jax.lax.broadcasted_iota(one.dtype, batch, 0)
    return jnp.minimum(count + one, one)


def _bind_parameters(eqn: Any) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return functions and parameters of an operation; from JAX 0.10 on, parameters hold both."""
    found = eqn.primitive.get_bind_params(eqn.params)
    return found if isinstance(found, tuple) else ((), found)


# Long rows of numbers, such as one over all panels of a hull, in a form that XLA is fast on.

VECTOR_LANES = 8

PRODUCTS = (1, 2, 3, 4)
"""Exponents of which a power is a product."""

Row = Any
"""A number, a JAX array (), or one of JAX or NumPy of a whole number of ``LANES``."""


def _row_length(length: int) -> int:
    return -(-length // VECTOR_LANES) * VECTOR_LANES


def make_row(numbers: Any) -> Row:
    """Return an array (n,) of NumPy or JAX as a row."""
    if isinstance(numbers, np.ndarray) and (numbers == numbers[0]).all():
        return numbers[0].item()
    missing = _row_length(len(numbers)) - len(numbers)
    pad = np.pad if isinstance(numbers, np.ndarray) else jnp.pad
    return pad(numbers, (0, missing), mode='edge') if missing else numbers


def fill_row(numbers: Row, length: int, dtype: Any) -> Any:
    """Return a row of a length as one array, without numbers that stand for all."""
    return jnp.broadcast_to(jnp.asarray(numbers, dtype), (_row_length(length),))


def row_sum(numbers: Row, length: int) -> Row:
    """Return the sum of a row of a length."""
    if jnp.ndim(numbers) == 0:
        return numbers * length
    if len(numbers) > length:
        numbers = numbers * (np.arange(len(numbers)) < length)
    pieces = numbers.reshape(VECTOR_LANES, -1)
    sums = pieces @ jnp.ones_like(pieces[0])
    return sum((sums[i] for i in range(1, VECTOR_LANES)), sums[0])


def row_power(numbers: Row, exponents: Row) -> Row:
    """Return a^b of numbers a ≥ 0; XLA has vectors of products, exp and log, but not of powers."""
    if not isinstance(exponents, np.ndarray) or not np.isin(exponents, PRODUCTS).all():
        return jnp.where(exponents == 0, 1.0, jnp.exp(exponents * jnp.log(numbers)))
    result = numbers
    for exponent in range(2, int(exponents.max()) + 1):
        result = jnp.where(exponents >= exponent, result * numbers, result)
    return result


def _pairwise_reduction(pair: Callable[[Any, Any], Any]) -> Any:
    def apply(numbers: Row, length: int) -> Row:
        del length  # what a row is filled up with is one of its own
        if jnp.ndim(numbers) == 0:
            return numbers
        while (count := len(numbers)) > 1:
            size = -(-count // VECTOR_LANES)
            starts = (min(start, count - size) for start in range(0, count, size))
            numbers = reduce(pair, [numbers[start : start + size] for start in starts])
        return numbers[0]

    return apply


row_max, row_min = _pairwise_reduction(jnp.maximum), _pairwise_reduction(jnp.minimum)


_ONE_FUNCTION_OPTIONS = {
    **({'xla_cpu_use_thunk_runtime': False} if jax.__version_info__ < (0, 7) else {}),
    'xla_disable_hlo_passes': 'cpu-parallel-task-assigner',
    'xla_cpu_multi_thread_eigen': False,
    'xla_cpu_experimental_ynn_fusion_type': '',
}
"""A tick is hundreds of small operations, written out a thousand. XLA's older CPU runtime (JAX
0.6) compiles them into one function. Its newer one does so with a loop of few bytes that calls no
library, neither LAPACK nor YNN, and else makes a call for each. Threads that share a row wait for
one another longer than they work; blocks of a batch have their own. JAX versions lack some of
these options, and 0.7 has the one of the older runtime without that runtime."""


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled function.

    Attributes:
        call: executable; it must run within :func:`~marine_sim_ros.engine.availability.precision`.
        dtype: ``float64`` or ``float32``.
        compile_time: duration of tracing and compiling, s; short where JAX has the program cached.
    """

    call: Callable[..., Any]
    dtype: str
    compile_time: float

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's tree of NumPy arrays; arguments have the compiled shapes."""
        with precision(self.dtype):
            return jax.tree.map(np.asarray, self.call(*arguments))


def compile_program(
    function: Callable[..., Any],
    *arguments: Any,
    subject: str,
    dtype: str = 'float64',
    round_each: bool = False,
) -> Program:
    """Trace, lower and compile a function of trees of arrays.

    Args:
        function: function that JAX can trace.
        arguments: trees of arrays; shapes and types count, numbers do not.
        subject: what is compiled, for error messages: a vehicle's name.
        dtype: ``float64`` or ``float32``.
        round_each: round every product and every sum, so that a step has the same bits in every
            program (on x86-64).

    Raises:
        MarineSimError: the function cannot be compiled.
    """
    begun = time.perf_counter()
    with precision(dtype):
        try:
            lowered = jax.jit(function).lower(*arguments)
        except MarineSimError:
            raise
        except Exception as error:  # a function that JAX cannot trace may raise anything
            reason = f'{type(error).__name__}: {error}'.splitlines()[0]
            raise ParameterError(
                f'engine jax: {subject} cannot be compiled: {reason}; expected --engine numpy'
            ) from error
        call = _compile_lowered(lowered, round_each=round_each)
    return Program(call, dtype, time.perf_counter() - begun)


def _compile_lowered(lowered: jax.stages.Lowered, *, round_each: bool) -> jax.stages.Compiled:
    options: dict[str, Any] = _ONE_FUNCTION_OPTIONS | (ROUNDING_OPTIONS if round_each else {})
    while True:
        try:
            return lowered.compile(compiler_options=options or None)
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            unknown = [name for name in options if name in str(error)]
            if not unknown:
                raise
            options = {name: value for name, value in options.items() if name not in unknown}


def trace_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that JAX traces only once, however often a program uses it."""
    return jax.jit(function)


# Functions of one row of numbers: a call has one argument and one result, which costs least.


@dataclass(frozen=True, eq=False)
class RowProgram(Program):
    """A compiled function from a row of numbers to trees, whose numbers it returns in one row.

    Attributes:
        layouts: layouts of the trees, in their order in the row.
    """

    layouts: tuple[TreeLayout, ...]

    def __call__(self, row: np.ndarray) -> np.ndarray:
        """Return the numbers of the trees in one row."""
        with precision(self.dtype):
            return np.asarray(self.call(row))


def compile_row_program(
    function: Callable[[jax.Array], tuple[Any, ...]],
    width: int,
    *,
    subject: str,
    round_each: bool = False,
) -> RowProgram:
    """Compile a function from a row (width,) of float64 to a tuple of trees.

    The other arguments are those of :func:`compile_program`.
    """
    layouts: list[TreeLayout] = []

    def pack_row(row: jax.Array) -> jax.Array:
        trees = function(row)
        layouts[:] = map(TreeLayout, trees)
        return jnp.concatenate([pack_tree(tree) for tree in trees])

    pack_once = trace_once(pack_row)

    def loop_once(row: jax.Array) -> jax.Array:
        """Return the packed row from a loop, which XLA compiles into one function."""
        count = jnp.where(row[0] < jnp.inf, 1, 2)  # 1, but XLA cannot know it and drop the loop

        def iterate(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            # Else XLA moves what does not change in the loop out of it, which is everything.
            number, held_row = jax.lax.optimization_barrier((carry[0], row))
            return number + 1, pack_once(held_row)

        shape = jax.eval_shape(pack_once, row)
        first = jnp.zeros((), int), jnp.zeros(shape.shape, shape.dtype)
        return jax.lax.while_loop(lambda carry: carry[0] < count, iterate, first)[1]

    program = compile_program(loop_once, np.zeros(width), subject=subject, round_each=round_each)
    return RowProgram(program.call, program.dtype, program.compile_time, tuple(layouts))


# Programs that vehicles of one kind share.

Shared = TypeVar('Shared')
_MAX_KINDS = 16


class ProgramCache(Generic[Shared]):
    """Programs of the last kinds: the same vehicle, with others of the same values."""

    def __init__(self) -> None:
        """Begin with none."""
        self._made: list[tuple[Vehicle, tuple[Any, ...], Shared]] = []

    def find_or_make(
        self, vehicle: Vehicle, others: tuple[Any, ...], make: Callable[[], Shared]
    ) -> Shared:
        """Return the programs of such a kind; make them for the first of it."""
        for known, with_, made in self._made:
            if known is vehicle and have_same_values(with_, others):
                return made
        self._made.append((vehicle, others, make()))
        del self._made[:-_MAX_KINDS]
        return self._made[-1][2]
