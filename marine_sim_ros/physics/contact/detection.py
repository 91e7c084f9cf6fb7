# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Detection of contacts: gaps, normals and points of all pairs of vehicle and scene.

Two tests make it whole: the vehicle's points and spheres against the surfaces, and the surfaces'
edges and spheres against the bodies that the vehicle's points span. Numbered are the pairs with
the ground, then those with obstacles: of each the points, surface by surface, then both ends of
every edge in every body; then every sphere in every body. A mesh may have millions of edges: the
few that are nearest are looked for, and their pairs are numbered after all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    cond,
    constant,
    host_call,
    is_traced,
    namespace,
    skip_unless,
)
from marine_sim_ros.core.numerics import smallest_indices
from marine_sim_ros.core.spatial import cross, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactPoints, Solids
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.edges import (
    ContactGeometry,
    edge_contacts,
    edges_within,
    sphere_contacts,
)
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene, ridge_window, ridges, ridges_of_cell

__all__ = [
    'SKIN',
    'contact_geometry',
    'contacts_within',
    'lever_rows',
    'nearest_contacts',
    'pair_layout',
    'select_contacts',
    'stays_separated',
    'step_reach',
]

FAR_DISTANCE = 1e3
"""m; the gap of what cannot touch, such as an edge of the terrain that is no ridge."""
SKIN = 1e-4
"""m; what is nearer touches, for adhesion."""
_MAX_ACCELERATION = 100.0
"""m/s²; faster nobody gains speed in a step."""
_MESH_EDGES = 24
"""Edges of a mesh that are looked at, the nearest ones: no more pairs are solved for."""


def lever_rows(direction: Array, point: Array) -> Array:
    """Return [d, r × d] (..., 6): velocity of ν along d at r."""
    return namespace(direction).concat([direction, cross(point, direction)], axis=-1)


def step_reach(vehicle: Vehicle, state: State, dt: float) -> Array:
    """Return the gap in m beyond which nothing matters in a step of one body."""
    xp = namespace(state.velocity)
    parts = xp.reshape(state.velocity, (2, 3))
    speeds = xp.sqrt(xp.vecdot(parts, parts))
    fastest = speeds[0] + vehicle.contact.reach * speeds[1] + dt * _MAX_ACCELERATION
    return 0.01 + 4 * dt * fastest


def stays_separated(touch: ContactGeometry, velocity: Array, held: Array, dt: float) -> Array:
    """Return whether one body that contact_surface nothing will not in this step either.

    Args:
        touch: nearby contacts.
        velocity: ν (6,).
        held: impulses (c, 3) of the step before, N·s.
        dt: step, s.
    """
    xp = namespace(velocity)
    contact_surface = xp.any(held != 0)

    def is_apart() -> Array:
        ahead = _predicted_gaps(touch, velocity, dt) - 2 * dt * dt * _MAX_ACCELERATION
        return xp.all(ahead > SKIN) & ~contact_surface

    return skip_unless(contact_surface, lambda: ~contact_surface, is_apart)


def _predicted_gaps(touch: ContactGeometry, velocity: Array, dt: float) -> Array:
    return touch.gap + dt * (lever_rows(touch.normal, touch.point) @ velocity)


@dataclass(frozen=True, eq=False)
class PairLayout:
    """What the pairs of a vehicle and a scene are, c in all.

    Attributes:
        surface: (c,) of the scene.
        shape: (c,) of the vehicle.
        radius: (c,) of a vehicle's sphere, m; else 0.
        depth: (c,) of the material behind, m.
        window: points a side of the part of the terrain that is looked at for ridges; 0: none.
        ground: number of surfaces that are no obstacles.
        points: (k,) number of each surface's first pair of a vehicle's point.
        point: (c,) the vehicle's point; m for edges and spheres of the scene.
        ridges: number of the first pair of a ridge.
        edges: number of the first pair of an obstacle's edge.
        balls: number of the first pair of an obstacle that is a sphere.
        meshes: number of the first pair of a mesh's edge.
        stride: how far the numbers of two meshes are apart.
        ends: pairs of each edge.
    """

    surface: np.ndarray
    shape: np.ndarray
    radius: np.ndarray
    depth: np.ndarray
    window: int
    ground: int
    points: np.ndarray
    point: np.ndarray
    ridges: int
    edges: int
    balls: int
    meshes: int
    stride: int
    ends: int

    def __len__(self) -> int:
        """Return c."""
        return len(self.surface)

    def rows(self, number: Array) -> Array:
        """Return the rows of pairs in the attributes: those of all edges of a mesh are alike."""
        xp = namespace(number)
        if not self.stride:
            return xp.astype(number, xp.int32)
        later = number - self.meshes
        mesh = xp.floor(later / self.stride)
        within = later - self.ends * xp.floor(later / self.ends)
        row = xp.where(later < 0, number, self.meshes + mesh * self.ends + within)
        return xp.astype(row, xp.int32)


