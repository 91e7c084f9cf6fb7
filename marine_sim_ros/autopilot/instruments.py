# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Instruments of an autopilot: readings of the simulated sensors, and of the battery.

The IMU is a function of state, stamp and seed, so its readings between two ticks need no messages.
Every other sensor reads at its own rate, and its reading is available when its message would have
arrived.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import add_errors, dropout_mask, freeze_mask
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors import SENSORS, Readings
from marine_sim_ros.sensors.estimated_odometry import LatestReading
from marine_sim_ros.sensors.imu import specific_force
from marine_sim_ros.sensors.sensor_model import SensorInputs
from marine_sim_ros.sensors.series import disturb_readings, is_due

__all__ = ['Instruments', 'SlowSupply']


# Readings of an autopilot's sensors: the IMU at its frames, the others at ticks.

MAX_RANGES = 6
"""Rangefinders of the interface."""
NOTHING_NEAR, NOTHING_TOLD = 1000.0, 0.0
"""m, distances beyond the firmware's RNGFNDx_MAX_CM, and below its RNGFNDx_MIN_CM: a rangefinder
that meets nothing, and one that is silent. It keeps a distance of which it is told nothing."""


class Instruments:
    """The sensors of a vehicle, as its autopilot reads them."""

    def __init__(self, vehicle: Vehicle, *, seed: int = 0, noise: bool = True) -> None:
        """Find the first IMU, DVL, USBL and GPS receiver, the altimeters and leak detectors.

        Args:
            vehicle: the vehicle; without an IMU, a perfect one is at ``base_link``.
            seed: random seed of the noise.
            noise: whether the IMU's readings have noise.
        """
        self._seed, self._noise = seed, noise
        self._imu = next((s for s in vehicle.sensors if s.kind == 'imu'), None)
        self._inertial: Readings | None = None

        def all_of(kind: str) -> list[LatestReading]:
            return [LatestReading(s, seed) for s in vehicle.sensors if s.kind == kind]

        self._altimeters, self._leaks = all_of('altimeter')[:MAX_RANGES], all_of('leak')
        self._dvl, self.usbl, self.receiver = (
            next(iter(all_of(kind)), None) for kind in ('dvl', 'usbl', 'gps')
        )
        self.faults: Sequence[Fault] = ()

    @property
    def has_imu(self) -> bool:
        """Whether the vehicle has an IMU of its own; else a perfect one is read."""
        return self._imu is not None

    def sense(self, stamp: int, state: State, environment: Environment) -> None:
        """Read what is due at a tick (ns): all but the IMU."""
        single = filter(None, (self._dvl, self.usbl, self.receiver))
        for sensor in (*self._altimeters, *self._leaks, *single):
            sensor.take(stamp, state, environment, self.faults)

    def inertial(
        self, stamp: int, state: State, acceleration: np.ndarray, environment: Environment
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return specific force, m/s², and angular velocity (3,), rad/s, in body axes (FLU).

        The interface has no frame without an IMU: of one that is silent it is told what it read
        last.

        Args:
            stamp: time, ns.
            acceleration: (6,) rate of change of ``state.velocity``, m/s² and rad/s².
            environment: water and gravity.
        """
        imu = self._imu
        if imu is None:
            force = specific_force(state, acceleration, np.zeros(3), environment.gravity)
            return np.asarray(force), state.velocity[3:]
        if self._inertial is None or not self._held_reading(imu, stamp):
            inputs = SensorInputs.none(stamp * 1e-9)._replace(acceleration=acceleration)
            ideal: Readings = SENSORS['imu'].measure(imu, state, environment, inputs)
            errors = disturb_readings if self._noise else _without_noise
            self._inertial = errors(imu, ideal, stamp, self._seed, self.faults)
        force, rates = (self._inertial['linear_acceleration'], self._inertial['angular_velocity'])
        return imu.rotation @ np.asarray(force), imu.rotation @ np.asarray(rates)

    def _held_reading(self, imu: Sensor, stamp: int) -> bool:
        faults = self.faults
        return bool(faults) and bool(
            freeze_mask(faults, imu.name, stamp) or dropout_mask(faults, imu, stamp, self._seed)
        )

    def ranges(self) -> tuple[float, ...]:
        """Return the ranges of the altimeters, m."""
        return tuple(_distance(altimeter.readings) for altimeter in self._altimeters)

    def velocity(self, state: State) -> np.ndarray | None:
        """Return the velocity over ground (3,) of ``base_link``, FLU, m/s, as the DVL measured it.

        Without a DVL it is the true one; None: the DVL has no bottom.

        Args:
            state: state of the vehicle; of it, the DVL's lever arm takes the rates.
        """
        if self._dvl is None:
            return np.asarray(state.velocity[:3])
        readings, sensor = self._dvl.readings, self._dvl.sensor
        if readings is None:
            return None
        measured = sensor.rotation @ np.asarray(readings['velocity'])
        own = measured - np.cross(state.velocity[3:], sensor.position)
        return own if np.all(np.isfinite(own)) else None

    @property
    def velocity_came(self) -> int | None:
        """Stamp at which the velocity came, ns; None without a DVL: it is known at all times."""
        return None if self._dvl is None else self._dvl.came

    @property
    def has_leak(self) -> bool:
        """Whether a leak detector has found water."""
        found = (leak.readings for leak in self._leaks)
        return any(readings is not None and bool(readings['leak'] > 0.5) for readings in found)


def _without_noise(
    sensor: Sensor, ideal: Readings, stamp: int, seed: int, faults: Sequence[Fault]
) -> Readings:
    return add_errors(faults, sensor.name, ideal, stamp, seed)


def _distance(readings: Readings | None) -> float:
    """Return the distance (m) that tells a reading of an altimeter; inf: it met nothing."""
    if readings is None:
        return NOTHING_TOLD
    return float(np.clip(readings['range'], 0.0, NOTHING_NEAR))


# Battery state, at the rate at which the autopilot receives it.

STEP = 0.05
"""V; a smaller change is not told."""


class SlowSupply:
    """Takes voltage and current of ticks; tells them once a second, half a second later.

    By then the message has come on any machine, so that a run does not depend on how busy it is.
    """

    def __init__(self) -> None:
        """Know none."""
        self._before = -1
        self._taken: tuple[int, float, float] | None = None
        self._told = math.nan

    def take(self, stamp: int, power: float, voltage: float) -> None:
        """Take power (W) and voltage (V) of a tick (ns); NaN: nothing is wrong with the supply."""
        before, self._before = self._before, stamp
        if is_due(NANOSECONDS, stamp, before) and voltage > 0:
            self._taken = stamp, voltage, power / voltage

    def reading_due(self, stamp: int) -> tuple[float, float] | None:
        """Return voltage (V) and current (A) told at a tick (ns); None: they are as before."""
        if self._taken is None or stamp < self._taken[0] + NANOSECONDS // 2:
            return None
        (_, voltage, current), self._taken = self._taken, None
        if abs(voltage - self._told) < STEP:
            return None
        self._told = voltage
        return voltage, current
