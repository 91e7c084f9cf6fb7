# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes of bodies and of the scene: as obstacles, and as the tables of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import matrix_quaternion
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.geometry.triangles import TriangleSurface, build_surface
from marine_sim_ros.model.contact import ContactPoints, no_contact
from marine_sim_ros.model.materials import Materials
from marine_sim_ros.physics.contact.contact import contact_limit
from marine_sim_ros.physics.contact.kernels import BOX, CYLINDER, OTHER, PLANE, SPHERE
from marine_sim_ros.physics.contact.solver import contact_axes
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene

__all__ = ['SolidTables', 'solid_environment', 'solid_scene']


@lru_cache(maxsize=256)
def solid_scene(own: ContactPoints) -> Scene:
    """Return the shapes of a body as obstacles in its frame, for contacts of other bodies."""
    obstacles = []
    for number, outline in enumerate(own.outlines):
        if outline is None:
            continue
        surface, kind, position = None, outline.kind, outline.position
        if kind == 'mesh':
            points = own.position[own.shape == number]
            surface, position = _hull(points), points.mean(axis=0)
            if surface is None:  # flat: its box
                kind, position = 'box', outline.position
        material = own.materials[number]
        obstacles.append(
            Obstacle(
                f'shape_{number}',
                kind,
                np.maximum(outline.size, 1e-6)
                if surface is None
                else 2 * np.max(np.abs(surface.vertices), axis=0),
                position,
                matrix_quaternion(np.eye(3) if surface is not None else outline.rotation),
                (material if isinstance(material, str) else material.name) or 'default',
                mesh=surface,
            )
        )
    return Scene(obstacles=tuple(obstacles))


@lru_cache(maxsize=256)
def solid_environment(own: ContactPoints, materials: Materials | None) -> Environment:
    """Return the shapes of a body as the scene of another."""
    return Environment(scene=solid_scene(own), materials=materials)


