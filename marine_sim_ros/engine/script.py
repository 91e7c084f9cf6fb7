# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scenario as tables by segment, for compiled programs: commands, set-points, controller."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.allocator import AllocationStage, Allocator, allocation_stages
from marine_sim_ros.control.closed_loop import FIRST_STEP, LoopMemory, begin_loop, loop_step
from marine_sim_ros.control.controller_model import (
    ControllerSettings,
    Law,
    empty_setpoints,
    find_controller_model,
    load_controller,
    make_law,
)
from marine_sim_ros.control.line_of_sight import LineOfSight, make_line_of_sight
from marine_sim_ros.control.stick_mixing import PilotMixer, mix_patterns
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError, ScenarioError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.thrust_tables import (
    AllocationTables,
    allocation_tables,
    extend_allocation_tables,
)
from marine_sim_ros.faults.fault_types import Dead
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.model.body_joints import has_jaws
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.sim.player import ActuatorTimeline, failed_thrusters
from marine_sim_ros.sim.scenario import Scenario, depth_effort

__all__ = [
    'ControllerMemory',
    'Script',
    'compiled_actuators',
    'control_command',
    'extend_script',
    'initial_controller_memory',
    'make_control',
    'make_script',
    'open_loop_pulses',
    'row_at_time',
]


# Look-up of the row of a table that is valid at a time, without branches.


def row_at_time(start: Array, table: Array, time: Array) -> Array:
    """Return the row (...) of a table (s, ...) that is valid at a time in s."""
    xp = namespace(time)
    rows, starts = constant(xp, table), constant(xp, start)
    result = rows[0]
    for i in range(1, len(start)):
        result = xp.where(starts[i] <= time, rows[i], result)
    return result


# The controller of a scenario: the same control laws, with one allocation per segment.


@dataclass(frozen=True, eq=False)
class LoopControl:
    """Controller of a script.

    Attributes:
        law: control law, from set-points to a wrench.
        allocation: allocation tables, from the wrench to pulse widths, by segment.
        closed: (s,) 1.0 in the segments that have set-points.
        scalarisable: whether the law may be compiled number by number.
        stages: allocation to actuators, which precedes that to the thrusters, by name.
        steering: steering by heading of a vehicle without sway; None: of others.
    """

    law: Law
    allocation: AllocationTables
    closed: np.ndarray
    scalarisable: bool = False
    stages: Mapping[str, AllocationStage] = field(default_factory=dict)
    steering: LineOfSight | None = None

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
    whole_microseconds: bool,
) -> LoopControl:
    """Return the controller of a vehicle.

    Args:
        vehicle: the vehicle to control.
        settings: controller settings, from
            :func:`~marine_sim_ros.control.controller_model.load_controller`.
        closed: whether a segment has set-points, by segment.
        failed: thrusters (n,) to leave out, by segment.
        whole_microseconds: whether pulse widths are whole µs, which have no gradient.

    Raises:
        ParameterError: the vehicle has no thrusters.
    """
    if not len(vehicle.thrusters):
        raise ParameterError(
            f'engine jax: {vehicle.name} has no thrusters, and compiles no controller; expected '
            '--engine numpy'
        )
    allocator = Allocator(vehicle.thrusters, vehicle.inertia.center_of_mass)
    return LoopControl(
        make_law(settings, vehicle),
        allocation_tables(allocator, failed, whole_microseconds=whole_microseconds),
        np.asarray(closed, float),
        find_controller_model(settings).scalar,
        allocation_stages(vehicle),
        make_line_of_sight(vehicle),
    )


def extend_control(control: LoopControl, segments: int) -> LoopControl:
    """Return a controller with more segments at its end, copies of the last one."""
    closed = np.append(control.closed, np.repeat(control.closed[-1:], segments))
    return replace(
        control, allocation=extend_allocation_tables(control.allocation, segments), closed=closed
    )


def initial_controller_memory(control: LoopControl, state: State, dt: float) -> ControllerMemory:
    """Return the memory of a controller before its first step of dt (s)."""
    inactive = state.velocity[0] * 0.0
    return ControllerMemory(inactive, _begin_memory(control, state, dt))


def _begin_memory(control: LoopControl, state: State, dt: float) -> LoopMemory:
    tables = control.allocation
    count = tables.left_out.shape[-1]
    return begin_loop(control.law, count, state, dt=dt, extended=tables.extended)


