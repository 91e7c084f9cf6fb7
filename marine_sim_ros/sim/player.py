# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plays a scenario on a vehicle: what is commanded at a time, with the controllers' memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.control.closed_loop import ClosedLoop
from marine_sim_ros.control.controllability import PilotMixer
from marine_sim_ros.control.controller_model import ControllerSettings, load_controller
from marine_sim_ros.control.setpoints import free_setpoints
from marine_sim_ros.core.state import State
from marine_sim_ros.faults.fault_types import Dead, Fault
from marine_sim_ros.model.tether import reel_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import Scenario, Segment

__all__ = [
    'ScriptedPilot',
    'azimuth_targets',
    'failed_thrusters',
    'fin_targets',
    'gripper_closed',
    'joint_efforts',
    'joint_targets',
    'reel_rate',
    'unknown_thrusters',
]


def failed_thrusters(
    faults: Sequence[Fault], vehicle: Vehicle, time: float, named: Collection[str] = ()
) -> np.ndarray:
    """Return (n,) which thrusters the controller takes as failed at a time (s).

    Those that are dead, and those of some names; what else is wrong it has to find out.
    """
    dead = {f.thruster for f in faults if isinstance(f, Dead) and f.acts(time)} | set(named)
    return np.array([name in dead for name in vehicle.thrusters.names], dtype=bool)


def unknown_thrusters(vehicle: Vehicle, names: object) -> str:
    """Return a sentence about names that are no thrusters of a vehicle, or nothing."""
    known = vehicle.thrusters.names
    wrong = [n for n in names if n and n not in known] if isinstance(names, list | tuple) else []
    return f'{wrong[0]!r} is unknown; expected some of: {", ".join(known)}' if wrong else ''


def joint_targets(scenario: Scenario, vehicle: Vehicle, time: float) -> np.ndarray | None:
    """Return the joint positions (n,) that are wanted at a time (s); None without an arm."""
    if vehicle.manipulator is None:
        return None
    return _latest_targets(
        vehicle.manipulator.names, scenario, time, lambda segment: segment.joints
    )


def joint_efforts(scenario: Scenario, vehicle: Vehicle, time: float) -> np.ndarray | None:
    """Return the efforts (n,) that joints give at a time (s), NaN: they go to their targets.

    None where no joint moves by efforts.
    """
    arm = vehicle.manipulator
    if arm is None or arm.articulation is None:
        return None

    def told(segment: Segment) -> Mapping[str, float]:
        return dict.fromkeys(segment.joints, np.nan) | dict(segment.joint_efforts)

    return _latest_targets(arm.names, scenario, time, told, np.nan)


def fin_targets(scenario: Scenario, vehicle: Vehicle, time: float) -> np.ndarray | None:
    """Return the deflections (m,) of the fins that are wanted at a time (s); None without fins."""
    if vehicle.fins is None:
        return None
    return _latest_targets(vehicle.fins.names, scenario, time, lambda segment: segment.fins)


def azimuth_targets(scenario: Scenario, vehicle: Vehicle, time: float) -> np.ndarray | None:
    """Return the angles (k,) of the azimuths that are wanted at a time (s); None without any."""
    azimuths = vehicle.thrusters.azimuths
    if azimuths is None:
        return None
    return _latest_targets(azimuths.names, scenario, time, lambda segment: segment.azimuths)


def reel_rate(scenario: Scenario, vehicle: Vehicle, time: float) -> np.ndarray | None:
    """Return the rate (1,) at which the tether is paid out at a time (s); None without a reel."""
    reel = reel_of(vehicle)
    if reel is None:
        return None
    return _latest_targets(reel.names, scenario, time, lambda segment: segment.reel)


def gripper_closed(scenario: Scenario, time: float) -> bool:
    """Return whether a scenario's gripper is closed at a time (s); it is open at first."""
    said = [s.gripper for s in scenario.equipment_segments if s.gripper and s.start <= time]
    return bool(said) and said[-1] == 'close'


def _latest_targets(
    names: Sequence[str],
    scenario: Scenario,
    time: float,
    told: Callable[[Segment], Mapping[str, float]],
    first: float = 0.0,
) -> np.ndarray:
    """Return where each was sent last at a time (s); ``first`` before."""
    target = dict.fromkeys(names, first)
    for segment in scenario.equipment_segments:
        if segment.start <= time:
            target |= told(segment)
    return np.array(list(target.values()))


class ScriptedPilot:
    """Follows a scenario; keeps the controller's memory from one state to the next."""

    def __init__(
        self,
        scenario: Scenario,
        vehicle: Vehicle,
        controller: ControllerSettings | None = None,
        *,
        loops: Callable[[Vehicle, ControllerSettings], ClosedLoop] = ClosedLoop,
    ) -> None:
        """Set up the mixer, and the controller where the scenario has set-points.

        Args:
            scenario: the scenario to follow.
            vehicle: the vehicle that follows it.
            controller: instead of the one that the scenario names.
            loops: makes the loop of a vehicle and settings.

        Raises:
            MarineSimError: the scenario does not fit the vehicle.
        """
        scenario.check(vehicle)
        self._scenario = scenario
        self.faults = scenario.faults
        self._vehicle = vehicle
        self._mixer = PilotMixer(vehicle.thrusters)
        self._memory: tuple[float, Any] | None = None
        self._loop = (
            loops(vehicle, controller or load_controller(scenario.controller))
            if scenario.closed_loop
            else None
        )
        self.wrench = np.zeros(6)
        self.azimuths = azimuth_targets(scenario, vehicle, 0.0)
        self.fins = fin_targets(scenario, vehicle, 0.0)

    def setpoints(self, time: float) -> np.ndarray:
        """Return the set-points (12,) of a time (s), NaN where free."""
        wanted = self._scenario.segment_at(time).control
        return free_setpoints() if wanted is None else wanted

    def command(self, time: float, state: State) -> np.ndarray:
        """Return the pulse widths (n,) in µs for a time (s) and a state.

        ``azimuths`` are the angles (k,) that thrusters turn to then, ``fins`` the deflections
        (m,), rad; None without any.
        """
        segment = self._scenario.segment_at(time)
        if self._loop is None or segment.control is None:
            self._memory, self.wrench = None, np.zeros(6)
            self.azimuths = azimuth_targets(self._scenario, self._vehicle, time)
            self.fins = fin_targets(self._scenario, self._vehicle, time)
            return self._scenario.open_loop(time, state, self._mixer)
        output, self._memory = self._loop.step(
            segment.control,
            time,
            state,
            self._memory,
            failed=failed_thrusters(self.faults, self._vehicle, time),
        )
        self.wrench, self.azimuths = output.wrench, output.allocation.azimuths
        self.fins = output.allocation.fins
        return output.pwm
