# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where rays first meet a terrain: from cell to cell of its grid, exact in each.

Within a cell the terrain is bilinear, so its height above a ray is a polynomial of degree two of
the distance along the ray, whose first root is a closed form. A block of cells whose highest
point is below the ray is passed in one step (Tevs, Ihrke and Seidel 2008, "Maximum mipmaps for
fast, accurate, and scalable dynamic height field rendering", with one level).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, namespace
from marine_sim_ros.core.control_flow import while_loop
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['terrain_hits']

_ALMOST_ZERO = 1e-200
"""Stands for 0 in a direction, so that one can divide by it."""
_BLOCK = 8
"""Cells along each side of a block."""


class _Rays(NamedTuple):
    """Rays (r,): places u, v in cells of the grid and z in m, their change per m, the end in m."""

    u: Array
    v: Array
    z: Array
    du: Array
    dv: Array
    dz: Array
    end: Array


class _March(NamedTuple):
    """How far rays (r,) have come: m along the ray, cell, and whether they met the terrain."""

    t: Array
    i: Array
    j: Array
    hit: Array


Numbers = TypeVar('Numbers', _Rays, _March)


@lru_cache(maxsize=8)
def _patches(terrain: HeightMap) -> np.ndarray:
    """Return (cells, 4) h, ∂h/∂u, ∂h/∂v and ∂²h/∂u∂v at the south-west corners of cells, m.

    There is one more cell on each side, without an outer end, for what is beyond the grid.
    """
    h = np.pad(terrain.heights, 1, mode='edge')
    a, b, c, d = h[:-1, :-1], h[:-1, 1:], h[1:, :-1], h[1:, 1:]
    return np.stack([a, b - a, c - a, (d - c) - (b - a)], axis=-1).reshape(-1, 4)


@lru_cache(maxsize=8)
def _block_tops(terrain: HeightMap) -> np.ndarray:
    """Return (by, bx) the highest point of every block of 8 by 8 cells, m."""
    h = np.pad(terrain.heights, 1, mode='edge')
    cells = np.maximum(np.maximum(h[:-1, :-1], h[:-1, 1:]), np.maximum(h[1:, :-1], h[1:, 1:]))
    # The cells beyond the western and southern ends, number −1, are blocks of their own.
    before, after = _BLOCK - 1, [-n % _BLOCK for n in np.add(cells.shape, _BLOCK - 1)]
    padded = np.pad(cells, [(before, n) for n in after], constant_values=-np.inf)
    rows, columns = (n // _BLOCK for n in padded.shape)
    return np.asarray(padded.reshape(rows, _BLOCK, columns, _BLOCK).max(axis=(1, 3)))


def _ground(terrain: HeightMap, ray: _Rays, march: _March) -> tuple[Array, Array, Array, Array]:
    """Return h, ∂h/∂u, ∂h/∂v and ∂²h/∂u∂v (r,) below rays, in m and cells."""
    xp = namespace(march.t)
    columns = terrain.heights.shape[1] + 1
    index = xp.astype((march.j + 1.0) * columns + (march.i + 1.0), xp.int32)
    patch = xp.take(constant(xp, _patches(terrain)), index, axis=0)
    a, east, north, twist = (patch[:, n] for n in range(4))
    fu = ray.u + ray.du * march.t - march.i
    fv = ray.v + ray.dv * march.t - march.j
    along_u = east + fv * twist
    return a + fu * along_u + fv * north, along_u, north + fu * twist, twist


def _first_root(f: Array, slope: Array, bend: Array) -> Array:
    """Return the least τ > 0 (r,) with f + slope τ + bend τ² = 0, for f > 0; infinite for none."""
    xp = namespace(f)
    square = slope * slope - 4.0 * bend * f
    root = xp.sqrt(xp.maximum(square, xp.zeros_like(f)))
    sinks = slope < 0
    q = 0.5 * (xp.where(sinks, root, -root) - slope)
    above, below = xp.where(sinks, f, q), xp.where(sinks, q, bend)
    some = (square >= 0) & (sinks | (bend < 0))
    return xp.where(some, above / xp.where(some, below, xp.ones_like(f)), xp.full_like(f, xp.inf))


def _end(place: Array, change: Array, cell: Array, last: int, size: int) -> Array:
    """Return how far (r,) along its ray a cell ends along an axis, m; the outer ones never do."""
    xp = namespace(place)
    ahead = change > 0
    side = xp.where(ahead, cell + 1.0, cell) * size
    outer = xp.where(ahead, cell >= last // size, cell < 0)
    return xp.where(outer, xp.full_like(place, xp.inf), (side - place) / change)


def _over_block(terrain: HeightMap, ray: _Rays, march: _March) -> tuple[Array, _March]:
    """Return which rays (r,) stay above all of their block, and where they leave it."""
    xp = namespace(march.t)
    rows, columns = terrain.heights.shape
    tops = _block_tops(terrain)
    i, j = xp.floor(march.i / _BLOCK), xp.floor(march.j / _BLOCK)
    index = xp.astype((j + 1.0) * tops.shape[1] + (i + 1.0), xp.int32)
    top = xp.take(constant(xp, tops.reshape(-1)), index)
    end_u = _end(ray.u, ray.du, i, columns - 1, _BLOCK)
    end_v = _end(ray.v, ray.dv, j, rows - 1, _BLOCK)
    leave = xp.maximum(xp.minimum(xp.minimum(end_u, end_v), ray.end), march.t)
    clear = ray.z + ray.dz * xp.where(ray.dz < 0, leave, march.t) > top

    def cell(by: Array, place: Array, change: Array, block: Array, last: int) -> Array:
        out = xp.where(change > 0, (block + 1.0) * _BLOCK, block * _BLOCK - 1.0)
        along = xp.floor(place + change * leave)
        low = xp.maximum(block * _BLOCK, xp.full_like(along, -1.0))
        high = xp.minimum(block * _BLOCK + (_BLOCK - 1.0), xp.full_like(along, float(last)))
        return xp.where(by, out, xp.minimum(xp.maximum(along, low), high))

    by_u = end_u <= leave
    by_v = ~by_u & (end_v <= leave)
    return clear, _March(
        leave,
        cell(by_u, ray.u, ray.du, i, columns - 1),
        cell(by_v, ray.v, ray.dv, j, rows - 1),
        march.hit,
    )


def _through_cell(terrain: HeightMap, ray: _Rays, march: _March) -> _March:
    """Return where rays (r,) meet the terrain in their cells, or leave these."""
    xp = namespace(march.t)
    rows, columns = terrain.heights.shape
    h, along_u, along_v, twist = _ground(terrain, ray, march)
    f = ray.z + ray.dz * march.t - h
    slope = ray.dz - ray.du * along_u - ray.dv * along_v
    bend = -twist * ray.du * ray.dv
    end_u = _end(ray.u, ray.du, march.i, columns - 1, 1)
    end_v = _end(ray.v, ray.dv, march.j, rows - 1, 1)
    leave = xp.maximum(xp.minimum(xp.minimum(end_u, end_v), ray.end), march.t)
    way = leave - march.t
    root = _first_root(f, slope, bend)
    inside = f <= 0
    hit = inside | (root <= way) | (f + (slope + bend * way) * way <= 0)
    met = march.t + xp.where(inside, xp.zeros_like(way), xp.minimum(root, way))
    stay, one = xp.zeros_like(f), xp.ones_like(f)
    by_u = ~hit & (end_u <= leave)
    by_v = ~hit & ~by_u & (end_v <= leave)
    return _March(
        xp.where(hit, met, leave),
        march.i + xp.where(by_u, xp.where(ray.du > 0, one, -one), stay),
        march.j + xp.where(by_v, xp.where(ray.dv > 0, one, -one), stay),
        hit,
    )


def _unfinished(ray: _Rays, march: _March) -> Array:
    return ~march.hit & (march.t < ray.end)


def _march(terrain: HeightMap, ray: _Rays, march: _March) -> _March:
    """Return where rays end: where they meet the terrain, or at their ends."""
    xp = namespace(march.t)
    if xp is NUMPY:
        return _march_some(terrain, ray, march)

    def body(now: _March) -> _March:
        todo = _unfinished(ray, now)
        clear, beyond = _over_block(terrain, ray, now)
        through = _through_cell(terrain, ray, now)
        parts = zip(now, beyond, through, strict=True)
        return _March(*(xp.where(todo, xp.where(clear, b, c), a) for a, b, c in parts))

    return while_loop(xp, lambda now: xp.any(_unfinished(ray, now)), body, march)


def _march_some(terrain: HeightMap, ray: _Rays, march: _March) -> _March:
    """Do the same in NumPy, of each ray only what it needs."""
    result = _March(*(np.array(x) for x in march))

    def put(where: np.ndarray, part: _March) -> None:
        for whole, values in zip(result, part, strict=True):
            whole[where] = values

    left = np.flatnonzero(_unfinished(ray, march))
    while left.size:
        rays, now = _of(ray, left), _of(result, left)
        clear, beyond = _over_block(terrain, rays, now)
        put(left[clear], _of(beyond, clear))
        put(left[~clear], _through_cell(terrain, _of(rays, ~clear), _of(now, ~clear)))
        left = left[_unfinished(rays, _of(result, left))]
    return result


def _of(values: Numbers, some: np.ndarray) -> Numbers:
    """Return some of the rays."""
    return type(values)(*(x[some] for x in values))


def terrain_hits(
    terrain: HeightMap, origins: Array, directions: Array, maximum: Array
) -> tuple[Array, Array]:
    """Return how far rays go until they meet a terrain, and where it faces there.

    A ray that begins below the terrain meets it at once.

    Args:
        terrain: terrain of a scene.
        origins: (r, 3) in map, m.
        directions: (r, 3) unit vectors, map.
        maximum: (r,) how far the rays go, m; finite.

    Returns:
        Distances (r,) in m, infinite where a ray meets nothing, and unit normals (r, 3).
    """
    xp = namespace(origins)
    size = terrain.spacing

    def part(axis: int) -> tuple[Array, Array]:
        change = directions[:, axis] / size
        tiny = xp.full_like(change, _ALMOST_ZERO)
        place = (origins[:, axis] - float(terrain.origin[axis])) / size
        return place, xp.where(xp.abs(change) < _ALMOST_ZERO, tiny, change)

    (u, du), (v, dv) = part(0), part(1)
    z, dz = origins[:, 2], directions[:, 2]
    # Nothing is above the highest point.
    top, none = float(terrain.heights.max()), xp.zeros_like(z)
    sinks = dz < 0
    begin = xp.where(z > top, (top - z) / xp.where(sinks, dz, -xp.ones_like(dz)), none)
    end = xp.where((z > top) & ~sinks, -xp.ones_like(z), maximum)
    ray = _Rays(u, v, z, du, dv, dz, end)
    rows, columns = terrain.heights.shape
    i = xp.clip(xp.floor(u + du * begin), -1.0, columns - 1.0)
    j = xp.clip(xp.floor(v + dv * begin), -1.0, rows - 1.0)
    march = _march(terrain, ray, _March(begin, i, j, none > 1.0))
    _, along_u, along_v, _ = _ground(terrain, ray, march)
    east, north = along_u / size, along_v / size
    up = 1.0 / xp.sqrt(1.0 + east * east + north * north)
    normal = xp.stack([-east * up, -north * up, up], axis=-1)
    return xp.where(march.hit, march.t, xp.full_like(z, xp.inf)), normal