def pair_layout(own: ContactPoints, scene: Scene) -> PairLayout:
    """Return the pairs of a vehicle's points and bodies and a scene."""
    return _build_pair_layout(own.described or own, scene)


@lru_cache(maxsize=16)
def _build_pair_layout(own: ContactPoints, scene: Scene) -> PairLayout:
    solids, edges, m = own.solids, scene.edges, len(own)
    some = len(solids) > 0
    ground = len(scene) - len(scene.obstacles)
    window = ridge_window(scene.terrain, own.reach) if scene.terrain and some else 0
    surfaces: list[np.ndarray] = []
    shapes: list[np.ndarray] = []
    radii: list[np.ndarray] = []
    place: list[np.ndarray] = []

    def add(owners: np.ndarray, of_each: np.ndarray, radius: np.ndarray, own: bool = False) -> int:
        place.append(np.tile(np.arange(m) if own else np.full(len(of_each), m), len(owners)))
        first = sum(map(len, surfaces))
        surfaces.append(np.repeat(owners, len(of_each)))
        shapes.append(np.tile(of_each, len(owners)))
        radii.append(np.tile(radius, len(owners)))
        return first

    ends, none = np.repeat(solids.shape, 2), np.zeros(len(solids))
    add(np.arange(ground), own.shape, own.radius, True)
    ridge = add(np.full(2 * window * window, len(scene.planes)), ends, np.repeat(none, 2))
    others = add(np.arange(ground, len(scene)), own.shape, own.radius, True)
    lines = add(edges.surface, ends, np.repeat(none, 2))
    balls = add(edges.ball, solids.shape, none)
    obstacles = scene.meshes if some else ()
    meshes = add(np.array([n for n, _ in obstacles], int), ends, np.repeat(none, 2))
    points = m * np.arange(len(scene))
    points[ground:] += others - ground * m
    shape = np.concatenate(shapes)
    return PairLayout(
        np.concatenate(surfaces),
        shape,
        np.concatenate(radii),
        own.depth[shape],
        window,
        ground,
        points,
        np.concatenate(place),
        ridge,
        lines,
        balls,
        meshes,
        len(ends) * max((o.contact_surface.max_edge_number for _, o in obstacles), default=0),
        len(ends),
    )


def _point_contacts(
    own: ContactPoints, scene: Scene, within: Array | None, position: Array, rotation: Array
) -> ContactGeometry:
    """Return the vehicle's points and all surfaces of a scene, surface by surface."""
    xp = namespace(position)
    places = constant(xp, own.position)
    in_map = places @ xp.matrix_transpose(rotation) + position[..., None, :]
    far = xp.inf if within is None else within + float(own.radius.max())
    distance, normal = scene.surfaces(in_map, far)
    normal = normal @ rotation[..., None, :, :]
    if own.round:
        radius = constant(xp, own.radius)
        distance, point = distance - radius, places - radius[:, None] * normal
    else:
        point = 0.0 * normal + places
    one = (*distance.shape[:-2], -1)
    return ContactGeometry(
        xp.reshape(distance, one), xp.reshape(normal, (*one, 3)), xp.reshape(point, (*one, 3))
    )


def _concatenate(parts: list[ContactGeometry]) -> ContactGeometry:
    if len(parts) == 1:
        return parts[0]
    xp = namespace(parts[0].gap)
    gaps, normals, points = zip(*parts, strict=True)
    return ContactGeometry(
        xp.concat(gaps, axis=-1), xp.concat(normals, axis=-2), xp.concat(points, axis=-2)
    )


