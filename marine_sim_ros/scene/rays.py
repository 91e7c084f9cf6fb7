# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rays through a scene: first hits of planes, obstacles, meshes and terrain.

Within a cell a terrain is bilinear, so its height above a ray is a polynomial of degree two of
the distance along the ray, whose first root is a closed form. A block of cells whose highest
point is below the ray is passed in one step (Tevs, Ihrke and Seidel 2008, "Maximum mipmaps for
fast, accurate, and scalable dynamic height field rendering", with one level).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    constant,
    host_call,
    namespace,
    update_rows,
    while_any_row,
)
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['Hits', 'cast_rays', 'nearest_hits']

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


class Hits(NamedTuple):
    """First hits of rays (...).

    Attributes:
        distance: (...) along the ray, m; infinite where it meets nothing.
        normal: (..., 3) unit normal of what it meets, into the water, map; 0 for nothing.
        surface: (...) its number in ``scene.names``; −1 for nothing.
    """

    distance: Array
    normal: Array
    surface: Array


@np.errstate(over='ignore', invalid='ignore')  # overflow counts as a miss
def cast_rays(scene: Scene, origins: Array, directions: Array, maximum: float) -> Hits:
    """Return the first hits of rays on a scene.

    A ray that starts inside a solid has distance 0. Planes, boxes, spheres
    and cylinders are closed forms; on a terrain :func:`terrain_hits` marches from patch to patch.

    Args:
        origins: (..., 3) in map, m.
        directions: (..., 3) unit vectors, map.
        maximum: how far the rays go, m; finite.
    """
    xp = namespace(directions)
    origins, directions = origins + xp.zeros_like(directions), directions + xp.zeros_like(origins)
    shape = directions.shape[:-1]
    o, d = xp.reshape(origins, (-1, 3)), xp.reshape(directions, (-1, 3))
    hits = _no_hits(d)
    reach = xp.full_like(d[:, 0], maximum)
    for index in _within_reach(scene, o, maximum):
        hits_of_surface = _surface_hits(scene, index, o, d, reach)
        hits = nearest_hits(hits, Hits(*hits_of_surface, xp.full_like(reach, index)), reach)
    distance, normal, surface = hits
    return Hits(
        xp.reshape(distance, shape), xp.reshape(normal, (*shape, 3)), xp.reshape(surface, shape)
    )


def nearest_hits(first: Hits, second: Hits, reach: Array) -> Hits:
    """Return the nearer of two hits (...) of each ray within its reach."""
    xp = namespace(first.distance)
    nearer = (second.distance < first.distance) & (second.distance <= reach)
    return Hits(
        xp.where(nearer, second.distance, first.distance),
        xp.where(nearer[..., None], second.normal, first.normal),
        xp.where(nearer, second.surface, first.surface),
    )


def _no_hits(d: Array) -> Hits:
    xp = namespace(d)
    number = xp.zeros_like(d[:, 0])
    return Hits(number + xp.inf, xp.zeros_like(d), number - 1.0)


def _within_reach(scene: Scene, o: Array, maximum: float) -> tuple[int, ...]:
    """Return the surfaces that rays from one point can reach; all for several origins."""
    is_small = len(scene) <= 2  # the test costs as much as it saves
    return tuple(range(len(scene))) if is_small else scene.surfaces_near(o, maximum)


def _surface_hits(
    scene: Scene, index: int, o: Array, d: Array, reach: Array
) -> tuple[Array, Array]:
    """Return distances (r,) and normals (r, 3) of the hits of rays on one surface."""
    if index < len(scene.planes):
        return _plane(scene.planes[index], o, d)
    if scene.terrain is not None and index == len(scene.planes):
        return terrain_hits(scene.terrain, o, d, reach)
    obstacle = scene.obstacles[index - len(scene) + len(scene.obstacles)]
    xp = namespace(d)
    rotation = constant(xp, rotation_matrix(obstacle.orientation))
    local = (o - constant(xp, obstacle.position)) @ rotation
    if obstacle.mesh is not None:
        distance, normal = host_call(
            obstacle.mesh.first_hits, (reach.shape, d.shape), local, d @ rotation, reach
        )
        return distance, normal @ rotation.T
    enter, leave, normal = _INTERVALS[obstacle.kind](local, d @ rotation, obstacle)
    is_hit = (enter <= leave) & (leave >= 0)
    begin = xp.maximum(enter, xp.zeros_like(enter))
    return xp.where(is_hit, begin, xp.full_like(enter, xp.inf)), normal @ rotation.T


