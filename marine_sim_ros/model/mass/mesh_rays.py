# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where rays along x enter and leave a closed mesh, by the winding of what they cross."""

from __future__ import annotations

import numpy as np

__all__ = ['mesh_spans']

_CHUNK = 1_000_000
"""Pairs of triangle and ray that are looked at together."""


def mesh_spans(
    vertices: np.ndarray, faces: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where rays along x enter and leave a mesh: (k, nz, ny) each, in m.

    A ray is inside while the number of triangles it crossed that face it exceeds that of those
    that face away. Edges are told from one side by the same numbers for both of their triangles,
    so that no ray slips between them.

    Args:
        vertices: (v, 3) m.
        faces: (n, 3), counter-clockwise seen from outside.
        y: (1, ny) of the rays, evenly spaced, m.
        z: (nz, 1) of the rays, evenly spaced, m.
    """
    rows, columns = np.ravel(z), np.ravel(y)
    ray, x, sign = _crossings(vertices, faces, columns, rows)
    order = np.lexsort((x, ray))
    ray, x, sign = ray[order], x[order], sign[order]
    first = np.ones(len(ray), bool)
    first[1:] = ray[1:] != ray[:-1]
    total = np.cumsum(sign)
    # Counted from zero for every ray: what one of them misses does not spoil the next.
    start = np.maximum.accumulate(np.where(first, np.arange(len(ray)), 0))
    winding = total - (total[start] - sign[start])
    before = np.where(first, 0, np.roll(winding, 1))
    enters, leaves = (winding > 0) & (before <= 0), (winding <= 0) & (before > 0)
    return _table(ray, x, enters, leaves, (len(rows), len(columns)))


def _table(
    ray: np.ndarray, x: np.ndarray, enters: np.ndarray, leaves: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the crossings as the first, second, ... span of every ray."""
    result = []
    count = int(np.prod(shape))
    tables = 1
    for chosen, missing in ((enters, np.inf), (leaves, -np.inf)):
        rays = ray[chosen]
        counts = np.bincount(rays, minlength=count)
        tables = max(tables, int(counts.max(initial=1)))
        rank = np.arange(len(rays)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = np.full((tables, count), missing)
        table[rank, rays] = x[chosen]
        result.append(table.reshape(-1, *shape))
    return result[0], result[1][: len(result[0])]


def _crossings(
    vertices: np.ndarray, faces: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of every crossing the ray's number, x, and +1 where it enters, -1 where it leaves."""
    corners = vertices[faces]
    low, high = corners.min(axis=1), corners.max(axis=1)
    j0, j1 = np.searchsorted(y, low[:, 1]), np.searchsorted(y, high[:, 1], 'right')
    k0, k1 = np.searchsorted(z, low[:, 2]), np.searchsorted(z, high[:, 2], 'right')
    counts = (j1 - j0) * (k1 - k0)
    ends = np.cumsum(counts)
    found: list[tuple[np.ndarray, ...]] = [(np.zeros(0, int), np.zeros(0), np.zeros(0, int))]
    start = 0
    while start < len(faces):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK, 'right')))
        some = slice(start, stop)
        triangle = np.repeat(np.arange(start, stop), counts[some])
        inside = np.arange(len(triangle)) - np.repeat(
            ends[some] - counts[some] - done, counts[some]
        )
        width = np.maximum(j1 - j0, 1)[triangle]
        j, k = j0[triangle] + inside % width, k0[triangle] + inside // width
        hit, x, sign = _hits(vertices, faces[triangle], y[j], z[k])
        found.append((k[hit] * len(y) + j[hit], x, sign))
        start = stop
    ray, x, sign = (np.concatenate(c) for c in zip(*found, strict=True))
    return ray, x, sign


def _hits(
    vertices: np.ndarray, faces: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which of n triangles their n rays cross, at which x, and in which sense."""
    sides = [_side(vertices, faces[:, (i + 1) % 3], faces[:, (i + 2) % 3], y, z) for i in range(3)]
    weights = np.stack([area for area, _ in sides])
    left = np.stack([is_left for _, is_left in sides])
    total = weights.sum(axis=0)
    hit = (total != 0) & np.all(left == left[0], axis=0)
    x = np.einsum('in,ni->n', weights[:, hit], vertices[faces[hit], 0]) / total[hit]
    return hit, x, np.where(left[0, hit], -1, 1)


def _side(
    vertices: np.ndarray, start: np.ndarray, end: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return twice the area of edge and ray seen along x, and whether the ray is on its left.

    Both triangles of an edge get the same number, negated, and opposite answers. A ray on the
    edge counts as moved by (ε, ε²) in (y, z), so that all edges of a vertex agree (simulation of
    simplicity, Edelsbrunner and Mücke 1990).
    """
    a, b = vertices[np.minimum(start, end)], vertices[np.maximum(start, end)]
    dy, dz = b[:, 1] - a[:, 1], b[:, 2] - a[:, 2]
    area = dy * (z - a[:, 2]) - dz * (y - a[:, 1])
    tied = (dz < 0) | ((dz == 0) & (dy > 0))
    left = (area > 0) | ((area == 0) & tied)
    forward = start < end
    return np.where(forward, area, -area), left == forward
