# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terrain: heights on a regular grid, bilinear between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError

__all__ = ['HeightMap']

_FLAT = 0.02
"""Change of slope across an edge of the grid below which it is no ridge."""


@dataclass(frozen=True, eq=False)
class HeightMap:
    """A seabed z = h(x, y); beyond its edges the heights at the edge go on.

    Attributes:
        origin: (2,) x and y of ``heights[0, 0]``, map, m.
        spacing: spacing of the grid, m.
        heights: (ny, nx) z in map, m; rows go north, columns east.
        material: name.
    """

    origin: np.ndarray
    spacing: float
    heights: np.ndarray
    material: str = 'default'

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no terrain."""
        origin, heights = np.asarray(self.origin, float), np.asarray(self.heights, float)
        if origin.shape != (2,) or not np.all(np.isfinite(origin)):
            raise ParameterError(f'terrain origin is {self.origin}; expected two numbers, m')
        if not 0.0 < self.spacing < 1e6:
            raise ParameterError(f'terrain spacing is {self.spacing}; expected more than 0 m')
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.all(np.isfinite(heights)):
            raise ParameterError(
                f'terrain heights have shape {heights.shape}; expected at least 2 x 2 finite '
                'numbers, m'
            )
        object.__setattr__(self, 'origin', origin)
        object.__setattr__(self, 'heights', np.ascontiguousarray(heights))

    @cached_property
    def _cells(self) -> np.ndarray:
        """(cells, 4) height at a cell's corner x0, y0, its rise along x, and both at x0, y1."""
        h = self.heights
        rise = h[:, 1:] - h[:, :-1]
        cells = np.stack([h[:-1, :-1], rise[:-1], h[1:, :-1], rise[1:]], axis=-1)
        return cells.reshape(-1, 4)

    @cached_property
    def _last(self) -> np.ndarray:
        """(2,) the largest numbers of a column and a row."""
        return np.array(self.heights.shape[::-1]) - 1.0

    @cached_property
    def ridges(self) -> np.ndarray:
        """(points, 5) h, next h in x and in y, 1 where the edges to those are ridges.

        Along the grid's lines the ground is straight, and within its cells nothing bulges: what
        stands out are edges across which the slope falls.
        """
        h = self.heights
        next_x = np.concatenate([h[:, 1:], h[:, -1:]], axis=1)
        next_y = np.concatenate([h[1:], h[-1:]], axis=0)
        along_x, along_y = _folds(h, self.spacing), _folds(h.T, self.spacing).T
        return np.stack([h, next_x, next_y, along_x, along_y], axis=-1).reshape(-1, 5)

    @property
    def extent(self) -> np.ndarray:
        """(2, 2) smallest and largest x and y of the grid, m."""
        rows, columns = self.heights.shape
        return self.origin + self.spacing * np.array([[0, 0], [columns - 1, rows - 1]])

    @cached_property
    def steepest(self) -> float:
        """A slope that is nowhere exceeded: of the steepest edges along x and y together."""
        along = [np.abs(np.diff(self.heights, axis=i)).max() / self.spacing for i in (0, 1)]
        return float(np.hypot(*along))

    def _bilinear(self, places: Array) -> tuple[Array, Array]:
        """Return h (...) and [∂h/∂x, ∂h/∂y] (..., 2) at places (..., 2)."""
        xp = namespace(places)
        last = self._last
        u = (places - constant(xp, self.origin)) / self.spacing
        clipped = xp.minimum(xp.maximum(u, 0.0), constant(xp, last))
        cell = xp.minimum(xp.floor(clipped), constant(xp, last - 1))
        part, index = clipped - cell, xp.astype(cell, xp.int32)
        index = xp.reshape(index[..., 1] * int(last[0]) + index[..., 0], (-1,))
        cells = xp.reshape(xp.take(constant(xp, self._cells), index, axis=0), (*u.shape[:-1], 4))
        x, y = part[..., :1], part[..., 1:]
        rows = cells[..., ::2] + x * cells[..., 1::2]
        south, climb = rows[..., :1], rows[..., 1:] - rows[..., :1]
        along = cells[..., 1:2] + y * (cells[..., 3:] - cells[..., 1:2])
        slopes = xp.concat([along, climb], axis=-1) / self.spacing
        return (south + y * climb)[..., 0], xp.where(clipped == u, slopes, 0.0)

    def height(self, x: Array, y: Array) -> Array:
        """Return h (...) in m at places x, y (...) of map, m."""
        return self._bilinear(namespace(x).stack([x, y], axis=-1))[0]

    def normal(self, x: Array, y: Array) -> Array:
        """Return the upward unit normal (..., 3) at x, y (...): (−∂h/∂x, −∂h/∂y, 1)/|…|."""
        return _upward(self._bilinear(namespace(x).stack([x, y], axis=-1))[1])

    def surfaces(self, points: Array) -> tuple[Array, Array]:
        """Return d (..., 1, m) in m and n (..., 1, m, 3) of points (..., m, 3).

        d = (z − h) n_z, the distance from the plane that touches the terrain below the point:
        exact on a plane slope, and in first order anywhere near the terrain.
        """
        h, slopes = self._bilinear(points[..., :2])
        normal = _upward(slopes)
        distance = (points[..., 2] - h) * normal[..., 2]
        return distance[..., None, :], normal[..., None, :, :]


def _folds(heights: np.ndarray, spacing: float) -> np.ndarray:
    """Return where (ny, nx) the edge from a point to the next one in x is a ridge."""
    bend = (2 * heights[1:-1] - heights[2:] - heights[:-2]) / spacing
    convex = np.pad(bend > _FLAT, ((1, 1), (0, 0)))
    return np.pad(convex[:, :-1] | convex[:, 1:], ((0, 0), (0, 1)))


def _upward(slopes: Array) -> Array:
    xp, square = namespace(slopes), slopes * slopes
    up = 1 / xp.sqrt(1 + square[..., :1] + square[..., 1:])
    return xp.concat([-slopes * up, up], axis=-1)
