# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scenario player: commands at a time, with the memory of the controller."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.control.closed_loop import ClosedLoop
from marine_sim_ros.control.controller_model import (
    ControllerSettings,
    empty_setpoints,
    load_controller,
)
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Dead, Fault
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.sensors.estimated_odometry import EstimatedOdometry
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'ActuatorScript',
    'ActuatorTimeline',
    'ScriptedPilot',
    'failed_thrusters',
    'scripted_commands',
    'unknown_thrusters',
]


def failed_thrusters(
    faults: Sequence[Fault], vehicle: Vehicle, time: float, named: Collection[str] = ()
) -> np.ndarray:
    """Return a mask (n,) of the thrusters that the controller leaves out at a time (s).

    These are dead thrusters and those named. The controller is not informed of other faults.
    """
    dead = {f.thruster for f in faults if isinstance(f, Dead) and f.acts(time)} | set(named)
    return np.array([name in dead for name in vehicle.thrusters.names], dtype=bool)


def unknown_thrusters(vehicle: Vehicle, names: object) -> str:
    """Return an error message about names that are no thrusters of a vehicle, or ''."""
    thruster_names = vehicle.thrusters.names
    unknown = (
        [n for n in names if n and n not in thruster_names]
        if isinstance(names, list | tuple)
        else []
    )
    return (
        f'{unknown[0]!r} is unknown; expected some of: {", ".join(thruster_names)}'
        if unknown
        else ''
    )


class ActuatorTimeline:
    """Commands of an actuator's parts over the time of a scenario."""

    def __init__(self, actuator: Actuator, scenario: Scenario, vehicle: Vehicle) -> None:
        """Collect what the segments command, each until the next one that names the part."""
        target = dict.fromkeys(actuator.names(vehicle), actuator.rest)
        self._starts: list[float] = []
        self._rows = [np.array([*target.values()], float)]
        for segment in scenario.actuator_segments:
            released = segment.actuators.get(actuator.yields_to, ())
            target |= dict.fromkeys(released, actuator.rest)
            target |= segment.actuators.get(actuator.name, {})
            self._starts.append(segment.start)
            self._rows.append(np.array([*target.values()], float))

    def at(self, time: float) -> np.ndarray:
        """Return the command (k,) at a time (s)."""
        return self._rows[bisect_right(self._starts, time)].copy()


ActuatorScript = dict[str, list[tuple[float, dict[str, float]]]]
"""Times, s, and commands by part from then on, by the name of the actuator."""


def scripted_commands(scenario: Scenario, vehicle: Vehicle) -> ActuatorScript:
    """Return the commands of the actuators that a scenario moves, for a manifest.

    Actuators that its controller commands are missing; an empty list is one that rests.
    """
    return {
        a.name: [
            (s.start, dict(s.actuators[a.name]))
            for s in scenario.actuator_segments
            if a.name in s.actuators
        ]
        for a in actuators_of(vehicle)
        if not (a.steered and scenario.closed_loop)
    }


class ScriptedPilot:
    """Follows a scenario; keeps the controller's memory from one state to the next."""

    def __init__(
        self,
        scenario: Scenario,
        vehicle: Vehicle,
        controller: ControllerSettings | None = None,
        *,
        loops: Callable[[Vehicle, ControllerSettings], ClosedLoop] = ClosedLoop,
        odometry: EstimatedOdometry | None = None,
        environment: Environment | None = None,
    ) -> None:
        """Set up the mixer, and the controller where the scenario has set-points.

        Args:
            scenario: the scenario to follow.
            vehicle: the vehicle that follows it.
            controller: instead of the one that the scenario names.
            loops: function that creates the closed loop of a vehicle and settings.
            odometry: estimate that takes the place of the state; None: the state is known.
            environment: water and scene that the sensors of the estimate measure.

        Raises:
            MarineSimError: the scenario does not fit the vehicle.
        """
        scenario.check(vehicle)
        self._scenario = scenario
        self.faults = scenario.faults
        self._vehicle = vehicle
        self._mixer = PilotMixer(vehicle.thrusters)
        self._odometry, self._environment = odometry, environment or Environment()
        self._memory: tuple[float, Any] | None = None
        self._loop = (
            loops(vehicle, controller or load_controller(scenario.controller))
            if scenario.closed_loop
            else None
        )
        self.wrench = np.zeros(6)
        self._timelines = {
            a.name: ActuatorTimeline(a, scenario, vehicle) for a in actuators_of(vehicle)
        }
        self.actuators = self._scripted(0.0)

    def _scripted(self, time: float) -> dict[str, np.ndarray]:
        return {name: timeline.at(time) for name, timeline in self._timelines.items()}

    def setpoints(self, time: float) -> np.ndarray:
        """Return the set-points (12,) of a time (s), NaN where free."""
        setpoint = self._scenario.segment_at(time).control
        return empty_setpoints() if setpoint is None else setpoint

    def command(self, time: float, state: State) -> np.ndarray:
        """Return the pulse widths (n,) in µs for a time (s) and a state.

        ``actuators`` are the commands (k,) of the vehicle's actuators then, by name.
        """
        if self._odometry is not None:
            stamp, water = round(time * NANOSECONDS), self._environment.at(time)
            state = self._odometry.estimate(stamp, state, water, self.faults)
        segment = self._scenario.segment_at(time)
        self.actuators = self._scripted(time)
        if self._loop is None or segment.control is None:
            self._memory, self.wrench = None, np.zeros(6)
            return self._scenario.open_loop(time, state, self._mixer)
        output, self._memory = self._loop.step(
            segment.control,
            time,
            state,
            self._memory,
            failed=failed_thrusters(self.faults, self._vehicle, time),
        )
        self.wrench = output.wrench
        self.actuators |= output.allocation.actuators
        return output.pwm
