# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Targets of a ground station: positions, velocities and attitudes in the frames of MAVLink.

Sources: MAVLink common.xml; ArduSub 4.5, ArduSub/GCS_Mavlink.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.conventions import flu_quaternion
from marine_sim_ros.autopilot.mavlink.autopilot import Autopilot
from marine_sim_ros.autopilot.mavlink.guidance import Course, Posture, Turn
from marine_sim_ros.core.spatial import rpy_from_quaternion

__all__ = ['Targets']

LOCAL_NED, LOCAL_OFFSET_NED, BODY_NED, BODY_OFFSET_NED, BODY_FRD = 1, 7, 8, 9, 12
LOCAL_FRAMES = (LOCAL_NED, LOCAL_OFFSET_NED, BODY_NED, BODY_OFFSET_NED, BODY_FRD)
BODY_FRAMES = (BODY_NED, BODY_OFFSET_NED, BODY_FRD)
GLOBAL_FRAMES = (0, 3, 5, 6)
"""MAV_FRAME_GLOBAL, GLOBAL_RELATIVE_ALT and their _INT: home is at altitude 0."""
POSITION, ACCELERATION, YAW, YAW_RATE = 0b111, 0b111 << 6, 1 << 10, 1 << 11
THRUST_UNSET, ATTITUDE_UNSET = 1 << 6, 1 << 7
FARTHEST, FASTEST, FASTEST_TURN = 1e5, 100.0, 100.0
"""m, m/s, rad/s: nothing that is commanded is larger."""
NAN = math.nan


class Targets:
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
        places = _masked(message.type_mask, message.x, message.y, message.z)
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
            return pilot.frame.in_map(_both(places, here))
        places = _both(places, np.zeros(3))
        if frame in BODY_FRAMES:
            places[:2] = self._turned(places[:2])
        return pilot.frame.in_map(places + here)

    def _turned(self, level: np.ndarray) -> np.ndarray:
        """Return north, east (2,) of forward, right."""
        heading = self._autopilot.frame.heading(self._autopilot.state)
        c, s = math.cos(heading), math.sin(heading)
        forward, right = level.tolist()
        return np.array([c * forward - s * right, s * forward + c * right])

    def _on_global(self, message: Any) -> None:
        pilot = self._autopilot
        needs_frame = (message.type_mask & POSITION) != POSITION and pilot.mode == 'guided'
        frames = GLOBAL_FRAMES if needs_frame else range(256)
        reason = self._fault(message, frames, ('guided', 'alt_hold'))
        latitude, longitude = message.lat_int * 1e-7, message.lon_int * 1e-7
        if abs(latitude) > 90 or abs(longitude) > 180:
            reason = reason or f'no place: {latitude:g}, {longitude:g}'
        z_unset = bool(message.type_mask & 4)
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
        altitude = NAN if message.type_mask & 4 else float(message.alt)
        position = self._autopilot.frame.position(latitude, longitude, altitude)
        if message.type_mask & 3:  # both, or none
            position[:2] = NAN
        elif math.hypot(*position[:2].tolist()) > FARTHEST:
            self._refuse(f'{message.get_type()}: more than {FARTHEST:g} m from home')
            return
        self._go(message, position, False, message.yaw)

    def _fault(self, message: Any, frames: Any, modes: tuple[str, ...]) -> str:
        """Return why a target is not taken, or an empty text."""
        mask = message.type_mask
        if self._autopilot.mode not in modes:
            return f'taken in {" and ".join(modes).upper()} only'
        if message.coordinate_frame not in frames:
            return f'frame {message.coordinate_frame} is not simulated'
        if (mask & ACCELERATION) != ACCELERATION and self._autopilot.mode == 'guided':
            return 'accelerations are not taken; set bits 6 to 8 of the mask'
        speeds = _masked(mask >> 3, message.vx, message.vy, message.vz)
        if np.any(np.abs(speeds) > FASTEST):
            return f'a velocity is above {FASTEST:g} m/s'
        if not mask & YAW_RATE and abs(message.yaw_rate) > FASTEST_TURN:
            return f'the yaw rate is above {FASTEST_TURN:g} rad/s'
        return ''

    def _go(self, message: Any, position: np.ndarray, body: bool, compass: float) -> None:
        """Take a position in map, and the velocity and turn of a message."""
        pilot, mask = self._autopilot, message.type_mask
        speeds = _masked(mask >> 3, message.vx, message.vy, message.vz)
        speeds = _both(speeds, np.zeros(3))
        if body:
            speeds[:2] = self._turned(speeds[:2])
        velocity = pilot.frame.in_map(speeds)
        rate = NAN if mask & YAW_RATE else -float(message.yaw_rate)
        yaw = NAN if mask & YAW else pilot.frame.yaw(float(compass))
        if not np.any(np.isfinite([*position, *velocity, yaw, rate])):
            self._refuse(f'{message.get_type()}: the mask leaves everything out')
            return
        pilot.guide.go(Course(_three(position), _three(velocity), Turn(yaw, rate)), pilot.state)

    def _on_attitude(self, message: Any) -> None:
        pilot, mask = self._autopilot, message.type_mask
        reason = ''
        q = np.array(message.q, float)
        length = float(np.linalg.norm(q))
        if pilot.mode not in ('guided', 'alt_hold'):
            reason = 'taken in GUIDED and ALT_HOLD only'
        elif mask & ATTITUDE_UNSET:
            reason = 'without an attitude; body rates are not taken'
        elif not 0.5 < length < 2.0:
            reason = f'q has length {length:g}; expected 1'
        elif pilot.mode == 'guided' and mask & THRUST_UNSET:
            reason = 'GUIDED needs the thrust, which is the climb rate'
        elif pilot.mode == 'alt_hold' and not mask & THRUST_UNSET:
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


def _masked(mask: int, *values: float) -> np.ndarray:
    """Return values (3,), NaN where their bit of the mask leaves them out."""
    return np.array([NAN if mask & 1 << k else v for k, v in enumerate(values)])


def _both(vector: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Return a vector (3,) of which both level axes are given or none is."""
    level = np.isfinite(vector[:2])
    if not np.any(level):
        return vector
    return np.concatenate([np.where(level, vector[:2], usual[:2]), vector[2:]])


def _too_far(places: np.ndarray) -> str:
    return f'more than {FARTHEST:g} m' if np.any(np.abs(places) > FARTHEST) else ''


def _three(values: np.ndarray) -> tuple[float, float, float]:
    """Return three numbers, of which NaN is one and the same object."""
    x, y, z = (NAN if math.isnan(v) else v for v in np.asarray(values).tolist())
    return x, y, z
