# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terrains: heights on a regular grid, in memory or in a file, and seabeds generated from a seed.

A seed gives the same terrain to the bit in every process, on every machine and with every NumPy:
generated seabeds use only sums, products, floors and quotients of IEEE doubles, and integers. They
are generated in milliseconds when needed, and cached; no file stores them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, is_numeric, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.random import uniform
from marine_sim_ros.scene.height_file import HeightSummary, row_bands, summarize_heights

__all__ = ['GENERATORS', 'HeightMap', 'generate', 'ridge_window', 'ridges', 'ridges_of_cell']


# Terrain: heights on a regular grid, bilinear between them.

_FLAT = 0.02
"""Change of slope across an edge of the grid below which it is no ridge."""


@dataclass(frozen=True, eq=False)
class HeightMap:
    """Terrain z = h(x, y); outside its edges the heights at the edge are extrapolated.

    Attributes:
        origin: (2,) x and y of ``heights[0, 0]``, map, m.
        spacing: spacing of the grid, m.
        heights: (ny, nx) z in map, m; rows go north, columns east. A memory map of a file stays
            in the file, and tables of the whole grid are not made of it.
        material: name.
    """

    origin: np.ndarray
    spacing: float
    heights: np.ndarray
    material: str = 'default'

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no terrain."""
        origin, heights = np.asarray(self.origin, float), self.heights
        if not self.in_file:
            heights = np.asarray(heights, float)
        if origin.shape != (2,) or not np.all(np.isfinite(origin)):
            raise ParameterError(f'terrain origin is {self.origin}; expected two numbers, m')
        if not 0.0 < self.spacing < 1e6:
            raise ParameterError(f'terrain spacing is {self.spacing}; expected more than 0 m')
        usable = heights.ndim == 2 and min(heights.shape) >= 2
        if not usable or not (self.in_file or np.all(np.isfinite(heights))):
            raise ParameterError(
                f'terrain heights have shape {heights.shape}; expected at least 2 x 2 finite '
                'numbers, m'
            )
        object.__setattr__(self, 'origin', origin)
        if not self.in_file:
            object.__setattr__(self, 'heights', np.ascontiguousarray(heights))

    @property
    def in_file(self) -> bool:
        """Whether the heights are those of a file."""
        return isinstance(self.heights, np.memmap)

    @cached_property
    def _summary(self) -> HeightSummary:
        """Numbers of the whole grid.

        Raises:
            ParameterError: a file has points without a height.
        """
        h = self.heights
        if isinstance(h, np.memmap):
            return summarize_heights(h)
        rises = (float(np.abs(np.diff(h, axis=axis)).max()) for axis in (1, 0))
        return HeightSummary(float(h.min()), float(h.max()), float(h.mean()), *rises)

    @property
    def lowest(self) -> float:
        """Least height, m."""
        return self._summary.low

    @property
    def highest(self) -> float:
        """Greatest height, m."""
        return self._summary.high

    @property
    def mean_height(self) -> float:
        """Mean height of the points, m."""
        return self._summary.mean

    def points(self, i: Array, j: Array) -> np.ndarray:
        """Return heights (...), m, of points in columns i and rows j (...), clipped to the grid.

        Raises:
            ParameterError: the heights are in a file, and numbers i of compiled code.
        """
        if not is_numeric(i):
            raise ParameterError(
                f'terrain of {self.heights.size} points in a file: compiled code cannot read it; '
                'expected engine numpy, or a terrain of up to 4,000,000 points'
            )
        rows, columns = self.heights.shape
        row, column = (np.clip(n, 0, m - 1).astype(int) for n, m in ((j, rows), (i, columns)))
        return np.asarray(self.heights[row, column], float)

    def bands(self, rows: int, overlap: int) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first row and the heights of bands of the grid: see :func:`row_bands`."""
        if isinstance(self.heights, np.memmap):
            yield from row_bands(self.heights, rows, overlap)
        else:
            yield 0, self.heights

    def window(self, x: float, y: float, cells: int = 512) -> HeightMap:
        """Return a part of the grid about a place, in memory; a grid in memory is returned whole.

        The window has three by three tiles of some cells, the place is in the middle one: until it
        leaves that, the window is the same object.

        Args:
            x: map, m.
            y: map, m.
        """
        if not self.in_file:
            return self
        tile = np.floor((np.array([x, y]) - self.origin) / (self.spacing * cells)).astype(int)
        last = (np.array(self.heights.shape[::-1]) - 2) // cells
        i, j = np.clip(tile, 0, last).tolist()
        return _tiles(self, i, j, cells)

    @cached_property
    def _cells(self) -> np.ndarray:
        """(cells, 4) height at a cell's corner x0, y0, its rise along x, and both at x0, y1."""
        h = self.heights
        rise = h[:, 1:] - h[:, :-1]
        cells = np.stack([h[:-1, :-1], rise[:-1], h[1:, :-1], rise[1:]], axis=-1)
        return cells.reshape(-1, 4)

    @cached_property
    def _last_cell(self) -> np.ndarray:
        """(2,) the largest numbers of a column and a row."""
        return np.array(self.heights.shape[::-1]) - 1.0

    def ridges_at(self, i: Array, j: Array) -> Array:
        """Return rows (..., 5) of :attr:`ridges` of points in columns i and rows j (...)."""
        xp = namespace(i)
        if not self.in_file:
            index = xp.astype(j * self.heights.shape[1] + i, xp.int32)
            stored_rows = xp.take(constant(xp, self.ridges), xp.reshape(index, (-1,)), axis=0)
            return xp.reshape(stored_rows, (*index.shape, 5))
        rows, columns = self.heights.shape
        h, next_x, next_y = self.points(i, j), self.points(i + 1, j), self.points(i, j + 1)

        def bends(i: Array, j: Array, di: int, dj: int) -> Array:
            sides = self.points(i + di, j + dj), self.points(i - di, j - dj)
            return (2 * self.points(i, j) - sides[0] - sides[1]) / self.spacing > _FLAT

        along_x = (bends(i, j, 0, 1) | bends(i + 1, j, 0, 1)) & (j > 0) & (j < rows - 1)
        along_y = (bends(i, j, 1, 0) | bends(i, j + 1, 1, 0)) & (i > 0) & (i < columns - 1)
        stored_rows = h, next_x, next_y, along_x & (i < columns - 1), along_y & (j < rows - 1)
        return np.stack(np.broadcast_arrays(*stored_rows), axis=-1).astype(float)

    @cached_property
    def ridges(self) -> np.ndarray:
        """(points, 5) h, next h in x and in y, 1 where the edges to those are ridges.

        Along the grid's lines the ground is straight, and within its cells nothing bulges: what
        stands out are edges across which the slope falls.
        """
        h = self.heights
        next_x = np.concatenate([h[:, 1:], h[:, -1:]], axis=1)
        next_y = np.concatenate([h[1:], h[-1:]], axis=0)
        along_x, along_y = _find_ridges(h, self.spacing), _find_ridges(h.T, self.spacing).T
        return np.stack([h, next_x, next_y, along_x, along_y], axis=-1).reshape(-1, 5)

    @property
    def extent(self) -> np.ndarray:
        """(2, 2) smallest and largest x and y of the grid, m."""
        rows, columns = self.heights.shape
        return self.origin + self.spacing * np.array([[0, 0], [columns - 1, rows - 1]])

    @cached_property
    def max_slope(self) -> float:
        """A slope that is nowhere exceeded: of the steepest edges along x and y together."""
        rises = self._summary
        return float(np.hypot(rises.rise_y / self.spacing, rises.rise_x / self.spacing))

    def _bilinear(self, places: Array) -> tuple[Array, Array]:
        """Return h (...) and [∂h/∂x, ∂h/∂y] (..., 2) at places (..., 2)."""
        xp = namespace(places)
        last = self._last_cell
        u = (places - constant(xp, self.origin)) / self.spacing
        clipped = xp.minimum(xp.maximum(u, 0.0), constant(xp, last))
        cell = xp.minimum(xp.floor(clipped), constant(xp, last - 1))
        part, cells = clipped - cell, self._cells_at(cell)
        x, y = part[..., :1], part[..., 1:]
        rows = cells[..., ::2] + x * cells[..., 1::2]
        south, climb = rows[..., :1], rows[..., 1:] - rows[..., :1]
        along = cells[..., 1:2] + y * (cells[..., 3:] - cells[..., 1:2])
        slopes = xp.concat([along, climb], axis=-1) / self.spacing
        return (south + y * climb)[..., 0], xp.where(clipped == u, slopes, 0.0)

    def _cells_at(self, cell: Array) -> Array:
        """Return rows (..., 4) of :attr:`_cells` of cells (..., 2)."""
        if self.in_file:
            i, j = cell[..., 0], cell[..., 1]
            a, b, c, d = (self.points(i + m, j + n) for n in (0, 1) for m in (0, 1))
            return np.stack([a, b - a, c, d - c], axis=-1)
        xp = namespace(cell)
        index = xp.astype(cell, xp.int32)
        index = xp.reshape(index[..., 1] * int(self._last_cell[0]) + index[..., 0], (-1,))
        cells = xp.take(constant(xp, self._cells), index, axis=0)
        return xp.reshape(cells, (*cell.shape[:-1], 4))

    def height(self, x: Array, y: Array) -> Array:
        """Return h (...) in m at places x, y (...) of map, m."""
        return self._bilinear(namespace(x).stack([x, y], axis=-1))[0]

    def normal(self, x: Array, y: Array) -> Array:
        """Return the upward unit normal (..., 3) at x, y (...): (−∂h/∂x, −∂h/∂y, 1)/|…|."""
        return _upward_normals(self._bilinear(namespace(x).stack([x, y], axis=-1))[1])

    def surfaces(self, points: Array) -> tuple[Array, Array]:
        """Return d (..., 1, m) in m and n (..., 1, m, 3) of points (..., m, 3).

        d = (z − h) n_z, the distance from the plane that touches the terrain below the point:
        exact on a plane slope, and in first order anywhere near the terrain.
        """
        h, slopes = self._bilinear(points[..., :2])
        normal = _upward_normals(slopes)
        distance = (points[..., 2] - h) * normal[..., 2]
        return distance[..., None, :], normal[..., None, :, :]


