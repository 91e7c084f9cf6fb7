# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coverage of a recorded survey: its lines, the ground that they cover, and their overlap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.analysis.figure_sheet import figure_sheet

__all__ = ['SurveyTrack', 'coverage_of', 'draw_coverage']

_CELL = 1.0
"""Side of a cell of the coverage, m."""
_MAX_CELLS = 4_000_000
"""Cells of the area; where there are more, their side doubles."""
_TURNING = np.radians(5.0)
"""Deviation from the course of a line beyond which a vehicle is turning, rad ..."""
_OTHER = np.radians(30.0)
"""... and deviation from the longest line beyond which a straight leg is a transit."""
_SHORTEST = 0.25
"""Length of the shortest line, as a fraction of the longest."""


class SurveyTrack(NamedTuple):
    """Positions (m, 2) in map, m, of pings, and what each of them covers.

    Attributes:
        position: (m, 2) of the sonar.
        course: (m,) rad from x towards y.
        covered: m arrays (·, 2) of places on the ground, m.
    """

    position: np.ndarray
    course: np.ndarray
    covered: Sequence[np.ndarray]


def line_numbers(track: SurveyTrack) -> np.ndarray:
    """Return the number of the line of each ping (m,), from 0; −1: it is on none.

    A line is a straight way, parallel to the longest one, of at least a quarter of its length.
    """
    numbers = np.full(len(track.course), -1)
    runs = _straight_runs(track.course)
    length = [float(np.linalg.norm(track.position[b - 1] - track.position[a])) for a, b in runs]
    if not runs:
        return numbers
    longest = int(np.argmax(length))
    course = [_mean_angle(track.course[a:b]) for a, b in runs]
    found = 0
    for (a, b), reach, angle in zip(runs, length, course, strict=True):
        # There and back are one direction.
        apart = abs(np.angle(np.exp(2j * (angle - course[longest])))) / 2
        if apart <= _OTHER and reach >= _SHORTEST * length[longest] > 0:
            numbers[a:b] = found
            found += 1
    return numbers


def _mean_angle(angles: np.ndarray) -> float:
    return float(np.angle(np.mean(np.exp(1j * angles))))


def _straight_runs(course: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last + 1 index of runs whose course stays with that of their middle."""
    runs, begin = [], 0
    for i in range(1, len(course) + 1):
        middle = course[(begin + i - 1) // 2]
        if i == len(course) or abs(np.angle(np.exp(1j * (course[i] - middle)))) > _TURNING:
            if i - begin > 2:
                runs.append((begin, i))
            begin = i
    return runs


class _Cells(NamedTuple):
    """Number of lines that cover each cell of an area.

    Attributes:
        origin: (2,) x and y of the south-west corner, m.
        side: of a cell, m.
        lines: (ny, nx) number of lines.
        inside: (ny, nx) whether a cell is in the area.
    """

    origin: np.ndarray
    side: float
    lines: np.ndarray
    inside: np.ndarray


def _count_lines(track: SurveyTrack, numbers: np.ndarray, area: np.ndarray) -> _Cells:
    from matplotlib.path import Path as Outline

    side = _CELL
    low, high = area.min(axis=0), area.max(axis=0)
    while np.prod(np.ceil((high - low) / side) + 1) > _MAX_CELLS:
        side *= 2
    columns, rows = np.maximum(np.ceil((high - low) / side), 1).astype(int).tolist()
    x = low[0] + side * (np.arange(columns) + 0.5)
    y = low[1] + side * (np.arange(rows) + 0.5)
    middles = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    inside = Outline(area).contains_points(middles).reshape(rows, columns)
    lines = np.zeros((rows, columns), int)
    for line in range(numbers.max() + 1):
        pings = np.flatnonzero(numbers == line).tolist()
        places = np.concatenate([track.covered[i] for i in pings])
        cell = np.floor((places[np.isfinite(places[:, 0])] - low) / side).astype(int)
        known = np.all((cell >= 0) & (cell < (columns, rows)), axis=1)
        seen = np.zeros((rows, columns), bool)
        seen[cell[known, 1], cell[known, 0]] = True
        lines += seen
    return _Cells(low, side, lines, inside)


def survey_area(track: SurveyTrack, numbers: np.ndarray) -> np.ndarray:
    """Return the corners (k, 2) of the convex area that the lines run over, m."""
    from scipy.spatial import ConvexHull, QhullError

    places = track.position[numbers >= 0]
    try:
        return np.asarray(places[ConvexHull(places).vertices])
    except QhullError:  # one line, which has no area
        return np.zeros((0, 2))


def coverage_of(
    track: SurveyTrack, area: np.ndarray | None = None
) -> tuple[dict[str, Any], _Cells | None]:
    """Return numbers of a survey's lines and coverage, and the cells that they are counted in.

    ``lines`` is their number and ``line_length`` their length, m; ``area``, m², is that of the
    polygon, or of the convex area that the lines run over; ``coverage`` is the fraction of it that
    a line covers, and ``overlap`` the fraction of what is covered that two or more lines cover.

    Args:
        area: (k, 2) corners of a polygon, m; None: the area that the lines run over.
    """
    numbers = line_numbers(track)
    count = int(numbers.max(initial=-1)) + 1
    lengths = [
        np.sum(np.linalg.norm(np.diff(track.position[numbers == i], axis=0), axis=-1))
        for i in range(count)
    ]
    result: dict[str, Any] = {'lines': count, 'line_length': float(np.sum(lengths))}
    if count and area is None:
        area = survey_area(track, numbers)
    if not count or area is None or len(area) < 3:
        return result, None
    cells = _count_lines(track, numbers, area)
    inside = max(int(cells.inside.sum()), 1)
    covered = int((cells.inside & (cells.lines > 0)).sum())
    twice = int((cells.inside & (cells.lines > 1)).sum())
    return {
        **result,
        'area': inside * cells.side**2,
        'coverage': covered / inside,
        'overlap': twice / max(covered, 1),
    }, cells


def draw_coverage(
    path: Path,
    title: str,
    track: SurveyTrack,
    cells: _Cells,
    targets: Sequence[dict[str, Any]] = (),
) -> None:
    """Draw how many lines cover the ground, the track, and targets with their numbers."""
    rows, columns = cells.lines.shape
    west, south = cells.origin
    extent = (west, west + columns * cells.side, south, south + rows * cells.side)
    shown = np.ma.masked_where(~cells.inside, cells.lines)
    with figure_sheet(path, title, 9.0) as figure:
        axes = figure.subplots()
        most = max(int(cells.lines.max()), 2)
        drawn = axes.imshow(
            shown, cmap='viridis', origin='lower', extent=extent, vmin=0, vmax=most,
            interpolation='nearest',
        )  # fmt: skip
        axes.plot(*track.position.T, color='white', linewidth=1.0)
        for i, target in enumerate(targets, 1):
            axes.plot(target['x'], target['y'], 'o', color='red', fillstyle='none', markersize=10)
            axes.annotate(
                str(i), (target['x'], target['y']), xytext=(7, 7), textcoords='offset points',
                color='red',
            )  # fmt: skip
        axes.set(xlabel='x east, m', ylabel='y north, m')
        axes.grid(visible=False)
        figure.colorbar(drawn, label='lines that cover a place', ticks=range(most + 1))
