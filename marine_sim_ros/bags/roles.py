# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topic roles: which topics a recording may have, and how a message becomes a row of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.sim.step import ACTUATED, COMMANDED

__all__ = [
    'DISPLAY_TOPICS',
    'DRIVER_TOPICS',
    'EXTRA_TYPES',
    'FALLBACK_DRIVER_TOPICS',
    'accepted_types',
    'actuator_of',
    'known_topics',
    'role_of',
    'row_converter',
    'row_labels',
    'state_columns',
    'unit_suffix',
]

Row = tuple[float, ...]
_NAN = math.nan

ODOM_COLUMNS = (
    'x_m',
    'y_m',
    'z_m',
    'qx',
    'qy',
    'qz',
    'qw',
    'surge_m_s',
    'sway_m_s',
    'heave_m_s',
    'roll_rate_rad_s',
    'pitch_rate_rad_s',
    'yaw_rate_rad_s',
)
_WRENCH_COLUMNS = (
    'force_x_N',
    'force_y_N',
    'force_z_N',
    'torque_x_Nm',
    'torque_y_Nm',
    'torque_z_Nm',
)
_SETPOINT_UNITS = ('m',) * 3 + ('rad',) * 3 + ('m_s',) * 3 + ('rad_s',) * 3

OWN_TOPICS = {
    'odom': 'odom',
    'thrusters/pwm': 'pwm',
    'thrusters/state': 'thrust',
    'thrusters/power': 'power',
    'controller/setpoints': 'setpoints',
    'controller/wrench': 'wrench',
    'joint_states': 'joints',
    'tether/tension': 'tension',
    'autopilot/battery': 'battery',
    'autopilot/sticks': 'sticks',
}
"""Role of each topic. Topics below wrench/ and drag/ have the role wrench, states of actuators the
role ACTUATED with the name of the actuator, and commands of steered ones COMMANDED with it."""
DISPLAY_TOPICS = {'tether/shape': 'shape'}
"""Roles of topics that are only displayed."""
DRIVER_TOPICS = {
    'local_position/odom': 'odom',
    'global_position/local': 'odom',
    'local_position/pose': 'odom',
    'odometry/filtered': 'odom',
    'rc/out': 'thrusters/pwm',
    'imu/static_pressure': 'barometer/pressure',
    'imu/temperature_baro': 'barometer/temperature',
}
"""Topics of MAVROS and robot_localization with the equivalent of this package. The first one that
exists counts, unless the bag has the topic of this package."""
FALLBACK_DRIVER_TOPICS = dict.fromkeys(
    ('dvl/odometry', 'dvl/odom', 'dvl/position', 'usbl/odometry', 'usbl/pose', 'usbl/position'),
    'odom',
)
"""Topics of DVLs (dead reckoning) and USBLs, used if a bag has no other odometry."""
_UNUSED = 65535.0
"""Value of a channel that an RC override does not change (MAVLink, RC_CHANNELS_OVERRIDE)."""
_UNIT_CHARACTERS = str.maketrans({'/': '_', '²': '2', '³': '3', '°': 'deg', '%': 'percent'})
_READINGS = {'pressure', 'temperature'}
"""Topics of sensors, below the sensor's own name."""


def actuator_of(role: str) -> Actuator | None:
    """Return the actuator of a state's role; None: another role."""
    name = role.removeprefix(ACTUATED)
    return ACTUATORS[name] if name != role else None


def _state_roles() -> dict[str, str]:
    """Return the roles of states of actuators by topic; the first on a topic counts."""
    roles = {
        a.state_topic: ACTUATED + a.name
        for a in reversed(ACTUATORS.entries)
        if a.state is not None and a.state_topic
    }
    return {topic: role for topic, role in roles.items() if topic not in OWN_TOPICS}


def _command_roles() -> dict[str, str]:
    """Return the roles of commands of steered actuators by topic."""
    return {
        a.command_topic: COMMANDED + a.name
        for a in ACTUATORS.entries
        if a.steered and a.command_topic
    }


def known_topics() -> tuple[str, ...]:
    """Return the topics that a recording may have, without those of sensors."""
    return (*OWN_TOPICS, *_state_roles(), 'wrench/SOURCE', 'drag/KIND')


