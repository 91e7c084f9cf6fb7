# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mission files of ground stations: QGroundControl's .plan, and .waypoints (QGC WPL 110)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from marine_sim_ros.autopilot.mavlink.mission import MAX_ITEMS, MissionItem, item_fault
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home, read_text_file

__all__ = ['parse_mission', 'read_mission']

HEADER = 'QGC WPL 110'
LARGEST_FILE = 5_000_000
"""Bytes."""
COLUMNS = 12
NESTED = 'TransectStyleComplexItem'
JUMP = 177


def read_mission(path: str) -> tuple[MissionItem, ...]:
    """Return the items of a mission file, of which the first is home.

    Raises:
        ParameterError: one line with what is wrong, where, and what was expected.
    """
    text = read_text_file(expand_home(path), ParameterError, LARGEST_FILE, mark=True)
    return parse_mission(text, path)


def parse_mission(text: str, where: str) -> tuple[MissionItem, ...]:
    """Return the items of the text of a mission file; ``where`` names it.

    Raises:
        ParameterError: one line with what is wrong, where, and what was expected.
    """
    start = text.lstrip()
    if start.startswith('{'):
        found = list(_plan(text, where))
    elif start.startswith('QGC WPL'):
        found = list(_waypoints(text, where))
    else:
        raise ParameterError(
            f'{where}: no mission; expected a .plan of QGroundControl (JSON), or a .waypoints '
            f'file that begins with {HEADER!r}'
        )
    if not 1 < len(found) <= MAX_ITEMS:
        raise ParameterError(
            f'{where}: {len(found) - 1} items; expected 1 to {MAX_ITEMS - 1} besides home'
        )
    items = tuple(item for _, item in found)
    for index, (place, item) in enumerate(found):
        _, reason = item_fault(index, len(items), item)
        if reason:
            raise ParameterError(f'{where}: {place}: {reason}')
    return items


Placed = tuple[str, MissionItem]
"""Position of an item in its file, and the item."""


def _waypoints(text: str, where: str) -> Iterator[Placed]:
    lines = text.lstrip().splitlines()
    if lines[0].strip() != HEADER:
        raise ParameterError(f'{where}: line 1 is {lines[0].strip()!r}; expected {HEADER!r}')
    count = 0
    for number, line in enumerate(lines[1:], 2):
        if not line.strip() or line.lstrip().startswith('#'):
            continue
        words = line.split()
        place = f'line {number}'
        if len(words) != COLUMNS:
            raise ParameterError(
                f'{where}: {place}: {len(words)} columns; expected {COLUMNS}: index, current, '
                'frame, command, four parameters, latitude, longitude, altitude, autocontinue'
            )
        numbers = [
            _number(word, f'{where}: {place}: column {k}') for k, word in enumerate(words, 1)
        ]
        if numbers[0] != count:
            raise ParameterError(f'{where}: {place}: index {words[0]}; expected {count}')
        count += 1
        yield place, _item(numbers[3], numbers[2], numbers[4:11], f'{where}: {place}')


def _number(word: object, place: str) -> float:
    if isinstance(word, bool) or not isinstance(word, str | int | float):
        raise ParameterError(f'{place} is {word!r:.40}; expected a number')
    try:
        return float(word)
    except (ValueError, OverflowError):
        raise ParameterError(f'{place} is {word!r:.40}; expected a number') from None


def _item(command: float, frame: float, numbers: list[float], place: str) -> MissionItem:
    for name, value in (('command', command), ('frame', frame)):
        if not 0 <= value <= 65535 or value != int(value):
            raise ParameterError(f'{place}: {name} is {value:g}; expected a whole number')
    a, b, c, d, latitude, longitude, altitude = numbers
    return MissionItem(int(command), int(frame), (a, b, c, d), latitude, longitude, altitude)


def _plan(text: str, where: str) -> Iterator[Placed]:
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError) as error:  # also of a number of more than 4300 digits
        line = getattr(error, 'lineno', 1)
        odd = 'nested too deeply, or a number too long'
        reason = getattr(error, 'msg', odd)
        raise ParameterError(f'{where}: line {line}: {reason}; expected JSON') from None
    mission = plan.get('mission')
    if plan.get('fileType') != 'Plan' or not isinstance(mission, dict):
        raise ParameterError(f"{where}: expected 'fileType': 'Plan' and a 'mission'")
    _refuse_fences(plan, where)
    home = _numbers(mission.get('plannedHomePosition', [0, 0, 0]), 3, f'{where}: mission: '
                    'plannedHomePosition')  # fmt: skip
    yield 'plannedHomePosition', MissionItem(16, 0, (0.0, 0.0, 0.0, 0.0), *home)
    simple = list(_simple_items(mission.get('items'), f'{where}: mission'))
    named = ((item.get('doJumpId'), k) for k, (_, item) in enumerate(simple, 1))
    sequence = {name: k for name, k in named if isinstance(name, int | float)}
    for place, item in simple:
        values = _numbers(item.get('params'), 7, f'{place}: params')
        command = _number(item.get('command'), f'{place}: command')
        frame = _number(item.get('frame', 3), f'{place}: frame')
        if command == JUMP:  # by the identity of an item, which need not be its number
            values[0] = float(sequence.get(values[0], values[0]))
        yield place.removeprefix(f'{where}: '), _item(command, frame, values, place)


def _refuse_fences(plan: dict[str, Any], where: str) -> None:
    """Refuse what would be flown without its fence, and no word said."""
    fence = plan.get('geoFence')
    if isinstance(fence, dict) and (fence.get('polygons') or fence.get('circles')):
        raise ParameterError(f'{where}: geoFence is not simulated; expected a plan without one')
    rally = plan.get('rallyPoints')
    if isinstance(rally, dict) and rally.get('points'):
        raise ParameterError(
            f'{where}: rallyPoints are not simulated; expected a plan without any'
        )


def _simple_items(items: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the items to fly, those of a survey too, each with its place."""
    if not isinstance(items, list):
        raise ParameterError(f'{place}: items is {items!r:.40}; expected a list')
    for k, item in enumerate(items):
        here = f'{place}: items[{k}]'
        kind = item.get('type') if isinstance(item, dict) else None
        if kind == 'SimpleItem':
            yield here, item
        elif kind == 'ComplexItem' and isinstance(item.get(NESTED), dict):
            yield from _simple_items(item[NESTED].get('Items'), f'{here}: {NESTED}')
        else:
            name = item.get('complexItemType', kind) if isinstance(item, dict) else item
            raise ParameterError(
                f'{here} is {name!r:.40}; expected a SimpleItem, or a survey or corridor scan'
            )


def _numbers(values: Any, count: int, place: str) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        raise ParameterError(f'{place} is {values!r:.60}; expected {count} numbers')
    return [math.nan if v is None else _number(v, place) for v in values]
