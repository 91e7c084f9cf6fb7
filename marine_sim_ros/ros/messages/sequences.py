# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads and writes joint states and pulse widths in their serialised bytes (CDR: codecs.py)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import MultiArrayDimension, UInt16MultiArray

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.ros.messages.codecs import BODY, ORDERS, not_a_message, tagged

__all__ = ['STAMP', 'JointNumbers', 'JointTemplate', 'PwmTemplate', 'read_joints', 'read_pwm']

STAMP = 'stamp'
"""Label of the dimension of pulse widths that holds a stamp: size is its seconds, stride its ns.
The type has no header, and readers that only take ``data`` need not know."""

JointNumbers = tuple[Sequence[float], Sequence[float], Sequence[float]]
"""position, velocity and effort of a JointState."""


class _Walk:
    """A place in serialised bytes that moves ahead field by field.

    Raises:
        struct.error: the bytes end before a field does.
        KeyError: they do not begin as CDR does.
    """

    def __init__(self, data: bytes | bytearray) -> None:
        """Start before the first field."""
        self._data, self.order, self.at = data, ORDERS[bytes(data[:2])], BODY

    def unsigned(self) -> int:
        """Pass a number of four bytes and return it."""
        self.at += -self.at % 4
        (value,) = struct.unpack_from(self.order + 'I', self._data, self.at)
        self.at += 4
        return int(value)

    def text(self) -> bytes:
        """Pass a string and return it, without its closing zero."""
        size = self.unsigned()
        self.at += size
        return bytes(self._data[self.at - size : self.at - 1])

    def sequence(self, code: str) -> tuple[int, struct.Struct]:
        """Pass a sequence of numbers; return where they are, and their layout."""
        count, size = self.unsigned(), struct.calcsize(code)
        if count:  # an empty one is not padded
            self.at += (BODY - self.at) % size
        start, self.at = self.at, self.at + count * size
        if self.at > len(self._data):
            raise struct.error
        return start, struct.Struct(f'{self.order}{count}{code}')


def _joint_sequences(walk: _Walk) -> list[tuple[int, struct.Struct]]:
    """Pass a JointState; return position, velocity and effort."""
    walk.at += 8  # the stamp
    walk.text()
    for _ in range(walk.unsigned()):
        walk.text()
    return [walk.sequence('d') for _ in range(3)]


def read_joints(data: bytes) -> tuple[int, JointNumbers]:
    """Return the stamp (ns) of a serialised JointState, and position, velocity and effort.

    Raises:
        ValueError: the bytes are no such message.
    """
    try:
        walk = _Walk(data)
        seconds, rest = struct.unpack_from(walk.order + 'iI', data, BODY)
        position, velocity, effort = (s.unpack_from(data, at) for at, s in _joint_sequences(walk))
    except (KeyError, struct.error):
        raise not_a_message(JointState, data) from None
    return seconds * NANOSECONDS + rest, (position, velocity, effort)


class JointTemplate:
    """A serialised JointState whose stamp and numbers are written anew."""

    def __init__(self, names: Sequence[str], numbers: JointNumbers) -> None:
        """Serialise a message with names, and as many numbers as each sequence has."""
        position, velocity, effort = (list(part) for part in numbers)
        message = JointState(name=names, position=position, velocity=velocity, effort=effort)
        self._data = tagged(bytearray(serialize_message(message)))
        walk = _Walk(self._data)
        self._stamp, self._sequences = struct.Struct(walk.order + 'iI'), _joint_sequences(walk)
        del self._data[walk.at :]  # of a sequence the serialiser overstates the size

    def write(self, stamp: int, numbers: JointNumbers) -> bytes:
        """Return the message with a stamp (ns) and as many numbers as before."""
        self._stamp.pack_into(self._data, BODY, *divmod(stamp, NANOSECONDS))
        for (at, layout), part in zip(self._sequences, numbers, strict=True):
            layout.pack_into(self._data, at, *part)
        return bytes(self._data)


def _pass_dimensions(walk: _Walk, found: Callable[[bytes, int], Any]) -> None:
    """Pass the layout of a multi-array; call with the label and the place of each dimension."""
    for _ in range(walk.unsigned()):
        label = walk.text()
        walk.at += -walk.at % 4
        found(label, walk.at)
        walk.at += 8
    walk.unsigned()


def read_pwm(data: bytes) -> tuple[int | None, tuple[int, ...]]:
    """Return the stamp (ns) of the state that serialised pulse widths answer, and the widths, µs.

    The stamp is None where they do not say.

    Raises:
        ValueError: the bytes are no UInt16MultiArray.
    """
    stamps: list[int] = []
    try:
        walk = _Walk(data)

        def found(label: bytes, at: int) -> None:
            if label == STAMP.encode():
                seconds, rest = struct.unpack_from(walk.order + 'II', data, at)
                stamps.append(seconds * NANOSECONDS + rest)

        _pass_dimensions(walk, found)
        at, layout = walk.sequence('H')
        widths = layout.unpack_from(data, at)
    except (KeyError, struct.error):
        raise not_a_message(UInt16MultiArray, data) from None
    return next(iter(stamps), None), widths


class PwmTemplate:
    """Serialised pulse widths whose stamp and numbers are written anew."""

    def __init__(self, count: int) -> None:
        """Serialise a message with a stamp and so many widths."""
        message = UInt16MultiArray(data=[0] * count)
        message.layout.dim = [MultiArrayDimension(label=STAMP)]
        self._data = tagged(bytearray(serialize_message(message)))
        walk = _Walk(self._data)
        places: list[int] = []
        _pass_dimensions(walk, lambda _, at: places.append(at))
        self._stamp, (self._stamp_at,) = struct.Struct(walk.order + 'II'), places
        self._at, self._widths = walk.sequence('H')
        del self._data[walk.at :]  # of a sequence the serialiser overstates the size

    def write(self, stamp: int, widths: Sequence[int]) -> bytes:
        """Return the message that answers the state of a stamp (ns) with widths in µs."""
        self._stamp.pack_into(self._data, self._stamp_at, *divmod(stamp, NANOSECONDS))
        self._widths.pack_into(self._data, self._at, *widths)
        return bytes(self._data)
