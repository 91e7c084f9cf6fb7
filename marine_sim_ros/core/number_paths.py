# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of nested records by their paths: ``damping.linear[0,0]``, ``thrusters.lag[0:4]``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from marine_sim_ros.core.errors import ParameterError, expected_one_of

__all__ = ['number_at', 'replace_number']

_AXIS = r' *(?:\d+|\d*:\d*) *'
_PART = re.compile(rf'(\w+)(?:\[({_AXIS}(?:,{_AXIS})*)\])?', re.ASCII)

_Index: TypeAlias = tuple[int | slice | None, ...]


def _index_of(text: str) -> _Index:
    """Return the index written as ``2``, ``0:4`` or ``0,0``."""
    axes = [[int(end) if end.strip() else None for end in a.split(':')] for a in text.split(',')]
    return tuple(axis[0] if len(axis) == 1 else slice(*axis) for axis in axes)


def _named_values(record: Any) -> Mapping[str, Any]:
    if isinstance(record, dict):
        return record
    if not is_dataclass(record):
        return {}
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return {name: value for name, value in values.items() if value is not None}


def _walk(record: Any, path: str, name: str) -> tuple[list[tuple[Any, str]], Any, _Index | None]:
    """Return records and fields from the outermost, the last value, and the index in it."""
    steps, index = [], None
    for part in path.split('.'):
        match, values = _PART.fullmatch(part), _named_values(record)
        if match is None or match[1] not in values or index is not None:
            names = () if index is not None else sorted(values)
            raise ParameterError(f'{name}: {part!r} is unknown; {expected_one_of(part, names)}')
        steps.append((record, match[1]))
        record, index = values[match[1]], _index_of(match[2]) if match[2] else None
    return steps, record, index


def _select(value: Any, index: _Index | None, name: str) -> Any:
    """Return the number, or the numbers of an array, that an index selects."""
    if index is None:
        is_number = isinstance(value, float | int) and not isinstance(value, bool)
        if not is_number and (isinstance(value, bool) or getattr(value, 'ndim', None) != 0):
            raise ParameterError(f'{name} is no single number; expected an index, as in {name}[0]')
        return value
    try:
        array = value if hasattr(value, 'ndim') else np.asarray(value, float)
    except (TypeError, ValueError):
        raise ParameterError(f'{name} has no numbers; expected an array of numbers') from None
    try:
        count = np.broadcast_to(0, array.shape)[index].size
    except IndexError:
        count = 0
    if not count or len(index) != array.ndim:
        raise ParameterError(f'{name} is outside of shape {array.shape}; expected an index in it')
    return array[index]


def number_at(record: Any, path: str) -> float:
    """Return the number at a path, or the first one of a range.

    Args:
        record: a dataclass or a dict, with others in it.
        path: fields with dots between; at the end an index where there is an array.

    Raises:
        ParameterError: it leads to no number.
    """
    _, value, index = _walk(record, path, path)
    return float(np.ravel(_select(value, index, path))[0])


def replace_number(
    record: Any, path: str, change: Callable[[Any], Any], *, name: str = '', xp: Any = np
) -> Any:
    """Return a record with the number, or the range of numbers, at a path changed.

    Args:
        record: a dataclass or a dict, with others in it.
        path: path of :func:`number_at`.
        change: function from the old numbers to the new ones.
        name: name of the path in errors; default: the path.
        xp: ``numpy`` or ``jax.numpy``; new numbers may be traced by the latter.

    Raises:
        ParameterError: it leads to no number.
    """
    name = name or path
    steps, old, index = _walk(record, path, name)
    new = change(_select(old, index, name))
    if index is not None and xp is np:
        array = np.array(old, float)
        array[index] = new
        new = tuple(array.tolist()) if isinstance(old, tuple) else array
    elif index is not None:
        new = xp.asarray(old).at[index].set(new)
    for outer, field in reversed(steps):
        new = {**outer, field: new} if isinstance(outer, dict) else replace(outer, **{field: new})
    return new
