# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terrain of a place: heights of a file on a grid in map about a latitude and a longitude."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import check_file
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.processes import Limits, answer_request, call_isolated
from marine_sim_ros.importers.height_sources import (
    HeightSource,
    RasterSource,
    SoundingSource,
    library_errors,
)
from marine_sim_ros.scene.bathymetry import SOUNDING_SUFFIXES
from marine_sim_ros.scene.height_file import HEIGHT_TYPE

__all__ = ['METHOD', 'Site', 'fill_gaps', 'sha256_of', 'write_terrain']

MAX_POINTS = 500_000_000
_MAX_BYTES = 64 << 30
_TILE = 512
_DATA = 1 << 30
METHOD = {
    'map': 'plane tangent to the WGS84 ellipsoid at the origin; x east, y north',
    'raster': 'bilinear between the middles of four cells; a gap where one has no height',
    'soundings': 'linear on Delaunay triangles in map; gaps beyond them',
    'gaps': 'mean of the known heights in squares of 2, 4, 8, ... points, the smallest that has '
    'any, bilinear between the squares',
    'height': 'height of the file + datum_offset, above mean sea level; land is kept',
}


@dataclass(frozen=True)
class Site:
    """Part of a file that becomes a terrain.

    Attributes:
        path: the file.
        latitude: of the origin of map, degrees.
        longitude: degrees.
        size: side of the square about the origin, m.
        spacing: m; 0: that of the file, with at least 512 points along a side.
        crs: of the coordinates; empty: as the file says.
        variable: of a NetCDF file; empty: the one that is named as heights are.
        positive: ``up``, heights; ``down``, depths; empty: as the file says, else ``up``.
        datum_offset: height of the file's vertical datum above mean sea level, m.
    """

    path: Path
    latitude: float
    longitude: float
    size: float
    spacing: float = 0.0
    crs: str = ''
    variable: str = ''
    positive: str = ''
    datum_offset: float = 0.0


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write_terrain(site: Site, target: Path) -> dict[str, Any]:
    """Write the heights of a place to a NumPy file, in a process of its own.

    Args:
        target: ``.npy`` to write.

    Returns:
        Facts of the file, ``spacing`` and ``corner`` of the grid in m, and counts of its points.

    Raises:
        ParameterError: one line with what, where, and what was expected.
        MissingPackageError: rasterio or pyproj is not installed.
    """
    for module in ('rasterio', 'pyproj'):
        require(module, 'terrain')
    check_file(site.path, _MAX_BYTES, ParameterError)
    points = (site.size / site.spacing) ** 2 if site.spacing else 0.0
    limits = Limits(seconds=300 + int(min(points, MAX_POINTS) / 3e4), data=_DATA)
    answer = call_isolated(__name__, (site, target), str(site.path), limits, ParameterError)
    assert isinstance(answer, dict)
    return answer


def _sample_site(site: Site, target: Path) -> dict[str, Any]:
    """Write the heights and return the facts, in this process."""
    try:
        return _sample(site, target)
    except ParameterError:
        raise
    except library_errors() as error:
        reason = ' '.join(str(error).split())[:160]
        raise ParameterError(
            f'{site.path}: cannot be read as a terrain: {reason}; expected GeoTIFF, NetCDF, an '
            'ESRI ASCII grid or soundings (.xyz, .csv)'
        ) from None


