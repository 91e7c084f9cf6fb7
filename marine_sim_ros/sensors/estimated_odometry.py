# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Odometry that a vehicle estimates from its own sensors, for controllers.

Attitude and turn rates are those of an IMU that estimates its attitude. The velocity v in map is
that of the DVL, turned by the attitude at the time of its measurement, and the position is dead
reckoning whose height the barometer corrects:

    p' = v,   z ← z + (z_b − z) T_b/τ   at each reading z_b of the barometer,

with its period T_b and τ = ``HEIGHT_TIME_CONSTANT``. A reading holds until the next one has come,
noise, faults and latency included. The readings are functions of state, stamp and seed, so that
every engine and every node has the same estimate, and it is that of the sensors' own topics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_conjugate, quaternion_product, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors.sensor_model import Readings, SensorInputs
from marine_sim_ros.sensors.series import SensorReader

__all__ = ['EstimatedOdometry', 'LatestReading']

MISSED = 2.5
"""Periods after which a reading is no longer known: the next two have not come."""
LEAST_AGE = 200_000_000
"""ns that a reading is known, however fast the sensor is."""
HEIGHT_TIME_CONSTANT = 1.0
"""τ of the height's correction by the barometer, s; assumed."""


class LatestReading:
    """The newest reading of a sensor whose message has come."""

    def __init__(self, sensor: Sensor, seed: int) -> None:
        """Have none."""
        self.sensor = sensor
        self._reader = SensorReader(sensor, seed)
        self._coming: deque[tuple[int, Readings]] = deque()
        self._known: tuple[int, Readings] | None = None
        self._stamp = -1

    def take(
        self, stamp: int, state: State, environment: Environment, faults: Sequence[Fault]
    ) -> bool:
        """Read at a tick (ns) if it is time to; return whether a reading has come in this tick."""
        if stamp < self._stamp:  # the run was reset
            self._coming.clear()
            self._known = None
        self._stamp = stamp
        inputs = SensorInputs.none(stamp * 1e-9)
        reading = self._reader.read(stamp, state, environment, inputs, faults)
        if reading is not None:
            self._coming.append(reading)
        came = False
        while self._coming and self._coming[0][0] <= stamp:
            self._known, came = self._coming.popleft(), True
        return came

    @property
    def came(self) -> int:
        """Stamp at which the reading came, ns; −1: none has come."""
        return -1 if self._known is None else self._known[0]

    @property
    def readings(self) -> Readings | None:
        """The reading; None: none has come, or too long ago."""
        if self._known is None:
            return None
        arrival, readings = self._known
        age = max(MISSED * self.sensor.period, LEAST_AGE)
        return readings if self._stamp - arrival <= age else None


class _Rotation(NamedTuple):
    """Attitude (4,) and turn rates (3,), rad/s, that came at a stamp, ns."""

    stamp: int
    attitude: np.ndarray
    rates: np.ndarray


