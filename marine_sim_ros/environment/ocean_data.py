# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of the water from NetCDF files of ocean models and climatologies (CF conventions)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import check_file
from marine_sim_ros.core.geodesy import Origin, radii
from marine_sim_ros.core.processes import Limits, answer_request, call_isolated
from marine_sim_ros.environment.water_fields import DEEPEST, WaterFields

__all__ = ['read_fields', 'read_ocean_data']

_MAX_BYTES = 20_000_000_000
_MAX_NODES = 4_000_000
"""Nodes of one field in memory, 32 MB."""
_LIMITS = Limits(seconds=120, data=1 << 30)
"""Limits of the process that reads a user's file by a library."""
_LOG = logging.getLogger(__name__)


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
    'up': _Quantity(('upward_sea_water_velocity',), ('wo',), _SPEED, -20.0, 20.0),
    'chlorophyll': _Quantity(
        ('mass_concentration_of_chlorophyll_a_in_sea_water',), ('chl',),
        {'mg m-3': 1.0, 'mg/m3': 1.0, 'kg m-3': 1e6}, 0.0, 1000.0,
    ),
    'oxygen': _Quantity(
        ('mole_concentration_of_dissolved_molecular_oxygen_in_sea_water',), ('o2',),
        {'mmol m-3': 1 / 1.025, 'mol m-3': 1000 / 1.025}, 0.0, 1000.0,
    ),
}  # fmt: skip
_AXES = ('time', 'depth', 'latitude', 'longitude')


def read_ocean_data(
    path: Path, origin: Origin, start: datetime | None, reach: float
) -> WaterFields:
    """Return the fields of a NetCDF file around the origin of map.

    The grid has axes of time, depth, latitude and longitude, of which any may be missing, each
    with a coordinate variable. Where the file has no water, on land and below the bottom, the
    nearest water of the same depth holds, and below the deepest the deepest.

    Args:
        path: NetCDF, with variables by CF standard names or by those of Copernicus and HYCOM.
        origin: place of map.
        start: UTC date of the time 0 of the run; None: the first time of the file.
        reach: distance from the origin to which the file is read, m.

    Raises:
        ParameterError: one line with what is wrong.
        MissingPackageError: netCDF4 or gsw is not installed.
    """
    require('netCDF4', 'ocean data from NetCDF files')
    require('gsw', 'stratified water')
    check_file(path, _MAX_BYTES, ParameterError)
    request = path, origin, start, reach
    answer = call_isolated(__name__, request, f'{path}: netCDF4', _LIMITS, ParameterError)
    fields, gaps = answer
    assert isinstance(fields, WaterFields)
    if gaps:
        _LOG.warning(
            f'{path.name}: {gaps:.0%} of its nodes have no water; the nearest of their depth '
            'holds, below the deepest the deepest'
        )
    return fields


def read_fields(
    path: Path, origin: Origin, start: datetime | None, reach: float
) -> tuple[WaterFields, float]:
    """Read as :func:`read_ocean_data`, and the fraction of nodes without water.

    It calls the library in this process.

    Raises:
        ParameterError: one line with what is wrong.
    """
    netcdf = require('netCDF4', 'ocean data from NetCDF files')
    try:
        with netcdf.Dataset(path) as data:
            return _fields(_File(path, data), origin, start, reach)
    except (OSError, RuntimeError, ValueError, KeyError, IndexError, TypeError) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise ParameterError(f'{path}: cannot be read as NetCDF: {reason}') from None


