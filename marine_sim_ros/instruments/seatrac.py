# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Emulated SeaTrac of Blueprint Subsea: X150, a USBL's transceiver, and X110, a beacon and modem.

A command is ``#``, a message as hexadecimal digits, its CRC-16 and CR LF; responses begin with
``$``. A ping of the X150 is answered by the next reading of the sensor; X110 beacons talk to each
other by the packets of the sensor ``modem``.

Source: panitan103/Seatrac_Blueprint_Subsea_Python_GUI, commit a6dc21a (seatrac_serial.py), and
BenWashburn1457/seatrac_driver, commit a58f180 (include/seatrac_driver), both with the maker's
descriptions of commands and fields. Assumed: azimuth clockwise from the transceiver's
front, elevation upwards, RANGE_COUNT in intervals of 16 kHz of the way there and back.
"""

from __future__ import annotations

import math
import struct
from abc import abstractmethod
from collections import deque
from typing import NamedTuple

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

__all__ = ['PING_RESPONSE', 'SEATRAC', 'SeaTrac', 'SeaTracBeacon', 'command_line', 'message_of']

_ALIVE, _PING_SEND, PING_RESPONSE, _PING_ERROR = 0x01, 0x40, 0x42, 0x43
_OK, _FAIL, _INVALID, _BUSY, _TIMEOUT = 0x00, 0x01, 0x05, 0x30, 0x34
_RESPONSE_OF = {2: 3, 4: 5, 6: 7}
"""Types of a request and of its response: range; with bearing; with bearing and depth."""
_WITH_BEARING, _WITH_DEPTH = (4, 6), 6
_RANGE_VALID, _USBL_VALID, _POSITION_VALID, _POSITION_ENHANCED = 1, 2, 4, 8
_OWN, _BEACON = 15, 1
"""Numbers of the transceiver and of the vehicle's beacon."""
_CHANNELS, _TIMER = 4, 16_000.0
_LONGEST = 300
"""Bytes of a line; settings have 228."""
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


