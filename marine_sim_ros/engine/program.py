# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ahead-of-time compilation by XLA: common subexpressions, reductions of rows, cached programs.

XLA fuses a value into every loop that uses it and recomputes it there: in a batch, a damping
matrix at each of its 36 uses, a control law for each thruster. It does not recompute a division,
and has no option for this. So a value that is expensive enough is divided by a 1.0 that the
compiler cannot know; x / 1.0 is x to the bit. Newer versions of XLA turn a division by one scalar
into products
with its inverse, and recompute those: so each vehicle of a batch has its own 1.0.

A row is one array, padded to a multiple of ``VECTOR_LANES`` with copies of its last number, or a
single number if all are equal. XLA adds up a row in order, each addition waiting for the one
before. Here a row is cut into ``VECTOR_LANES`` pieces that are added or compared in parallel; the
last few partial results are combined one by one, since each ``reduce`` costs 0.2 µs per call.
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


# Common subexpressions: values of a batch that are used more than once are computed once.

MIN_SAVED_OPERATIONS = 8
"""Operations that storing a value must save."""
_FREE_OPERATIONS = {'broadcast_in_dim', 'convert_element_type', 'reshape', 'slice', 'squeeze'}
_DEDUPLICATED_OPERATIONS = {'atan2', 'cos', 'div', 'exp', 'log', 'sin', 'sqrt', 'tan', 'tanh'}
"""XLA computes them once anyway."""


def reuse_common_values(
    function: Callable[..., Any],
    one: jax.Array,
    batch: tuple[int, ...],
    min_saved: int = MIN_SAVED_OPERATIONS,
) -> Callable[..., Any]:
    """Return a function with equal values that recomputes few intermediate values.

    Args:
        function: function of trees of arrays, to be traced.
        one: () 1.0, computed from an argument of the program, so that it is no constant.
        batch: shape of the stored values after the axes of one vehicle: (N,); with () the function
            is returned unchanged.
        min_saved: operations saved by which a value is kept.
    """
    if not batch:
        return function

    def run(*arguments: Any) -> Any:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        jaxpr = traced.jaxpr
        inputs = [v for eqn in jaxpr.eqns for v in eqn.invars] + jaxpr.outvars
        uses = Counter(v for v in inputs if not isinstance(v, Literal))
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
            variables = [v for v in eqn.invars if not isinstance(v, Literal)]
            repeated_by_input = [repeated.get(v, frozenset()) for v in variables]
            repeated_operations = frozenset(() if name in _FREE_OPERATIONS else (i,)).union(
                *repeated_by_input
            )
            outs = out if eqn.primitive.multiple_results else [out]
            for v, x in zip(eqn.outvars, outs, strict=True):
                values[v] = x
                if name in _DEDUPLICATED_OPERATIONS or x.shape[-1:] != batch:
                    continue
                if x.dtype == one.dtype and (uses[v] - 1) * len(repeated_operations) >= min_saved:
                    values[v] = x / ones
                else:
                    repeated[v] = repeated_operations
        return jax.tree.unflatten(jax.tree.structure(shapes), map(value, jaxpr.outvars))

    return run


def _batch_ones(one: jax.Array, batch: tuple[int, ...]) -> jax.Array:
    """Return a 1.0 for each vehicle that the compiler does not see as a broadcast scalar."""
    if not hasattr(jax, 'enable_x64'):  # before JAX 0.8 a scalar is enough, and costs 4 % less
        return one
    count = jax.lax.broadcasted_iota(one.dtype, batch, 0)
    return jnp.minimum(count + one, one)


