# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A companion computer beside ArduSub: what it says of itself, arming, external navigation."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from marine_sim_ros.autopilot.odometry import Delta
from marine_sim_ros.autopilot.packets import AHEAD
from marine_sim_ros.core.extras import require

__all__ = ['Companion', 'Status']

COMPONENT = 197
"""MAV_COMP_ID_VISUAL_INERTIAL_ODOMETRY."""
FEATURE = '--autopilot ardusub'


@dataclass(frozen=True)
class Status:
    """What the autopilot says of itself.

    Attributes:
        mode: name of its mode, in capitals; empty: it has said nothing.
        armed: whether the thrusters may turn.
        ekf: flags of its estimator, EKF_STATUS_FLAGS.
        position: north, east, down that it estimates, m; None: it does not know.
    """

    mode: str = ''
    armed: bool = False
    ekf: int = 0
    position: tuple[float, float, float] | None = None


class Companion:
    """The companion's end of a MAVLink connection to one autopilot of this machine."""

    def __init__(self, system: int) -> None:
        """Listen on a free port of this machine.

        Args:
            system: MAVLink system of the autopilot.

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
        self._system = system
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
            kind, old = message.get_type(), self.status
            if kind == 'HEARTBEAT' and message.get_srcComponent() == 1:
                armed = bool(message.base_mode & self._dialect.MAV_MODE_FLAG_SAFETY_ARMED)
                mode = self._utility.mode_mapping_bynumber(message.type) or {}
                name = mode.get(message.custom_mode, str(message.custom_mode))
                self.status = Status(name, armed, old.ekf, old.position)
            elif kind == 'EKF_STATUS_REPORT':
                self.status = Status(old.mode, old.armed, message.flags, old.position)
            elif kind == 'LOCAL_POSITION_NED':
                place = (message.x, message.y, message.z)
                self.status = Status(old.mode, old.armed, old.ekf, place)
            elif kind == 'STATUSTEXT':
                texts.append(message.text)
        return texts

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
        self._connection.mav.command_long_send(
            self._system,
            1,
            self._dialect.MAV_CMD_COMPONENT_ARM_DISARM,
            0,
            float(on),
            0,
            0,
            0,
            0,
            0,
            0,
        )

    def ask_for(self, message: int, rate: float) -> None:
        """Ask for a message by its number, so often a second."""
        self._connection.mav.command_long_send(
            self._system,
            1,
            self._dialect.MAV_CMD_SET_MESSAGE_INTERVAL,
            0,
            message,
            1e6 / rate,
            0,
            0,
            0,
            0,
            0,
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

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()
