# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Touches of a body with the scene or another body, which it sees as a scene of its own."""

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
    """The touches of a body with the scene, or with another body.

    Attributes:
        one: name of the body, in whose frame everything is.
        other: name of the other body; empty: the scene.
        pairs: coefficients of c pairs.
        number: (c,) their numbers.
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
        """Whose touches they are."""
        return self.one, self.other

    @property
    def points_on_other(self) -> np.ndarray:
        """Return the points (c, 3) in the frame of the other body, m."""
        turn = rotation_matrix(self.relative.orientation)
        return np.asarray(self.geometry.point @ turn.T + self.relative.position)


@lru_cache(maxsize=64)
def solid_scene(own: ContactPoints) -> Scene:
    """Return the shapes of a body as others touch them, in its frame."""
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
    """Return the convex hull of points about their mean; None where it is flat."""
    from scipy.spatial import ConvexHull, QhullError

    local = points - points.mean(axis=0)
    try:
        found = ConvexHull(local)
    except (QhullError, ValueError):
        return None
    faces = found.simplices.copy()
    a, b, c = (local[faces[:, i]] for i in range(3))
    inward = np.sum(np.cross(b - a, c - a) * found.equations[:, :3], axis=1) < 0
    faces[inward] = faces[inward][:, ::-1]
    return build_surface(local, faces, 1e-3, 'hull')[0]


def relative_state(one: State, other: State) -> State:
    """Return the state of a body in the frame of another, its velocity in its own axes."""
    back = rotation_matrix(other.orientation).T
    turn = quaternion_product(quaternion_conjugate(other.orientation), one.orientation)
    place = back @ (one.position - other.position)
    into = rotation_matrix(turn).T
    carried = other.velocity[:3] + cross(other.velocity[3:], place)
    moving = np.concatenate([into @ carried, into @ other.velocity[3:]])
    return State(place, turn, one.velocity - moving)


def touch_rows(touch: BodyTouches, directions: np.ndarray, group: list[str]) -> np.ndarray:
    """Return the rows (3, c, 6 k) of touches in the velocities of a group of k bodies."""
    points = touch.geometry.point
    result = np.zeros((*directions.shape[:2], 6 * len(group)))
    place = 6 * group.index(touch.one)
    result[:, :, place : place + 6] = lever_rows(directions, points[None, :, :])
    if touch.other:
        turn, there = rotation_matrix(touch.relative.orientation), touch.points_on_other
        place = 6 * group.index(touch.other)
        result[:, :, place : place + 6] = -lever_rows(directions @ turn.T, there[None, :, :])
    return result
