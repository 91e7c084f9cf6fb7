# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stratified water: fields of temperature, salinity and current; density and speed of sound.

The sea water's density and speed of sound are TEOS-10's, at the nodes of the grid. Between the
nodes every field is linear in time, depth and place, and beyond them it is constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin

__all__ = ['CURRENT', 'DEEPEST', 'WaterFields', 'refine_depths', 'sea_water']

CURRENT = ('east', 'north', 'up')
"""Names of the components of the current, m/s."""
DEEPEST = 11_000.0
"""Depth to which fields are given, m."""
_GAP, _RELATIVE_GAP = 1.0, 0.01
"""Largest distance of depths at which density is computed, m, and as a fraction of the depth."""


class SeaWater(NamedTuple):
    """Density in kg/m³ and speed of sound in m/s."""

    density: np.ndarray
    sound_speed: np.ndarray


def sea_water(
    temperature: np.ndarray,
    salinity: np.ndarray,
    depth: np.ndarray,
    latitude: float,
    longitude: float,
) -> SeaWater:
    """Return density and speed of sound (...) of sea water by TEOS-10.

    Absolute salinity and pressure are those of the place; the functions are the exact ones of
    the Gibbs function. Source: IOC, SCOR and IAPSO (2010), The international thermodynamic
    equation of seawater, equations 2.8.1 and 2.17.1.

    Args:
        temperature: (...) in situ, °C (ITS-90).
        salinity: (...) practical.
        depth: (...) m below the mean surface.
        latitude: degrees.
        longitude: degrees.

    Raises:
        MissingPackageError: gsw is not installed.
    """
    gsw = require('gsw', 'stratified water')
    pressure = gsw.p_from_z(-np.maximum(depth, 0.0), latitude)
    absolute = gsw.SA_from_SP(salinity, pressure, longitude, latitude)
    # Where the atlas of salinity anomalies has land, water has the reference composition.
    absolute = np.where(np.isfinite(absolute), absolute, gsw.SR_from_SP(salinity))
    return SeaWater(
        np.asarray(gsw.rho_t_exact(absolute, temperature, pressure)),
        np.asarray(gsw.sound_speed_t_exact(absolute, temperature, pressure)),
    )


def refine_depths(depth: np.ndarray) -> np.ndarray:
    """Return depths (m,) from 0 to 11,000 m with those given, at most 1 m or 1 % apart."""
    given_depths = np.unique(np.concatenate([depth, [0.0, DEEPEST]]))
    result = [given_depths[:1]]
    for above, below in pairwise(given_depths):
        gap = max(_GAP, _RELATIVE_GAP * above)
        result.append(np.linspace(above, below, int(np.ceil((below - above) / gap)) + 1)[1:])
    return np.concatenate(result)


class _Cell(NamedTuple):
    """Cell of an axis: number of its lower node, distance from that, and length, (...) each."""

    index: Array
    inside: Array
    length: Array

    @property
    def fraction(self) -> Array:
        """Position (...) in the cell, 0 to 1; beyond the ends of the axis that of the end."""
        xp = namespace(self.inside)
        ratio = self.inside / self.length
        return xp.minimum(xp.maximum(ratio, 0.0 * ratio), 0.0 * ratio + 1.0)


def _cell(axis: np.ndarray, position: Array) -> _Cell:
    xp = namespace(position)
    nodes = constant(xp, axis)
    index = xp.searchsorted(nodes, position, side='right') - 1
    index = xp.minimum(xp.maximum(index, 0 * index), 0 * index + len(axis) - 2)
    low = xp.take(nodes, index, axis=0)
    return _Cell(index, position - low, xp.take(nodes, index + 1, axis=0) - low)


