# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that a MAVLink vehicle sends unasked, each at its own rate.

Sources: MAVLink common.xml; ArduSub 4.5, ArduSub/GCS_Mavlink.cpp (groups of streams) and
libraries/GCS_MAVLink/GCS_Common.cpp (intervals).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from marine_sim_ros.autopilot.channels import NEUTRAL
from marine_sim_ros.autopilot.conventions import angles_quaternion, ned_quaternion
from marine_sim_ros.autopilot.mavlink.autopilot import ARDUSUB_MODES, Autopilot
from marine_sim_ros.autopilot.mavlink.guidance import Course, wrap_heading
from marine_sim_ros.autopilot.mavlink.link import AttitudeMask, MavlinkLink, PositionMask
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion

__all__ = ['STREAMS', 'STREAM_GROUPS', 'StreamReadings', 'Streams', 'Telemetry']

STREAM_GROUPS = {
    1: ('SCALED_PRESSURE2',),
    2: ('SYS_STATUS', 'MISSION_CURRENT', 'NAV_CONTROLLER_OUTPUT', 'NAMED_VALUE_FLOAT'),
    3: ('SERVO_OUTPUT_RAW', 'RC_CHANNELS'),
    6: ('GLOBAL_POSITION_INT', 'LOCAL_POSITION_NED'),
    10: ('ATTITUDE', 'AHRS2'),
    11: ('VFR_HUD',),
    12: ('SYSTEM_TIME',),
}
"""Messages of each MAV_DATA_STREAM."""
FAST = ('ATTITUDE', 'LOCAL_POSITION_NED', 'GLOBAL_POSITION_INT', 'VFR_HUD', 'SCALED_PRESSURE2')
"""Sent at the node's rate; the others of the groups twice a second."""
SLOW_RATE, BEAT = 2.0, 1.0
"""Hz, s."""
ON_REQUEST = (
    'HEARTBEAT',
    'ATTITUDE_QUATERNION',
    'ATTITUDE_TARGET',
    'POSITION_TARGET_LOCAL_NED',
    'HOME_POSITION',
    'GPS_GLOBAL_ORIGIN',
    'AUTOPILOT_VERSION',
    'GIMBAL_MANAGER_INFORMATION',
    'GIMBAL_MANAGER_STATUS',
    'GIMBAL_DEVICE_ATTITUDE_STATUS',
)
"""Sent where a ground station asks for them, and the heartbeat once a second."""
STREAMS = (*(name for group in STREAM_GROUPS.values() for name in group), *ON_REQUEST)
"""All messages that have an interval."""
FASTEST, SLOWEST = 0.001, 60.0
"""s, bounds of an interval."""
GIMBAL = 1
"""Number of the gimbal device, which is the autopilot's own."""
VERSION = 4 << 24 | 5 << 16
UNKNOWN_CURRENT, UNKNOWN_VOLTAGE = -1, 65535


@dataclass
class StreamReadings:
    """Readings of a node besides the state.

    Attributes:
        pressure: of the barometer, Pa; None: no barometer.
        pulse_widths: of the thrusters in µs, in the order of the URDF.
        channels: of the thrusters, in the order of the URDF.
    """

    pressure: float | None = None
    pulse_widths: list[int] = field(default_factory=list)
    channels: tuple[int, ...] = ()


