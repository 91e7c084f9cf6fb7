# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Altitude and leak for the pilot's overlay, from the newest messages of the vehicle's sensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.state import NANOSECONDS, stamp_ns
from marine_sim_ros.model.vehicle import Sensor, Vehicle

__all__ = ['pilot_readings', 'pilot_topics']

_RANGE, _LEAK = 'sensor_msgs/msg/Range', 'std_msgs/msg/Bool'
_ALTITUDES = {'altimeter': ('range', 0), 'echo_sounder': ('range', 0), 'dvl': ('altitude', 2)}
"""Topic by kind of sensor, and the axis along which it measures; the first that has one counts."""
_MAX_TILT = math.radians(60.0)
"""Largest angle to the vertical of an axis that looks down, as in the check ``sensor-view``."""
_FRESH = (2.0, 5.0)
"""s, and periods, after which an altitude is unknown: whichever is longer."""
_distance = message_numbers(_RANGE, 'range')


def _range_row(message: Any) -> tuple[float, ...]:
    """Return stamp, s, and range, m."""
    return (stamp_ns(message.header.stamp) / NANOSECONDS, *_distance(message))


def _leak_row(message: Any) -> tuple[float, ...]:
    return (float(message.data),)


def _altitude_topics(vehicle: Vehicle) -> Iterator[tuple[Sensor, str]]:
    """Yield the sensors that look down, the best for an altitude first, and their topics."""
    for kind, (topic, axis) in _ALTITUDES.items():
        for sensor in vehicle.sensors:
            if sensor.kind == kind and sensor.rotation[2, axis] < -math.cos(_MAX_TILT):
                yield sensor, topic


def _leak_topics(vehicle: Vehicle) -> Iterator[tuple[Sensor, str]]:
    return ((sensor, 'detected') for sensor in vehicle.sensors if sensor.kind == 'leak')


def pilot_topics(
    vehicle: Vehicle,
) -> list[tuple[Sensor, str, str, Callable[[Any], tuple[float, ...]]]]:
    """Return sensor, topic, type of message and its converter into a row, of the overlay."""
    ranges = [(*found, _RANGE, _range_row) for found in _altitude_topics(vehicle)]
    return ranges + [(*found, _LEAK, _leak_row) for found in _leak_topics(vehicle)]


def pilot_readings(
    rows: Mapping[str, Sequence[float]], vehicle: Vehicle, now: float
) -> dict[str, float | bool | None]:
    """Return altitude (m) and leak, JSON; None: no fresh reading; absent: no such sensor.

    Args:
        rows: newest rows by SENSOR/TOPIC, of the converters of :func:`pilot_topics`.
        now: time in the clock of the messages' stamps, s.
    """
    result: dict[str, float | bool | None] = {}
    for sensor, topic in _altitude_topics(vehicle):
        if result.setdefault('altitude', None) is None:
            stamp, distance = rows.get(f'{sensor.name}/{topic}', (-math.inf, math.nan))
            limit = max(_FRESH[0], _FRESH[1] * sensor.period / NANOSECONDS)
            fresh = abs(now - stamp) <= limit + sensor.latency / NANOSECONDS
            result['altitude'] = distance if fresh and math.isfinite(distance) else None
    for sensor, topic in _leak_topics(vehicle):
        if (row := rows.get(f'{sensor.name}/{topic}')) is not None:
            result['leak'] = bool(result.get('leak')) or row[0] > 0.5
        result.setdefault('leak', None)
    return result
