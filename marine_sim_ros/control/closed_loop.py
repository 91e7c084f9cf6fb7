# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From set-points and state to pulse widths: a control law in front of the allocation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from marine_sim_ros.control.allocator import (
    Allocation,
    AllocationStage,
    Allocator,
    allocate_in_stages,
    allocation_stages,
)
from marine_sim_ros.control.controllability import ExtendedThrust
from marine_sim_ros.control.controller_model import ControllerSettings, Law, make_law
from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['FIRST_STEP', 'ClosedLoop', 'LoopMemory', 'LoopOutput', 'loop_step']

FIRST_STEP = 0.005
"""s, taken for the time since the step before where there was none."""


class LoopMemory(NamedTuple):
    """What the loop carries from tick to tick.

    Attributes:
        law: the law's memory.
        unachieved: (6,) 1.0 for axes of the last wrench that were not achieved, else 0.0.
        residual: thrust (n,) that rounding and the dead zone took and that is still due, N.
        actuators: commands (k,) from which the next ones follow, by the name of the actuator.
    """

    law: Any
    unachieved: Array
    residual: Array
    actuators: Mapping[str, Array]


class WrenchAllocation(Protocol):
    """How a wrench becomes pulse widths."""

    def share(
        self, wrench: Array, residual: Array, before: Mapping[str, Array], dt: Any
    ) -> Allocation:
        """Return the commands for a wrench (6,).

        Args:
            wrench: about the centre of mass, body frame.
            residual: (n,) thrusts that are owed, N.
            before: commands (k,) of actuators dt (s) before, by name.
            dt: s.
        """


class LoopOutput(NamedTuple):
    """What the loop answers a state with.

    Attributes:
        pwm: (n,) µs, whole numbers.
        wrench: (6,) commanded wrench about the centre of mass, body frame.
        allocation: thrusts and pulse widths computed for that wrench.
    """

    pwm: Array
    wrench: Array
    allocation: Allocation


def begin_loop(
    law: Law, count: int, state: State, *, dt: float | None = None, extended: ExtendedThrust | None
) -> LoopMemory:
    """Return the memory of a start without a jump, with so many thrusters.

    Args:
        law: control law, from :func:`~marine_sim_ros.control.controller_model.make_law`.
        count: number of thrusters.
        state: state of the vehicle.
        dt: step for which the memory keeps its shapes, s; None where it may grow.
        extended: of the thrusters that turn, which start at 0, or None.
    """
    nothing = state.velocity * 0.0
    none = nothing[:1] + np.zeros(count)
    actuators = {}
    if extended is not None:
        actuators[extended.name] = nothing[:1] + np.zeros(extended.turns.shape[1])
    return LoopMemory(law.begin(state, dt=dt), nothing, none, actuators)


def loop_step(
    law: Law,
    sharing: WrenchAllocation,
    wanted: Array,
    state: State,
    memory: LoopMemory,
    *,
    dt: Any,
    stages: Mapping[str, AllocationStage],
) -> tuple[LoopOutput, LoopMemory]:
    """Return the command for a state, and the memory: what every engine runs.

    Args:
        law: control law, from :func:`~marine_sim_ros.control.controller_model.make_law`.
        sharing: allocation of the wrench among the thrusters.
        wanted: set-points (12,), NaN where free.
        state: state of the vehicle.
        memory: memory, from :func:`begin_loop` or the previous step.
        dt: since the step before, s.
        stages: what takes part of the wrench before the thrusters, by name of the actuator.
    """
    for stage in stages.values():
        wanted = stage.guide(wanted, state.position[2:3])
    wrench, following = law.wrench(wanted, state, memory.law, unachieved=memory.unachieved, dt=dt)

    def allocate(rest: Array) -> Allocation:
        return sharing.share(rest, memory.residual, memory.actuators, dt)

    found = allocate_in_stages(stages, allocate, wrench, state.velocity[0])
    residual = found.residual if law.error_diffusion else memory.residual
    actuators = {name: found.actuators[name] for name in memory.actuators}
    kept = LoopMemory(following, found.unachieved, residual, actuators)
    return LoopOutput(found.pwm, wrench, found), kept


class _DegradedAllocator:
    """An allocator with some thrusters left out."""

    def __init__(self, allocator: Allocator, failed: np.ndarray | None) -> None:
        self._allocator, self._failed = allocator, failed

    def share(
        self, wrench: Array, residual: Array, before: Mapping[str, Array], dt: Any
    ) -> Allocation:
        return self._allocator.allocate(
            wrench, failed=self._failed, residual=residual, before=before, dt=dt
        )


class ClosedLoop:
    """A controller of one vehicle: (set-points, time, state, memory) -> (output, memory)."""

    def __init__(
        self, vehicle: Vehicle, settings: ControllerSettings, *, method: str = 'bounded'
    ) -> None:
        """Set up a law and the allocation about the centre of mass.

        Args:
            vehicle: the vehicle to control.
            settings: controller settings, from
                :func:`marine_sim_ros.control.controller_model.load_controller`.
            method: allocation method, ``bounded`` or ``pseudo_inverse``.
        """
        self.law = make_law(settings, vehicle)
        self._to_center = transport(-vehicle.inertia.center_of_mass).T
        self._stages = allocation_stages(vehicle)
        self._count = len(vehicle.thrusters)
        self._allocator = Allocator(
            vehicle.thrusters, vehicle.inertia.center_of_mass, method=method
        )

    def push(
        self, wrench: np.ndarray, state: State, *, failed: np.ndarray | None = None
    ) -> LoopOutput:
        """Return the command for a wrench (6,) about base_link at a state, without any loop."""
        at_center = self._to_center @ wrench
        allocate = partial(self._allocator.allocate, failed=failed)
        allocation = allocate_in_stages(self._stages, allocate, at_center, state.velocity[0])
        return LoopOutput(allocation.pwm, at_center, allocation)

    def step(
        self,
        wanted: np.ndarray,
        time: float,
        state: State,
        memory: tuple[float, Any] | None,
        *,
        failed: np.ndarray | None = None,
    ) -> tuple[LoopOutput, tuple[float, Any]]:
        """Return the command for a state.

        Args:
            wanted: set-points (12,), NaN where free.
            time: time of the state, s.
            state: state of the vehicle.
            memory: time and memory of the step before; None to start, without a jump.
            failed: (n,) thrusters to leave out.
        """
        before, kept = (time, None) if memory is None else memory
        if kept is None or time < before:
            before, kept = time, self._begin(state)
        dt = time - before if time > before else FIRST_STEP
        output, following = self._answer(wanted, state, kept, dt, failed)
        return output, (time, following)

    def _begin(self, state: State) -> Any:
        """Return the memory of a start."""
        return begin_loop(self.law, self._count, state, extended=self._allocator.extended)

    def _answer(
        self, wanted: np.ndarray, state: State, memory: Any, dt: float, failed: np.ndarray | None
    ) -> tuple[LoopOutput, Any]:
        """Return the command for a state dt (s) after the one before, and the memory."""
        sharing = _DegradedAllocator(self._allocator, failed)
        return loop_step(self.law, sharing, wanted, state, memory, dt=dt, stages=self._stages)
