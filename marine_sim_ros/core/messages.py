# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of messages: where the numbers of each type of message stand, for readers and writers.

Charts of sensors, rows of bags, and the console read messages by this table; sensors fill theirs
by it. No package of ROS is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

__all__ = ['MESSAGES', 'message_fields', 'message_numbers']

Row: TypeAlias = tuple[float, ...]


class MessageArray(NamedTuple):
    """Numbers of a message.

    Attributes:
        path: field that has them, with dots between names.
        parts: names of its parts, such as ``xyz`` of a vector; empty: it is a number or a list.
        rows: those of a list that count, such as the diagonal of a covariance; empty: all.
    """

    path: str
    parts: str = ''
    rows: tuple[int, ...] = ()

    def reader(self) -> Callable[[Any], Row]:
        """Return a function of a message that returns the numbers."""
        if self.parts:
            return attrgetter(*(f'{self.path}.{part}' for part in self.parts))
        get, rows = attrgetter(self.path), self.rows
        if rows:
            return lambda message: tuple(float(get(message)[i]) for i in rows)

        def read(message: Any) -> Row:
            value = get(message)
            return tuple(map(float, value)) if hasattr(value, '__len__') else (float(value),)

        return read

    def value(self, numbers: Any) -> Any:
        """Return the value of the field that has these numbers."""
        if not self.parts:
            return numbers
        return dict(zip(self.parts, map(float, numbers), strict=True))


def _vector(path: str) -> MessageArray:
    return MessageArray(path, 'xyz')


_DIAGONAL = (0, 7, 14)
"""Variances of x, y, z in a covariance (6, 6), by row."""
_NUMBER = {'data': MessageArray('data')}

MESSAGES: Mapping[str, Mapping[str, MessageArray]] = {
    'geometry_msgs/msg/PointStamped': {'point': _vector('point')},
    'geometry_msgs/msg/PoseStamped': {
        'position': _vector('pose.position'),
        'orientation': MessageArray('pose.orientation', 'xyzw'),
    },
    'geometry_msgs/msg/PoseWithCovarianceStamped': {
        'position': _vector('pose.pose.position'),
        'orientation': MessageArray('pose.pose.orientation', 'xyzw'),
        'covariance': MessageArray('pose.covariance'),
        'position_variance': MessageArray('pose.covariance', rows=_DIAGONAL),
    },
    'geometry_msgs/msg/TwistWithCovarianceStamped': {
        'linear': _vector('twist.twist.linear'),
        'covariance': MessageArray('twist.covariance'),
        'linear_variance': MessageArray('twist.covariance', rows=_DIAGONAL),
    },
    'geometry_msgs/msg/Vector3Stamped': {'vector': _vector('vector')},
    'geometry_msgs/msg/Wrench': {'force': _vector('force'), 'torque': _vector('torque')},
    'geometry_msgs/msg/WrenchStamped': {
        'force': _vector('wrench.force'),
        'torque': _vector('wrench.torque'),
    },
    'marine_acoustic_msgs/msg/Dvl': {
        'velocity': _vector('velocity'),
        'velocity_covariance': MessageArray('velocity_covar'),
        'altitude': MessageArray('altitude'),
        'range': MessageArray('range'),
        'range_variance': MessageArray('range_covar'),
        'beam_velocity': MessageArray('beam_velocity'),
        'beam_velocity_variance': MessageArray('beam_velocity_covar'),
    },
    'nav_msgs/msg/Odometry': {
        'position': _vector('pose.pose.position'),
        'orientation': MessageArray('pose.pose.orientation', 'xyzw'),
        'linear': _vector('twist.twist.linear'),
        'angular': _vector('twist.twist.angular'),
        'pose_covariance': MessageArray('pose.covariance'),
        'twist_covariance': MessageArray('twist.covariance'),
        'x_variance': MessageArray('pose.covariance', rows=(0,)),
    },
    'sensor_msgs/msg/BatteryState': {
        'voltage': MessageArray('voltage'),
        'current': MessageArray('current'),
    },
    'sensor_msgs/msg/FluidPressure': {
        'pressure': MessageArray('fluid_pressure'),
        'variance': MessageArray('variance'),
    },
    'sensor_msgs/msg/Imu': {
        'orientation': MessageArray('orientation', 'xyzw'),
        'orientation_variance': MessageArray('orientation_covariance', rows=(0,)),
        'rates': _vector('angular_velocity'),
        'rates_variance': MessageArray('angular_velocity_covariance', rows=(0,)),
        'force': _vector('linear_acceleration'),
        'force_variance': MessageArray('linear_acceleration_covariance', rows=(0,)),
    },
    'sensor_msgs/msg/JointState': {
        'position': MessageArray('position'),
        'effort': MessageArray('effort'),
    },
    'sensor_msgs/msg/MagneticField': {
        'field': _vector('magnetic_field'),
        'variance': MessageArray('magnetic_field_covariance', rows=(0,)),
    },
    'sensor_msgs/msg/Range': {'range': MessageArray('range')},
    'sensor_msgs/msg/Temperature': {
        'temperature': MessageArray('temperature'),
        'variance': MessageArray('variance'),
    },
    'std_msgs/msg/Bool': _NUMBER,
    'std_msgs/msg/Float32': _NUMBER,
    'std_msgs/msg/Float64': _NUMBER,
}
"""Arrays of the messages, by type and name."""


def message_numbers(message_type: str, *names: str) -> Callable[[Any], Row]:
    """Return a function of a message that returns the numbers of some arrays, in order."""
    readers: Sequence[Callable[[Any], Row]] = [MESSAGES[message_type][n].reader() for n in names]
    if len(readers) == 1:
        return readers[0]
    return lambda message: tuple(x for read in readers for x in read(message))


def message_fields(message_type: str, **arrays: Any) -> dict[str, Any]:
    """Return the fields of a message by name, nested ones as mappings, of some of its arrays."""
    result: dict[str, Any] = {}
    for name, numbers in arrays.items():
        array = MESSAGES[message_type][name]
        *above, last = array.path.split('.')
        inside = result
        for field in above:
            inside = inside.setdefault(field, {})
        inside[last] = array.value(numbers)
    return result