def _plane(plane: Plane, o: Array, d: Array) -> tuple[Array, Array]:
    xp = namespace(d)
    normal = constant(xp, plane.normal)
    enter, leave = _half_space(o @ normal - float(plane.normal @ plane.point), d @ normal)
    facing = xp.zeros_like(d) + normal
    if np.isfinite(plane.rim):
        above, below = _half_space(o[..., 2] - plane.rim, d[..., 2])
        up = constant(xp, np.array([0.0, 0.0, 1.0]))
        facing = xp.where((above > enter)[..., None], up, facing)
        enter, leave = xp.maximum(enter, above), xp.minimum(leave, below)
    is_hit = (enter <= leave) & (leave >= 0)
    begin = xp.maximum(enter, xp.zeros_like(enter))
    return xp.where(is_hit, begin, xp.full_like(enter, xp.inf)), facing


def _half_space(height: Array, rise: Array) -> tuple[Array, Array]:
    """Return entry and exit of rays (r,) in height + t rise ≤ 0; infinite where there is none."""
    xp = namespace(rise)
    is_oblique = rise != 0
    crossing = -height / xp.where(is_oblique, rise, xp.ones_like(rise))
    inf = xp.full_like(rise, xp.inf)
    enter = xp.where(rise < 0, crossing, xp.where(height <= 0, -inf, inf))
    return enter, xp.where(rise > 0, crossing, inf)


def _slab(o: Array, d: Array, half: float) -> tuple[Array, Array]:
    """Return entry and exit of rays (r,) in −half ≤ x ≤ half."""
    xp = namespace(d)
    change = xp.where(xp.abs(d) < NONZERO, xp.full_like(d, NONZERO), d)
    first, second = (-half - o) / change, (half - o) / change
    return xp.minimum(first, second), xp.maximum(first, second)


def _round_interval(o: Array, d: Array, radius: float) -> tuple[Array, Array]:
    """Return entry and exit of rays (r, n) in a circle or sphere about the origin."""
    xp = namespace(d)
    speed = xp.sum(d * d, axis=-1)
    is_oblique = speed > 1e-30
    speed = xp.where(is_oblique, speed, xp.ones_like(speed))
    middle = -xp.sum(o * d, axis=-1) / speed
    passing = o + middle[:, None] * d
    square = radius * radius - xp.sum(xp.where(is_oblique[:, None], passing, o) ** 2, axis=-1)
    half = xp.sqrt(xp.maximum(square, 0.0 * square) / speed)
    half = xp.where(is_oblique, half, xp.full_like(half, xp.inf))
    middle = xp.where(is_oblique, middle, 0.0 * middle)
    miss = square < 0
    inf = xp.full_like(half, xp.inf)
    return xp.where(miss, inf, middle - half), xp.where(miss, -inf, middle + half)


Interval = tuple[Array, Array, Array]
"""Entry and exit of rays in a solid (r,), m, and the entry normals (r, 3)."""


def _box(o: Array, d: Array, box: Obstacle) -> Interval:
    xp = namespace(d)
    sides = [_slab(o[:, n], d[:, n], float(box.size[n]) / 2) for n in range(3)]
    enters = xp.stack([s[0] for s in sides], axis=-1)
    enter = xp.max(enters, axis=-1)
    leave = xp.min(xp.stack([s[1] for s in sides], axis=-1), axis=-1)
    faces = xp.where(enters == enter[:, None], -xp.sign(d), xp.zeros_like(d))
    return enter, leave, _unit(faces)


def _cylinder(o: Array, d: Array, cylinder: Obstacle) -> Interval:
    xp = namespace(d)
    ends, caps_leave = _slab(o[:, 2], d[:, 2], float(cylinder.size[2]) / 2)
    sides, side_leave = _round_interval(o[:, :2], d[:, :2], float(cylinder.size[0]) / 2)
    enter = xp.maximum(ends, sides)
    finite = xp.where(xp.abs(enter) < xp.inf, enter, 0.0 * ends)
    across = (o + finite[:, None] * d)[:, :2]
    side = xp.concat([across, xp.zeros_like(across[:, :1])], axis=-1)
    cap = xp.concat([xp.zeros_like(across), -xp.sign(d[:, 2:])], axis=-1)
    normal = _unit(xp.where((sides >= ends)[:, None], side, cap))
    return enter, xp.minimum(caps_leave, side_leave), normal


def _sphere(o: Array, d: Array, sphere: Obstacle) -> Interval:
    xp = namespace(d)
    enter, leave = _round_interval(o, d, float(sphere.size[0]) / 2)
    finite = xp.where(xp.abs(enter) < xp.inf, enter, xp.zeros_like(leave))
    return enter, leave, _unit(o + finite[:, None] * d)


_INTERVALS: dict[str, Callable[[Array, Array, Obstacle], Interval]] = {
    'box': _box,
    'cylinder': _cylinder,
    'sphere': _sphere,
}


def _unit(vectors: Array) -> Array:
    """Return vectors (r, 3) of length 1; 0 stays 0."""
    xp = namespace(vectors)
    square = xp.sum(vectors * vectors, axis=-1, keepdims=True)
    return vectors / xp.sqrt(xp.where(square > 0, square, xp.ones_like(square)))