class _File:
    """A file's variables by quantity, and the variables of its axes."""

    def __init__(self, path: Path, data: Any) -> None:
        self.path, self._data = path, data
        self.found: dict[str, Any] = {}
        for kind, quantity in _QUANTITIES.items():
            variables = list(data.variables.values())
            named = [v for v in variables if getattr(v, 'standard_name', '') in quantity.standard]
            named += [data.variables[n] for n in quantity.names if n in data.variables]
            if named:
                self.found[kind] = named[0]
        if 'temperature' not in self.found or 'salinity' not in self.found:
            variable_names = ', '.join(list(data.variables)[:12])
            raise self.error(
                f'variables {variable_names}; expected temperature and salinity by CF names'
            )

    def error(self, message: str) -> ParameterError:
        """Return a complaint about the file."""
        return ParameterError(f'{self.path}: {message}')

    def axis(self, dimension: str) -> tuple[str, Any]:
        """Return the axis of a dimension, and the variable of its coordinates."""
        if dimension not in self._data.variables:
            raise self.error(
                f'dimension {dimension} has no coordinates of one dimension; expected a grid over '
                'latitude and longitude: convert a curvilinear one, for example by cdo remapbil'
            )
        variable = self._data.variables[dimension]
        if variable.dimensions != (dimension,):
            raise self.error(f'coordinates {dimension} are not one-dimensional')
        unit = str(getattr(variable, 'units', '')).lower()
        standard = str(getattr(variable, 'standard_name', '')).lower()
        if ' since ' in unit:
            return 'time', variable
        if unit.startswith(('degrees_n', 'degree_n')) or standard == 'latitude':
            return 'latitude', variable
        if unit.startswith(('degrees_e', 'degree_e')) or standard == 'longitude':
            return 'longitude', variable
        if standard == 'depth' or str(getattr(variable, 'axis', '')).upper() == 'Z':
            if unit not in ('m', 'meter', 'meters', 'metres'):
                raise self.error(f'depths {dimension} have the unit {unit!r}; expected m')
            return 'depth', variable
        raise self.error(f'dimension {dimension} is no time, depth, latitude or longitude')


def _fields(
    file: _File, origin: Origin, start: datetime | None, reach: float
) -> tuple[WaterFields, float]:
    variable = file.found['temperature']
    axes = dict(file.axis(name) for name in variable.dimensions)
    if len(axes) != len(variable.dimensions):
        raise file.error(f'{variable.name} has two axes of one kind')
    known = {name: _coordinates(file, name, axis, origin, start) for name, axis in axes.items()}
    tall, wide = (math.degrees(reach / float(r)) for r in radii(origin.latitude))
    windows = {
        'time': _window(known.get('time'), 0.0, math.inf),
        'depth': _window(known.get('depth'), 0.0, math.inf),
        'latitude': _window(known.get('latitude'), *(origin.latitude + tall * s for s in (-1, 1))),
        'longitude': _window(
            known.get('longitude'), *(origin.longitude + wide * s for s in (-1, 1))
        ),
    }
    values = {
        kind: _read(file, kind, found, variable.dimensions, axes, windows)
        for kind, found in file.found.items()
    }
    coordinates = {
        name: known[name][windows[name]] if name in known else np.zeros(1) for name in _AXES
    }
    order = {name: np.argsort(axis, kind='stable') for name, axis in coordinates.items()}
    values = {kind: x[np.ix_(*(order[name] for name in _AXES))] for kind, x in values.items()}
    time, depth, latitude, longitude = (coordinates[name][order[name]] for name in _AXES)
    gaps = _fill(values)
    _to_measured(file, values, depth, origin)
    if depth[0] != 0.0:  # the uppermost water reaches up to the surface
        depth = np.concatenate([[0.0], depth])
        values = {k: np.concatenate([x[:, :1], x], axis=1) for k, x in values.items()}
    if len(depth) == 1:  # the water of the surface reaches down to the bottom
        depth = np.array([0.0, DEEPEST])
        values = {k: np.concatenate([x, x], axis=1) for k, x in values.items()}
    fields = WaterFields(
        values.pop('temperature'),
        values.pop('salinity'),
        depth,
        time,
        latitude,
        longitude,
        origin,
        values,
    )
    return fields, gaps


def _coordinates(
    file: _File, name: str, axis: Any, origin: Origin, start: datetime | None
) -> np.ndarray:
    """Return coordinates (n,) of an axis: s of the run, m of depth, or degrees."""
    raw: np.ndarray = np.ma.filled(np.ma.asarray(axis[:], dtype=float), np.nan)
    if not np.all(np.isfinite(raw)) or (np.any(np.diff(raw) <= 0) and np.any(np.diff(raw) >= 0)):
        raise file.error(f'coordinates {axis.name} are not in order')
    if name == 'time':
        return _seconds(file, axis, raw, start)
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


def _seconds(file: _File, axis: Any, raw: np.ndarray, start: datetime | None) -> np.ndarray:
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


def _window(axis: np.ndarray | None, low: float, high: float) -> slice:
    """Return the part of an axis that covers an interval: a node beyond each end, where one is."""
    if axis is None:
        return slice(None)
    inside = np.flatnonzero((axis >= low) & (axis <= high))
    if not len(inside):
        middle = low if math.isinf(high) else (low + high) / 2
        inside = np.array([int(np.argmin(np.abs(axis - middle)))])
    return slice(max(int(inside[0]) - 1, 0), int(inside[-1]) + 2)


