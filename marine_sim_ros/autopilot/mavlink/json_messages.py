# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MAVLink messages as JSON, as mavlink2rest writes and reads them.

A value of an enum is ``{"type": NAME}``, one of flags is ``{"bits": number}``; characters are a
list of strings, a float that is not finite is null, and the field ``type`` is ``mavtype``.

Source: mavlink/mavlink2rest, commit 237c889 (src/data.rs, README.md), with rust-mavlink 0.16, and
patrickelectric/mavlink2rest-ts, commit 474e388 (messages/mavlink2rest-message.ts).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from marine_sim_ros.core.errors import expected_one_of

__all__ = ['json_of_message', 'message_from_json']

_RENAMED = {'type': 'mavtype'}


def json_of_message(message: Any, dialect: Any) -> dict[str, Any]:
    """Return header and fields of a message of pymavlink.

    Args:
        dialect: module of its dialect.
    """
    fields: dict[str, Any] = {'type': message.get_type()}
    kind: Any = type(message)
    for field in _fields(kind, dialect):
        value = getattr(message, field.name)
        if isinstance(value, str | bytes):
            text = value.decode('latin-1') if isinstance(value, bytes) else value
            value = list(text.ljust(field.length, '\0'))
        elif field.enum is not None:
            value = _json_of_value(value, field)
        elif isinstance(value, float) and not math.isfinite(value):
            value = None
        elif isinstance(value, list | tuple):
            value = [_json_of_value(v, field) for v in value]
        fields[field.key] = value
    return {
        'header': {
            'system_id': message.get_srcSystem(),
            'component_id': message.get_srcComponent(),
            'sequence': message.get_seq(),
        },
        'message': fields,
    }


class _Field(NamedTuple):
    """A field, its key in JSON, its length (0: a number), and what its numbers stand for."""

    name: str
    key: str
    length: int
    enum: Mapping[int, Any] | None
    is_flags: bool


@cache
def _fields(kind: Any, dialect: Any) -> tuple[_Field, ...]:
    """Return the fields of a class of messages."""
    return tuple(
        _Field(
            name,
            _RENAMED.get(name, name),
            length,
            dialect.enums[kind.fieldenums_by_name[name]]
            if name in kind.fieldenums_by_name
            else None,
            kind.fielddisplays_by_name.get(name) == 'bitmask',
        )
        for name, length in zip(kind.fieldnames, _lengths(kind), strict=True)
    )


def _json_of_value(value: Any, field: _Field) -> Any:
    """Return a number, a constant of an enum, flags, or a list of them."""
    if isinstance(value, list | tuple):
        return [_json_of_value(v, field) for v in value]
    if field.enum is not None and field.is_flags:
        return {'bits': value}
    if field.enum is not None and value in field.enum:
        return {'type': field.enum[value].name}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lengths(kind: Any) -> list[int]:
    """Return the number of characters or elements of each field, 0 of a number."""
    by_order = dict(zip(kind.ordered_fieldnames, kind.array_lengths, strict=True))
    return [by_order[name] for name in kind.fieldnames]


@cache
def _kinds(dialect: Any) -> dict[str, Any]:
    """Return the classes of messages by name."""
    return {kind.msgname: kind for kind in dialect.mavlink_map.values()}


def message_from_json(data: Any, dialect: Any) -> tuple[Any, int, int]:
    """Return a message of pymavlink, and system and component of its sender.

    A field that is missing is 0, or empty.

    Raises:
        ValueError: no such message, or a field that cannot be one.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get('message'), Mapping):
        raise ValueError('expected {"header": {...}, "message": {"type": NAME, ...}}')
    header, fields = data.get('header', {}), data['message']
    name = fields.get('type')
    if not isinstance(name, str) or name not in _kinds(dialect):
        known = sorted(_kinds(dialect))
        raise ValueError(f'message {name!r:.60} is unknown; {expected_one_of(str(name), known)}')
    kind = _kinds(dialect)[name]
    values = []
    for field, base, length in zip(kind.fieldnames, _types(kind), _lengths(kind), strict=True):
        given = fields.get(_RENAMED.get(field, field))
        try:
            values.append(_value(given, base, length, dialect))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f'{name}: {field}: {error}') from None
    system, component = (
        header.get(n, 0) if isinstance(header, Mapping) else 0
        for n in ('system_id', 'component_id')
    )
    for number in (system, component):
        if not isinstance(number, int) or not 0 <= number <= 255:
            raise ValueError(f'header has {number!r:.60}; expected 0 to 255')
    return kind(*values), system, component


@cache
def _types(kind: Any) -> list[str]:
    """Return the type of each field, as in the dialect."""
    return list(kind.fieldtypes)


def _value(given: Any, base: str, length: int, dialect: Any) -> Any:
    """Return the value of a field.

    Args:
        given: as in JSON; None where it is missing.
        base: type of the field, such as ``char`` or ``uint8_t``.
        length: number of elements, 0 of a number.
        dialect: module with the constants of enums.
    """
    if base == 'char' and length:
        text = ''.join(map(str, given)) if isinstance(given, list) else str(given or '')
        return text.rstrip('\0').encode('utf-8', 'replace')[:length]
    if length:
        elements = list(given or [])[:length]
        return [_number(e, base, dialect) for e in elements + [0] * (length - len(elements))]
    return _number(given, base, dialect)


def _number(given: Any, base: str, dialect: Any) -> float:
    """Return a number: itself, ``{"bits": n}``, or the constants of ``{"type": "A | B"}``."""
    is_float = base in ('float', 'double')
    if isinstance(given, Mapping):
        given = given.get('bits', given.get('type'))
    if given is None:
        return math.nan if is_float else 0
    if isinstance(given, str):
        total = 0
        for name in filter(None, map(str.strip, given.split('|'))):
            constant = getattr(dialect, name, None) if name.isupper() else None
            if not isinstance(constant, int):
                raise ValueError(f'{name!r:.60} is no constant of MAVLink')
            total |= constant
        return total
    if not isinstance(given, int | float):
        raise ValueError(f'{given!r:.60} is no number')
    if is_float:
        return float(given)
    bits = int(re.sub(r'\D', '', base) or 8)
    low, high = (0, 2**bits) if base.startswith('u') else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    if not low <= int(given) < high:
        raise ValueError(f'{given:g} is not {low} to {high - 1}')
    return int(given)
