# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of trees of arrays, compiled ahead of time for the shapes of their arguments."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.trees import TreeLayout, have_same_values, pack_tree
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'Program',
    'ProgramCache',
    'RowProgram',
    'compile_program',
    'compile_row_program',
    'trace_once',
]

_ONE_FUNCTION_OPTIONS = {
    'xla_cpu_use_thunk_runtime': False,
    'xla_disable_hlo_passes': 'cpu-parallel-task-assigner',
    'xla_cpu_multi_thread_eigen': False,
}
"""A tick is hundreds of small operations, written out a thousand. XLA's newer CPU runtime makes a
call for each; its older one, as long as JAX has it, compiles them all into one function. Threads
that share a row wait for one another longer than they work; blocks of a batch have their own."""
_ROUNDING_OPTIONS = (
    {'xla_cpu_max_isa': 'AVX'} if platform.machine().lower() in ('x86_64', 'amd64') else {}
)
"""The newest instructions of x86-64 without fused multiply-add. LLVM fuses a product and a sum
where it meets them together: the same step would have other last bits in another program."""


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
    exact: dict[str, Any] = _ROUNDING_OPTIONS if round_each else {}
    for options in (
        _ONE_FUNCTION_OPTIONS | exact,
        _ONE_FUNCTION_OPTIONS,
        exact,
        {},
    ):  # a JAX may lack one
        try:
            return lowered.compile(compiler_options=options or None)
        except (jax.errors.JaxRuntimeError, ValueError):
            if not options:
                raise
    raise AssertionError


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

    program = compile_program(pack_row, np.zeros(width), subject=subject, round_each=round_each)
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
