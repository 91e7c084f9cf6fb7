# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded sensor readings and autopilot estimates compared with ideal readings.

The true reading is that of the sensor's own model for the state of the odometry with the stamp of
the message, in an environment, and for the recorded acceleration and supply. The error is divided
by the standard deviation σ that the sensor claims: (reading − truth)/σ has the mean 0 and the
variance 1 where white noise is all that is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from marine_sim_ros.bags.ardupilot_logs import LOG_SUFFIXES
from marine_sim_ros.bags.csv_logs import CSV_SUFFIX
from marine_sim_ros.bags.reading import bag_path, open_bag
from marine_sim_ros.bags.roles import row_converter
from marine_sim_ros.bags.storage import BagReader
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.state import NANOSECONDS, State, header_stamp, stamp_ns
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Frame, Sensor, Vehicle
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sensors import SENSORS, Readings, SensorInputs
from marine_sim_ros.sensors.partners import sees_others
from marine_sim_ros.sensors.seen_bodies import body_of, with_vehicles
from marine_sim_ros.sensors.sensor_model import (
    SensorChart,
    SensorModel,
    SensorTopic,
    against_ideal,
    vector_fields,
)
from marine_sim_ros.sensors.series import ideal_readings

__all__ = ['BOUND', 'SensorComparison', 'compare_sensors', 'normalise_errors']


# Estimate of an autopilot, treated as a sensor that reads the true state.

