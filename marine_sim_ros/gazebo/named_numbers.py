# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Named arrays in one gz.msgs.Bytes message, written and read.

``data`` of the message is a row of little-endian doubles; ``data`` of its header has one entry,
``marine_sim``, a JSON text: ``numbers``, a list of name and shape in the order of the row, and
further entries. Every message carries the names, so a reader needs no earlier message; names
change seldom, so writer and reader process them once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import MarineSimError

__all__ = ['MESSAGE_TYPE', 'NumberReader', 'NumberWriter', 'named_arrays', 'rebuild_tree']

MESSAGE_TYPE = 'gz.msgs.Bytes'
_KEY = b'marine_sim'
_BYTES = 2
"""Protobuf's wire type of what has a length; all fields here have one."""


def _varint(number: int) -> bytes:
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while raw[at] & 0x80:
        number |= (raw[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | raw[at] << shift, at + 1


def _fields(raw: bytes) -> dict[int, tuple[int, int]]:
    """Return start and end of the content of each field of a message, by field number.

    Fields that have no length, such as the seconds of a stamp, are passed over.

    Raises:
        ValueError: no message, or one cut off.
    """
    fields, at = {}, 0
    try:
        while at < len(raw):
            tag, at = _read_varint(raw, at)
            length, at = _read_varint(raw, at)
            if tag & 7 == _BYTES:
                fields[tag >> 3] = at, at + length
                at += length
            elif tag & 7 != 0:
                raise ValueError(f'wire type {tag & 7}')
    except IndexError:
        raise ValueError('cut off') from None
    if at > len(raw):
        raise ValueError('cut off')
    return fields


class NumberWriter:
    """Writes rows of numbers with the same names."""

    def __init__(self, names: Sequence[tuple[str, Sequence[int]]], **extras: Any) -> None:
        """Take names and shapes in the order of a row, and what else is to be told, JSON."""
        self.size = sum(math.prod(shape) for _, shape in names)
        text = json.dumps({'numbers': [[n, list(s)] for n, s in names], **extras}).encode()
        entry = _field(1, _KEY) + _field(2, text)
        self._prefix = _field(1, _field(2, entry)) + _varint(2 << 3 | _BYTES)
        self._prefix += _varint(8 * self.size)

    def write(self, *rows: np.ndarray) -> bytes:
        """Return the message of rows that lie one behind the other."""
        return b''.join((self._prefix, *(row.tobytes() for row in rows)))


class NumberReader:
    """Reads messages of a :class:`NumberWriter`.

    Attributes:
        more: what the last message told beside numbers.
    """

    def __init__(self) -> None:
        """Know no names yet."""
        self._prefix = b'no message'
        self._slices: list[tuple[str, int, int, tuple[int, ...]]] = []
        self._size = 0
        self.extras: Mapping[str, Any] = {}

    def read(self, raw: bytes) -> dict[str, np.ndarray]:
        """Return arrays by their names.

        Raises:
            MarineSimError: no such message.
        """
        if len(raw) != len(self._prefix) + 8 * self._size or not raw.startswith(self._prefix):
            try:
                self._take_names(raw)
            except (ValueError, KeyError, TypeError) as error:
                raise MarineSimError(
                    f'a message that is no {MESSAGE_TYPE} with the names of its numbers '
                    f'({type(error).__name__}: {error}); is one of another version there?'
                ) from None
        row = np.frombuffer(raw, '<f8', self._size, len(self._prefix))
        return {name: row[a:b].reshape(shape) for name, a, b, shape in self._slices}

    def _take_names(self, raw: bytes) -> None:
        parts = _fields(raw)
        header, (start, end) = raw[slice(*parts[1])], parts[2]
        entry = header[slice(*_fields(header)[2])]
        text = entry[slice(*_fields(entry)[2])]
        told = json.loads(text)
        slices, at = [], 0
        for name, shape in told.pop('numbers'):
            slices.append((name, at, at := at + math.prod(shape), tuple(shape)))
        if end - start != 8 * at or end != len(raw):
            raise ValueError(f'{end - start} bytes for {at} numbers')
        self._prefix, self._slices, self._size = raw[:start], slices, at
        self.extras = told


def named_arrays(tree: Any, prefix: str = '') -> dict[str, np.ndarray]:
    """Return the arrays of tuples with names and of dictionaries, by names such as ``a.b``.

    What is None has no name; keys of dictionaries come in their order, as in a tree of JAX.
    """
    if tree is None:
        return {}
    if isinstance(tree, dict):
        members = [(key, tree[key]) for key in sorted(tree)]
    elif hasattr(tree, '_fields'):
        members = list(zip(tree._fields, tree, strict=True))
    else:
        return {prefix: np.asarray(tree, float)}
    arrays: dict[str, np.ndarray] = {}
    for name, member in members:
        arrays |= named_arrays(member, f'{prefix}.{name}' if prefix else name)
    return arrays


def rebuild_tree(like: Any, numbers: Mapping[str, np.ndarray], prefix: str) -> Any:
    """Return a tree of the same tuples and dictionaries with the arrays of :func:`named_arrays`.

    What has no numbers is None, also where the other tree has some.
    """
    if isinstance(like, dict):
        return {key: rebuild_tree(like[key], numbers, f'{prefix}.{key}') for key in like}
    if hasattr(like, '_fields'):
        members = zip(like._fields, like, strict=True)
        return type(like)(*(rebuild_tree(x, numbers, f'{prefix}.{name}') for name, x in members))
    return numbers.get(prefix)
