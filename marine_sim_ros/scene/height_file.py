# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terrain heights in a NumPy file (.npy), memory-mapped: grids up to 500 million points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import check_file

__all__ = ['HEIGHT_TYPE', 'HeightSummary', 'open_heights', 'row_bands', 'summarize_heights']

HEIGHT_TYPE = np.dtype('<f4')
"""Type of the numbers in a file."""
MAX_POINTS = 500_000_000
_BAND = 4_000_000
"""Points that are read at once."""
_HIGHEST = 1.2e4
"""Largest distance from the mean surface, m."""


def open_heights(path: Path) -> np.memmap:
    """Return the heights (ny, nx) of a file without reading them: the system pages them in.

    Raises:
        ParameterError: no such file, or not a two-dimensional array of 32-bit floats.
    """
    check_file(path, MAX_POINTS * HEIGHT_TYPE.itemsize + 10_000, ParameterError)
    try:
        heights = np.load(path, mmap_mode='r', allow_pickle=False)
    except (OSError, ValueError, SyntaxError, OverflowError, EOFError) as error:
        reason = ' '.join(str(error).split())[:120]
        raise ParameterError(f'{path}: not a NumPy array: {reason}') from None
    is_height_array = (
        isinstance(heights, np.memmap) and heights.dtype == HEIGHT_TYPE and heights.ndim == 2
    )
    if not is_height_array or min(heights.shape) < 2 or not heights.flags.c_contiguous:
        raise ParameterError(
            f'{path}: not heights; expected an array of 32-bit floats, at least 2 x 2, as '
            'marine_sim terrain writes it'
        )
    return heights


def row_bands(heights: np.memmap, rows: int, overlap: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first row of bands of some rows, and their heights (rows, nx).

    Files are read into one buffer, so that a whole grid does not stay in memory.

    Args:
        rows: whole number of which a band has a multiple.
        overlap: rows that a band shares with the next one.
    """
    count, columns = heights.shape
    step = max(_BAND // (columns * rows), 1) * rows
    with open(str(heights.filename), 'rb') as file:
        for first in range(0, count - overlap, step):
            size = min(step + overlap, count - first)
            file.seek(heights.offset + first * columns * heights.itemsize)
            yield first, np.fromfile(file, heights.dtype, size * columns).reshape(size, columns)


class HeightSummary(NamedTuple):
    """Numbers of a whole grid: lowest, highest and mean height, largest rises per spacing, m."""

    low: float
    high: float
    mean: float
    rise_x: float
    rise_y: float


def summarize_heights(heights: np.memmap) -> HeightSummary:
    """Return the summary of heights in a file.

    Raises:
        ParameterError: points without a height, or beyond ±12 km.
    """
    low, high, total, rise_x, rise_y = np.inf, -np.inf, 0.0, 0.0, 0.0
    for first, band in row_bands(heights, 1, 1):
        own_rows = band if first + len(band) == len(heights) else band[:-1]
        low, high = min(low, float(own_rows.min())), max(high, float(own_rows.max()))
        if not -_HIGHEST <= low <= high <= _HIGHEST:  # NaN too
            raise ParameterError(
                f'{heights.filename}: heights of {low:g} to {high:g} m; expected one at each '
                'point, within 12 km of the mean surface'
            )
        total += float(own_rows.sum(dtype=float))
        rise_x = max(rise_x, float(np.abs(np.diff(own_rows, axis=1)).max()))
        if len(band) > 1:
            rise_y = max(rise_y, float(np.abs(np.diff(band, axis=0)).max()))
    return HeightSummary(low, high, total / heights.size, rise_x, rise_y)
