# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Conventions of autopilots: axes (NED, FRD), and packets of ArduPilot's JSON interface.

Source: ArduPilot 4.5, libraries/SITL/examples/JSON/readme.md.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, sin, sqrt

import numpy as np

from marine_sim_ros.autopilot.channels import ARDUSUB_ELEMENT, FrameElement, read_element
from marine_sim_ros.control.controller_model import ControllerModel
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import (
    quaternion_from_rpy,
    quaternion_of_angles,
    quaternion_product,
    rotation_matrix,
)
from marine_sim_ros.core.state import NANOSECONDS, State

__all__ = [
    'ARDUSUB',
    'MAX_PACKET_SIZE',
    'PacketError',
    'ReportedMotion',
    'ServoPacket',
    'angles_quaternion',
    'enu',
    'flu',
    'flu_quaternion',
    'frd',
    'geographic_state',
    'motion_reply',
    'ned',
    'ned_quaternion',
    'parse_servos',
    'reported_motion',
]


# Packets of ArduPilot's JSON interface: pulse widths in, motion out; no sockets.

HEADER = struct.Struct('<HHI')
CHANNELS = {18458: 16, 29569: 32}
"""Number of channels by the magic number that a packet starts with."""
MAX_PACKET_SIZE = HEADER.size + 2 * max(CHANNELS.values())
"""Bytes of the largest packet."""
CLOCK_MARGIN = 1e-8
"""Share by which timestamps run fast: the autopilot cuts every step to whole µs, and rounding
would make a step of 2500 µs one of 2499."""

AHEAD = 10 * NANOSECONDS
"""ns that timestamps are ahead. The autopilot's clock is the wall's until its first frame, and
what it waits for then ends when the simulation's has come so far: at once, on any machine."""


class PacketError(MarineSimError):
    """A datagram that is no servo packet."""


@dataclass(frozen=True)
class ServoPacket:
    """Packet of an autopilot for every frame.

    Attributes:
        frame_rate: frames per second of its own time that it asks for.
        frame_count: number of the frame; one that is sent again has the same.
        pwm: 16 or 32 pulse widths in µs; 0: the channel is off.
    """

    frame_rate: int
    frame_count: int
    pwm: tuple[int, ...]


@dataclass(frozen=True)
class ReportedMotion:
    """Motion sent to an autopilot in return: north, east, down; forward, right, down.

    Attributes:
        stamp: time in ns.
        gyro: angular velocity in FRD, rad/s.
        accel_body: specific force in FRD, m/s²; level and at rest (0, 0, −9.81).
        position: in NED from home, m.
        velocity: in NED, m/s.
        quaternion: w, x, y, z; turns FRD into NED vectors.
        ranges: distances that up to six rangefinders measure, m.
    """

    stamp: int
    gyro: Sequence[float]
    accel_body: Sequence[float]
    position: Sequence[float]
    velocity: Sequence[float]
    quaternion: Sequence[float]
    ranges: Sequence[float] = ()


def parse_servos(data: bytes) -> ServoPacket:
    """Return the servo packet of a datagram.

    Raises:
        PacketError: another length or magic number.
    """
    if len(data) < HEADER.size:
        raise PacketError(f'{len(data)} bytes; expected a servo packet of 40 or 72')
    magic, frame_rate, frame_count = HEADER.unpack_from(data)
    channels = CHANNELS.get(magic)
    if channels is None:
        raise PacketError(f'magic number {magic}; expected 18458 or 29569')
    if len(data) != HEADER.size + 2 * channels:
        raise PacketError(f'{len(data)} bytes; expected {HEADER.size + 2 * channels}')
    pwm = struct.unpack_from(f'<{channels}H', data, HEADER.size)
    return ServoPacket(frame_rate, frame_count, pwm)