@lru_cache(maxsize=8)
def _tiles(terrain: HeightMap, i: int, j: int, cells: int) -> HeightMap:
    """Return the part of a grid about the tile in a column i and a row j of tiles."""
    first = np.maximum(np.array([i, j]) - 1, 0) * cells
    end = (np.array([i, j]) + 2) * cells + 1
    heights = np.array(terrain.heights[first[1] : end[1], first[0] : end[0]], float)
    return HeightMap(terrain.origin + terrain.spacing * first, terrain.spacing, heights,
                     terrain.material)  # fmt: skip


def _find_ridges(heights: np.ndarray, spacing: float) -> np.ndarray:
    """Return a mask (ny, nx) of points whose edge to the next one in x is a ridge."""
    bend = (2 * heights[1:-1] - heights[2:] - heights[:-2]) / spacing
    convex = np.pad(bend > _FLAT, ((1, 1), (0, 0)))
    return np.pad(convex[:, :-1] | convex[:, 1:], ((0, 0), (0, 1)))


def _upward_normals(slopes: Array) -> Array:
    xp, square = namespace(slopes), slopes * slopes
    up = 1 / xp.sqrt(1 + square[..., :1] + square[..., 1:])
    return xp.concat([-slopes * up, up], axis=-1)


# Seabeds generated from a seed: rippled sand, ridged rock.

