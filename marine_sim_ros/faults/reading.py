# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults as a list in YAML: of a scenario's file, and of a live parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import yaml

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml, shown
from marine_sim_ros.faults.kinds import (
    KINDS,
    Fault,
    Gust,
    Number,
    SensorFault,
    ThrusterFault,
    kind_of,
    numbers_of,
)

__all__ = ['fault_text', 'parse_faults', 'read_fault']

LATEST = 1e9
"""s"""


def _names_of(kind: type[Fault]) -> tuple[str, ...]:
    """Return the fields of a kind that are names: whose it is first, then what may be left out."""
    if issubclass(kind, ThrusterFault):
        return ('thruster',)
    if not issubclass(kind, SensorFault):
        return ()
    return ('sensor', 'quantity') if hasattr(kind, 'quantity') else ('sensor',)


def _read_number(item: YamlReader, name: str, known: Number) -> float:
    if name not in item.value:
        return known.default
    return item.child(name).number(known.low, known.high)


def _read_end(item: YamlReader, start: float) -> float:
    if 'until' not in item.value:
        return math.inf
    end = item.child('until').number(0.0, LATEST)
    if end <= start:
        raise item.error(f': until is {end:g} and it begins at {start:g}; expected a later end')
    return end


def read_fault(item: YamlReader, now: float = 0.0) -> Fault:
    """Return a fault of a mapping; it begins now, in s, where it does not say when.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    if not isinstance(item.value, dict):
        raise item.error(f' is {shown(item.value)}; expected a mapping with kind, at and until')
    kind = KINDS[item.child('kind', 'dead').choice(tuple(KINDS))]
    numbers = numbers_of(kind)
    names = _names_of(kind)
    ends = set() if kind is Gust else {'until'}
    item.mapping({'kind', 'at'} | ends | set(names) | set(numbers), set(names[:1]))
    start = item.child('at', now).number(0.0, LATEST)
    values: dict[str, Any] = {n: _read_number(item, n, known) for n, known in numbers.items()}
    values |= {name: str(item.value[name]) for name in names if name in item.value}
    return kind(start=start, end=_read_end(item, start), **values)


def parse_faults(text: str, now: float = 0.0) -> tuple[Fault, ...]:
    """Return the faults of a YAML text; an empty one has none.

    Args:
        text: a list of mappings.
        now: start of faults that give none, s.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    content = parse_yaml(text, 'faults', ParameterError)
    items = YamlReader('faults', [] if content is None else content, ParameterError).items()
    return tuple(read_fault(item, now) for item in items)


def fault_text(faults: Sequence[Fault]) -> str:
    """Return faults as one line of YAML that :func:`parse_faults` reads."""
    if not faults:
        return ''
    mappings = [_mapping(fault) for fault in faults]
    return yaml.safe_dump(mappings, default_flow_style=True, sort_keys=False, width=10**9).strip()


def _mapping(fault: Fault) -> dict[str, Any]:
    result: dict[str, Any] = {'kind': kind_of(fault), 'at': fault.start}
    if fault.end < math.inf:
        result['until'] = fault.end
    names = {name: getattr(fault, name) for name in _names_of(type(fault))}
    result |= {name: text for name, text in names.items() if text}
    numbers = {name: getattr(fault, name) for name in numbers_of(type(fault))}
    return result | {n: value for n, value in numbers.items() if not math.isnan(value)}
