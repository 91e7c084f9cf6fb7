# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Curvilinear grids of ocean models: the cell of a latitude and longitude, depths of levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, counted_loop, namespace
from marine_sim_ros.core.errors import ParameterError

__all__ = ['CurvilinearGrid', 's_level_depths']

_MAX_STEPS = 12
"""Newton steps from the nearest node to a place."""
_RASTER = 512
"""Largest number of cells along a side of the raster that names the nearest node."""
_TOLERANCE = 1e-9
"""Largest error of a place that is found again, in cells."""
_LEAST_WATER = 0.1
"""m of water where a model falls dry."""


def _cross(u: Array, v: Array) -> Array:
    """Return u × v (...) of vectors (..., 2)."""
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


@dataclass(frozen=True, eq=False)
class CurvilinearGrid:
    """Grid whose nodes have a latitude and a longitude each, bilinear between four of them.

    Attributes:
        latitude: (n, e) of the nodes, degrees.
        longitude: (n, e) of the nodes, degrees, without a jump.
    """

    latitude: np.ndarray
    longitude: np.ndarray

    def __post_init__(self) -> None:
        """Raise ParameterError for a grid that is too small, folds, or is too distorted."""
        shape = self.latitude.shape
        if len(shape) != 2 or shape != self.longitude.shape or min(shape) < 2:
            raise ParameterError(
                f'curvilinear grid has {shape} latitudes and {self.longitude.shape} longitudes; '
                'expected two rows and two columns or more'
            )
        along, across = np.diff(self._nodes, axis=1), np.diff(self._nodes, axis=0)
        sides = slice(None, -1), slice(1, None)
        areas = np.stack([_cross(along[i], across[:, j]) for i in sides for j in sides])
        if not (np.all(areas > 0) or np.all(areas < 0)):
            raise ParameterError('curvilinear grid folds: some of its cells are no convex quads')
        assert self._steps > 0

    @cached_property
    def _nodes(self) -> np.ndarray:
        """(n, e, 2) latitude and longitude."""
        return np.stack([self.latitude, self.longitude], axis=-1)

    @cached_property
    def _raster(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nearest node (r, c) of the cells of a raster; its corner and cell size (2,), degrees."""
        from scipy.spatial import cKDTree

        nodes = self._nodes.reshape(-1, 2)
        corner, size = nodes.min(axis=0), np.ptp(nodes, axis=0)
        counts = np.minimum(2 * max(self.latitude.shape), _RASTER) + np.zeros(2, int)
        cell = size / counts
        axes = (corner[i] + cell[i] * (np.arange(counts[i]) + 0.5) for i in (0, 1))
        middles = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1)
        # A degree of longitude is shorter than one of latitude; the nearest by metres counts.
        scale = np.array([1.0, np.cos(np.radians(np.mean(self.latitude)))])
        nearest = cKDTree(nodes * scale).query(middles * scale)[1]
        return nearest, corner, cell

    @cached_property
    def _steps(self) -> int:
        """Newton steps by which places in every cell are found.

        Raises:
            ParameterError: some are not.
        """
        rows, columns = np.meshgrid(
            *(np.arange(n - 1.0) for n in self.latitude.shape), indexing='ij'
        )
        inside = np.array([(0.5, 0.5), (0.03, 0.04), (0.96, 0.05), (0.04, 0.97), (0.98, 0.96)])
        row, column = rows[..., None] + inside[:, 0], columns[..., None] + inside[:, 1]
        place = np.stack(self.place(row, column), axis=-1)
        found = self._nearest_node(place)
        for step in range(_MAX_STEPS):
            if max(np.abs(found[0] - row).max(), np.abs(found[1] - column).max()) < _TOLERANCE:
                return step + 1
            found = self._newton_step(place, *found)
        raise ParameterError(
            'curvilinear grid is too distorted to be searched; expected a smooth one: convert it '
            'to latitude and longitude, for example by cdo remapbil'
        )

    def _cell(self, row: Array, column: Array) -> tuple[list[Array], Array, Array]:
        """Return the four nodes (..., 2) of cells, and the place (...) in each, 0 to 1 inside."""
        xp = namespace(row)
        rows, columns = self.latitude.shape
        i = xp.floor(xp.minimum(xp.maximum(row, 0.0 * row), 0.0 * row + (rows - 2)))
        j = xp.floor(xp.minimum(xp.maximum(column, 0.0 * row), 0.0 * row + (columns - 2)))
        nodes = constant(xp, self._nodes.reshape(-1, 2))
        first = xp.astype(i * columns + j, xp.int32)
        corners = [xp.take(nodes, first + d, axis=0) for d in (0, 1, columns, columns + 1)]
        return corners, (row - i)[..., None], (column - j)[..., None]

    def place(self, row: Array, column: Array) -> tuple[Array, Array]:
        """Return latitude and longitude (...), degrees, at numbers of rows and columns (...)."""
        (a, b, c, d), up, right = self._cell(row, column)
        place = (1 - up) * ((1 - right) * a + right * b) + up * ((1 - right) * c + right * d)
        return place[..., 0], place[..., 1]

    def locate(self, latitude: Array, longitude: Array) -> tuple[Array, Array]:
        """Return the numbers of row and column (...) at places (...) in degrees.

        It inverts :meth:`place` by Newton's method from the nearest node. Beyond the grid the
        numbers are those of its edge.
        """
        xp = namespace(latitude)
        place = xp.stack([latitude, longitude], axis=-1)
        rows, columns = self.latitude.shape
        row, column = counted_loop(
            xp,
            self._steps,
            lambda found, _: self._newton_step(place, *found),
            self._nearest_node(place),
        )
        return (
            xp.minimum(xp.maximum(row, 0.0 * row), 0.0 * row + (rows - 1)),
            xp.minimum(xp.maximum(column, 0.0 * row), 0.0 * row + (columns - 1)),
        )

    def _nearest_node(self, place: Array) -> tuple[Array, Array]:
        """Return row and column (...) of a node that is the nearest, or almost, to places."""
        xp, columns = namespace(place), self.latitude.shape[1]
        nearest, corner, size = self._raster
        cell = xp.floor((place - constant(xp, corner)) / constant(xp, size))
        last = constant(xp, np.array(nearest.shape) - 1.0)
        cell = xp.minimum(xp.maximum(cell, 0.0 * cell), 0.0 * cell + last)
        number = xp.astype(cell[..., 0] * nearest.shape[1] + cell[..., 1], xp.int32)
        node = xp.take(constant(xp, nearest.reshape(-1)), number, axis=0)
        return xp.astype(node // columns, place.dtype), xp.astype(node % columns, place.dtype)

    def _newton_step(self, place: Array, row: Array, column: Array) -> tuple[Array, Array]:
        xp = namespace(place)
        rows, columns = self.latitude.shape
        (a, b, c, d), up, right = self._cell(row, column)
        lower, upper = (1 - right) * a + right * b, (1 - right) * c + right * d
        along_row, along_column = upper - lower, (1 - up) * (b - a) + up * (d - c)
        error = place - ((1 - up) * lower + up * upper)
        area = _cross(along_row, along_column)
        row = row + _cross(error, along_column) / area
        column = column + _cross(along_row, error) / area
        # Not far beyond the edges: the cell there is no guide.
        low, high = 0.0 * row - 0.5, 0.0 * row
        return (
            xp.minimum(xp.maximum(row, low), high + (rows - 0.5)),
            xp.minimum(xp.maximum(column, low), high + (columns - 0.5)),
        )

    def direction(self, axis: int) -> np.ndarray:
        """Return the angle (n, e) from east to rising numbers of rows (axis 0) or columns, rad."""
        east = np.gradient(self.longitude, axis=axis) * np.cos(np.radians(self.latitude))
        return np.arctan2(np.gradient(self.latitude, axis=axis), east)


def s_level_depths(
    standard_name: str, s: np.ndarray, terms: dict[str, Any], depth: np.ndarray, level: np.ndarray
) -> np.ndarray:
    """Return the depths (t, z, n, e) of terrain-following levels below the surface, m.

    With the height ζ of the surface and the depth h, by the CF conventions 1.11, appendix D::

        ocean_sigma_coordinate   d = −(h + ζ) σ
        ocean_s_coordinate_g1    d = −(h + ζ) (h_c s + (h − h_c) C) / h
        ocean_s_coordinate_g2    d = −(h + ζ) (h_c s + h C) / (h_c + h)

    Args:
        standard_name: of the vertical coordinate.
        s: (z,) σ or s, −1 at the bottom to 0 at the surface.
        terms: C (z,) and depth_c, m, of s-coordinates.
        depth: (n, e) h, m.
        level: (t, n, e) ζ, m.

    Raises:
        ParameterError: another coordinate.
    """
    total = np.maximum(depth + level, _LEAST_WATER)[:, None]
    levels = s[:, None, None]
    if standard_name == 'ocean_sigma_coordinate':
        return np.asarray(-total * levels)
    curve, critical = np.asarray(terms['C'])[:, None, None], float(terms['depth_c'])
    if standard_name == 'ocean_s_coordinate_g1':
        return np.asarray(-total * (critical * levels + (depth - critical) * curve) / depth)
    if standard_name == 'ocean_s_coordinate_g2':
        return np.asarray(-total * (critical * levels + depth * curve) / (critical + depth))
    raise ParameterError(
        f'vertical coordinate is {standard_name!r}; expected ocean_sigma_coordinate, '
        'ocean_s_coordinate_g1 or ocean_s_coordinate_g2'
    )
