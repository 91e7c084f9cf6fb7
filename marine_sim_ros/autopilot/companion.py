# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A companion computer beside ArduSub: what it says of itself, arming, external navigation.

It also sets the parameters with which the firmware's own simulation makes what no JSON reply of
ArduSub 4.5 can tell: the battery's voltage, and water in the enclosure.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, replace
from math import cos, radians
from typing import Any

from marine_sim_ros.autopilot.fixes import Fix
from marine_sim_ros.autopilot.odometry import Delta
from marine_sim_ros.autopilot.packets import AHEAD
from marine_sim_ros.core.extras import require

__all__ = ['Companion', 'Status']

COMPONENT = 197
"""MAV_COMP_ID_VISUAL_INERTIAL_ODOMETRY."""
FEATURE = '--autopilot ardusub'
EARTH = 6378100.0
"""m, the radius by which the autopilot makes metres of degrees (AP_Common/Location.cpp)."""
VOLTAGE, LEAK_PINS, LEAK_PIN = 'SIM_BATT_VOLTAGE', 'SIM_PIN_MASK', 1 << 5
"""Parameters of its simulation; the pin is the LEAK1_PIN of the shipped files."""
DILUTION, SATELLITES = 0.8, 12
"""What a receiver tells of its sky, where the position is another instrument's: enough for the
autopilot's checks, which judge by its accuracy."""
REPORTS = {'LOCAL_POSITION_NED': 5.0, 'EKF_STATUS_REPORT': 2.0, 'GPS_GLOBAL_ORIGIN': 1.0}
"""Messages that it is asked for, and how often a second."""


@dataclass(frozen=True)
class Status:
    """What the autopilot says of itself.

    Attributes:
        mode: name of its mode, in capitals; empty: it has said nothing.
        armed: whether the thrusters may turn.
        ekf: flags of its estimator, EKF_STATUS_FLAGS.
        position: north, east, down from home that it estimates, m; None: it does not know.
        origin: north, east, down from home of its estimator's origin, m; None: it has none.
    """

    mode: str = ''
    armed: bool = False
    ekf: int = 0
    position: tuple[float, float, float] | None = None
    origin: tuple[float, float, float] | None = None