class Telemetry:
    """Sends one message of each kind."""

    def __init__(self, link: MavlinkLink, autopilot: Autopilot, readings: StreamReadings) -> None:
        """Describe an autopilot."""
        self._link, self._pilot, self.readings = link, autopilot, readings

    def send(self, name: str) -> None:
        """Send the message of a name in ``STREAMS``, if what it says is known."""
        if self._pilot.known or name in ('HEARTBEAT', 'SYS_STATUS', 'AUTOPILOT_VERSION'):
            getattr(self, f'_{name.lower()}')()

    @property
    def _ms(self) -> int:
        return int(self._pilot.time * 1000) & 0xFFFFFFFF

    @property
    def _us(self) -> int:
        return int(self._pilot.time * 1e6)

    def _heartbeat(self) -> None:
        d, pilot = self._link.dialect, self._pilot
        flags = d.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | d.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED
        flags |= d.MAV_MODE_FLAG_STABILIZE_ENABLED
        flags |= d.MAV_MODE_FLAG_SAFETY_ARMED if pilot.armed else 0
        guided = pilot.mode in ('auto', 'guided', 'poshold')
        flags |= d.MAV_MODE_FLAG_GUIDED_ENABLED if guided else 0
        state = d.MAV_STATE_ACTIVE if pilot.armed else d.MAV_STATE_STANDBY
        autopilot = d.MAV_AUTOPILOT_ARDUPILOTMEGA
        self._link.send.heartbeat_send(
            d.MAV_TYPE_SUBMARINE, autopilot, flags, ARDUSUB_MODES[pilot.mode], state
        )

    def _sys_status(self) -> None:
        nothing = (0, 0, 0, 0, UNKNOWN_VOLTAGE, UNKNOWN_CURRENT, -1, 0, 0, 0, 0, 0, 0)
        self._link.send.sys_status_send(*nothing)

    def _angles(self) -> tuple[float, float, float]:
        """Return roll, pitch, yaw of FRD in NED, rad."""
        roll, pitch, yaw = rpy_from_quaternion(self._pilot.state.orientation).tolist()
        return roll, -pitch, self._pilot.frame.compass(yaw)

    def _rates(self) -> tuple[float, float, float]:
        p, q, r = self._pilot.state.velocity[3:].tolist()
        return p, -q, -r

    def _velocity(self) -> tuple[float, float, float]:
        state = self._pilot.state
        return self._pilot.frame.ned(rotation_matrix(state.orientation) @ state.velocity[:3])

    def _attitude(self) -> None:
        self._link.send.attitude_send(self._ms, *self._angles(), *self._rates())

    def _ahrs2(self) -> None:
        pilot = self._pilot
        latitude, longitude = pilot.frame.place(pilot.state.position)
        place = (round(latitude * 1e7), round(longitude * 1e7))
        altitude = float(pilot.state.position[2])
        self._link.send.ahrs2_send(*self._angles(), altitude, *place)

    def _attitude_quaternion(self) -> None:
        orientation = self._pilot.frame.state(self._pilot.state).orientation
        q = ned_quaternion(orientation)
        self._link.send.attitude_quaternion_send(self._ms, *q, *self._rates())

    def _local_position_ned(self) -> None:
        position = self._pilot.frame.ned(self._pilot.state.position)
        self._link.send.local_position_ned_send(self._ms, *position, *self._velocity())

    def _degrees(self) -> float:
        return math.degrees(self._angles()[2]) % 360.0

    def _global_position_int(self) -> None:
        pilot = self._pilot
        latitude, longitude = pilot.frame.place(pilot.state.position)
        altitude = round(float(pilot.state.position[2]) * 1e3)
        speeds = (_int16(100 * v) for v in self._velocity())
        heading = round(100 * self._degrees()) % 36000
        place = (round(latitude * 1e7), round(longitude * 1e7))
        self._link.send.global_position_int_send(
            self._ms, *place, altitude, altitude, *speeds, heading
        )

    def _vfr_hud(self) -> None:
        north, east, down = self._velocity()
        ground = math.hypot(north, east)
        widths = self.readings.pulse_widths or [NEUTRAL]
        throttle = round(float(np.mean(np.abs(np.array(widths) - NEUTRAL))) / 4)
        altitude = float(self._pilot.state.position[2])
        heading = round(self._degrees()) % 360
        self._link.send.vfr_hud_send(ground, ground, heading, throttle, altitude, -down)

    def _scaled_pressure2(self) -> None:
        if self.readings.pressure is not None:
            pressure = self.readings.pressure / 100
            self._link.send.scaled_pressure2_send(self._ms, pressure, 0.0, 0)

    def _mission_current(self) -> None:
        mission = self._pilot.mission
        d = self._link.dialect
        count = len(mission.items)
        if not mission.has_items:
            state = d.MISSION_STATE_NO_MISSION
        elif mission.complete:
            state = d.MISSION_STATE_COMPLETE
        elif self._pilot.mode == 'auto':
            state = d.MISSION_STATE_ACTIVE
        else:
            state = d.MISSION_STATE_NOT_STARTED
        flying = 1 if self._pilot.mode == 'auto' else 2
        self._link.send.mission_current_send(mission.current, max(count - 1, 0), state, flying)

    def _nav_controller_output(self) -> None:
        pilot, end = self._pilot, self._pilot.guide.end
        roll, pitch, yaw = (math.degrees(a) for a in self._angles())
        away = np.zeros(3) if end is None else end - pilot.state.position
        north, east, down = pilot.frame.ned(away)
        bearing = round(math.degrees(math.atan2(east, north)))
        distance = min(round(math.hypot(north, east)), 65535)
        self._link.send.nav_controller_output_send(
            roll, pitch, round(yaw), bearing, distance, -down, 0.0, 0.0
        )

    def _named_value_float(self) -> None:
        pilot = self._pilot
        values = {
            b'PilotGain': pilot.joystick.gain,
            b'Lights1': pilot.values.get('lights', 0.0),
            b'CamTilt': pilot.values.get('camera_tilt', 0.0) / math.radians(90.0) + 0.5,
        }
        for name, value in values.items():
            self._link.send.named_value_float_send(self._ms, name, value)

    def _gimbal_manager_information(self) -> None:
        if (device := self._pilot.camera_tilt) is not None:
            d = self._link.dialect
            capable = d.GIMBAL_MANAGER_CAP_FLAGS_HAS_PITCH_AXIS
            capable |= d.GIMBAL_MANAGER_CAP_FLAGS_HAS_PITCH_FOLLOW
            capable |= d.GIMBAL_MANAGER_CAP_FLAGS_HAS_RC_INPUTS
            bounds = (0.0, 0.0, device.low, device.high, 0.0, 0.0)
            self._link.send.gimbal_manager_information_send(self._ms, capable, GIMBAL, *bounds)

    def _gimbal_manager_status(self) -> None:
        if self._pilot.camera_tilt is not None:
            self._link.send.gimbal_manager_status_send(self._ms, 0, GIMBAL, 0, 0, 0, 0)

    def _gimbal_device_attitude_status(self) -> None:
        if self._pilot.camera_tilt is not None:
            flags = self._link.dialect.GIMBAL_DEVICE_FLAGS_YAW_IN_VEHICLE_FRAME
            half = self._pilot.values.get('camera_tilt', 0.0) / 2
            q = (math.cos(half), 0.0, math.sin(half), 0.0)
            nan = math.nan
            self._link.send.gimbal_device_attitude_status_send(
                0, 0, self._ms, flags, q, nan, nan, nan, 0, gimbal_device_id=0
            )

    def _servo_output_raw(self) -> None:
        widths = self._pilot.servo_outputs(self.readings.pulse_widths, self.readings.channels)
        self._link.send.servo_output_raw_send(self._us & 0xFFFFFFFF, 0, *widths)

    def _rc_channels(self) -> None:
        # As ArduSub shows the eight channels of a receiver that is not there.
        widths = [self._pilot.input_pulse_width(k) or (NEUTRAL if k < 8 else 0) for k in range(18)]
        self._link.send.rc_channels_send(self._ms, 16, *widths, 255)

    def _system_time(self) -> None:
        self._link.send.system_time_send(int(time.time() * 1e6), self._ms)

    def _home(self) -> tuple[int, int, int]:
        origin = self._pilot.frame.origin
        return round(origin.latitude * 1e7), round(origin.longitude * 1e7), 0

    def _home_position(self) -> None:
        level = (1.0, 0.0, 0.0, 0.0)
        self._link.send.home_position_send(*self._home(), 0, 0, 0, level, 0, 0, 0, self._us)

    def _gps_global_origin(self) -> None:
        self._link.send.gps_global_origin_send(*self._home(), self._us)

    def _attitude_target(self) -> None:
        # Of what the guide was told; without an attitude all of it is left out.
        target = self._pilot.guide.target
        level = isinstance(target, Course)
        roll, pitch, yaw = (0.0, 0.0, 0.0) if isinstance(target, Course) else target.angles
        compass = self._pilot.frame.compass(yaw)
        q = angles_quaternion(roll, -pitch, wrap_heading(compass))
        mask = AttitudeMask.RATES | AttitudeMask.THRUST
        if level:
            mask |= AttitudeMask.ATTITUDE
        self._link.send.attitude_target_send(self._ms, mask, q, 0, 0, 0, 0)

    def _position_target_local_ned(self) -> None:
        pilot, target, nan = self._pilot, self._pilot.guide.target, math.nan
        course = target if isinstance(target, Course) else Course()
        position = pilot.frame.ned(np.array(course.position))
        velocity = pilot.frame.ned(np.array(course.velocity))
        yaw, rate = pilot.frame.compass(course.turn.yaw), -course.turn.rate
        numbers = (*position, *velocity, nan, nan, nan, nan, yaw, rate)
        mask = sum(
            bit
            for bit, n in zip(PositionMask, numbers, strict=False)
            if math.isnan(n) and bit is not PositionMask.FORCE
        )
        values = [0.0 if math.isnan(n) else n for n in numbers]
        self._link.send.position_target_local_ned_send(
            self._ms, 1, mask, *values[:9], *values[10:]
        )

    def _autopilot_version(self) -> None:
        d = self._link.dialect
        names = (
            'MISSION_FLOAT PARAM_FLOAT MISSION_INT COMMAND_INT SET_ATTITUDE_TARGET MAVLINK2 '
            'SET_POSITION_TARGET_LOCAL_NED SET_POSITION_TARGET_GLOBAL_INT FLIGHT_TERMINATION'
        )
        capable = 0
        for name in names.split():
            capable |= getattr(d, f'MAV_PROTOCOL_CAPABILITY_{name}')
        none = bytes(8)
        self._link.send.autopilot_version_send(
            capable, VERSION, 0, 0, 0, none, none, none, 0, 0, self._link.system
        )


