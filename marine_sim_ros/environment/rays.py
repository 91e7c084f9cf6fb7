# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rays in the water: first hits of straight ones, and paths of sound that layers bend.

The water is layered: the speed of sound c depends on depth alone, by the profile where a path
begins. Along a ray cos θ/c is constant, with the angle θ from the horizontal (Snell); the tangent
t turns by dt/ds = −(c'/c) (ẑ − (ẑ·t) t). Source: Jensen, Kuperman, Porter and Schmidt (2011),
Computational Ocean Acoustics, sections 3.2 and 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace, while_loop
from marine_sim_ros.environment.currents_and_waves import Waves
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.bodies import body_hits
from marine_sim_ros.scene.rays import Hits, cast_rays, nearest_hits
from marine_sim_ros.scene.scene import Scene

__all__ = [
    'BentHits',
    'BentPath',
    'WATER_SURFACE',
    'bends_sound',
    'bent_hits',
    'bent_path',
    'bent_paths',
    'first_hits',
    'hit_materials',
]

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


_SEGMENT = 5.0
"""Largest length of the straight parts of a ray, m."""
_MAX_SEGMENTS = 64
_SUBSTEPS = 4
"""Steps of the integration over a straight part."""
_GRAZING = 0.995
"""cos θ above which a ray may turn within a step."""
_LAYER = 0.25
"""Largest distance of the depths at which the speed of sound is taken for a path, m, ..."""
_MAX_LAYERS = 4000
"""... and their largest number."""
_ROUNDS = 60
"""Bisections of the constant of a path."""
_TRIES = 64
"""Depths of turning points that are tried one after the other."""


def bends_sound(environment: Environment) -> bool:
    """Whether sound goes on bent paths: an option of stratified water."""
    return environment.refraction and environment.fields is not None


@dataclass(frozen=True, eq=False)
class _Column:
    """Speed of sound c (n,), m/s, at heights z (n,), m, ascending."""

    height: np.ndarray
    speed: np.ndarray

    @classmethod
    def at(cls, environment: Environment, place: np.ndarray, low: float, high: float) -> _Column:
        """Return the speed of sound below and above a place (3,), between two heights, m."""
        high = min(high, float(environment.level)) if low < float(environment.level) else high
        count = int(np.clip(math.ceil((high - low) / _LAYER), 2, _MAX_LAYERS)) + 1
        height = np.linspace(low, high, count)
        points = np.column_stack([np.tile(place[:2], (count, 1)), height])
        return cls(height, np.asarray(environment.sound_speed(points)))

    @cached_property
    def bend(self) -> np.ndarray:
        """c'/c (n,), 1/m."""
        return np.asarray(np.gradient(self.speed, self.height) / self.speed)

    @cached_property
    def slowness(self) -> np.ndarray:
        """1/c (n,), s/m."""
        return np.asarray(1.0 / self.speed)


class BentHits(NamedTuple):
    """First hits of rays that the water bends.

    Attributes:
        hits: distances along the rays, m, normals and surfaces.
        delay: (n,) time from the beginning to the hit, s; infinite for none.
        direction: (n, 3) unit vectors at the hit, map; for none at the beginning.
    """

    hits: Hits
    delay: np.ndarray
    direction: np.ndarray


def bent_hits(
    environment: Environment, origin: np.ndarray, directions: np.ndarray, maximum: float
) -> BentHits:
    """Return the first hits of rays from one place through layered water.

    A ray is a chain of straight parts of up to 5 m, whose corners are on the bent one.

    Args:
        environment: water, scene and bodies at a time.
        origin: (3,) map, m.
        directions: (n, 3) unit vectors, map.
        maximum: length of the rays, m.
    """
    column = _Column.at(
        environment, origin, float(origin[2]) - maximum, float(origin[2]) + maximum
    )
    parts = int(np.clip(math.ceil(maximum / _SEGMENT), 1, _MAX_SEGMENTS))
    length = maximum / parts
    place, tangent = np.tile(origin, (len(directions), 1)), directions
    delay, travelled = np.zeros(len(directions)), np.zeros(len(directions))
    distance = np.full(len(directions), np.inf)
    normal, surface = np.zeros_like(directions), np.full(len(directions), -1.0)
    found_delay, found_direction = np.full(len(directions), np.inf), directions.copy()
    on = np.arange(len(directions))
    for _ in range(parts):
        corner, turned, taken = _advance(column, place, tangent, length)
        chord = corner - place
        chord_length = np.linalg.norm(chord, axis=-1)
        along = chord / chord_length[:, None]
        hits = first_hits(environment, place, along, length)
        is_hit = hits.distance <= chord_length
        share = np.where(is_hit, hits.distance / chord_length, 1.0)
        rows = on[is_hit]
        distance[rows] = travelled[is_hit] + length * share[is_hit]
        normal[rows], surface[rows] = hits.normal[is_hit], hits.surface[is_hit]
        found_delay[rows] = delay[is_hit] + (taken * share)[is_hit]
        found_direction[rows] = along[is_hit]
        left = ~is_hit
        on, place, tangent = on[left], corner[left], turned[left]
        delay, travelled = (delay + taken)[left], travelled[left] + length
        if not len(on):
            break
    return BentHits(Hits(distance, normal, surface), found_delay, found_direction)


def _advance(
    column: _Column, place: np.ndarray, tangent: np.ndarray, length: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places and tangents (n, 3) after a length of rays, m, and the time taken (n,), s."""
    step = length / _SUBSTEPS
    up = np.array([0.0, 0.0, 1.0])
    taken = np.zeros(len(place))

    def turn(height: np.ndarray, along: np.ndarray) -> np.ndarray:
        curvature = np.interp(height, column.height, column.bend)
        return -curvature[:, None] * (up - along[:, 2:] * along)

    for _ in range(_SUBSTEPS):
        first = tangent
        # Runge and Kutta's fourth order.
        k1 = turn(place[:, 2], tangent)
        t2 = tangent + 0.5 * step * k1
        k2 = turn(place[:, 2] + 0.5 * step * tangent[:, 2], t2)
        t3 = tangent + 0.5 * step * k2
        k3 = turn(place[:, 2] + 0.5 * step * t2[:, 2], t3)
        t4 = tangent + step * k3
        k4 = turn(place[:, 2] + step * t3[:, 2], t4)
        after = place + step / 6 * (tangent + 2 * t2 + 2 * t3 + t4)
        tangent = tangent + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        tangent = _by_snell(column, place, first, after, tangent)
        ends = (np.interp(p[:, 2], column.height, column.slowness) for p in (place, after))
        taken = taken + 0.5 * step * sum(ends)
        place = after
    return place, tangent, taken


def _by_snell(
    column: _Column, place: np.ndarray, first: np.ndarray, after: np.ndarray, tangent: np.ndarray
) -> np.ndarray:
    """Return unit tangents (n, 3) whose cos θ/c is that of the step before, but near a turn."""
    speeds = [np.interp(p[:, 2], column.height, column.speed) for p in (place, after)]
    cosine = np.hypot(first[:, 0], first[:, 1]) * speeds[1] / speeds[0]
    tangent = tangent / np.linalg.norm(tangent, axis=-1, keepdims=True)
    own = np.hypot(tangent[:, 0], tangent[:, 1])
    steep = (cosine < _GRAZING) & (own > 1e-12)
    flat = np.where(steep, cosine / np.where(own > 0, own, 1.0), 1.0)[:, None] * tangent[:, :2]
    up = np.where(
        steep, np.sign(tangent[:, 2]) * np.sqrt(np.maximum(1 - cosine**2, 0.0)), tangent[:, 2]
    )
    return np.concatenate([flat, up[:, None]], axis=-1)


class BentPath(NamedTuple):
    """Path of sound between two places.

    Attributes:
        delay: s; NaN: no sound arrives without a reflection.
        direction: (3,) unit vector at its beginning, map.
    """

    delay: float
    direction: np.ndarray


_NO_PATH = BentPath(math.nan, np.full(3, math.nan))


def bent_paths(
    environment: Environment, begins: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return delays (...), s, and directions (..., 3) at the beginning, of paths between places.

    NaN where no sound arrives without a reflection.
    """
    begins, ends = np.broadcast_arrays(begins, ends)
    pairs = zip(begins.reshape(-1, 3), ends.reshape(-1, 3), strict=True)
    paths = [bent_path(environment, begin, end) for begin, end in pairs]
    shape = begins.shape[:-1]
    delays = np.array([path.delay for path in paths]).reshape(shape)
    return delays, np.array([path.direction for path in paths]).reshape(*shape, 3)


def bent_path(environment: Environment, begin: np.ndarray, end: np.ndarray) -> BentPath:
    """Return the path of sound that layered water bends, from one place to another.

    With the constant p = cos θ/c, a layer from c₁ to c₂ of the thickness h takes the sound
    Δx = h p (c₁ + c₂)/(sin θ₁ + sin θ₂) on, exactly for a linear c; and the time is
    p x + ∫ sin θ/c dz. p follows from the horizontal distance: of the path without a turning
    point, or else of the one that turns beyond the end where sound is the fastest.

    Args:
        environment: water at a time.
        begin: (3,) map, m.
        end: (3,) map, m.
    """
    away = end - begin
    across, distance = math.hypot(away[0], away[1]), float(np.linalg.norm(away))
    if distance < 1e-6:
        return BentPath(0.0, np.array([0.0, 0.0, 1.0]))
    low, high = sorted((float(begin[2]), float(end[2])))
    column = _Column.at(environment, begin, low - distance, high + distance)
    between = _between(column, low, high)
    fastest = float(np.max(between.speed))
    most = (1.0 - 1e-12) / fastest
    heading = away[:2] / across if across > 1e-9 else np.zeros(2)

    def result(constant: float, delay: float, *, is_up: bool) -> BentPath:
        own_speed = float(np.interp(begin[2], column.height, column.speed))
        cosine = min(constant * own_speed, 1.0)
        sine = math.sqrt(1.0 - cosine * cosine) * (1.0 if is_up else -1.0)
        return BentPath(delay, np.array([*(cosine * heading), sine]))

    if high - low > 1e-9 and across <= _reach(between, most)[0]:
        constant = _solve(lambda p: _reach(between, p)[0], across, 0.0, most)
        return result(constant, _reach(between, constant)[1], is_up=bool(begin[2] < end[2]))
    for is_above in (False, True):
        edge = high if is_above else low
        limit = high + distance if is_above else low - distance
        turning = _turning_constant(column, between, across, edge, limit)
        if turning is not None:
            back = _between(column, edge, _turning_height(column, edge, limit, turning))
            delay = _reach(between, turning)[1] + 2.0 * _reach(back, turning)[1]
            return result(turning, delay, is_up=is_above)
    return _NO_PATH


def _between(column: _Column, one: float, other: float) -> _Column:
    """Return the part of a column between two heights, m."""
    low, high = sorted((one, other))
    inner = (column.height > low) & (column.height < high)
    height = np.concatenate([[low], column.height[inner], [high]])
    return _Column(height, np.interp(height, column.height, column.speed))


def _reach(column: _Column, constant: float) -> tuple[float, float]:
    """Return the horizontal distance x, m, and the time, s, of sound through a column."""
    sine = np.sqrt(np.maximum(1.0 - (constant * column.speed) ** 2, 0.0))
    thickness, speed = np.diff(column.height), column.speed
    both = np.maximum(sine[1:] + sine[:-1], 1e-300)
    across = float(np.sum(thickness * constant * (speed[1:] + speed[:-1]) / both))
    slow = sine / speed
    return across, constant * across + float(np.sum(thickness * (slow[1:] + slow[:-1]) / 2))


def _turning_height(column: _Column, edge: float, limit: float, constant: float) -> float:
    """Return the height nearest to an edge where c is 1/p, towards a limit, m."""
    beyond = _between(column, edge, limit)
    height, speed = beyond.height, beyond.speed
    if limit < edge:
        height, speed = height[::-1], speed[::-1]
    above = int(np.argmax(speed * constant >= 1.0))
    if above == 0:
        return float(height[0])
    share = (1.0 / constant - speed[above - 1]) / (speed[above] - speed[above - 1])
    return float(height[above - 1] + share * (height[above] - height[above - 1]))


def _turning_constant(
    column: _Column, between: _Column, across: float, edge: float, limit: float
) -> float | None:
    """Return p of the path that turns beyond an edge and reaches a distance; None: there is none.

    The turning point is where c first exceeds all that it was on the way.
    """
    beyond = _between(column, edge, limit)
    speed = beyond.speed if limit > edge else beyond.speed[::-1]
    fastest = max(float(np.max(between.speed)), float(speed[0]))
    slowest_turn = fastest
    if speed[0] < fastest * (1.0 - 1e-12):
        return None  # what grazes the edge has turned before

    def reach(turn_speed: float) -> float:
        constant = 1.0 / turn_speed
        back = _between(column, edge, _turning_height(column, edge, limit, constant))
        return _reach(between, constant)[0] + 2.0 * _reach(back, constant)[0]

    for number in np.unique(np.geomspace(1, len(speed) - 1, _TRIES).astype(int)).tolist():
        turn_speed = float(np.max(speed[: number + 1]))
        if turn_speed <= slowest_turn:
            continue
        if reach(turn_speed) >= across:
            return 1.0 / _solve(reach, across, slowest_turn, turn_speed)
        slowest_turn = turn_speed
    return None


def _solve(function: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Return the argument at which a function that rises through a value has it."""
    for _ in range(_ROUNDS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) < value else (low, middle)
    return 0.5 * (low + high)