def control_command(
    control: LoopControl,
    start: Array,
    setpoint: Array,
    time: Array,
    state: State,
    memory: ControllerMemory | None,
    *,
    dt: float,
    pwm: Array,
    actuators: Mapping[str, Array],
) -> tuple[Array, dict[str, Array], ControllerMemory]:
    """Return pulse widths (n,) of a tick, µs, commands of actuators, and the next memory.

    Args:
        control: the controller to evaluate.
        start: (s,) of the segments, s.
        setpoint: set-points (12,) of this tick, NaN where free.
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
        loop_memory = memory.loop
    else:
        loop_memory = _begin_memory(control, state, dt)
        loop_memory = (
            loop_memory if memory is None else _select_memory(running, memory.loop, loop_memory)
        )
    rows = {
        name: row_at_time(start, table, time) for name, table in control.allocation.tables.items()
    }
    output, next_memory = loop_step(
        control.law,
        replace(control.allocation, **rows),
        setpoint,
        state,
        loop_memory,
        dt=since,
        stages=control.stages,
        steering=control.steering,
    )
    is_closed = row_at_time(start, control.closed, time)
    closed_loop_actuators = {
        name: xp.where(is_closed > 0.5, angles, actuators[name])
        for name, angles in output.allocation.actuators.items()
    }
    pwm = xp.where(is_closed > 0.5, output.pwm, pwm)
    return pwm, {**actuators, **closed_loop_actuators}, ControllerMemory(is_closed, next_memory)


def _select_memory(condition: Array, if_true: Any, if_false: Any) -> Any:
    """Return one memory or another of the same shape."""
    if if_true is None:
        return None
    if isinstance(if_true, Mapping):
        return {name: _select_memory(condition, if_true[name], if_false[name]) for name in if_true}
    if isinstance(if_true, tuple):
        return type(if_true)(
            *(_select_memory(condition, a, b) for a, b in zip(if_true, if_false, strict=True))
        )
    return namespace(if_false).where(condition, if_true, if_false)


# The tables of a scenario. They are read with the time of a tick, without branches.


@dataclass(frozen=True, eq=False)
class Script:
    """Commands of a scenario in s segments.

    Attributes:
        start: (s,) start times, s; the first is −∞.
        efforts: (s, 6) stick efforts, −1 to 1.
        depth: (s,) depth to hold, m; NaN for none.
        pwm: (s, n) pulse widths, µs; NaN where efforts apply.
        setpoints: (s, 12) for the controller; NaN where free.
        actuators: commands (s, k) by the name of the actuator.
        patterns: (n, 6) thrust patterns of the stick mixer.
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


def compiled_actuators(vehicle: Vehicle) -> list[Actuator]:
    """Return the actuators of a vehicle whose commands compiled programs take."""
    jaws = (GRIPPER,) if has_jaws(vehicle) else ()
    return [a for a in actuators_of(vehicle) if a.compiled or a.name in jaws]


def make_script(
    scenario: Scenario,
    vehicle: Vehicle,
    controller: ControllerSettings | None = None,
    *,
    whole_microseconds: bool = True,
) -> Script:
    """Return the tables of a scenario; faults that the controller is informed of start segments.

    Args:
        scenario: the scenario to play.
        vehicle: the vehicle that plays it.
        controller: instead of the one that the scenario names.
        whole_microseconds: whether the controller's pulse widths are whole µs, which have no
            gradient.

    Raises:
        MarineSimError: the scenario does not fit the vehicle, or names no controller.
    """
    scenario.check(vehicle)
    commanded = {name for s in scenario.actuator_segments for name in s.actuators}
    compiled = compiled_actuators(vehicle)
    for name in commanded - {a.name for a in compiled}:
        raise ScenarioError(
            f'scenario {scenario.name}: the compiled engine has no {name}; run it with numpy'
        )
    count = len(vehicle.thrusters)
    start_times = {s.start for s in scenario.segments}
    if scenario.closed_loop:
        known_failures = [f for f in scenario.faults if isinstance(f, Dead)]
        start_times |= {
            time for f in known_failures for time in (f.start, f.end) if time < math.inf
        }
    starts = sorted({0.0} | start_times)
    segments = [scenario.segment_at(s) for s in starts]
    failed = [failed_thrusters(scenario.faults, vehicle, s) for s in starts]
    control = None
    if scenario.closed_loop:
        settings = controller or load_controller(scenario.controller)
        closed = [s.control is not None for s in segments]
        control = make_control(
            vehicle, settings, closed, failed, whole_microseconds=whole_microseconds
        )
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
            a.name: np.stack([*map(ActuatorTimeline(a, scenario, vehicle).at, starts)])
            for a in compiled
        },
        patterns=PilotMixer(vehicle.thrusters).patterns,
        control=control,
    )


def open_loop_pulses(script: Script, time: Array, state: State) -> Array:
    """Return the pulse widths (n,) in µs of a script's efforts, depth hold and ``pwm``."""
    xp = namespace(time)
    efforts = row_at_time(script.start, script.efforts, time)
    depth = row_at_time(script.start, script.depth, time)
    climb_rate = (rotation_matrix(state.orientation)[2] @ state.velocity[:3])[None]
    heave = depth_effort(-state.position[2:3], climb_rate, depth)
    heave = xp.where(xp.isnan(depth), efforts[2:3], heave)
    pwm = row_at_time(script.start, script.pwm, time)
    mixed_pwm = mix_patterns(script.patterns, xp.concat([efforts[:2], heave, efforts[3:]]))
    return xp.where(xp.isnan(pwm), mixed_pwm, pwm)


def extend_script(script: Script, segments: int) -> Script:
    """Return a script padded with segments that never start."""
    added = segments - len(script.start)

    def extend(table: np.ndarray) -> np.ndarray:
        return np.concatenate([table, np.repeat(table[-1:], added, axis=0)])

    tables = {n: extend(getattr(script, n)) for n in ('efforts', 'depth', 'pwm', 'setpoints')}
    actuators = {name: extend(table) for name, table in script.actuators.items()}
    control = None if script.control is None else extend_control(script.control, added)
    start = np.append(script.start, np.full(added, np.inf))
    return replace(script, start=start, control=control, actuators=actuators, **tables)