_STEPS = 1 << 20
"""Quantisation steps of a relief, so that its mean is a sum of whole numbers."""


def _fade(share: np.ndarray) -> np.ndarray:
    """Return 6t⁵ − 15t⁴ + 10t³: from 0 to 1 with no slope or curvature at the ends."""
    return share * share * share * (share * (share * 6 - 15) + 10)


def _gradient_noise(x: np.ndarray, y: np.ndarray, seed: int, name: str) -> np.ndarray:
    """Return noise of about −0.5 to 0.5 at places in lattice units (Perlin 2002), x, y ≥ 0."""
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    u, v = x - i, y - j
    columns = int(i.max()) + 2
    draws = 2 * uniform(seed, f'terrain/{name}', 2 * columns * (int(j.max()) + 2)) - 1
    gradient = draws.reshape(-1, columns, 2)

    def pull(di: int, dj: int) -> np.ndarray:
        g = gradient[j + dj, i + di]
        return g[..., 0] * (u - di) + g[..., 1] * (v - dj)

    across, along = _fade(u), _fade(v)
    south = pull(0, 0) + across * (pull(1, 0) - pull(0, 0))
    north = pull(0, 1) + across * (pull(1, 1) - pull(0, 1))
    return south + along * (north - south)


def _octaves(
    x: np.ndarray, y: np.ndarray, seed: int, name: str, wavelength: float, count: int
) -> list[np.ndarray]:
    """Return noises of a wavelength, half of it, a quarter, ... in m."""
    return [
        _gradient_noise(x * (2**n / wavelength), y * (2**n / wavelength), seed, f'{name}/{n}')
        for n in range(count)
    ]


