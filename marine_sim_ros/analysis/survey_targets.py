# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Targets of a recorded side-scan survey: echoes with a shadow behind, and their errors."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.survey_files import SideScanPings, ground_positions
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.side_scan import bin_ranges

__all__ = ['find_targets', 'match_targets']

_LOOK = 0.15
"""Length of a cell in which levels are averaged, m, to lessen the speckle."""
_AROUND = 8.0
"""Length of the ground about a cell that it is compared with, m."""
_BRIGHT, _DARK = 4.0, -5.0
"""Levels of an echo and of a shadow beside that of the ground, dB."""
_SHADOW = 0.6
"""Length behind an echo that has to be dark, m ..."""
_GAP = 0.6
"""... and where it begins behind the end of the echo, at most, m."""
_SMALLEST = 3
"""Cells of an echo, at least."""
_MERGED = 3.0
"""Greatest distance of two echoes of one target, m."""
_MATCHED = 5.0
"""Greatest distance of a target and an obstacle of one place, m."""


class _Cells(NamedTuple):
    """One side of a side-scan survey on the ground.

    Attributes:
        level: (m, n) dB beside the ground about, by ping and ground range; NaN: not known.
        first: (m, 2) places of n = 0 in map, m.
        step: (m, 2) from one cell to the next, m.
    """

    level: np.ndarray
    first: np.ndarray
    step: np.ndarray


def _side(sensor: Sensor, pings: SideScanPings, side: int) -> _Cells:
    """Return the cells to port (0) or starboard (1)."""
    from scipy.ndimage import uniform_filter

    spec, bins = sensor.spec, int(sensor.spec.bins)
    order = np.s_[:, bins - 1 :: -1] if side == 0 else np.s_[:, bins:]
    places = ground_positions(sensor, pings)[order]
    power = 10.0 ** (0.1 * (pings.lines[order] / 255.0 - 1.0) * spec.dynamic_range)
    ranges, height = bin_ranges(spec), pings.altitude
    reach = np.sqrt(np.maximum(ranges**2 - np.nan_to_num(height)[:, None] ** 2, 0.0))
    count = max(int(np.nanmax(reach) / _LOOK), 1)
    cell = np.clip((reach / _LOOK).astype(int), 0, count - 1)
    known = np.isfinite(places[..., 0])
    row = np.arange(len(power))[:, None] * count
    index = (row + cell)[known]
    size = len(power) * count
    sums = np.bincount(index, power[known], size).reshape(-1, count)
    counts = np.bincount(index, minlength=size).reshape(-1, count)
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    filled = np.where(np.isfinite(mean), mean, np.nanmean(mean, axis=0, keepdims=True))
    filled = np.nan_to_num(filled, nan=float(np.nanmean(mean)))
    wide = max(round(_AROUND / _LOOK), 3)
    around = uniform_filter(filled, (min(41, len(filled)), wide), mode='nearest')
    near = uniform_filter(filled, (3, 3), mode='nearest')
    level = 10.0 * np.log10(near / np.maximum(around, 1e-30))
    # Ends of lines: the last bins of a ping lie on one straight line of the ground.
    first_known = np.argmax(known, axis=1)
    each = np.arange(len(places))
    start, end = places[each, first_known], places[:, -1]
    away = reach[:, -1] - reach[each, first_known]
    step = (end - start) / np.maximum(away, 1e-9)[:, None] * _LOOK
    first = start - step * (reach[each, first_known] / _LOOK)[:, None]
    level[~np.isfinite(height)] = np.nan
    return _Cells(level, first, step)


def find_targets(sensor: Sensor, pings: SideScanPings) -> list[dict[str, float]]:
    """Return the targets of the lines of a side-scan sonar, the strongest first.

    A target is an echo of more than 4 dB above the ground about it, behind which 0.6 m are darker
    than the ground by 5 dB: what stands on the ground. It has ``x`` and ``y`` of the middle of its
    echo, m, ``level`` in dB, ``echoes``, the number of lines' sides that show it, and
    ``height`` by the length of its shadow, h = H l/(y + l), m: 0 where none is known.
    """
    from scipy.ndimage import find_objects, label

    found = []
    for side in (0, 1):
        cells = _side(sensor, pings, side)
        marks, _ = label(np.nan_to_num(cells.level, nan=-99.0) > _BRIGHT)
        for number, region in enumerate(find_objects(marks), 1):
            rows, columns = np.nonzero(marks[region] == number)
            if len(rows) < _SMALLEST:
                continue
            row, column = rows + region[0].start, columns + region[1].start
            target = _target(cells, pings, row, column)
            if target is not None:
                found.append(target)
    return _merge(found)


