# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Heights of a place from files: GeoTIFF, NetCDF and ASC by GDAL, soundings by triangles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.scene.bathymetry import SOUNDING_SUFFIXES, read_soundings

__all__ = ['HeightSource', 'RasterSource', 'SoundingSource', 'library_errors']

_DRIVERS = {
    **dict.fromkeys((b'II*\0', b'MM\0*', b'II+\0', b'MM\0+'), 'GTiff'),
    **dict.fromkeys((b'CDF\1', b'CDF\2', b'CDF\5', b'\x89HDF'), 'netCDF'),
    **dict.fromkeys((b'ncol', b'NCOL'), 'AAIGrid'),
}
"""Drivers of GDAL that may read a file, by how it begins."""
_SETTINGS: Mapping[str, Any] = {
    'GDAL_DISABLE_READDIR_ON_OPEN': 'EMPTY_DIR',  # no file beside the named one is read
    'GDAL_PAM_ENABLED': 'NO',
    'GDAL_GEOREF_SOURCES': 'INTERNAL',
    'GDAL_CACHEMAX': 64,  # MB
    'GDAL_NUM_THREADS': '1',
    'GDAL_HTTP_MAX_RETRY': '0',
}
_VARIABLES = ('elevation', 'bathymetry', 'depth', 'topo', 'altitude', 'z', 'height', 'band1')
"""Names of a height's variable, in the order of preference."""
_UNITS = {'': 1.0, 'm': 1.0, 'metre': 1.0, 'metres': 1.0, 'meter': 1.0, 'meters': 1.0}
_UNITS |= dict.fromkeys(('ft', 'foot', 'feet'), 0.3048)
_UNITS |= {'us-ft': 1200 / 3937, 'us survey foot': 1200 / 3937}
_MAX_WINDOW = 4_000_000
"""Pixels that are read at once."""
_HIGHEST = 12_000.0
"""m; beyond it a number is no height."""
_SOME = 2000
"""Characters of a text that a file brings."""


def library_errors() -> tuple[type[Exception], ...]:
    """Return the errors of rasterio and pyproj for a file or a name that they cannot use."""
    rasterio, pyproj = require('rasterio', 'terrain'), require('pyproj', 'terrain')
    return (
        rasterio.errors.RasterioError, pyproj.exceptions.ProjError, OSError, ValueError,
        TypeError, KeyError, IndexError, OverflowError, ArithmeticError, AttributeError,
        require('rasterio._err', 'terrain').CPLE_BaseError,
    )  # fmt: skip


