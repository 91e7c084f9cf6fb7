# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of a vehicle's log (.csv) as bags: time, depth, angles, position, pulse widths.

A table becomes the topics ``log/odom``, ``thrusters/pwm``, ``barometer/pressure``,
``barometer/temperature`` and ``autopilot/battery``.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marine_sim_ros.autopilot.conventions import enu, flu, flu_quaternion
from marine_sim_ros.bags.ardupilot_logs import (
    TimedRow,
    body_velocity,
    interpolate_samples,
    reader_of_rows,
)
from marine_sim_ros.bags.storage import BagReader
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.files import read_file
from marine_sim_ros.core.geodesy import TangentPlane
from marine_sim_ros.core.spatial import body_rates, continuous_quaternions
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.text import cell_number, header_and_unit
from marine_sim_ros.core.yaml_file import short_text

__all__ = ['CSV_SUFFIX', 'open_csv_log']

CSV_SUFFIX = '.csv'
_VEHICLE = 'log'
_MAX_BYTES = 60_000_000
"""Bytes of a table; its rows take thirty times as much memory."""
_SLOPE = 0.25
"""s before and after a sample, over which a speed is the slope of a straight line."""
_PULSES = (800.0, 2200.0)
"""µs."""
_TURN = 2 * math.pi


class _Column(NamedTuple):
    """Names of a quantity's column and factors of its units; the first unit is the default.

    Without a default the unit has to be in the header.
    """

    names: tuple[str, ...]
    units: Mapping[str, float]
    has_default: bool = True


_METRES = {'m': 1.0, 'cm': 0.01, 'ft': 0.3048}
_ANGLES = {'rad': 1.0, 'deg': math.pi / 180, '°': math.pi / 180, 'degrees': math.pi / 180}
_QUANTITIES = {
    'time': _Column(
        ('t', 'time', 'timestamp', 'stamp', 'elapsed', 'elapsed time', 'seconds', 'datetime'),
        {'s': 1.0, 'sec': 1.0, 'ms': 1e-3, 'us': 1e-6, 'µs': 1e-6, 'ns': 1e-9},
    ),
    'depth': _Column(('depth', 'water depth', 'depth below surface'), _METRES),
    'height': _Column(('height', 'height above surface', 'z up'), _METRES),
    'roll': _Column(('roll',), _ANGLES, has_default=False),
    'pitch': _Column(('pitch',), _ANGLES, has_default=False),
    'yaw': _Column(('yaw', 'heading', 'compass', 'hdg'), _ANGLES, has_default=False),
    'north': _Column(('north', 'northing', 'position north'), _METRES),
    'east': _Column(('east', 'easting', 'position east'), _METRES),
    'latitude': _Column(('latitude', 'lat'), {'deg': 1.0, '°': 1.0}),
    'longitude': _Column(('longitude', 'lon', 'long'), {'deg': 1.0, '°': 1.0}),
    'pressure': _Column(
        ('pressure', 'press', 'absolute pressure'),
        {'pa': 1.0, 'hpa': 100.0, 'mbar': 100.0, 'kpa': 1e3, 'bar': 1e5},
        has_default=False,
    ),
    'temperature': _Column(
        ('temperature', 'temp', 'water temperature'), {'c': 1.0, '°c': 1.0, 'degc': 1.0}
    ),
    'voltage': _Column(('voltage', 'volt', 'battery voltage'), {'v': 1.0, 'mv': 1e-3}),
    'current': _Column(('current', 'battery current'), {'a': 1.0, 'ma': 1e-3}),
}
_THRUSTER = re.compile(
    r'(t|thruster|thr|motor|m|servo|pwm|ch|chan|c|out|output|esc)\s*(\d{1,2})(?:\s*(?:raw|pwm|us|µs))?'
)


class _Series(NamedTuple):
    """Times (n,) in ns and values (n,) of a column's cells that are not empty."""

    time: np.ndarray
    values: np.ndarray


@contextmanager
def open_csv_log(path: Path, text: str) -> Iterator[BagReader]:
    """Open a table; its rows are in memory.

    The first line names the columns, with units in brackets or after ``_``: ``time [s]``,
    ``depth_m``, ``yaw (deg)``, ``T1`` to ``Tn`` in µs. Roll is positive to starboard, pitch with
    the bow up, yaw clockwise from north. Speeds and turn rates are slopes over half a second.

    Raises:
        RecordingError: one line with what is wrong, and where.
    """
    series, pulses, notes = _read(path, text)
    topics = _topics(text, series, pulses, notes)
    if not topics:
        raise RecordingError(
            f'{text}: has neither depth, angles nor pulse widths; expected columns such as time '
            '[s], depth [m], yaw [deg], T1 to T6 in µs'
        )
    yield reader_of_rows(_VEHICLE, topics, tuple(notes))