def _int16(value: float) -> int:
    return round(min(max(value, -32768.0), 32767.0))


class Streams:
    """Schedule of messages by wall time."""

    def __init__(self, rate: float, send: Callable[[str], None]) -> None:
        """Send the fast ones at a rate in Hz; ``send`` sends the message of a name."""
        usual = {name: 1.0 / SLOW_RATE for group in STREAM_GROUPS.values() for name in group}
        usual |= dict.fromkeys(FAST, 1.0 / rate) | {'HEARTBEAT': BEAT}
        self._usual = usual
        self._intervals = dict(usual)
        self._due = dict.fromkeys(STREAMS, -math.inf)
        self._send = send

    def interval(self, name: str) -> float:
        """Return the interval of a message, s; 0: it is not sent."""
        return self._intervals.get(name, 0.0)

    def set_interval(self, name: str, microseconds: float) -> None:
        """Set the interval of a message, µs; 0: the usual one, −1: it is not sent."""
        if microseconds == 0:
            self._intervals[name] = self._usual.get(name, 0.0)
        elif microseconds < 0:
            self._intervals[name] = 0.0
        else:
            self._intervals[name] = min(max(microseconds * 1e-6, FASTEST), SLOWEST)
        self._due[name] = -math.inf

    def set_group(self, group: int, rate: float) -> bool:
        """Set the rate (Hz) of a MAV_DATA_STREAM, 0 being all; return whether there is one."""
        names = [
            n for k, group_names in STREAM_GROUPS.items() if group in (0, k) for n in group_names
        ]
        for name in names:
            self.set_interval(name, 1e6 / rate if rate > 0 else -1)
        return bool(names)

    def serve(self, now: float) -> None:
        """Send what is due at a wall time (s)."""
        for name, interval in self._intervals.items():
            if interval <= 0 or now < self._due[name]:
                continue
            late = now - self._due[name] > interval
            self._due[name] = now + interval if late else self._due[name] + interval
            self._send(name)