def _sample(site: Site, target: Path) -> dict[str, Any]:
    origin = Origin(latitude=site.latitude, longitude=site.longitude)
    source: HeightSource
    if site.path.suffix.lower() in SOUNDING_SUFFIXES and not _is_grid(site.path):
        source = SoundingSource(site.path, origin, site.crs, site.positive, site.size)
    else:
        source = RasterSource(site.path, origin, site.crs, site.variable, site.positive)
    spacing = site.spacing or max(min(source.resolution, site.size / 512), 0.01)
    count = max(round(site.size / spacing), 1) + 1
    if not 2 <= count <= math.isqrt(MAX_POINTS):
        raise ParameterError(
            f'{site.path}: {count} x {count} points; expected up to {MAX_POINTS} in all: a '
            'greater --spacing or a smaller --size'
        )
    spacing = site.size / (count - 1)
    heights = np.lib.format.open_memmap(target, mode='w+', dtype=HEIGHT_TYPE, shape=(count, count))
    beyond, low, high = 0, np.inf, -np.inf
    axis = -site.size / 2 + spacing * np.arange(count)
    for j in range(0, count, _TILE):
        for i in range(0, count, _TILE):
            east, north = np.meshgrid(axis[i : i + _TILE], axis[j : j + _TILE])
            found, inside = source.sample(*origin.geographic(east, north))
            beyond += int(np.count_nonzero(~inside))
            found = found + site.datum_offset
            heights[j : j + _TILE, i : i + _TILE] = found
            if not np.all(np.isnan(found)):
                low, high = min(low, float(np.nanmin(found))), max(high, float(np.nanmax(found)))
    _check(site, source.facts, low, high)
    gaps = fill_gaps(heights)
    heights.flush()
    return {
        **source.facts, 'resolution': source.resolution, 'spacing': spacing,
        'corner': [-site.size / 2] * 2, 'points': [count, count], 'lowest': low, 'highest': high,
        'gaps_filled': gaps, 'gaps_beyond_file': beyond,
    }  # fmt: skip


def _is_grid(path: Path) -> bool:
    with path.open('rb') as file:
        return file.read(5).lower() == b'ncols'


def _check(site: Site, facts: Mapping[str, Any], low: float, high: float) -> None:
    """Raise ParameterError where no height of a site is known, or where all are on land."""
    if not math.isfinite(low):
        raise ParameterError(
            f'{site.path}: no height within {site.size:g} m of latitude {site.latitude:g}, '
            f'longitude {site.longitude:g}; expected a place in the file '
            f'({facts["format"]}, {facts["crs_name"]})'
        )
    if low > 0 and facts['positive'] == 'up':
        raise ParameterError(
            f'{site.path}: all heights there are above the water, {low:g} m and more; if they are '
            'depths, add --positive down'
        )


# Gaps: pull-push interpolation (Gortler et al. 1996, The lumigraph, section 3.4).


def fill_gaps(heights: np.ndarray) -> int:
    """Fill NaN among heights (ny, nx) in place; return their number.

    A point takes the mean of the known heights in the smallest of the squares of 2, 4, 8, ...
    points a side, aligned with the grid, that has any; bilinear between the squares' middles.
    """
    rows, columns = heights.shape
    step = 2 * max(1, 1_000_000 // columns)
    bands = [(first, min(first + step, rows)) for first in range(0, rows, step)]
    coarse = [_halve(np.asarray(heights[a:b], float)) for a, b in bands]
    gaps = sum(int(np.count_nonzero(np.isnan(heights[a:b]))) for a, b in bands)
    if not gaps:
        return 0
    filled = _fill(np.concatenate(coarse))
    for a, b in bands:
        missing = np.isnan(heights[a:b])
        if missing.any():
            heights[a:b][missing] = _enlarge(filled, a, b, columns)[missing]
    return gaps


def _fill(level: np.ndarray) -> np.ndarray:
    """Return a level of squares without NaN."""
    missing = np.isnan(level)
    if not missing.any() or level.size == 1:
        return level
    rows, columns = level.shape
    return np.where(missing, _enlarge(_fill(_halve(level)), 0, rows, columns), level)


def _halve(level: np.ndarray) -> np.ndarray:
    """Return the means of the known numbers in squares of 2 by 2; NaN where there is none."""
    rows, columns = level.shape
    padded = np.pad(level, [(0, rows % 2), (0, columns % 2)], constant_values=np.nan)
    squares = np.stack([padded[j::2, i::2] for j in (0, 1) for i in (0, 1)])
    valid = ~np.isnan(squares)
    count = valid.sum(axis=0)
    total = np.where(valid, squares, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _enlarge(coarse: np.ndarray, first: int, end: int, columns: int) -> np.ndarray:
    """Return rows from the first up to an end of a level of twice the points, bilinear."""
    for axis, index in enumerate((np.arange(first, end), np.arange(columns))):
        near = index // 2
        far = np.clip(near + np.where(index % 2, 1, -1), 0, coarse.shape[axis] - 1)
        coarse = 0.75 * coarse.take(near, axis=axis) + 0.25 * coarse.take(far, axis=axis)
    return coarse


if __name__ == '__main__':
    answer_request(_sample_site, ParameterError)