class HeightSource(Protocol):
    """Heights above the datum of a file, by the place on the Earth.

    Attributes:
        facts: what the file says of itself, for the manifest.
        resolution: distance of neighbouring heights about the origin, m.
    """

    facts: Mapping[str, Any]
    resolution: float

    def sample(self, latitude: np.ndarray, longitude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return heights (...), m, NaN for gaps, and whether places (...) are within the file."""
        ...


def _coordinates(found: Any, name: str, path: Path, degrees: bool) -> tuple[Any, str, str]:
    """Return the horizontal CRS, its source, and the name of the vertical datum.

    Args:
        found: what the file has, as WKT; empty for none.
        given: by the user.
        degrees: whether the coordinates can be degrees.
    """
    pyproj = require('pyproj', 'terrain')
    text, source = (name, 'given') if name else (found, 'file')
    if not text and degrees:
        text, source = 'EPSG:4326', 'assumed of coordinates in degrees'
    if not text:
        raise ParameterError(
            f'{path}: no coordinate reference system, and no degrees; expected --crs, such as '
            'EPSG:32633'
        )
    try:
        crs = pyproj.CRS.from_user_input(text)
    except pyproj.exceptions.CRSError as error:
        reason = ' '.join(str(error).split()).partition(': (Internal Proj Error')[0]
        raise ParameterError(
            f'{path}: crs {str(text)[:60]!r}: {reason}; expected such as EPSG:32633; soundings in '
            'local metres need no CRS: name them in environment.yaml, terrain: {file: FILE}'
        ) from None
    parts = crs.sub_crs_list
    vertical = parts[1].name if crs.is_compound and len(parts) > 1 else ''
    crs = parts[0] if crs.is_compound and parts else crs
    if crs.is_bound and crs.source_crs is not None:
        crs = crs.source_crs
    if not (crs.is_geographic or crs.is_projected):
        raise ParameterError(
            f'{path}: crs {crs.name[:60]!r} is neither geographic nor projected; expected --crs'
        )
    return crs, source, vertical


def _describe(crs: Any, source: str, vertical: str) -> dict[str, Any]:
    authority = crs.to_authority()
    return {
        'crs': ':'.join(authority) if authority else crs.to_wkt()[:_SOME],
        'crs_name': crs.name[:_SOME],
        'crs_source': source,
        'vertical_datum': vertical[:_SOME],
    }


_TEXT = bytes(range(32, 127)) + b'\t\n\r'


def _check_text(path: Path, rows: int, columns: int) -> None:
    """Raise ParameterError for an ASCII grid that is no text, or ends too early.

    GDAL does not return from reading such a file.
    """
    words, names, rest = 0, 0, b''
    with path.open('rb') as file:
        while block := file.read(1 << 20):
            if block.translate(None, _TEXT):
                raise ParameterError(f'{path}: not ASCII text; expected an ESRI ASCII grid')
            found = (rest + block).split()
            rest = b'' if block[-1:].isspace() or not found else found.pop()
            names += sum(word[:1].isalpha() and len(word) > 3 for word in found)
            words += len(found)
    heights = words + bool(rest) - 2 * names  # each name of the header has one value
    if heights < rows * columns:
        raise ParameterError(
            f'{path}: {heights} heights; expected {rows} rows of {columns} numbers'
        )


class RasterSource:
    """Grid of a raster, bilinear between the middles of its cells."""

    def __init__(self, path: Path, origin: Origin, crs: str, variable: str, positive: str) -> None:
        """Open a file.

        Raises:
            ParameterError: no raster of heights, or none with known coordinates.
        """
        rasterio = require('rasterio', 'terrain')
        self._set = rasterio.Env(**_SETTINGS)
        self._set.__enter__()
        self._path = path
        self._data = data = self._open(rasterio, variable)
        if data.transform.is_identity or not abs(data.transform.determinant) > 0:
            raise ParameterError(
                f'{path}: no coordinates on a regular grid; expected a raster with a geotransform'
            )
        box = data.bounds
        degrees = -180 <= min(box.left, box.right) <= max(box.left, box.right) <= 360 and (
            -90.1 <= min(box.bottom, box.top) <= max(box.bottom, box.top) <= 90.1
        )
        wkt = data.crs.to_wkt() if data.crs else ''
        found, source, vertical = _coordinates(wkt, crs, path, degrees)
        pyproj = require('pyproj', 'terrain')
        self._to_file = pyproj.Transformer.from_crs('EPSG:4326', found, always_xy=True)
        self._turn = found.is_geographic
        tags = {**data.tags(), **data.tags(1)}
        down = positive == 'down' or (not positive and tags.get('positive', '').lower() == 'down')
        scale, shift = float(data.scales[0]), float(data.offsets[0])
        unit = str(data.units[0] or '').strip().lower()
        if unit not in _UNITS:
            raise ParameterError(
                f'{path}: heights are in {unit[:30]!r}; expected one of: m, ft, us-ft'
            )
        self._scale, self._shift = (
            x * _UNITS[unit] * (-1.0 if down else 1.0) for x in (scale, shift)
        )
        licence = [
            tags[key] for key in ('TIFFTAG_COPYRIGHT', 'NC_GLOBAL#license', 'NC_GLOBAL#licence')
            if tags.get(key)
        ]  # fmt: skip
        title = tags.get('NC_GLOBAL#title', '') or tags.get('TIFFTAG_IMAGEDESCRIPTION', '')
        self.facts: Mapping[str, Any] = {
            'format': data.driver,
            'columns': data.width,
            'rows': data.height,
            **_describe(found, source, vertical),
            'positive': 'down' if down else 'up',
            'title': title[:_SOME],
            'licence': ' '.join(licence)[:_SOME],
        }
        self.resolution = self._resolution(origin)

    def _open(self, rasterio: Any, variable: str) -> Any:
        with self._path.open('rb') as file:
            driver = _DRIVERS.get(file.read(4))
        if driver is None:
            raise ParameterError(
                f'{self._path}: not a raster; expected GeoTIFF, NetCDF, an ESRI ASCII grid, or '
                f'soundings in a file {", ".join(SOUNDING_SUFFIXES)}'
            )
        data = rasterio.open(str(self._path), driver=driver)
        if driver == 'AAIGrid':
            _check_text(self._path, data.height, data.width)
        if data.subdatasets:
            names = {text.rpartition(':')[2]: text for text in data.subdatasets}
            lower = {name.lower(): name for name in names}
            chosen = variable or next((lower[n] for n in _VARIABLES if n in lower), '')
            if chosen not in names:
                raise ParameterError(
                    f'{self._path}: variable {chosen!r}; '
                    f'{expected_one_of(chosen, sorted(names)[:20])} (--variable)'
                )
            data = rasterio.open(names[chosen], driver='netCDF')
        if data.count < 1 or data.dtypes[0].startswith('complex'):
            raise ParameterError(f'{self._path}: no band of heights')
        if data.count > 2 and data.dtypes[0] == 'uint8':
            raise ParameterError(
                f'{self._path}: a picture of {data.count} bands; expected heights'
            )
        return data

    def _pixels(self, latitude: Any, longitude: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and rows (...) from the middle of the first pixel."""
        x, y = self._to_file.transform(longitude, latitude)
        if self._turn:
            west = min(self._data.bounds.left, self._data.bounds.right)
            x = west + np.mod(np.asarray(x) - west, 360.0)
        inverse = ~self._data.transform
        column = inverse.a * np.asarray(x) + inverse.b * np.asarray(y) + inverse.c
        row = inverse.d * np.asarray(x) + inverse.e * np.asarray(y) + inverse.f
        return column - 0.5, row - 0.5

    def _resolution(self, origin: Origin) -> float:
        east, north = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        pixel = np.stack(self._pixels(*origin.geographic(east, north)))
        steps = np.linalg.norm(pixel[:, 1:] - pixel[:, :1], axis=0)
        return float(1 / steps.max()) if np.all(np.isfinite(steps)) and steps.max() > 0 else 1.0

    def sample(self, latitude: np.ndarray, longitude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return heights (m, n), m, NaN for gaps, and whether places (m, n) are in the file.

        A gap is where one of the four cells around has no height. Within half a cell of the edge
        the height is that of the edge.
        """
        column, row = self._pixels(latitude, longitude)
        width, height = self._data.width, self._data.height
        with np.errstate(invalid='ignore'):
            inside = (np.abs(column - (width - 1) / 2) <= width / 2) & (
                np.abs(row - (height - 1) / 2) <= height / 2
            )
        heights = np.full(column.shape, np.nan)
        if inside.any():
            u = np.clip(np.where(inside, column, np.nan), 0, width - 1)
            v = np.clip(np.where(inside, row, np.nan), 0, height - 1)
            self._fill(heights, u, v)
        return heights, inside

    def _fill(self, heights: np.ndarray, u: np.ndarray, v: np.ndarray) -> None:
        """Write the heights (m, n) of columns and rows (m, n); NaN: none is asked for."""
        if np.all(np.isnan(u)):
            return
        left, top = int(np.nanmin(u)), int(np.nanmin(v))
        right = min(int(np.nanmax(u)) + 2, self._data.width)
        bottom = min(int(np.nanmax(v)) + 2, self._data.height)
        if (right - left) * (bottom - top) > _MAX_WINDOW and heights.size > 1:
            axis = int(np.argmax(heights.shape))
            parts = (np.array_split(a, 2, axis=axis) for a in (heights, u, v))
            for half in zip(*parts, strict=True):
                self._fill(*half)
            return
        pixels = self._read(left, top, right, bottom)
        rows, columns = pixels.shape
        asked = ~np.isnan(u)
        a, b = np.where(asked, u, left) - left, np.where(asked, v, top) - top
        i, j = (np.minimum(np.floor(x).astype(int), max(n - 2, 0)) for x, n in
                ((a, columns), (b, rows)))  # fmt: skip
        x, y = a - i, b - j
        total = np.zeros(heights.shape)
        for di, dj, weight in (
            (0, 0, (1 - x) * (1 - y)), (1, 0, x * (1 - y)), (0, 1, (1 - x) * y), (1, 1, x * y)
        ):  # fmt: skip
            corner = pixels[np.minimum(j + dj, rows - 1), np.minimum(i + di, columns - 1)]
            total += np.where(weight > 0, weight * corner, 0.0)
        heights[asked] = total[asked]

    def _read(self, left: int, top: int, right: int, bottom: int) -> np.ndarray:
        """Return the heights of a window of pixels, m; NaN for gaps."""
        window = ((top, bottom), (left, right))
        found = self._data.read(1, window=window, masked=True)
        numbers = np.ma.filled(found.astype(float), np.nan) * self._scale + self._shift
        with np.errstate(invalid='ignore'):
            return np.where(np.abs(numbers) <= _HIGHEST, numbers, np.nan)


class SoundingSource:
    """Soundings, linear on their Delaunay triangles in map; beyond them are gaps."""

    def __init__(self, path: Path, origin: Origin, crs: str, positive: str, reach: float) -> None:
        """Read a file.

        Args:
            reach: distance east and north up to which soundings count, m.

        Raises:
            ParameterError: no soundings, none near, or on a line.
        """
        found = read_soundings(path, positive or 'up')
        x, y = found[:, 0], found[:, 1]
        degrees = bool(np.abs(x).max() <= 360 and np.abs(y).max() <= 90)
        known, source, vertical = _coordinates('', crs, path, degrees)
        to_earth = require('pyproj', 'terrain').Transformer.from_crs(
            known, 'EPSG:4326', always_xy=True
        )
        longitude, latitude = to_earth.transform(x, y)
        east, north = origin.level(latitude, longitude)
        with np.errstate(invalid='ignore'):
            near = np.maximum(np.abs(east), np.abs(north)) <= reach
        if np.count_nonzero(near) < 3:
            raise ParameterError(
                f'{path}: {np.count_nonzero(near)} of {len(found)} soundings within {reach:g} m; '
                f'expected 3; they lie at latitude {latitude.min():.6g} to {latitude.max():.6g}, '
                f'longitude {longitude.min():.6g} to {longitude.max():.6g}'
            )
        self._origin = origin
        places = np.stack([east[near], north[near]], axis=-1)
        places, first = np.unique(places, axis=0, return_index=True)
        interpolate = require('scipy.interpolate', 'terrain')
        spatial = require('scipy.spatial', 'terrain')
        try:
            self._linear = interpolate.LinearNDInterpolator(places, found[near][first, 2])
        except (spatial.QhullError, ValueError):
            raise ParameterError(
                f'{path}: its soundings lie on a line; expected an area'
            ) from None
        self.resolution = math.sqrt(float(np.prod(np.ptp(places, axis=0))) / len(places))
        self.facts: Mapping[str, Any] = {
            'format': 'soundings',
            'soundings': len(places),
            **_describe(known, source, vertical),
            'positive': positive or 'up',
            'title': '',
            'licence': '',
        }

    def sample(self, latitude: np.ndarray, longitude: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return heights (...), m, NaN beyond the triangles, and whether places are within."""
        east, north = self._origin.level(latitude, longitude)
        heights = self._linear(np.stack([east, north], axis=-1))
        return heights, ~np.isnan(heights)
