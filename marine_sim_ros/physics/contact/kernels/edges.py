# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled contacts of edges with convex bodies.

The search and every rounding are those of physics/contact/edges.py, which serves all array
libraries: some 150 operations of NumPy on small arrays, 250 µs.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import inner_kernel, kernel

__all__ = ['contact_points', 'deepest_point', 'find_deepest_points']


@inner_kernel
def _largest(c, d, t):
    """Return the first of the lines c + t d that are largest at t, and its value there."""
    best, value = 0, c[0] + t * d[0]
    for h in range(1, len(c)):
        other = c[h] + t * d[h]
        if other > value:
            best, value = h, other
    return best, value


@inner_kernel
def _intersection(c, d, low, high):
    """Return t where a descending and an ascending line meet, or an end; and whether they do."""
    if d[low] < 0.0 and d[high] >= 0.0:
        return min(max((c[high] - c[low]) / (d[low] - d[high]), 0.0), 1.0), True
    return (0.0 if d[low] >= 0.0 else 1.0), False


@inner_kernel
def _interval_below(c, d, level):
    """Return the interval in 0 to 1 in which all lines are below a level."""
    low, high = 0.0, 1.0
    for h in range(len(c)):
        if d[h] < 0.0:
            low = max(low, (level - c[h]) / d[h])
        elif d[h] > 0.0:
            high = min(high, (level - c[h]) / d[h])
    return min(low, 1.0), max(high, 0.0)


@inner_kernel
def _cut(c, d, low, high, line):
    """Find the lines (r,) that cut off the minima so far; return whether a minimum changes.

    A line is −1 where the minimum is at an end of the edge.
    """
    changes = False
    for r in range(len(c)):
        t, between = _intersection(c[r], d[r], low[r], high[r])
        k, h = _largest(c[r], d[r], t)[0], high[r]
        line[r] = k if between else -1
        excess = c[r, k] - c[r, h] + t * (d[r, k] - d[r, h])
        changes |= between and excess > 1e-12
    return changes


@inner_kernel
def _combine(weight, first, second, result):
    """Write the weighted mean of two normals; return the square of its length."""
    square = 0.0
    for i in range(3):
        result[i] = weight * first[i] + (1.0 - weight) * second[i]
        square += result[i] * result[i]
    return square


@inner_kernel
def _describe_minimum(c, d, low, high, normals, band, min_normal, found):
    """Write the seven numbers of :func:`find_deepest_points` of one edge and one body."""
    t, between = _intersection(c, d, low, high)
    level = _largest(c, d, t)[1] + band
    weight = 1.0 if d[low] >= 0.0 else 0.0
    if between:
        weight = d[high] / (d[high] - d[low])
    if _combine(weight, normals[low], normals[high], found[2:5]) < min_normal * min_normal:
        weight = np.rint(weight)
        _combine(weight, normals[low], normals[high], found[2:5])
    found[0] = weight * c[low] + (1.0 - weight) * c[high]
    found[1] = weight * d[low] + (1.0 - weight) * d[high]
    found[5], found[6] = _interval_below(c, d, level)


@inner_kernel
def deepest_point(c, d, normals, max_cuts, band, min_normal, found):
    """Write the seven numbers of :func:`find_deepest_points` of one edge and one body.

    Args:
        c: (h,) distances of the edge's start beyond the faces of the body.
        d: (h,) changes of these distances along the edge.
        normals: (h, 3) of the faces; the others as there.
        found: (7,) the numbers.
    """
    low, high = _largest(c, d, 0.0)[0], _largest(c, d, 1.0)[0]
    for _ in range(max_cuts):
        t, between = _intersection(c, d, low, high)
        line = _largest(c, d, t)[0]
        if not between or c[line] - c[high] + t * (d[line] - d[high]) <= 1e-12:
            break
        if d[line] < 0.0:
            low = line
        else:
            high = line
    _describe_minimum(c, d, low, high, normals, band, min_normal, found)


@kernel
def find_deepest_points(c, d, normals, max_cuts, band, min_normal):
    """Return (f, n, 7) of f edges and n bodies: the deepest point of each edge in each body.

    The seven numbers are c and d of the combination of two lines, its normal, and the ends of the
    interval of t in which all lines are within ``band`` of their minimum.

    Args:
        c: (f, n, h) distances of the edges' starts beyond the faces of the bodies.
        d: (f, n, h) changes of these distances along the edges.
        normals: (n, h, 3) of the faces.
        max_cuts: largest number of steps.
        band: m.
        min_normal: length of a combined normal below which one of its two lines is used.
    """
    edges, bodies, faces = c.shape
    rows = edges * bodies
    c, d = c.reshape(rows, faces), d.reshape(rows, faces)
    low, high, line = np.empty((3, rows), np.int64)
    for r in range(rows):
        low[r], high[r] = _largest(c[r], d[r], 0.0)[0], _largest(c[r], d[r], 1.0)[0]
    for _ in range(max_cuts):
        if not _cut(c, d, low, high, line):
            break
        for r in range(rows):
            if line[r] >= 0 and d[r, line[r]] < 0.0:
                low[r] = line[r]
            elif line[r] >= 0:
                high[r] = line[r]
    found = np.empty((rows, 7))
    for r in range(rows):
        _describe_minimum(
            c[r], d[r], low[r], high[r], normals[r % bodies], band, min_normal, found[r]
        )
    return found.reshape(edges, bodies, 7)


@kernel
def contact_points(start, along, deepest, length):
    """Return gaps (2 f n,), normals and points (2 f n, 3) at both ends of the intervals.

    Args:
        start: (f, 3) of the edges.
        along: (f, 3) from start to end.
        deepest: (f, n, 7) of :func:`find_deepest_points`.
        length: (f, n) of the normals in it.
    """
    edges, bodies, _ = deepest.shape
    gaps = np.empty(2 * edges * bodies)
    normals, points = np.empty((len(gaps), 3)), np.empty((len(gaps), 3))
    for i in range(len(gaps)):
        e, n = i // (2 * bodies), i // 2 % bodies
        line, t = deepest[e, n], deepest[e, n, 5 + i % 2]
        gaps[i] = (line[0] + t * line[1]) / length[e, n]
        for k in range(3):
            outward = line[2 + k] / length[e, n]
            normals[i, k] = -outward
            points[i, k] = start[e, k] + t * along[e, k] - gaps[i] * outward
    return gaps, normals, points