def _read(
    file: _File, kind: str, variable: Any, dimensions: tuple[str, ...], axes: Mapping[str, Any],
    windows: Mapping[str, slice],
) -> np.ndarray:  # fmt: skip
    """Return a quantity (t, z, y, x) in its unit; NaN where the file has none."""
    if variable.dimensions != dimensions:
        raise file.error(
            f'{variable.name} is over {variable.dimensions}; expected {dimensions}, as temperature'
        )
    names = [file.axis(d)[0] for d in dimensions]
    key = tuple(windows[name] for name in names)
    sizes = [len(range(*k.indices(n))) for k, n in zip(key, variable.shape, strict=True)]
    if math.prod(sizes) > _MAX_NODES:
        raise file.error(
            f'{variable.name} has {math.prod(sizes)} nodes within reach; expected {_MAX_NODES} at '
            'most: a smaller reach, or a file of fewer times'
        )
    quantity, unit = _QUANTITIES[kind], str(getattr(variable, 'units', '')).strip().lower()
    if unit not in quantity.units:
        expected_units = ', '.join(sorted(u for u in quantity.units if u))
        raise file.error(
            f'unit of {variable.name} is {unit[:40]!r}; expected one of: {expected_units}'
        )
    numbers = (
        np.ma.filled(np.ma.asarray(variable[key], dtype=float), np.nan) * quantity.units[unit]
    )
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
    order = sorted(range(len(names)), key=lambda i: _AXES.index(names[i]))
    numbers = numbers.transpose(order)
    missing = [i for i, name in enumerate(_AXES) if name not in names]
    return np.expand_dims(numbers, missing)


def _fill(values: dict[str, np.ndarray]) -> float:
    """Fill gaps by the nearest water of the same depth, below the deepest by the level above.

    Returns:
        Fraction of the nodes that have no temperature.
    """
    from scipy.ndimage import distance_transform_edt

    lacking_water = float(np.mean(~np.isfinite(values['temperature'])))
    for field in values.values():
        gaps = ~np.isfinite(field)
        if not gaps.any():
            continue
        for level in np.ndindex(field.shape[:2]):
            lacking = gaps[level]
            if lacking.any() and not lacking.all():
                nearest = distance_transform_edt(
                    lacking, return_distances=False, return_indices=True
                )
                field[level] = field[level][tuple(nearest)]
        for time in range(field.shape[0]):
            _fill_downward(field[time])
    return lacking_water


def _fill_downward(column: np.ndarray) -> None:
    """Fill levels (z, y, x) without any value by the nearest level with one, from above first."""
    is_complete = np.isfinite(column).all(axis=(1, 2))
    levels = np.flatnonzero(is_complete)
    for level in np.flatnonzero(~is_complete).tolist():
        above = levels[levels < level]
        column[level] = column[above[-1] if len(above) else levels[0]]


def _to_measured(
    file: _File, values: dict[str, np.ndarray], depth: np.ndarray, origin: Origin
) -> None:
    """Make temperature that in situ, and salinity practical."""
    gsw = require('gsw', 'stratified water')
    names = {
        kind: str(getattr(file.found[kind], 'standard_name', ''))
        for kind in ('temperature', 'salinity')
    }
    if file.found['temperature'].name == 'thetao':
        names['temperature'] = 'sea_water_potential_temperature'
    pressure = gsw.p_from_z(-depth, origin.latitude)[:, None, None] + 0.0 * values['salinity']
    coordinates = origin.longitude, origin.latitude
    if names['salinity'] == 'sea_water_absolute_salinity':
        absolute = values['salinity']
        values['salinity'] = np.asarray(gsw.SP_from_SA(absolute, pressure, *coordinates))
    else:
        absolute = gsw.SA_from_SP(values['salinity'], pressure, *coordinates)
    temperature = values['temperature']
    if names['temperature'] == 'sea_water_potential_temperature':
        temperature = gsw.t_from_CT(absolute, gsw.CT_from_pt(absolute, temperature), pressure)
    elif names['temperature'] == 'sea_water_conservative_temperature':
        temperature = gsw.t_from_CT(absolute, temperature, pressure)
    values['temperature'] = np.asarray(temperature)


if __name__ == '__main__':
    answer_request(read_fields, ParameterError)
