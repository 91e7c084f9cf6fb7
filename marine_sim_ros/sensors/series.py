# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readings of a sensor in a run: sampling times, noise, faults, latency.

A sensor with a period reads at the first tick at or after each multiple of the period. A message
arrives at the first tick at or after its measurement plus the sensor's latency, and never before
an earlier measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import add_errors, added_latency, dropout_mask, freeze_mask
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors.partners import sees_others
from marine_sim_ros.sensors.seen_bodies import OwnParts, body_of, with_vehicles
from marine_sim_ros.sensors.sensor_model import Readings, SensorInputs, SensorModel

__all__ = [
    'SensorReader',
    'SensorRecord',
    'SensorSample',
    'SensorSeries',
    'SeriesMemory',
    'disturb_readings',
    'ideal_readings',
    'is_due',
]


def is_due(period: int, stamp: int, before: int) -> bool:
    """Return whether a sensor reads at a stamp, given that of the tick before (-1: none), ns."""
    return period == 0 or stamp // period != before // period


def has_reading(readings: Readings) -> bool:
    """Return whether there is a reading: its first quantity is not NaN throughout."""
    return not bool(np.isnan(next(iter(readings.values()))).all())


def _latency(sensor: Sensor, readings: Readings) -> Any:
    """Return the time (...) from measurement to message, ns."""
    if 'delay' not in readings:
        return sensor.latency
    delay = np.nan_to_num(readings['delay']) * NANOSECONDS
    return sensor.latency + np.round(delay).astype(np.int64)


def disturb_readings(
    sensor: Sensor, ideal: Readings, stamps: int | np.ndarray, seed: int, faults: Sequence[Fault]
) -> Readings:
    """Return readings with noise and with the errors that need no memory."""
    readings = SENSORS[sensor.kind].disturb(sensor, ideal, stamps, seed, faults)
    return add_errors(faults, sensor.name, readings, stamps, seed) if faults else readings


def ideal_readings(
    sensor: Sensor,
    environment: Environment,
    stamps: np.ndarray,
    states: State,
    inputs: SensorInputs,
    *,
    model: SensorModel | None = None,
    at_once: bool,
    around: Sequence[Environment] | None = None,
) -> Readings:
    """Return the readings (m, ...) without noise of a sensor at m stamps.

    Args:
        stamps: (m,) ns.
        states: (m, ...) each.
        inputs: (m, ...) each.
        model: how it measures; None: as sensors of its kind.
        at_once: compute all in one call where the water is steady; see :class:`SensorRecord`.
        around: m environments, in place of the one.
    """
    measure = (model or SENSORS[sensor.kind]).measure
    if around is None and at_once and environment.is_steady:
        return dict(measure(sensor, states, environment, inputs))
    readings = [
        measure(
            sensor,
            State(*(x[i] for x in states)),
            environment.at(stamp / NANOSECONDS) if around is None else around[i],
            inputs.at(i),
        )
        for i, stamp in enumerate(stamps)
    ]
    return {name: np.stack([r[name] for r in readings]) for name in readings[0]}


SensorSample = Callable[[], tuple[State, Environment, SensorInputs]]
"""Returns what a sensor reads at a stamp."""


