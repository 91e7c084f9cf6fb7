# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rays over a terrain: first hits, cell by cell and exact in each.

Within a cell the terrain is bilinear, so its height above a ray is a polynomial of degree two of
the distance along the ray, whose first root is a closed form. A block of cells whose highest
point is below the ray is passed in one step (Tevs, Ihrke and Seidel 2008, "Maximum mipmaps for
fast, accurate, and scalable dynamic height field rendering", with one level).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace, update_rows, while_any_row
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['NONZERO', 'terrain_hits']


NONZERO = 1e-200
"""Replaces 0 in a direction as a divisor; needs 64-bit floats."""
_BLOCK = 8
"""Cells along each side of a block."""


class _GridRays(NamedTuple):
    """Rays (r,): places u, v in cells of the grid and z in m, their change per m, the end in m."""

    u: Array
    v: Array
    z: Array
    du: Array
    dv: Array
    dz: Array
    end: Array


class _MarchState(NamedTuple):
    """Progress of rays (r,): distance in m, cell, and whether they hit the terrain."""

    t: Array
    i: Array
    j: Array
    hit: Array


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
    tops = []
    for first, band in terrain.bands(_BLOCK, 1):
        south, north = first == 0, first + len(band) == len(terrain.heights)
        h = np.pad(band, [(int(south), int(north)), (1, 1)], mode='edge')
        cells = np.maximum(np.maximum(h[:-1, :-1], h[:-1, 1:]), np.maximum(h[1:, :-1], h[1:, 1:]))
        # The cells beyond the western and southern ends, number −1, are blocks of their own.
        before = (_BLOCK - 1) * south, _BLOCK - 1
        after = [-n % _BLOCK for n in np.add(cells.shape, before)]
        padded = np.pad(cells, list(zip(before, after, strict=True)), constant_values=-np.inf)
        rows, columns = (n // _BLOCK for n in padded.shape)
        tops.append(padded.reshape(rows, _BLOCK, columns, _BLOCK).max(axis=(1, 3)))
    return np.concatenate(tops)


def _ground(
    terrain: HeightMap, ray: _GridRays, march: _MarchState
) -> tuple[Array, Array, Array, Array]:
    """Return h, ∂h/∂u, ∂h/∂v and ∂²h/∂u∂v (r,) below rays, in m and cells."""
    xp = namespace(march.t)
    if terrain.in_file:
        i, j = march.i, march.j
        a, b, c, d = (terrain.points(i + m, j + n) for n in (0, 1) for m in (0, 1))
        east, north, twist = b - a, c - a, (d - c) - (b - a)
    else:
        columns = terrain.heights.shape[1] + 1
        index = xp.astype((march.j + 1.0) * columns + (march.i + 1.0), xp.int32)
        patch = xp.take(constant(xp, _patches(terrain)), index, axis=0)
        a, east, north, twist = (patch[:, n] for n in range(4))
    fu = ray.u + ray.du * march.t - march.i
    fv = ray.v + ray.dv * march.t - march.j
    along_u = east + fv * twist
    return a + fu * along_u + fv * north, along_u, north + fu * twist, twist


def _first_root(f: Array, gradient: Array, curvature: Array) -> Array:
    """Return the smallest τ > 0 (r,) with f + gradient τ + curvature τ² = 0; infinite: none.

    f must be positive. Where gradient < 0, the Citardauq form avoids cancellation.
    """
    xp = namespace(f)
    square = gradient * gradient - 4.0 * curvature * f
    root = xp.sqrt(xp.maximum(square, xp.zeros_like(f)))
    sinks = gradient < 0
    q = 0.5 * (xp.where(sinks, root, -root) - gradient)
    above, below = xp.where(sinks, f, q), xp.where(sinks, q, curvature)
    some = (square >= 0) & (sinks | (curvature < 0))
    return xp.where(some, above / xp.where(some, below, xp.ones_like(f)), xp.full_like(f, xp.inf))


def _exit_distance(position: Array, change: Array, cell: Array, last: int, size: int) -> Array:
    """Return the exit distance (r,) of a cell along an axis, m; infinite for outer cells."""
    xp = namespace(position)
    ahead = change > 0
    side = xp.where(ahead, cell + 1.0, cell) * size
    outer = xp.where(ahead, cell >= last // size, cell < 0)
    return xp.where(outer, xp.full_like(position, xp.inf), (side - position) / change)


def _skip_block(
    terrain: HeightMap, ray: _GridRays, march: _MarchState
) -> tuple[Array, _MarchState]:
    """Return a mask of rays (r,) above all of their block, and their exits from it."""
    xp = namespace(march.t)
    rows, columns = terrain.heights.shape
    tops = _block_tops(terrain)
    i, j = xp.floor(march.i / _BLOCK), xp.floor(march.j / _BLOCK)
    index = xp.astype((j + 1.0) * tops.shape[1] + (i + 1.0), xp.int32)
    top = xp.take(constant(xp, tops.reshape(-1)), index)
    end_u = _exit_distance(ray.u, ray.du, i, columns - 1, _BLOCK)
    end_v = _exit_distance(ray.v, ray.dv, j, rows - 1, _BLOCK)
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
    return clear, _MarchState(
        leave,
        cell(by_u, ray.u, ray.du, i, columns - 1),
        cell(by_v, ray.v, ray.dv, j, rows - 1),
        march.hit,
    )


def _cross_cell(terrain: HeightMap, ray: _GridRays, march: _MarchState) -> _MarchState:
    """Return the distances at which rays (r,) hit the terrain in their cells, or leave these."""
    xp = namespace(march.t)
    rows, columns = terrain.heights.shape
    h, along_u, along_v, twist = _ground(terrain, ray, march)
    f = ray.z + ray.dz * march.t - h
    slope = ray.dz - ray.du * along_u - ray.dv * along_v
    curvature = -twist * ray.du * ray.dv
    end_u = _exit_distance(ray.u, ray.du, march.i, columns - 1, 1)
    end_v = _exit_distance(ray.v, ray.dv, march.j, rows - 1, 1)
    leave = xp.maximum(xp.minimum(xp.minimum(end_u, end_v), ray.end), march.t)
    exit_step = leave - march.t
    root = _first_root(f, slope, curvature)
    inside = f <= 0
    hit = inside | (root <= exit_step) | (f + (slope + curvature * exit_step) * exit_step <= 0)
    hit_distance = march.t + xp.where(
        inside, xp.zeros_like(exit_step), xp.minimum(root, exit_step)
    )
    stay, one = xp.zeros_like(f), xp.ones_like(f)
    by_u = ~hit & (end_u <= leave)
    by_v = ~hit & ~by_u & (end_v <= leave)
    return _MarchState(
        xp.where(hit, hit_distance, leave),
        march.i + xp.where(by_u, xp.where(ray.du > 0, one, -one), stay),
        march.j + xp.where(by_v, xp.where(ray.dv > 0, one, -one), stay),
        hit,
    )


def _is_unfinished(ray: _GridRays, march: _MarchState) -> Array:
    return ~march.hit & (march.t < ray.end)


def _march(terrain: HeightMap, ray: _GridRays, march: _MarchState) -> _MarchState:
    """Return the distances at which rays hit the terrain, or their lengths."""

    def advance(ray: _GridRays, now: _MarchState) -> _MarchState:
        clear, block_exit = _skip_block(terrain, ray, now)
        return update_rows(~clear, block_exit, partial(_cross_cell, terrain), ray, now)

    return while_any_row(_is_unfinished, advance, ray, march)


def terrain_hits(
    terrain: HeightMap, origins: Array, directions: Array, maximum: Array
) -> tuple[Array, Array]:
    """Return distances and normals of the first hits of rays on a terrain.

    A ray that begins below the terrain meets it at once.

    Args:
        origins: (r, 3) in map, m.
        directions: (r, 3) unit vectors, map.
        maximum: (r,) how far the rays go, m; finite.

    Returns:
        Distances (r,) in m, infinite where a ray meets nothing, and unit normals (r, 3).
    """
    xp = namespace(origins)
    size = terrain.spacing

    def grid_coordinates(axis: int) -> tuple[Array, Array]:
        change = directions[:, axis] / size
        tiny = xp.full_like(change, NONZERO)
        place = (origins[:, axis] - float(terrain.origin[axis])) / size
        return place, xp.where(xp.abs(change) < NONZERO, tiny, change)

    (u, du), (v, dv) = grid_coordinates(0), grid_coordinates(1)
    z, dz = origins[:, 2], directions[:, 2]
    # Nothing is above the highest point.
    top, none = terrain.highest, xp.zeros_like(z)
    sinks = dz < 0
    begin = xp.where(z > top, (top - z) / xp.where(sinks, dz, -xp.ones_like(dz)), none)
    end = xp.where((z > top) & ~sinks, -xp.ones_like(z), maximum)
    ray = _GridRays(u, v, z, du, dv, dz, end)
    rows, columns = terrain.heights.shape
    i = xp.clip(xp.floor(u + du * begin), -1.0, columns - 1.0)
    j = xp.clip(xp.floor(v + dv * begin), -1.0, rows - 1.0)
    march = _march(terrain, ray, _MarchState(begin, i, j, none > 1.0))
    _, along_u, along_v, _ = _ground(terrain, ray, march)
    east, north = along_u / size, along_v / size
    up = 1.0 / xp.sqrt(1.0 + east * east + north * north)
    normal = xp.stack([-east * up, -north * up, up], axis=-1)
    return xp.where(march.hit, march.t, xp.full_like(z, xp.inf)), normal
