# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Events of a run that people cause: faults, changes of the water, pauses, notes and messages."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from marine_sim_ros.console.requests import Request
from marine_sim_ros.faults.fault_types import Fault, fault_type_name

__all__ = ['EVENT_KINDS', 'event_text', 'parse_event', 'run_event']

EVENT_KINDS = (
    'note', 'message', 'report', 'fault', 'mend', 'current', 'environment', 'pause', 'reset',
)  # fmt: skip
"""Kinds of requests that are recorded as events."""
_MAX_LENGTH = 1000


def event_text(request: Request) -> str:
    """Return a request of one of ``EVENT_KINDS`` in words."""
    value = request.value
    if isinstance(value, Fault):
        return _fault_text(value)
    if request.kind == 'mend':
        return ' '.join(part for part in value if part) + ' ends' if value[0] else 'all faults end'
    if request.kind == 'current':
        return 'current east {:g}, north {:g}, up {:g} m/s'.format(*value)
    if request.kind == 'pause':
        return 'pause' if value else 'the run goes on'
    if request.kind == 'environment':
        changes = json.loads(value)
        return ', '.join(f'{part} {_plain(content)}' for part, content in changes.items())
    return 'reset' if value is None else str(value)


def _fault_text(fault: Fault) -> str:
    """Return kind, thruster or sensor, and numbers of a fault."""
    values = {n: v for n, v in asdict(fault).items() if n not in ('start', 'end')}
    names = [v for v in values.values() if isinstance(v, str)]
    numbers = [
        f'{name} {value:g}'
        for name, value in values.items()
        if isinstance(value, (int, float)) and math.isfinite(value)
    ]
    return ' '.join([fault_type_name(fault), *names]) + ''.join(f', {n}' for n in numbers)


def _plain(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False)
    return text.translate(str.maketrans('', '', '{}[]"'))


def run_event(request: Request, by: str, time: float) -> dict[str, Any]:
    """Return a request as an event; JSON.

    Args:
        request: of one of ``EVENT_KINDS``.
        by: ``pilot`` or ``instructor``.
        time: time of the run, s.
    """
    text = event_text(request)[:_MAX_LENGTH]
    return {'time': time, 'by': by, 'kind': request.kind, 'text': text}


def parse_event(text: str) -> dict[str, Any] | None:
    """Return a recorded event; None of a text that is none, as of another program."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, Mapping) or found.get('kind') not in EVENT_KINDS:
        return None
    time, by, words = (found.get(name) for name in ('time', 'by', 'text'))
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not math.isfinite(time):
        return None
    if by not in ('pilot', 'instructor') or not isinstance(words, str):
        return None
    return {'time': float(time), 'by': by, 'kind': found['kind'], 'text': words[:_MAX_LENGTH]}