class SensorReader:
    """A sensor from tick to tick: what a node has.

    Attributes:
        first: stamp of the first reading that was sent, ns; -1: there was none.
    """

    def __init__(self, sensor: Sensor, seed: int) -> None:
        """Read for the first time in the first tick."""
        self.sensor, self._seed = sensor, seed
        self.model = SENSORS[sensor.kind]
        self.first = self._before = -1
        self._last: Readings | None = None
        self._memory: Any = None
        self._exchanged: Any = None
        self._unread: tuple[int, SensorSample, Sequence[Fault]] | None = None

    def restart(self) -> None:
        """Forget the readings before: what follows from them begins at the next one."""
        self._memory, self.first = None, -1

    def skip(self, stamp: int, sample: SensorSample, faults: Sequence[Fault]) -> bool:
        """Pass over a stamp (ns) whose reading nobody wants, and return whether that can be done.

        It cannot where later readings need to know of each one that was sent. Elsewhere a reading
        is the same whether or not others were made; the last one is made when a fault freezes it.

        Args:
            stamp: ns.
            sample: returns what :meth:`read` takes of it: state, environment and inputs.
        """
        if self.model.follow or self.model.exchange or stamp < self._before:
            return False
        before, self._before = self._before, stamp
        if is_due(self.sensor.period, stamp, before) and not (
            faults and freeze_mask(faults, self.sensor.name, stamp)
        ):
            self._unread = stamp, sample, faults
        return True

    def _catch_up(self) -> None:
        """Make the last reading that was passed over."""
        if self._unread is None:
            return
        (stamp, sample, faults), self._unread = self._unread, None
        ideal = self.model.measure(self.sensor, *sample())
        self._last = disturb_readings(self.sensor, ideal, stamp, self._seed, faults)

    def read(
        self,
        stamp: int,
        state: State,
        environment: Environment,
        inputs: SensorInputs,
        faults: Sequence[Fault],
    ) -> tuple[int, Readings] | None:
        """Return the arrival of the reading of a stamp, ns, and the reading; None: no reading."""
        before, self._before = self._before, stamp
        if stamp < before:  # the run was reset
            before, self.first, self._last, self._memory = -1, -1, None, None
            self._unread = self._exchanged = None
        sensor = self.sensor
        if not is_due(sensor.period, stamp, before):
            return None
        if not faults:
            self._unread = None
            ideal = self._ideal(stamp, state, environment, inputs)
            readings = self.model.disturb(sensor, ideal, stamp, self._seed, ())
            self._last = readings
            if not has_reading(readings):
                return None
            return self._send(stamp, stamp + _latency(sensor, readings), readings)
        self._catch_up()
        frozen = self._last is not None and bool(freeze_mask(faults, sensor.name, stamp))
        if not frozen or self.model.exchange is not None:
            ideal = self._ideal(stamp, state, environment, inputs)
            if not frozen:
                self._last = disturb_readings(sensor, ideal, stamp, self._seed, faults)
        assert self._last is not None
        if dropout_mask(faults, sensor, stamp, self._seed) or not has_reading(self._last):
            return None
        late = int(added_latency(faults, sensor.name, stamp))
        return self._send(stamp, stamp + _latency(sensor, self._last) + late, self._last)

    def _ideal(
        self, stamp: int, state: State, environment: Environment, inputs: SensorInputs
    ) -> Readings:
        """Return the reading of a stamp without noise."""
        if self.model.exchange is None:
            return self.model.measure(self.sensor, state, environment, inputs)
        readings, self._exchanged = self.model.exchange(
            self.sensor, self._exchanged, stamp, state, environment, inputs, self._seed
        )
        return readings

    def _send(self, stamp: int, arrival: int, readings: Readings) -> tuple[int, Readings]:
        """Return a reading that is sent, with what follows from it and the ones before."""
        if self.first < 0:
            self.first = stamp
        if self.model.follow is not None:
            readings, self._memory = self.model.follow(self.sensor, self._memory, stamp, readings)
        return arrival, readings


class SensorSeries(Mapping[str, np.ndarray]):
    """The readings (m, ...) of a sensor in a run by quantity; NaN where one was not sent.

    Attributes:
        stamp: (m,) of the measurements, ns.
        arrival: (m,) when their messages come, ns.
    """

    def __init__(self, readings: Readings, stamp: np.ndarray, arrival: np.ndarray) -> None:
        """Keep m readings."""
        self._readings = readings
        self.stamp, self.arrival = stamp, arrival

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the readings of a quantity."""
        return self._readings[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the quantities."""
        return iter(self._readings)

    def __len__(self) -> int:
        """Return the number of quantities."""
        return len(self._readings)

    def at(self, i: int) -> Readings | None:
        """Return the i-th reading, or None where it was not sent."""
        readings = {name: value[i] for name, value in self._readings.items()}
        return readings if has_reading(readings) else None