def role_of(name: str) -> str | None:
    """Return the role of a topic's name relative to its vehicle; None: it has none."""
    if name in OWN_TOPICS:
        return OWN_TOPICS[name]
    if name in (states := _state_roles()):
        return states[name]
    if name in (commands := _command_roles()):
        return commands[name]
    head, _, tail = name.partition('/')
    if tail in _READINGS:
        return tail
    return 'wrench' if head in ('wrench', 'drag') and tail and '/' not in tail else None


def _data(m: Any) -> Row:
    return tuple(map(float, m.data))


def _battery(m: Any) -> Row:
    return float(m.voltage), float(m.current)


def _sticks(m: Any) -> Row:
    return tuple(c if 0 < c < _UNUSED else _NAN for c in map(float, m.channels))


def _overrides(m: Any) -> Row:
    return tuple(_NAN if c == _UNUSED else c for c in map(float, m.channels))


def _thrust(m: Any) -> Row:
    count = len(m.name) or len(m.effort) or len(m.velocity)
    return (*_row_of_size(m.effort, count), *_row_of_size(m.velocity, count))


def _row_of_size(values: Sequence[float], count: int) -> Row:
    return tuple(map(float, values)) if len(values) == count else (_NAN,) * count


def _state_row(actuator: Actuator) -> Callable[[Any], Row]:
    """Return a converter of an actuator's state: its fields, one after the other."""

    def row(m: Any) -> Row:
        parts = [getattr(m, field) for field in actuator.fields]
        count = len(m.name) or max(map(len, parts))
        return tuple(value for part in parts for value in _row_of_size(part, count))

    return row


