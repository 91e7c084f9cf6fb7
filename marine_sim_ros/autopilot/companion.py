# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Companion computer beside ArduSub: status, external positions, DVL odometry.

External positions come from a USBL under water, and from the vehicle's GPS receiver, if it has
one, at the surface. The autopilot expects five per second, so the last position of a slower sensor
is repeated while it is valid.

Battery voltage and leaks have no field in a JSON reply of ArduSub 4.5. The companion sets the
parameters with which the firmware simulates them.
"""

from __future__ import annotations

import math
import socket
from dataclasses import dataclass, replace
from math import cos, radians
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.conventions import AHEAD, frd
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_product, rotation_matrix, rotation_vector
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors.gps import geodetic
from marine_sim_ros.sensors.partners import partner_of
from marine_sim_ros.sensors.series import is_due

__all__ = ['Companion', 'DeltaOdometry', 'Fixes', 'Status']


# External positions for an autopilot, in place of a GPS receiver (GPS_INPUT).

FIX_PERIOD = 200_000_000
"""ns between two messages: an autopilot takes a receiver that is slower for an unhealthy one."""


@dataclass(frozen=True)
class Fix:
    """A position.

    Attributes:
        stamp: time of the message, ns.
        latitude: degrees.
        longitude: degrees.
        altitude: m.
        accuracy: horizontal standard deviation, m.
    """

    stamp: int
    latitude: float
    longitude: float
    altitude: float
    accuracy: float


class Fixes:
    """The positions of a vehicle's USBL and GPS receiver."""

    def __init__(self, vehicle: Vehicle, instruments: Instruments) -> None:
        """Find them among the instruments.

        Raises:
            ParameterError: the vehicle has no USBL.
        """
        if instruments.usbl is None:
            raise ParameterError(
                f'navigation is usbl, and {vehicle.name} has none; expected a <sensor '
                'type="usbl">, as of a BlueROV2 with --set usbl:=true'
            )
        if carrier := partner_of(instruments.usbl.sensor):
            raise ParameterError(
                f'navigation is usbl, and the transceiver is on vehicle {carrier!r}; expected one '
                'that is fixed in map, or another navigation'
            )
        self._usbl, self._receiver = instruments.usbl, instruments.receiver
        self._before = -1

    def at(self, stamp: int, state: State, environment: Environment) -> Fix | None:
        """Return the position that is due at a stamp (ns); None: none is, or none is known.

        Args:
            stamp: time of the tick, ns, which the instruments have sensed.
            state: state of the vehicle; of it, the transponder's lever arm takes the attitude.
        """
        before, self._before = self._before, stamp
        if not is_due(FIX_PERIOD, stamp, before):
            return None
        fix = self._gps_fix() or self._usbl_fix(state, environment)
        return None if fix is None else Fix(stamp, *fix)

    def _gps_fix(self) -> tuple[float, float, float, float] | None:
        """Return latitude, longitude, altitude and accuracy of the GPS receiver."""
        if self._receiver is None or (readings := self._receiver.readings) is None:
            return None
        return _finite(readings['geodetic'], self._receiver.sensor.spec.horizontal_noise)

    def _usbl_fix(
        self, state: State, environment: Environment
    ) -> tuple[float, float, float, float] | None:
        """Return the same of the USBL, moved to ``base_link``."""
        if (readings := self._usbl.readings) is None:
            return None
        sensor = self._usbl.sensor
        arm = rotation_matrix(state.orientation) @ sensor.position
        away = float(readings['polar'][0]) * sensor.spec.bearing_noise
        place = geodetic(environment.origin, readings['position'] - arm)
        return _finite(place, math.hypot(sensor.spec.range_noise, away))


def _finite(place: np.ndarray, accuracy: float) -> tuple[float, float, float, float] | None:
    """Return the place and its accuracy; None: it is not known."""
    if not np.all(np.isfinite(place)):
        return None
    latitude, longitude, altitude = np.asarray(place).tolist()
    return latitude, longitude, altitude, accuracy


# Displacement since the last message, as a DVL sends it (VISION_POSITION_DELTA).

ODOMETRY_PERIOD = 100_000_000
"""ns between two messages of a velocity that is known at all times."""


@dataclass(frozen=True)
class Delta:
    """Motion of the vehicle between two messages.

    Attributes:
        stamp: end of the motion, ns.
        duration: ns.
        angle: rotation vector in FRD, rad.
        position: in the body axes (FRD) at the start, m.
    """

    stamp: int
    duration: int
    angle: tuple[float, float, float]
    position: tuple[float, float, float]


