# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub flight modes on top of the simulated controller, and a ground station's targets.

Sources: MAVLink common.xml; ArduSub 4.5, ArduSub/mode.h (numbers), ArduSub/mode_althold.cpp,
ArduSub/mode_surface.cpp, ArduSub/GCS_Mavlink.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.channels import HIGH, LOW, NEUTRAL, Device
from marine_sim_ros.autopilot.conventions import flu_quaternion
from marine_sim_ros.autopilot.mavlink.guidance import Course, Guide, HeadingTurn, NedFrame, Posture
from marine_sim_ros.autopilot.mavlink.link import AttitudeMask, PositionMask
from marine_sim_ros.autopilot.mavlink.mission import MissionRun, speeds_of
from marine_sim_ros.autopilot.mavlink.parameters import ParameterTable
from marine_sim_ros.autopilot.mavlink.sticks import TILT, Joystick, Overrides
from marine_sim_ros.control.commander import Commander
from marine_sim_ros.control.controller_model import ATTITUDE, RATES
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State, state_at_rest

__all__ = ['ARDUSUB_MODES', 'Autopilot', 'Efforts', 'MODE_NAMES', 'SetPoints', 'TargetMessages']


# Modes of ArduSub: sticks, targets and missions become commands of the controller.

ARDUSUB_MODES = {
    'stabilize': 0,
    'alt_hold': 2,
    'auto': 3,
    'guided': 4,
    'surface': 9,
    'poshold': 16,
    'manual': 19,
}
"""ArduSub's number of each mode that there is."""
MODE_NAMES = {number: name for name, number in ARDUSUB_MODES.items()}
CLOSED_LOOPS = {
    'stabilize': ('auto_heading',),
    'alt_hold': ('auto_depth', 'auto_heading'),
    'surface': ('auto_depth', 'auto_heading'),
    'poshold': ('auto_depth', 'auto_heading', 'station_keeping'),
}
"""Axes held in a manually steered mode while the sticks are centred."""
ATTITUDE_TIMEOUT = 5.0
"""s that a SET_ATTITUDE_TARGET lasts in ALT_HOLD (ArduSub/mode_althold.cpp)."""
SURFACE_MARGIN = 0.05
"""m below the surface at which ALT_HOLD holds there, and it counts as left
(ArduSub/mode_althold.cpp, ArduSub/surface_bottom_detector.cpp)."""
TILT_RATE = math.radians(30.0)
"""rad/s of the camera at full input."""


@dataclass(frozen=True)
class Efforts:
    """Efforts (6,) of the thrusters: surge, sway, heave, roll, pitch, yaw, −1 to 1, FLU."""

    efforts: np.ndarray


@dataclass(frozen=True)
class SetPoints:
    """Set-points (12,) of the controller, NaN where free."""

    targets: np.ndarray


