# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an autopilot's own sensors read at a frame: the simulated IMU's numbers, and ranges.

A sensor is a function of state, stamp and seed, so that its readings between two ticks need no
messages.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.faults.sensors import with_errors
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors import SENSORS, Readings
from marine_sim_ros.sensors.imu import specific_force
from marine_sim_ros.sensors.sensor_model import SensorInputs
from marine_sim_ros.sensors.series import disturbed

__all__ = ['Instruments']

MOST_RANGES = 6
"""Rangefinders of the interface."""


class Instruments:
    """The sensors of a vehicle, as its autopilot reads them."""

    def __init__(self, vehicle: Vehicle, *, seed: int = 0, noise: bool = True) -> None:
        """Find the first IMU and DVL, the altimeters and the leak detectors.

        Args:
            vehicle: the vehicle; without an IMU, a perfect one is at ``base_link``.
            seed: random seed of the noise.
            noise: whether the readings have noise.
        """
        self._seed, self._noise = seed, noise
        self._imu = next((s for s in vehicle.sensors if s.kind == 'imu'), None)
        self._altimeters = [s for s in vehicle.sensors if s.kind == 'altimeter'][:MOST_RANGES]
        self._leaks = [s for s in vehicle.sensors if s.kind == 'leak']
        self._dvl = next((s for s in vehicle.sensors if s.kind == 'dvl'), None)
        self.faults: Sequence[Fault] = ()

    def inertial(
        self, stamp: int, state: State, acceleration: np.ndarray, environment: Environment
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return specific force, m/s², and angular velocity (3,), rad/s, in body axes (FLU).

        Args:
            stamp: time, ns.
            state: state of the vehicle.
            acceleration: (6,) rate of change of ``state.velocity``, m/s² and rad/s².
            environment: water and gravity.
        """
        imu = self._imu
        if imu is None:
            force = specific_force(state, acceleration, np.zeros(3), environment.gravity)
            return np.asarray(force), state.velocity[3:]
        inputs = SensorInputs.none(stamp * 1e-9)._replace(acceleration=acceleration)
        readings = self.read(imu, stamp, state, environment, inputs)
        force, rates = readings['linear_acceleration'], readings['angular_velocity']
        return imu.rotation @ np.asarray(force), imu.rotation @ np.asarray(rates)

    def ranges(self, stamp: int, state: State, environment: Environment) -> tuple[float, ...]:
        """Return what the altimeters measure, m; without one that has met nothing."""
        found = (self.read(s, stamp, state, environment) for s in self._altimeters)
        measured = (float(readings['range']) for readings in found)
        return tuple(distance for distance in measured if np.isfinite(distance))

    def velocity(self, stamp: int, state: State, environment: Environment) -> np.ndarray | None:
        """Return the velocity over ground (3,) of ``base_link``, FLU, m/s, as the DVL measures it.

        Without a DVL it is the true one; None: the DVL has no bottom.
        """
        if self._dvl is None:
            return np.asarray(state.velocity[:3])
        readings = self.read(self._dvl, stamp, state, environment)
        measured = self._dvl.rotation @ np.asarray(readings['velocity'])
        own = measured - np.cross(state.velocity[3:], self._dvl.position)
        return own if np.all(np.isfinite(own)) else None

    def wet(self, stamp: int, state: State, environment: Environment) -> bool:
        """Return whether a leak detector finds water."""
        found = (self.read(s, stamp, state, environment) for s in self._leaks)
        return any(bool(readings['leak'] > 0.5) for readings in found)

    def read(
        self,
        sensor: Sensor,
        stamp: int,
        state: State,
        environment: Environment,
        inputs: SensorInputs | None = None,
    ) -> Readings:
        """Return what a sensor reads, with its faults, and with its noise where that is wanted."""
        inputs = inputs or SensorInputs.none(stamp * 1e-9)
        ideal: Readings = SENSORS[sensor.kind].measure(sensor, state, environment, inputs)
        if self._noise:
            return disturbed(sensor, ideal, stamp, self._seed, self.faults)
        return with_errors(self.faults, sensor.name, ideal, stamp, self._seed)
