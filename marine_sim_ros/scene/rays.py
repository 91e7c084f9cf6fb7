# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rays through a scene: first hits of planes, obstacles, meshes and terrain."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, host_call, namespace
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain_rays import NONZERO, terrain_hits

__all__ = ['Hits', 'cast_rays', 'nearest_hits']


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