def _ripple(phase: np.ndarray) -> np.ndarray:
    """Return sand waves from 0 to 1: a long rise, a short fall, by turns of the phase."""
    turn = phase - np.floor(phase)
    crest = 0.65
    return np.where(turn < crest, _fade(turn / crest), _fade((1 - turn) / (1 - crest)))


def _sand(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return soft swells with sand waves of about 4 m across them, in no unit."""
    swells = _octaves(x, y, seed, 'swells', 45.0, 3)
    broad = swells[0] + 0.4 * swells[1] + 0.15 * swells[2]
    bend = _octaves(x, y, seed, 'bend', 24.0, 2)
    phase = x / 4.0 + y / 17.0 + 1.6 * bend[0] + 0.5 * bend[1]
    strength = 0.6 + _octaves(x, y, seed, 'strength', 30.0, 1)[0]
    return broad + 0.16 * strength * _ripple(phase)


def _rock(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return ridges of all sizes, the smaller ones on the larger (Musgrave 1994), in no unit."""
    total, weight, share = np.zeros_like(x), np.ones_like(x), 1.0
    for noise in _octaves(x, y, seed, 'ridges', 36.0, 5):
        ridge = 1 - np.minimum(2.2 * np.abs(noise), 1.0)
        ridge = ridge * ridge * weight
        total = total + share * ridge
        weight = np.clip(1.6 * ridge, 0.3, 1.0)
        share = 0.5 * share
    return total + 0.9 * _octaves(x, y, seed, 'hills', 60.0, 1)[0]


GENERATORS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    'sand': _sand,
    'rock': _rock,
}


