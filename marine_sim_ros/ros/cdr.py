# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of per-tick messages, read and written in serialised bytes (CDR).

OMG, DDS-RTPS 2.5, 2022, section 10, and CORBA 3.3, part 2, 2012, section 9.3: two bytes of byte
order, two of options, then the fields, each aligned to its size from there on. A string is its
length in 4 bytes, its characters and a zero.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped, PoseStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import FluidPressure, Imu, JointState
from std_msgs.msg import Header, MultiArrayDimension, UInt16MultiArray

from marine_sim_ros.core.processes import RUN
from marine_sim_ros.core.state import NANOSECONDS

__all__ = [
    'JointNumbers',
    'JointTemplate',
    'MESSAGE_LAYOUTS',
    'MessageTemplate',
    'PwmTemplate',
    'STAMP_LABEL',
    'read_joints',
    'read_numbers',
    'read_pwm',
    'remove_tag',
    'run_tag',
    'tag_of',
]

try:
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None


BODY = 4
"""Bytes of the CDR header, before the fields."""
ORDERS = {b'\0\0': '>', b'\0\1': '<'}
"""Byte orders of struct by the first two bytes."""


class MessageLayout(NamedTuple):
    """Positions of the numbers in a message.

    Attributes:
        header: bytes of the fields before the header.
        strings: strings after the stamp.
        numbers: format (struct) of the numbers after the strings, aligned to 8 bytes.
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


MESSAGE_LAYOUTS: dict[Any, MessageLayout] = {
    Odometry: MessageLayout(0, 2, '7d288x6d288x'),
    WrenchStamped: MessageLayout(0, 1, '6d'),
    AccelStamped: MessageLayout(0, 1, '6d'),
    PoseStamped: MessageLayout(0, 1, '7d'),
    TwistStamped: MessageLayout(0, 1, '6d'),
    Imu: MessageLayout(0, 1, '4d72x3d72x3dd64x'),
    FluidPressure: MessageLayout(0, 1, 'd8x'),
    Header: MessageLayout(0, 1, ''),
    Clock: MessageLayout(0, 0, ''),
    Time: MessageLayout(0, 0, ''),
}
"""By message class. The bytes left out are covariances; the first number of that of an Imu's
acceleration is the last one here, as it says whether there is an acceleration (REP 145)."""
if TFMessage is not None:
    MESSAGE_LAYOUTS[TFMessage] = MessageLayout(4, 2, '7d')  # of one transform


def message_error(kind: Any, data: bytes) -> ValueError:
    """Return the error of bytes that are no message of a class."""
    return ValueError(
        f'{len(data)} bytes beginning with {bytes(data[:4]).hex()} are no {kind.__name__} in CDR; '
        'the message is dropped'
    )


def read_numbers(kind: Any, data: bytes) -> tuple[int, tuple[float, ...]]:
    """Return the stamp (ns) and the numbers of a serialised message.

    Args:
        kind: message class, of MESSAGE_LAYOUTS.
        data: message of any sender, with any names of frames, in either byte order.

    Raises:
        ValueError: the bytes are no such message.
    """
    layout = MESSAGE_LAYOUTS[kind]
    try:
        order = ORDERS[bytes(data[:2])]
        seconds, nanoseconds = struct.unpack_from(order + 'iI', data, layout.stamp())
        numbers = struct.unpack_from(order + layout.numbers, data, layout.offset(data, order))
    except (KeyError, struct.error):
        raise message_error(kind, data) from None
    return seconds * NANOSECONDS + nanoseconds, numbers


def run_tag() -> bytes:
    """Return the two bytes that mark messages of this run; empty: the run has no tag.

    They stand in the options of a serialised message, which readers of CDR ignore. The last two
    bits stay 0: with them XCDR2 counts padding.
    """
    text = os.environ.get(RUN, '')
    return (int(text) << 2 & 0xFFFC).to_bytes(2, 'big') if text.isdecimal() else b''


def tag_of(data: bytes) -> bytes:
    """Return the two bytes of a serialised message where a run has its tag."""
    return data[2:BODY]


def write_tag(data: bytearray) -> bytearray:
    """Write the tag of this run into a serialised message, and return it."""
    data[2:BODY] = run_tag() or bytes(2)
    return data


def remove_tag(data: bytes) -> bytes:
    """Return a serialised message without the tag of a run."""
    return data if data[2:BODY] == b'\0\0' else data[:2] + b'\0\0' + data[BODY:]


class MessageTemplate:
    """A serialised message whose stamp and numbers are written anew."""

    def __init__(self, message: Any) -> None:
        """Serialise a message of a class of MESSAGE_LAYOUTS; its strings stay as they are."""
        layout, data = (
            MESSAGE_LAYOUTS[type(message)],
            write_tag(bytearray(serialize_message(message))),
        )
        order = ORDERS[bytes(data[:2])]
        self._data, self._stamp, self._at = data, layout.stamp(), layout.offset(data, order)
        self._time, self._numbers = (
            struct.Struct(order + 'iI'),
            struct.Struct(order + layout.numbers),
        )

    def write(self, stamp: int, numbers: Sequence[float]) -> bytes:
        """Return the message with a stamp (ns) and numbers as :func:`read_numbers` has them.

        Covariances are zero.
        """
        self._time.pack_into(self._data, self._stamp, *divmod(stamp, NANOSECONDS))
        self._numbers.pack_into(self._data, self._at, *numbers)
        return bytes(self._data)


# Joint states and pulse widths in serialised bytes (CDR).

STAMP_LABEL = 'stamp'
"""Label of the dimension of pulse widths that holds a stamp: size is its seconds, stride its ns.
The type has no header, and readers of ``data`` alone ignore the layout."""

JointNumbers = tuple[Sequence[float], Sequence[float], Sequence[float]]
"""position, velocity and effort of a JointState."""


class _CdrCursor:
    """Cursor in CDR bytes that advances field by field.

    Raises:
        struct.error: the bytes end before a field does.
        KeyError: they do not begin as CDR does.
    """

    def __init__(self, data: bytes | bytearray) -> None:
        """Start before the first field."""
        self._data, self.order, self.at = data, ORDERS[bytes(data[:2])], BODY

    def unsigned(self) -> int:
        """Read an unsigned number of four bytes."""
        self.at += -self.at % 4
        (value,) = struct.unpack_from(self.order + 'I', self._data, self.at)
        self.at += 4
        return int(value)

    def text(self) -> bytes:
        """Read a string, without its closing zero."""
        size = self.unsigned()
        self.at += size
        return bytes(self._data[self.at - size : self.at - 1])

    def sequence(self, code: str) -> tuple[int, struct.Struct]:
        """Skip a sequence of numbers; return their offset and their layout."""
        count, size = self.unsigned(), struct.calcsize(code)
        if count:  # an empty one is not padded
            self.at += (BODY - self.at) % size
        start, self.at = self.at, self.at + count * size
        if self.at > len(self._data):
            raise struct.error
        return start, struct.Struct(f'{self.order}{count}{code}')


def _joint_sequences(cursor: _CdrCursor) -> list[tuple[int, struct.Struct]]:
    """Skip a JointState; return offset and layout of position, velocity and effort."""
    cursor.at += 8  # the stamp
    cursor.text()
    for _ in range(cursor.unsigned()):
        cursor.text()
    return [cursor.sequence('d') for _ in range(3)]


def read_joints(data: bytes) -> tuple[int, JointNumbers]:
    """Return the stamp (ns) of a serialised JointState, and position, velocity and effort.

    Raises:
        ValueError: the bytes are no such message.
    """
    try:
        cursor = _CdrCursor(data)
        seconds, nanoseconds = struct.unpack_from(cursor.order + 'iI', data, BODY)
        position, velocity, effort = (
            s.unpack_from(data, at) for at, s in _joint_sequences(cursor)
        )
    except (KeyError, struct.error):
        raise message_error(JointState, data) from None
    return seconds * NANOSECONDS + nanoseconds, (position, velocity, effort)


class JointTemplate:
    """A serialised JointState whose stamp and numbers are written anew."""

    def __init__(self, names: Sequence[str], numbers: JointNumbers) -> None:
        """Serialise a message with names, and as many numbers as each sequence has."""
        position, velocity, effort = (list(part) for part in numbers)
        message = JointState(name=names, position=position, velocity=velocity, effort=effort)
        self._data = write_tag(bytearray(serialize_message(message)))
        cursor = _CdrCursor(self._data)
        self._stamp, self._sequences = struct.Struct(cursor.order + 'iI'), _joint_sequences(cursor)
        del self._data[cursor.at :]  # of a sequence the serialiser overstates the size

    def write(self, stamp: int, numbers: JointNumbers) -> bytes:
        """Return the message with a stamp (ns) and as many numbers as before."""
        self._stamp.pack_into(self._data, BODY, *divmod(stamp, NANOSECONDS))
        for (at, layout), part in zip(self._sequences, numbers, strict=True):
            layout.pack_into(self._data, at, *part)
        return bytes(self._data)


def _read_dimensions(cursor: _CdrCursor, on_dimension: Callable[[bytes, int], Any]) -> None:
    """Skip the layout of a multi-array; call with label and offset of each dimension."""
    for _ in range(cursor.unsigned()):
        label = cursor.text()
        cursor.at += -cursor.at % 4
        on_dimension(label, cursor.at)
        cursor.at += 8
    cursor.unsigned()


def read_pwm(data: bytes) -> tuple[int | None, tuple[int, ...]]:
    """Return the stamp (ns) of the state that serialised pulse widths answer, and the widths, µs.

    The stamp is None where the layout has none.

    Raises:
        ValueError: the bytes are no UInt16MultiArray.
    """
    stamps: list[int] = []
    try:
        cursor = _CdrCursor(data)

        def note_label(label: bytes, at: int) -> None:
            if label == STAMP_LABEL.encode():
                seconds, nanoseconds = struct.unpack_from(cursor.order + 'II', data, at)
                stamps.append(seconds * NANOSECONDS + nanoseconds)

        _read_dimensions(cursor, note_label)
        at, layout = cursor.sequence('H')
        widths = layout.unpack_from(data, at)
    except (KeyError, struct.error):
        raise message_error(UInt16MultiArray, data) from None
    return next(iter(stamps), None), widths


class PwmTemplate:
    """Serialised pulse widths whose stamp and numbers are written anew."""

    def __init__(self, count: int) -> None:
        """Serialise a message with a stamp and so many widths."""
        message = UInt16MultiArray(data=[0] * count)
        message.layout.dim = [MultiArrayDimension(label=STAMP_LABEL)]
        self._data = write_tag(bytearray(serialize_message(message)))
        cursor = _CdrCursor(self._data)
        offsets: list[int] = []
        _read_dimensions(cursor, lambda _, at: offsets.append(at))
        self._stamp, (self._stamp_at,) = struct.Struct(cursor.order + 'II'), offsets
        self._at, self._widths = cursor.sequence('H')
        del self._data[cursor.at :]  # of a sequence the serialiser overstates the size

    def write(self, stamp: int, widths: Sequence[int]) -> bytes:
        """Return the message that answers the state of a stamp (ns) with widths in µs."""
        self._stamp.pack_into(self._data, self._stamp_at, *divmod(stamp, NANOSECONDS))
        self._widths.pack_into(self._data, self._at, *widths)
        return bytes(self._data)
