# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stratified water: fields of temperature, salinity and current; density and speed of sound.

The sea water's density and speed of sound are TEOS-10's, at the nodes of the grid. Between the
nodes every field is linear in time, depth and place, and beyond them it is constant. The grid is
one of latitudes and longitudes, or curvilinear, and its levels have a depth each, or follow the
seabed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, counted_loop, is_numeric, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.schema import REQUIRED, declaration, fields_of, number
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.environment.curvilinear import CurvilinearGrid

__all__ = [
    'DEEPEST',
    'WaterFields',
    'WaterPoint',
    'check_depths',
    'layered_water',
    'profile_columns',
    'read_points',
    'refine_depths',
    'sea_water',
]

CURRENT = ('east', 'north', 'up')
"""Names of the components of the current, m/s."""
DEEPEST = 11_000.0
"""Depth to which fields are given, m."""
_GAP, _RELATIVE_GAP = 1.0, 0.01
"""Largest distance of depths at which density is computed, m, and as a fraction of the depth."""


_ONE_COLUMN = np.zeros(1, int), np.ones(1)
"""Nodes and weights of water that is the same at all times and places."""


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


class _Profile:
    """Values over depths in m. Who asks is mostly in the layer of the last answer."""

    def __init__(self, depths: np.ndarray, values: np.ndarray) -> None:
        self._depths, self._values = depths.reshape(-1).tolist(), values.reshape(-1).tolist()
        self._layer = 0, np.inf, np.inf, 0.0, 0.0

    def layer(self, depth: float) -> tuple[int, float, float, float, float]:
        """Return the number of a layer, its depths, and the values at these, upper ones first."""
        _, top, bottom, _, _ = self._layer
        if not top <= depth < bottom:
            depths, values = self._depths, self._values
            i = min(max(bisect_right(depths, depth) - 1, 0), len(depths) - 2)
            self._layer = i, depths[i], depths[i + 1], values[i], values[i + 1]
        return self._layer

    def at(self, depth: float) -> float:
        """Return the value at a depth in m."""
        _, top, bottom, above, below = self.layer(depth)
        fraction = (depth - top) / (bottom - top)
        return above + min(max(fraction, 0.0), 1.0) * (below - above)

    def integral(self, sums: np.ndarray, depth: float) -> float:
        """Return the integral of the values from the surface, given those at the nodes (z,)."""
        index, top, bottom, above, below = self.layer(depth)
        inside, length = depth - top, bottom - top
        fraction = min(max(inside / length, 0.0), 1.0)
        within = fraction * length
        mean = above + 0.5 * fraction * (below - above)
        return float(sums.item(index) + within * mean + (inside - within) * below)


