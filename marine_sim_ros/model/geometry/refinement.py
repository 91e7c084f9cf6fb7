# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Splits triangles until no edge is longer than wanted; a closed surface stays closed."""

from __future__ import annotations

import numpy as np

__all__ = ['split_long_edges']


def split_long_edges(
    vertices: np.ndarray, faces: np.ndarray, max_edge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (v, 3) and faces (n, 3) with every edge halved that is too long.

    An edge gets one middle, which the triangles on both its sides share; a triangle with one,
    two or three middles becomes two, three or four. It goes on until none is too long.

    Args:
        vertices: (v, 3) m.
        faces: (n, 3) indices.
        max_edge: m.
    """
    vertices, faces = np.array(vertices, float), np.array(faces, np.int64)
    while True:
        ends = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        number = ends[:, 1] * len(vertices) + ends[:, 0]
        _, first, edge = np.unique(number, return_index=True, return_inverse=True)
        a, b = np.moveaxis(vertices[ends[first]], 1, 0)
        long = ((a - b) ** 2).sum(axis=1) ** 0.5 > max_edge
        if not long.any():
            return vertices, faces
        middle = np.full(len(first), -1)
        middle[long] = len(vertices) + np.arange(np.count_nonzero(long))
        vertices = np.concatenate([vertices, (a[long] + b[long]) / 2])
        faces = _split(vertices, faces, middle[edge].reshape(-1, 3))


def _split(vertices: np.ndarray, faces: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return the parts of triangles with middles (n, 3) of edges 01, 12, 20; −1: not split."""
    count = (middle >= 0).sum(axis=1)
    one, two, all_three = (count == k for k in (1, 2, 3))
    # Turned so that the split edge is 01, or the whole edge 20.
    (a, b, c), (p, _, _) = _turned(faces[one], middle[one], np.argmax(middle[one] >= 0, axis=1))
    halves = np.column_stack([a, p, c, p, b, c]).reshape(-1, 3)
    whole = np.argmin(middle[two] >= 0, axis=1)
    (a, b, c), (p, q, _) = _turned(faces[two], middle[two], (whole + 1) % 3)
    shorter = _square(vertices[a] - vertices[q]) <= _square(vertices[p] - vertices[c])
    thirds = [
        np.column_stack([p, b, q]),
        np.column_stack([a, p, np.where(shorter, q, c)]),
        np.column_stack([np.where(shorter, a, p), q, c]),
    ]
    (a, b, c), (p, q, r) = faces[all_three].T, middle[all_three].T
    quarters = np.column_stack([a, p, r, p, b, q, r, q, c, p, q, r]).reshape(-1, 3)
    return np.concatenate([faces[count == 0], halves, *thirds, quarters])


def _turned(
    faces: np.ndarray, middle: np.ndarray, start: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return corners and middles, three (n,) each, counted from corner ``start`` (n,)."""
    rows = np.arange(len(faces))
    order = [(start + k) % 3 for k in range(3)]
    return [faces[rows, k] for k in order], [middle[rows, k] for k in order]


def _square(vectors: np.ndarray) -> np.ndarray:
    return (vectors**2).sum(axis=1)
