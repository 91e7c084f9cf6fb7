# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Edges of what is solid: where a flat side of a vehicle meets it first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['ROUND', 'Edges', 'obstacle_edges', 'ridge_window', 'ridges', 'ridges_of_cell']

ROUND = 24
"""Sides of the prism whose edges stand for those of a cylinder: its flats are within
r (1 − cos(π/24)) = 0.0086 r of the cylinder."""
_MAX_WINDOW = 12


@dataclass(frozen=True, eq=False)
class Edges:
    """Straight edges of obstacles, and spheres, in map.

    Attributes:
        start: (e, 3) m.
        along: (e, 3) from the start to the end, m.
        surface: (e,) which obstacle an edge is of.
        center: (b, 3) of spheres, m.
        radius: (b,) m.
        ball: (b,) which obstacle a sphere is.
    """

    start: np.ndarray
    along: np.ndarray
    surface: np.ndarray
    center: np.ndarray
    radius: np.ndarray
    ball: np.ndarray


def _box_edges() -> np.ndarray:
    """Return the twelve edges (12, 2, 3) of a cube of half edges 1."""
    edges = []
    for axis in range(3):
        for signs in product((-1.0, 1.0), repeat=2):
            ends = [np.insert(np.array(signs), axis, end) for end in (-1.0, 1.0)]
            edges.append(np.stack(ends))
    return np.stack(edges)


def _prism_edges() -> np.ndarray:
    """Return edges (72, 2, 3) of a prism in a cylinder of radius and half length 1."""
    angle = 2 * math.pi * np.arange(ROUND) / ROUND
    low = np.stack([np.cos(angle), np.sin(angle), -np.ones(ROUND)], axis=-1)
    high = low * np.array([1.0, 1.0, -1.0])
    rims = [np.stack([rim, np.roll(rim, -1, axis=0)], axis=1) for rim in (low, high)]
    return np.concatenate([*rims, np.stack([low, high], axis=1)])


_UNIT = {'box': _box_edges(), 'cylinder': _prism_edges()}


def obstacle_edges(obstacles: Sequence[Obstacle]) -> Edges:
    """Return the edges of boxes and cylinders, and the spheres, of some obstacles."""
    edges, owners, balls = [np.zeros((0, 2, 3))], [np.zeros(0, int)], []
    for index, obstacle in enumerate(obstacles):
        if obstacle.kind == 'sphere':
            balls.append(index)
            continue
        local = _UNIT[obstacle.kind] * (obstacle.size / 2)
        turn = rotation_matrix(obstacle.orientation)
        edges.append(local @ turn.T + obstacle.position)
        owners.append(np.full(len(local), index))
    ends = np.concatenate(edges)
    return Edges(
        ends[:, 0],
        ends[:, 1] - ends[:, 0],
        np.concatenate(owners),
        np.array([obstacles[i].position for i in balls]).reshape(-1, 3),
        np.array([obstacles[i].size[0] / 2 for i in balls]),
        np.array(balls, int),
    )


def ridge_window(terrain: HeightMap, reach: float) -> int:
    """Return how many points a side w of a terrain's grid to look at around a body.

    0 where the grid is so fine that there would be more than 12: its ridges are not looked at.

    Args:
        terrain: terrain of a scene.
        reach: largest distance of the body from its origin, m.
    """
    window = 2 * math.ceil(reach / terrain.spacing) + 2
    return 0 if window > _MAX_WINDOW else min(window, *terrain.heights.shape)


def ridges(terrain: HeightMap, window: int, position: Array) -> tuple[Array, Array, Array]:
    """Return the grid's edges around a place: starts, vectors (..., t, 3), t = 2 w², and ridges.

    The last, (..., t), is 1 where the ground bends down on both sides of an edge, 0 elsewhere. An
    edge keeps its number while the window moves over it.

    Args:
        terrain: terrain of a scene.
        window: w, of :func:`ridge_window`.
        position: (..., 3) in map, m.
    """
    xp = namespace(position)
    rows, columns = terrain.heights.shape
    slots = constant(xp, np.arange(window, dtype=float))
    cells = []
    for axis, count in enumerate((columns, rows)):
        place = (position[..., axis] - float(terrain.origin[axis])) / terrain.spacing
        first = xp.clip(xp.floor(place) - (window // 2 - 1), 0.0, float(count - window))[..., None]
        shift = slots - first
        cells.append(first + shift - window * xp.floor(shift / window))
    i, j = cells[0][..., None, :], cells[1][..., :, None]
    index = xp.astype(j * columns + i, xp.int32)
    table = constant(xp, terrain.ridges)
    values = xp.reshape(xp.take(table, xp.reshape(index, (-1,)), axis=0), (*index.shape, 5))
    x = float(terrain.origin[0]) + terrain.spacing * i + xp.zeros_like(values[..., 0])
    y = float(terrain.origin[1]) + terrain.spacing * j + xp.zeros_like(values[..., 0])
    step, none = xp.full_like(x, terrain.spacing), xp.zeros_like(x)
    start = xp.stack([x, y, values[..., 0]], axis=-1)
    east = xp.stack([step, none, values[..., 1] - values[..., 0]], axis=-1)
    north = xp.stack([none, step, values[..., 2] - values[..., 0]], axis=-1)
    shape = (*position.shape[:-1], 2 * window * window)
    return (
        xp.reshape(xp.stack([start, start], axis=-4), (*shape, 3)),
        xp.reshape(xp.stack([east, north], axis=-4), (*shape, 3)),
        xp.reshape(xp.stack([values[..., 3], values[..., 4]], axis=-3), shape),
    )


def ridges_of_cell(
    terrain: HeightMap, window: int, position: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers (r,), starts and vectors (r, 3) of the ridges around a place (3,); NumPy."""
    cell = np.floor((position[:2] - terrain.origin) / terrain.spacing)
    return _ridges_of_cell(terrain, window, float(cell[0]), float(cell[1]))


@lru_cache(maxsize=256)
def _ridges_of_cell(
    terrain: HeightMap, window: int, i: float, j: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    inside = terrain.origin + terrain.spacing * (np.array([i, j]) + 0.5)
    start, along, real = ridges(terrain, window, np.append(inside, 0.0))
    which = np.flatnonzero(real > 0)
    return which, start[which], along[which]
