# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Detection of contacts: gaps, normals and points of all pairs of vehicle and scene.

Two tests complement each other: the vehicle's points and spheres against the surfaces, and the
surfaces' edges and spheres against the convex bodies spanned by the vehicle's points. Pairs are
numbered: first with the ground, then with obstacles; in each the points, surface by surface, then
both ends of every edge in every body; then every sphere in every body. A mesh may have millions of
edges: only the nearest are searched, and their pairs are numbered after all others.
"""

from __future__ import annotations

import math
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
    is_numeric,
    is_traced,
    matvec,
    namespace,
    remember_vectors,
    skip_unless,
)
from marine_sim_ros.core.numerics import smallest_indices
from marine_sim_ros.core.spatial import cross, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactPoints, Solids
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.edges import (
    EDGE_SEARCH,
    ContactGeometry,
    edge_contacts,
    edges_within,
    sphere_contacts,
)
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import ridge_window, ridges, ridges_of_cell

__all__ = [
    'FAR_DISTANCE',
    'REACHING',
    'SKIN',
    'contact_geometry',
    'contacts_near_meshes',
    'contacts_within',
    'lever_rows',
    'nearest_contacts',
    'pair_layout',
    'select_contacts',
    'separation_gap',
    'stays_separated',
    'step_reach',
]

FAR_DISTANCE = 1e3
"""Gap of pairs that cannot touch, such as an edge of the terrain that is no ridge, m."""
SKIN = 1e-4
"""Gap below which adhesion acts, m."""
_MAX_ACCELERATION = 100.0
"""Upper bound of acceleration in a step, m/s²."""
_NEAR, _STEPS = 0.01, 4.0
"""Gap in m that is always near, and steps of motion that are."""
REACHING = _NEAR, _STEPS, _MAX_ACCELERATION
"""What the kernels need of these."""
_MESH_EDGES = 24
"""Nearest edges of a mesh that are tested: as many as pairs in the solver."""


def lever_rows(direction: Array, point: Array) -> Array:
    """Return [d, r × d] (..., 6): velocity of ν along d at r."""
    return namespace(direction).concat([direction, cross(point, direction)], axis=-1)


def step_reach(radius: float, velocity: Array, dt: float) -> Array:
    """Return the gap in m beyond which no pair of a body can touch within a step.

    Args:
        radius: reach of its points from its origin, m.
        velocity: ν (6,).
        dt: step, s.
    """
    if is_numeric(velocity) and velocity.ndim == 1:
        u, v, w, p, q, r = velocity.tolist()
        speed, rate = math.hypot(u, v, w), math.hypot(p, q, r)
    else:
        xp = namespace(velocity)
        linear_and_angular = xp.reshape(velocity, (2, 3))
        speeds = xp.sqrt(xp.vecdot(linear_and_angular, linear_and_angular))
        speed, rate = speeds[0], speeds[1]
    max_speed = speed + radius * rate + dt * _MAX_ACCELERATION
    return _NEAR + _STEPS * dt * max_speed


def stays_separated(touch: ContactGeometry, velocity: Array, impulse: Array, dt: float) -> Array:
    """Return whether one body without contact stays without contact in this step.

    Args:
        touch: nearby contacts.
        velocity: ν (6,).
        impulse: impulses (c, 3) of the step before, N·s.
        dt: step, s.
    """
    xp = namespace(velocity)
    had_contact = xp.any(impulse != 0)

    def remains_apart() -> Array:
        predicted = _predicted_gaps(touch, velocity, dt) - 2 * dt * dt * _MAX_ACCELERATION
        return xp.all(predicted > SKIN) & ~had_contact

    return skip_unless(had_contact, lambda: ~had_contact, remains_apart)


def separation_gap(dt: float) -> float:
    """Return the predicted gap in m beyond which a pair stays without contact in a step dt, s."""
    return SKIN + 2 * dt * dt * _MAX_ACCELERATION


def _predicted_gaps(touch: ContactGeometry, velocity: Array, dt: float) -> Array:
    return touch.gap + dt * (lever_rows(touch.normal, touch.point) @ velocity)


@dataclass(frozen=True, eq=False)
class PairLayout:
    """Layout of the c pairs of a vehicle and a scene.

    Attributes:
        surface: (c,) of the scene.
        shape: (c,) of the vehicle.
        radius: (c,) of a vehicle's sphere, m; else 0.
        depth: (c,) of the material behind, m.
        window: grid points per side of the part of the terrain that is searched for ridges; 0:
            none.
        ground: number of surfaces that are no obstacles.
        points: (k,) number of the first pair of each surface with a point of the vehicle.
        point: (c,) the vehicle's point; m for edges and spheres of the scene.
        ridges: number of the first pair of a ridge.
        edges: number of the first pair of an obstacle's edge.
        balls: number of the first pair of an obstacle that is a sphere.
        meshes: number of the first pair of a mesh's edge.
        stride: difference of the numbers of two meshes.
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
        """Return the rows of pairs in the attributes; all edges of a mesh share their rows."""
        if not self.stride:
            xp = namespace(number)
            return xp.astype(number, xp.int32)
        return _rows_beside_meshes(number, self)


