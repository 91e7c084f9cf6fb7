# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads terrains from ESRI ASCII grids (.asc), the plain form in which bathymetry is given.

Their numbers are metres of map, or degrees of longitude and latitude.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import read_file
from marine_sim_ros.scene.geographic import MapPlace, is_in_degrees, local_terrain, outside
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['MAX_POINTS', 'read_grid']

MAX_POINTS = 4_000_000
_FARTHEST = 1e5
"""m from the origin of map; eastings of UTM are 1.66e5 and more."""
MAX_BYTES = 100_000_000
"""Size of a file: 4,000,000 heights of 25 characters."""
_HEADER = (
    'ncols',
    'nrows',
    'xllcorner',
    'yllcorner',
    'xllcenter',
    'yllcenter',
    'cellsize',
    'nodata_value',
)


def _header(lines: list[str], name: str) -> dict[str, float]:
    """Return the numbers of the header by their names in small letters."""
    values: dict[str, float] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if len(words) != 2 or words[0].lower() not in _HEADER:
            break
        try:
            value = float(words[1])
        except ValueError:
            raise ParameterError(
                f'{name}:{number}: {words[0]} is {words[1]!r}; expected a number'
            ) from None
        if not abs(value) < 1e12 or (words[0].lower() == 'cellsize' and value <= 0):
            raise ParameterError(f'{name}:{number}: {words[0]} is {value}; expected a length in m')
        values[words[0].lower()] = value
    for key in ('ncols', 'nrows', 'cellsize'):
        if key not in values:
            raise ParameterError(f'{name}: no {key} in its header; expected an ESRI ASCII grid')
    columns, rows = values['ncols'], values['nrows']
    if not (columns >= 2 and rows >= 2 and columns * rows <= MAX_POINTS):
        raise ParameterError(
            f'{name}: {columns:g} x {rows:g} points; expected 2 x 2 to {MAX_POINTS} in all'
        )
    return values


def _numbers(words: list[str], name: str) -> np.ndarray:
    try:
        return np.array(words, float)
    except ValueError as error:
        raise ParameterError(f'{name}: not a number among its heights: {error}') from None


@lru_cache(maxsize=8)
def read_grid(path: Path, material: str, place: MapPlace | None = None) -> HeightMap:
    """Return the terrain of a file whose coordinates are map's x, y and z, m, or degrees and m.

    Args:
        path: path of the file.
        material: name of its material.
        place: where map is on the Earth, for degrees; None: nobody knows.

    Raises:
        ParameterError: it cannot be read, is no such grid, has points without a height, or
            coordinates of which none are near map.
    """
    name = str(path)
    try:
        lines = read_file(path, MAX_BYTES, ParameterError).decode('ascii').splitlines()
    except ValueError:
        raise ParameterError(f'{name}: not ASCII text; expected an ESRI ASCII grid') from None
    header = _header(lines[: len(_HEADER)], name)
    rows, columns = int(header['nrows']), int(header['ncols'])
    heights = _numbers(' '.join(lines[len(header) :]).split(), name)
    if heights.size != rows * columns:
        raise ParameterError(
            f'{name}: {heights.size} heights; expected {rows} rows of {columns} numbers'
        )
    if not np.all(np.isfinite(heights)) or np.any(heights == header.get('nodata_value', -9999.0)):
        raise ParameterError(f'{name}: points without a height; expected one everywhere')
    # A value stands in the middle of its cell; rows come from the north.
    corner = header['cellsize'] / 2
    origin = [
        header[f'{axis}llcenter']
        if f'{axis}llcenter' in header
        else header.get(f'{axis}llcorner', 0.0) + corner
        for axis in 'xy'
    ]
    grid = heights.reshape(rows, columns)[::-1]
    terrain = HeightMap(np.array(origin), header['cellsize'], grid, material)
    return _in_map(terrain, place, name)


def _in_map(terrain: HeightMap, place: MapPlace | None, name: str) -> HeightMap:
    """Return a terrain in map, of one that may be in degrees.

    Raises:
        ParameterError: it is in degrees of an unknown place, or in metres of a projection.
    """
    (west, south), (east, north) = terrain.extent
    text = f'{name}: x {west:.9g} to {east:.9g}, y {south:.9g} to {north:.9g}'
    if is_in_degrees(terrain):
        if place is None:
            raise ParameterError(
                f'{text} are degrees of longitude and latitude; expected m of map, or the '
                "environment's origin: {latitude: ..., longitude: ...}, to place them"
            )
        return local_terrain(terrain, place, name)
    if np.abs([west, south]).max() > _FARTHEST and outside(terrain, np.zeros(2)) > 1:
        raise ParameterError(
            f'{text} m lie far from the origin of map, as eastings and northings of a projection '
            "(UTM) do; expected m of map: subtract the origin's easting and northing from "
            'xllcorner and yllcorner'
        )
    return terrain