class SeriesMemory(NamedTuple):
    """Memory of a sensor's readings from earlier ticks.

    Attributes:
        stamp: of the last tick, ns; -1: there was none.
        readings: the last reading, whether or not it was sent; None: there was none.
        arrival: when its message comes, ns.
        follow: what :attr:`SensorModel.follow` remembers.
        exchanged: what :attr:`SensorModel.exchange` remembers.
    """

    stamp: int = -1
    readings: Readings | None = None
    arrival: int = -1
    follow: Any = None
    exchanged: Any = None


class SensorRecord(Mapping[str, SensorSeries]):
    """Readings of all sensors of a vehicle in a run, by name; computed on demand.

    Attributes:
        inputs: (n, ...) each, of all ticks.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        environment: Environment,
        stamps: np.ndarray,
        states: State,
        inputs: SensorInputs,
        *,
        seed: int = 0,
        faults: Sequence[Fault] = (),
        at_once: bool = False,
        before: MutableMapping[str, SeriesMemory] | None = None,
        others: Mapping[str, SensorRecord] | None = None,
    ) -> None:
        """Keep n ticks.

        Args:
            environment: around it, with gusts.
            stamps: (n,) ns.
            states: (n, ...) each.
            inputs: (n, ...) each.
            at_once: compute all ticks in one call where the water is steady, which may round
                otherwise than tick by tick.
            before: memory of the ticks before by sensor, which each sensor that is read brings up
                to date: a run in parts has one for all. None: these are the first.
            others: of other vehicles and of free bodies at the same ticks, by namespace.
        """
        self._vehicle = vehicle
        self._sensors = {sensor.name: sensor for sensor in vehicle.sensors}
        self._environment = replace(environment, looks=OwnParts(vehicle))
        self._stamps = stamps
        self._states, self.inputs = states, inputs
        self._seed, self._faults = seed, tuple(faults)
        self._at_once = at_once
        self._before = {} if before is None else before
        self._known: dict[str, SensorSeries] = {}
        self._others: Mapping[str, SensorRecord] = others or {}

    def with_others(self, others: Mapping[str, SensorRecord], own: str) -> SensorRecord:
        """Return the record of the same vehicle whose sensors see other vehicles.

        Args:
            others: of the same ticks, by name.
            own: name of the vehicle itself.
        """
        result = copy(self)
        result._environment = replace(self._environment, own=own)
        result._known, result._before = {}, {}
        result._others = {**self._others, **others}
        return result

    @property
    def states(self) -> State:
        """States (n, ...) of the vehicle."""
        return self._states

    def __getitem__(self, name: str) -> SensorSeries:
        """Return the readings of a sensor."""
        if name not in self._known:
            self._known[name] = self._series(self._sensors[name])
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the sensors' names."""
        return iter(self._sensors)

    def __len__(self) -> int:
        """Return the number of sensors."""
        return len(self._sensors)

    def _environments_among(self, rows: np.ndarray) -> list[Environment]:
        """Return the environments (m) with the other vehicles at m ticks."""
        others = self._others
        bodies = {n: body_of(o._vehicle, n, o._seed) for n, o in others.items()}
        return [
            with_vehicles(
                self._environment.at(self._stamps[row] / NANOSECONDS),
                bodies,
                {n: State(*(x[row] for x in o._states)) for n, o in others.items()},
                {n: o.inputs.at(row) for n, o in others.items()},
            )
            for row in rows.tolist()
        ]

    def _series(self, sensor: Sensor) -> SensorSeries:
        memory = self._before.get(sensor.name, SeriesMemory())
        end = int(self._stamps[-1])
        before = np.concatenate([[memory.stamp], self._stamps[:-1]])
        if sensor.period:
            reads = self._stamps // sensor.period != before // sensor.period
            rows = np.flatnonzero(reads)
        else:
            rows = np.arange(len(self._stamps))
        stamps, faults = self._stamps[rows], self._faults
        if not len(rows):
            self._before[sensor.name] = memory._replace(stamp=end)
            return SensorSeries({}, stamps, stamps)
        states = State(*(x[rows] for x in self._states))
        around, inputs = None, self.inputs.at(rows)
        if self._others and sees_others(sensor):
            around = self._environments_among(rows)
        ideal, exchanged = self._ideal(sensor, stamps, states, inputs, around, memory.exchanged)
        readings = disturb_readings(sensor, ideal, stamps, self._seed, faults)
        if faults:
            readings = _hold_readings(
                readings, freeze_mask(faults, sensor.name, stamps), memory.readings
            )
        last = {name: value[-1].copy() for name, value in readings.items()}
        arrival = stamps + _latency(sensor, readings)
        if faults:
            arrival = arrival + added_latency(faults, sensor.name, stamps)
        arrival = np.maximum(np.maximum.accumulate(arrival), memory.arrival)
        series, followed = SensorSeries(readings, stamps, arrival), memory.follow
        if faults:
            series = _drop_lost(series, dropout_mask(faults, sensor, stamps, self._seed))
        if SENSORS[sensor.kind].follow:
            series, followed = _follow_readings(sensor, series, followed)
        self._before[sensor.name] = SeriesMemory(end, last, int(arrival[-1]), followed, exchanged)
        return series

    def _ideal(
        self,
        sensor: Sensor,
        stamps: np.ndarray,
        states: State,
        inputs: SensorInputs,
        around: Sequence[Environment] | None,
        memory: Any,
    ) -> tuple[Readings, Any]:
        """Return the readings (m, ...) without noise at m stamps, and what is remembered."""
        exchange = SENSORS[sensor.kind].exchange
        if exchange is None:
            ideal = ideal_readings(
                sensor,
                self._environment,
                stamps,
                states,
                inputs,
                at_once=self._at_once,
                around=around,
            )
            return ideal, None
        rows: list[Readings] = []
        for i, stamp in enumerate(stamps.tolist()):
            now = self._environment.at(stamp / NANOSECONDS) if around is None else around[i]
            state = State(*(x[i] for x in states))
            row, memory = exchange(sensor, memory, stamp, state, now, inputs.at(i), self._seed)
            rows.append(row)
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}, memory


