# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scenario as tables that are read with the time of a tick: commands, and the controller."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.allocator import AllocationStage, Allocator, allocation_stages
from marine_sim_ros.control.closed_loop import FIRST_STEP, LoopMemory, begin_loop, loop_step
from marine_sim_ros.control.controllability import PilotMixer, mix_patterns
from marine_sim_ros.control.controller_model import (
    ControllerSettings,
    Law,
    find_controller_model,
    load_controller,
    make_law,
)
from marine_sim_ros.control.setpoints import depth_effort, empty_setpoints
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.thrust_tables import (
    AllocationTables,
    allocation_tables,
    extend_allocation_tables,
)
from marine_sim_ros.faults.fault_types import Dead
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.sim.player import actuator_target, failed_thrusters
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'ControllerMemory',
    'Script',
    'control_command',
    'extend_script',
    'initial_controller_memory',
    'make_control',
    'make_script',
    'open_loop_pulses',
    'row_at_time',
]


# Tables of which one row holds at a time, read without branches.


def row_at_time(start: Array, table: Array, time: Array) -> Array:
    """Return the row (...) of a table (s, ...) that holds at a time in s."""
    xp = namespace(time)
    rows, starts = constant(xp, table), constant(xp, start)
    result = rows[0]
    for i in range(1, len(start)):
        result = xp.where(starts[i] <= time, rows[i], result)
    return result


# The controller of a scenario, traced: the same laws, with plans by segments of the script.


@dataclass(frozen=True, eq=False)
class LoopControl:
    """What closes the loop.

    Attributes:
        law: control law, from set-points to a wrench.
        allocation: allocation tables, from the wrench to pulse widths, by segment.
        closed: (s,) 1.0 in the segments that have set-points.
        scalarisable: whether the law may be written out number by number.
        stages: what takes part of the wrench before the thrusters, by name of the actuator.
    """

    law: Law
    allocation: AllocationTables
    closed: np.ndarray
    scalarisable: bool = False
    stages: Mapping[str, AllocationStage] = field(default_factory=dict)

    @property
    def always(self) -> bool:
        """Whether every segment has set-points."""
        return isinstance(self.closed, np.ndarray) and bool(self.closed.all())


class ControllerMemory(NamedTuple):
    """Whether the controller was active in the previous tick (1.0), and its memory if so."""

    running: Array
    loop: LoopMemory


def make_control(
    vehicle: Vehicle,
    settings: ControllerSettings,
    closed: Sequence[bool],
    failed: Sequence[np.ndarray],
    *,
    whole: bool,
) -> LoopControl:
    """Return the controller of a vehicle.

    Args:
        vehicle: the vehicle to control.
        settings: controller settings, from
            :func:`~marine_sim_ros.control.controller_model.load_controller`.
        closed: whether a segment has set-points, by segment.
        failed: thrusters (n,) to leave out, by segment.
        whole: whether pulse widths are whole µs, which have no gradient.
    """
    allocator = Allocator(vehicle.thrusters, vehicle.inertia.center_of_mass)
    return LoopControl(
        make_law(settings, vehicle),
        allocation_tables(allocator, failed, whole=whole),
        np.asarray(closed, float),
        find_controller_model(settings).scalar,
        allocation_stages(vehicle),
    )


def extend_control(control: LoopControl, segments: int) -> LoopControl:
    """Return a controller with more segments at its end, all as the last one."""
    closed = np.append(control.closed, np.repeat(control.closed[-1:], segments))
    return replace(
        control, allocation=extend_allocation_tables(control.allocation, segments), closed=closed
    )


def initial_controller_memory(control: LoopControl, state: State, dt: float) -> ControllerMemory:
    """Return the memory of a controller before its first step of dt (s)."""
    none = state.velocity[0] * 0.0
    return ControllerMemory(none, _begin_memory(control, state, dt))


def _begin_memory(control: LoopControl, state: State, dt: float) -> LoopMemory:
    tables = control.allocation
    count = tables.left_out.shape[-1]
    return begin_loop(control.law, count, state, dt=dt, extended=tables.extended)


def control_command(
    control: LoopControl,
    start: Array,
    wanted: Array,
    time: Array,
    state: State,
    memory: ControllerMemory | None,
    *,
    dt: float,
    pwm: Array,
    actuators: Mapping[str, Array],
) -> tuple[Array, dict[str, Array], ControllerMemory]:
    """Return pulse widths (n,) of a tick, commands of actuators, and what to remember.

    Args:
        control: the controller to evaluate.
        start: (s,) of the segments, s.
        wanted: set-points (12,) of this tick, NaN where free.
        time: time of the tick, s.
        state: state of the vehicle.
        memory: memory of the previous tick; None in the first.
        dt: step, s.
        pwm: (n,) of a segment without set-points, µs.
        actuators: commands (k,) of such a segment, by the name of the actuator.
    """
    xp = namespace(state.velocity)
    since: Any = xp.asarray(FIRST_STEP)
    if memory is not None:
        running = memory.running > 0.5
        since = dt if dt == FIRST_STEP else xp.where(running, dt, FIRST_STEP)
    if memory is not None and control.always:
        begun = memory.loop
    else:
        begun = _begin_memory(control, state, dt)
        begun = begun if memory is None else _select_memory(running, memory.loop, begun)
    rows = {
        name: row_at_time(start, table, time) for name, table in control.allocation.tables.items()
    }
    output, following = loop_step(
        control.law,
        replace(control.allocation, **rows),
        wanted,
        state,
        begun,
        dt=since,
        stages=control.stages,
    )
    closed = row_at_time(start, control.closed, time)
    given = {
        name: xp.where(closed > 0.5, angles, actuators[name])
        for name, angles in output.allocation.actuators.items()
    }
    pwm = xp.where(closed > 0.5, output.pwm, pwm)
    return pwm, {**actuators, **given}, ControllerMemory(closed, following)


