# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Emulated Water Linked modem M64: answers a driver, with the packets of the sensor ``modem``.

Source: Water Linked's client wlmodem 1.3.0 of PyPI (wlmodem/protocol.py), protocol version 1.
A packet has eight bytes. The checksum is CRC-8 with the polynomial x⁸ + x² + x + 1. The modem has
a serial port; here it is a TCP port, as that of converters from serial ports to networks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    ProtocolError,
    WireProtocol,
)
from marine_sim_ros.model.vehicle import Sensor

__all__ = ['WATER_LINKED_MODEM']

PAYLOAD = 8
"""Bytes of a packet."""
MAX_QUEUE = 16
"""Packets that wait to be sent."""
_VERSION = b'1', b'0', b'1'
_ACK, _NAK = b'a', b'n'
_QUEUE = b'wcq,'
_LONGEST = 40
"""Bytes of a command."""


def _crc(data: bytes) -> int:
    result = 0
    for byte in data:
        result ^= byte
        for _ in range(8):
            result = (result << 1 ^ (0x07 if result & 0x80 else 0)) & 0xFF
    return result


def _frame(command: bytes, options: Sequence[bytes]) -> bytes:
    """Return a response or a report of the modem."""
    body = b','.join((b'wr' + command, *options))
    return body + f'*{_crc(body):02x}\n'.encode()


class _Command(NamedTuple):
    letter: bytes
    options: tuple[bytes, ...]


def _take_command(received: bytearray) -> _Command | None:
    """Take the first command of some bytes; None: it is incomplete.

    Raises:
        ProtocolError: bytes that are none, which are taken up to the line's end.
    """
    while received.startswith((b'\r', b'\n')):
        del received[:1]
    size = PAYLOAD + len(b'8,')
    start = len(_QUEUE) + size if received.startswith(_QUEUE + b'8,') else 0
    ends = [i for i in (received.find(end, start) for end in (b'\r', b'\n')) if i >= 0]
    if not ends:
        if len(received) > _LONGEST:
            received.clear()
            raise ProtocolError(f'more than {_LONGEST} bytes without an end of line')
        return None
    line = bytes(received[: min(ends)])
    del received[: min(ends) + 1]
    if line[-3:-2] == b'*' and len(line) >= max(start, 3) + 3:
        line, checksum = line[:-3], line[-2:]
        if checksum.lower() != f'{_crc(line):02x}'.encode():
            raise ProtocolError(
                f'{line[:20]!r} has checksum {checksum!r}; expected {_crc(line):02x}'
            )
    if line[:2] != b'wc' or len(line) < 3 or line[3:4] not in (b'', b','):
        raise ProtocolError(f'{line[:20]!r} is no command; expected one, as in wcv')
    if not line[4:]:
        return _Command(line[2:3], ())
    parts = line[4:].split(b',', 1) if line.startswith(_QUEUE) else line[4:].split(b',')
    return _Command(line[2:3], tuple(parts))


class WaterLinkedModem(Instrument):
    """The modem; role and channel are stored, and do not divide the water into networks."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin with an empty queue."""
        super().__init__(sensor)
        self._queue: deque[bytes] = deque()
        self._settings = b'a', b'1'
        self._received, self._free = 0, 0

    def receive(self, client: Client) -> bool:
        """Answer a command; what the modem does not know is answered by ``?``."""
        command = _take_command(client.received)
        if command is None:
            return False
        answer = self._answer(*command)
        client.send(_frame(b'?', ()) if answer is None else _frame(command.letter, answer))
        return True

    def _answer(self, letter: bytes, options: tuple[bytes, ...]) -> Sequence[bytes] | None:
        if letter == b's':
            valid = len(options) == 2 and options[0] in (b'a', b'b') and options[1] in _CHANNELS
            if valid:
                self._settings = options[0], options[1]
            return (_ACK if valid else _NAK,)
        if letter == b'q':
            return (self._enqueue(options),)
        if options:
            return None
        if letter == b'f':
            self._queue.clear()
            return (_ACK,)
        return self._state().get(letter)

    def _state(self) -> Mapping[bytes, Sequence[bytes]]:
        """Return version, payload, queue, settings, and link, packets, lost ones, bit errors."""
        link = b'y' if self._received else b'n'
        return {
            b'v': _VERSION,
            b'n': (str(PAYLOAD).encode(),),
            b'l': (str(len(self._queue)).encode(),),
            b'c': self._settings,
            b'd': (link, str(self._received).encode(), b'0', b'0.0'),
        }

    def _enqueue(self, options: tuple[bytes, ...]) -> bytes:
        valid = len(options) == 2 and options[0] == b'8' and len(options[1]) == PAYLOAD
        if not valid or len(self._queue) >= MAX_QUEUE:
            return _NAK
        self._queue.append(options[1])
        return _ACK

    def take_outgoing(self, stamp: int) -> bytes | None:
        """Return a packet to send, one after the other."""
        if self._free - stamp > self._airtime:  # the run was reset
            self._free = 0
        if stamp < self._free or not self._queue:
            return None
        self._free = stamp + self._airtime
        return self._queue.popleft()

    @property
    def _airtime(self) -> int:
        return round(self.sensor.spec.duration(PAYLOAD) * NANOSECONDS)

    def report(self, reading: InstrumentReading) -> None:
        """Send a received packet; those of another size are of no M64."""
        size = float(reading.readings['size'])
        if size != PAYLOAD:
            return
        self._received += 1
        data = bytes(np.asarray(reading.readings['data'])[:PAYLOAD].astype(np.uint8))
        self.broadcast(_frame(b'p', (str(PAYLOAD).encode(), data)))


_CHANNELS = tuple(str(i).encode() for i in range(1, 8))

WATER_LINKED_MODEM = WireProtocol(
    'water_linked_modem',
    ('modem',),
    'tcp',
    4001,
    WaterLinkedModem,
    'Water Linked modem M64',
    serial=True,
)