@partial(remember_vectors, shared=True)
def _rows_beside_meshes(number: Array, layout: PairLayout) -> Array:
    """Return :meth:`PairLayout.rows`; cached: a resting body has the same pairs in every tick."""
    xp = namespace(number)
    edge_number = number - layout.meshes
    edge_row = edge_number - layout.ends * xp.floor(edge_number / layout.ends) + layout.meshes
    if len(layout) > layout.meshes + layout.ends:  # several meshes
        edge_row = edge_row + layout.ends * xp.floor(edge_number / layout.stride)
    return xp.astype(xp.where(edge_number < 0, number, edge_row), xp.int32)


def pair_layout(own: ContactPoints, scene: Scene) -> PairLayout:
    """Return the pairs of a vehicle's points and bodies and a scene."""
    return _build_pair_layout(own.unposed, scene)


@lru_cache(maxsize=16)
def _build_pair_layout(own: ContactPoints, scene: Scene) -> PairLayout:
    solids, edges, m = own.solids, scene.edges, len(own)
    has_solids = len(solids) > 0
    ground = len(scene) - len(scene.obstacles)
    window = ridge_window(scene.terrain, own.reach) if scene.terrain and has_solids else 0
    surfaces: list[np.ndarray] = []
    shapes: list[np.ndarray] = []
    radii: list[np.ndarray] = []
    point_numbers: list[np.ndarray] = []

    def add(
        owners: np.ndarray, per_owner: np.ndarray, radius: np.ndarray, own: bool = False
    ) -> int:
        point_numbers.append(
            np.tile(np.arange(m) if own else np.full(len(per_owner), m), len(owners))
        )
        first = sum(map(len, surfaces))
        surfaces.append(np.repeat(owners, len(per_owner)))
        shapes.append(np.tile(per_owner, len(owners)))
        radii.append(np.tile(radius, len(owners)))
        return first

    ends, zero_radius = np.repeat(solids.shape, 2), np.zeros(len(solids))
    add(np.arange(ground), own.shape, own.radius, True)
    ridge_pairs = add(
        np.full(2 * window * window, len(scene.planes)), ends, np.repeat(zero_radius, 2)
    )
    obstacle_points = add(np.arange(ground, len(scene)), own.shape, own.radius, True)
    edge_pairs = add(edges.surface, ends, np.repeat(zero_radius, 2))
    sphere_pairs = add(edges.ball, solids.shape, zero_radius)
    obstacles = scene.meshes if has_solids else ()
    mesh_pairs = add(np.array([n for n, _ in obstacles], int), ends, np.repeat(zero_radius, 2))
    points = m * np.arange(len(scene))
    points[ground:] += obstacle_points - ground * m
    shape = np.concatenate(shapes)
    return PairLayout(
        np.concatenate(surfaces),
        shape,
        np.concatenate(radii),
        own.depth[shape],
        window,
        ground,
        points,
        np.concatenate(point_numbers),
        ridge_pairs,
        edge_pairs,
        sphere_pairs,
        mesh_pairs,
        len(ends) * max((o.contact_surface.max_edge_number for _, o in obstacles), default=0),
        len(ends),
    )