class Autopilot:
    """The modes, without a connection; times are those of the simulation, s."""

    def __init__(
        self,
        origin: Origin,
        full_stick: np.ndarray,
        devices: tuple[Device, ...] = (),
        *,
        system: int = 1,
        say: Callable[[str], None],
        press: Callable[[str], None],
        reached: Callable[[int], None],
    ) -> None:
        """Start in MANUAL, disarmed.

        Args:
            origin: where map is on the Earth.
            full_stick: velocities (6,) of full stick, m/s and rad/s.
            devices: what channels move besides thrusters.
            system: number of the MAVLink system.
            say: called with a text for the pilot.
            press: called with arm, disarm or mode_… of a joystick's button.
            reached: called with the number of a mission item that is done.
        """
        self.frame = NedFrame(origin)
        self.parameters = ParameterTable(system)
        self.overrides = Overrides()
        self._press = press
        self.joystick = Joystick(self.overrides, self.parameters, self._pressed, say)
        self.guide = Guide()
        self.mission = MissionRun(self.guide, self.frame, self.parameters, say, reached)
        self._top, self._devices = np.asarray(full_stick, float), devices
        self._commander = Commander(armed=True)
        self.mode, self.armed = 'manual', False
        self.state, self.time = state_at_rest(), 0.0
        self.known = False
        """Whether a state has come."""
        self.values: dict[str, float] = {}
        """Values of the devices that were moved."""
        self._tilt = self._tilt_rate = 0.0
        self._depth = math.nan
        self._attitude: tuple[float, np.ndarray] | None = None
        self._surfaced = False

    def _pressed(self, name: str) -> None:
        if name == 'mount_center':
            self.point_camera(0.0)
        else:
            self._press(name)

    @property
    def camera_tilt(self) -> Device | None:
        """What tilts the camera; None: nothing does."""
        return next((device for device in self._devices if device.name == 'camera_tilt'), None)

    def point_camera(self, angle: float, rate: float = 0.0) -> None:
        """Tilt the camera to an angle (rad, up), NaN: as it is; and go on at a rate (rad/s)."""
        device = self.camera_tilt
        if device is not None:
            self._tilt = self._tilt if math.isnan(angle) else device.clip(angle)
            self._tilt_rate = 0.0 if math.isnan(rate) else rate
            self.values[device.name] = self._tilt

    def set_mode(self, name: str) -> str:
        """Change the mode; return the reason why it stays, or an empty text."""
        if name == 'auto' and not self.mission.has_items:
            return 'no mission to fly; upload one'
        if name == self.mode:
            return ''
        self.mode = name
        self._commander.forget()
        self._commander.holds = set(CLOSED_LOOPS.get(name, ()))
        self._depth, self._attitude = math.nan, None
        # As ArduSub's wp_and_spline_init, which each start of AUTO and GUIDED calls.
        self.mission.level_speed = math.nan
        self.guide.hold()
        if name == 'auto':
            self.mission.resume()
        return ''

    def set_armed(self, on: bool) -> None:
        """Record whether the controller is armed."""
        if on == self.armed:
            return
        self.armed = on
        self.overrides.clear()
        self._commander.forget()
        self.guide.hold()
        if not on:
            self.mission.abandon()

    def hold_depth(self, z: float) -> None:
        """Take a depth in ALT_HOLD: z in map, m."""
        self._depth = z

    def hold_attitude(self, angles: np.ndarray) -> None:
        """Take roll, pitch and yaw (3,) in map, rad, for a while, in ALT_HOLD."""
        self._attitude = (self.time, angles)

    def step(self, time: float, state: State) -> Efforts | SetPoints | None:
        """Return the command of a time (s) and a state; None while disarmed."""
        dt = time - self.time
        if dt < 0:  # the run was reset
            self.overrides.clear()
            self._commander.forget()
            self._attitude = None
        self.time, self.state, self.known = time, state, True
        self._move_devices(min(max(dt, 0.0), 0.5))
        self._detect_surface()
        if not self.armed:
            return None
        if self.mode == 'surface' and self._surfaced:
            self.set_mode('alt_hold')
        if self.mode in ('guided', 'auto'):
            return SetPoints(self._guided_setpoints())
        efforts = self.overrides.efforts(time, self.parameters['RC_OVERRIDE_TIME'])
        if self.mode == 'manual':
            return Efforts(efforts)
        return SetPoints(self._piloted_setpoints(efforts))

    def _guided_setpoints(self) -> np.ndarray:
        if self.mode == 'auto':
            self.mission.step(self.time, self.state)
        level = self.mission.level_speed
        return self.guide.step(self.time, self.state, speeds_of(self.parameters, level))

    def _piloted_setpoints(self, efforts: np.ndarray) -> np.ndarray:
        """Return the set-points (12,) of a mode that sticks steer."""
        if self.mode != 'stabilize':
            efforts = efforts.copy()
            efforts[2] = self._outside_dead_zone(efforts[2])
        if self.mode == 'surface':
            efforts[2] = 1.0
        if efforts[2]:
            self._depth = math.nan
        self._commander.drive(efforts * self._top, self.time)
        wanted = self._commander.active_setpoints(self.time, self.state)
        if self._surfaced and not efforts[2] and 'auto_depth' in self._commander.holds:
            target = wanted[2] if math.isnan(self._depth) else self._depth
            self._depth = min(target, self._surface - SURFACE_MARGIN)
        if not math.isnan(self._depth):
            wanted[2], wanted[8] = self._depth, np.nan
        if self._attitude is not None and self.time - self._attitude[0] < ATTITUDE_TIMEOUT:
            wanted[ATTITUDE], wanted[RATES] = self._attitude[1], np.nan
        return wanted

    @property
    def _surface(self) -> float:
        """Height that counts as the surface, z in map, m."""
        return self.parameters['SURFACE_DEPTH'] / 100

    def _detect_surface(self) -> None:
        """Note whether it is at the surface, which it leaves a margin lower."""
        margin = SURFACE_MARGIN if self._surfaced else 0.0
        self._surfaced = self.armed and self.state.position[2] > self._surface - margin

    def _outside_dead_zone(self, throttle: float) -> float:
        """Return the throttle, −1 to 1, of what is beyond its dead zone."""
        zone = self.parameters['THR_DZ'] / 500
        return math.copysign(max(abs(throttle) - zone, 0.0) / (1.0 - zone), throttle)

    def input_pulse_width(self, channel: int) -> int:
        """Return the pulse width of an input channel, from 0, in µs; 0: none."""
        return self.overrides.width(channel, self.time, self.parameters['RC_OVERRIDE_TIME'])

    def _move_devices(self, dt: float) -> None:
        """Turn inputs 8, 9 and 11 into the values of tilt, lights and gripper."""
        tilt = self.input_pulse_width(TILT)
        for device in self._devices:
            if device.name == 'camera_tilt':
                rate = ((tilt or NEUTRAL) - NEUTRAL) / (HIGH - NEUTRAL) * TILT_RATE
                self._tilt_rate = 0.0 if rate else self._tilt_rate
                self._tilt = device.clip(self._tilt + (rate or self._tilt_rate) * dt)
                if tilt or device.name in self.values:
                    self.values[device.name] = self._tilt
            elif width := self.input_pulse_width(device.channel - 1):
                self.values[device.name] = device.value(width)

    def servo_outputs(self, pulse_widths: list[int], channels: tuple[int, ...]) -> list[int]:
        """Return the output (16,) in µs: the thrusters' by their channels, and the devices'."""
        result = [0] * 16
        for channel, width in zip(channels, pulse_widths, strict=False):
            if channel <= 16:
                result[channel - 1] = width
        for device in self._devices:
            value = self.values.get(device.name)
            if value is not None and device.channel <= 16 and device.high != device.low:
                share = (value - device.low) / (device.high - device.low)
                result[device.channel - 1] = round(LOW + (HIGH - LOW) * share)
        return result


