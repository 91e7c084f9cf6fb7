# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The packets of ArduPilot's JSON interface: pulse widths in, motion out; no sockets.

Source: ArduPilot 4.5, libraries/SITL/examples/JSON/readme.md.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.stamps import NANOSECONDS

__all__ = ['LARGEST', 'Motion', 'PacketError', 'ServoPacket', 'motion_reply', 'parse_servos']

HEADER = struct.Struct('<HHI')
CHANNELS = {18458: 16, 29569: 32}
"""Number of channels by the magic number that a packet starts with."""
LARGEST = HEADER.size + 2 * max(CHANNELS.values())
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
    """What an autopilot sends for every frame.

    Attributes:
        frame_rate: frames per second of its own time that it asks for.
        frame_count: number of the frame; one that is sent again has the same.
        pwm: 16 or 32 pulse widths in µs; 0: the channel is off.
    """

    frame_rate: int
    frame_count: int
    pwm: tuple[int, ...]


@dataclass(frozen=True)
class Motion:
    """What an autopilot is told in return: north, east, down; forward, right, down.

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


def motion_reply(motion: Motion, battery: tuple[float, float] | None = None) -> bytes:
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