def contact_geometry(
    vehicle: Vehicle, state: State, environment: Environment, within: Array | None = None
) -> ContactGeometry:
    """Return gaps, normals and nearest points of all pairs in an environment with a scene.

    The gap of an edge or a sphere that is outside a body is at most the distance.

    Args:
        vehicle: the vehicle, with contact points.
        state: state of the body.
        environment: environment with a scene.
        within: m; edges and spheres that cannot be nearer to one body are 1 km off, so that
            what is below it are the pairs of :func:`contacts_within`. None: all are where they
            are.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    rotation = rotation_matrix(state.orientation)
    pairs, found = pair_layout(own, scene), []
    if pairs.ground:
        found.append(_ground_contacts(own, scene, within, state.position, rotation))
    if pairs.ground < len(scene):
        found.append(_obstacle_contacts(own, scene, within, state.position, rotation))
    if pairs.stride:
        far = FAR_DISTANCE if within is None else within
        found.append(_mesh_contacts(own, scene, far, state.position, rotation)[0])
    return _concatenate(found)


def nearest_contacts(
    vehicle: Vehicle, state: State, environment: Environment, within: Array, dt: float, size: int
) -> tuple[ContactGeometry, Array]:
    """Return so many touches of one body and their numbers, the first to come: for compilers.

    The counterpart of :func:`contacts_within` and :func:`select_contacts` where shapes are fixed;
    what is not within the distance is :data:`FAR_DISTANCE`.
    """
    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    xp, rotation = namespace(state.position), rotation_matrix(state.orientation)
    pairs = pair_layout(own, scene)
    places = () if own.described is None else (own.position,)
    known = state.position, rotation, state.velocity, within, *places

    def clipped(
        find: Any, position: Array, turn: Array, far: Array, places: Any
    ) -> ContactGeometry:
        posed = replace(own, position=places[0]) if places else own
        touch = find(posed, scene, far, position, turn)
        return touch._replace(gap=xp.where(touch.gap < far, touch.gap, FAR_DISTANCE))

    def first(
        touch: ContactGeometry, velocity: Array, *later: tuple[ContactGeometry, Array]
    ) -> tuple[ContactGeometry, Array]:
        numbers = constant(xp, np.arange(touch.gap.shape[-1], dtype=float))
        for edges, own_numbers in later:
            touch = _concatenate([touch, edges])
            numbers = xp.concat([numbers, own_numbers])
        return select_contacts(touch, numbers, velocity, dt, size)

    def with_obstacles(
        found: ContactGeometry,
        position: Array,
        turn: Array,
        velocity: Array,
        far: Array,
        *places: Array,
    ) -> tuple[ContactGeometry, Array]:
        obstacles = clipped(_obstacle_contacts, position, turn, far, places)
        later = []
        if pairs.stride:
            edges, number = _mesh_contacts(own, scene, far, position, turn)
            gap = xp.where(edges.gap < far, edges.gap, FAR_DISTANCE)
            later.append((edges._replace(gap=gap), number))
        return first(_concatenate([found, obstacles]), velocity, *later)

    def without(
        found: ContactGeometry, position: Array, turn: Array, velocity: Array, *others: Array
    ) -> tuple[ContactGeometry, Array]:
        room = constant(xp, np.zeros((max(size - found.gap.shape[-1], 0), 3)))
        return first(_concatenate([found, _far_contacts(room + position)]), velocity)

    found = _far_contacts(constant(xp, np.zeros((0, 3))) + state.position)
    if pairs.ground:
        found = clipped(_ground_contacts, state.position, rotation, within, places)
    if pairs.ground == len(scene):
        return first(found, state.velocity)
    there = xp.any(scene.clearances(state.position)[pairs.ground :] <= own.reach + within)
    return cond(xp, there, with_obstacles, without, found, *known)  # type: ignore[no-any-return]


def select_contacts(
    touch: ContactGeometry, number: Array, velocity: Array, dt: float, size: int
) -> tuple[ContactGeometry, Array]:
    """Return so many touches whose gaps will be least after a step, and their numbers."""
    xp, count = namespace(velocity), touch.gap.shape[0]
    if count <= size and not is_traced(xp):
        return touch, number
    order = smallest_indices(_predicted_gaps(touch, velocity, dt), min(size, count))
    # In the order of their numbers, what is far last: every engine adds them up in one order.
    far = xp.astype(xp.take(touch.gap, order, axis=0) >= FAR_DISTANCE, order.dtype)
    order = xp.sort(order + count * far) % count
    *chosen, number = (xp.take(values, order, axis=0) for values in (*touch, number))
    return ContactGeometry(*chosen), number


def _far_contacts(places: Array) -> ContactGeometry:
    """Return pairs at some places (..., c, 3) that are far off."""
    xp, none = namespace(places), 0 * places
    return ContactGeometry(
        none[..., 0] + FAR_DISTANCE, none + constant(xp, np.array([0.0, 0.0, 1.0])), none
    )


def _ground_contacts(
    own: ContactPoints, scene: Scene, within: Array | None, position: Array, rotation: Array
) -> ContactGeometry:
    """Return the pairs with planes and terrain."""
    pairs = pair_layout(own, scene)
    found = [
        _point_contacts(own, scene.part(tuple(range(pairs.ground))), within, position, rotation)
    ]
    if pairs.window and scene.terrain is not None:
        start, along, real = ridges(scene.terrain, pairs.window, position)
        start = start - position[..., None, :]
        found.append(_edge_end_contacts(own, start, along, real > 0, within, rotation))
    return _concatenate(found)


def _obstacle_contacts(
    own: ContactPoints, scene: Scene, within: Array | None, position: Array, rotation: Array
) -> ContactGeometry:
    """Return the pairs with obstacles."""
    xp, pairs, edges = namespace(position), pair_layout(own, scene), scene.edges
    others = scene.part(tuple(range(pairs.ground, len(scene))))
    found = [_point_contacts(own, others, within, position, rotation)]
    if len(edges.start) and len(own.solids):
        start = constant(xp, edges.start) - position[..., None, :]
        along = constant(xp, edges.along) + xp.zeros_like(start)
        every = xp.ones_like(start[..., 0]) > 0
        found.append(_edge_end_contacts(own, start, along, every, within, rotation))
    if len(edges.ball) and len(own.solids):
        center = (constant(xp, edges.center) - position[..., None, :]) @ rotation
        meeting = sphere_contacts(own.solids, center, edges.radius)
        if within is not None:
            clear = xp.take(scene.clearances(position), constant(xp, edges.ball), axis=0)
            meeting = _select_meetings(clear <= own.reach + within, len(own.solids), meeting)
        found.append(meeting)
    return _concatenate(found)


def _mesh_contacts(
    own: ContactPoints, scene: Scene, within: Array, position: Array, rotation: Array
) -> tuple[ContactGeometry, Array]:
    """Return the nearest edges of each mesh in all bodies, and the numbers (..., c) of the pairs.

    An edge that is not within the distance is far off, and its number is −2.
    """
    xp, pairs, found = namespace(position), pair_layout(own, scene), []
    shapes = [(*position.shape[:-1], *shape) for shape in ((_MESH_EDGES,), (_MESH_EDGES, 2, 3))]
    own_ends = constant(xp, np.arange(pairs.ends, dtype=float))
    numbers = []
    for place, (_, obstacle) in enumerate(scene.meshes):
        half = obstacle.contact_surface.thickness / 2
        look = partial(_nearest_edges, obstacle, own.solids)
        number, ends = host_call(look, tuple(shapes), position, rotation, within)
        start = ends[..., 0, :] - position[..., None, :]
        along = ends[..., 1, :] - ends[..., 0, :]
        wanted = number >= 0
        touch = _edge_end_contacts(own, start, along, wanted, within + half, rotation)
        found.append(touch._replace(gap=touch.gap - half))
        first = pairs.meshes + place * pairs.stride
        whole = first + pairs.ends * number[..., None] + own_ends
        whole = xp.where(wanted[..., None], whole, xp.full_like(whole, -2.0))
        numbers.append(xp.reshape(whole, (*number.shape[:-1], -1)))
    return _concatenate(found), xp.concat(numbers, axis=-1)


def _nearest_edges(
    obstacle: Obstacle,
    solids: Solids,
    position: np.ndarray,
    rotation: np.ndarray,
    within: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers (..., k) of a mesh's edges that are nearest to bodies, and their ends, map.

    Args:
        position: (..., 3) of the vehicle.
        rotation: R (..., 3, 3) of the vehicle.
        within: () or (...) m.
    """
    lead = position.shape[:-1]
    turn: np.ndarray = rotation_matrix(obstacle.orientation)
    numbers = np.full((*lead, _MESH_EDGES), -1.0)
    ends = np.zeros((*lead, _MESH_EDGES, 2, 3))
    far = np.broadcast_to(within, lead)
    for one in np.ndindex(lead):
        # The faces of the bodies in the axes of the mesh.
        normals = solids.normal @ (rotation[one].T @ turn)
        offsets = solids.offset + normals @ ((position[one] - obstacle.position) @ turn)
        found = obstacle.contact_surface.nearest_edges(
            _MESH_EDGES, normals, offsets, float(far[one])
        )
        numbers[one], ends[one] = found[0], found[1] @ turn.T + obstacle.position
    return numbers, ends


