# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics that MAVROS publishes, from the MAVLink messages of an autopilot.

Source: mavlink/mavros, commit f8f462d (mavros/src/plugins, mavros_extras/src/plugins/vfr_hud.cpp):
names, quality of service, frames and scales.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import BatteryState, FluidPressure, Imu, NavSatFix
from std_msgs.msg import Float64

from marine_sim_ros.autopilot.conventions import AHEAD, angles_quaternion
from marine_sim_ros.autopilot.lockstep import INSTANCE_HINT
from marine_sim_ros.autopilot.mavlink.link import MavlinkRelay
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.cdr import MESSAGE_LAYOUTS, MessageTemplate
from marine_sim_ros.ros.driver_topics import import_interfaces
from marine_sim_ros.ros.message_fields import set_fields, set_stamp
from marine_sim_ros.sensors.addresses import MAVROS_PORT

__all__ = ['MAVROS_SOURCE', 'MavrosReports', 'PX4_AUTO', 'QUEUE_QOS', 'SENSOR_QOS']

MAVROS_SOURCE = 'https://github.com/mavlink/mavros'
OPTION = '--topics mavros'
EVENTS = ('state', 'statustext/recv')
"""Topics that are published for those who listen later, too."""
LOOK = 0.2
"""s of wall time between looks for subscribers: discovery takes longer."""
BEAT = 1.0
"""s of wall time between heartbeats."""
SILENCE = 10.0
"""s of wall time after which an autopilot that sends no heartbeat is lost (conn.timeout)."""
QUEUE_QOS = QoSProfile(depth=10)
SENSOR_QOS = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED_QOS = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ARMED, MANUAL_INPUT, GUIDED = 128, 64, 8
"""MAV_MODE_FLAG."""
LOST = {
    **dict.fromkeys(('connected', 'armed', 'guided', 'manual_input'), False),
    'mode': '',
    'system_status': 0,
}
"""Fields of the state of an autopilot that is not heard."""
UNKNOWN = 65535
STANDARD_GRAVITY = 9.80665
"""m/s², the unit of accelerations that ArduPilot sends."""
PX4_AUTO = frozenset({'MISSION', 'LOITER', 'RTL', 'LAND', 'RTGS', 'TAKEOFF'})
"""Modes of PX4 that MAVROS calls AUTO.…"""


_MOTION = tuple(f'local_position/{name}' for name in ('odom', 'velocity_body', 'velocity_local'))
_POSE = ('local_position/pose', *_MOTION)
_ATTITUDE = ('imu/data', *_POSE)
_GLOBAL = ('global_position/global', 'global_position/rel_alt', 'global_position/compass_hdg')
MESSAGE_TOPICS: Mapping[str, tuple[str, ...]] = {
    'SYS_STATUS': ('battery',),
    'SCALED_PRESSURE2': ('imu/static_pressure',),
    'LOCAL_POSITION_NED': _POSE,
    'GLOBAL_POSITION_INT': _GLOBAL,
    'VFR_HUD': ('vfr_hud',),
    'SERVO_OUTPUT_RAW': ('rc/out',),
    'RC_CHANNELS': ('rc/in',),
}
"""Topics for which a message is read. Others, on which later messages depend, are always read."""