@dataclass(frozen=True, eq=False)
class WaterFields:
    """Fields of the water on a grid of time, depth, latitude and longitude.

    Points are (..., 3) in map, m; times are of the simulation, s. Another axis of one node leaves
    its field the same all along it.

    Attributes:
        temperature: (t, z, n, e) in situ, °C.
        salinity: (t, z, n, e) practical.
        depth: (z,) ascending from 0, two or more, m below the mean surface.
        time: (t,) ascending, s.
        latitude: (n,) ascending, degrees.
        longitude: (e,) ascending, degrees, within half a turn of that of the origin.
        origin: place of map; it decides on the composition of the salt and on gravity.
        others: further fields (t, z, n, e) by name, among them the current's components.
    """

    temperature: np.ndarray
    salinity: np.ndarray
    depth: np.ndarray
    time: np.ndarray = field(default_factory=lambda: np.zeros(1))
    latitude: np.ndarray = field(default_factory=lambda: np.zeros(1))
    longitude: np.ndarray = field(default_factory=lambda: np.zeros(1))
    origin: Origin = field(default_factory=Origin)
    others: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ParameterError for axes and values that are no fields."""
        axes = self.time, self.depth, self.latitude, self.longitude
        for name, axis in zip(('time', 'depth', 'latitude', 'longitude'), axes, strict=True):
            if not len(axis) or not np.all(np.isfinite(axis)) or np.any(np.diff(axis) <= 0):
                raise ParameterError(f'{name} of the water is not ascending')
        if self.depth[0] != 0.0 or len(self.depth) < 2:
            raise ParameterError(
                f'depth of the water is {self.depth[:3]}; expected 0 m and at least another'
            )
        shape = tuple(map(len, axes))
        fields_by_name = {
            'temperature': self.temperature,
            'salinity': self.salinity,
            **self.others,
        }
        for name, values in fields_by_name.items():
            if values.shape != shape or not np.all(np.isfinite(values)):
                raise ParameterError(
                    f'{name} of the water has shape {values.shape}; expected finite numbers of '
                    f'shape {shape}'
                )

    @cached_property
    def _sea_water(self) -> SeaWater:
        depth = self.depth[:, None, None] + 0.0 * self.temperature
        coordinates = self.origin.latitude, self.origin.longitude
        return sea_water(self.temperature, self.salinity, depth, *coordinates)

    @cached_property
    def _density(self) -> np.ndarray:
        return self._sea_water.density

    @cached_property
    def _slowness(self) -> np.ndarray:
        return np.asarray(1.0 / self._sea_water.sound_speed)

    @cached_property
    def _mass(self) -> np.ndarray:
        """Mass of the water above per area, ∫ρ dz, kg/m²."""
        return self._from_surface(self._density)

    @cached_property
    def _delay(self) -> np.ndarray:
        """Time that sound takes from the surface straight down, ∫dz/c, s."""
        return self._from_surface(self._slowness)

    def _from_surface(self, values: np.ndarray) -> np.ndarray:
        steps = np.diff(self.depth)[:, None, None] * (values[:, 1:] + values[:, :-1]) / 2
        return np.concatenate([np.zeros_like(values[:, :1]), np.cumsum(steps, axis=1)], axis=1)

    @property
    def is_steady(self) -> bool:
        """Whether the fields are the same at all times."""
        return len(self.time) == 1

    @property
    def has_current(self) -> bool:
        """Whether the current is among the fields."""
        return bool(self.others.keys() & set(CURRENT))

    def value(self, name: str, points: Array, time: Array) -> Array:
        """Return a field (...) at points: temperature, salinity, or one of the others.

        Raises:
            KeyError: there is no such field.
        """
        fields_by_name = {'temperature': self.temperature, 'salinity': self.salinity}
        return self._linear(
            self.others[name] if name not in fields_by_name else fields_by_name[name], points, time
        )

    def density(self, points: Array, time: Array) -> Array:
        """Return ρ (...) at points, kg/m³."""
        return self._linear(self._density, points, time)

    def sound_speed(self, points: Array, time: Array) -> Array:
        """Return c (...) at points, m/s."""
        return 1.0 / self._linear(self._slowness, points, time)

    def mass_above(self, points: Array, time: Array) -> Array:
        """Return ∫ρ dz (...) from points up to the mean surface, kg/m²; 0 above it."""
        return self._integral(self._mass, self._density, points, time)

    def slowness_between(self, points: Array, others: Array, time: Array) -> Array:
        """Return the mean of 1/c (...) on straight lines between points, s/m.

        As the water is layered, that is the ratio of the vertical delay to the vertical distance,
        at the points; on a level line it is 1/c of the middle.
        """
        xp = namespace(points)
        drop = points[..., 2] - others[..., 2]
        delay = self._integral(self._delay, self._slowness, others, time) - self._integral(
            self._delay, self._slowness, points, time
        )
        is_steep = xp.abs(drop) > 1e-3
        middle = self._linear(self._slowness, 0.5 * (points + others), time)
        return xp.where(is_steep, delay / xp.where(is_steep, drop, 1.0 + 0.0 * drop), middle)

    def velocity(self, points: Array, time: Array) -> Array:
        """Return the current (..., 3) at points in map, m/s."""
        xp = namespace(points)
        none = 0.0 * points[..., 0]
        parts = [self.value(c, points, time) if c in self.others else none for c in CURRENT]
        return self.origin.in_map(xp.stack(parts, axis=-1))

    def _corners(self, points: Array, time: Array) -> list[tuple[Array, Array]]:
        """Return the nodes in time and place around points, and their weights, (...) each.

        A node is named by the number of its column's first value in the flattened fields.
        """
        rows, columns = len(self.latitude), len(self.longitude)
        cells = []
        if len(self.time) > 1:
            stride = len(self.depth) * rows * columns
            cells.append((self.time, time + 0.0 * points[..., 0], stride))
        if rows > 1 or columns > 1:
            north, east = self.origin.coordinates(points)
            cells += [(self.latitude, north, columns)] if rows > 1 else []
            cells += [(self.longitude, east, 1)] if columns > 1 else []
        corners: list[tuple[Array, Array]] = [(0, 1.0)]
        for axis, position, step in cells:
            cell = _cell(axis, position)
            first, fraction = cell.index * step, cell.fraction
            corners = [
                (start + first + offset, weight * part)
                for start, weight in corners
                for offset, part in ((0, 1.0 - fraction), (step, fraction))
            ]
        return corners

    def _at_level(
        self, values: np.ndarray, corners: list[tuple[Array, Array]], level: Array
    ) -> Array:
        """Return a field (...) at numbers of depths (...), linear in time and place."""
        xp = namespace(level)
        flat = constant(xp, values.reshape(-1))
        step = len(self.latitude) * len(self.longitude)
        total: Any = 0.0
        for start, weight in corners:
            total = total + weight * xp.take(flat, start + step * level, axis=0)
        return total

    def _linear(self, values: np.ndarray, points: Array, time: Array) -> Array:
        corners = self._corners(points, time)
        cell = _cell(self.depth, -points[..., 2])
        above = self._at_level(values, corners, cell.index)
        below = self._at_level(values, corners, cell.index + 1)
        return above + cell.fraction * (below - above)

    def _integral(self, sums: np.ndarray, values: np.ndarray, points: Array, time: Array) -> Array:
        """Return ∫ values dz (...) from the surface to points, with its sums at the nodes."""
        xp = namespace(points)
        depth = xp.maximum(-points[..., 2], 0.0 * points[..., 2])
        corners = self._corners(points, time)
        cell = _cell(self.depth, depth)
        above = self._at_level(values, corners, cell.index)
        below = self._at_level(values, corners, cell.index + 1)
        within = cell.fraction * cell.length
        return (
            self._at_level(sums, corners, cell.index)
            + within * (above + 0.5 * cell.fraction * (below - above))
            + (cell.inside - within) * below
        )