def _edge_end_contacts(
    own: ContactPoints,
    start: Array,
    along: Array,
    wanted: Array,
    within: Array | None,
    rotation: Array,
) -> ContactGeometry:
    """Return both ends of edges, from a vehicle's place in map, in all bodies."""
    count = 2 * len(own.solids)

    def met(start: Array, along: Array, wanted: Array, turn: Array) -> ContactGeometry:
        meetings = edge_contacts(own.solids, start @ turn, along @ turn, wanted)
        return _select_meetings(wanted, count, meetings)

    def apart(start: Array, *others: Array) -> ContactGeometry:
        return _far_contacts(namespace(start).repeat(start, count, axis=-2))

    if within is None:
        return met(start, along, wanted, rotation)
    wanted = wanted & edges_within(own.solids, rotation, start, along, within)
    xp = namespace(start)
    return ContactGeometry(*cond(xp, xp.any(wanted), met, apart, start, along, wanted, rotation))


def _select_meetings(wanted: Array, count: int, touch: ContactGeometry) -> ContactGeometry:
    """Return meetings, so many in a row of each edge or sphere; what is not wanted is far off."""
    xp = namespace(touch.gap)
    far = xp.where(wanted, xp.zeros_like(touch.gap[..., ::count]), FAR_DISTANCE)
    return touch._replace(gap=touch.gap + xp.repeat(far, count, axis=-1))


