# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""UBX, the binary protocol of u-blox's GPS receivers: NAV-PVT, and answers to what clients set.

Source: u-blox 8 / u-blox M8 receiver description including protocol specification UBX-13003221,
sections 32.2 (frame), 32.4 (checksum), 32.9, 32.10.2 (CFG), 32.16 (MON-VER), 32.17.15 (NAV-PVT).
Times count from 1970-01-01, as simulated stamps do, without leap seconds.
"""

from __future__ import annotations

import math
import struct
from datetime import datetime, timedelta, timezone

from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    ProtocolError,
    WireProtocol,
)

__all__ = ['UBX', 'frame', 'navigation_solution']

_SYNC = b'\xb5\x62'
_MAX_PAYLOAD = 4096
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WEEK, _DAYS_TO_THURSDAY = 604_800_000, 4
"""ms of a week, which begins on Sunday; the epoch is a Thursday."""
_NAV_PVT, _ACK, _NAK, _MON_VER, _CFG = (1, 7), (5, 1), (5, 0), (10, 4), 6
_FIX_3D, _FIX_OK, _TIME_VALID = 3, 1, 0b111
_NO_PDOP = 9999
"""Dilution of precision, in hundredths: it is not simulated."""


def frame(message: tuple[int, int], payload: bytes = b'') -> bytes:
    """Return a message of class and number: sync, header, payload, Fletcher's checksum."""
    body = struct.pack('<BBH', *message, len(payload)) + payload
    return _SYNC + body + bytes(_checksum(body))


def _checksum(body: bytes) -> tuple[int, int]:
    first = second = 0
    for byte in body:
        first = (first + byte) & 0xFF
        second = (second + first) & 0xFF
    return first, second


def navigation_solution(reading: InstrumentReading) -> bytes:
    """Return NAV-PVT of a fix.

    Accuracies are the standard deviations that the sensor has. The number of satellites is 0:
    they are not simulated. The geoid is the ellipsoid.
    """
    latitude, longitude, altitude = map(float, reading.readings['geodetic'])
    east, north, up = map(float, reading.readings['velocity'])
    spec, milliseconds = reading.sensor.spec, round(reading.stamp / 1e6)
    utc = _EPOCH + timedelta(milliseconds=milliseconds)
    across = math.hypot(spec.horizontal_noise, spec.horizontal_wander)
    upward = math.hypot(spec.vertical_noise, spec.vertical_wander)
    speed = math.hypot(east, north)
    course = math.degrees(math.atan2(east, north)) % 360.0
    payload = struct.pack(
        '<IH5BBIi4B4i2I5i2I2H4xihH',
        (milliseconds + _DAYS_TO_THURSDAY * 86_400_000) % _WEEK,
        utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second,
        _TIME_VALID, 0, 1000 * utc.microsecond,
        _FIX_3D, _FIX_OK, 0, 0,
        round(longitude * 1e7), round(latitude * 1e7),
        round(altitude * 1e3), round(altitude * 1e3),
        round(across * 1e3), round(upward * 1e3),
        round(north * 1e3), round(east * 1e3), round(-up * 1e3), round(speed * 1e3),
        round(course * 1e5) % 36_000_000,
        round(spec.velocity_noise * 1e3), 18_000_000, _NO_PDOP, 0, 0, 0, 0,
    )  # fmt: skip
    return frame(_NAV_PVT, payload)


def _version() -> bytes:
    """Return the payload of MON-VER: software, hardware, and the version of the protocol."""
    return struct.pack('<30s10s30s', b'marine_sim_ros', b'simulated', b'PROTVER=18.00')


class UbxReceiver(Instrument):
    """The receiver; settings are acknowledged and change nothing."""

    def receive(self, client: Client) -> bool:
        """Take a message: MON-VER is answered, settings are acknowledged, polls of them are not.

        Bytes that are no UBX, such as corrections, are discarded.
        """
        received = client.received
        start = received.find(_SYNC)
        if start < 0:
            del received[: max(len(received) - 1, 0)]  # the first byte of a sync may be the last
            return False
        del received[:start]
        if len(received) < 6:
            return False
        kind, number, length = struct.unpack_from('<BBH', received, 2)
        if length > _MAX_PAYLOAD:
            del received[:2]
            raise ProtocolError(
                f'a UBX message of {length} bytes; expected {_MAX_PAYLOAD} at most'
            )
        if len(received) < 8 + length:
            return False
        body, checksum = bytes(received[2 : 6 + length]), tuple(received[6 + length : 8 + length])
        if _checksum(body) != checksum:
            del received[:2]
            raise ProtocolError('a UBX message with a wrong checksum')
        del received[: 8 + length]
        self._answer(client, kind, number, length)
        return True

    def _answer(self, client: Client, kind: int, number: int, length: int) -> None:
        if (kind, number) == _MON_VER:
            client.send(frame(_MON_VER, _version()))
        elif kind == _CFG:
            # A message without a payload asks for a setting; there are none to tell.
            client.send(frame(_ACK if length else _NAK, bytes((kind, number))))

    def report(self, reading: InstrumentReading) -> None:
        """Send the solution of a reading."""
        self.broadcast(navigation_solution(reading))


UBX = WireProtocol('ubx', ('gps',), 'tcp', 2000, UbxReceiver, 'UBX of u-blox', serial=True)