def _point_contacts(
    own: ContactPoints, scene: Scene, within: Array | None, position: Array, rotation: Array
) -> ContactGeometry:
    """Return the pairs of the vehicle's points and a scene's surfaces, surface by surface."""
    xp = namespace(position)
    points = constant(xp, own.position)
    in_map = points @ xp.matrix_transpose(rotation) + position[..., None, :]
    max_distance = xp.inf if within is None else within + float(own.radius.max())
    distance, normal = scene.surfaces(in_map, max_distance)
    normal = normal @ rotation[..., None, :, :]
    if own.round:
        radius = constant(xp, own.radius)
        distance, point = distance - radius, points - radius[:, None] * normal
    else:
        point = 0.0 * normal + points
    flat = (*distance.shape[:-2], -1)
    return ContactGeometry(
        xp.reshape(distance, flat), xp.reshape(normal, (*flat, 3)), xp.reshape(point, (*flat, 3))
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
        within: m; edges and spheres that are certainly farther get a gap of 1 km, so that smaller
            gaps are those of :func:`contacts_within`. None: all gaps are exact.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    rotation = rotation_matrix(state.orientation)
    pairs, parts = pair_layout(own, scene), []
    if pairs.ground:
        parts.append(_ground_contacts(own, scene, within, state.position, rotation))
    if pairs.ground < len(scene):
        parts.append(_obstacle_contacts(own, scene, within, state.position, rotation))
    if pairs.stride:
        far = FAR_DISTANCE if within is None else within
        parts.append(_mesh_contacts(own, scene, far, state.position, rotation)[0])
    return _concatenate(parts)


def nearest_contacts(
    vehicle: Vehicle, state: State, environment: Environment, within: Array, dt: float, size: int
) -> tuple[ContactGeometry, Array]:
    """Return the ``size`` contacts of one body that are next to touch, and their numbers.

    The counterpart of :func:`contacts_within` and :func:`select_contacts` in fixed shapes, for
    compiled programs; pairs beyond the distance have the gap :data:`FAR_DISTANCE`.
    """
    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    xp, rotation = namespace(state.position), rotation_matrix(state.orientation)
    pairs = pair_layout(own, scene)
    positions = () if own.described is None else (own.position,)
    arguments = state.position, rotation, state.velocity, within, *positions

    def clipped(
        find: Any, position: Array, turn: Array, far: Array, positions: Any
    ) -> ContactGeometry:
        posed_points = replace(own, position=positions[0]) if positions else own
        touch = find(posed_points, scene, far, position, turn)
        return touch._replace(gap=xp.where(touch.gap < far, touch.gap, FAR_DISTANCE))

    def select_first(
        touch: ContactGeometry, velocity: Array, *mesh_edges: tuple[ContactGeometry, Array]
    ) -> tuple[ContactGeometry, Array]:
        numbers = constant(xp, np.arange(touch.gap.shape[-1], dtype=float))
        for edges, own_numbers in mesh_edges:
            touch = _concatenate([touch, edges])
            numbers = xp.concat([numbers, own_numbers])
        return select_contacts(touch, numbers, velocity, dt, size)

    def with_obstacles(
        contacts: ContactGeometry,
        position: Array,
        turn: Array,
        velocity: Array,
        far: Array,
        *positions: Array,
    ) -> tuple[ContactGeometry, Array]:
        obstacles = clipped(_obstacle_contacts, position, turn, far, positions)
        mesh_edges = []
        if pairs.stride:
            edges, number = _mesh_contacts(own, scene, far, position, turn)
            gap = xp.where(edges.gap < far, edges.gap, FAR_DISTANCE)
            mesh_edges.append((edges._replace(gap=gap), number))
        return select_first(_concatenate([contacts, obstacles]), velocity, *mesh_edges)

    def without_obstacles(
        contacts: ContactGeometry, position: Array, turn: Array, velocity: Array, *others: Array
    ) -> tuple[ContactGeometry, Array]:
        padding = constant(xp, np.zeros((max(size - contacts.gap.shape[-1], 0), 3)))
        return select_first(_concatenate([contacts, _far_contacts(padding + position)]), velocity)

    contacts = _far_contacts(constant(xp, np.zeros((0, 3))) + state.position)
    if pairs.ground:
        contacts = clipped(_ground_contacts, state.position, rotation, within, positions)
    if pairs.ground == len(scene):
        return select_first(contacts, state.velocity)
    is_near = xp.any(scene.clearances(state.position)[pairs.ground :] <= own.reach + within)
    return cond(xp, is_near, with_obstacles, without_obstacles, contacts, *arguments)  # type: ignore[no-any-return]


def select_contacts(
    touch: ContactGeometry, number: Array, velocity: Array, dt: float, size: int
) -> tuple[ContactGeometry, Array]:
    """Return the ``size`` contacts with the smallest predicted gaps, and their numbers."""
    xp, count = namespace(velocity), touch.gap.shape[0]
    if count <= size and not is_traced(xp):
        return touch, number
    order = smallest_indices(_predicted_gaps(touch, velocity, dt), min(size, count))
    # Ordered by number, far pairs last, so that all engines add them up in the same order.
    far = xp.astype(xp.take(touch.gap, order, axis=0) >= FAR_DISTANCE, order.dtype)
    order = xp.sort(order + count * far) % count
    *chosen, number = (xp.take(values, order, axis=0) for values in (*touch, number))
    return ContactGeometry(*chosen), number


def _far_contacts(positions: Array) -> ContactGeometry:
    """Return pairs with the gap of pairs that cannot touch, in the shape of (..., c, 3)."""
    xp, zero = namespace(positions), 0 * positions
    return ContactGeometry(
        zero[..., 0] + FAR_DISTANCE, zero + constant(xp, np.array([0.0, 0.0, 1.0])), zero
    )


def _ground_contacts(
    own: ContactPoints, scene: Scene, within: Array | None, position: Array, rotation: Array
) -> ContactGeometry:
    """Return the pairs with planes and terrain."""
    pairs = pair_layout(own, scene)
    parts = [
        _point_contacts(own, scene.part(tuple(range(pairs.ground))), within, position, rotation)
    ]
    if pairs.window and scene.terrain is not None:
        start, along, real = ridges(scene.terrain, pairs.window, position)
        start = start - position[..., None, :]
        parts.append(_edge_end_contacts(own, start, along, real > 0, within, rotation))
    return _concatenate(parts)


def _obstacle_contacts(
    own: ContactPoints, scene: Scene, within: Array | None, position: Array, rotation: Array
) -> ContactGeometry:
    """Return the pairs with obstacles."""
    xp, pairs, edges = namespace(position), pair_layout(own, scene), scene.edges
    obstacles = scene.part(tuple(range(pairs.ground, len(scene))))
    parts = [_point_contacts(own, obstacles, within, position, rotation)]
    if len(edges.start) and len(own.solids):
        start = constant(xp, edges.start) - position[..., None, :]
        along = constant(xp, edges.along) + xp.zeros_like(start)
        all_edges = xp.ones_like(start[..., 0]) > 0
        parts.append(_edge_end_contacts(own, start, along, all_edges, within, rotation))
    if len(edges.ball) and len(own.solids):
        center = (constant(xp, edges.center) - position[..., None, :]) @ rotation
        spheres = sphere_contacts(own.solids, center, edges.radius)
        if within is not None:
            clearance = xp.take(scene.clearances(position), constant(xp, edges.ball), axis=0)
            spheres = _mask_contacts(clearance <= own.reach + within, len(own.solids), spheres)
        parts.append(spheres)
    return _concatenate(parts)


def _mesh_contacts(
    own: ContactPoints, scene: Scene, within: Array, position: Array, rotation: Array
) -> tuple[ContactGeometry, Array]:
    """Return the nearest edges of each mesh in all bodies, and the numbers (..., c) of the pairs.

    An edge beyond the distance has a far gap and the number −2.
    """
    xp, pairs, parts = namespace(position), pair_layout(own, scene), []
    own_ends = constant(xp, np.arange(pairs.ends, dtype=float))
    numbers = []
    for index, (_, obstacle) in enumerate(scene.meshes):
        half = obstacle.contact_surface.thickness / 2
        number, ends = _nearest_edges(obstacle, own.solids, position, rotation, within)
        start = ends[..., 0, :] - position[..., None, :]
        along = ends[..., 1, :] - ends[..., 0, :]
        is_found = number >= 0
        touch = _edge_end_contacts(own, start, along, is_found, within + half, rotation)
        parts.append(touch._replace(gap=touch.gap - half))
        first = pairs.meshes + index * pairs.stride
        pair_number = first + pairs.ends * number[..., None] + own_ends
        pair_number = xp.where(is_found[..., None], pair_number, xp.full_like(pair_number, -2.0))
        numbers.append(xp.reshape(pair_number, (*number.shape[:-1], -1)))
    return _concatenate(parts), xp.concat(numbers, axis=-1)


def _nearest_edges(
    obstacle: Obstacle, solids: Solids, position: Array, rotation: Array, within: Array
) -> tuple[Array, Array]:
    """Return numbers (..., k) of a mesh's edges nearest to the bodies, and their ends in map.

    Args:
        position: (..., 3) of the vehicle.
        rotation: R (..., 3, 3) of the vehicle.
        within: () or (...) m.
    """
    xp, surface = namespace(position), obstacle.contact_surface
    mesh_rotation = constant(xp, obstacle.rotation)
    offset = (position - constant(xp, obstacle.position)) @ mesh_rotation
    # The faces of the bodies in the axes of the mesh.
    turn = xp.matrix_transpose(rotation) @ mesh_rotation
    normals = constant(xp, solids.normal) @ turn[..., None, :, :]
    offsets = constant(xp, solids.offset) + matvec(normals, offset[..., None, :])

    def search(
        normals: np.ndarray, offsets: np.ndarray, within: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        batch = offsets.shape[:-2]
        if not batch:
            return surface.nearest_edges(_MESH_EDGES, normals, offsets, float(within))
        numbers = np.full((*batch, _MESH_EDGES), -1.0)
        ends = np.zeros((*batch, _MESH_EDGES, 2, 3))
        max_distance = np.broadcast_to(within, batch)
        for i in np.ndindex(batch):
            numbers[i], ends[i] = surface.nearest_edges(
                _MESH_EDGES, normals[i], offsets[i], float(max_distance[i])
            )
        return numbers, ends

    shapes = tuple((*position.shape[:-1], _MESH_EDGES, *ends) for ends in ((), (2, 3)))
    numbers, ends = host_call(
        search,
        shapes,
        normals,
        offsets,
        within,
        machine_code=lambda: surface.machine_code.get('edges'),
    )
    placed = ends @ xp.matrix_transpose(mesh_rotation) + constant(xp, obstacle.position)
    return numbers, placed


def _edge_end_contacts(
    own: ContactPoints,
    start: Array,
    along: Array,
    needed: Array,
    within: Array | None,
    rotation: Array,
) -> ContactGeometry:
    """Return contacts at both ends of edges in all bodies; starts are relative to the vehicle."""
    count = 2 * len(own.solids)

    def compute(start: Array, along: Array, needed: Array, to_body_axes: Array) -> ContactGeometry:
        contacts = edge_contacts(own.solids, start @ to_body_axes, along @ to_body_axes, needed)
        return _mask_contacts(needed, count, contacts)

    def far_away(start: Array, *others: Array) -> ContactGeometry:
        return _far_contacts(namespace(start).repeat(start, count, axis=-2))

    if within is None:
        return compute(start, along, needed, rotation)
    needed = needed & edges_within(own.solids, rotation, start, along, within)
    xp = namespace(start)
    return ContactGeometry(
        *cond(xp, xp.any(needed), compute, far_away, start, along, needed, rotation)
    )


def _mask_contacts(needed: Array, count: int, touch: ContactGeometry) -> ContactGeometry:
    """Return contacts with a far gap where not needed; ``count`` in a row per edge or sphere."""
    xp = namespace(touch.gap)
    offset = xp.where(needed, xp.zeros_like(touch.gap[..., ::count]), FAR_DISTANCE)
    return touch._replace(gap=touch.gap + xp.repeat(offset, count, axis=-1))


def _kernels() -> Any:
    from marine_sim_ros.physics.contact.kernels import edges

    return edges


_NO_CONTACTS = ContactGeometry(np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3))), np.zeros(0, int)