def _topics(
    text: str, series: Mapping[str, _Series], pulses: list[_Series], notes: list[str]
) -> dict[str, list[TimedRow]]:
    """Return the rows of every topic."""
    topics: dict[str, list[TimedRow]] = {}
    if series.keys() & {'depth', 'height', 'roll', 'pitch', 'yaw', 'north', 'latitude'}:
        topics['odom'] = _odometry(series, notes)
    else:
        notes.append('the log has no motion (depth, yaw, ...)')
    if pulses:
        topics['thrusters/pwm'] = _rows(pulses, pulses[0].time)
    else:
        notes.append('the log has no pulse widths (T1, T2, ...)')
    for name, parts in (
        ('barometer/pressure', ('pressure',)),
        ('barometer/temperature', ('temperature',)),
        ('autopilot/battery', ('voltage', 'current')),
    ):
        if parts[0] in series:
            clock = series[parts[0]].time
            lacking = _Series(clock[:1], np.full(1, math.nan))
            topics[name] = _rows([series.get(p, lacking) for p in parts], clock)
    return topics


def _rows(parts: list[_Series], clock: np.ndarray) -> list[TimedRow]:
    """Return rows of columns at times (n,) in ns: of each the newest value."""
    columns = []
    for time, values in parts:
        newest = np.searchsorted(time, clock, side='right') - 1
        columns.append(np.where(newest >= 0, values[np.maximum(newest, 0)], math.nan))
    rows = np.column_stack(columns).tolist()
    return [(int(t), int(t), tuple(row)) for t, row in zip(clock.tolist(), rows, strict=True)]


# Motion.


