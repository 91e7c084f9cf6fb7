# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""NetCDF files of ocean models: their quantities, axes and numbers (CF conventions)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin

__all__ = [
    'AXES',
    'MAX_NODES',
    'OceanFile',
    'is_s_level',
    'read_coordinates',
    'variable_numbers',
    'read_quantity',
]

MAX_NODES = 4_000_000
"""Nodes of one field in memory, 32 MB."""


class _Quantity(NamedTuple):
    """CF standard names, names of variables without one, factors by unit, and limits."""

    standard: tuple[str, ...]
    names: tuple[str, ...]
    units: Mapping[str, float]
    low: float
    high: float


_SPEED = {'m s-1': 1.0, 'm/s': 1.0, 'm.s-1': 1.0, 'cm s-1': 0.01, 'cm/s': 0.01}
_CELSIUS = dict.fromkeys(
    ('degc', 'degrees_c', 'celsius', 'degree_celsius', 'degrees_celsius', 'c', '°c'), 1.0
)
_SALT = dict.fromkeys(('1', '', 'psu', '1e-3', '0.001', 'g kg-1', 'g/kg', 'pss-78'), 1.0)
_QUANTITIES = {
    'temperature': _Quantity(
        (
            'sea_water_temperature', 'sea_water_potential_temperature',
            'sea_water_conservative_temperature',
        ),
        ('water_temp', 'temperature', 'thetao', 'temp'), {**_CELSIUS, 'k': 1.0, 'kelvin': 1.0},
        -3.0, 45.0,
    ),
    'salinity': _Quantity(
        ('sea_water_practical_salinity', 'sea_water_salinity', 'sea_water_absolute_salinity'),
        ('so', 'salinity', 'salt', 'psal'), _SALT, 0.0, 45.0,
    ),
    'east': _Quantity(
        ('eastward_sea_water_velocity',), ('uo', 'water_u', 'u_eastward'), _SPEED, -20.0, 20.0
    ),
    'north': _Quantity(
        ('northward_sea_water_velocity',), ('vo', 'water_v', 'v_northward'), _SPEED, -20.0, 20.0
    ),
    'up': _Quantity(('upward_sea_water_velocity',), ('wo', 'w'), _SPEED, -20.0, 20.0),
    'along_rows': _Quantity(
        ('sea_water_x_velocity', 'sea_water_x_velocity_at_u_location'), ('u',), _SPEED, -20.0, 20.0
    ),
    'along_columns': _Quantity(
        ('sea_water_y_velocity', 'sea_water_y_velocity_at_v_location'), ('v',), _SPEED, -20.0, 20.0
    ),
    'chlorophyll': _Quantity(
        ('mass_concentration_of_chlorophyll_a_in_sea_water',), ('chl',),
        {'mg m-3': 1.0, 'mg/m3': 1.0, 'kg m-3': 1e6}, 0.0, 1000.0,
    ),
    'oxygen': _Quantity(
        ('mole_concentration_of_dissolved_molecular_oxygen_in_sea_water',), ('o2',),
        {'mmol m-3': 1 / 1.025, 'mol m-3': 1000 / 1.025}, 0.0, 1000.0,
    ),
    'turbidity': _Quantity(
        ('volume_beam_attenuation_coefficient_of_radiative_flux_in_sea_water',),
        ('beam_attenuation',), {'m-1': 1.0, '1/m': 1.0}, 0.0, 100.0,
    ),
}  # fmt: skip
AXES = ('time', 'depth', 'latitude', 'longitude')


