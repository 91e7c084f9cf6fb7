# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that move in the scene: convex polyhedra and balls, and what rays meet of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.scene.parts import Part

__all__ = ['Body', 'body_hits']


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body of n convex polyhedra a·p ≤ b and m balls, in its own frame.

    Attributes:
        name: its name.
        normal: (n, h, 3) unit vectors a outwards; rows that are no face are 0.
        offset: (n, h) b, m; above 0 in rows that are no face.
        center: (m, 3) of the balls, m.
        radius: (m,) of the balls, m.
        position: (3,) of its frame, map, m.
        orientation: (4,) unit quaternion x, y, z, w to map.
        material: name of its material.
        looks: returns the parts that cameras see, in its frame.
        label: what it is in a camera's segmentation; None: another vehicle.
        frames: translation (3,), m, and quaternion (4,) of the links fixed to it, by name.
    """

    name: str
    normal: np.ndarray
    offset: np.ndarray
    center: np.ndarray
    radius: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    material: str = 'aluminium'
    looks: Callable[[], tuple[Part, ...]] = tuple
    label: int | None = None
    frames: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


def body_hits(body: Body, origins: Array, directions: Array) -> tuple[Array, Array]:
    """Return where rays meet a body first: distances (...), m, and unit normals (..., 3), map.

    A ray o + t d is in a polyhedron for max (b − a·o)/(a·d) over the faces with a·d < 0 up to min
    over those with a·d > 0, if a·o ≤ b where a·d = 0. A ray that begins inside meets it at 0; what
    is not met is at infinity.

    Args:
        body: the body.
        origins: (..., 3) in map, m.
        directions: (..., 3) unit vectors, map.
    """
    xp = namespace(directions)
    turn = constant(xp, rotation_matrix(body.orientation))
    local, along = (origins - constant(xp, body.position)) @ turn, directions @ turn
    distance = xp.zeros_like(along[..., 0]) + xp.inf
    normal = xp.zeros_like(along)
    faces = zip(body.normal, body.offset, strict=True)
    balls = zip(body.center, body.radius, strict=True)
    for own, facing in (
        *(_polyhedron(local, along, a, b) for a, b in faces),
        *(_ball(local, along, c, float(r)) for c, r in balls),
    ):
        nearer = own < distance
        distance = xp.where(nearer, own, distance)
        normal = xp.where(nearer[..., None], facing, normal)
    return distance, normal @ turn.T


def _met(enter: Array, leave: Array) -> Array:
    """Return the distance (...) at which an interval of a ray begins; infinite for none."""
    xp = namespace(enter)
    meets = (enter <= leave) & (leave >= 0)
    return xp.where(meets, xp.maximum(enter, xp.zeros_like(enter)), xp.zeros_like(enter) + xp.inf)


def _polyhedron(o: Array, d: Array, a: np.ndarray, b: np.ndarray) -> tuple[Array, Array]:
    xp = namespace(d)
    normals = constant(xp, a)
    rise, room = d @ normals.T, constant(xp, b) - o @ normals.T
    sinks, rises = rise < 0, rise > 0
    at = room / xp.where(sinks | rises, rise, xp.ones_like(rise))
    inf = xp.zeros_like(at) + xp.inf
    enters = xp.where(sinks, at, -inf)
    enter = xp.max(enters, axis=-1)
    leave = xp.min(xp.where(rises, at, inf), axis=-1)
    beside = xp.any(~(sinks | rises) & (room < 0), axis=-1)
    leave = xp.where(beside, -inf[..., 0], leave)
    return _met(enter, leave), normals[xp.argmax(enters, axis=-1)]


def _ball(o: Array, d: Array, center: np.ndarray, radius: float) -> tuple[Array, Array]:
    """Return the nearest root of |o + t d − c| = r, |d| = 1."""
    xp = namespace(d)
    away = o - constant(xp, center)
    middle = -xp.sum(away * d, axis=-1)
    passing = away + middle[..., None] * d
    square = radius * radius - xp.sum(passing * passing, axis=-1)
    half = xp.sqrt(xp.maximum(square, xp.zeros_like(square)))
    inf = xp.zeros_like(half) + xp.inf
    leave = xp.where(square < 0, -inf, middle + half)
    return _met(middle - half, leave), (passing - half[..., None] * d) / radius
