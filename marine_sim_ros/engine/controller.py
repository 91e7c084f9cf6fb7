# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A controller that answers a state with one call of a compiled program, for the compiled graph.

The program is the loop that ``simulate --engine jax`` has within its steps. Which thrusters have
failed is an argument of it, so that nothing is compiled anew where one fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.control.allocator import Allocation, Allocator
from marine_sim_ros.control.closed_loop import ClosedLoop, Output, begin_loop, loop_step
from marine_sim_ros.control.controller_model import ControllerSettings
from marine_sim_ros.control.settings import model_of
from marine_sim_ros.core.state import State, rest
from marine_sim_ros.engine.availability import double_precision, precision, wait_for_programs
from marine_sim_ros.engine.compiled import compiled
from marine_sim_ros.engine.components import components
from marine_sim_ros.engine.control import control_of
from marine_sim_ros.engine.kinds import Kinds
from marine_sim_ros.engine.layout import Layout, packed, row_of
from marine_sim_ros.engine.loop import settled, told
from marine_sim_ros.engine.records import derived
from marine_sim_ros.engine.sharing import allocation_tables_of
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['CompiledLoop', 'fastest_loop']

SAME = 1e-9
"""s; two times whose difference is this near to a step are a step apart."""


class _Program(NamedTuple):
    """A compiled loop, the memory that it takes and leaves, and what it tells."""

    call: Any
    memory: Layout
    told: Layout


_PROGRAMS: Kinds[_Program] = Kinds()


def _plan(allocator: Allocator, failed: np.ndarray) -> np.ndarray:
    """Return the numbers of an allocation without thrusters (n,), as many as with all."""
    none = np.zeros(len(failed), bool)
    both = allocation_tables_of(allocator, [none, failed], whole=True).tables
    return np.concatenate([table[1].reshape(-1) for table in both.values()])


def _compile(vehicle: Vehicle, settings: ControllerSettings, dt: float) -> _Program:
    none = np.zeros(len(vehicle.thrusters), bool)
    control = derived(control_of(vehicle, settings, [True], [none], whole=True))
    azimuths = len(vehicle.thrusters.azimuths or ())
    shapes = {name: table.shape[1:] for name, table in control.allocation.tables.items()}

    def inside(x: Any) -> Any:
        array = jnp.asarray(x, float)
        return components(array, array.ndim) if control.scalarisable else array

    def begun(state: State) -> Any:
        start = State(*map(inside, state))
        memory = begin_loop(control.law, len(none), start, dt=dt, azimuths=azimuths)
        return settled(memory, (), jnp.float64)

    with precision('float64'):
        memory = Layout(jax.eval_shape(begun, rest()))
        sizes = [memory.size, 12, 3, 4, 6, 1, *(int(np.prod(s)) for s in shapes.values())]
        ends = np.cumsum(sizes)[:-1]
        found: dict[str, Layout] = {}

        def answered(row: jax.Array) -> jax.Array:
            kept, wanted, *state, since, rest_ = jnp.split(row, ends[:6])[:7]
            parts = jnp.split(rest_, ends[6:] - ends[5])
            tables = {
                name: inside(part.reshape(shape))
                for (name, shape), part in zip(shapes.items(), parts, strict=True)
            }
            output, after = loop_step(
                control.law,
                replace(control.allocation, **tables),
                inside(wanted),
                State(*map(inside, state)),
                memory.unpacked(kept),
                dt=inside(since[0]),
                fins=control.fins,
            )
            answer = told({**vars(output.allocation), 'wrench': output.wrench}, row.dtype)
            found['told'] = Layout(answer)
            return jnp.concatenate([packed(settled(after, (), row.dtype)), packed(answer)])

        lowered = jax.jit(answered).lower(np.zeros(sum(sizes)))
    return _Program(compiled(lowered, round_each=True), memory, found['told'])


class CompiledLoop(ClosedLoop):
    """A closed loop whose memory is a time and a row of numbers."""

    def __init__(self, vehicle: Vehicle, settings: ControllerSettings, *, dt: float) -> None:
        """Compile for states that are dt (s) apart.

        Raises:
            MarineSimError: JAX is missing, or settings that do not fit the vehicle.
        """
        super().__init__(vehicle, settings)
        wait_for_programs()
        make = partial(_compile, vehicle, settings, dt)
        self._program, self._dt = _PROGRAMS.shared(vehicle, (settings, dt), make), dt
        self._plans: dict[bytes, np.ndarray] = {}

    def _without(self, failed: np.ndarray | None) -> np.ndarray:
        """Return the numbers of the allocation with some thrusters (n,) left out."""
        mask = np.zeros(self._count, bool) if failed is None else failed
        key = mask.tobytes()
        if key not in self._plans:
            self._plans[key] = _plan(self._allocator, mask)
        return self._plans[key]

    def _begin(self, state: State) -> np.ndarray:
        begun = begin_loop(self.law, self._count, state, dt=self._dt, azimuths=self._azimuths)
        return row_of(begun)

    def _answer(
        self,
        wanted: np.ndarray,
        state: State,
        memory: np.ndarray,
        dt: float,
        failed: np.ndarray | None,
    ) -> tuple[Output, np.ndarray]:
        since = self._dt if abs(dt - self._dt) < SAME else dt
        given = [memory, wanted, *state, (since,), self._without(failed)]
        with double_precision():
            out = np.asarray(self._program.call(np.concatenate(given)))
        size = self._program.memory.size
        answer = self._program.told.unpacked(out[size:])
        wrench = answer.pop('wrench')
        found = Allocation(**answer | {'saturated': bool(answer['saturated'])})
        return Output(found.pwm, wrench, found), out[:size]


def fastest_loop(vehicle: Vehicle, settings: ControllerSettings, *, dt: float) -> ClosedLoop:
    """Return the loop that takes the least time for states that are dt (s) apart.

    A law that keeps its arrays, for it remembers a window of the past, takes NumPy less.
    """
    if model_of(settings).scalar:
        return CompiledLoop(vehicle, settings, dt=dt)
    return ClosedLoop(vehicle, settings)