class _SeaTracDevice(Instrument):
    """A device that reads lines, and knows the simulated time of the latest tick."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin at time 0."""
        super().__init__(sensor)
        self._now = 0

    def receive(self, client: Client) -> bool:
        """Answer a command; others are refused."""
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
        message = _message(line)
        if message[0] == _ALIVE:
            client.send(frame(struct.pack('<BI', _ALIVE, self._now // NANOSECONDS)))
        else:
            self._answer(client, message)
        return True

    @abstractmethod
    def _answer(self, client: Client, message: bytes) -> None:
        """Answer a message of a client."""


class SeaTrac(_SeaTracDevice):
    """The transceiver X150; settings are refused."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin without a ping under way."""
        super().__init__(sensor)
        self._pings: deque[tuple[Client, int, int]] = deque()
        self._oldest: int | None = None
        """Stamp of the oldest ping that waits, ns; the node's thread reads it."""

    def _answer(self, client: Client, message: bytes) -> None:
        command, rest = message[0], message[1:]
        if command != _PING_SEND:
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


# X110: a beacon whose messages are packets of the sensor modem.

_INFO, _SETTINGS_GET, _SETTINGS_SET, _SETTINGS_RESET = 0x02, 0x15, 0x16, 0x19
_KEPT = (0x17, 0x18)
"""Settings loaded and saved: they are those of the run anyway."""
_PING_REQUEST, _DATA_SEND, _DATA_RECEIVED, _DATA_ERROR = 0x41, 0x60, 0x61, 0x63
_ONE_WAY, _PING, _DATA = (0, 1), 0, 3
"""Types of messages without an answer; payloads of acoustic messages."""
_X110 = 843
_SETTINGS = struct.pack(
    '<BBBB6s4s4s4s4sHBiHHB6h?8f3h3HBBHH3HBBB',
    0, 0, 0x0D, 0x0D, bytes(6), bytes((250, 1, 168, 192)), bytes((0, 0, 255, 255)),
    bytes((1, 1, 168, 192)), bytes((1, 1, 168, 192)), 8100, 3, 0, 350, 15000, 0,
    -270, -270, -270, 270, 270, 270, True, 0, 0, 0, 1, 1, 1, 0, 100, 0, 0, 0, 0, 0, 0,
    0, 1, 1000, 10, 0, 0, 0, 3, 10, 60,
)  # fmt: skip
"""Settings at the start: the defaults of the maker; the beacon has the number 1."""
_NUMBER_AT = len(_SETTINGS) - 14
_LONGEST_DATA = 30
"""Bytes of a datagram. A packet has two more: destination and source, and type and payload. An
answer has the time since the request came (4 bytes, µs) and no data; who asked finds the range
from it and the times of its own packets."""
_TIMEOUT_MARGIN = 6 * NANOSECONDS
"""ns of an answer from 3 km, and 2 s."""


class _Request(NamedTuple):
    """A request that waits for its answer, and when it was sent (ns; None: not yet)."""

    client: Client
    command: int
    beacon: int
    size: int
    sent: int | None


class SeaTracBeacon(_SeaTracDevice):
    """The beacon X110: datagrams and pings to other beacons, without bearings."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin with the settings of the maker."""
        super().__init__(sensor)
        self._settings = _SETTINGS
        self._outbox: deque[tuple[bytes, int | None]] = deque()
        self._request: _Request | None = None

    @property
    def number(self) -> int:
        """Number of the beacon."""
        return self._settings[_NUMBER_AT]

    def _answer(self, client: Client, message: bytes) -> None:
        command, rest = message[0], message[1:]
        if command == _INFO:
            firmware = struct.pack('<?HBBHI', True, 0, 0, 0, 0, 0)
            hardware = struct.pack('<IBHBIHH', self._now // NANOSECONDS, 1, _X110, 0, 0, 0, 0)
            client.send(frame(bytes((command,)) + hardware + firmware + firmware + b'\0'))
        elif command == _SETTINGS_GET:
            client.send(frame(bytes((command,)) + self._settings))
        elif command in (_PING_SEND, _DATA_SEND):
            status = self._enqueue(client, command, rest)
            client.send(frame(bytes((command, status, rest[0] if rest else 0))))
        else:
            client.send(frame(bytes((command, self._configure(command, rest)))))

    def _configure(self, command: int, rest: bytes) -> int:
        """Take settings; return the status."""
        if command == _SETTINGS_SET:
            if len(rest) != len(_SETTINGS) or not 1 <= rest[_NUMBER_AT] <= _OWN:
                return _INVALID
            self._settings = rest
        elif command == _SETTINGS_RESET:
            self._settings = _SETTINGS
        elif command not in _KEPT:
            return _FAIL
        return _OK

    def _enqueue(self, client: Client, command: int, rest: bytes) -> int:
        """Put a message of a client into the water; return the status."""
        data = rest[3:] if command == _DATA_SEND else b''
        size = 3 + rest[2] if command == _DATA_SEND and len(rest) >= 3 else 2
        if len(rest) != size or len(data) > _LONGEST_DATA:
            return _INVALID
        beacon, kind = rest[0], rest[1]
        answered = kind in _RESPONSE_OF
        if not (answered or (kind in _ONE_WAY and command == _DATA_SEND)) or beacon > _OWN:
            return _INVALID
        if answered and beacon in (0, self.number):
            return _INVALID
        if self._request is not None or len(self._outbox) >= MAX_PINGS:
            return _BUSY
        packet = self._packet(beacon, kind, _PING if command == _PING_SEND else _DATA, data)
        if answered:
            self._request = _Request(client, command, beacon, len(packet), None)
        self._outbox.append((packet, None))
        return _OK

    def _packet(self, beacon: int, kind: int, payload: int, data: bytes = b'') -> bytes:
        return bytes((beacon << 4 | self.number, kind << 4 | payload)) + data

    def take_outgoing(self, stamp: int) -> bytes | None:
        """Return the next packet; an answer says how long ago its request came."""
        if not self._outbox:
            return None
        packet, since = self._outbox.popleft()
        if since is not None:
            return packet + struct.pack('<I', min(max(stamp - since, 0) // 1000, 2**32 - 1))
        if self._request is not None and packet[1] >> 4 in _RESPONSE_OF:
            self._request = self._request._replace(sent=stamp)
        return packet

    def report(self, reading: InstrumentReading) -> None:
        """Answer a request of another beacon, and tell the clients what has come."""
        readings = reading.readings
        size = float(readings['size'])
        if not size >= 2:  # NaN: no packet
            return
        packet = bytes(np.asarray(readings['data'])[: int(size)].astype(np.uint8))
        beacon, source, kind, payload = (n for byte in packet[:2] for n in (byte >> 4, byte & 15))
        data = packet[2:]
        arrival = round(float(readings['time']) * NANOSECONDS)
        local = beacon in (0, self.number)
        seconds = None
        if kind in _RESPONSE_OF.values():
            request = self._request
            if request is None or request.sent is None or request.beacon != source:
                return
            if not local or len(data) != 4:
                return
            self._request = None
            air = sum(self.sensor.spec.duration(n) for n in (request.size, len(packet)))
            waited = struct.unpack('<I', data)[0] * 1e-6
            seconds, data = (arrival - request.sent) / NANOSECONDS - air - waited, b''
        elif kind in _RESPONSE_OF and local:
            self._outbox.append((self._packet(source, _RESPONSE_OF[kind], payload), arrival))
        ratio = float(readings['snr'])
        fix = self._fix(beacon, source, kind, seconds, ratio)
        if payload == _DATA:
            told = bytes((seconds is not None, len(data))) + data + bytes((local,))
            self.broadcast(frame(bytes((_DATA_RECEIVED,)) + fix + told))
        elif local:
            command = _PING_REQUEST if seconds is None else PING_RESPONSE
            self.broadcast(frame(bytes((command,)) + fix))

    def _fix(
        self, beacon: int, source: int, kind: int, seconds: float | None, ratio: float
    ) -> bytes:
        """Return the fix (ACOFIX) of a message, with a range where there and back took some s."""
        speed = float(self.sensor.spec.assumed_sound_speed)
        head = struct.pack(
            '<4B3hHHh', beacon, source, _RANGE_VALID if seconds is not None else 0, kind,
            0, 0, 0, 0, round(10 * speed), _tenths(ratio),
        )  # fmt: skip
        if seconds is None:
            return head
        there = max(seconds, 0.0) / 2
        distance = min(round(10 * there * speed), 65535)
        return head + struct.pack('<IiH', round(2 * there * _TIMER), round(there * 1e7), distance)

    def is_overdue(self, stamp: int) -> bool:
        """Return whether the answer to a request has not come in time."""
        self._now, request = stamp, self._request
        if request is None or request.sent is None:
            return False
        air = 2 * self.sensor.spec.duration(2 + _LONGEST_DATA) * NANOSECONDS
        return abs(stamp - request.sent) > _TIMEOUT_MARGIN + air

    def expire(self) -> None:
        """Tell who asked that no answer came."""
        request, self._request = self._request, None
        if request is not None and request.client in self.clients:
            command = _PING_ERROR if request.command == _PING_SEND else _DATA_ERROR
            request.client.send(frame(bytes((command, _TIMEOUT, request.beacon))))


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


def _instrument(sensor: Sensor) -> Instrument:
    """Return the SeaTrac that a sensor is."""
    return SeaTracBeacon(sensor) if sensor.kind == 'modem' else SeaTrac(sensor)


SEATRAC = WireProtocol(
    'seatrac',
    ('usbl', 'modem'),
    'tcp',
    4002,
    _instrument,
    'SeaTrac X150 and X110 of Blueprint Subsea',
    serial=True,
)
