# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a vehicle and what is solid are to each other: all pairs that may touch.

Two tests make it whole: the vehicle's points and spheres against the surfaces, and the surfaces'
edges and spheres against the bodies that the vehicle's points span. Numbered are first the points,
surface by surface, then both ends of every edge in every body, then every sphere in every body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import cross, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact_edges import edge_meetings, may_meet, sphere_meetings
from marine_sim_ros.scene.edges import ridge_window, ridges
from marine_sim_ros.scene.scene import Scene

__all__ = [
    'FAR',
    'SKIN',
    'Layout',
    'Touch',
    'layout',
    'lever_rows',
    'near_touches',
    'reach_of_step',
    'stays_off',
    'touches',
]

FAR = 1e3
"""m; the gap of what cannot touch, such as an edge of the terrain that is no ridge."""
SKIN = 1e-4
"""m; what is nearer touches, for adhesion."""
_FIERCEST = 100.0
"""m/s²; faster nobody gains speed in a step."""


class Touch(NamedTuple):
    """Where surfaces and the vehicle are to each other, c pairs; body frame.

    Attributes:
        gap: (..., c) m, negative within.
        normal: (..., c, 3) out of the surface.
        point: (..., c, 3) of the body that is nearest to the surface, m.
    """

    gap: Array
    normal: Array
    point: Array


def lever_rows(direction: Array, point: Array) -> Array:
    """Return [d, r × d] (..., 6): velocity of ν along d at r."""
    return namespace(direction).concat([direction, cross(point, direction)], axis=-1)


def reach_of_step(vehicle: Vehicle, state: State, dt: float) -> Array:
    """Return the gap in m beyond which nothing matters in a step of one body."""
    xp = namespace(state.velocity)
    linear, turning = (xp.sqrt(xp.vecdot(v, v)) for v in (state.velocity[:3], state.velocity[3:]))
    fastest = linear + vehicle.contact.reach * turning + dt * _FIERCEST
    return 0.01 + 4 * dt * fastest


def stays_off(touch: Touch, velocity: Array, held: Array, dt: float) -> Array:
    """Return whether one body that touched nothing will not in this step either.

    Args:
        touch: nearby contacts.
        velocity: ν (6,).
        held: normal impulses (c,) of the step before, N·s.
        dt: step, s.
    """
    xp = namespace(velocity)
    closing = matvec(lever_rows(touch.normal, touch.point), velocity)
    ahead = touch.gap + dt * closing - 2 * dt * dt * _FIERCEST
    return xp.all(ahead > SKIN) & ~xp.any(held != 0)


@dataclass(frozen=True, eq=False)
class Layout:
    """What the pairs of a vehicle and a scene are, c in all.

    Attributes:
        surface: (c,) of the scene.
        shape: (c,) of the vehicle.
        radius: (c,) of a vehicle's sphere, m; else 0.
        depth: (c,) of the material behind, m.
        points: number of contacts of vehicle points with surfaces.
        window: points a side of the part of the terrain that is looked at for ridges; 0: none.
        edges: numbers of edges: of obstacles, then of the terrain's part.
    """

    surface: np.ndarray
    shape: np.ndarray
    radius: np.ndarray
    depth: np.ndarray
    points: int
    window: int
    edges: int

    def __len__(self) -> int:
        """Return c."""
        return len(self.surface)


@lru_cache(maxsize=16)
def layout(own: ContactPoints, scene: Scene) -> Layout:
    """Return the pairs of a vehicle's points and bodies and a scene."""
    solids, edges = own.solids, scene.edges
    window = ridge_window(scene.terrain, own.reach) if scene.terrain and len(solids) else 0
    ridge = np.full(2 * window * window, len(scene.planes))
    lines = np.concatenate([edges.surface, ridge]) if len(solids) else ridge
    balls = edges.ball if len(solids) else edges.ball[:0]
    of_edges = np.repeat(lines, 2 * len(solids))
    of_balls = np.repeat(balls, len(solids))
    surface = np.repeat(np.arange(len(scene)), len(own))
    shape = np.tile(own.shape, len(scene))
    others = np.concatenate(
        [np.tile(np.repeat(solids.shape, 2), len(lines)), np.tile(solids.shape, len(balls))]
    )
    return Layout(
        np.concatenate([surface, of_edges, of_balls]),
        np.concatenate([shape, others]),
        np.concatenate([np.tile(own.radius, len(scene)), np.zeros(len(others))]),
        own.depth[np.concatenate([shape, others])],
        len(surface),
        window,
        len(lines),
    )