def _bind_parameters(eqn: Any) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return functions and parameters of an operation; from JAX 0.10 on, parameters hold both."""
    parameters = eqn.primitive.get_bind_params(eqn.params)
    return parameters if isinstance(parameters, tuple) else ((), parameters)


# Long rows of numbers, such as one over all panels of a hull, in a form that XLA vectorises.

VECTOR_LANES = 8
"""Numbers in a vector register: eight float64 of AVX-512."""
PRODUCTS = (1, 2, 3, 4)
"""Exponents for which a power is computed by repeated multiplication."""

Row = Any
"""A number, a JAX array (), or a JAX or NumPy array of a multiple of ``VECTOR_LANES``."""


def _row_length(length: int) -> int:
    return -(-length // VECTOR_LANES) * VECTOR_LANES


def make_row(numbers: Any) -> Row:
    """Return an array (n,) of NumPy or JAX as a row."""
    if isinstance(numbers, np.ndarray) and (numbers == numbers[0]).all():
        return numbers[0].item()
    padding = _row_length(len(numbers)) - len(numbers)
    pad = np.pad if isinstance(numbers, np.ndarray) else jnp.pad
    return pad(numbers, (0, padding), mode='edge') if padding else numbers


def fill_row(numbers: Row, length: int, dtype: Any) -> Any:
    """Return a row of a length as one array; a single number is broadcast."""
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
        del length  # the padding repeats a number of the row, which changes no extremum
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
"""Options that compile a tick into one machine function. A tick is hundreds of small operations.
XLA's older CPU runtime (JAX 0.6) compiles them into one function. The newer one does so only in a
loop of few bytes that calls no library, neither LAPACK nor YNN; otherwise each operation is a
call. XLA's own threads are off: sharing one row takes longer than computing it, and the blocks of
a batch have their own threads. Some JAX versions lack some of these options; 0.7 accepts the
option of the older runtime without having that runtime, so it is left out there."""


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
    start_time = time.perf_counter()
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
    return Program(call, dtype, time.perf_counter() - start_time)


def _compile_lowered(lowered: jax.stages.Lowered, *, round_each: bool) -> jax.stages.Compiled:
    options: dict[str, Any] = _ONE_FUNCTION_OPTIONS | (ROUNDING_OPTIONS if round_each else {})
    while True:
        try:
            return lowered.compile(compiler_options=options or None)
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            unsupported = [name for name in options if name in str(error)]
            if not unsupported:
                raise
            options = {name: value for name, value in options.items() if name not in unsupported}


def trace_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that JAX traces once, no matter how often a program uses it."""
    return jax.jit(function)


# Functions of one row of numbers: one argument and one result make the cheapest call.


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
            # Without the barrier XLA would hoist the loop-invariant body, all of it, out of the
            # loop.
            iteration, held_row = jax.lax.optimization_barrier((carry[0], row))
            return iteration + 1, pack_once(held_row)

        shape = jax.eval_shape(pack_once, row)
        first = jnp.zeros((), int), jnp.zeros(shape.shape, shape.dtype)
        return jax.lax.while_loop(lambda carry: carry[0] < count, iterate, first)[1]

    program = compile_program(loop_once, np.zeros(width), subject=subject, round_each=round_each)
    return RowProgram(program.call, program.dtype, program.compile_time, tuple(layouts))


# Programs that several objects of this process share.

Programs = TypeVar('Programs')
_MAX_ENTRIES = 16


class ProgramCache(Generic[Programs]):
    """Cache of the last programs by vehicle (identity) and further values (equality)."""

    def __init__(self) -> None:
        """Create an empty cache."""
        self._entries: list[tuple[Vehicle, tuple[Any, ...], Programs]] = []

    def find_or_make(
        self, vehicle: Vehicle, key: tuple[Any, ...], make: Callable[[], Programs]
    ) -> Programs:
        """Return the programs of a vehicle and key; make them at the first request."""
        for cached_vehicle, cached_key, programs in self._entries:
            if cached_vehicle is vehicle and have_same_values(cached_key, key):
                return programs
        self._entries.append((vehicle, key, make()))
        del self._entries[:-_MAX_ENTRIES]
        return self._entries[-1][2]