@lru_cache(maxsize=8)
def generate(
    generator: str,
    *,
    depth: float,
    relief: float,
    size: tuple[float, float],
    spacing: float,
    seed: int,
    material: str,
) -> HeightMap:
    """Return a terrain about the origin of map; a second call gives the same object.

    Args:
        generator: one of :data:`GENERATORS`.
        depth: depth of the mean seabed below the mean surface, m.
        relief: height of its highest above its lowest place, m.
        size: along x and y, m; rounded to the grid.
        spacing: spacing of the grid, m.
        seed: random seed of the terrain.
    """
    columns, rows = (max(round(length / spacing), 1) + 1 for length in size)
    x, y = np.meshgrid(np.arange(columns) * spacing, np.arange(rows) * spacing)
    shape = GENERATORS[generator](x, y, seed)
    low, high = float(shape.min()), float(shape.max())
    steps = np.floor((shape - low) / ((high - low) or 1.0) * _STEPS).astype(np.int64)
    above_mean = steps - int(steps.sum()) // steps.size
    origin = np.array([-(columns - 1) * spacing / 2, -(rows - 1) * spacing / 2])
    return HeightMap(origin, spacing, above_mean * (relief / _STEPS) - depth, material)


# Ridges of the grid, which touch the flat sides of a vehicle first.

_MAX_WINDOW = 12


def ridge_window(terrain: HeightMap, reach: float) -> int:
    """Return the number of grid points per side of a terrain to check around a body.

    0 where the grid is so fine that there would be more than 12: its ridges are not looked at.

    Args:
        reach: largest distance of the body from its origin, m.
    """
    window = 2 * math.ceil(reach / terrain.spacing) + 2
    return 0 if window > _MAX_WINDOW else min(window, *terrain.heights.shape)


def ridges(terrain: HeightMap, window: int, position: Array) -> tuple[Array, Array, Array]:
    """Return the grid's edges around a place: starts, vectors (..., t, 3), t = 2 w², and ridges.

    The last, (..., t), is 1 where the ground bends down on both sides of an edge, 0 elsewhere. An
    edge keeps its number while the window moves over it.

    Args:
        window: w, of :func:`ridge_window`.
        position: (..., 3) in map, m.
    """
    xp = namespace(position)
    rows, columns = terrain.heights.shape
    slots = constant(xp, np.arange(window, dtype=float))
    cells = []
    for axis, count in enumerate((columns, rows)):
        cell_position = (position[..., axis] - float(terrain.origin[axis])) / terrain.spacing
        first = xp.clip(xp.floor(cell_position) - (window // 2 - 1), 0.0, float(count - window))[
            ..., None
        ]
        shift = slots - first
        cells.append(first + shift - window * xp.floor(shift / window))
    i, j = cells[0][..., None, :], cells[1][..., :, None]
    values = terrain.ridges_at(i, j)
    x = float(terrain.origin[0]) + terrain.spacing * i + xp.zeros_like(values[..., 0])
    y = float(terrain.origin[1]) + terrain.spacing * j + xp.zeros_like(values[..., 0])
    step, none = xp.full_like(x, terrain.spacing), xp.zeros_like(x)
    start = xp.stack([x, y, values[..., 0]], axis=-1)
    east = xp.stack([step, none, values[..., 1] - values[..., 0]], axis=-1)
    north = xp.stack([none, step, values[..., 2] - values[..., 0]], axis=-1)
    shape = (*position.shape[:-1], 2 * window * window)
    return (
        xp.reshape(xp.stack([start, start], axis=-4), (*shape, 3)),
        xp.reshape(xp.stack([east, north], axis=-4), (*shape, 3)),
        xp.reshape(xp.stack([values[..., 3], values[..., 4]], axis=-3), shape),
    )


def ridges_of_cell(
    terrain: HeightMap, window: int, position: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return indices (r,), starts and vectors (r, 3) of the ridges near a position (3,); NumPy."""
    cell = np.floor((position[:2] - terrain.origin) / terrain.spacing)
    return _ridges_of_cell(terrain, window, float(cell[0]), float(cell[1]))


@lru_cache(maxsize=256)
def _ridges_of_cell(
    terrain: HeightMap, window: int, i: float, j: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    inside = terrain.origin + terrain.spacing * (np.array([i, j]) + 0.5)
    start, along, real = ridges(terrain, window, np.append(inside, 0.0))
    which = np.flatnonzero(real > 0)
    return which, start[which], along[which]
