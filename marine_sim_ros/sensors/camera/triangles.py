# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Meshes as the camera's shader reads them: a tree of boxes over triangles, in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ['tree_of', 'trees_of']

_LEAF = 4
"""Triangles of a leaf, at most."""


def tree_of(corners: np.ndarray) -> np.ndarray:
    """Return a bounding volume hierarchy of triangles as rows (k, 4), in depth-first order.

    A node is two rows: the least corner of its box and the row of the node that follows where the
    box is missed; its greatest corner, and −1 or, in a leaf, 8 times the row of its first
    triangle plus how many there are. A triangle is three rows: a corner, and two edges from it.
    The nodes come first; rows are counted from the array's begin. Kay and Kajiya, "Ray tracing
    complex scenes" (1986), with the median of centres along the longest edge.

    Args:
        corners: (n, 3, 3) of n > 0 triangles, m.
    """
    low, high = corners.min(axis=1), corners.max(axis=1)
    centres = (low + high) / 2
    nodes: list[list[float]] = []
    order: list[np.ndarray] = []
    leaves: list[tuple[int, int, int]] = []
    count = 0
    # A number says that the node of that row is complete.
    stack: list[np.ndarray | int] = [np.arange(len(corners))]
    while stack:
        own = stack.pop()
        if isinstance(own, int):
            nodes[own][3] = len(nodes)
            continue
        row = len(nodes)
        nodes += [[*low[own].min(axis=0), 0.0], [*high[own].max(axis=0), -1.0]]
        if len(own) <= _LEAF:
            nodes[row][3] = len(nodes)
            leaves.append((row + 1, count, len(own)))
            order.append(own)
            count += len(own)
            continue
        axis = int(np.argmax(np.ptp(centres[own], axis=0)))
        own = own[np.argsort(centres[own, axis], kind='stable')]
        middle = len(own) // 2
        stack += [row, own[middle:], own[:middle]]
    for row, first, many in leaves:
        nodes[row][3] = 8 * (len(nodes) + 3 * first) + many
    chosen = corners[np.concatenate(order)]
    rows = np.zeros((len(chosen), 3, 4))
    rows[:, 0, :3] = chosen[:, 0]
    rows[:, 1:, :3] = chosen[:, 1:] - chosen[:, :1]
    return np.concatenate([np.array(nodes), rows.reshape(-1, 4)])


def trees_of(meshes: Sequence[np.ndarray]) -> tuple[np.ndarray, list[int]]:
    """Return the trees of meshes (n, 3, 3) as rows (k, 4), and the row at which each begins."""
    trees = [tree_of(mesh) for mesh in meshes]
    begins = np.cumsum([0, *(len(tree) for tree in trees)]).tolist()
    return np.concatenate([np.zeros((0, 4)), *trees]), begins[:-1]
