# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle as a ground station sees it: ArduSub's modes and messages, over UDP (MAVLink 2).

Sources: MAVLink common.xml and ardupilotmega.xml; ArduSub 4.5, ArduSub/mode.h (mode numbers) and
ArduSub/joystick.cpp (sticks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.conventions import ned
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import State

__all__ = ['MODES', 'Arm', 'MavlinkVehicle', 'Mode', 'Request', 'SetPoint', 'Sticks']

MODES = {'stabilize': 0, 'alt_hold': 2, 'guided': 4, 'poshold': 16, 'manual': 19}
"""ArduSub's number of each mode that there is."""
NAMES = {number: name for name, number in MODES.items()}
NOTHING = 65535
"""Of RC_CHANNELS_OVERRIDE: the channel is left as it is."""
TEXT = 50
"""Characters of a status text."""


@dataclass(frozen=True)
class Arm:
    """Somebody arms or disarms."""

    on: bool


@dataclass(frozen=True)
class Mode:
    """Somebody wants a mode of ``MODES``."""

    name: str


@dataclass(frozen=True)
class Sticks:
    """Somebody steers: efforts (6,) surge, sway, heave, roll, pitch, yaw, −1 to 1, FLU."""

    efforts: tuple[float, ...]


@dataclass(frozen=True)
class SetPoint:
    """Somebody commands a position or a velocity (guided).

    Attributes:
        position: east, north, up of home, m; NaN where free; None: no position.
        velocity: forward, left, up, m/s; None: no velocity.
        yaw: heading in map, rad; NaN: free.
    """

    position: tuple[float, float, float] | None
    velocity: tuple[float, float, float] | None
    yaw: float


Request = Arm | Mode | Sticks | SetPoint


class MavlinkVehicle:
    """The vehicle's end of a MAVLink connection."""

    def __init__(
        self, ground_station: str, system: int, home: Sequence[float], warn: Callable[[str], Any]
    ) -> None:
        """Open the socket.

        Args:
            ground_station: UDP address of the ground station, ``host:port``.
            system: number of the MAVLink system, from 1.
            home: latitude and longitude of the origin of map, degrees.
            warn: told of what is ignored.

        Raises:
            ParameterError: no address.
            MissingPackageError: pymavlink is not installed.
        """
        host, _, port = ground_station.rpartition(':')
        if not host or not (port.isdecimal() and 0 < int(port) < 65536):
            raise ParameterError(
                f'ground_station is {ground_station!r}; expected host:port, as in 127.0.0.1:14550'
            )
        require('pymavlink', '--autopilot mavlink')
        utility = require('pymavlink.mavutil', '--autopilot mavlink')
        self._dialect = require('pymavlink.dialects.v20.ardupilotmega', '--autopilot mavlink')
        self._connection = utility.mavlink_connection(
            f'udpout:{ground_station}',
            source_system=system,
            source_component=1,
            dialect='ardupilotmega',
        )
        self._send = self._dialect.MAVLink(self._connection, srcSystem=system, srcComponent=1)
        self._home, self._warn, self.system = tuple(home), warn, system
        self._parameters = {b'SYSID_THISMAV': float(system), b'SYSID_MYGCS': 255.0}
        self._answers: dict[str, Callable[[Any], Request | None]] = {
            'HEARTBEAT': self._on_heartbeat,
            'COMMAND_LONG': self._on_command,
            'SET_MODE': self._on_mode,
            'MANUAL_CONTROL': self._on_sticks,
            'RC_CHANNELS_OVERRIDE': self._on_channels,
            'SET_POSITION_TARGET_LOCAL_NED': self._on_target,
            'PARAM_REQUEST_LIST': self._on_parameters,
            'PARAM_REQUEST_READ': self._on_parameter,
            'MISSION_REQUEST_LIST': self._on_mission,
        }
        self.heard = False
        """Whether a ground station was heard since this was last set to False."""

    def requests(self) -> Iterator[Request]:
        """Yield what was asked for since the last call."""
        for _ in range(500):
            try:
                message = self._connection.recv_msg()
            except OSError:  # nobody listens there yet
                return
            if message is None:
                return
            target = getattr(message, 'target', self.system)  # of MANUAL_CONTROL
            if getattr(message, 'target_system', target) not in (0, self.system):
                continue
            answer = self._answers.get(message.get_type())
            request = None if answer is None else answer(message)
            if request is not None:
                yield request

    def _on_heartbeat(self, message: Any) -> None:
        self.heard |= message.type == self._dialect.MAV_TYPE_GCS

    def _on_command(self, message: Any) -> Request | None:
        d = self._dialect
        done = d.MAV_RESULT_ACCEPTED
        request: Request | None = None
        if message.command == d.MAV_CMD_COMPONENT_ARM_DISARM:
            request = Arm(message.param1 == 1)
        elif message.command == d.MAV_CMD_DO_SET_MODE and int(message.param2) in NAMES:
            request = Mode(NAMES[int(message.param2)])
        elif message.command == d.MAV_CMD_REQUEST_MESSAGE and int(message.param1) == 148:
            self._version()
        elif message.command != d.MAV_CMD_SET_MESSAGE_INTERVAL:
            done = d.MAV_RESULT_UNSUPPORTED
        self._send.command_ack_send(message.command, done)
        return request

    def _on_mode(self, message: Any) -> Request | None:
        if message.custom_mode in NAMES:
            return Mode(NAMES[message.custom_mode])
        self.say(f'mode {message.custom_mode} is not simulated', error=True)
        return None

    @staticmethod
    def _on_sticks(message: Any) -> Request:
        x, y, r = message.x / 1000, -message.y / 1000, -message.r / 1000
        up = (message.z - 500) / 500
        return Sticks(tuple(min(max(e, -1.0), 1.0) for e in (x, y, up, 0.0, 0.0, r)))

    @staticmethod
    def _on_channels(message: Any) -> Request:
        """Read channels 1 to 6: pitch, roll, throttle, yaw, forward, lateral."""
        names = [f'chan{k}_raw' for k in range(1, 7)]
        widths = [getattr(message, name) for name in names]
        pitch, roll, up, yaw, ahead, right = (
            0.0 if width in (0, NOTHING) else min(max((width - 1500) / 400, -1.0), 1.0)
            for width in widths
        )
        return Sticks((ahead, -right, up, roll, -pitch, -yaw))

    def _on_target(self, message: Any) -> Request | None:
        mask, d = message.type_mask, self._dialect
        free = [bool(mask & 1 << k) for k in range(12)]
        values = (message.x, message.y, message.z, message.vx, message.vy, message.vz, message.yaw)
        if not np.all(np.isfinite(values)):
            self._warn('mavlink: SET_POSITION_TARGET_LOCAL_NED: not finite; ignored')
            return None
        body = message.coordinate_frame in (d.MAV_FRAME_BODY_NED, d.MAV_FRAME_BODY_OFFSET_NED)
        nan = float('nan')
        position = velocity = None
        if not all(free[:3]) and not body:
            north, east, down = (nan if f else v for f, v in zip(free[:3], values, strict=False))
            position = (east, north, -down)
        if not all(free[3:6]) and body:
            velocity = (message.vx, -message.vy, -message.vz)
        if position is None and velocity is None:
            self._warn(
                'mavlink: SET_POSITION_TARGET_LOCAL_NED: expected a position in LOCAL_NED or a '
                'velocity in BODY_NED; ignored'
            )
            return None
        yaw = nan if free[10] else np.pi / 2 - message.yaw
        return SetPoint(position, velocity, float(yaw))

    def _on_parameters(self, message: Any) -> None:
        del message
        for index, name in enumerate(self._parameters):
            self._parameter(name, index)

    def _on_parameter(self, message: Any) -> None:
        names = list(self._parameters)
        given = message.param_id.encode().rstrip(b'\0')
        if message.param_index in range(len(names)):
            self._parameter(names[message.param_index], message.param_index)
        elif given in names:
            self._parameter(given, names.index(given))

    def _parameter(self, name: bytes, index: int) -> None:
        kind = self._dialect.MAV_PARAM_TYPE_REAL32
        count = len(self._parameters)
        self._send.param_value_send(name, self._parameters[name], kind, count, index)

    def _on_mission(self, message: Any) -> None:
        self._send.mission_count_send(message.get_srcSystem(), message.get_srcComponent(), 0)

    def _version(self) -> None:
        d = self._dialect
        capable = d.MAV_PROTOCOL_CAPABILITY_MAVLINK2 | (
            d.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_LOCAL_NED
        )
        nothing = bytes(8)
        self._send.autopilot_version_send(
            capable, 4 << 24 | 5 << 16, 0, 0, 0, nothing, nothing, nothing, 0, 0, self.system
        )

    def say(self, text: str, *, error: bool = False) -> None:
        """Send a status text."""
        d = self._dialect
        severity = d.MAV_SEVERITY_WARNING if error else d.MAV_SEVERITY_INFO
        self._send.statustext_send(severity, text.encode('ascii', 'replace')[:TEXT])

    def send_heartbeat(self, mode: str, *, armed: bool) -> None:
        """Send the mode, whether it is armed, and that all is well; once a second."""
        d = self._dialect
        flags = d.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | d.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED
        flags |= d.MAV_MODE_FLAG_SAFETY_ARMED if armed else 0
        state = d.MAV_STATE_ACTIVE if armed else d.MAV_STATE_STANDBY
        self._send.heartbeat_send(
            d.MAV_TYPE_SUBMARINE, d.MAV_AUTOPILOT_ARDUPILOTMEGA, flags, MODES[mode], state
        )
        self._send.sys_status_send(0, 0, 0, 0, 65535, -1, -1, 0, 0, 0, 0, 0, 0)

    def send_motion(self, milliseconds: int, state: State, pressure: float | None) -> None:
        """Send attitude, position, speed and pressure (Pa) at a time since the start."""
        left, up = -1.0, -1.0  # FRD
        roll, pitch, yaw = rpy_from_quaternion(state.orientation).tolist()
        p, q, r = state.velocity[3:].tolist()
        heading = np.pi / 2 - yaw
        heading = float((heading + np.pi) % (2 * np.pi) - np.pi)
        velocity = rotation_matrix(state.orientation) @ state.velocity[:3]
        position, speed = ned(state.position), ned(velocity)
        send, now = self._send, milliseconds & 0xFFFFFFFF
        send.attitude_send(now, roll, left * pitch, heading, p, left * q, up * r)
        send.local_position_ned_send(now, *position, *speed)
        degrees = float(np.degrees(heading) % 360)
        north, east, down = position
        latitude = self._home[0] + np.degrees(north / 6378137.0)
        longitude = self._home[1] + np.degrees(
            east / (6378137.0 * np.cos(np.radians(self._home[0])))
        )
        send.global_position_int_send(
            now,
            round(latitude * 1e7),
            round(longitude * 1e7),
            round(-down * 1e3),
            round(-down * 1e3),
            *(round(100 * v) for v in speed),
            round(100 * degrees) % 36000,
        )
        ground = float(np.hypot(speed[0], speed[1]))
        send.vfr_hud_send(ground, ground, round(degrees) % 360, 0, -down, -speed[2])
        if pressure is not None:
            send.scaled_pressure2_send(now, pressure / 100, 0.0, 0)

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()
