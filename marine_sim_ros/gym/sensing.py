# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What sensors tell a policy: each sensor's newest reading, which holds until the next one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.stepper import Forces
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors import SENSORS, Readings, SensorInputs
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sensors.series import ideal_readings

__all__ = ['Sensing']


class _Held:
    """A sensor of N vehicles: its reading now, and those on their way."""

    def __init__(self, sensor: Sensor, period: int, readings: Readings) -> None:
        self.sensor = sensor
        self.shapes = {name: np.shape(value)[1:] for name, value in readings.items()}
        late = math.ceil(sensor.latency / period)
        rows = np.zeros_like(_row(readings))
        self.line = deque([rows] * (late + 1), maxlen=late + 1)

    def told(self) -> Readings:
        """Return the quantities (N, ...) of the reading that has come by now."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        parts = np.split(self.line[0], ends[:-1], axis=1)
        named = zip(self.shapes.items(), parts, strict=True)
        return {name: part.reshape(len(part), *shape) for (name, shape), part in named}


class Sensing:
    """The sensors of N vehicles with a stamp each.

    Attributes:
        size: numbers that the sensors of a vehicle tell, in the order of its sensors.
    """

    def __init__(
        self, vehicle: Vehicle, count: int, period: float, environment: Environment
    ) -> None:
        """Begin with readings of 0.

        Args:
            vehicle: whose sensors.
            count: N.
            period: s between observations.
            environment: what the sensors see; not the current of an episode.

        Raises:
            ParameterError: the vehicle has no sensors.
        """
        if not vehicle.sensors:
            raise ParameterError(f'{vehicle.name} has no sensors; expected observe: state')
        check_partners(vehicle.sensors, '', {})
        self._environment = environment
        self._period = round(period * NANOSECONDS)
        self._seeds, self._began = np.zeros((2, count), np.int64)
        self._none = Forces(np.zeros((count, 6)), np.zeros((count, len(vehicle.thrusters))))
        turned = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
        still = State(np.zeros((count, 3)), turned, np.zeros((count, 6)))
        stamps = np.zeros(count, np.int64)
        self._sensors = [
            _Held(s, self._period, self._read(s, still, self._none, stamps))
            for s in vehicle.sensors
        ]
        self.size = sum(held.line[0].shape[1] for held in self._sensors)

    def begin(
        self, rows: np.ndarray, state: State, stamps: np.ndarray, seeds: Sequence[int]
    ) -> None:
        """Begin the episodes of some vehicles (indices) at rest, at stamps (N,) in ns.

        The noise of each, its constant bias and drift included, is that of its episode's seed.
        """
        self._seeds[rows] = seeds
        self._began[rows] = stamps[rows]
        for held in self._sensors:
            values = _row(self._read(held.sensor, state, self._none, stamps))
            values = np.where(np.isnan(values), 0.0, values)
            held.line = deque(
                (_with_rows(old, rows, values) for old in held.line), maxlen=held.line.maxlen
            )

    def step(self, state: State, forces: Forces, stamps: np.ndarray) -> None:
        """Let a period pass, at whose end the vehicles are there, at stamps (N,) in ns."""
        before = stamps - self._period
        for held in self._sensors:
            sensor, last = held.sensor, held.line[-1]
            readings = self._read(sensor, state, forces, stamps)
            first = np.reshape(next(iter(readings.values())), (len(last), -1))
            new = ~np.isnan(first).any(axis=1)  # only the first quantity tells
            if sensor.period:
                new &= stamps // sensor.period != before // sensor.period
            values = _row(readings)
            held.line.append(np.where(new[:, None] & ~np.isnan(values), values, last))

    def observed(self) -> np.ndarray:
        """Return what the sensors have told by now (N, size); a range without an echo is 0."""
        told = np.concatenate([held.line[0] for held in self._sensors], axis=1)
        return np.where(np.isfinite(told), told, 0.0)

    def readings(self) -> dict[str, Readings]:
        """Return the quantities (N, ...) by sensor that have come by now; ±∞ without an echo."""
        return {held.sensor.name: held.told() for held in self._sensors}

    def _read(self, sensor: Sensor, state: State, forces: Forces, stamps: np.ndarray) -> Readings:
        """Return a sensor's readings (N, ...)."""
        unknown = np.full(len(stamps), np.nan)
        supply = np.stack([forces.power.sum(axis=1), unknown, unknown], axis=1)
        inputs = SensorInputs(stamps / NANOSECONDS, forces.acceleration, supply)
        ideal = ideal_readings(sensor, self._environment, stamps, state, inputs, at_once=True)
        disturb = SENSORS[sensor.kind].disturb
        since = (stamps - self._began).tolist()  # a random walk begins with its episode
        each = [
            disturb(sensor, {name: value[i] for name, value in ideal.items()}, at, seed, ())
            for i, (at, seed) in enumerate(zip(since, self._seeds.tolist(), strict=True))
        ]
        return {name: np.stack([one[name] for one in each]) for name in each[0]}


def _row(readings: Readings) -> np.ndarray:
    """Return readings (N, k), all quantities one after the other."""
    parts = [np.reshape(value, (len(value), -1)) for value in readings.values()]
    return np.concatenate(parts, axis=1)


def _with_rows(values: np.ndarray, rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    result = values.copy()
    result[rows] = new[rows]
    return result