def _hold_readings(readings: Readings, is_held: np.ndarray, before: Readings | None) -> Readings:
    """Return readings (m, ...) of which some (m,) are the one before, and of the first that."""
    if before is not None and is_held[0]:
        readings = {n: np.concatenate([before[n][None], x]) for n, x in readings.items()}
        return {
            n: x[1:]
            for n, x in _hold_readings(readings, np.insert(is_held, 0, False), None).items()
        }
    is_held = is_held.copy()
    is_held[0] = False  # the first reading is one, whatever is wrong
    last = np.maximum.accumulate(np.where(is_held, 0, np.arange(len(is_held))))
    return {name: value[last] for name, value in readings.items()}


def _follow_readings(
    sensor: Sensor, series: SensorSeries, memory: Any
) -> tuple[SensorSeries, Any]:
    """Return readings with what follows from them and the ones before, and its memory."""
    follow = SENSORS[sensor.kind].follow
    rows: list[Readings | None] = []
    for i, stamp in enumerate(series.stamp.tolist()):
        readings = series.at(i)
        if readings is not None:
            readings, memory = follow(sensor, memory, stamp, readings)
        rows.append(readings)
    first = next((row for row in rows if row is not None), {})
    followed = {
        name: np.stack([np.full_like(first[name], np.nan) if r is None else r[name] for r in rows])
        for name in first.keys() - series.keys()
    }
    return SensorSeries({**series, **followed}, series.stamp, series.arrival), memory


def _drop_lost(series: SensorSeries, is_lost: np.ndarray) -> SensorSeries:
    """Return a series without the lost readings: NaN in their place, or no rows of pictures."""
    if not is_lost.any():
        return series
    stamps, arrival = series.stamp, series.arrival
    if not all(np.issubdtype(values.dtype, np.floating) for values in series.values()):
        rows = np.flatnonzero(~is_lost)
        kept = {name: values[rows] for name, values in series.items()}
        return SensorSeries(kept, stamps[rows], arrival[rows])
    readings = {
        name: np.where(is_lost.reshape(-1, *(1,) * (values.ndim - 1)), np.nan, values)
        for name, values in series.items()
    }
    return SensorSeries(readings, stamps, arrival)
