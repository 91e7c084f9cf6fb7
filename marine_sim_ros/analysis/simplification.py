# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lines with fewer points that look the same."""

from __future__ import annotations

import numpy as np

__all__ = ['simplified', 'visible_points']

_FINEST = 1 / 5000
"""Deviation that no screen shows, as a fraction of the largest extent of a line."""
_SEEN = 1 / 2000
"""The same of the height of a chart, which is a fraction of a screen."""


def simplified(places: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many of the points (n, k) of a line, with its turns and extremes.

    Ramer-Douglas-Peucker: a point is left out where the line without it is within a tolerance,
    which begins at what a screen shows and doubles until the points are few enough.

    Args:
        places: points in their order, finite.
        most: number of points, 2 or more.
    """
    if len(places) <= most:
        return places
    tolerance = _FINEST * max(float(np.ptp(places, axis=0).max()), np.finfo(float).tiny)
    kept = _kept(places, tolerance)
    while kept.sum() > most:
        tolerance *= 2.0
        kept = _kept(places, tolerance)
    return np.asarray(places[kept])


def visible_points(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mask (n,) of the points that a curve needs so that no screen shows a difference.

    Each point that is left out is within 1/2000 of the height from the curve that is left. One
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
            low = max(low, (rise - _SEEN) / step)
            high = min(high, (rise + _SEEN) / step)
        further = along[i + 1] - along[at]
        slope = (height[i + 1] - height[at]) / further if further > 0 else np.inf
        if step > 0 and low <= slope <= high:
            kept[i] = False
        else:
            at, low, high = i, -np.inf, np.inf
    return kept


def _kept(places: np.ndarray, tolerance: float) -> np.ndarray:
    """Return which points (n,) a line needs to stay within a tolerance."""
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
