# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""First hits of rays in the water: scene, other vehicles, the surface from below."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace, while_loop
from marine_sim_ros.environment.currents_and_waves import Waves
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.bodies import body_hits
from marine_sim_ros.scene.rays import Hits, cast_rays, nearest_hits
from marine_sim_ros.scene.scene import Scene

__all__ = ['WATER_SURFACE', 'first_hits', 'hit_materials']

WATER_SURFACE = 'water_surface'
"""Material of the water's surface."""
_NOTHING = Scene()
_CLOSE = 1e-10
"""Distance to the surface at which a ray has hit it, m."""
_MAX_STEPS = 500
"""Iteration limit of rays towards waves; errors are below 1 mm except for rays along a crest."""


def first_hits(
    environment: Environment, origins: Array, directions: Array, maximum: float
) -> Hits:
    """Return the first hits of rays.

    Surfaces are numbered in this order: k of the scene, the water surface, the bodies. A ray that
    begins above the water meets the water surface at distance 0.

    Args:
        environment: water, scene and bodies at a time.
        origins: (..., 3) in map, m.
        directions: (..., 3) unit vectors, map.
        maximum: range of the rays, m; finite.
    """
    scene = environment.scene or _NOTHING
    solid = cast_rays(scene, origins, directions, maximum)
    xp = namespace(solid.distance)
    o, d = origins + xp.zeros_like(directions), directions + xp.zeros_like(origins)
    reach = xp.minimum(solid.distance, xp.full_like(solid.distance, maximum))
    above = o
    if environment.tide is not None:
        above = xp.concat([o[..., :2], o[..., 2:] - environment.level], axis=-1)
    if environment.waves is None:
        distance, normal = _still_surface_hits(above, d)
    else:
        distance, normal = _wave_hits(environment.waves, environment.time, above, d, reach)
    number = xp.full_like(distance, float(len(scene)))
    hits = nearest_hits(solid, Hits(distance, normal, number), reach)
    for index, body in enumerate(environment.bodies, len(scene) + 1):
        hits_of_body = body_hits(body, o, d)
        hits = nearest_hits(hits, Hits(*hits_of_body, xp.full_like(distance, float(index))), reach)
    return hits


def hit_materials(environment: Environment) -> tuple[str, ...]:
    """Return the materials of all surfaces by number; the last one means no hit."""
    scene = environment.scene or _NOTHING
    bodies = (body.material for body in environment.bodies)
    return (*scene.materials, WATER_SURFACE, *bodies, '')


def _still_surface_hits(o: Array, d: Array) -> tuple[Array, Array]:
    """Return distances (...) and normals (..., 3) of the plane z = 0 from below."""
    xp = namespace(d)
    height, rise = o[..., 2], d[..., 2]
    rises = rise > 0
    meet = -height / xp.where(rises, rise, xp.ones_like(rise))
    distance = xp.where(rises, meet, xp.full_like(rise, xp.inf))
    normal = xp.zeros_like(d) + constant(xp, np.array([0.0, 0.0, -1.0]))
    return xp.where(height >= 0, xp.zeros_like(height), distance), normal


def _wave_hits(waves: Waves, time: Array, o: Array, d: Array, reach: Array) -> tuple[Array, Array]:
    """Return distances (...) and normals (..., 3) of waves from below.

    A step along the ray is the height below the surface over its largest decrease per m, with Σ a
    k as the steepest slope, so that the ray never crosses a crest (Hart 1996, "Sphere tracing").
    """
    xp = namespace(d)
    highest = float(np.sum(np.abs(waves.amplitude)))
    steepest = float(np.sum(np.abs(waves.amplitude) * waves.wavenumber))
    across = xp.sqrt(d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1])
    closing = steepest * across + d[..., 2]
    comes = closing > 0
    closing = xp.where(comes, closing, xp.ones_like(closing))

    def depth(t: Array) -> Array:
        points = o + t[..., None] * d
        return waves.elevation(points, time) - points[..., 2]

    # No ray meets the surface below the deepest trough.
    rise = xp.where(d[..., 2] > 0, d[..., 2], xp.ones_like(across))
    begin = xp.maximum((-highest - o[..., 2]) / rise, xp.zeros_like(across))
    begin = xp.where(d[..., 2] > 0, begin, xp.zeros_like(across))

    def body(search: tuple[Array, Array, int]) -> tuple[Array, Array, int]:
        t, left, count = search
        on = comes & (left > _CLOSE) & (t <= reach)
        t = t + xp.where(on, left / closing, xp.zeros_like(t))
        return t, depth(t), count + 1

    def is_unfinished(search: tuple[Array, Array, int]) -> Array:
        t, left, count = search
        return xp.any(comes & (left > _CLOSE) & (t <= reach)) & (count < _MAX_STEPS)

    t, left, _ = while_loop(xp, is_unfinished, body, (begin, depth(begin), 0))
    has_hit = (left <= 1e-3) & (t <= reach)
    points = o + t[..., None] * d
    surface = xp.concat([points[..., :2], xp.zeros_like(points[..., 2:])], axis=-1)
    # ∂η/∂x = −a_x/g at the mean surface, where linear waves accelerate the water by −g ∂η/∂x.
    slope = -waves.acceleration(surface, time)[..., :2] / waves.gravity
    down = xp.concat([slope, -xp.ones_like(slope[..., :1])], axis=-1)
    normal = down / xp.sqrt(xp.sum(down * down, axis=-1, keepdims=True))
    return xp.where(has_hit, t, xp.full_like(t, xp.inf)), normal
