# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of the water from NetCDF files of ocean models and climatologies (CF conventions)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import check_file
from marine_sim_ros.core.geodesy import Origin, radii
from marine_sim_ros.core.processes import Limits, answer_request, call_isolated
from marine_sim_ros.environment.curvilinear import CurvilinearGrid, s_level_depths
from marine_sim_ros.environment.ocean_file import (
    AXES,
    OceanFile,
    is_s_level,
    read_coordinates,
    read_quantity,
    variable_numbers,
)
from marine_sim_ros.environment.water_fields import DEEPEST, WaterFields

__all__ = ['read_fields', 'read_ocean_data']

_MAX_BYTES = 20_000_000_000
_LIMITS = Limits(seconds=120, data=1 << 30)
"""Limits of the process that reads a user's file by a library."""
_LOG = logging.getLogger(__name__)


def read_ocean_data(
    path: Path, origin: Origin, start: datetime | None, reach: float
) -> WaterFields:
    """Return the fields of a NetCDF file around the origin of map.

    The grid has axes of time, depth, latitude and longitude, of which any may be missing, each
    with a coordinate variable; or rows and columns whose nodes have a latitude and a longitude
    each (NEMO, ROMS); or levels that follow the seabed (ROMS, POM), whose depths are those below
    the file's surface. Velocities along rows and columns, on the sides of cells too, become east
    and north at their middles. Where the file has no water, on land and below the bottom, the
    nearest water of the same level holds, and below the deepest the deepest.

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
            return _fields(OceanFile(path, data), origin, start, reach)
    except (OSError, RuntimeError, ValueError, KeyError, IndexError, TypeError) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise ParameterError(f'{path}: cannot be read as NetCDF: {reason}') from None


def _fields(
    file: OceanFile, origin: Origin, start: datetime | None, reach: float
) -> tuple[WaterFields, float]:
    variable = file.found['temperature']
    axes = dict(file.axis(name) for name in variable.dimensions)
    if len(axes) != len(variable.dimensions):
        raise file.error(f'{variable.name} has two axes of one kind')
    known = {
        name: read_coordinates(file, name, axis, origin, start)
        for name, axis in axes.items()
        if axis is not None
    }
    tall, wide = (math.degrees(reach / float(r)) for r in radii(origin.latitude))
    south_west = origin.latitude - tall, origin.longitude - wide
    north_east = origin.latitude + tall, origin.longitude + wide
    is_s = 'depth' in axes and is_s_level(axes['depth'])
    windows = {
        'time': _window(known.get('time'), 0.0, math.inf),
        'depth': slice(None) if is_s else _window(known.get('depth'), 0.0, math.inf),
        'latitude': _window(known.get('latitude'), south_west[0], north_east[0]),
        'longitude': _window(known.get('longitude'), south_west[1], north_east[1]),
    }
    places = grid = None
    if len(file.places) == 2:
        places = _places(file, origin)
        windows |= _window_of_places(places, south_west, north_east)
    values = {
        kind: read_quantity(file, kind, found, variable.dimensions, axes, windows)
        for kind, found in file.found.items()
    }
    coordinates = {
        name: known[name][windows[name]] if name in known else np.arange(float(size))
        for name, size in zip(AXES, values['temperature'].shape, strict=True)
    }
    order = {name: np.argsort(axis, kind='stable') for name, axis in coordinates.items()}
    values = {kind: x[np.ix_(*(order[name] for name in AXES))] for kind, x in values.items()}
    time, depth, latitude, longitude = (coordinates[name][order[name]] for name in AXES)
    levels = _s_levels(file, axes, windows, order) if is_s else None
    gaps = _fill(values)
    _to_measured(file, values, depth[:, None, None] if levels is None else levels, origin)
    if places is not None:
        window = windows['latitude'], windows['longitude']
        latitude, longitude = (place[window] for place in places)
        grid = _curvilinear_grid(file, latitude, longitude, origin)
    _to_east_and_north(values, grid)
    depth, values = _with_surface(depth if levels is None else levels, values)
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


def _with_surface(
    depth: np.ndarray, values: dict[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return depths (z,) or (t, z, n, e) and fields up to the surface and down to the bottom.

    The uppermost water reaches up to the surface, and that of a surface alone down.
    """
    axis = 0 if depth.ndim == 1 else 1
    top = np.take(depth, [0], axis)
    if np.any(top != 0.0):
        depth = np.concatenate([0.0 * top, depth], axis)
        values = {k: np.concatenate([x[:, :1], x], axis=1) for k, x in values.items()}
    if depth.shape[axis] == 1:
        depth = np.concatenate([depth, depth + DEEPEST], axis)
        values = {k: np.concatenate([x, x], axis=1) for k, x in values.items()}
    return depth, values