AUTOPILOT = Sensor(
    'autopilot', 'autopilot', None, Frame('map', '', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
)
"""The topics ``autopilot/...`` of a vehicle that ArduSub steers."""


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the position (..., 3) in map, m."""
    del sensor, environment, inputs
    return {'position': state.position}


def _fields(sensor: Sensor, readings: Readings) -> dict[str, Any]:
    del sensor
    return {'point': vector_fields(readings['position'])}


_MODEL = SensorModel(
    'autopilot',
    _measure,
    topics=(SensorTopic('position', 'geometry_msgs/msg/PointStamped', _fields, frame='map'),),
    charts=(
        SensorChart(
            'position',
            'position',
            'm',
            message_numbers('geometry_msgs/msg/PointStamped', 'point'),
            against_ideal('position'),
            parts=('x', 'y', 'z'),
        ),
    ),
    label='Estimator of the autopilot',
)


def estimator_model(sensor: Sensor) -> SensorModel:
    """Return the model of a sensor, or of AUTOPILOT."""
    return _MODEL if sensor is AUTOPILOT else SENSORS[sensor.kind]


# Recorded sensor readings compared with noise-free ones.

MAX_READINGS = 131_072
"""Readings of a topic that are compared, 11 minutes at 200 Hz: of more, every n-th."""
MAX_COSTLY_READINGS = 16_384
"""The same where each needs the water, or other vehicles, of its own time."""
BOUND = 2.0
"""Normalised errors within it are counted: 95.4 % where the noise is normal."""


@dataclass(frozen=True, eq=False)
class SensorComparison:
    """A quantity of a sensor in a run: k values of m messages.

    Attributes:
        chart: the quantity.
        time: (m,) stamps, s.
        reading: (m, k).
        truth: (m, k).
        error: (m, k) reading less truth; NaN where one of them is not finite.
        normalised: (m, k) error over the standard deviation; NaN where none is known.
        stride: every stride-th message is compared.
    """

    sensor: str
    chart: SensorChart
    time: np.ndarray
    reading: np.ndarray
    truth: np.ndarray
    error: np.ndarray
    normalised: np.ndarray
    stride: int

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return the numbers of the errors, by the names of the values."""
        result = {}
        for i, part in enumerate(self.chart.parts):
            error, normalised = self.error[:, i], self.normalised[:, i]
            error, normalised = error[np.isfinite(error)], normalised[np.isfinite(normalised)]
            own: dict[str, Any] = {
                'unit': self.chart.unit,
                'readings': len(error),
                'every': self.stride,
                'bias': _mean(error),
                'rms': _rms(error),
                'normalised_mean': _mean(normalised),
                'normalised_rms': _rms(normalised),
                'share_within_2': _mean(np.abs(normalised) <= BOUND),
            }
            result[f'{self.chart.label} {part}'.strip()] = own
        return result


def _mean(values: np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _rms(values: np.ndarray) -> float | None:
    return float(np.sqrt(np.mean(values**2))) if len(values) else None


_NO_MEASUREMENT = 1e100


def normalise_errors(
    chart: SensorChart, reading: np.ndarray, truth: np.ndarray, deviation: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return errors (m, k), and these over the standard deviation; NaN where one is not known.

    Numbers beyond 1e100 are no measurement: their squares overflow.
    """
    known = (np.abs(reading) < _NO_MEASUREMENT) & (np.abs(truth) < _NO_MEASUREMENT)
    error = np.where(known, reading, np.nan) - np.where(known, truth, np.nan)
    if chart.period:
        error = error - chart.period * np.round(error / chart.period)
    # Of a noise that is rounding alone, and of none, nothing can be said.
    sure = np.isfinite(deviation) & (deviation > 0)
    with np.errstate(over='ignore'):
        normalised = np.where(sure, error, np.nan) / np.where(sure, deviation, 1.0)
    return error, np.where(np.abs(normalised) < _NO_MEASUREMENT, normalised, np.nan)


def compare_sensors(
    text: str,
    namespace: str,
    vehicle: Vehicle,
    environment: Environment,
    neighbours: Mapping[str, Vehicle] | None,
) -> tuple[SensorComparison, ...]:
    """Return the charted quantities of a vehicle's sensors that a bag has, in their order.

    After them comes the position that its autopilot estimates.

    Args:
        text: path of the bag.
        namespace: of the vehicle in the bag.
        neighbours: the other vehicles that its rays meet, by their namespaces in the bag.

    Raises:
        RecordingError: the bag cannot be read.
    """
    path = bag_path(text)
    if path.suffix.lower() in ('.bag', CSV_SUFFIX, *LOG_SUFFIXES):  # none of these sensors
        return ()
    with open_bag(path, text) as reader:
        at_once = environment.is_steady and not neighbours
        topics = _read_topics(
            reader, namespace, vehicle, MAX_READINGS if at_once else MAX_COSTLY_READINGS
        )
        if not topics:
            return ()
        _share_stamps(topics.values())
        stamps = np.unique(np.concatenate([np.array(t.stamps) for t in topics.values()]))
        motion = _read_motion(reader, namespace, stamps)
        others = {name: _read_motion(reader, name, stamps) for name in neighbours or ()}
    around = _Around(
        environment, {name: body_of(v, name) for name, v in (neighbours or {}).items()}, others
    )
    result: list[SensorComparison] = []
    for sensor in (*vehicle.sensors, AUTOPILOT):
        found: dict[SensorChart, SensorComparison] = {}
        for topic in topics.values():
            if topic.sensor is sensor:
                found |= _compare_topic(topic, motion, around)
        result += [found[chart] for chart in estimator_model(sensor).charts if chart in found]
    return tuple(result)


@dataclass(eq=False)
class _Topic:
    """Messages of a topic, every stride-th: their stamps, ns, and their numbers by chart."""

    sensor: Sensor
    charts: tuple[SensorChart, ...]
    most: int
    count: int = 0
    stride: int = 1
    stamped: bool = True
    stamps: array[int] = field(default_factory=lambda: array('q'))
    widths: tuple[int, ...] = ()
    _numbers: array[float] = field(default_factory=lambda: array('d'))

    def take(self, receipt: int, message: Callable[[], Any]) -> None:
        """Take a message, which is made of its bytes only if it is one of those that count."""
        self.count += 1
        if (self.count - 1) % self.stride:
            return
        found = message()
        header = getattr(found, 'header', None)
        self.stamped = header is not None
        if header is not None:
            receipt = stamp_ns(header.stamp)
        try:
            row = [tuple(map(float, chart.numbers(found))) for chart in self.charts]
        except IndexError:  # an array is shorter than this sensor would send it
            return
        widths = tuple(map(len, row))
        self.widths = self.widths or widths
        if widths != self.widths:
            return
        self.stamps.append(receipt)
        self._numbers.extend(chain.from_iterable(row))
        if len(self.stamps) > self.most:
            self.stamps = self.stamps[::2]
            self._numbers = array('d', self._rows()[::2].tobytes())
            self.stride *= 2

    def _rows(self) -> np.ndarray:
        return np.array(self._numbers).reshape(-1, sum(self.widths))

    def columns(self) -> list[np.ndarray]:
        """Return the numbers (m, ...) of each chart."""
        return np.split(self._rows(), np.cumsum(self.widths)[:-1], axis=1)


def _read_topics(
    reader: BagReader, namespace: str, vehicle: Vehicle, most: int
) -> dict[str, _Topic]:
    """Return the charted topics that the bag has, by their names below the vehicle's."""
    there = {(_relative_topic(namespace, c.topic), c.msgtype) for c in reader.connections}
    topics: dict[str, _Topic] = {}
    for sensor in (*vehicle.sensors, AUTOPILOT):
        model = estimator_model(sensor)
        kinds = {topic.name: topic.type for topic in model.topics_of(sensor)}
        for name in dict.fromkeys(chart.topic for chart in model.charts):
            if (f'{sensor.name}/{name}', kinds.get(name)) in there:
                charts = tuple(chart for chart in model.charts if chart.topic == name)
                topics[f'{sensor.name}/{name}'] = _Topic(sensor, charts, most)
    wanted = [c for c in reader.connections if _relative_topic(namespace, c.topic) in topics]
    for connection, receipt, data in reader.messages(wanted) if wanted else ():
        name = _relative_topic(namespace, connection.topic)
        topics[name].take(receipt, partial(reader.deserialize, data, connection.msgtype))
    return topics


def _relative_topic(namespace: str, topic: str) -> str:
    """Return a topic's name below a namespace; empty where it is not below it."""
    name = topic.strip('/')
    if not namespace:
        return name
    return name.removeprefix(f'{namespace}/') if name.startswith(f'{namespace}/') else ''


def _share_stamps(topics: Iterable[_Topic]) -> None:
    """Give messages without a stamp those of another topic of the sensor with as many of them."""
    known = list(topics)
    for topic in known:
        if topic.stamped:
            continue
        for other in known:
            same = other.sensor is topic.sensor and other.count == topic.count
            same = same and len(other.stamps) == len(topic.stamps)
            if other.stamped and same:
                topic.stamps = other.stamps


@dataclass(frozen=True, eq=False)
class _Motion:
    """True motion at stamps (m,), ns: rows (m, k), NaN where the bag has no data."""

    stamps: np.ndarray
    odom: np.ndarray
    acceleration: np.ndarray
    supply: np.ndarray

    def rows(self, stamps: np.ndarray | int) -> Any:
        """Return the rows (...) of stamps (...) that are among these."""
        return np.searchsorted(self.stamps, stamps)


@dataclass(frozen=True, eq=False)
class _Around:
    """Surroundings of a vehicle: an environment, and other vehicles with known odom."""

    environment: Environment
    bodies: Mapping[str, Body]
    motions: Mapping[str, _Motion]

    def at(self, stamp: int) -> Environment:
        """Return the environment at a stamp, ns, with the vehicles that were there then."""
        rows = {name: known.odom[known.rows(stamp)] for name, known in self.motions.items()}
        states = {
            name: State(*np.split(row, [3, 7]))
            for name, row in rows.items()
            if not np.isnan(row[0])
        }
        return with_vehicles(self.environment.at(stamp / NANOSECONDS), self.bodies, states)


def _read_motion(reader: BagReader, namespace: str, stamps: np.ndarray) -> _Motion:
    """Return the motion at stamps, ns; of other messages only the stamp is read."""
    found = {
        n: np.full((len(stamps), width), np.nan) for n, (_, width, _) in _TRUTH_TOPICS.items()
    }
    kinds = {(name, kind) for name, (kind, _, _) in _TRUTH_TOPICS.items()}
    wanted = [
        c for c in reader.connections if (_relative_topic(namespace, c.topic), c.msgtype) in kinds
    ]
    for connection, _, data in reader.messages(wanted) if wanted else ():
        stamp = header_stamp(data) if len(data) >= 12 else -1
        row = int(np.searchsorted(stamps, stamp))
        if row < len(stamps) and stamps[row] == stamp:
            name = _relative_topic(namespace, connection.topic)
            _, width, numbers = _TRUTH_TOPICS[name]
            values = tuple(numbers(reader.deserialize(data, connection.msgtype)))
            if len(values) == width:
                found[name][row] = values
    return _Motion(stamps, *found.values())


def _acceleration(message: Any) -> tuple[float, ...]:
    a, w = message.accel.linear, message.accel.angular
    return (a.x, a.y, a.z, w.x, w.y, w.z)


_TRUTH_TOPICS: Mapping[str, tuple[str, int, Callable[[Any], tuple[float, ...]]]] = {
    'odom': ('nav_msgs/msg/Odometry', 13, row_converter('odom', 'nav_msgs/msg/Odometry')),
    'acceleration': ('geometry_msgs/msg/AccelStamped', 6, _acceleration),
    'thrusters/supply': ('sensor_msgs/msg/JointState', 3, lambda message: tuple(message.position)),
}
"""Of each topic: type, how many numbers, and what makes them of a message."""


def _compare_topic(
    topic: _Topic, motion: _Motion, around: _Around
) -> dict[SensorChart, SensorComparison]:
    """Return the comparisons of a topic; none where no reading has a true state."""
    stamps = np.array(topic.stamps, np.int64)
    rows = motion.rows(stamps)
    known = ~np.isnan(motion.odom[rows, 0])
    if not known.any():
        return {}
    stamps, rows = stamps[known], rows[known]
    time = stamps / NANOSECONDS
    state = State(*np.split(motion.odom[rows], [3, 7], axis=1))
    inputs = SensorInputs(time, motion.acceleration[rows], motion.supply[rows])
    model = estimator_model(topic.sensor)
    sees = around.bodies and sees_others(topic.sensor)
    ideal = ideal_readings(
        topic.sensor,
        around.environment,
        stamps,
        state,
        inputs,
        model=model,
        at_once=True,
        around=[around.at(stamp) for stamp in stamps.tolist()] if sees else None,
    )
    result = {}
    for numbers, chart in zip(topic.columns(), topic.charts, strict=True):
        found = chart.compare(topic.sensor, numbers[known], ideal, state)
        shape = (len(rows), len(chart.parts))
        reading, truth, deviation = (np.broadcast_to(np.asarray(x, float), shape) for x in found)
        result[chart] = SensorComparison(
            topic.sensor.name,
            chart,
            time,
            reading,
            truth,
            *normalise_errors(chart, reading, truth, deviation),
            topic.stride,
        )
    return result