def contacts_within(
    vehicle: Vehicle, state: State, environment: Environment, within: float
) -> tuple[ContactGeometry, np.ndarray]:
    """Return the pairs with a gap below a distance, and their numbers: NumPy and one body only.

    Pairs that cannot be near are left out before anything is computed.

    Args:
        vehicle: the vehicle; it and the others as for :func:`contact_geometry`.
        state: state of the body.
        environment: environment with a scene.
        within: m.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    near = scene.surfaces_near(state.position, own.reach + within)
    if not near:
        none = np.zeros((0, 3))
        return ContactGeometry(none[:, 0], none, none), np.zeros(0, int)
    pairs, position, solids = pair_layout(own, scene), state.position, own.solids
    rotation = rotation_matrix(state.orientation)
    found = [_point_contacts(own, scene.part(near), within, position, rotation)]
    numbers = [_point_numbers(pairs, near, len(own))]
    for first, start, along in _near_edges(scene, pairs, position, near):
        start = start - position
        close = edges_within(solids, rotation, start, along, within).nonzero()[0]
        if len(close):
            edges = start[close] @ rotation, along[close] @ rotation
            found.append(edge_contacts(solids, *edges))
            numbers.append((first[close][:, None] + np.arange(pairs.ends)).reshape(-1))
    if near[-1] >= pairs.ground and len(scene.edges.ball) and len(solids):
        balls = np.flatnonzero(np.isin(scene.edges.ball, near))
        center = (scene.edges.center[balls] - position) @ rotation
        found.append(sphere_contacts(solids, center, scene.edges.radius[balls]))
        ball = balls[:, None] * len(solids) + np.arange(len(solids))
        numbers.append(pairs.balls + ball.reshape(-1))
    if pairs.stride and near[-1] >= pairs.ground:
        others, number = _mesh_contacts(own, scene, within, position, rotation)
        close = (number >= 0).nonzero()[0]
        if len(close):
            found.append(ContactGeometry(*(values.take(close, axis=0) for values in others)))
            numbers.append(number[close].astype(int))
    touch, index = _concatenate(found), np.concatenate(numbers) if len(found) > 1 else numbers[0]
    close = (touch.gap < within).nonzero()[0]
    if len(found) > 1:
        close = close[index[close].argsort()]
    *chosen, index = (values.take(close, axis=0) for values in (*touch, index))
    return ContactGeometry(*chosen), index


@lru_cache(maxsize=256)
def _point_numbers(pairs: PairLayout, near: tuple[int, ...], count: int) -> np.ndarray:
    """Return the numbers of the pairs of all points with some surfaces."""
    return (pairs.points[list(near)][:, None] + np.arange(count)).reshape(-1)


def _near_edges(
    scene: Scene, pairs: PairLayout, position: np.ndarray, near: tuple[int, ...]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield numbers of first pairs, starts in map, and vectors of edges of some surfaces."""
    each = pairs.ends
    if pairs.window and len(scene.planes) in near and scene.terrain is not None:
        which, start, along = ridges_of_cell(scene.terrain, pairs.window, position)
        yield pairs.ridges + each * which, start, along
    if near[-1] >= pairs.ground and each and len(scene.edges.start):
        which = np.flatnonzero(np.isin(scene.edges.surface, near))
        yield pairs.edges + each * which, scene.edges.start[which], scene.edges.along[which]