# Curvilinear grids.


def _places(file: OceanFile, origin: Origin) -> tuple[np.ndarray, np.ndarray]:
    """Return latitude and longitude (n, e) of all nodes, degrees; NaN where there is none."""
    latitude, longitude = map(variable_numbers, file.places)
    with np.errstate(invalid='ignore'):
        away = np.mod(longitude - origin.longitude + 180.0, 360.0) - 180.0
    return latitude, origin.longitude + away


def _window_of_places(
    places: tuple[np.ndarray, np.ndarray],
    south_west: tuple[float, float],
    north_east: tuple[float, float],
) -> dict[str, slice]:
    """Return the rows and columns of the nodes in a box, and one beyond on each side."""
    within = [
        (axis >= low) & (axis <= high)
        for axis, low, high in zip(places, south_west, north_east, strict=True)
    ]
    inside = within[0] & within[1]
    if not inside.any():  # a grid wider than the reach: the nearest node
        middle = np.add(south_west, north_east) / 2
        distance = np.hypot(places[0] - middle[0], places[1] - middle[1])
        inside = distance == np.nanmin(distance)
    return {
        name: _window(inside.any(axis=1 - i).astype(float), 1.0, 1.0)
        for i, name in enumerate(AXES[2:])
    }


def _curvilinear_grid(
    file: OceanFile, latitude: np.ndarray, longitude: np.ndarray, origin: Origin
) -> CurvilinearGrid:
    """Return a curvilinear grid on which the origin lies.

    Raises:
        ParameterError: it is no grid that can be searched, or the origin is outside.
    """
    if not np.all(np.isfinite([latitude, longitude])):
        raise file.error('has nodes within reach without latitude or longitude')
    try:
        grid = CurvilinearGrid(latitude, longitude)
    except ParameterError as error:
        raise file.error(str(error)) from None
    place = np.array([origin.latitude]), np.array([origin.longitude])
    found = grid.place(*grid.locate(*place))
    if max(abs(float(a[0] - b[0])) for a, b in zip(found, place, strict=True)) > 1e-9:
        raise file.error(
            f'its grid has latitudes {np.min(latitude):g} to {np.max(latitude):g} and longitudes '
            f'{np.min(longitude):g} to {np.max(longitude):g} within reach; the origin, '
            f'{origin.latitude:g}, {origin.longitude:g}, is outside'
        )
    return grid


def _s_levels(
    file: OceanFile, axes: Mapping[str, Any], windows: Mapping[str, slice],
    order: Mapping[str, np.ndarray],
) -> np.ndarray:  # fmt: skip
    """Return the depths (t, z, n, e) of levels that follow the seabed, m below the surface."""
    s = axes['depth']
    words = str(getattr(s, 'formula_terms', '')).replace(':', ' ').split()
    terms = dict(zip(words[::2], words[1::2], strict=False))
    required_terms = {'depth', 'C', 'depth_c'} if 'sigma' not in s.standard_name else {'depth'}
    if missing := sorted(required_terms - terms.keys()):
        raise file.error(f'formula_terms of {s.name} lacks {", ".join(missing)}')
    window = windows['latitude'], windows['longitude']
    bottom = variable_numbers(file.variable(terms['depth']), window)
    if not np.any(bottom > 0):
        raise file.error(f'{terms["depth"]} has no depth within reach of the origin')
    level = np.zeros((len(order['time']), *bottom.shape))
    if 'eta' in terms:
        surface = file.variable(terms['eta'])
        is_over_time = surface.ndim == 3
        level[:] = variable_numbers(
            surface, (windows['time'], *window) if is_over_time else window
        )
    bottom = np.where(bottom > 0, bottom, np.nan)
    for layers in (bottom[None, None], level[:, None]):
        _fill_field(layers)
    numbers = {
        name: np.squeeze(variable_numbers(file.variable(terms[name])))
        for name in required_terms & {'C', 'depth_c'}
    }
    if 'C' in numbers:
        numbers['C'] = numbers['C'][order['depth']]
    columns = np.ix_(order['latitude'], order['longitude'])
    try:
        return s_level_depths(
            s.standard_name,
            variable_numbers(s)[order['depth']],
            numbers,
            bottom[columns],
            level[order['time']][:, columns[0], columns[1]],
        )
    except ParameterError as error:
        raise file.error(str(error)) from None