def _point_touch(vehicle: Vehicle, scene: Scene, position: Array, rotation: Array) -> Touch:
    """Return the vehicle's points and all surfaces of a scene, surface by surface."""
    xp = namespace(position)
    places = constant(xp, vehicle.contact.position)
    radius = constant(xp, vehicle.contact.radius)
    in_map = places @ xp.matrix_transpose(rotation) + position[..., None, :]
    distance, normal = scene.surfaces(in_map)
    normal = normal @ rotation[..., None, :, :]
    point = places - radius[:, None] * normal
    flat = (*distance.shape[:-2], distance.shape[-2] * distance.shape[-1])
    return Touch(
        xp.reshape(distance - radius, flat),
        xp.reshape(normal, (*flat, 3)),
        xp.reshape(point, (*flat, 3)),
    )


def _edges(scene: Scene, pairs: Layout, position: Array) -> tuple[Array, Array, Array]:
    """Return starts and vectors (..., f, 3) of all edges in map, and 1 (..., f) for those."""
    xp = namespace(position)
    wide = xp.zeros_like(position)[..., None, :]
    start, along = (constant(xp, v) + wide for v in (scene.edges.start, scene.edges.along))
    real = xp.ones_like(start[..., 0])
    if scene.terrain is None or not pairs.window:
        return start, along, real
    found = (start, along, real), ridges(scene.terrain, pairs.window, position)
    starts, vectors, there = zip(*found, strict=True)
    return xp.concat(starts, axis=-2), xp.concat(vectors, axis=-2), xp.concat(there, axis=-1)


def _joined(parts: list[Touch]) -> Touch:
    if len(parts) == 1:
        return parts[0]
    xp = namespace(parts[0].gap)
    gaps, normals, points = zip(*parts, strict=True)
    return Touch(xp.concat(gaps, axis=-1), xp.concat(normals, axis=-2), xp.concat(points, axis=-2))


