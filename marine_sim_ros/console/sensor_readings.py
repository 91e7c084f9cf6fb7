# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readings of sensors in plain words and units, by the type of the message."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ['NAMED', 'READINGS', 'number_text', 'plain']

MOST = 4
"""Numbers of a message of a type that has no words here."""


def number_text(value: float, decimals: int = 2) -> str:
    """Return a number with a minus as wide as a plus, none before a zero; unknown: a dash."""
    if not math.isfinite(value):
        return '–'
    text = f'{value:.{decimals}f}'
    return text.lstrip('-') if float(text) == 0 else text.replace('-', '−')


def _three(vector: Any, decimals: int, scale: float = 1.0) -> str:
    values = (vector.x, vector.y, vector.z)
    return ', '.join(number_text(scale * value, decimals) for value in values)


def _imu(m: Any) -> str:
    force, rates = m.linear_acceleration, m.angular_velocity
    degrees = _three(rates, 1, 180 / math.pi)
    return f'{_three(force, 2)} m/s²\n{degrees} °/s'


def _fix(m: Any) -> str:
    north, east = 'N' if m.latitude >= 0 else 'S', 'E' if m.longitude >= 0 else 'W'
    place = f'{abs(m.latitude):.5f}° {north}, {abs(m.longitude):.5f}° {east}'
    return f'{place}\n{number_text(m.altitude, 1)} m'


def _place(m: Any) -> str:
    p = m.pose.pose.position
    east, north, up = (number_text(x, 1) for x in (p.x, p.y, p.z))
    return f'east {east}, north {north}, up {up} m'


def _battery(m: Any) -> str:
    """Return voltage and current, and the charge where it is known; a discharge is negative."""
    known = [f'{number_text(m.voltage)} V']
    if math.isfinite(m.current):
        word = 'draws' if m.current <= 0 else 'charges with'
        known.append(f'{word} {number_text(abs(m.current), 1)} A')
    if math.isfinite(m.percentage):
        known.append(f'{number_text(100 * m.percentage, 0)} % left')
    return ', '.join(known)


def _range(m: Any) -> str:
    if math.isinf(m.range):
        return 'nothing in range' if m.range > 0 else 'too near'
    return f'{number_text(m.range)} m'


def _scan(m: Any) -> str:
    near = [r for r in m.ranges if math.isfinite(r)]
    if near:
        return f'first return {number_text(min(near))} m'
    return 'no return' if len(m.ranges) > 1 else 'no return at this bearing'


def _speed(m: Any) -> str:
    v = m.twist.twist.linear
    return f'speed {number_text(math.hypot(v.x, v.y, v.z))} m/s'


def _value(m: Any) -> str:
    """Return a number of any size with four digits."""
    return f'{float(m.data):.4g}'.replace('-', '−')


READINGS: dict[str, Callable[[Any], str]] = {
    'geometry_msgs/msg/PoseWithCovarianceStamped': _place,
    'geometry_msgs/msg/TwistWithCovarianceStamped': _speed,
    'sensor_msgs/msg/BatteryState': _battery,
    'sensor_msgs/msg/CameraInfo': lambda m: f'{m.width} × {m.height} pixels',
    'sensor_msgs/msg/FluidPressure': lambda m: f'{number_text(m.fluid_pressure / 1000)} kPa',
    'sensor_msgs/msg/Imu': _imu,
    'sensor_msgs/msg/LaserScan': _scan,
    'sensor_msgs/msg/MagneticField': lambda m: f'{_three(m.magnetic_field, 1, 1e6)} µT',
    'sensor_msgs/msg/NavSatFix': _fix,
    'sensor_msgs/msg/Range': _range,
    'sensor_msgs/msg/Temperature': lambda m: f'{number_text(m.temperature)} °C',
    'std_msgs/msg/Bool': lambda m: 'yes' if m.data else 'no',
    'std_msgs/msg/Float32': _value,
    'std_msgs/msg/Float64': _value,
}
"""What a message says, by its type."""
NAMED = (
    'sensor_msgs/msg/Range',
    'std_msgs/msg/Bool',
    'std_msgs/msg/Float32',
    'std_msgs/msg/Float64',
)
"""Types that do not tell what they are of: the topic's name does."""


def plain(message: Any) -> str:
    """Return the first numbers of a message of any type, with the names of their fields."""
    return ', '.join(_numbers(message, ''))


def _numbers(message: Any, name: str) -> list[str]:
    if isinstance(message, bool):
        return [f'{name} {"yes" if message else "no"}']
    if isinstance(message, int | float):
        return [f'{name} {number_text(float(message), 3)}']
    fields: dict[str, str] = getattr(message, 'get_fields_and_field_types', dict)()
    found: list[str] = []
    for field in (f for f in fields if f != 'header'):
        found += _numbers(getattr(message, field), field)
    return found[:MOST]
