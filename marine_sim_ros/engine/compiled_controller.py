# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled closed loop for the controller node: a state in, pulse widths out, in one program call.

``CompiledLoop`` does what :class:`~marine_sim_ros.control.closed_loop.ClosedLoop` does. Which
thrusters have failed is an argument of its program, so a failure compiles nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.control.allocator import Allocation, Allocator
from marine_sim_ros.control.closed_loop import ClosedLoop, LoopOutput, begin_loop, loop_step
from marine_sim_ros.control.controller_model import (
    SETPOINT_QUANTITIES,
    ControllerSettings,
    find_controller_model,
)
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.engine.availability import precision, wait_for_programs
from marine_sim_ros.engine.components import components
from marine_sim_ros.engine.loop import broadcast_carry, report_arrays
from marine_sim_ros.engine.program import ProgramCache, RowProgram, compile_row_program
from marine_sim_ros.engine.script import make_control
from marine_sim_ros.engine.thrust_tables import allocation_tables
from marine_sim_ros.engine.trees import TreeLayout, compute_cached_properties, tree_row
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['CompiledLoop', 'select_closed_loop']

TIME_TOLERANCE = 1e-9
"""Difference, s, up to which a measured step counts as the step that was compiled."""

_CONTROLLER_PROGRAMS: ProgramCache[RowProgram] = ProgramCache()
"""Programs from a row of :class:`_Inputs` to the next memory and the answer."""


class _Inputs(NamedTuple):
    """Inputs of a controller's program, in their order in its row."""

    memory: Any
    setpoint: Any
    state: State
    since: Any
    tables: Mapping[str, Any]


def _allocation_row(allocator: Allocator, failed: np.ndarray) -> np.ndarray:
    """Return the allocation tables without failed thrusters (n,) as a row.

    The segment without failures beside it gives the tables the shapes of all thrusters.
    """
    none = np.zeros(len(failed), bool)
    tables = allocation_tables(allocator, [none, failed], whole_microseconds=True).tables
    return tree_row({name: table[1] for name, table in tables.items()})


def _compile_controller(vehicle: Vehicle, settings: ControllerSettings, dt: float) -> RowProgram:
    none = np.zeros(len(vehicle.thrusters), bool)
    control = compute_cached_properties(
        make_control(vehicle, settings, [True], [none], whole_microseconds=True)
    )

    def to_program(x: Any) -> Any:
        array = jnp.asarray(x, float)
        return components(array, array.ndim) if control.scalarisable else array

    def initial_memory(state: State) -> Any:
        start = State(*map(to_program, state))
        extended = control.allocation.extended
        memory = begin_loop(control.law, len(none), start, dt=dt, extended=extended)
        return broadcast_carry(memory, (), jnp.float64)

    with precision('float64'):
        memory_shapes = jax.eval_shape(initial_memory, state_at_rest())
    tables = {name: table[0] for name, table in control.allocation.tables.items()}
    layout = TreeLayout(
        _Inputs(
            memory_shapes,
            np.zeros(len(SETPOINT_QUANTITIES)),
            state_at_rest(),
            np.zeros(()),
            tables,
        )
    )

    def answer_row(row: jax.Array) -> tuple[Any, Any]:
        inputs: _Inputs = layout.unpack(row)
        output, next_memory = loop_step(
            control.law,
            replace(control.allocation, **{n: to_program(x) for n, x in inputs.tables.items()}),
            to_program(inputs.setpoint),
            State(*map(to_program, inputs.state)),
            inputs.memory,
            dt=to_program(inputs.since),
            stages=control.stages,
            steering=control.steering,
        )
        answer = report_arrays({**vars(output.allocation), 'wrench': output.wrench}, row.dtype)
        return broadcast_carry(next_memory, (), row.dtype), answer

    return compile_row_program(answer_row, layout.size, subject=vehicle.name, round_each=True)


class CompiledLoop(ClosedLoop):
    """A closed loop whose memory is a time and a row of numbers."""

    def __init__(self, vehicle: Vehicle, settings: ControllerSettings, *, dt: float) -> None:
        """Compile for states that are dt (s) apart.

        Raises:
            MarineSimError: JAX is missing, or settings that do not fit the vehicle.
        """
        super().__init__(vehicle, settings)
        wait_for_programs()
        compile_ = partial(_compile_controller, vehicle, settings, dt)
        self._program = _CONTROLLER_PROGRAMS.find_or_make(vehicle, (settings, dt), compile_)
        self._dt = dt
        self._allocation_rows: dict[bytes, np.ndarray] = {}

    def _allocation_without(self, failed: np.ndarray | None) -> np.ndarray:
        """Return the row of the allocation without failed thrusters (n,)."""
        mask = np.zeros(self._count, bool) if failed is None else failed
        key = mask.tobytes()
        if key not in self._allocation_rows:
            self._allocation_rows[key] = _allocation_row(self._allocator, mask)
        return self._allocation_rows[key]

    def _begin(self, state: State) -> np.ndarray:
        return tree_row(
            begin_loop(
                self.law, self._count, state, dt=self._dt, extended=self._allocator.extended
            )
        )

    def _answer(
        self,
        setpoint: np.ndarray,
        state: State,
        memory: np.ndarray,
        dt: float,
        failed: np.ndarray | None,
    ) -> tuple[LoopOutput, np.ndarray]:
        since = self._dt if abs(dt - self._dt) < TIME_TOLERANCE else dt
        # The order is that of _Inputs; the row of the allocation is computed once per failure.
        inputs = (memory, setpoint, *state, (since,), self._allocation_without(failed))
        out = self._program(np.concatenate(inputs))
        memory_layout, answer_layout = self._program.layouts
        answer = answer_layout.unpack(out[memory_layout.size :])
        wrench = answer.pop('wrench')
        allocation = Allocation(**answer | {'saturated': bool(answer['saturated'])})
        return LoopOutput(allocation.pwm, wrench, allocation), out[: memory_layout.size]


def select_closed_loop(vehicle: Vehicle, settings: ControllerSettings, *, dt: float) -> ClosedLoop:
    """Return the faster closed loop for states that are dt (s) apart.

    A law that stores arrays, such as a window of past errors, is faster with NumPy.
    """
    if find_controller_model(settings).scalar:
        return CompiledLoop(vehicle, settings, dt=dt)
    return ClosedLoop(vehicle, settings)