def _hull(points: np.ndarray) -> TriangleSurface | None:
    """Return the convex hull of points about their mean; None if they lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    local = points - points.mean(axis=0)
    try:
        hull = ConvexHull(local)
    except (QhullError, ValueError):
        return None
    faces = hull.simplices.copy()
    a, b, c = (local[faces[:, i]] for i in range(3))
    inward = np.sum(np.cross(b - a, c - a) * hull.equations[:, :3], axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    return build_surface(local, faces, 1e-3, 'hull')[0]


class SolidTables(NamedTuple):
    """Shapes of b bodies, one after the other, as the kernels take them; the scene is the last.

    Arrays of places and directions are in the frames of the bodies.

    Attributes:
        point_first: (b + 1,) first point of each body, and the end; so are the other ``_first``.
        point_radius: (m,) m; 0 but for spheres.
        point_shape: (m,) which shape of its body a point is of.
        solid_first: of the n convex bodies between the points.
        solid_shape: (n,) which shape one is.
        face_first: (n + 1,) first face of each convex body.
        face_normal: (f, 3) unit vectors a of a·p ≤ b.
        face_offset: (f,) b in m.
        surface_first: of the k surfaces: for the scene planes, terrain and obstacles, for a body
            its shapes as obstacles.
        surface_kind: (k,) as physics/contact/kernels/separation.py numbers them.
        surface_half: (k, 3) half of the edges, m.
        surface_position: (k, 3) m.
        surface_rotation: (k, 3, 3) from its axes; of a plane, the third is its normal.
        surface_bounds: (k, 3) half of the edges of the upright box around it, m.
        edge_first: of the e edges of boxes and cylinders.
        edge_start: (e, 3) m.
        edge_along: (e, 3) from the start to the end, m.
        edge_surface: (e,) which surface of its body an edge is of.
        ball_first: of the surfaces that are spheres.
        ball_surface: (s,) which surface of its body a sphere is.
        reach: (b,) of the points, m.
        limit: (b,) largest number of contacts of a pair.
        is_simple: (b,) whether the kernels know all surfaces of a body.
    """

    point_first: np.ndarray
    point_radius: np.ndarray
    point_shape: np.ndarray
    solid_first: np.ndarray
    solid_shape: np.ndarray
    face_first: np.ndarray
    face_normal: np.ndarray
    face_offset: np.ndarray
    surface_first: np.ndarray
    surface_kind: np.ndarray
    surface_half: np.ndarray
    surface_position: np.ndarray
    surface_rotation: np.ndarray
    surface_bounds: np.ndarray
    edge_first: np.ndarray
    edge_start: np.ndarray
    edge_along: np.ndarray
    edge_surface: np.ndarray
    ball_first: np.ndarray
    ball_surface: np.ndarray
    reach: np.ndarray
    limit: np.ndarray
    is_simple: np.ndarray

    @classmethod
    def of(cls, bodies: Sequence[ContactPoints], scene: Scene | None) -> SolidTables:
        """Return the shapes of bodies and of a scene."""
        each = [_shapes(own, solid_scene(own)) for own in bodies]
        each.append(_shapes(no_contact(), scene or Scene()))
        columns: dict[str, np.ndarray] = {}
        for name in each[0]:
            parts = [shapes[name] for shapes in each]
            if name.endswith('_first'):
                counts = np.concatenate([np.diff(part) for part in parts])
                columns[name] = np.concatenate([[0], np.cumsum(counts)])
            else:
                columns[name] = np.concatenate(parts)
        return cls(**columns)


_KINDS = {'box': BOX, 'cylinder': CYLINDER, 'sphere': SPHERE, 'mesh': OTHER}


@lru_cache(maxsize=256)
def _shapes(own: ContactPoints, scene: Scene) -> dict[str, np.ndarray]:
    """Return the attributes of :class:`SolidTables` of one body, whose shapes are a scene."""
    solids, edges = own.solids, scene.edges
    is_face = np.any(solids.normal != 0, axis=-1)
    kinds, halves, positions, rotations, bounds = [], [], [], [], []
    for plane in scene.planes:
        normal, *across = contact_axes(plane.normal[None, :], None)[:, 0, :]
        kinds.append(PLANE)
        rotations.append(np.stack([*across, normal], axis=1))
        positions.append(plane.point)
        halves.append(np.zeros(3))
        bounds.append(np.zeros(3))
    if scene.terrain is not None:
        kinds.append(OTHER)
        rotations.append(np.eye(3))
        positions.append(np.zeros(3))
        halves.append(np.zeros(3))
        bounds.append(np.full(3, np.inf))
    for obstacle in scene.obstacles:
        kinds.append(_KINDS[obstacle.kind])
        rotations.append(obstacle.rotation)
        positions.append(obstacle.position)
        halves.append(obstacle.size / 2)
        bounds.append(np.abs(obstacle.rotation) @ (obstacle.size / 2))

    def first(count: int) -> np.ndarray:
        return np.array([0, count])

    return {
        'point_first': first(len(own)),
        'point_radius': own.radius,
        'point_shape': own.shape,
        'solid_first': first(len(solids)),
        'solid_shape': solids.shape,
        'face_first': np.concatenate([[0], np.cumsum(is_face.sum(axis=1))]),
        'face_normal': solids.normal[is_face],
        'face_offset': solids.offset[is_face],
        'surface_first': first(len(kinds)),
        'surface_kind': np.array(kinds, int),
        'surface_half': np.array(halves).reshape(-1, 3),
        'surface_position': np.array(positions).reshape(-1, 3),
        'surface_rotation': np.array(rotations).reshape(-1, 3, 3),
        'surface_bounds': np.array(bounds).reshape(-1, 3),
        'edge_first': first(len(edges.start)),
        'edge_start': edges.start,
        'edge_along': edges.along,
        'edge_surface': edges.surface,
        'ball_first': first(len(edges.ball)),
        'ball_surface': edges.ball,
        'reach': np.array([own.reach]),
        'limit': np.array([contact_limit(own)]),
        'is_simple': np.array([scene.terrain is None and not scene.meshes]),
    }
