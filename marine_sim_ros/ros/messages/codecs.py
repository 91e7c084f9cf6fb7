# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads and writes the numbers of per-tick messages in their serialised bytes (CDR).

OMG, DDS-RTPS 2.5, 2022, section 10, and CORBA 3.3, part 2, 2012, section 9.3: two bytes say the
byte order, two are options; then come the fields, each aligned to its size from there on. A string
is its length in 4 bytes, its characters and a zero.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header

from marine_sim_ros.core.parent_process import RUN
from marine_sim_ros.core.stamps import NANOSECONDS

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

__all__ = [
    'BODY',
    'LAYOUTS',
    'ORDERS',
    'Layout',
    'Template',
    'not_a_message',
    'read',
    'run_tag',
    'tag_of',
    'tagged',
    'untagged',
]


BODY = 4
"""Bytes before the fields."""
ORDERS = {b'\0\0': '>', b'\0\1': '<'}
"""Byte orders of struct by the first two bytes."""


class Layout(NamedTuple):
    """Where a message has its numbers.

    Attributes:
        header: bytes of the fields before the header.
        strings: strings after the stamp.
        numbers: what follows them, as struct has it, all of it aligned to 8 bytes.
    """

    header: int
    strings: int
    numbers: str

    def stamp(self) -> int:
        """Return the offset of the stamp."""
        return BODY + self.header

    def offset(self, data: bytes | bytearray, order: str) -> int:
        """Return the offset of the numbers.

        Raises:
            struct.error: the strings are longer than the message.
        """
        at = self.stamp() + 8
        for _ in range(self.strings):
            at += -at % 4
            at += 4 + struct.unpack_from(order + 'I', data, at)[0]
        return at + (BODY - at) % 8 if self.numbers else at


LAYOUTS: dict[Any, Layout] = {
    Odometry: Layout(0, 2, '7d288x6d288x'),
    WrenchStamped: Layout(0, 1, '6d'),
    AccelStamped: Layout(0, 1, '6d'),
    Header: Layout(0, 1, ''),
    Clock: Layout(0, 0, ''),
    Time: Layout(0, 0, ''),
}
"""By message class. The bytes left out of an Odometry are its covariances."""
if TFMessage is not None:
    LAYOUTS[TFMessage] = Layout(4, 2, '7d')  # of one transform


def not_a_message(kind: Any, data: bytes) -> ValueError:
    """Return the error of bytes that are no message of a class."""
    return ValueError(
        f'{len(data)} bytes beginning with {bytes(data[:4]).hex()} are no {kind.__name__} in CDR; '
        'the message is dropped'
    )


def read(kind: Any, data: bytes) -> tuple[int, tuple[float, ...]]:
    """Return the stamp (ns) and the numbers of a serialised message.

    Args:
        kind: message class, of LAYOUTS.
        data: message of any sender, with any names of frames, in either byte order.

    Raises:
        ValueError: the bytes are no such message.
    """
    layout = LAYOUTS[kind]
    try:
        order = ORDERS[bytes(data[:2])]
        seconds, rest = struct.unpack_from(order + 'iI', data, layout.stamp())
        numbers = struct.unpack_from(order + layout.numbers, data, layout.offset(data, order))
    except (KeyError, struct.error):
        raise not_a_message(kind, data) from None
    return seconds * NANOSECONDS + rest, numbers


def run_tag() -> bytes:
    """Return the two bytes that tell messages of this run from others; empty: it has no tag.

    They stand in the options of a serialised message, which readers of CDR ignore. The last two
    bits stay 0: with them XCDR2 counts padding.
    """
    text = os.environ.get(RUN, '')
    return (int(text) << 2 & 0xFFFC).to_bytes(2, 'big') if text.isdecimal() else b''


def tag_of(data: bytes) -> bytes:
    """Return the two bytes of a serialised message where a run has its tag."""
    return data[2:BODY]


def tagged(data: bytearray) -> bytearray:
    """Write the tag of this run into a serialised message, and return it."""
    data[2:BODY] = run_tag() or bytes(2)
    return data


def untagged(data: bytes) -> bytes:
    """Return a serialised message without the tag of a run."""
    return data if data[2:BODY] == b'\0\0' else data[:2] + b'\0\0' + data[BODY:]


class Template:
    """A serialised message whose stamp and numbers are written anew."""

    def __init__(self, message: Any) -> None:
        """Serialise a message of a class of LAYOUTS; its strings stay as they are."""
        layout, data = LAYOUTS[type(message)], tagged(bytearray(serialize_message(message)))
        order = ORDERS[bytes(data[:2])]
        self._data, self._stamp, self._at = data, layout.stamp(), layout.offset(data, order)
        self._time, self._numbers = (
            struct.Struct(order + 'iI'),
            struct.Struct(order + layout.numbers),
        )

    def write(self, stamp: int, numbers: Sequence[float]) -> bytes:
        """Return the message with a stamp (ns) and numbers as :func:`read` has them.

        Covariances are zero.
        """
        self._time.pack_into(self._data, self._stamp, *divmod(stamp, NANOSECONDS))
        self._numbers.pack_into(self._data, self._at, *numbers)
        return bytes(self._data)