def touches(
    vehicle: Vehicle, state: State, environment: Environment, within: Array | None = None
) -> Touch:
    """Return gaps, normals and nearest points of all pairs in an environment with a scene.

    The gap of an edge or a sphere that is outside a body is at most the distance.

    Args:
        vehicle: the vehicle, with contact points.
        state: state of the body.
        environment: environment with a scene.
        within: m; edges and spheres that cannot be nearer to one body are 1 km off, so that
            what is below it are the pairs of :func:`near_touches`. None: all are where they are.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    scene, solids = environment.scene, vehicle.contact.solids
    assert scene is not None
    rotation = rotation_matrix(state.orientation)
    found = [_point_touch(vehicle, scene, state.position, rotation)]
    if layout(vehicle.contact, scene).edges:
        found.append(_edge_touch(vehicle, scene, state.position, rotation, within))
    if len(scene.edges.ball) and len(solids):
        found.append(_ball_touch(vehicle, scene, state.position, rotation, within))
    return _joined(found)


def _edge_touch(
    vehicle: Vehicle, scene: Scene, position: Array, rotation: Array, within: Array | None
) -> Touch:
    """Return both ends of all edges in all bodies."""
    own = vehicle.contact
    start, along, real = _edges(scene, layout(vehicle.contact, scene), position)
    start, wanted = start - position[..., None, :], real > 0
    if within is None:
        meeting = edge_meetings(own.solids, start @ rotation, along @ rotation)
        return _those(wanted, 2 * len(own.solids), Touch(*meeting))
    wanted = wanted & (_nearest_square(start, along) < (own.reach + within) ** 2)
    start, along = start @ rotation, along @ rotation
    wanted = wanted & may_meet(own.solids, start, along, within)
    meeting = edge_meetings(own.solids, start, along, wanted)
    return _those(wanted, 2 * len(own.solids), Touch(*meeting))


def _ball_touch(
    vehicle: Vehicle, scene: Scene, position: Array, rotation: Array, within: Array | None
) -> Touch:
    """Return all spheres in all bodies."""
    xp, own, edges = namespace(position), vehicle.contact, scene.edges
    center = (constant(xp, edges.center) - position[..., None, :]) @ rotation
    meeting = Touch(*sphere_meetings(own.solids, center, edges.radius))
    if within is None:
        return meeting
    clear = xp.take(scene.clearances(position), constant(xp, edges.ball), axis=0)
    return _those(clear <= own.reach + within, len(own.solids), meeting)


def _those(wanted: Array, count: int, touch: Touch) -> Touch:
    """Return meetings, so many in a row of each edge or sphere; what is not wanted is far off."""
    xp = namespace(touch.gap)
    far = xp.where(wanted, xp.zeros_like(touch.gap[..., ::count]), FAR)
    return touch._replace(gap=touch.gap + xp.repeat(far, count, axis=-1))


def near_touches(
    vehicle: Vehicle, state: State, environment: Environment, within: float
) -> tuple[Touch, np.ndarray]:
    """Return the pairs with a gap below a distance, and their numbers: NumPy and one body only.

    Pairs that cannot be near are left out before anything is computed.

    Args:
        vehicle: the vehicle; it and the others as for :func:`touches`.
        state: state of the body.
        environment: environment with a scene.
        within: m.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    none = np.zeros((0, 3))
    near = scene.near(state.position, own.reach + within)
    if not near:
        return Touch(none[:, 0], none, none), np.zeros(0, int)
    pairs = layout(vehicle.contact, scene)
    rotation = rotation_matrix(state.orientation)
    found = [_point_touch(vehicle, scene.part(near), state.position, rotation)]
    numbers = [(len(own) * np.array(near)[:, None] + np.arange(len(own))).reshape(-1)]
    bodies = np.arange(len(own.solids))
    which, start, along = _near_edges(scene, pairs, state.position, own.reach + within, near)
    start, along = start @ rotation, along @ rotation
    if len(which) and len(bodies):
        close = may_meet(own.solids, start, along, within)
        which, start, along = which[close], start[close], along[close]
    if len(which) and len(bodies):
        found.append(Touch(*edge_meetings(own.solids, start, along)))
        body = which[:, None] * len(bodies) + bodies
        numbers.append(pairs.points + (2 * body[..., None] + np.arange(2)).reshape(-1))
    balls = np.flatnonzero(np.isin(scene.edges.ball, near))
    if len(balls) and len(bodies):
        center = (scene.edges.center[balls] - state.position) @ rotation
        found.append(Touch(*sphere_meetings(own.solids, center, scene.edges.radius[balls])))
        before = pairs.points + 2 * pairs.edges * len(bodies)
        numbers.append(before + (balls[:, None] * len(bodies) + bodies).reshape(-1))
    touch, index = _joined(found), np.concatenate(numbers)
    close = np.flatnonzero(touch.gap < within)
    return Touch(*(values[close] for values in touch)), index[close]


def _dot(a: Array, b: Array) -> Array:
    return namespace(a).sum(a * b, axis=-1)


def _nearest_square(start: Array, along: Array) -> Array:
    """Return the square (...) of how near edges (..., 3) come to the origin, m²."""
    xp = namespace(start)
    share = xp.clip(-_dot(start, along) / _dot(along, along), 0.0, 1.0)
    nearest = start + share[..., None] * along
    return _dot(nearest, nearest)


def _near_edges(
    scene: Scene, pairs: Layout, position: np.ndarray, reach: float, near: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers, starts from a position, and vectors of edges within reach of it."""
    ground = len(scene.planes) if scene.terrain is not None else -1
    if not pairs.edges or not (ground in near or np.any(np.isin(scene.edges.surface, near))):
        return np.zeros(0, int), np.zeros((0, 3)), np.zeros((0, 3))
    start, along, real = _edges(scene, pairs, position)
    start = start - position
    which = np.flatnonzero((_nearest_square(start, along) < reach**2) & (real > 0))
    return which, start[which], along[which]