class MavrosReports:
    """Connection to an autopilot, and publishers of what it sends.

    Attributes:
        link: connection.
        target: system and component of the autopilot.
        heartbeat: its latest one; None: it is not heard.
    """

    def __init__(
        self, node: VehicleNode, autopilot: str, instance: int, ground_station: str
    ) -> None:
        """Create them, and open the ports.

        Args:
            node: node that has them.
            autopilot: name of the autopilot.
            instance: number of the autopilot among several.
            ground_station: UDP address of another ground station, ``host:port``.

        Raises:
            ParameterError: mavros_msgs is not installed, or a port is taken.
            MissingPackageError: pymavlink is not installed.
        """
        self._types = import_interfaces('mavros_msgs', MAVROS_SOURCE)
        system = instance + 1
        self._node, self.target = node, (system, 1)
        self.heartbeat: Any = None
        # PX4 sends to ground stations at ports of its own.
        other = '' if autopilot == 'px4' else ground_station
        self.link = MavlinkRelay(MAVROS_PORT + instance, other, system, OPTION, INSTANCE_HINT)
        self._boot = AHEAD if autopilot == 'ardusub' else 0
        self._utility: Any = require('pymavlink.mavutil', OPTION)
        self._heard_at = self._beaten_at = self._looked_at = -math.inf
        self._heard = set(EVENTS)
        self._stamp = 0
        self._attitude: tuple[tuple[float, ...], tuple[float, ...]] | None = None
        self._acceleration: tuple[float, ...] | None = None
        self._has_inner_pressure = False
        self._publishers = self._make_publishers()
        self._publish('state', LOST)
        self._handlers: dict[str, Callable[[Any], None]] = {}
        self._topics: dict[int, tuple[str, ...]] = {}
        handlers: dict[str, Callable[[Any], None]] = {
            'HEARTBEAT': self._on_heartbeat,
            'STATUSTEXT': self._on_text,
            'SYS_STATUS': self._on_status,
            'ATTITUDE': self._on_attitude,
            'RAW_IMU': self._on_acceleration,
            'SCALED_IMU': self._on_acceleration,
            'HIGHRES_IMU': self._on_acceleration,
            'SCALED_PRESSURE': self._on_pressure,
            'SCALED_PRESSURE2': self._on_pressure,
            'LOCAL_POSITION_NED': self._on_local_position,
            'GLOBAL_POSITION_INT': self._on_global_position,
            'VFR_HUD': self._on_hud,
            'SERVO_OUTPUT_RAW': self._on_servos,
            'RC_CHANNELS': self._on_channels,
        }
        self.add_handlers(handlers)

    def add_handlers(self, handlers: Mapping[str, Callable[[Any], None]]) -> None:
        """Call functions with messages of names."""
        self._handlers |= handlers
        for name in handlers:
            number = getattr(self.link.dialect, f'MAVLINK_MSG_ID_{name}')
            self._topics[number] = MESSAGE_TOPICS.get(name, ())

    def _make_publishers(self) -> dict[str, tuple[Any, Any]]:
        """Return publisher and message of each topic."""
        types, base = self._types, self._node.body_frame
        rows = {
            'state': (types.State, LATCHED_QOS, ''),
            'statustext/recv': (types.StatusText, SENSOR_QOS, ''),
            'battery': (BatteryState, SENSOR_QOS, ''),
            'imu/data': (Imu, SENSOR_QOS, base),
            'imu/static_pressure': (FluidPressure, SENSOR_QOS, base),
            'local_position/pose': (PoseStamped, SENSOR_QOS, 'map'),
            'local_position/odom': (Odometry, SENSOR_QOS, 'map'),
            'local_position/velocity_local': (TwistStamped, SENSOR_QOS, base),
            'local_position/velocity_body': (TwistStamped, SENSOR_QOS, base),
            'global_position/global': (NavSatFix, SENSOR_QOS, base),
            'global_position/rel_alt': (Float64, SENSOR_QOS, ''),
            'global_position/compass_hdg': (Float64, SENSOR_QOS, ''),
            'vfr_hud': (types.VfrHud, QUEUE_QOS, ''),
            'rc/in': (types.RCIn, QUEUE_QOS, ''),
            'rc/out': (types.RCOut, QUEUE_QOS, ''),
        }
        result: dict[str, tuple[Any, Any]] = {}
        for name, (kind, qos, frame) in rows.items():
            message = kind()  # one for all: to make one costs as much as to publish it
            if kind is not Float64:
                message.header.frame_id = frame
            if kind is Odometry:
                message.child_frame_id = base
            publisher = self._node.create_publisher(kind, f'mavros/{name}', qos)
            is_numbers = kind in MESSAGE_LAYOUTS
            result[name] = publisher, MessageTemplate(message) if is_numbers else message
        return result

    def _is_read(self, number: int) -> bool:
        """Return whether a message of MAVLink is read."""
        topics = self._topics.get(number)
        return topics is not None and (not topics or self._is_heard(*topics))

    def _is_heard(self, *names: str) -> bool:
        """Return whether one of some topics has a subscriber."""
        return not self._heard.isdisjoint(names)

    def _find_subscribers(self, now: float) -> None:
        """Look from time to time which topics have a subscriber."""
        if now - self._looked_at > LOOK:
            self._looked_at = now
            counts = {n: p.get_subscription_count() for n, (p, _) in self._publishers.items()}
            self._heard = {name for name, count in counts.items() if count or name in EVENTS}

    def _publish(self, name: str, content: Any) -> None:
        """Publish fields by name, or the numbers of a layout (cdr.py), where anyone listens."""
        publisher, message = self._publishers[name]
        if name not in self._heard:
            return
        if isinstance(message, MessageTemplate):
            publisher.publish(message.write(self._stamp, content))
            return
        if not isinstance(message, Float64):
            set_stamp(message.header.stamp, self._stamp)
        set_fields(message, content)
        publisher.publish(message)

    def receive(self) -> None:
        """Publish what has come from the autopilot."""
        now, d = self.now, self.link.dialect
        self._find_subscribers(now)
        for message in self.link.messages(self._is_read):
            if milliseconds := getattr(message, 'time_boot_ms', 0):
                self._stamp = max(milliseconds * 1_000_000 - self._boot, 0)
            if handler := self._handlers.get(message.get_type()):
                handler(message)
        if now - self._beaten_at > BEAT:
            self._beaten_at = now
            self.link.send.heartbeat_send(d.MAV_TYPE_GCS, d.MAV_AUTOPILOT_INVALID, 0, 0, 0)
        if self.heartbeat and now - self._heard_at > SILENCE:
            self.heartbeat = None
            self._node.warn_throttled('mavros: the autopilot is silent')
            self._publish('state', LOST)

    def close(self) -> None:
        """Close the ports."""
        self.link.close()

    @property
    def now(self) -> float:
        """Wall time, s."""
        return float(self._node.wall_clock.now().nanoseconds / NANOSECONDS)

    def _on_heartbeat(self, message: Any) -> None:
        self.heartbeat, self._heard_at = message, self.now
        fields = {
            'connected': True,
            'armed': bool(message.base_mode & ARMED),
            'guided': bool(message.base_mode & GUIDED),
            'manual_input': bool(message.base_mode & MANUAL_INPUT),
            'mode': self._mode_name(message),
            'system_status': message.system_status,
        }
        self._publish('state', fields)

    def _on_text(self, message: Any) -> None:
        self._publish('statustext/recv', {'severity': message.severity, 'text': message.text})

    def _on_status(self, message: Any) -> None:
        nan, voltage = math.nan, message.voltage_battery
        current, left = message.current_battery, message.battery_remaining
        fields = {
            'present': voltage != UNKNOWN,
            'voltage': voltage / 1e3 if voltage != UNKNOWN else nan,
            'current': -current / 1e2 if current >= 0 else nan,
            'percentage': left / 1e2 if left >= 0 else nan,
            'charge': nan,
            'capacity': nan,
            'design_capacity': nan,
            'power_supply_status': BatteryState.POWER_SUPPLY_STATUS_DISCHARGING,
        }
        self._publish('battery', fields)

    def _on_attitude(self, message: Any) -> None:
        self._attitude = None
        if not self._is_heard(*_ATTITUDE):
            return
        w, *xyz = angles_quaternion(message.roll, -message.pitch, math.pi / 2 - message.yaw)
        orientation = (*xyz, w)
        rates = message.rollspeed, -message.pitchspeed, -message.yawspeed
        self._attitude = orientation, rates
        unknown = (0.0, 0.0, 0.0, -1.0)  # REP 145
        force = unknown if self._acceleration is None else (*self._acceleration, 0.0)
        self._publish('imu/data', (*orientation, *rates, *force))

    def _on_acceleration(self, message: Any) -> None:
        scale = 1.0 if message.get_type() == 'HIGHRES_IMU' else STANDARD_GRAVITY / 1e3
        x, y, z = message.xacc, message.yacc, message.zacc
        self._acceleration = scale * x, -scale * y, -scale * z

    def _on_pressure(self, message: Any) -> None:
        """Publish the pressure: that of the hull, as MAVROS does, where two are sent."""
        inner = message.get_type() == 'SCALED_PRESSURE'
        self._has_inner_pressure |= inner
        if inner or not self._has_inner_pressure:
            self._publish('imu/static_pressure', (message.press_abs * 100.0,))

    def _on_local_position(self, message: Any) -> None:
        if self._attitude is None:
            return
        orientation, rates = self._attitude
        pose = (message.y, message.x, -message.z, *orientation)
        velocity = message.vy, message.vx, -message.vz
        self._publish('local_position/pose', pose)
        if not self._is_heard(*_MOTION):
            return
        rotation = rotation_matrix(np.array(orientation))
        body = (*(velocity @ rotation), *rates)
        self._publish('local_position/odom', (*pose, *body))
        self._publish('local_position/velocity_body', body)
        self._publish('local_position/velocity_local', (*velocity, *(rotation @ rates)))

    def _on_global_position(self, message: Any) -> None:
        fix = {
            'latitude': message.lat * 1e-7,
            'longitude': message.lon * 1e-7,
            'altitude': message.alt * 1e-3,
            'status': {'service': 1},
        }
        heading = message.hdg / 100 if message.hdg != UNKNOWN else math.nan
        self._publish('global_position/global', fix)
        self._publish('global_position/rel_alt', {'data': message.relative_alt * 1e-3})
        self._publish('global_position/compass_hdg', {'data': heading})

    def _on_hud(self, message: Any) -> None:
        names = ('airspeed', 'groundspeed', 'heading', 'climb')
        fields = {name: getattr(message, name) for name in names}
        self._publish(
            'vfr_hud', {**fields, 'throttle': message.throttle / 100, 'altitude': message.alt}
        )

    def _on_servos(self, message: Any) -> None:
        if message.port == 0:
            widths = [getattr(message, f'servo{k}_raw') for k in range(1, 17)]
            self._publish('rc/out', {'channels': widths})

    def _on_channels(self, message: Any) -> None:
        widths = [getattr(message, f'chan{k}_raw') for k in range(1, 19)][: message.chancount]
        self._publish('rc/in', {'channels': widths, 'rssi': message.rssi})

    def _mode_name(self, heartbeat: Any) -> str:
        name = str(self._utility.mode_string_v10(heartbeat))
        return f'AUTO.{name}' if self.is_px4 and name in PX4_AUTO else name

    @property
    def is_px4(self) -> bool:
        """Whether the autopilot is PX4."""
        px4 = self.link.dialect.MAV_AUTOPILOT_PX4
        return self.heartbeat is not None and self.heartbeat.autopilot == px4
