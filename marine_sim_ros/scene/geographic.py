# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Grids in degrees of longitude and latitude (WGS84) as terrain in map."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['MapPlace', 'is_in_degrees', 'local_terrain', 'outside']

_SEMI_MAJOR, _SQUARE_ECCENTRICITY = 6378137.0, 6.69437999014e-3
"""Of WGS84: m, and e²."""
_FINE, _COARSE = 0.01, 0.5
"""Cell sizes: below the first numbers within ±180 and ±90 are degrees, below the second where the
depths exceed the grid's own size."""
_MAX_POINTS = 4_000_000


@dataclass(frozen=True)
class MapPlace:
    """Latitude and longitude of the origin of map, and bearing of its y axis, degrees."""

    latitude: float
    longitude: float
    heading: float = 0.0


def is_in_degrees(grid: HeightMap) -> bool:
    """Return whether the numbers of a grid can hardly be anything but degrees."""
    (west, south), (east, north) = grid.extent
    # Longitudes go from −180 or from 0, and past the end where a grid lies across it.
    on_earth = west >= -180 and east <= 540 and south >= -90 and north <= 90
    size = max(east - west, north - south)
    deep = float(np.abs(grid.heights).max()) > size
    return bool(on_earth and deep and grid.spacing < _COARSE) or bool(
        on_earth and grid.spacing < _FINE and max(abs(west), abs(south)) > size
    )


def outside(grid: HeightMap, point: np.ndarray) -> float:
    """Return how far a point (2,) lies outside a grid over the grid's larger side; 0 inside."""
    low, high = grid.extent
    away = np.linalg.norm(np.maximum(np.maximum(low - point, point - high), 0.0))
    return float(away / np.max(high - low))


def local_terrain(grid: HeightMap, place: MapPlace, name: str) -> HeightMap:
    """Return a terrain in map, m, of a grid whose coordinates are degrees.

    East and north of the origin are (λ − λ₀) N cos φ₀ and (φ − φ₀) M with the ellipsoid's radii
    of curvature N = a/√(1 − e² sin² φ₀) and M = a (1 − e²)/(1 − e² sin² φ₀)^1.5 (WGS84).

    Args:
        grid: origin and spacing in degrees, longitude first.
        place: where map is.
        name: of the file, for messages.

    Raises:
        ParameterError: the origin lies outside the grid, farther than its own size.
    """
    latitude = math.radians(place.latitude)
    bend = 1 - _SQUARE_ECCENTRICITY * math.sin(latitude) ** 2
    metres = np.radians(1.0) * np.array(
        [
            _SEMI_MAJOR / math.sqrt(bend) * math.cos(latitude),
            _SEMI_MAJOR * (1 - _SQUARE_ECCENTRICITY) / bend**1.5,
        ]
    )
    low, high = grid.extent
    turns = 360.0 * round(((low[0] + high[0]) / 2 - place.longitude) / 360.0)
    origin = np.array([place.longitude + turns, place.latitude])
    if outside(grid, origin) > 1 or not metres[0] > 1.0:
        raise ParameterError(
            f'{name}: longitude {low[0]:g} to {high[0]:g}, latitude {low[1]:g} to {high[1]:g} '
            f'degrees; the origin of the environment, {place.latitude:g} north '
            f'{place.longitude:g} east, lies farther away than the grid is wide; expected an '
            'origin in it'
        )
    c, s = (f(math.radians(place.heading)) for f in (math.cos, math.sin))
    turn = np.array([[c, -s], [s, c]])  # v_map = R v of east and north
    corners = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
    corners = (corners - origin) * metres @ turn.T
    first, size = corners.min(axis=0), np.ptp(corners, axis=0)
    spacing = grid.spacing * float(metres.min())
    spacing = max(spacing, math.sqrt(float(size[0] * size[1]) / _MAX_POINTS))
    x, y = (first[i] + spacing * np.arange(math.ceil(size[i] / spacing) + 1) for i in range(2))
    points = np.stack(np.meshgrid(x, y), axis=-1) @ turn / metres + origin
    heights = np.asarray(grid.height(points[..., 0], points[..., 1]))
    return HeightMap(first, spacing, heights, grid.material)