# Targets of a ground station: positions, velocities and attitudes in the frames of MAVLink.

LOCAL_NED, LOCAL_OFFSET_NED, BODY_NED, BODY_OFFSET_NED, BODY_FRD = 1, 7, 8, 9, 12
LOCAL_FRAMES = (LOCAL_NED, LOCAL_OFFSET_NED, BODY_NED, BODY_OFFSET_NED, BODY_FRD)
BODY_FRAMES = (BODY_NED, BODY_OFFSET_NED, BODY_FRD)
GLOBAL_FRAMES = (0, 3, 5, 6)
"""MAV_FRAME_GLOBAL, GLOBAL_RELATIVE_ALT and their _INT: home is at altitude 0."""
POSITION_BITS = PositionMask.X, PositionMask.Y, PositionMask.Z
VELOCITY_BITS = PositionMask.VX, PositionMask.VY, PositionMask.VZ
FARTHEST, FASTEST, FASTEST_TURN = 1e5, 100.0, 100.0
"""m, m/s, rad/s: nothing that is commanded is larger."""
NAN = math.nan


class TargetMessages:
    """Takes the messages SET_POSITION_TARGET_… and SET_ATTITUDE_TARGET."""

    def __init__(self, autopilot: Autopilot, refuse: Callable[[str], None]) -> None:
        """Steer an autopilot; ``refuse`` is called with what is not taken, and why."""
        self._autopilot, self._refuse = autopilot, refuse
        self.handlers: Mapping[str, Callable[[Any], None]] = {
            'SET_POSITION_TARGET_LOCAL_NED': self._on_local,
            'SET_POSITION_TARGET_GLOBAL_INT': self._on_global,
            'SET_ATTITUDE_TARGET': self._on_attitude,
        }

    def _on_local(self, message: Any) -> None:
        reason = self._fault(message, LOCAL_FRAMES, ('guided',))
        places = _mask_values(message.type_mask, POSITION_BITS, (message.x, message.y, message.z))
        reason = reason or _too_far(places)
        if reason:
            self._refuse(f'{message.get_type()}: {reason}')
            return
        pilot, frame = self._autopilot, message.coordinate_frame
        position = self._local_position(places, frame)
        yaw = message.yaw
        if frame == BODY_OFFSET_NED:
            yaw += pilot.frame.heading(pilot.state)
        self._go(message, position, frame in BODY_FRAMES, yaw)

    def _local_position(self, places: np.ndarray, frame: int) -> np.ndarray:
        """Return the position (3,) in map of one north, east, down in a frame."""
        pilot = self._autopilot
        here = np.array(pilot.frame.ned(pilot.state.position))
        if frame == LOCAL_NED:
            return pilot.frame.in_map(_complete_level_axes(places, here))
        places = _complete_level_axes(places, np.zeros(3))
        if frame in BODY_FRAMES:
            places[:2] = self._to_north_east(places[:2])
        return pilot.frame.in_map(places + here)

    def _to_north_east(self, level: np.ndarray) -> np.ndarray:
        """Return north, east (2,) of forward, right."""
        heading = self._autopilot.frame.heading(self._autopilot.state)
        c, s = math.cos(heading), math.sin(heading)
        forward, right = level.tolist()
        return np.array([c * forward - s * right, s * forward + c * right])

    def _on_global(self, message: Any) -> None:
        pilot = self._autopilot
        needs_frame = (
            PositionMask.POSITION not in PositionMask(message.type_mask) and pilot.mode == 'guided'
        )
        frames = GLOBAL_FRAMES if needs_frame else range(256)
        reason = self._fault(message, frames, ('guided', 'alt_hold'))
        latitude, longitude = message.lat_int * 1e-7, message.lon_int * 1e-7
        if abs(latitude) > 90 or abs(longitude) > 180:
            reason = reason or f'no place: {latitude:g}, {longitude:g}'
        z_unset = bool(message.type_mask & PositionMask.Z)
        if not z_unset:
            reason = reason or _too_far(np.array([message.alt]))
        if not reason and pilot.mode == 'alt_hold' and z_unset:
            reason = 'ALT_HOLD takes the altitude alone'
        if reason:
            self._refuse(f'{message.get_type()}: {reason}')
        elif pilot.mode == 'alt_hold':
            pilot.hold_depth(float(message.alt))
        else:
            self._go_to_place(message, latitude, longitude)

    def _go_to_place(self, message: Any, latitude: float, longitude: float) -> None:
        altitude = NAN if message.type_mask & PositionMask.Z else float(message.alt)
        position = self._autopilot.frame.position(latitude, longitude, altitude)
        if message.type_mask & (PositionMask.X | PositionMask.Y):  # both, or none
            position[:2] = NAN
        elif math.hypot(*position[:2].tolist()) > FARTHEST:
            self._refuse(f'{message.get_type()}: more than {FARTHEST:g} m from home')
            return
        self._go(message, position, False, message.yaw)

    def _fault(self, message: Any, frames: Any, modes: tuple[str, ...]) -> str:
        """Return the reason to refuse a target, or an empty text."""
        mask = PositionMask(message.type_mask)
        if self._autopilot.mode not in modes:
            return f'taken in {" and ".join(modes).upper()} only'
        if message.coordinate_frame not in frames:
            return f'frame {message.coordinate_frame} is not simulated'
        if (
            PositionMask.ACCELERATION not in PositionMask(mask)
            and self._autopilot.mode == 'guided'
        ):
            return 'accelerations are not taken; set bits 6 to 8 of the mask'
        speeds = _mask_values(mask, VELOCITY_BITS, (message.vx, message.vy, message.vz))
        if np.any(np.abs(speeds) > FASTEST):
            return f'a velocity is above {FASTEST:g} m/s'
        if not mask & PositionMask.YAW_RATE and abs(message.yaw_rate) > FASTEST_TURN:
            return f'the yaw rate is above {FASTEST_TURN:g} rad/s'
        return ''

    def _go(self, message: Any, position: np.ndarray, body: bool, compass: float) -> None:
        """Take a position in map, and the velocity and turn of a message."""
        pilot, mask = self._autopilot, message.type_mask
        speeds = _mask_values(mask, VELOCITY_BITS, (message.vx, message.vy, message.vz))
        speeds = _complete_level_axes(speeds, np.zeros(3))
        if body:
            speeds[:2] = self._to_north_east(speeds[:2])
        velocity = pilot.frame.in_map(speeds)
        rate = NAN if mask & PositionMask.YAW_RATE else -float(message.yaw_rate)
        yaw = NAN if mask & PositionMask.YAW else pilot.frame.yaw(float(compass))
        if not np.any(np.isfinite([*position, *velocity, yaw, rate])):
            self._refuse(f'{message.get_type()}: the mask leaves everything out')
            return
        pilot.guide.go(
            Course(_with_shared_nan(position), _with_shared_nan(velocity), HeadingTurn(yaw, rate)),
            pilot.state,
        )

    def _on_attitude(self, message: Any) -> None:
        pilot, mask = self._autopilot, message.type_mask
        reason = ''
        q = np.array(message.q, float)
        length = float(np.linalg.norm(q))
        if pilot.mode not in ('guided', 'alt_hold'):
            reason = 'taken in GUIDED and ALT_HOLD only'
        elif mask & AttitudeMask.ATTITUDE:
            reason = 'without an attitude; body rates are not taken'
        elif not 0.5 < length < 2.0:
            reason = f'q has length {length:g}; expected 1'
        elif pilot.mode == 'guided' and mask & AttitudeMask.THRUST:
            reason = 'GUIDED needs the thrust, which is the climb rate'
        elif pilot.mode == 'alt_hold' and not mask & AttitudeMask.THRUST:
            reason = 'ALT_HOLD takes no thrust; set bit 6 of the mask'
        if reason:
            self._refuse(f'{message.get_type()}: {reason}')
            return
        angles = self._map_angles(q / length)
        if pilot.mode == 'alt_hold':
            pilot.hold_attitude(angles)
            return
        climb = 2.0 * (min(max(message.thrust, 0.0), 1.0) - 0.5)
        name = 'WPNAV_SPEED_UP' if climb > 0 else 'WPNAV_SPEED_DN'
        roll, pitch, yaw = angles.tolist()
        pilot.guide.pose(Posture((roll, pitch, yaw), climb * pilot.parameters[name] / 100))

    def _map_angles(self, q: np.ndarray) -> np.ndarray:
        """Return roll, pitch, yaw (3,) of FLU in map of w, x, y, z of FRD in NED."""
        roll, pitch, yaw = rpy_from_quaternion(q[[1, 2, 3, 0]]).tolist()
        ours = rpy_from_quaternion(flu_quaternion(np.array([[roll, pitch, yaw]]))[0])
        return np.array([ours[0], ours[1], self._autopilot.frame.yaw(yaw)])


def _mask_values(mask: int, bits: Sequence[PositionMask], values: Sequence[float]) -> np.ndarray:
    """Return values (3,), NaN where their bit of the mask leaves them out."""
    return np.array([NAN if mask & bit else v for bit, v in zip(bits, values, strict=True)])


def _complete_level_axes(vector: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Return a vector (3,) of which both level axes are given or none is."""
    level = np.isfinite(vector[:2])
    if not np.any(level):
        return vector
    return np.concatenate([np.where(level, vector[:2], usual[:2]), vector[2:]])


def _too_far(places: np.ndarray) -> str:
    return f'more than {FARTHEST:g} m' if np.any(np.abs(places) > FARTHEST) else ''


def _with_shared_nan(values: np.ndarray) -> tuple[float, float, float]:
    """Return three numbers, of which NaN is one and the same object."""
    x, y, z = (NAN if math.isnan(v) else v for v in np.asarray(values).tolist())
    return x, y, z