def state_columns(actuator: Actuator, width: int) -> Iterator[tuple[int, str]]:
    """Yield the number of the part and the unit of each column of an actuator's state.

    Args:
        width: number of columns.
    """
    count = max(width // len(actuator.units), 1)
    for i in range(width):
        yield i % count, actuator.units[min(i // count, len(actuator.units) - 1)]


def _command_row(actuator: Actuator) -> Callable[[Any], Row]:
    """Return a converter of commands of an actuator: one number for each named part."""
    return lambda m: _row_of_size(getattr(m, actuator.command_field), len(m.name))


def _commanded_actuator(role: str) -> Actuator | None:
    """Return the actuator of a command's role; None: another role."""
    name = role.removeprefix(COMMANDED)
    return ACTUATORS[name] if name != role else None


def _state_labels(actuator: Actuator, message: Any, row: Row) -> tuple[str, ...]:
    names = list(message.name)
    return tuple(
        f'{names[part] if part < len(names) else part + 1}_{unit_suffix(unit)}'.rstrip('_')
        for part, unit in state_columns(actuator, len(row))
    )


def unit_suffix(unit: str) -> str:
    """Return a unit as a suffix of column names: m_s of m/s."""
    return re.sub(r'\W', '', unit.translate(_UNIT_CHARACTERS))


def _path_points(m: Any) -> Row:
    """Return x, y, z of each point of a path, one after the other."""
    points = [pose.pose.position for pose in m.poses]
    return tuple(value for p in points for value in (p.x, p.y, p.z))


def _setpoints(m: Any) -> Row:
    targets = dict(zip(m.name, m.position, strict=False))
    return tuple(float(targets.get(name, _NAN)) for name in SETPOINT_QUANTITIES)


def _pose_converter(message_type: str) -> Callable[[Any], Row]:
    """Return a converter of poses, with NaN for the velocity."""
    pose = message_numbers(message_type, 'position', 'orientation')
    return lambda message: (*pose(message), *(_NAN,) * 6)


def _by_type(types: Sequence[str], *arrays: str) -> dict[str, Callable[[Any], Row]]:
    return {name: message_numbers(name, *arrays) for name in types}


_ARRAYS: dict[str, Callable[[Any], Row]] = {
    f'std_msgs/msg/{kind}MultiArray': _data
    for kind in ('UInt16', 'Int16', 'UInt32', 'Int32', 'UInt64', 'Int64', 'Float32', 'Float64')
}
_TYPES: dict[str, dict[str, Callable[[Any], Row]]] = {
    'odom': {
        'nav_msgs/msg/Odometry': message_numbers(
            'nav_msgs/msg/Odometry', 'position', 'orientation', 'linear', 'angular'
        ),
        **{
            f'geometry_msgs/msg/{kind}': _pose_converter(f'geometry_msgs/msg/{kind}')
            for kind in ('PoseStamped', 'PoseWithCovarianceStamped')
        },
    },
    'pwm': {
        **_ARRAYS,
        'mavros_msgs/msg/RCOut': lambda m: tuple(map(float, m.channels)),
        'mavros_msgs/msg/OverrideRCIn': _overrides,
    },
    'thrust': {'sensor_msgs/msg/JointState': _thrust},
    'power': _ARRAYS,
    'pressure': _by_type(('sensor_msgs/msg/FluidPressure',), 'pressure', 'variance'),
    'temperature': _by_type(('sensor_msgs/msg/Temperature',), 'temperature'),
    'setpoints': {'sensor_msgs/msg/JointState': _setpoints},
    'wrench': _by_type(
        ('geometry_msgs/msg/WrenchStamped', 'geometry_msgs/msg/Wrench'), 'force', 'torque'
    ),
    'joints': _by_type(('sensor_msgs/msg/JointState',), 'position'),
    'battery': {'sensor_msgs/msg/BatteryState': _battery},
    'sticks': {'mavros_msgs/msg/RCIn': _sticks},
    'tension': _by_type(('sensor_msgs/msg/JointState',), 'effort'),
    'shape': {'nav_msgs/msg/Path': _path_points},
}

EXTRA_TYPES = {
    'mavros_msgs/msg/RCOut': 'std_msgs/Header header\nuint16[] channels\n',
    'mavros_msgs/msg/RCIn': 'std_msgs/Header header\nuint8 rssi\nuint16[] channels\n',
    'mavros_msgs/msg/OverrideRCIn': 'uint16[18] channels\n',
}
"""Message definitions for bags without them."""


def accepted_types(role: str) -> tuple[str, ...]:
    """Return the message types that can play a role."""
    if actuator_of(role) or _commanded_actuator(role):
        return ('sensor_msgs/msg/JointState',)
    return tuple(_TYPES[role])


def row_converter(role: str, message_type: str) -> Callable[[Any], Row]:
    """Return a converter of messages of an accepted type into rows."""
    if (actuator := actuator_of(role)) is not None:
        return _state_row(actuator)
    if (commanded := _commanded_actuator(role)) is not None:
        return _command_row(commanded)
    return _TYPES[role][message_type]


def row_labels(role: str, message: Any, row: Row) -> tuple[str, ...]:
    """Return the columns of a role's rows, with their units, from its first message."""
    if (actuator := actuator_of(role)) is not None:
        return _state_labels(actuator, message, row)
    if (commanded := _commanded_actuator(role)) is not None:
        return tuple(f'{n}_{unit_suffix(commanded.unit)}'.rstrip('_') for n in message.name)
    if role in (fixed := {'odom': ODOM_COLUMNS, 'wrench': _WRENCH_COLUMNS}):
        return fixed[role]
    if role == 'setpoints':
        return tuple(f'{n}_{u}' for n, u in zip(SETPOINT_QUANTITIES, _SETPOINT_UNITS, strict=True))
    if role == 'thrust':
        names = list(message.name) or [str(i + 1) for i in range(len(row) // 2)]
        return (*(f'{n}_thrust_N' for n in names), *(f'{n}_rotor_rad_s' for n in names))
    units = {'joints': 'position', 'tension': 'N'}
    if role in units:
        is_named, unit = len(message.name) == len(row), units[role]
        return tuple(f'{message.name[i] if is_named else i + 1}_{unit}' for i in range(len(row)))
    single = {
        'pressure': ('pressure_Pa', 'variance_Pa2'),
        'temperature': ('temperature_degC',),
        'battery': ('voltage_V', 'current_A'),
    }
    if role in single:
        return single[role]
    if role == 'sticks':
        return tuple(f'channel_{i + 1}_us' for i in range(len(row)))
    unit = {'pwm': 'us', 'power': 'W'}[role]
    return tuple(f'thruster_{i + 1}_{unit}' for i in range(len(row)))
