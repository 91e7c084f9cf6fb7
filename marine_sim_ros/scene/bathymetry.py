# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bathymetry files: ESRI ASCII grids and soundings, in metres of map or in degrees (WGS84)."""

from __future__ import annotations

import logging
import math
import re
from functools import lru_cache
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import read_file
from marine_sim_ros.core.geodesy import TangentPlane, radii
from marine_sim_ros.scene.height_file import open_heights
from marine_sim_ros.scene.terrain import HeightMap

__all__ = [
    'RASTER_SUFFIXES',
    'SOUNDING_SUFFIXES',
    'distance_outside',
    'grid_soundings',
    'map_heights',
    'read_grid',
    'read_soundings',
]


# Grids in degrees of longitude and latitude (WGS84) as terrain in map.

_FINE, _COARSE = 0.01, 0.5
"""Cell sizes: below the first numbers within ±180 and ±90 are degrees, below the second where the
depths exceed the grid's own size."""
_REACH = 5e5
"""Largest distance from the origin, m."""


def is_in_degrees(grid: HeightMap) -> bool:
    """Return whether the coordinates of a grid are almost certainly degrees."""
    (west, south), (east, north) = grid.extent
    # Longitudes go from −180 or from 0, and past the end where a grid lies across it.
    on_earth = west >= -180 and east <= 540 and south >= -90 and north <= 90
    size = max(east - west, north - south)
    deep = float(np.abs(grid.heights).max()) > size
    return bool(on_earth and deep and grid.spacing < _COARSE) or bool(
        on_earth and grid.spacing < _FINE and max(abs(west), abs(south)) > size
    )


def distance_outside(grid: HeightMap, point: np.ndarray) -> float:
    """Return the distance of a point (2,) outside a grid, over its larger side; 0 inside."""
    low, high = grid.extent
    away = np.linalg.norm(np.maximum(np.maximum(low - point, point - high), 0.0))
    return float(away / np.max(high - low))


def local_terrain(grid: HeightMap, place: TangentPlane, name: str) -> HeightMap:
    """Return a terrain in map, m, of a grid whose coordinates are degrees.

    Each point of the terrain has the height of the grid at its latitude and longitude; it
    reaches up to 500 km from the origin.

    Args:
        grid: origin and spacing in degrees, longitude first.
        place: where map is.
        name: of the file, for messages.

    Raises:
        ParameterError: the origin lies outside the grid, farther than its own size.
    """
    north, east = radii(place.latitude)
    metres = np.radians([east, north])  # of a degree
    low, high = grid.extent
    turns = 360.0 * round(((low[0] + high[0]) / 2 - place.longitude) / 360.0)
    origin = np.array([place.longitude + turns, place.latitude])
    if distance_outside(grid, origin) > 1 or not east > 100.0:
        raise ParameterError(
            f'{name}: longitude {low[0]:g} to {high[0]:g}, latitude {low[1]:g} to {high[1]:g} '
            f'degrees; the origin of the environment, {place.latitude:g} north '
            f'{place.longitude:g} east, lies farther away than the grid is wide; expected an '
            'origin in it'
        )
    corners = np.array([[x, y, 0.0] for x in (low[0], high[0]) for y in (low[1], high[1])])
    corners[:, :2] = np.clip((corners[:, :2] - origin) * metres, -_REACH, _REACH)
    corners = np.asarray(place.in_map(corners))[:, :2]
    first, size = corners.min(axis=0), np.ptp(corners, axis=0)
    spacing = grid.spacing * float(metres.min())
    spacing = max(spacing, math.sqrt(float(size[0] * size[1]) / MAX_POINTS))
    x, y = (first[i] + spacing * np.arange(math.ceil(size[i] / spacing) + 1) for i in range(2))
    level = np.zeros((len(y), len(x), 3))
    level[..., 0], level[..., 1] = np.meshgrid(x, y)
    latitude, longitude = place.coordinates(level)
    heights = np.asarray(grid.height(longitude + turns, latitude))
    return HeightMap(first, spacing, heights, grid.material)


# Reader of terrains from ESRI ASCII grids (.asc).

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
RASTER_SUFFIXES = ('.tif', '.tiff', '.nc', '.nc4', '.grd', '.bag', '.vrt', '.img')
"""Suffixes of rasters."""


