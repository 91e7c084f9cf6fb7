# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Range Image Protocol of the Water Linked Sonar 3D-15, versions RIP1 and RIP2, over UDP.

A packet is its name, its length, a message of protobuf (in RIP2 compressed by Snappy) and a
CRC-32. The sonar sends a range image for each reading, unasked, to one address or a multicast
group.

Source: waterlinked/docs, commit 1039f3d (its page "Integration API Sonar 3D-15"), and the fields
of wlsonar 0.5.5 of PyPI; Snappy's format description (one literal is a valid block).
"""

from __future__ import annotations

import struct
import zlib
from functools import partial

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import SOUND_SPEED
from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    WireProtocol,
)
from marine_sim_ros.model.vehicle import Sensor

__all__ = ['RIP1', 'RIP2', 'RangeImages']

PORT = 4747
_TYPE = b'type.googleapis.com/waterlinked.sonar.protocol.RangeImage'
_LARGEST = 2**14 - 1
"""Value of a pixel at the greatest range: two bytes of protobuf."""
_MOST_BEAMS = 32_000
_VARINT, _LENGTH, _FLOAT = 0, 2, 5
"""Types of fields of protobuf."""


def _varint(value: int) -> bytes:
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes((*result, value))


def _field(number: int, value: bytes | int | float) -> bytes:
    """Return a field of protobuf: bytes, a whole number, or a float of 32 bits."""
    if isinstance(value, bytes):
        return _varint(number << 3 | _LENGTH) + _varint(len(value)) + value
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    return _varint(number << 3 | _FLOAT) + struct.pack('<f', value)


def _range_image(reading: InstrumentReading, number: int) -> bytes:
    """Return the message RangeImage: below first, port first, 0 without an echo."""
    spec = reading.sensor.spec
    distance = np.asarray(reading.readings['range'], float)[::-1]
    scale = float(np.float32(spec.max_range / _LARGEST))
    distance = np.where(np.isfinite(distance), distance, 0.0)
    pixels = np.clip(np.round(distance / scale), 0, _LARGEST).astype(int)
    low_high = np.stack([pixels & 127 | 128, pixels >> 7], axis=-1)
    second, nanosecond = divmod(reading.stamp, NANOSECONDS)
    rows, columns = distance.shape
    fields = (
        _field(1, _field(1, second) + _field(2, nanosecond)) + _field(2, number),
        float(SOUND_SPEED),
        float(spec.max_range),
        round(1000 * spec.frequency),
        columns,
        rows,
        float(spec.width),
        float(spec.height),
        scale,
        low_high.astype(np.uint8).tobytes(),
    )
    return b''.join(_field(k, value) for k, value in enumerate(fields, 1))


def _literal(data: bytes) -> bytes:
    """Return a Snappy block of up to 65536 bytes that compresses nothing."""
    return _varint(len(data)) + b'\xf4' + struct.pack('<H', len(data) - 1) + data


class RangeImages(Instrument):
    """The sonar: it sends, and takes no commands by this protocol."""

    def __init__(self, version: int, sensor: Sensor) -> None:
        """Begin with the image 0 of a version of the protocol.

        Raises:
            ParameterError: an image that is larger than a datagram.
        """
        super().__init__(sensor)
        self._version, self._count = version, 0
        if (beams := int(sensor.spec.columns * sensor.spec.rows)) > _MOST_BEAMS:
            raise ParameterError(
                f'protocol of {sensor.name}: {beams} beams; expected at most {_MOST_BEAMS}, which '
                'one datagram has'
            )

    def receive(self, client: Client) -> bool:
        """Discard what a client says."""
        client.received.clear()
        return False

    def report(self, reading: InstrumentReading) -> None:
        """Send the range image of a reading."""
        message = _field(1, _field(1, _TYPE) + _field(2, _range_image(reading, self._count)))
        self._count = (self._count + 1) % 2**32
        payload = message if self._version == 1 else _literal(message)
        packet = b'RIP%d' % self._version + struct.pack('<I', len(payload) + 12) + payload
        self.broadcast(packet + struct.pack('<I', zlib.crc32(packet)))


def _protocol(version: int) -> WireProtocol:
    return WireProtocol(
        f'rip{version}',
        ('sonar_3d',),
        'udp',
        PORT,
        partial(RangeImages, version),
        f'Water Linked Sonar 3D-15, RIP{version}',
        sends_to=True,
    )


RIP1 = _protocol(1)
RIP2 = _protocol(2)