class OceanFile:
    """A file's variables by quantity, and the variables of its axes."""

    def __init__(self, path: Path, data: Any) -> None:
        self.path, self._data = path, data
        self.found: dict[str, Any] = {}
        standard_names = {name for q in _QUANTITIES.values() for name in q.standard}
        variables = list(data.variables.values())
        for kind, quantity in _QUANTITIES.items():
            named = [v for v in variables if getattr(v, 'standard_name', '') in quantity.standard]
            named += [
                v
                for v in variables
                if v.name in quantity.names
                and getattr(v, 'standard_name', '') not in standard_names
            ]
            if named:
                self.found[kind] = named[0]
        if 'temperature' not in self.found or 'salinity' not in self.found:
            variable_names = ', '.join(list(data.variables)[:12])
            raise self.error(
                f'variables {variable_names}; expected temperature and salinity by CF names'
            )
        if ('along_rows' in self.found) != ('along_columns' in self.found):
            raise self.error('has one component of the current; expected both')
        horizontal = self.found['temperature'].dimensions[-2:]
        self.places = [
            v
            for kind in ('latitude', 'longitude')
            for v in variables
            if v.dimensions == horizontal and len(horizontal) == 2 and _axis_kind(v) == kind
        ][:2]
        """Latitude and longitude (n, e) of the nodes of a curvilinear grid."""

    def error(self, message: str) -> ParameterError:
        """Return a complaint about the file."""
        return ParameterError(f'{self.path}: {message}')

    def variable(self, name: str) -> Any:
        """Return a variable.

        Raises:
            ParameterError: there is none.
        """
        if name not in self._data.variables:
            raise self.error(f'has no variable {name}')
        return self._data.variables[name]

    def axis(self, dimension: str) -> tuple[str, Any]:
        """Return the axis of a dimension, and the variable of its coordinates, or None."""
        if len(self.places) == 2 and dimension in (dimensions := self.places[0].dimensions):
            return AXES[2 + dimensions.index(dimension)], None
        if dimension not in self._data.variables:
            raise self.error(
                f'dimension {dimension} has no coordinates; expected a grid over latitude and '
                'longitude, or rows and columns whose nodes have both'
            )
        variable = self._data.variables[dimension]
        if variable.dimensions != (dimension,):
            raise self.error(f'coordinates {dimension} are not one-dimensional')
        kind = _axis_kind(variable)
        if not kind:
            raise self.error(f'dimension {dimension} is no time, depth, latitude or longitude')
        unit = str(getattr(variable, 'units', '')).lower()
        if kind == 'depth' and not is_s_level(variable) and unit not in _METRES:
            raise self.error(f'depths {dimension} have the unit {unit!r}; expected m')
        return kind, variable


_METRES = ('m', 'meter', 'meters', 'metres')


def _axis_kind(variable: Any) -> str:
    """Return the axis whose coordinates a variable has, or empty."""
    unit = str(getattr(variable, 'units', '')).lower()
    standard = str(getattr(variable, 'standard_name', '')).lower()
    if ' since ' in unit:
        return 'time'
    if unit.startswith(('degrees_n', 'degree_n')) or standard == 'latitude':
        return 'latitude'
    if unit.startswith(('degrees_e', 'degree_e')) or standard == 'longitude':
        return 'longitude'
    is_vertical = standard == 'depth' or str(getattr(variable, 'axis', '')).upper() == 'Z'
    return 'depth' if is_vertical or is_s_level(variable) else ''


def is_s_level(variable: Any) -> bool:
    """Whether coordinates are levels that follow the seabed."""
    return str(getattr(variable, 'standard_name', '')).startswith('ocean_s')


def variable_numbers(variable: Any, key: Any = Ellipsis) -> np.ndarray:
    """Return the numbers of a part of a variable; NaN where it has none."""
    return np.asarray(np.ma.filled(np.ma.asarray(variable[key], dtype=float), np.nan))


def read_coordinates(
    file: OceanFile, name: str, axis: Any, origin: Origin, start: datetime | None
) -> np.ndarray:
    """Return coordinates (n,) of an axis: s of the run, m of depth, −s, or degrees."""
    raw = variable_numbers(axis)
    if not np.all(np.isfinite(raw)) or (np.any(np.diff(raw) <= 0) and np.any(np.diff(raw) >= 0)):
        raise file.error(f'coordinates {axis.name} are not in order')
    if name == 'time':
        return _seconds(file, axis, raw, start)
    if name == 'depth' and is_s_level(axis):
        if raw.min() < -1 or raw.max() > 0:
            raise file.error(
                f'levels {axis.name} are {raw.min():g} to {raw.max():g}; expected -1 to 0'
            )
        return -raw
    if name == 'depth':
        down = str(getattr(axis, 'positive', 'down')).lower() != 'up'
        raw = raw if down else -raw
        if raw.min() < 0 or raw.max() > 12_000:
            raise file.error(f'depths {axis.name} are {raw.min():g} to {raw.max():g} m')
        return raw
    limit = 90.0 if name == 'latitude' else 540.0
    if np.abs(raw).max() > limit:
        raise file.error(f'{name} {axis.name} is {raw.min():g} to {raw.max():g} degrees')
    middle = origin.latitude if name == 'latitude' else origin.longitude
    if name == 'longitude':
        raw = raw - 360.0 * round((raw.mean() - middle) / 360.0)
    if not raw.min() <= middle <= raw.max():
        raise file.error(
            f'{name} is {raw.min():g} to {raw.max():g} degrees; the origin, {middle:g}, is outside'
        )
    return raw