def _odometry(series: Mapping[str, _Series], notes: list[str]) -> list[TimedRow]:
    """Return pose (ENU, FLU) and body velocity at the times of the quantity with most samples."""
    clock = max((s.time for n, s in series.items() if n in _MOTION), key=len)

    def at(name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return values and slopes (n,) of a quantity at the clock; NaN where it is not known."""
        if name not in series:
            return np.full(len(clock), math.nan), np.full(len(clock), math.nan)
        time, values = series[name]
        both = np.column_stack([values, _slopes(time, values)])
        value, slope = interpolate_samples(clock.astype(float), time.astype(float), both).T
        return value, slope

    height, climb = at('height')
    if 'depth' in series:
        height, climb = (-x for x in at('depth'))
    elif 'height' not in series:
        notes.append('the log has no depth: the vertical speed is taken as 0')
        climb = 0.0 * clock
    north, east = at('north'), at('east')
    angles = [at(name) for name in ('roll', 'pitch', 'yaw')]
    level = [name for name in ('roll', 'pitch', 'yaw') if name not in series]
    if level:
        notes.append(f'the log has no {", ".join(level)}: taken as 0')
    notes.append(f'speeds and turn rates are slopes over {2 * _SLOPE:g} s')
    values = np.column_stack(
        [
            np.zeros(len(clock)) if n in level else a[0]
            for n, a in zip(_ANGLE_NAMES, angles, strict=True)
        ]
    )
    changes = np.column_stack(
        [
            np.full(len(clock), math.nan if n == 'yaw' else 0.0) if n in level else a[1]
            for n, a in zip(_ANGLE_NAMES, angles, strict=True)
        ]
    )
    rates = np.asarray(body_rates(values.T, changes.T)).T
    orientation = continuous_quaternions(flu_quaternion(values))
    position = enu(np.column_stack([north[0], east[0], -height]))
    velocity = enu(np.column_stack([north[1], east[1], -climb]))
    motion = np.column_stack(
        [position, orientation, body_velocity(orientation, velocity), flu(rates)]
    )
    rows = zip(clock.tolist(), motion.tolist(), strict=True)
    return [(int(t), int(t), tuple(row)) for t, row in rows]


_ANGLE_NAMES = ('roll', 'pitch', 'yaw')
_MOTION = {'depth', 'height', *_ANGLE_NAMES, 'north', 'east'}


def _slopes(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return slopes (n,) in 1/s of straight lines through the samples within ``_SLOPE``."""
    seconds = (time - time[0]) / NANOSECONDS
    first = np.searchsorted(seconds, seconds - _SLOPE - 1e-9)
    last = np.searchsorted(seconds, seconds + _SLOPE + 1e-9)
    first = np.minimum(first, np.maximum(np.arange(len(seconds)) - 1, 0))
    last = np.maximum(last, np.minimum(np.arange(len(seconds)) + 2, len(seconds)))
    sums = {
        name: np.concatenate([[0.0], np.cumsum(x)])
        for name, x in {
            't': seconds, 'v': values, 'tt': seconds**2, 'tv': seconds * values,
        }.items()
    }  # fmt: skip
    t, v, tt, tv = (sums[n][last] - sums[n][first] for n in ('t', 'v', 'tt', 'tv'))
    count = last - first
    spread = count * tt - t * t
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.asarray(np.where(spread > 0, (count * tv - t * v) / spread, math.nan))


# Table.


def _read(path: Path, text: str) -> tuple[dict[str, _Series], list[_Series], list[str]]:
    """Return the quantities' series, those of the thrusters in order, and notes."""
    try:
        content = read_file(path, _MAX_BYTES, RecordingError).decode('utf-8-sig')
    except UnicodeDecodeError:
        raise RecordingError(f'{text}: not UTF-8 text; expected a table of a log, .csv') from None
    lines = [(i, line) for i, line in enumerate(content.splitlines(), 1) if line.strip(' ,;\t')]
    lines = [(i, line) for i, line in lines if not line.startswith('#')]
    if len(lines) < 3:
        raise RecordingError(
            f'{text}: {len(lines)} lines; expected the names of columns, and rows'
        )
    separator = max(',;\t', key=lines[0][1].count)
    names = next(csv.reader([lines[0][1]], delimiter=separator))
    columns, thrusters, notes = _columns(text, names)
    rows = csv.reader((line for _, line in lines[1:]), delimiter=separator)
    cells = [(i, row) for (i, _), row in zip(lines[1:], rows, strict=False)]
    time = _time(text, cells, columns['time'])
    forward = np.concatenate([[True], time[1:] > np.maximum.accumulate(time)[:-1]])
    if not forward.all():
        notes.append(f'{(~forward).sum()} rows whose time is not later than before are left out')

    def series(index: int, name: str) -> _Series:
        values = _numbers(text, cells, index, name)
        known = np.isfinite(values) & forward
        return _Series(time[known], values[known])

    found = {
        name: series(index, names[index]) for name, (index, _) in columns.items() if name != 'time'
    }
    found = {name: s for name, s in found.items() if len(s.time) > 1}
    _to_units(text, names, columns, found, notes)
    pulses = [series(index, names[index]) for index in thrusters]
    pulses = [p for p in pulses if len(p.time)]
    for index, pulse in zip(thrusters, pulses, strict=False):
        _check_pulses(text, names[index], pulse.values)
    return _to_local(found, notes), pulses, notes


def _columns(
    text: str, names: list[str]
) -> tuple[dict[str, tuple[int, str]], list[int], list[str]]:
    """Return index and unit of the quantities' columns, the thrusters', and notes."""
    columns: dict[str, tuple[int, str]] = {}
    groups: dict[str, dict[int, int]] = {}
    units = {unit for known in _QUANTITIES.values() for unit in known.units}
    unused = []
    for index, full in enumerate(names):
        name, unit = header_and_unit(full, units)
        kind = next((k for k, c in _QUANTITIES.items() if name in c.names), None)
        if kind is not None and kind not in columns:
            columns[kind] = index, unit or ''
        elif match := _THRUSTER.fullmatch(name):
            groups.setdefault(match[1], {}).setdefault(int(match[2]), index)
        else:
            unused.append(full.strip())
    if 'time' not in columns:
        raise RecordingError(
            f'{text}: columns {", ".join(map(repr, names[:8]))}; expected one of them to be time: '
            f'{", ".join(_QUANTITIES["time"].names)}'
        )
    group = max(groups.values(), key=len, default={})
    unused += [names[i].strip() for g in groups.values() if g is not group for i in g.values()]
    notes = [f'columns that are not used: {", ".join(unused[:12])}'] if unused else []
    return columns, [group[n] for n in sorted(group)], notes


def _numbers(text: str, cells: list[tuple[int, list[str]]], index: int, name: str) -> np.ndarray:
    """Return the numbers (n,) of a column; NaN of empty cells."""
    try:  # the quick way, for a column without empty cells
        return np.array([row[index] for _, row in cells]).astype(float)
    except (IndexError, ValueError):
        return np.array([_number(text, line, row, index, name) for line, row in cells])


def _number(text: str, line: int, row: list[str], index: int, name: str) -> float:
    """Return the number of a cell; NaN of an empty one."""
    value = cell_number(row, index)
    if value is None:
        cell = short_text(row[index].strip())
        raise RecordingError(f'{text}:{line}: {name.strip()} is {cell}; expected a number')
    return value


def _time(text: str, cells: list[tuple[int, list[str]]], column: tuple[int, str]) -> np.ndarray:
    """Return the times (n,) of rows, ns: numbers, or dates of ISO 8601 (UTC without an offset)."""
    index, unit = column
    units = _QUANTITIES['time'].units
    if unit and unit not in units:
        raise RecordingError(
            f'{text}: unit of time is {unit!r}; expected one of: {", ".join(units)}'
        )
    factor, result = units[unit or 's'], []
    for line, row in cells:
        cell = row[index].strip() if index < len(row) else ''
        try:
            result.append(round(float(cell) * factor * NANOSECONDS))
        except (ValueError, OverflowError):
            result.append(_date(text, line, cell))
    return np.array(result, dtype=np.int64)


def _date(text: str, line: int, cell: str) -> int:
    try:
        date = datetime.fromisoformat(cell.replace('Z', '+00:00').replace('z', '+00:00'))
    except ValueError:
        raise RecordingError(
            f'{text}:{line}: time is {short_text(cell)}; expected seconds, or a date such as '
            '2026-11-28T12:00:00.5Z'
        ) from None
    date = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return round(date.timestamp() * 1e6) * 1000


def _to_units(
    text: str,
    names: list[str],
    columns: Mapping[str, tuple[int, str]],
    found: dict[str, _Series],
    notes: list[str],
) -> None:
    """Change values to SI units; angles that exceed a turn in rad are degrees.

    Raises:
        RecordingError: a unit is not known, or missing where it cannot be told.
    """
    bare = [n for n in _ANGLE_NAMES if n in found and not columns[n][1]]
    is_degrees = any(np.abs(found[n].values).max() > _TURN for n in bare)
    if is_degrees:
        notes.append(f'{", ".join(bare)}: taken as degrees, as they exceed a turn in rad')
    for name, (time, values) in found.items():
        index, unit = columns[name]
        known = _QUANTITIES[name]
        if name in bare:
            unit = 'deg' if is_degrees else ''
        elif not unit and known.has_default:
            unit = next(iter(known.units))
        if unit not in known.units:
            wanted = f'{names[index].strip()} [{next(iter(known.units))}]'
            raise RecordingError(
                f'{text}: column {names[index].strip()!r} has '
                + (f'the unit {unit!r}' if unit else 'no unit')
                + f'; expected one of: {", ".join(known.units)}, as {wanted}'
            )
        values = values * known.units[unit]
        if name in _ANGLE_NAMES:
            values = np.unwrap(values)
        found[name] = _Series(time, values)


def _to_local(found: dict[str, _Series], notes: list[str]) -> dict[str, _Series]:
    """Return the quantities with north and east for latitude and longitude."""
    if not {'latitude', 'longitude'} <= found.keys() or 'north' in found:
        return found
    (time, latitude), (other_time, longitude) = found['latitude'], found['longitude']
    longitude = np.interp(time, other_time, longitude)
    plane = TangentPlane(float(latitude[0]), float(longitude[0]))
    east, north = plane.level(latitude, longitude)
    notes.append(f'position is from {latitude[0]:.6f}, {longitude[0]:.6f}')
    return {**found, 'north': _Series(time, north), 'east': _Series(time, east)}


def _check_pulses(text: str, name: str, values: np.ndarray) -> None:
    """Raise RecordingError for values that are no pulse widths; 0 is an output that is off."""
    on = values[values != 0]
    if len(on) and (on.min() < _PULSES[0] or on.max() > _PULSES[1]):
        raise RecordingError(
            f'{text}: {name.strip()} is {on.min():g} to {on.max():g}; expected pulse widths of '
            f'{_PULSES[0]:g} to {_PULSES[1]:g} µs: 1500 + 400 x, where the column is an effort x '
            'of -1 to 1'
        )