class Companion:
    """The companion's end of a MAVLink connection to one autopilot of this machine."""

    def __init__(self, system: int, home: tuple[float, float]) -> None:
        """Listen on a free port of this machine.

        Args:
            system: MAVLink system of the autopilot.
            home: latitude and longitude of the origin of map, degrees; its altitude is 0.

        Raises:
            MissingPackageError: pymavlink is not installed.
        """
        require('pymavlink', FEATURE)
        self._utility: Any = require('pymavlink.mavutil', FEATURE)
        self._dialect: Any = require('pymavlink.dialects.v20.ardupilotmega', FEATURE)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        self.address = f'127.0.0.1:{port}'
        self._connection = self._utility.mavlink_connection(
            f'udpin:{self.address}',
            source_system=system,
            source_component=COMPONENT,
            dialect='ardupilotmega',
        )
        self._system, self._home = system, home
        self._beat_at = -1
        self.status = Status()

    @property
    def connected(self) -> bool:
        """Whether the autopilot was heard."""
        return bool(self.status.mode)

    def listen(self) -> list[str]:
        """Take what the autopilot has sent; return its status texts."""
        texts = []
        for _ in range(500):
            message = self._connection.recv_match()
            if message is None:
                break
            if message.get_srcSystem() != self._system:
                continue
            kind, status = message.get_type(), self.status
            if kind == 'HEARTBEAT' and message.get_srcComponent() == 1:
                if not self.connected:
                    self._ask()
                armed = bool(message.base_mode & self._dialect.MAV_MODE_FLAG_SAFETY_ARMED)
                modes = self._utility.mode_mapping_bynumber(message.type) or {}
                mode = modes.get(message.custom_mode, str(message.custom_mode))
                self.status = replace(status, mode=mode, armed=armed)
            elif kind == 'EKF_STATUS_REPORT':
                self.status = replace(status, ekf=message.flags)
            elif kind == 'GPS_GLOBAL_ORIGIN':
                degrees = (message.latitude * 1e-7, message.longitude * 1e-7)
                self.status = replace(status, origin=self._local(degrees, message.altitude * 1e-3))
            elif kind == 'LOCAL_POSITION_NED' and status.origin is not None:
                n, e, d = status.origin
                place = (n + message.x, e + message.y, d + message.z)
                self.status = replace(status, position=place)
            elif kind == 'STATUSTEXT':
                texts.append(message.text)
        return texts

    def _local(self, place: tuple[float, float], altitude: float) -> tuple[float, float, float]:
        """Return north, east, down (m) from home of a latitude and longitude in degrees."""
        (latitude, longitude), (home_latitude, home_longitude) = place, self._home
        north = EARTH * radians(latitude - home_latitude)
        east = EARTH * radians(longitude - home_longitude) * cos(radians(home_latitude))
        return north, east, -altitude

    def beat(self, stamp: int) -> None:
        """Send a heartbeat once a second of a time in ns."""
        if stamp // 1_000_000_000 == self._beat_at or not self.connected:
            return
        self._beat_at = stamp // 1_000_000_000
        d = self._dialect
        self._connection.mav.heartbeat_send(
            d.MAV_TYPE_ONBOARD_CONTROLLER, d.MAV_AUTOPILOT_INVALID, 0, 0, 0
        )

    def arm(self, on: bool) -> None:
        """Ask to arm or disarm."""
        self._command(self._dialect.MAV_CMD_COMPONENT_ARM_DISARM, float(on))

    def _ask(self) -> None:
        """Ask for the messages that tell its status."""
        for name, rate in REPORTS.items():
            number = getattr(self._dialect, f'MAVLINK_MSG_ID_{name}')
            self._command(self._dialect.MAV_CMD_SET_MESSAGE_INTERVAL, number, 1e6 / rate)

    def _command(self, number: int, *values: float) -> None:
        values = (*values, *[0.0] * (7 - len(values)))
        self._connection.mav.command_long_send(self._system, 1, number, 0, *values)

    def set_voltage(self, voltage: float) -> None:
        """Say what the battery's voltage is, V."""
        self._set(VOLTAGE, voltage)

    def set_leak(self, wet: bool) -> None:
        """Say whether there is water in the enclosure."""
        self._set(LEAK_PINS, LEAK_PIN * wet)

    def _set(self, name: str, value: float) -> None:
        self._connection.mav.param_set_send(
            self._system, 1, name.encode(), value, self._dialect.MAV_PARAM_TYPE_REAL32
        )

    def set_origin(self, latitude: float, longitude: float) -> None:
        """Say where map's origin is, degrees; the autopilot takes it once."""
        self._connection.mav.set_gps_global_origin_send(
            self._system, round(latitude * 1e7), round(longitude * 1e7), 0
        )

    def move(self, delta: Delta) -> None:
        """Tell how the vehicle moved."""
        self._connection.mav.vision_position_delta_send(
            (delta.stamp + AHEAD) // 1000,
            delta.duration // 1000,
            delta.angle,
            delta.position,
            100.0,
        )

    def place(self, fix: Fix) -> None:
        """Tell where the vehicle is, as a GPS receiver without velocities would."""
        d = self._dialect
        ignored = (
            d.GPS_INPUT_IGNORE_FLAG_VEL_HORIZ
            | d.GPS_INPUT_IGNORE_FLAG_VEL_VERT
            | d.GPS_INPUT_IGNORE_FLAG_SPEED_ACCURACY
        )
        self._connection.mav.gps_input_send(
            (fix.stamp + AHEAD) // 1000,
            0,  # the first receiver
            ignored,
            0,
            0,  # no time of the week
            d.GPS_FIX_TYPE_3D_FIX,
            round(fix.latitude * 1e7),
            round(fix.longitude * 1e7),
            fix.altitude,
            DILUTION,
            DILUTION,
            0.0,
            0.0,
            0.0,
            0.0,
            fix.accuracy,
            fix.accuracy,
            SATELLITES,
        )

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()
