# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ahead-of-time compilation by XLA: programs of trees and of rows, and their cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.engine.availability import ROUNDING_OPTIONS, precision
from marine_sim_ros.engine.trees import TreeLayout, have_same_values, pack_tree
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['ProgramCache', 'RowProgram', 'compile_program', 'compile_row_program', 'trace_once']


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