def contacts_within(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    within: float,
    *,
    compiled: bool = False,
) -> tuple[ContactGeometry, np.ndarray]:
    """Return the pairs with a gap below a distance, and their numbers: NumPy and one body only.

    Pairs that cannot be near are left out before anything is computed.

    Args:
        vehicle: the vehicle; it and the others as for :func:`contact_geometry`.
        state: state of the body.
        environment: environment with a scene.
        within: m.
        compiled: whether kernels are loaded where no mesh needs them; numbers are the same.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    if scene.meshes:
        number, values = contacts_near_meshes(vehicle, state, environment, within)
        return ContactGeometry(values[:, 0], values[:, 1:4], values[:, 4:]), number[:, 0]
    near = scene.surfaces_near(state.position, own.reach + within)
    return _simple_contacts(own, state, scene, within, near, compiled) if near else _NO_CONTACTS


def contacts_near_meshes(
    vehicle: Vehicle, state: State, environment: Environment, within: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers (c, 1) and gap, normal and point (c, 7): :func:`contacts_within` for kernels.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    from marine_sim_ros.physics.contact.kernels import meshes

    scene, own = environment.scene, vehicle.contact
    assert scene is not None
    near = scene.surfaces_near(state.position, own.reach + within)
    pairs, solids, parts = pair_layout(own, scene), own.solids, []
    ground, obstacles = pairs.ground, scene.obstacles
    simple = tuple(i for i in near if i < ground or obstacles[i - ground].kind != 'mesh')
    if simple:
        touch, number = _simple_contacts(own, state, scene, within, simple, compiled=True)
        parts.append((number[:, None].astype(np.int64), np.column_stack(touch)))
    for index, (surface, obstacle) in enumerate(scene.meshes):
        if surface in near:
            found = meshes.find_mesh_contacts(
                obstacle.contact_surface.kernel_surface,
                (obstacle.position, obstacle.rotation),
                (state.position, state.orientation),
                own.position,
                own.radius,
                (solids.normal, solids.offset),
                (int(pairs.points[surface]), pairs.meshes + index * pairs.stride),
                within,
                (_MESH_EDGES, *EDGE_SEARCH),
            )
            parts.append(found)
    if len(parts) == 1:
        return parts[0]
    number, values = map(np.concatenate, zip(_NO_ROWS, *parts, strict=True))
    order = number[:, 0].argsort()
    return number[order], values[order]


_NO_ROWS = np.zeros((0, 1), np.int64), np.zeros((0, 7))


def _simple_contacts(
    own: ContactPoints,
    state: State,
    scene: Scene,
    within: float,
    near: tuple[int, ...],
    compiled: bool,
) -> tuple[ContactGeometry, np.ndarray]:
    """Return :func:`contacts_within` for near surfaces that are no meshes."""
    pairs, position, solids = pair_layout(own, scene), state.position, own.solids
    rotation = rotation_matrix(state.orientation)
    parts = [_point_contacts(own, scene.part(near), within, position, rotation)]
    numbers = [_point_numbers(pairs, near, len(own))]
    kernels = _kernels() if compiled else None
    for first, start, along in _near_edges(scene, pairs, position, near):
        start = start - position
        close = edges_within(solids, rotation, start, along, within).nonzero()[0]
        if len(close):
            edges = start[close] @ rotation, along[close] @ rotation
            parts.append(edge_contacts(solids, *edges, kernels=kernels))
            numbers.append((first[close][:, None] + np.arange(pairs.ends)).reshape(-1))
    if near[-1] >= pairs.ground and len(scene.edges.ball) and len(solids):
        balls = np.flatnonzero(np.isin(scene.edges.ball, near))
        center = (scene.edges.center[balls] - position) @ rotation
        parts.append(sphere_contacts(solids, center, scene.edges.radius[balls]))
        ball = balls[:, None] * len(solids) + np.arange(len(solids))
        numbers.append(pairs.balls + ball.reshape(-1))
    touch, index = _concatenate(parts), np.concatenate(numbers) if len(parts) > 1 else numbers[0]
    close = (touch.gap < within).nonzero()[0]
    if len(parts) > 1:
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