def _select_memory(condition: Array, one: Any, other: Any) -> Any:
    """Return one memory or another of the same shape."""
    if one is None:
        return None
    if isinstance(one, Mapping):
        return {name: _select_memory(condition, one[name], other[name]) for name in one}
    if isinstance(one, tuple):
        return type(one)(
            *(_select_memory(condition, a, b) for a, b in zip(one, other, strict=True))
        )
    return namespace(other).where(condition, one, other)


# A scenario as tables of numbers, read with the time of a tick: no branches, so it compiles.


@dataclass(frozen=True, eq=False)
class Script:
    """What a scenario commands, by segments that hold from a start on; s of them.

    Attributes:
        start: (s,) s; the first is −∞.
        efforts: (s, 6) of the sticks.
        depth: (s,) to hold, m; NaN for none.
        pwm: (s, n) µs; NaN where efforts count.
        setpoints: (s, 12) for the controller; NaN where free.
        actuators: commands (s, k) by the name of the actuator.
        patterns: (n, 6) of the mixer.
        control: controller of the set-points; None where no segment has any.
    """

    start: np.ndarray
    efforts: np.ndarray
    depth: np.ndarray
    pwm: np.ndarray
    setpoints: np.ndarray
    actuators: dict[str, np.ndarray]
    patterns: np.ndarray
    control: LoopControl | None = None


def make_script(
    scenario: Scenario,
    vehicle: Vehicle,
    controller: ControllerSettings | None = None,
    *,
    whole: bool = True,
) -> Script:
    """Return a scenario's tables; faults that the controller knows start segments too.

    Args:
        scenario: the scenario to play.
        vehicle: the vehicle that plays it.
        controller: instead of the one that the scenario names.
        whole: whether the controller's pulse widths are whole µs, which have no gradient.

    Raises:
        MarineSimError: the scenario does not fit the vehicle, or names no controller.
    """
    scenario.check(vehicle)
    actuators = actuators_of(vehicle)
    commanded = {name for s in scenario.actuator_segments for name in s.actuators}
    for name in (a.name for a in actuators if a.name in commanded and not a.compiled):
        raise ScenarioError(
            f'scenario {scenario.name}: the compiled engine has no {name}; run it with numpy'
        )
    count = len(vehicle.thrusters)
    changes = {s.start for s in scenario.segments}
    if scenario.closed_loop:
        told = [f for f in scenario.faults if isinstance(f, Dead)]
        changes |= {time for f in told for time in (f.start, f.end) if time < math.inf}
    starts = sorted({0.0} | changes)
    segments = [scenario.segment_at(s) for s in starts]
    failed = [failed_thrusters(scenario.faults, vehicle, s) for s in starts]
    control = None
    if scenario.closed_loop:
        settings = controller or load_controller(scenario.controller)
        closed = [s.control is not None for s in segments]
        control = make_control(vehicle, settings, closed, failed, whole=whole)
    return Script(
        start=np.array([-np.inf, *starts[1:]]),
        efforts=np.array([s.efforts for s in segments], float),
        depth=np.array([np.nan if s.depth is None else s.depth for s in segments]),
        pwm=np.stack(
            [np.full(count, np.nan) if s.pwm is None else np.array(s.pwm, float) for s in segments]
        ),
        setpoints=np.stack(
            [empty_setpoints() if s.control is None else s.control for s in segments]
        ),
        actuators={
            a.name: np.stack([actuator_target(a, scenario, vehicle, s) for s in starts])
            for a in actuators
            if a.compiled
        },
        patterns=PilotMixer(vehicle.thrusters).patterns,
        control=control,
    )


def open_loop_pulses(plan: Script, time: Array, state: State) -> Array:
    """Return the pulse widths (n,) in µs that a script sends at a time to a state."""
    xp = namespace(time)
    efforts = row_at_time(plan.start, plan.efforts, time)
    depth = row_at_time(plan.start, plan.depth, time)
    climb_rate = (rotation_matrix(state.orientation)[2] @ state.velocity[:3])[None]
    heave = depth_effort(-state.position[2:3], climb_rate, depth)
    heave = xp.where(xp.isnan(depth), efforts[2:3], heave)
    pwm = row_at_time(plan.start, plan.pwm, time)
    mixed_pwm = mix_patterns(plan.patterns, xp.concat([efforts[:2], heave, efforts[3:]]))
    return xp.where(xp.isnan(pwm), mixed_pwm, pwm)


def extend_script(plan: Script, segments: int) -> Script:
    """Return a script with more segments, which never start."""
    more = segments - len(plan.start)

    def extend(table: np.ndarray) -> np.ndarray:
        return np.concatenate([table, np.repeat(table[-1:], more, axis=0)])

    tables = {n: extend(getattr(plan, n)) for n in ('efforts', 'depth', 'pwm', 'setpoints')}
    actuators = {name: extend(table) for name, table in plan.actuators.items()}
    control = None if plan.control is None else extend_control(plan.control, more)
    start = np.append(plan.start, np.full(more, np.inf))
    return replace(plan, start=start, control=control, actuators=actuators, **tables)