def motion_reply(motion: ReportedMotion, battery: tuple[float, float] | None = None) -> bytes:
    """Return the reply to a servo packet: one line of JSON without spaces.

    Args:
        motion: how the vehicle moves.
        battery: voltage (V) and current (A), which newer versions than 4.5 take; None: not known.

    The autopilot finds keys as text and reads ``"key":[``; a space after a colon hides the value.

    Raises:
        ValueError: a number that is not finite.
    """
    content = {
        'timestamp': (motion.stamp + AHEAD) / NANOSECONDS * (1.0 + CLOCK_MARGIN),
        'imu': {'gyro': list(motion.gyro), 'accel_body': list(motion.accel_body)},
        'position': list(motion.position),
        'velocity': list(motion.velocity),
        'quaternion': list(motion.quaternion),
        'no_time_sync': 1,  # the simulator keeps the pace; true would read as 0
    }
    content |= {f'rng_{k}': distance for k, distance in enumerate(motion.ranges, 1)}
    if battery is not None:
        content['battery'] = dict(zip(('voltage', 'current'), battery, strict=True))
    return f'\n{json.dumps(content, separators=(",", ":"), allow_nan=False)}\n'.encode('ascii')


# Axes of this package and of autopilots: ENU and NED, FLU and FRD (REP 103, REP 147).


def ned(enu: np.ndarray) -> tuple[float, float, float]:
    """Return north, east, down of a vector (3,) east, north, up."""
    east, north, up = enu.tolist()
    return north, east, -up


def frd(flu: np.ndarray) -> tuple[float, float, float]:
    """Return forward, right, down of a vector (3,) forward, left, up."""
    forward, left, up = flu.tolist()
    return forward, -left, -up


def enu(vectors: np.ndarray) -> np.ndarray:
    """Return east, north, up of vectors (..., 3) north, east, down."""
    return vectors[..., [1, 0, 2]] * np.array([1.0, 1.0, -1.0])


def flu(vectors: np.ndarray) -> np.ndarray:
    """Return forward, left, up of vectors (..., 3) forward, right, down."""
    return vectors * np.array([1.0, -1.0, -1.0])


def flu_quaternion(angles: np.ndarray) -> np.ndarray:
    """Return x, y, z, w (n, 4) from FLU to ENU of roll, pitch, yaw (n, 3) of FRD in NED, rad.

    The yaw is clockwise from north, the pitch is bow up.
    """
    ours = flu(angles) + np.array([0.0, 0.0, np.pi / 2])
    return np.asarray(quaternion_of_angles(ours.T)).T


def angles_quaternion(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float]:
    """Return w, x, y, z of roll, pitch, yaw, rad: Rz(yaw) Ry(pitch) Rx(roll)."""
    cr, sr = cos(roll / 2), sin(roll / 2)
    cp, sp = cos(pitch / 2), sin(pitch / 2)
    cy, sy = cos(yaw / 2), sin(yaw / 2)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def ned_quaternion(orientation: np.ndarray) -> tuple[float, float, float, float]:
    """Return w, x, y, z from FRD to NED of x, y, z, w from FLU to ENU.

    q' = p ⊗ q ⊗ d: p is half a turn about (1, 1, 0)/√2, d half a turn about the body's x axis.
    """
    x, y, z, w = orientation.tolist()
    half = sqrt(0.5)
    return half * (w + z), half * (x + y), half * (x - y), half * (w - z)


def geographic_state(state: State, origin: Origin) -> State:
    """Return a state in east, north, up, of one in a map with an origin."""
    if not origin.heading:
        return state
    turn = quaternion_from_rpy(0.0, 0.0, -np.radians(origin.heading))
    return State(
        origin.enu(state.position), quaternion_product(turn, state.orientation), state.velocity
    )


def reported_motion(
    stamp: int, state: State, force: np.ndarray, rates: np.ndarray, ranges: tuple[float, ...] = ()
) -> ReportedMotion:
    """Return the motion that an autopilot receives for a state.

    Args:
        stamp: time, ns.
        force: specific force (3,) that the accelerometer measures, FLU, m/s².
        rates: angular velocity (3,) that the gyroscope measures, FLU, rad/s.
        ranges: distances that rangefinders measure, m.
    """
    velocity = rotation_matrix(state.orientation) @ state.velocity[:3]
    return ReportedMotion(
        stamp,
        frd(rates),
        frd(force),
        ned(state.position),
        ned(velocity),
        ned_quaternion(state.orientation),
        ranges,
    )


ARDUSUB = ControllerModel(
    'ardusub',
    label='ArduSub',
    executable='ardusub',
    element=ARDUSUB_ELEMENT,
    read_element=read_element,
    parts=FrameElement,
    options=(
        'ardusub',
        'autopilot_instance',
        'autopilot_address',
        'ground_station',
        'navigation',
        'video',
    ),
)
"""The firmware of the BlueROV2, as software in the loop."""