def _refuse_raster(path: Path) -> None:
    """Raise ParameterError for a raster of another format, with the command that reads it."""
    if path.suffix.lower() in RASTER_SUFFIXES:
        raise ParameterError(
            f'{path}: a {path.suffix.lower()} raster; expected the environment that '
            f'marine_sim terrain {path.name} --at LAT,LON -o {path.stem}/ makes of it'
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
            raise ParameterError(
                f'{name}: no {key} in its header; expected an ESRI ASCII grid (.asc), or '
                'soundings in a file .xyz or .csv'
            )
    columns, rows = values['ncols'], values['nrows']
    if not (columns >= 2 and rows >= 2 and columns * rows <= MAX_POINTS):
        raise ParameterError(
            f'{name}: {columns:g} x {rows:g} points; expected 2 x 2 to {MAX_POINTS} in all'
        )
    return values


def _has_header(path: Path) -> bool:
    """Return whether a text file begins as an ESRI ASCII grid does."""
    try:
        with path.open('rb') as file:
            return file.read(5).lower() == b'ncols'
    except (OSError, ValueError):
        return False


def _numbers(tokens: list[str], name: str) -> np.ndarray:
    try:
        return np.array(tokens, float)
    except ValueError as error:
        raise ParameterError(f'{name}: not a number among its heights: {error}') from None


@lru_cache(maxsize=8)
def map_heights(path: Path, corner: tuple[float, ...], spacing: float, material: str) -> HeightMap:
    """Return the terrain of a NumPy file in map; beyond 4,000,000 points it stays in the file.

    Args:
        corner: x and y of the first height, m.
        spacing: m.

    Raises:
        ParameterError: no such file, or points without a height.
    """
    heights: np.ndarray = open_heights(path)
    if heights.size <= MAX_POINTS:
        heights = np.array(heights, float)
    try:
        terrain = HeightMap(np.array(corner), spacing, heights, material)
        terrain.highest  # noqa: B018  # reads a file's heights once, and refuses gaps
    except ParameterError as error:
        raise ParameterError(f'{path}: {error}') from None
    return terrain


@lru_cache(maxsize=8)
def read_grid(
    path: Path, material: str, place: TangentPlane | None = None, positive: str = 'up'
) -> HeightMap:
    """Return the terrain of a file whose coordinates are map's x, y and z, m, or degrees and m.

    Args:
        path: an ESRI ASCII grid, or soundings (XYZ, CSV, TXT).
        place: where map is on the Earth, for degrees; None: nobody knows.
        positive: of soundings: ``up``, heights, or ``down``, depths.

    Raises:
        ParameterError: it cannot be read, is no such file, has points without a height, or
            coordinates of which none are near map.
    """
    name = str(path)
    _refuse_raster(path)
    if path.suffix.lower() in SOUNDING_SUFFIXES and not _has_header(path):
        found = grid_soundings(read_soundings(path, positive), material, name)
        return _to_map(found, place, name)
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
    return _to_map(terrain, place, name)


def _to_map(terrain: HeightMap, place: TangentPlane | None, name: str) -> HeightMap:
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
    if np.abs([west, south]).max() > _FARTHEST and distance_outside(terrain, np.zeros(2)) > 1:
        raise ParameterError(
            f'{text} m lie far from the origin of map, as eastings and northings of a projection '
            "(UTM) do; expected m of map: subtract the origin's easting and northing from "
            'xllcorner and yllcorner'
        )
    return terrain


# Soundings (XYZ, CSV): points with heights or depths, and their interpolation on a grid.

SOUNDING_SUFFIXES = ('.xyz', '.csv', '.txt')
"""Suffixes of files of soundings."""
_MAX_BYTES = 100_000_000
_MAX_SOUNDINGS = 1_000_000
_MAX_POINTS = 4_000_000
_LOG = logging.getLogger(__name__)
_MAX_NUMBER = 1e8
"""Largest coordinate, m."""


def read_soundings(path: Path, positive: str) -> np.ndarray:
    """Return the soundings (n, 3) of a text file: x, y and height above the mean surface, m.

    Each line has three numbers, separated by spaces, commas, semicolons or tabs. Further columns,
    lines without a number before the first sounding, and text after # are ignored.

    Args:
        positive: ``up``, heights; or ``down``, depths.

    Raises:
        ParameterError: no such lines, too many, or heights that are all above the water.
    """
    try:
        lines = read_file(path, _MAX_BYTES, ParameterError).decode('utf-8').splitlines()
    except ValueError:
        raise ParameterError(f'{path}: not UTF-8 text; expected lines of x, y and z') from None
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        tokens = [w for w in re.split(r'[\s,;]+', line.split('#')[0].strip()) if w]
        if not tokens:
            continue
        try:
            row = [float(token) for token in tokens[:3]]
            if len(row) < 3 or not all(abs(x) < _MAX_NUMBER for x in row):
                raise ValueError
        except ValueError:
            if not rows and not any(map(_is_number, tokens)):
                continue  # a title, or names of the columns
            raise ParameterError(
                f'{path}:{number}: {line.strip()[:60]!r}; expected three numbers: x, y and z'
            ) from None
        rows.append(row)
    if not 3 <= len(rows) <= _MAX_SOUNDINGS:
        raise ParameterError(
            f'{path}: {len(rows)} soundings; expected 3 to {_MAX_SOUNDINGS}, a line each'
        )
    soundings = np.array(rows)
    if positive == 'down':
        soundings[:, 2] *= -1.0
    elif soundings[:, 2].min() > 0:
        raise ParameterError(
            f'{path}: all heights are above the water, {soundings[:, 2].min():g} m and more; if '
            'they are depths, add positive: down (marine_sim terrain: --positive down)'
        )
    return soundings


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def grid_soundings(soundings: np.ndarray, material: str, name: str) -> HeightMap:
    """Return the terrain of soundings (n, 3); one log line reports the method.

    Soundings on a full grid of equal spacing are used as they are. Others are interpolated
    linearly on their Delaunay triangulation, with a spacing of √(area of the bounding box / n);
    outside the convex hull the nearest height is used.

    Raises:
        ParameterError: they lie on a line.
    """
    regular_grid = _regular_grid(soundings, material)
    if regular_grid is not None:
        return regular_grid
    from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
    from scipy.spatial import QhullError

    places, first = np.unique(soundings[:, :2], axis=0, return_index=True)
    heights = soundings[first, 2]
    low, size = places.min(axis=0), np.ptp(places, axis=0)
    spacing = math.sqrt(float(size[0] * size[1]) / min(len(places), _MAX_POINTS))
    try:
        if not spacing > 0:
            raise ValueError
        linear = LinearNDInterpolator(places - low, heights)
    except (QhullError, ValueError):
        raise ParameterError(f'{name}: its soundings lie on a line; expected an area') from None
    columns, rows = (max(int(n), 1) + 1 for n in np.ceil(size / spacing))
    if columns * rows > 2 * _MAX_POINTS:
        raise ParameterError(
            f'{name}: its soundings lie in a strip of {size[0]:.3g} m x {size[1]:.3g} m; expected '
            'an area'
        )
    points = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1) * spacing
    grid = linear(points)
    is_missing = np.isnan(grid)
    grid[is_missing] = NearestNDInterpolator(places - low, heights)(points[is_missing])
    _LOG.warning(
        f'{name}: {len(places)} soundings became a grid of {columns} x {rows} points, '
        f'{spacing:.3g} m apart, linear between them; {is_missing.mean():.0%} of it lies beyond '
        'them and has the nearest height'
    )
    return HeightMap(low, spacing, grid, material)


def _regular_grid(soundings: np.ndarray, material: str) -> HeightMap | None:
    """Return the terrain of soundings on a full grid of equal spacing, or None."""
    x, y = (np.unique(soundings[:, i]) for i in range(2))
    if min(len(x), len(y)) < 2 or len(x) * len(y) != len(soundings):
        return None
    steps = np.concatenate([np.diff(x), np.diff(y)])
    spacing = float(steps.mean())
    if np.abs(steps - spacing).max() > 1e-3 * spacing:
        return None
    grid = np.full((len(y), len(x)), np.nan)
    row, column = np.searchsorted(y, soundings[:, 1]), np.searchsorted(x, soundings[:, 0])
    grid[row, column] = soundings[:, 2]
    if np.any(np.isnan(grid)):
        return None
    return HeightMap(np.array([x[0], y[0]]), spacing, grid, material)
