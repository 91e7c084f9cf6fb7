# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Soundings (XYZ, CSV): points with heights or depths, and their interpolation on a grid."""

from __future__ import annotations

import logging
import math
import re
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import read_file
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['SOUNDING_SUFFIXES', 'grid_soundings', 'read_soundings']

SOUNDING_SUFFIXES = ('.xyz', '.csv', '.txt')
"""Suffixes of files of soundings."""
_MAX_BYTES = 100_000_000
_MAX_SOUNDINGS = 1_000_000
_MAX_POINTS = 4_000_000
_LOG = logging.getLogger(__name__)
_MAX_NUMBER = 1e8
"""Largest coordinate, m."""


def read_soundings(path: Path, positive: str) -> np.ndarray:
    """Return the soundings (n, 3) of a text file: x, y and height above the mean surface, m.

    Each line has three numbers, separated by spaces, commas, semicolons or tabs. Further columns,
    lines without a number before the first sounding, and text after # are ignored.

    Args:
        positive: ``up``, heights; or ``down``, depths.

    Raises:
        ParameterError: no such lines, too many, or heights that are all above the water.
    """
    try:
        lines = read_file(path, _MAX_BYTES, ParameterError).decode('utf-8').splitlines()
    except ValueError:
        raise ParameterError(f'{path}: not UTF-8 text; expected lines of x, y and z') from None
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        tokens = [w for w in re.split(r'[\s,;]+', line.split('#')[0].strip()) if w]
        if not tokens:
            continue
        try:
            row = [float(token) for token in tokens[:3]]
            if len(row) < 3 or not all(abs(x) < _MAX_NUMBER for x in row):
                raise ValueError
        except ValueError:
            if not rows and not any(map(_is_number, tokens)):
                continue  # a title, or names of the columns
            raise ParameterError(
                f'{path}:{number}: {line.strip()[:60]!r}; expected three numbers: x, y and z'
            ) from None
        rows.append(row)
    if not 3 <= len(rows) <= _MAX_SOUNDINGS:
        raise ParameterError(
            f'{path}: {len(rows)} soundings; expected 3 to {_MAX_SOUNDINGS}, a line each'
        )
    soundings = np.array(rows)
    if positive == 'down':
        soundings[:, 2] *= -1.0
    elif soundings[:, 2].min() > 0:
        raise ParameterError(
            f'{path}: all heights are above the water, {soundings[:, 2].min():g} m and more; if '
            'they are depths, add positive: down (marine_sim terrain: --positive down)'
        )
    return soundings


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def grid_soundings(soundings: np.ndarray, material: str, name: str) -> HeightMap:
    """Return the terrain of soundings (n, 3); one log line reports the method.

    Soundings on a full grid of equal spacing are used as they are. Others are interpolated
    linearly on their Delaunay triangulation, with a spacing of √(area of the bounding box / n);
    outside the convex hull the nearest height is used.

    Raises:
        ParameterError: they lie on a line.
    """
    regular_grid = _regular_grid(soundings, material)
    if regular_grid is not None:
        return regular_grid
    from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
    from scipy.spatial import QhullError

    places, first = np.unique(soundings[:, :2], axis=0, return_index=True)
    heights = soundings[first, 2]
    low, size = places.min(axis=0), np.ptp(places, axis=0)
    spacing = math.sqrt(float(size[0] * size[1]) / min(len(places), _MAX_POINTS))
    try:
        if not spacing > 0:
            raise ValueError
        linear = LinearNDInterpolator(places - low, heights)
    except (QhullError, ValueError):
        raise ParameterError(f'{name}: its soundings lie on a line; expected an area') from None
    columns, rows = (max(int(n), 1) + 1 for n in np.ceil(size / spacing))
    if columns * rows > 2 * _MAX_POINTS:
        raise ParameterError(
            f'{name}: its soundings lie in a strip of {size[0]:.3g} m x {size[1]:.3g} m; expected '
            'an area'
        )
    points = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1) * spacing
    grid = linear(points)
    is_missing = np.isnan(grid)
    grid[is_missing] = NearestNDInterpolator(places - low, heights)(points[is_missing])
    _LOG.warning(
        f'{name}: {len(places)} soundings became a grid of {columns} x {rows} points, '
        f'{spacing:.3g} m apart, linear between them; {is_missing.mean():.0%} of it lies beyond '
        'them and has the nearest height'
    )
    return HeightMap(low, spacing, grid, material)


def _regular_grid(soundings: np.ndarray, material: str) -> HeightMap | None:
    """Return the terrain of soundings on a full grid of equal spacing, or None."""
    x, y = (np.unique(soundings[:, i]) for i in range(2))
    if min(len(x), len(y)) < 2 or len(x) * len(y) != len(soundings):
        return None
    steps = np.concatenate([np.diff(x), np.diff(y)])
    spacing = float(steps.mean())
    if np.abs(steps - spacing).max() > 1e-3 * spacing:
        return None
    grid = np.full((len(y), len(x)), np.nan)
    row, column = np.searchsorted(y, soundings[:, 1]), np.searchsorted(x, soundings[:, 0])
    grid[row, column] = soundings[:, 2]
    if np.any(np.isnan(grid)):
        return None
    return HeightMap(np.array([x[0], y[0]]), spacing, grid, material)