@dataclass(frozen=True, eq=False)
class WaterFields:
    """Fields of the water on a grid of time, depth, latitude and longitude.

    Points are (..., 3) in map, m; times are of the simulation, s. Another axis of one node leaves
    its field the same all along it.

    Attributes:
        temperature: (t, z, n, e) in situ, °C.
        salinity: (t, z, n, e) practical.
        depth: (z,) ascending from 0, two or more, m below the mean surface; (t, z, n, e) of
            levels that follow the seabed.
        time: (t,) ascending, s.
        latitude: (n,) ascending, degrees; (n, e) of a curvilinear grid.
        longitude: (e,) ascending, degrees, within half a turn of that of the origin; or (n, e).
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
        axes = {'time': self.time}
        if self.depth.ndim == 1:
            axes['depth'] = self.depth
        if self._grid is None:
            axes |= {'latitude': self.latitude, 'longitude': self.longitude}
        for name, axis in axes.items():
            if not len(axis) or not np.all(np.isfinite(axis)) or np.any(np.diff(axis) <= 0):
                raise ParameterError(f'{name} of the water is not ascending')
        depth = self._depth_at_nodes
        if not np.all(depth[:, 0] == 0) or self._levels < 2:
            raise ParameterError(
                f'depth of the water is {depth[0, :3, 0, 0]}; expected 0 m and at least another'
            )
        shape = (len(self.time), self._levels, *self._rows_and_columns)
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
        if self.depth.ndim > 1 and (
            depth.shape != shape or not np.all(np.diff(depth, axis=1) > 0)
        ):
            raise ParameterError('levels of the water are not ascending everywhere')

    @cached_property
    def _grid(self) -> CurvilinearGrid | None:
        """Curvilinear grid, or None where latitude and longitude are axes."""
        if self.latitude.ndim == 1:
            return None
        return CurvilinearGrid(self.latitude, self.longitude)

    @property
    def _levels(self) -> int:
        return len(self.depth) if self.depth.ndim == 1 else self.depth.shape[1]

    @property
    def _depth_at_nodes(self) -> np.ndarray:
        """Depths (t, z, n, e) of the nodes, or (1, z, 1, 1) where they are the same, m."""
        return self.depth[None, :, None, None] if self.depth.ndim == 1 else self.depth

    @property
    def _rows_and_columns(self) -> tuple[int, int]:
        return len(self.latitude), self.longitude.shape[-1]

    @cached_property
    def _sea_water(self) -> SeaWater:
        depth = self._depth_at_nodes + 0.0 * self.temperature
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
        steps = np.diff(self._depth_at_nodes, axis=1) * (values[:, 1:] + values[:, :-1]) / 2
        return np.concatenate([np.zeros_like(values[:, :1]), np.cumsum(steps, axis=1)], axis=1)

    @property
    def is_steady(self) -> bool:
        """Whether the fields are the same at all times."""
        return len(self.time) == 1

    @cached_property
    def is_profile(self) -> bool:
        """Whether the fields are those of a profile, the same at all times and places."""
        return type(self) is WaterFields and self.temperature.size == self._levels

    @cached_property
    def has_current(self) -> bool:
        """Whether the current is among the fields."""
        return bool(self.others.keys() & set(CURRENT))

    def beyond(self, points: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether points (n, 3) are beyond the area, and times (n,) beyond the times.

        An axis of one node has no ends.
        """
        is_late = np.zeros(len(points), bool)
        if len(self.time) > 1:
            is_late = (time < self.time[0]) | (time > self.time[-1])
        is_outside = np.zeros(len(points), bool)
        rows, columns = self._rows_and_columns
        if rows == 1 and columns == 1:
            return is_outside, is_late
        place = self.origin.coordinates(points)
        axes = [self.latitude, self.longitude]
        if self._grid is not None:  # beyond it a place has the numbers of its edge
            place = self._grid.locate(*place)
            axes = [np.array([1e-9, n - 1 - 1e-9]) for n in (rows, columns)]
        for axis, position in zip(axes, place, strict=True):
            if len(axis) > 1:
                is_outside |= (position < axis[0]) | (position > axis[-1])
        return is_outside, is_late

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
        components = [c for c in CURRENT if c in self.others]
        values = self._linear_each([self.others[c] for c in components], points, time)
        parts = dict(zip(components, values, strict=True))
        return self.origin.in_map(xp.stack([parts.get(c, none) for c in CURRENT], axis=-1))

    def _corners(self, points: Array, time: Array) -> tuple[Array, Array]:
        """Return the nodes in time and place around points, and their weights, (..., c) each.

        A node is named by the number of its column's first value in the flattened fields.
        """
        rows, columns = self._rows_and_columns
        cells = []
        if len(self.time) > 1:
            cell = _cell(self.time, time + 0.0 * points[..., 0])
            cells.append((cell, self._levels * rows * columns))
        if rows > 1 or columns > 1:
            place = self.origin.coordinates(points)
            axes = [self.latitude, self.longitude]
            if self._grid is not None:
                place = self._grid.locate(*place)
                axes = [np.arange(float(rows)), np.arange(float(columns))]
            for axis, position, step in zip(axes, place, (columns, 1), strict=True):
                cells += [(_cell(axis, position), step)] if len(axis) > 1 else []
        corners: list[tuple[Array, Array]] = [(0, 1.0)]
        for cell, step in cells:
            first, fraction = cell.index * step, cell.fraction
            corners = [
                (start + first + offset, weight * part)
                for start, weight in corners
                for offset, part in ((0, 1.0 - fraction), (step, fraction))
            ]
        if len(corners) == 1:
            return _ONE_COLUMN
        xp = namespace(corners[0][1])
        starts, weights = zip(*corners, strict=True)
        return xp.stack(starts, axis=-1), xp.stack(weights, axis=-1)

    def _at_level(self, values: np.ndarray, corners: tuple[Array, Array], level: Array) -> Array:
        """Return a field (...) at numbers of depths (...), linear in time and place."""
        xp, (starts, weights) = namespace(level), corners
        flat = constant(xp, values.reshape(-1))
        step = math.prod(self._rows_and_columns)
        if step == len(self.time) == 1:
            return xp.take(flat, level, axis=0)
        nodes = xp.take(flat, starts + step * level[..., None], axis=0)
        return xp.sum(weights * nodes, axis=-1)

    def _linear(self, values: np.ndarray, points: Array, time: Array) -> Array:
        if self.is_profile and is_numeric(points) and points.ndim == 1:
            return np.float64(self._profiles[id(values)].at(-points.item(2)))
        return self._linear_each([values], points, time)[0]

    @cached_property
    def _profiles(self) -> dict[int, _Profile]:
        """Fields of a profile for one known place: in a tenth of the time for arrays."""
        fields = (self.temperature, self.salinity, self._density, self._slowness)
        return {
            id(values): _Profile(self.depth, values) for values in (*fields, *self.others.values())
        }

    def _linear_each(
        self, fields: Sequence[np.ndarray], points: Array, time: Array
    ) -> list[Array]:
        """Return several fields (...) at points."""
        corners = self._corners(points, time)
        cell = self._layer(-points[..., 2], corners)
        pairs = [[self._at_level(x, corners, cell.index + i) for i in (0, 1)] for x in fields]
        return [above + cell.fraction * (below - above) for above, below in pairs]

    def _layer(self, depth: Array, corners: tuple[Array, Array]) -> _Cell:
        """Return the cells (...) between levels at depths (...) in m."""
        if self.depth.ndim == 1:
            return _cell(self.depth, depth)
        xp, last = namespace(depth), self._levels - 2
        level = xp.astype(0.0 * depth, xp.int32)
        steps = 1 << np.arange(last.bit_length())[::-1]

        def bisect(level: Array, i: Array) -> Array:
            lower = xp.minimum(level + xp.take(constant(xp, steps), i), 0 * level + last)
            lower = xp.astype(lower, level.dtype)
            return xp.where(self._at_level(self.depth, corners, lower) <= depth, lower, level)

        level = counted_loop(xp, len(steps), bisect, level)  # the deepest level above
        top, bottom = (self._at_level(self.depth, corners, level + i) for i in (0, 1))
        return _Cell(level, depth - top, bottom - top)

    def _integral(self, sums: np.ndarray, values: np.ndarray, points: Array, time: Array) -> Array:
        """Return ∫ values dz (...) from the surface to points, with its sums at the nodes."""
        if self.is_profile and is_numeric(points) and points.ndim == 1:
            depth = max(-points.item(2), 0.0)
            return np.float64(self._profiles[id(values)].integral(sums, depth))
        xp = namespace(points)
        depth = xp.maximum(-points[..., 2], 0.0 * points[..., 2])
        corners = self._corners(points, time)
        if self.depth.ndim > 1:
            return self._integral_of_columns(values, depth, corners)
        cell = _cell(self.depth, depth)
        above = self._at_level(values, corners, cell.index)
        below = self._at_level(values, corners, cell.index + 1)
        within = cell.fraction * cell.length
        return (
            self._at_level(sums, corners, cell.index)
            + within * (above + 0.5 * cell.fraction * (below - above))
            + (cell.inside - within) * below
        )

    def _integral_of_columns(
        self, values: np.ndarray, depth: Array, corners: tuple[Array, Array]
    ) -> Array:
        """Return ∫ values dz (...) from the surface to depths (...), layer by layer.

        The depths of the levels and the values between the nodes are linear in place, so their
        product is not: the sums at the nodes are of no use.
        """
        xp = namespace(depth)
        number = constant(xp, np.arange(self._levels))
        number = number + xp.astype(0.0 * depth, number.dtype)[..., None]
        columns = corners[0][..., None, :], corners[1][..., None, :]
        marks, at = (self._at_level(x, columns, number) for x in (self.depth, values))
        top, length = marks[..., :-1], marks[..., 1:] - marks[..., :-1]
        layer = _Cell(number[..., :-1], depth[..., None] - top, length)
        mean = at[..., :-1] + 0.5 * layer.fraction * (at[..., 1:] - at[..., :-1])
        beyond = depth - marks[..., -1]
        beyond = xp.maximum(beyond, 0.0 * beyond) * at[..., -1]
        return xp.sum(layer.fraction * length * mean, axis=-1) + beyond


