# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SeaTrac X150 of Blueprint Subsea: the transceiver of a USBL, whose beacon is on the vehicle.

A command is ``#``, a message as hexadecimal digits, its CRC-16 and CR LF; responses begin with
``$``. A ping is answered by the next reading of the sensor.

Source: panitan103/Seatrac_Blueprint_Subsea_Python_GUI, commit a6dc21a (seatrac_serial.py, with the
maker's descriptions of commands and fields). Assumed: azimuth clockwise from the transceiver's
front, elevation upwards, RANGE_COUNT in intervals of 16 kHz of the way there and back.
"""

from __future__ import annotations

import math
import struct
from collections import deque

import numpy as np

from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    ProtocolError,
    WireProtocol,
)
from marine_sim_ros.model.vehicle import Sensor

__all__ = ['PING_RESPONSE', 'SEATRAC', 'SeaTrac', 'command_line', 'message_of']

_ALIVE, _PING_SEND, PING_RESPONSE, _PING_ERROR = 0x01, 0x40, 0x42, 0x43
_OK, _FAIL, _INVALID, _BUSY, _TIMEOUT = 0x00, 0x01, 0x05, 0x30, 0x34
_RESPONSE_OF = {2: 3, 4: 5, 6: 7}
"""Types of a request and of its response: range; with bearing; with bearing and depth."""
_WITH_BEARING, _WITH_DEPTH = (4, 6), 6
_RANGE_VALID, _USBL_VALID, _POSITION_VALID, _POSITION_ENHANCED = 1, 2, 4, 8
_OWN, _BEACON = 15, 1
"""Numbers of the transceiver and of the vehicle's beacon."""
_CHANNELS, _TIMER = 4, 16_000.0
_LONGEST = 200
"""Bytes of a line."""
_PATIENCE = 2
"""Periods of the sensor after which a ping has no answer."""
MAX_PINGS = 8
"""Clients whose ping waits for a reading."""


def crc16(data: bytes) -> int:
    """Return the CRC-16 with the polynomial 0xA001, reflected, from 0."""
    result = 0
    for byte in data:
        result ^= byte
        for _ in range(8):
            result = result >> 1 ^ (0xA001 if result & 1 else 0)
    return result


def frame(data: bytes) -> bytes:
    """Return a response: a message with its checksum, low byte first."""
    return b'$' + (data + struct.pack('<H', crc16(data))).hex().upper().encode() + b'\r\n'


def command_line(message: bytes) -> bytes:
    """Return a command: a message with its checksum."""
    return b'#' + frame(message)[1:]


def message_of(line: bytes) -> bytes:
    """Return the message of a command or a response, without its checksum."""
    return bytes.fromhex(line[1:].decode('ascii'))[:-2]


def _tenths(value: float) -> int:
    """Return a signed number of tenths, within 16 bits."""
    return round(min(max(10 * value, -32768.0), 32767.0))


def fix_fields(reading: InstrumentReading, request: int) -> bytes:
    """Return flags, type, attitude and fix of the answer to a type of request (ACOFIX)."""
    readings, spec = reading.readings, reading.sensor.spec
    distance, azimuth, elevation = map(float, readings['polar'])
    turn = math.radians(reading.heading)
    place, roll, pitch, yaw = np.array(spec.transceiver), 0.0, 0.0, 0.0
    if 'transceiver' in readings:
        pose = np.asarray(readings['transceiver'])
        place = pose[:3]
        roll, pitch, yaw = rpy_from_quaternion(pose[3:]).tolist()
    compass = (90.0 + reading.heading - math.degrees(yaw)) % 360.0
    compass -= 360.0 if compass >= 180.0 else 0.0
    speed = float(spec.assumed_sound_speed)
    flags, usbl = _RANGE_VALID, b''
    if request in _WITH_BEARING:
        flags |= _USBL_VALID | _POSITION_VALID
        flags |= _POSITION_ENHANCED if request == _WITH_DEPTH else 0
        x, y, _ = (np.asarray(readings['position']) - place).tolist()
        east = x * math.cos(turn) + y * math.sin(turn)
        north = y * math.cos(turn) - x * math.sin(turn)
        clockwise = -math.degrees(azimuth)
        usbl = struct.pack(
            '<B10h', _CHANNELS, 0, 0, 0, 0,
            _tenths(clockwise), _tenths(math.degrees(elevation)), 0,
            _tenths(east), _tenths(north), _tenths(-float(readings['position'][2])),
        )  # fmt: skip
    seconds = distance / speed
    return (
        struct.pack(
            '<BB3hHHh', flags, _RESPONSE_OF[request],
            _tenths(compass), _tenths(-math.degrees(pitch)), _tenths(math.degrees(roll)),
            max(_tenths(-float(place[2])), 0), round(10 * speed), 0,
        )
        + struct.pack(
            '<IiH', round(2 * seconds * _TIMER), round(seconds * 1e7),
            min(round(10 * distance), 65535),
        )
        + usbl
    )  # fmt: skip


class SeaTrac(Instrument):
    """The transceiver; settings are refused."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin without a ping under way."""
        super().__init__(sensor)
        self._pings: deque[tuple[Client, int, int]] = deque()
        self._now = 0
        self._oldest: int | None = None
        """Stamp of the oldest ping that waits, ns; the node's thread reads it."""

    def receive(self, client: Client) -> bool:
        """Answer a command: a ping, whether it is alive; others are refused."""
        received = client.received
        while received.startswith((b'\r', b'\n')):
            del received[:1]
        end = min((i for i in (received.find(b'\r'), received.find(b'\n')) if i >= 0), default=-1)
        if end < 0:
            if len(received) > _LONGEST:
                received.clear()
                raise ProtocolError(f'more than {_LONGEST} bytes without an end of line')
            return False
        line = bytes(received[:end])
        del received[: end + 1]
        self._answer(client, _message(line))
        return True

    def _answer(self, client: Client, message: bytes) -> None:
        command, rest = message[0], message[1:]
        if command == _ALIVE:
            client.send(frame(struct.pack('<BI', _ALIVE, self._now // NANOSECONDS)))
        elif command != _PING_SEND:
            client.send(frame(bytes((command, _FAIL))))
        elif len(rest) != 2 or rest[1] not in _RESPONSE_OF or not 1 <= rest[0] <= _OWN:
            client.send(frame(bytes((command, _INVALID, rest[0] if rest else 0))))
        elif len(self._pings) >= MAX_PINGS:
            client.send(frame(bytes((command, _BUSY, rest[0]))))
        else:
            self._pings.append((client, rest[0], rest[1]))
            self._oldest = self._now if self._oldest is None else self._oldest
            client.send(frame(bytes((command, _OK, rest[0]))))

    @property
    def is_waiting(self) -> bool:
        """Whether a ping waits for a reading."""
        return bool(self._pings)

    def is_overdue(self, stamp: int) -> bool:
        """Return whether a ping has waited for two readings, and none has come."""
        self._now, oldest = stamp, self._oldest
        longest = _PATIENCE * self.sensor.period + self.sensor.latency
        return oldest is not None and abs(stamp - oldest) > longest

    def expire(self) -> None:
        """Answer the pings by a time-out."""
        self._finish(None)

    def report(self, reading: InstrumentReading) -> None:
        """Answer the pings that wait by a reading."""
        heard = bool(np.all(np.isfinite(np.asarray(reading.readings['polar']))))
        self._finish(reading if heard else None)

    def _finish(self, reading: InstrumentReading | None) -> None:
        waiting, self._pings, self._oldest = self._pings, deque(), None
        for client, beacon, request in waiting:
            if client not in self.clients:
                continue
            if reading is not None and beacon == _BEACON:
                head = bytes((PING_RESPONSE, _OWN, beacon))
                client.send(frame(head + fix_fields(reading, request)))
            else:
                client.send(frame(bytes((_PING_ERROR, _TIMEOUT, beacon))))


def _message(line: bytes) -> bytes:
    """Return the message of a line without its checksum.

    Raises:
        ProtocolError: no command, or a wrong checksum.
    """
    try:
        data = bytes.fromhex(line[1:].decode('ascii'))
    except ValueError:
        data = b''
    if line[:1] != b'#' or len(data) < 3:
        raise ProtocolError(f'{line[:20]!r} is no command; expected # and hexadecimal digits')
    message, checksum = data[:-2], struct.unpack('<H', data[-2:])[0]
    if checksum != crc16(message):
        raise ProtocolError(
            f'{line[:20]!r} has checksum {checksum:04X}; expected {crc16(message):04X}'
        )
    return message


SEATRAC = WireProtocol(
    'seatrac', ('usbl',), 'tcp', 4002, SeaTrac, 'SeaTrac X150 of Blueprint Subsea', serial=True
)