def _seconds(file: OceanFile, axis: Any, raw: np.ndarray, start: datetime | None) -> np.ndarray:
    """Return times (n,) of the run, s."""
    netcdf = require('netCDF4', 'ocean data from NetCDF files')
    calendar = str(getattr(axis, 'calendar', 'standard'))
    first = float(raw.min())
    if start is not None:
        first = float(netcdf.date2num(start.replace(tzinfo=None), axis.units, calendar))
        if len(raw) > 1 and not raw.min() <= first <= raw.max():
            ends = [str(netcdf.num2date(x, axis.units, calendar)) for x in (raw.min(), raw.max())]
            raise file.error(f'time is {ends[0]} to {ends[1]}; start is {start}')
    epoch = netcdf.num2date([0, 1], axis.units, calendar)
    return (raw - first) * float((epoch[1] - epoch[0]).total_seconds())


def read_quantity(
    file: OceanFile,
    kind: str,
    variable: Any,
    dimensions: tuple[str, ...],
    axes: Mapping[str, Any],
    windows: Mapping[str, slice],
) -> np.ndarray:
    """Return a quantity (t, z, y, x) in its unit; NaN where the file has none."""
    names = [file.axis(d)[0] for d in dimensions]
    shape = file.found['temperature'].shape
    if variable.dimensions != dimensions and not _is_staggered(variable.shape, shape):
        raise file.error(
            f'{variable.name} is over {variable.dimensions}; expected {dimensions}, as temperature'
        )
    key = tuple(windows[name] for name in names)
    sizes = [len(range(*k.indices(n))) for k, n in zip(key, shape, strict=True)]
    if math.prod(sizes) > MAX_NODES:
        raise file.error(
            f'{variable.name} has {math.prod(sizes)} nodes within reach; expected {MAX_NODES} at '
            'most: a smaller reach, or a file of fewer times'
        )
    quantity, unit = _QUANTITIES[kind], str(getattr(variable, 'units', '')).strip().lower()
    if unit not in quantity.units:
        expected_units = ', '.join(sorted(u for u in quantity.units if u))
        raise file.error(
            f'unit of {variable.name} is {unit[:40]!r}; expected one of: {expected_units}'
        )
    numbers = _at_nodes(variable, key, shape) * quantity.units[unit]
    if unit in ('k', 'kelvin'):
        numbers = numbers - 273.15
    if not np.any(np.isfinite(numbers)):
        raise file.error(f'{variable.name} has no value within reach of the origin')
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    if low < quantity.low or high > quantity.high:
        raise file.error(
            f'{variable.name} is {low:g} to {high:g}; expected {quantity.low:g} to '
            f'{quantity.high:g} as {kind}'
        )
    order = sorted(range(len(names)), key=lambda i: AXES.index(names[i]))
    numbers = numbers.transpose(order)
    missing = [i for i, name in enumerate(AXES) if name not in names]
    return np.expand_dims(numbers, missing)


def _is_staggered(shape: tuple[int, ...], nodes: tuple[int, ...]) -> bool:
    """Whether a variable is on the sides of cells: one fewer or one more along some axes."""
    return len(shape) == len(nodes) and all(
        abs(a - b) <= 1 for a, b in zip(shape, nodes, strict=True)
    )


def _at_nodes(variable: Any, key: tuple[slice, ...], nodes: tuple[int, ...]) -> np.ndarray:
    """Return the numbers of a variable in a window of the nodes; NaN where it has none.

    Those on the sides of cells are means of the two beside a node, of the one at an edge.
    """
    windows, neighbours = [], []
    for window, size, count in zip(key, variable.shape, nodes, strict=True):
        index = np.arange(count)[window]
        shift = {0: (0, 0), -1: (-1, 0), 1: (0, 1)}[size - count]
        pair = [np.clip(index + s, 0, size - 1) for s in shift]
        low = int(pair[0][0])
        windows.append(slice(low, int(pair[1][-1]) + 1))
        neighbours.append([p - low for p in pair])
    numbers = variable_numbers(variable, tuple(windows))
    for axis, (before, after) in enumerate(neighbours):
        a, b = np.take(numbers, before, axis), np.take(numbers, after, axis)
        numbers = np.where(np.isnan(a), b, np.where(np.isnan(b), a, 0.5 * (a + b)))
    return numbers