# Profiles: points over depth, and the fields that they give at all times and places.


@declaration(frozen=True)
class WaterPoint:
    """Water at a depth; a quantity is given at every depth, or at none."""

    depth: float = number(REQUIRED, 0.0, DEEPEST, 'm', 'depth; points are in its order')
    temperature: float | None = number(None, -2.5, 40.0, '°C', 'temperature in situ')
    salinity: float | None = number(None, 0.0, 42.0, '', 'practical salinity')
    oxygen: float | None = number(None, 0.0, 1000.0, 'µmol/kg', 'dissolved oxygen')
    chlorophyll: float | None = number(None, 0.0, 1000.0, 'mg/m³', 'chlorophyll')
    turbidity: float | None = number(
        None, 0.0, 100.0, '1/m', 'attenuation that particles add, for cameras'
    )


def check_depths(reader: YamlReader, depths: Sequence[float]) -> None:
    """Raise an error where the depths of a profile, m, do not rise, or are none."""
    if not depths or any(b <= a for a, b in pairwise(depths)):
        raise reader.error(': expected points in the order of their depth, at least one')


def read_points(reader: YamlReader) -> tuple[WaterPoint, ...]:
    """Return the points of a profile.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    points = tuple(item.read(WaterPoint) for item in reader.items())
    check_depths(reader, [point.depth for point in points])
    for name in fields_of(WaterPoint):
        given = [getattr(point, name) is not None for point in points]
        if any(given) and not all(given):
            raise reader.error(f': {name} is missing at some depths; expected it at all or none')
    return points


def profile_columns(points: Sequence[WaterPoint]) -> dict[str, np.ndarray]:
    """Return the quantities (n,) of the points of a profile, depth among them."""
    columns = {name: [getattr(point, name) for point in points] for name in fields_of(WaterPoint)}
    return {name: np.array(x) for name, x in columns.items() if x[0] is not None}


def layered_water(
    profile: Mapping[str, np.ndarray], temperature: float, salinity: float, origin: Origin
) -> WaterFields:
    """Return the fields of a profile, linear between its depths, the same everywhere.

    Args:
        profile: quantities (n,) by name; depth, m, among them.
        temperature: °C, where the profile has none.
        salinity: practical, where the profile has none.
        origin: place of map.
    """
    depth = refine_depths(profile['depth'])
    values = {
        'temperature': np.full_like(depth, temperature),
        'salinity': np.full_like(depth, salinity),
    }
    for name, column in profile.items():
        if name != 'depth':
            values[name] = np.interp(depth, profile['depth'], column)
    columns = {name: x[None, :, None, None] for name, x in values.items()}
    return WaterFields(
        columns.pop('temperature'), columns.pop('salinity'), depth, others=columns, origin=origin
    )
