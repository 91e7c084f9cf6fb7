# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of a body with the scene, or with another body that is treated as a scene."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import (
    cross,
    matrix_quaternion,
    quaternion_conjugate,
    quaternion_product,
    rotation_matrix,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.geometry.triangles import TriangleSurface, build_surface
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.materials import Materials
from marine_sim_ros.physics.contact.detection import lever_rows, pair_layout
from marine_sim_ros.physics.contact.edges import ContactGeometry
from marine_sim_ros.physics.contact.pair_coefficients import PairCoefficients
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene

__all__ = [
    'BodyTouches',
    'relative_state',
    'separating_contacts',
    'solid_environment',
    'solid_scene',
    'touch_rows',
]

_DEEP_OVERLAP = 0.5
"""Overlap along a normal that cannot separate two shapes, relative to the thinner one."""
_SHALLOW_OVERLAP = 0.1
"""Overlap along a normal that separates them."""


class BodyTouches(NamedTuple):
    """Contacts of a body with the scene, or with another body.

    Attributes:
        one: name of the body, in whose frame everything is.
        other: name of the other body; empty: the scene.
        pairs: coefficients of c pairs.
        number: (c,) numbers of the pairs.
        geometry: gaps, normals and points.
        relative: state of the first body in the frame of the other, or in map.
    """

    one: str
    other: str
    pairs: PairCoefficients
    number: np.ndarray
    geometry: ContactGeometry
    relative: State

    @property
    def key(self) -> tuple[str, str]:
        """Names of the two bodies."""
        return self.one, self.other

    @property
    def points_on_other(self) -> np.ndarray:
        """Return the points (c, 3) in the frame of the other body, m."""
        rotation = rotation_matrix(self.relative.orientation)
        return np.asarray(self.geometry.point @ rotation.T + self.relative.position)


@lru_cache(maxsize=64)
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


@lru_cache(maxsize=64)
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


def relative_state(one: State, other: State) -> State:
    """Return the state of a body in the frame of another, its velocity in its own axes."""
    to_other = rotation_matrix(other.orientation).T
    orientation = quaternion_product(quaternion_conjugate(other.orientation), one.orientation)
    position = to_other @ (one.position - other.position)
    to_body = rotation_matrix(orientation).T
    frame_velocity = other.velocity[:3] + cross(other.velocity[3:], position)
    frame_twist = np.concatenate([to_body @ frame_velocity, to_body @ other.velocity[3:]])
    return State(position, orientation, one.velocity - frame_twist)


def touch_rows(touch: BodyTouches, directions: np.ndarray, group: list[str]) -> np.ndarray:
    """Return the Jacobian (3, c, 6 k) of contacts by the velocities of a group of k bodies."""
    points = touch.geometry.point
    result = np.zeros((*directions.shape[:2], 6 * len(group)))
    column = 6 * group.index(touch.one)
    result[:, :, column : column + 6] = lever_rows(directions, points[None, :, :])
    if touch.other:
        rotation, points_on_other = (
            rotation_matrix(touch.relative.orientation),
            touch.points_on_other,
        )
        column = 6 * group.index(touch.other)
        result[:, :, column : column + 6] = -lever_rows(
            directions @ rotation.T, points_on_other[None, :, :]
        )
    return result


class _Overlap(NamedTuple):
    """Overlap of a shape of a body and an obstacle along directions.

    Attributes:
        top: (c,) of the obstacle along them, from the origin of the body, m.
        fraction: (c,) overlap, relative to the thinner of the two.
    """

    top: np.ndarray
    fraction: np.ndarray

    @classmethod
    def along(
        cls, directions: np.ndarray, points: np.ndarray, radius: np.ndarray, relative: _Relative
    ) -> _Overlap:
        """Measure it along unit vectors (c, 3) out of the obstacle, body frame."""
        obstacle, position, rotation = relative
        of_points = directions @ points.T
        low, high = (of_points - radius).min(axis=1), (of_points + radius).max(axis=1)
        in_scene = directions @ rotation.T
        half = obstacle.half_extents(in_scene)
        top = in_scene @ (obstacle.position - position) + half
        thickness = np.maximum(np.minimum(high - low, 2 * half), 1e-9)
        return cls(top, (top - low) / thickness)


class _Relative(NamedTuple):
    """An obstacle, and position and rotation of a body in its scene."""

    obstacle: Obstacle
    position: np.ndarray
    rotation: np.ndarray

    @property
    def faces(self) -> np.ndarray:
        """Normals (c, 3) of the obstacle's flat faces, body frame."""
        count = {'box': 3, 'cylinder': 1}.get(self.obstacle.kind, 0)
        axes = rotation_matrix(self.obstacle.orientation).T[3 - count :] @ self.rotation
        return np.concatenate([axes, -axes])


def separating_contacts(
    touch: ContactGeometry, number: np.ndarray, own: ContactPoints, scene: Scene, state: State
) -> tuple[ContactGeometry, np.ndarray]:
    """Return the contacts of a body with normals that separate it from obstacles, their numbers.

    Where faces of two shapes are flush, as in a stack of equal crates, the nearest face to a point
    on the rim can be the one beside it: the last digit decides. Along the normal n of that face
    the shapes overlap by their whole size, o = max n·q − min n·p over points q of the obstacle and
    p of the body. Such a point gets the face of least overlap; such an edge is left out.

    Args:
        touch: contacts within reach.
        number: (c,) numbers of their pairs.
        own: points of the body.
        scene: scene of the pairs; its meshes, planes and terrain are left as they are.
        state: state of the body in the frame of the scene.
    """
    if len(number) < 2 or np.ptp(touch.normal, axis=0).max() < 0.5:
        return touch, number
    layout = pair_layout(own, scene)
    rows = layout.rows(number)
    surface, shape = layout.surface[rows], layout.shape[rows]
    is_point = layout.point[rows] < len(own)
    rotation = rotation_matrix(state.orientation)
    gap, normal = touch.gap.copy(), touch.normal.copy()
    kept = np.ones(len(number), bool)
    for index, part in sorted(set(zip(surface.tolist(), shape.tolist(), strict=True))):
        if index < layout.ground or scene.obstacles[index - layout.ground].kind == 'mesh':
            continue
        relative = _Relative(scene.obstacles[index - layout.ground], state.position, rotation)
        points = own.position[own.shape == part], own.radius[own.shape == part]
        here = np.flatnonzero((surface == index) & (shape == part))
        fraction = _Overlap.along(touch.normal[here], *points, relative).fraction
        faces = relative.faces
        of_faces = _Overlap.along(faces, *points, relative)
        deep = here[fraction > _DEEP_OVERLAP]
        best = of_faces.fraction.argmin() if len(faces) else -1
        if len(faces) and of_faces.fraction[best] < _SHALLOW_OVERLAP:
            turned = deep[is_point[deep]]
            normal[turned] = faces[best]
            gap[turned] = touch.point[turned] @ faces[best] - of_faces.top[best]
            kept[deep[~is_point[deep]]] = False
        elif fraction.min() < _SHALLOW_OVERLAP:
            kept[deep] = False
    return ContactGeometry(gap[kept], normal[kept], touch.point[kept]), number[kept]
