# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts as plain data for Plotly: lines of runs, thinned, in panels with themed colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.analysis.alignment import Alignment
from marine_sim_ros.analysis.sensor_errors import SensorComparison
from marine_sim_ros.bags.ardupilot_events import LogEvent
from marine_sim_ros.bags.series import Series
from marine_sim_ros.bags.vehicle_record import VehicleRecord
from marine_sim_ros.model.vehicle import Barometer

__all__ = [
    'COLOURS',
    'ChartLine',
    'ChartPanel',
    'ChartRun',
    'DASHES',
    'THEMES',
    'chart',
    'json_numbers',
    'legend_name',
    'series_line',
    'simplify_polyline',
    'stair_line',
    'simplify_curve',
]


# Lines thinned without visible change.

_LINE_TOLERANCE = 1 / 5000
"""Deviation that no screen shows, as a fraction of the largest extent of a line."""
_HEIGHT_TOLERANCE = 1 / 8000
"""The same of the height of a chart: 1/50 of a pixel, so that it may be enlarged tenfold."""


def simplify_polyline(places: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many of the points (n, k) of a line, with its turns and extremes.

    Ramer-Douglas-Peucker: a point is left out where the line without it is within a tolerance,
    which begins at what a screen shows and doubles until the points are few enough.

    Args:
        places: points in their order, finite.
        most: number of points, 2 or more.
    """
    if len(places) <= most:
        return places
    tolerance = _LINE_TOLERANCE * max(float(np.ptp(places, axis=0).max()), np.finfo(float).tiny)
    kept = _needed_points(places, tolerance)
    while kept.sum() > most:
        tolerance *= 2.0
        kept = _needed_points(places, tolerance)
    return np.asarray(places[kept])


def simplify_curve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mask (n,) of the points that a curve needs so that no screen shows a difference.

    Each point that is left out is within 1/8000 of the height from the curve that is left. One
    pass: the slopes that keep all points since the last corner within that narrow down, and a
    corner is where none is left (Reumann and Witkam's strip, as a cone).

    Args:
        x: places (n,) along, which do not go back.
        y: heights (n,), as fractions of that of the picture; finite.
    """
    kept = np.ones(len(x), bool)
    at, low, high = 0, -np.inf, np.inf
    along, height = x.tolist(), y.tolist()
    for i in range(1, len(along) - 1):
        step = along[i] - along[at]
        if step > 0:
            rise = height[i] - height[at]
            low = max(low, (rise - _HEIGHT_TOLERANCE) / step)
            high = min(high, (rise + _HEIGHT_TOLERANCE) / step)
        further = along[i + 1] - along[at]
        slope = (height[i + 1] - height[at]) / further if further > 0 else np.inf
        if step > 0 and low <= slope <= high:
            kept[i] = False
        else:
            at, low, high = i, -np.inf, np.inf
    return kept


def _needed_points(places: np.ndarray, tolerance: float) -> np.ndarray:
    """Return a mask (n,) of the points that a line needs to stay within a tolerance."""
    kept = np.zeros(len(places), bool)
    kept[[0, -1]] = True
    waiting = [(0, len(places) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        away = _distances(places[first + 1 : last], places[first], places[last])
        farthest = int(away.argmax())
        if away[farthest] > tolerance:
            middle = first + 1 + farthest
            kept[middle] = True
            waiting += [(first, middle), (middle, last)]
    return kept


def _distances(points: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the distances (n,) of points from a straight line between two others."""
    along, since = end - start, points - start
    length = float(along @ along)
    share = np.clip(since @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
    return np.asarray(np.linalg.norm(since - share[:, None] * along, axis=1))


# Charts as plain data, in Plotly's form; colours are names that the page's theme knows.

# Okabe and Ito (2008), Color Universal Design, as in analysis/figure_sheet; on dark ground the two
# that would drown are lighter. Yellow is left out: it cannot be seen on white.
THEMES = {
    'light': {
        'ink': '#000000',
        'paper': '#ffffff',
        'grid': '#d5dbe1',
        'soft': '#5f6b76',
        'blue': '#0072B2',
        'vermilion': '#D55E00',
        'green': '#009E73',
        'purple': '#CC79A7',
        'orange': '#E69F00',
        'sky': '#56B4E9',
    },
    'dark': {
        'ink': '#f2f4f6',
        'paper': '#15191d',
        'grid': '#343c44',
        'soft': '#9aa7b3',
        'blue': '#4f9fe0',
        'vermilion': '#ff7f2a',
        'green': '#1fc79a',
        'purple': '#e39bc3',
        'orange': '#E69F00',
        'sky': '#8fd0f5',
    },
}
COLOURS = ('@blue', '@vermilion', '@green', '@purple', '@orange', '@sky')
DASHES = ('solid', 'dash', 'dot', 'dashdot')
MIN_RANGES = {
    'm': 0.01,
    'm/s': 0.01,
    '°': 0.5,
    '°/s': 0.5,
    'N': 0.1,
    'N m': 0.02,
    'µs': 10.0,
    'W': 1.0,
    'kJ': 0.01,
    'ms': 0.1,
    'σ': 1.0,
}
"""Least span of an axis by its unit: below it are rounding and what nobody measures."""
_GAP = 0.09
_ENTRY, _LETTER, _BESIDE_BUTTONS = 46, 7, 800
"""Width of a legend's entry and letter, and what is free beside the buttons; px."""


@dataclass(frozen=True)
class ChartLine:
    """One line: name in the legend, times or places, values, and how it looks."""

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    dash: str = 'solid'
    width: float = 1.5
    steps: bool = False
    share: bool = False
    points: bool = False
    """Whether each value is marked: few ones, which may stand alone."""


@dataclass(frozen=True)
class ChartPanel:
    """One pair of axes: what its y axis shows, with its unit, and its lines."""

    label: str
    lines: Sequence[ChartLine]
    down: bool = False
    """Whether values grow downwards, as depths do."""
    fine: bool = False
    """Whether differences that nobody measures are its subject."""

    def limits(self) -> tuple[float, float]:
        """Return the least and greatest value, further apart than rounding is."""
        finite = [line.y[np.isfinite(line.y)] for line in self.lines]
        known = np.concatenate([np.zeros(0), *finite])
        if not len(known):
            return -1.0, 1.0
        low, high = float(known.min()), float(known.max())
        unit = self.label.rpartition('[')[2].rstrip(']')
        least = MIN_RANGES.get(unit, 0.0) * (1e-3 if self.fine else 1.0)
        room = max(0.0, least - (high - low)) / 2
        return low - room, high + room


def json_numbers(values: np.ndarray, span: float, digits: int = 6) -> list[float | None]:
    """Return numbers for JSON, None for what is not finite.

    Args:
        values: numbers (n,).
        span: extent of their axis, in their unit; 0 of a constant line.
        digits: significant digits of the span that they are rounded to, wherever they lie: at a
            depth of 1000 m a heave of 0.1 m is still a curve.
    """
    numbers = np.asarray(values, float)
    if span <= 0:  # of a constant line, its own digits
        span = float(np.max(np.abs(numbers), initial=0.0, where=np.isfinite(numbers)))
    decimals = digits - 1 - (math.floor(math.log10(span)) if span > 0 else 0)
    return [round(v, decimals) if math.isfinite(v) else None for v in numbers.tolist()]


def keep_steps(y: np.ndarray) -> np.ndarray:
    """Mask (n,) of the points that a line of steps needs: its steps and its ends."""
    same = (y[1:] == y[:-1]) | (np.isnan(y[1:]) & np.isnan(y[:-1]))
    result = np.concatenate([np.ones(min(len(y), 1), bool), ~same])
    result[-1:] = True
    return result


def _corner_points(x: np.ndarray, y: np.ndarray, span: float) -> np.ndarray:
    """Mask (n,) of the points of a line that are visible: its corners and the ends of its gaps.

    Args:
        x: times (n,), which do not go back.
        y: values (n,); not finite in a gap.
        span: height of the axis, in the unit of the values.
    """
    if len(y) < 3:
        return np.ones(len(y), bool)
    gap = ~np.isfinite(y)
    result = np.zeros(len(y), bool)
    result[1:] |= gap[1:] & ~gap[:-1]  # one point stands for a gap
    ends = np.flatnonzero(np.diff(np.concatenate([[True], gap, [True]]).astype(int)))
    for first, last in ends.reshape(-1, 2):
        result[first:last] = simplify_curve(x[first:last], y[first:last] / (span or 1.0))
    return result


def axis_style(**more: Any) -> dict[str, Any]:
    """Return the common style of all flat axes."""
    return {
        'gridcolor': '@grid',
        'linecolor': '@soft',
        'zerolinecolor': '@grid',
        'automargin': True,
        'tickcolor': '@soft',
        'showline': True,
        'exponentformat': 'none',
        **more,
    }


def chart(
    key: str,
    title: str,
    note: str,
    panels: Sequence[ChartPanel],
    *,
    columns: int = 1,
    row_height: int = 165,
) -> dict[str, Any]:
    """Return a chart of panels over one time axis, filled column by column.

    Lines of one name share an entry of the legend, which shows and hides them all.
    """
    rows = -(-len(panels) // columns)
    height = rows * row_height + 90
    gap = 26 / height
    width = (1 - _GAP * (columns - 1)) / columns
    layout: dict[str, Any] = {'height': height}
    data: list[dict[str, Any]] = []
    named: set[str] = set()
    inner = (1 - gap * (rows - 1)) / rows
    for i, panel in enumerate(panels):
        column, row = divmod(i, rows)
        end = str(i + 1) if i else ''
        left, top = column * (width + _GAP), 1 - row * (inner + gap)
        last = row == rows - 1 or i == len(panels) - 1
        layout[f'xaxis{end}'] = axis_style(
            domain=[left, min(1.0, left + width)],
            anchor=f'y{end}',
            showticklabels=last,
            **({'title': {'text': 'time [s]', 'standoff': 6}} if last else {}),
            **({'matches': 'x'} if i else {}),
        )
        share = any(line.share for line in panel.lines)
        low, high = panel.limits()
        layout[f'yaxis{end}'] = axis_style(
            domain=[max(0.0, top - inner), top],
            anchor=f'x{end}',
            nticks=5,
            title={'text': panel.label, 'standoff': 4},
            range=[0, 100] if share else _range(low, high, down=panel.down),
        )
        for line in panel.lines:
            data.append(_trace(line, end, high - low, shown=line.name not in named))
            named.add(line.name)
    if sum(_ENTRY + _LETTER * len(n) for n in named) > _BESIDE_BUTTONS:
        layout['legend'] = {'y': 1 - 30 / height}  # below the buttons
    return {'key': key, 'title': title, 'note': note, 'data': data, 'layout': layout, 'wide': True}


def _range(low: float, high: float, *, down: bool) -> list[float]:
    """Return the ends of an axis, with a little room beyond its values."""
    room = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    ends = [low - room, high + room]
    return ends[::-1] if down else ends


def _trace(line: ChartLine, end: str, span: float, *, shown: bool) -> dict[str, Any]:
    x, y = line.x, line.y
    if not (line.share or line.points):
        needed = keep_steps(y) if line.steps else _corner_points(x, y, span)
        x, y = x[needed], y[needed]
    trace: dict[str, Any] = {
        'type': 'scatter',
        'mode': 'lines',
        'name': line.name,
        'legendgroup': line.name,
        'showlegend': shown,
        'x': json_numbers(x, float(np.ptp(line.x)) if len(line.x) else 0.0, 7),
        'y': json_numbers(y, span, 5),
        'xaxis': f'x{end}',
        'yaxis': f'y{end}',
        'line': {
            'color': line.colour,
            'width': line.width,
            'dash': line.dash,
            'simplify': False,  # Plotly's own thinning leaves out 0.75 px: corners are seen
        },
    }
    if len(line.x) == 1 or line.points:
        trace['mode'] = 'lines+markers' if line.points else 'markers'
        trace['marker'] = (
            {'color': line.colour, 'size': 4} if line.points else {'color': line.colour}
        )
    if line.steps:
        trace['line']['shape'] = 'hv'
    if line.share:
        trace |= {'stackgroup': f'one{end}', 'groupnorm': 'percent', 'line': {'width': 0}}
        trace['fillcolor'] = line.colour
    return trace


# Recordings of one vehicle in the same charts.


@dataclass(frozen=True)
class ChartRun:
    """A recording and its place in the charts.

    Attributes:
        label: label of its bag.
        number: 0 for the first bag.
        zero: stamp that is 0 in the charts, s.
        alignment: alignment with the first bag; None for the first.
        sensor: the vehicle's barometer, where its description was given.
        sensors: its sensors beside the truth, where the description is known.
        sensors_note: why there are none, or empty.
        events: modes, messages and errors of an autopilot.
    """

    label: str
    record: VehicleRecord
    number: int
    zero: float
    alignment: Alignment | None = None
    sensor: Barometer | None = None
    sensors: tuple[SensorComparison, ...] = ()
    sensors_note: str = ''
    events: tuple[LogEvent, ...] = ()

    @property
    def colour(self) -> str:
        """Colour of the bag's lines in panels of one quantity."""
        return COLOURS[self.number % len(COLOURS)]

    @property
    def dash(self) -> str:
        """Dash style of the bag's lines in panels whose colours distinguish quantities."""
        return DASHES[self.number % len(DASHES)]

    def time(self, stamps: Any) -> Any:
        """Return times of the charts of stamps, both s."""
        return stamps - self.zero + (self.alignment.offset if self.alignment else 0.0)


def legend_name(run: ChartRun, what: str, *, several: bool) -> str:
    """Return the name of a line in the legend."""
    return f'{what} ({run.label})' if several else what


def series_line(
    run: ChartRun,
    series: Series,
    column: int,
    label: str,
    colour: str,
    *,
    scale: float = 1.0,
    dash: str = 'solid',
    width: float = 1.5,
) -> ChartLine:
    """Return the line of a series' column."""
    time, values = series.line(column)
    return ChartLine(label, run.time(time), values * scale, colour, dash, width)


def stair_line(
    run: ChartRun, time: np.ndarray, values: np.ndarray, label: str, most: int = 3000
) -> ChartLine:
    """Return the line of what holds until it changes."""
    changed = keep_steps(values)
    time, values = time[changed], values[changed]
    shown = decimate_min_max(values, most)
    return ChartLine(label, run.time(time[shown]), values[shown], '@ink', 'dash', 1.3, steps=True)


def decimate_min_max(values: np.ndarray, most: int) -> np.ndarray:
    """Return indices of at most so many values, about: of each bucket the least and the greatest.

    The last value is among them; NaN counts as neither where there is another value.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    size = -(-count // (most // 2))
    padded = np.full((-(-count // size), size), np.nan)
    padded.flat[:count] = values
    low = np.where(np.isnan(padded), np.inf, padded).argmin(axis=1)
    high = np.where(np.isnan(padded), -np.inf, padded).argmax(axis=1)
    starts = np.arange(len(padded)) * size
    return np.unique(np.concatenate([starts + low, starts + high, [count - 1]]))