def _to_east_and_north(values: dict[str, np.ndarray], grid: CurvilinearGrid | None) -> None:
    """Turn velocities along rows and columns into east and north, unless these are there."""
    if 'along_rows' not in values:
        return
    x, y = values.pop('along_rows'), values.pop('along_columns')
    if 'east' in values and 'north' in values:
        return
    angles: tuple[Any, Any] = (0.0, np.pi / 2)
    if grid is not None:
        angles = grid.direction(axis=1), grid.direction(axis=0)
    values['east'] = np.cos(angles[0]) * x + np.cos(angles[1]) * y
    values['north'] = np.sin(angles[0]) * x + np.sin(angles[1]) * y


def _window(axis: np.ndarray | None, low: float, high: float) -> slice:
    """Return the part of an axis that covers an interval: a node beyond each end, where one is."""
    if axis is None:
        return slice(None)
    inside = np.flatnonzero((axis >= low) & (axis <= high))
    if not len(inside):
        middle = low if math.isinf(high) else (low + high) / 2
        inside = np.array([int(np.argmin(np.abs(axis - middle)))])
    return slice(max(int(inside[0]) - 1, 0), int(inside[-1]) + 2)


def _fill(values: dict[str, np.ndarray]) -> float:
    """Fill gaps by the nearest water of the same depth, below the deepest by the level above.

    Returns:
        Fraction of the nodes that have no temperature.
    """
    lacking_water = float(np.mean(~np.isfinite(values['temperature'])))
    for field in values.values():
        _fill_field(field)
    return lacking_water


def _fill_field(field: np.ndarray) -> None:
    """Fill gaps of a field (t, z, y, x)."""
    from scipy.ndimage import distance_transform_edt

    gaps = ~np.isfinite(field)
    if not gaps.any():
        return
    for level in np.ndindex(field.shape[:2]):
        lacking = gaps[level]
        if lacking.any() and not lacking.all():
            nearest = distance_transform_edt(lacking, return_distances=False, return_indices=True)
            field[level] = field[level][tuple(nearest)]
    for time in range(field.shape[0]):
        _fill_downward(field[time])


def _fill_downward(column: np.ndarray) -> None:
    """Fill levels (z, y, x) without any value by the nearest level with one, from above first."""
    is_complete = np.isfinite(column).all(axis=(1, 2))
    levels = np.flatnonzero(is_complete)
    for level in np.flatnonzero(~is_complete).tolist():
        above = levels[levels < level]
        column[level] = column[above[-1] if len(above) else levels[0]]


def _to_measured(
    file: OceanFile, values: dict[str, np.ndarray], depth: np.ndarray, origin: Origin
) -> None:
    """Make temperature at depths (..., z, n, e) that in situ, and salinity practical."""
    gsw = require('gsw', 'stratified water')
    names = {
        kind: str(getattr(file.found[kind], 'standard_name', ''))
        for kind in ('temperature', 'salinity')
    }
    name = file.found['temperature'].name
    if name == 'thetao' or (not names['temperature'] and depth.ndim == 4):  # ROMS's is potential
        names['temperature'] = 'sea_water_potential_temperature'
    pressure = gsw.p_from_z(-depth, origin.latitude) + 0.0 * values['salinity']
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