class DeltaOdometry:
    """Makes messages of velocities.

    For a DVL, each reading gives a message, as its driver sends it: the autopilot takes
    displacement over duration as the velocity at the stamp, and repeating a reading until the next
    would delay it by half a period. For a velocity that is known at all times, a message has its
    integral over a period, in the body axes at the start.
    """

    def __init__(self) -> None:
        """Start without a motion."""
        self._start: tuple[int, np.ndarray] | None = None
        self._last = 0
        self._moved = np.zeros(3)

    def forget(self) -> None:
        """Begin anew."""
        self._start = None

    def add(
        self, stamp: int, state: State, velocity: np.ndarray | None, came: int | None = None
    ) -> Delta | None:
        """Take the velocity of a tick; return the motion when it is due.

        Args:
            stamp: time of the tick, ns.
            state: state of the vehicle; of it, only the attitude is used.
            velocity: measured velocity (3,), FLU, m/s; None: not measured, which discards the sum
                so far.
            came: stamp of the reading, ns; None: the velocity is known at all times, and was
                constant since the previous tick.
        """
        if came is not None:
            return self._motion_between(stamp, state, velocity, came)
        if velocity is None or self._start is None or stamp <= self._last:
            self._begin(stamp, state)
            return None
        start, attitude = self._start
        dt, self._last = (stamp - self._last) * 1e-9, stamp
        turned = quaternion_product(attitude * np.array([-1, -1, -1, 1]), state.orientation)
        self._moved = self._moved + rotation_matrix(turned) @ velocity * dt
        if stamp - start < ODOMETRY_PERIOD:
            return None
        angle = np.asarray(rotation_vector(attitude, state.orientation))
        delta = Delta(stamp, stamp - start, frd(angle), frd(self._moved))
        self._begin(stamp, state)
        return delta

    def _motion_between(
        self, stamp: int, state: State, velocity: np.ndarray | None, came: int
    ) -> Delta | None:
        """Return the motion since the reading before, by the velocity of a new one."""
        if velocity is None:
            self.forget()
            return None
        start = self._start
        if start is not None and start[0] == came:
            return None
        self._begin(came, state)
        if start is None or came < start[0]:  # no reading before, or the run was reset
            return None
        duration = came - start[0]
        angle = np.asarray(rotation_vector(start[1], state.orientation))
        return Delta(stamp, duration, frd(angle), frd(velocity * (duration * 1e-9)))

    def _begin(self, stamp: int, state: State) -> None:
        self._start, self._last, self._moved = (stamp, state.orientation), stamp, np.zeros(3)


# Companion computer beside ArduSub: status, arming, external navigation.

COMPONENT = 197
"""MAV_COMP_ID_VISUAL_INERTIAL_ODOMETRY."""
OPTION = '--autopilot ardusub'
EARTH = 6378100.0
"""m, the radius by which the autopilot makes metres of degrees (AP_Common/Location.cpp)."""
VOLTAGE, LEAK_PINS, LEAK_PIN = 'SIM_BATT_VOLTAGE', 'SIM_PIN_MASK', 1 << 5
"""Parameters of its simulation; the pin is the LEAK1_PIN of the shipped files."""
DILUTION, SATELLITES = 0.8, 12
"""GPS quality reported where the position is another instrument's: good enough for the
autopilot's checks, which judge by its accuracy."""
REPORTS = {'LOCAL_POSITION_NED': 5.0, 'EKF_STATUS_REPORT': 2.0, 'GPS_GLOBAL_ORIGIN': 1.0}
"""Messages that it is asked for, and how often a second."""


@dataclass(frozen=True)
class Status:
    """Status of the autopilot.

    Attributes:
        mode: name of its mode, in capitals; empty: it has said nothing.
        armed: whether the thrusters may turn.
        mav_type: MAV_TYPE of its heartbeat; 0: it has said nothing.
        ekf: flags of its estimator, EKF_STATUS_FLAGS.
        position: north, east, down from home that it estimates, m; None: it does not know.
        origin: north, east, down from home of its estimator's origin, m; None: it has none.
    """

    mode: str = ''
    armed: bool = False
    mav_type: int = 0
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
        require('pymavlink', OPTION)
        self._utility: Any = require('pymavlink.mavutil', OPTION)
        self._dialect: Any = require('pymavlink.dialects.v20.ardupilotmega', OPTION)
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
    def is_connected(self) -> bool:
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
                if not self.is_connected:
                    self._ask()
                armed = bool(message.base_mode & self._dialect.MAV_MODE_FLAG_SAFETY_ARMED)
                modes = self._utility.mode_mapping_bynumber(message.type) or {}
                mode = modes.get(message.custom_mode, str(message.custom_mode))
                self.status = replace(status, mode=mode, armed=armed, mav_type=message.type)
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
        if stamp // 1_000_000_000 == self._beat_at or not self.is_connected:
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
        """Request the messages with its status."""
        for name, rate in REPORTS.items():
            number = getattr(self._dialect, f'MAVLINK_MSG_ID_{name}')
            self._command(self._dialect.MAV_CMD_SET_MESSAGE_INTERVAL, number, 1e6 / rate)

    def _command(self, number: int, *values: float) -> None:
        values = (*values, *[0.0] * (7 - len(values)))
        self._connection.mav.command_long_send(self._system, 1, number, 0, *values)

    def set_voltage(self, voltage: float) -> None:
        """Send the battery's voltage, V."""
        self._set(VOLTAGE, voltage)

    def set_leak(self, wet: bool) -> None:
        """Send whether the enclosure leaks."""
        self._set(LEAK_PINS, LEAK_PIN * wet)

    def _set(self, name: str, value: float) -> None:
        self._connection.mav.param_set_send(
            self._system, 1, name.encode(), value, self._dialect.MAV_PARAM_TYPE_REAL32
        )

    def set_origin(self, latitude: float, longitude: float) -> None:
        """Send the origin of map, degrees; the autopilot takes it once."""
        self._connection.mav.set_gps_global_origin_send(
            self._system, round(latitude * 1e7), round(longitude * 1e7), 0
        )

    def move(self, delta: Delta) -> None:
        """Send a motion of the vehicle."""
        self._connection.mav.vision_position_delta_send(
            (delta.stamp + AHEAD) // 1000,
            delta.duration // 1000,
            delta.angle,
            delta.position,
            100.0,
        )

    def place(self, fix: Fix) -> None:
        """Send the position, as a GPS receiver without velocities does."""
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