def _target(
    cells: _Cells, pings: SideScanPings, row: np.ndarray, column: np.ndarray
) -> dict[str, float] | None:
    """Return an echo (n,) of cells as a target; None: no shadow is behind it."""
    middle, end = int(np.median(row)), int(np.max(column))
    behind = cells.level[middle, end + 1 :]
    dark = np.nan_to_num(behind, nan=0.0) < _DARK
    gap, need = round(_GAP / _LOOK), round(_SHADOW / _LOOK)
    start = int(np.argmax(dark)) if dark.any() else len(dark)
    if start > gap or not dark[start : start + need].all() or len(dark) < start + need:
        return None
    length = start + (int(np.argmin(dark[start:])) or len(dark) - start)
    weight = 10.0 ** (0.1 * cells.level[row, column])
    along = float(np.average(row, weights=weight))
    # The shadow begins behind the target: its middle is that of the echo and of this place.
    across = 0.5 * (float(np.min(column)) + end + 1 + start)
    first, step = (_at(x, along) for x in (cells.first, cells.step))
    place = first + (across + 0.5) * step
    altitude = float(_at(pings.altitude, along))
    edge, shadow = (end + 1) * _LOOK, length * _LOOK
    return {
        'x': float(place[0]),
        'y': float(place[1]),
        'level': float(cells.level[row, column].max()),
        'height': altitude * shadow / (edge + shadow),
        'echoes': 1,
    }


def _at(values: np.ndarray, row: float) -> np.ndarray:
    """Return values (m, ...) at a row between two, by linear interpolation."""
    low = int(row)
    share = row - low
    return np.asarray((1 - share) * values[low] + share * values[min(low + 1, len(values) - 1)])


def _merge(found: list[dict[str, float]]) -> list[dict[str, float]]:
    """Return targets of which no two are nearer than three metres; positions are means."""
    kept: list[list[dict[str, float]]] = []
    for target in sorted(found, key=lambda t: -t['level']):
        for group in kept:
            if math.hypot(group[0]['x'] - target['x'], group[0]['y'] - target['y']) < _MERGED:
                group.append(target)
                break
        else:
            kept.append([target])
    return [
        {
            **{key: float(np.mean([t[key] for t in group])) for key in ('x', 'y', 'height')},
            'level': group[0]['level'],
            'echoes': len(group),
        }
        for group in kept
    ]


def _distance(obstacle: Obstacle, x: float, y: float) -> float:
    """Return the horizontal distance of a place to the middle line of an obstacle, m.

    The line is as much shorter than the obstacle as this is wide: a point where both are equal.
    """
    sides = (rotation_matrix(obstacle.orientation) * obstacle.size)[:2]
    length = np.linalg.norm(sides, axis=0)
    longest = int(np.argmax(length))
    half = 0.5 * (length[longest] - np.sort(length)[1])
    along = sides[:, longest] / max(float(length[longest]), 1e-9)
    away = np.array([x, y]) - obstacle.position[:2]
    return float(np.linalg.norm(away - np.clip(away @ along, -half, half) * along))


def match_targets(
    targets: list[dict[str, float]], scene: Scene | None, seen: np.ndarray | None = None
) -> dict[str, Any]:
    """Return a target list with the errors against the obstacles of a scene.

    Each of ``targets`` has the ``nearest`` obstacle within 5 m and its horizontal ``error``, m:
    the distance to the middle of the obstacle, or to the middle line of a long one. ``found``,
    ``missed`` and ``false`` are numbers, ``missing`` names, and ``error`` is the mean and
    ``largest_error`` the greatest of the errors of the best target of each obstacle, m.

    Args:
        targets: of :func:`find_targets`.
        scene: with the obstacles; None: nothing is known.
        seen: (k,) whether each obstacle is on covered ground; None: all are.
    """
    obstacles = () if scene is None else scene.obstacles
    rows: list[dict[str, Any]] = [dict(target) for target in targets]
    taken: dict[str, float] = {}
    for row in rows:
        away = [_distance(o, row['x'], row['y']) for o in obstacles]
        if away and min(away) <= _MATCHED:
            nearest = obstacles[int(np.argmin(away))].name
            row |= {'nearest': nearest, 'error': min(away)}
            taken[nearest] = min(min(away), taken.get(nearest, math.inf))
        else:
            row |= {'nearest': None, 'error': None}
    wanted = [o.name for i, o in enumerate(obstacles) if seen is None or seen[i]]
    missing = [name for name in wanted if name not in taken]
    errors = list(taken.values())
    return {
        'targets': rows,
        'found': len(taken),
        'missed': len(missing),
        'false': sum(row['nearest'] is None for row in rows) if scene is not None else None,
        'missing': missing,
        'error': float(np.mean(errors)) if errors else None,
        'largest_error': max(errors) if errors else None,
    }
