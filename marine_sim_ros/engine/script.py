# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A scenario as tables of numbers, read with the time of a tick: no branches, so it compiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from marine_sim_ros.control.allocation import PilotMixer, mixed
from marine_sim_ros.control.depth import depth_effort
from marine_sim_ros.control.setpoints import all_free
from marine_sim_ros.control.settings import ControllerSettings, load_controller
from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.control import Control, control_of, extended
from marine_sim_ros.engine.tables import held
from marine_sim_ros.faults.kinds import Dead
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.player import (
    azimuth_targets,
    failed_thrusters,
    fin_targets,
    joint_efforts,
    joint_targets,
    reel_rate,
)
from marine_sim_ros.sim.scenario import Scenario

__all__ = ['Script', 'as_long', 'open_loop', 'script']


@dataclass(frozen=True, eq=False)
class Script:
    """What a scenario commands, by segments that hold from a start on; s of them.

    Attributes:
        start: (s,) s; the first is −∞.
        efforts: (s, 6) of the sticks.
        depth: (s,) to hold, m; NaN for none.
        pwm: (s, n) µs; NaN where efforts count.
        setpoints: (s, 12) for the controller; NaN where free.
        joints: (s, k) that the arm's joints go to.
        joint_efforts: (s, k) that its drives give instead, NaN: none; (s, 0) of driven ones.
        fins: (s, m) that the fins go to, rad.
        azimuths: (s, a) that the azimuths go to, rad.
        reel: (s, r) rates at which the tether is paid out, m/s.
        patterns: (n, 6) of the mixer.
        control: controller of the set-points; None where no segment has any.
    """

    start: np.ndarray
    efforts: np.ndarray
    depth: np.ndarray
    pwm: np.ndarray
    setpoints: np.ndarray
    joints: np.ndarray
    joint_efforts: np.ndarray
    fins: np.ndarray
    azimuths: np.ndarray
    reel: np.ndarray
    patterns: np.ndarray
    control: Control | None = None


def script(
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
    if any(segment.gripper for segment in scenario.segments):
        raise ScenarioError(
            f'scenario {scenario.name}: the compiled engine has no gripper; run it with numpy'
        )
    count = len(vehicle.thrusters)
    changes = {s.start for s in scenario.segments}
    if scenario.closed_loop:
        told = [f for f in scenario.faults if isinstance(f, Dead)]
        changes |= {time for f in told for time in (f.start, f.end) if time < math.inf}
    starts = sorted({0.0} | changes)
    segments = [scenario.segment_at(s) for s in starts]
    joints = [joint_targets(scenario, vehicle, s) for s in starts]
    efforts = [joint_efforts(scenario, vehicle, s) for s in starts]
    fins = [fin_targets(scenario, vehicle, s) for s in starts]
    azimuths = [azimuth_targets(scenario, vehicle, s) for s in starts]
    reel = [reel_rate(scenario, vehicle, s) for s in starts]
    failed = [failed_thrusters(scenario.faults, vehicle, s) for s in starts]
    control = None
    if scenario.closed_loop:
        settings = controller or load_controller(scenario.controller)
        closed = [s.control is not None for s in segments]
        control = control_of(vehicle, settings, closed, failed, whole=whole)
    return Script(
        start=np.array([-np.inf, *starts[1:]]),
        efforts=np.array([s.efforts for s in segments], float),
        depth=np.array([np.nan if s.depth is None else s.depth for s in segments]),
        pwm=np.stack(
            [np.full(count, np.nan) if s.pwm is None else np.array(s.pwm, float) for s in segments]
        ),
        setpoints=np.stack([all_free() if s.control is None else s.control for s in segments]),
        joints=np.stack([np.zeros(0) if j is None else j for j in joints]),
        joint_efforts=np.stack([np.zeros(0) if e is None else e for e in efforts]),
        fins=np.stack([np.zeros(0) if f is None else f for f in fins]),
        azimuths=np.stack([np.zeros(0) if a is None else a for a in azimuths]),
        reel=np.stack([np.zeros(0) if r is None else r for r in reel]),
        patterns=PilotMixer(vehicle.thrusters).patterns,
        control=control,
    )


def open_loop(plan: Script, time: Array, state: State) -> Array:
    """Return the pulse widths (n,) in µs that a script sends at a time to a state."""
    xp = namespace(time)
    efforts = held(plan.start, plan.efforts, time)
    depth = held(plan.start, plan.depth, time)
    climb_rate = (rotation_matrix(state.orientation)[2] @ state.velocity[:3])[None]
    heave = depth_effort(-state.position[2:3], climb_rate, depth)
    heave = xp.where(xp.isnan(depth), efforts[2:3], heave)
    pwm = held(plan.start, plan.pwm, time)
    mixed_pwm = mixed(plan.patterns, xp.concat([efforts[:2], heave, efforts[3:]]))
    return xp.where(xp.isnan(pwm), mixed_pwm, pwm)


def as_long(plan: Script, segments: int) -> Script:
    """Return a script with more segments, which never start."""
    more = segments - len(plan.start)
    tables = {
        name: np.concatenate([table, np.repeat(table[-1:], more, axis=0)])
        for name, table in vars(plan).items()
        if name not in ('start', 'patterns', 'control')
    }
    control = None if plan.control is None else extended(plan.control, more)
    start = np.append(plan.start, np.full(more, np.inf))
    return replace(plan, start=start, control=control, **tables)
