# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loop: control law and allocation, from set-points and state to pulse widths."""

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
from marine_sim_ros.control.controller_model import ControllerSettings, Law, make_law
from marine_sim_ros.control.effectors import ExtendedThrust
from marine_sim_ros.control.line_of_sight import LineOfSight, make_line_of_sight
from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['FIRST_STEP', 'ClosedLoop', 'LoopMemory', 'LoopOutput', 'loop_step']

FIRST_STEP = 0.005
"""Step assumed in the first tick, s."""


class LoopMemory(NamedTuple):
    """State of the loop.

    Attributes:
        law: the law's memory.
        unachieved: (6,) 1.0 for axes of the last wrench that were not achieved, else 0.0.
        residual: (n,) thrust lost by rounding and dead zone, to be compensated, N.
        actuators: commands (k,) of the previous tick, by name of the actuator.
    """

    law: Any
    unachieved: Array
    residual: Array
    actuators: Mapping[str, Array]


class WrenchAllocation(Protocol):
    """Allocation of a wrench to pulse widths."""

    def allocate(
        self, wrench: Array, residual: Array, previous: Mapping[str, Array], dt: Any
    ) -> Allocation:
        """Return the commands for a wrench (6,).

        Args:
            wrench: about the centre of mass, body frame.
            residual: (n,) thrust lost by rounding in earlier ticks, N.
            previous: commands (k,) of actuators in the previous tick, by name.
            dt: s.
        """


class LoopOutput(NamedTuple):
    """Commands of the loop for a state.

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
    """Return the memory of a bumpless start.

    Args:
        law: control law, from :func:`~marine_sim_ros.control.controller_model.make_law`.
        count: number of thrusters.
        state: state of the vehicle.
        dt: step for which the memory has constant shapes, s; None: it may grow.
        extended: extended thrust of thrusters that turn, which start at 0; None: all are fixed.
    """
    zero_axes = state.velocity * 0.0
    zero_thrust = zero_axes[:1] + np.zeros(count)
    actuators = {}
    if extended is not None:
        actuators[extended.name] = zero_axes[:1] + np.zeros(extended.turns.shape[1])
    return LoopMemory(law.begin(state, dt=dt), zero_axes, zero_thrust, actuators)


def loop_step(
    law: Law,
    allocation: WrenchAllocation,
    setpoint: Array,
    state: State,
    memory: LoopMemory,
    *,
    dt: Any,
    stages: Mapping[str, AllocationStage],
    steering: LineOfSight | None = None,
) -> tuple[LoopOutput, LoopMemory]:
    """Return the command for a state, and the next memory; every engine runs this function.

    Args:
        law: control law, from :func:`~marine_sim_ros.control.controller_model.make_law`.
        allocation: allocation of the wrench among the thrusters.
        setpoint: set-points (12,), NaN where free.
        state: state of the vehicle.
        memory: memory, from :func:`begin_loop` or the previous step.
        dt: time since the previous step, s.
        stages: allocation to actuators, which precedes that to the thrusters, by name.
        steering: steering by heading of a vehicle without sway; None: of others.
    """
    if steering is not None:
        setpoint = steering.guide(setpoint, state)
    for stage in stages.values():
        setpoint = stage.guide(setpoint, state.position[2:3])
    wrench, law_memory = law.wrench(
        setpoint, state, memory.law, unachieved=memory.unachieved, dt=dt
    )

    def allocate(remaining: Array) -> Allocation:
        return allocation.allocate(remaining, memory.residual, memory.actuators, dt)

    allocated = allocate_in_stages(stages, allocate, wrench, state.velocity[0])
    residual = allocated.residual if law.error_diffusion else memory.residual
    actuators = {name: allocated.actuators[name] for name in memory.actuators}
    next_memory = LoopMemory(law_memory, allocated.unachieved, residual, actuators)
    return LoopOutput(allocated.pwm, wrench, allocated), next_memory


class _DegradedAllocator:
    """An allocator with some thrusters left out."""

    def __init__(self, allocator: Allocator, failed: np.ndarray | None) -> None:
        self._allocator, self._failed = allocator, failed

    def allocate(
        self, wrench: Array, residual: Array, previous: Mapping[str, Array], dt: Any
    ) -> Allocation:
        return self._allocator.allocate(
            wrench, failed=self._failed, residual=residual, previous=previous, dt=dt
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
        self._steering = make_line_of_sight(vehicle)
        self._count = len(vehicle.thrusters)
        self._allocator = Allocator(
            vehicle.thrusters, vehicle.inertia.center_of_mass, method=method
        )

    def open_loop_command(
        self, wrench: np.ndarray, state: State, *, failed: np.ndarray | None = None
    ) -> LoopOutput:
        """Return the open-loop command for a wrench (6,) about base_link at a state."""
        at_center = self._to_center @ wrench
        allocate = partial(self._allocator.allocate, failed=failed)
        allocation = allocate_in_stages(self._stages, allocate, at_center, state.velocity[0])
        return LoopOutput(allocation.pwm, at_center, allocation)

    def step(
        self,
        setpoint: np.ndarray,
        time: float,
        state: State,
        memory: tuple[float, Any] | None,
        *,
        failed: np.ndarray | None = None,
    ) -> tuple[LoopOutput, tuple[float, Any]]:
        """Return the command for a state.

        Args:
            setpoint: set-points (12,), NaN where free.
            time: time of the state, s.
            state: state of the vehicle.
            memory: time and memory of the previous step; None: bumpless start.
            failed: (n,) thrusters to leave out.
        """
        previous_time, loop_memory = (time, None) if memory is None else memory
        if loop_memory is None or time < previous_time:
            previous_time, loop_memory = time, self._begin(state)
        dt = time - previous_time if time > previous_time else FIRST_STEP
        output, next_memory = self._answer(setpoint, state, loop_memory, dt, failed)
        return output, (time, next_memory)

    def _begin(self, state: State) -> Any:
        """Return the memory of a start."""
        return begin_loop(self.law, self._count, state, extended=self._allocator.extended)

    def _answer(
        self, setpoint: np.ndarray, state: State, memory: Any, dt: float, failed: np.ndarray | None
    ) -> tuple[LoopOutput, Any]:
        """Return the command for a state dt (s) after the previous one, and the next memory."""
        allocation = _DegradedAllocator(self._allocator, failed)
        return loop_step(
            self.law,
            allocation,
            setpoint,
            state,
            memory,
            dt=dt,
            stages=self._stages,
            steering=self._steering,
        )
