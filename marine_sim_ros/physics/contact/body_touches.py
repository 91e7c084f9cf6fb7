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
from marine_sim_ros.physics.contact.detection import lever_rows
from marine_sim_ros.physics.contact.edges import ContactGeometry
from marine_sim_ros.physics.contact.pair_coefficients import PairCoefficients
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene

__all__ = ['BodyTouches', 'relative_state', 'solid_environment', 'solid_scene', 'touch_rows']


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