class EstimatedOdometry:
    """Estimate of the state of a vehicle, from tick to tick.

    Attributes:
        last_error: distance of the estimated position from the true one, m.
        largest_error: largest distance since the start, m.
    """

    def __init__(self, vehicle: Vehicle, seed: int = 0) -> None:
        """Find the sensors.

        Args:
            seed: random seed of the run, and so of the sensors' noise.

        Raises:
            ParameterError: the vehicle lacks one of the sensors.
        """
        self._imu, self._dvl, self._barometer = (
            LatestReading(sensor, seed) for sensor in _own_sensors(vehicle)
        )
        self._stamp = -1
        self._position = self._velocity = np.zeros(3)
        self._rotations: deque[_Rotation] = deque()
        self.last_error = self.largest_error = 0.0

    def estimate(
        self, stamp: int, state: State, environment: Environment, faults: Sequence[Fault] = ()
    ) -> State:
        """Return the estimated state at a tick.

        At the first tick it is the true one, where a vehicle is told where it is. Without a bottom
        track the last velocity goes on.

        Args:
            stamp: of the tick, ns.
            state: true state, which the sensors measure.
            environment: water and scene at that time.
            faults: faults of the run.
        """
        if self._stamp < 0 or stamp < self._stamp:
            turn = np.asarray(rotation_matrix(state.orientation))
            self._position, self._velocity = state.position, turn @ state.velocity[:3]
            self._rotations = deque([_Rotation(stamp, state.orientation, state.velocity[3:])])
            self.largest_error = 0.0
        else:
            step = (stamp - self._stamp) / NANOSECONDS
            self._position = self._position + step * self._velocity
        self._stamp = stamp
        self._take_rotation(self._imu.take(stamp, state, environment, faults))
        self._take_velocity(self._dvl.take(stamp, state, environment, faults))
        self._take_height(self._barometer.take(stamp, state, environment, faults))
        _, attitude, rates = self._rotations[-1]
        self.last_error = float(np.linalg.norm(self._position - state.position))
        self.largest_error = max(self.largest_error, self.last_error)
        velocity = np.asarray(rotation_matrix(attitude)).T @ self._velocity
        return State(self._position, attitude, np.concatenate([velocity, rates]))

    def _take_rotation(self, came: bool) -> None:
        readings, sensor = self._imu.readings, self._imu.sensor
        if came and readings is not None:
            mounting = quaternion_conjugate(sensor.place.quaternion)
            attitude = np.asarray(quaternion_product(readings['orientation'], mounting))
            rates = sensor.rotation @ np.asarray(readings['angular_velocity'])
            self._rotations.append(_Rotation(self._stamp, attitude, rates))
        measured = self._stamp - self._dvl.sensor.latency
        while len(self._rotations) > 1 and self._rotations[1].stamp <= measured:
            self._rotations.popleft()

    def _take_velocity(self, came: bool) -> None:
        readings, sensor = self._dvl.readings, self._dvl.sensor
        if came and readings is not None:
            _, attitude, rates = self._rotations[0]
            measured = sensor.rotation @ np.asarray(readings['velocity'])
            velocity = measured - np.cross(rates, sensor.position)
            if np.all(np.isfinite(velocity)):
                self._velocity = np.asarray(rotation_matrix(attitude)) @ velocity

    def _take_height(self, came: bool) -> None:
        readings, sensor = self._barometer.readings, self._barometer.sensor
        if not came or readings is None or not np.isfinite(readings['pressure']):
            return
        spec = sensor.spec
        head = (spec.atmospheric_pressure - float(readings['pressure'])) / readings['weight']
        turn = np.asarray(rotation_matrix(self._rotations[-1].attitude))
        height = head - (turn @ sensor.position)[2] - spec.reference_offset
        gain = min(1.0, sensor.period / NANOSECONDS / HEIGHT_TIME_CONSTANT)
        correction = np.array([0.0, 0.0, gain * (height - self._position[2])])
        self._position = self._position + correction


def _own_sensors(vehicle: Vehicle) -> tuple[Sensor, Sensor, Sensor]:
    """Return the first IMU with an attitude, DVL, and barometer with a height.

    Raises:
        ParameterError: one of them is missing.
    """
    needed = {
        'an imu with <orientation>1</orientation>': ('imu', 'orientation'),
        'a dvl': ('dvl', ''),
        'a barometer with <pose>1</pose>': ('barometer', 'pose'),
    }
    found = {
        text: next(
            (s for s in vehicle.sensors if s.kind == kind and (not key or getattr(s.spec, key))),
            None,
        )
        for text, (kind, key) in needed.items()
    }
    if missing := [text for text, sensor in found.items() if sensor is None]:
        raise ParameterError(
            f'odometry estimated: {vehicle.name} lacks {", ".join(missing)}; expected them, as a '
            'BlueROV2 has with --set of imu_orientation:=true, dvl:=true and barometer_pose:=true'
        )
    imu, dvl, barometer = (sensor for sensor in found.values() if sensor is not None)
    return imu, dvl, barometer
