# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Moving bodies: visible parts, shapes that rays meet, moments and volumes of shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.scene.obstacles import Obstacle

__all__ = [
    'AREA_SHARES',
    'Body',
    'VisiblePart',
    'body_hits',
    'homogeneous_moments',
    'solid_volume',
]


# Visible moving parts: boxes, cylinders, spheres and meshes with colours.


@dataclass(frozen=True, eq=False)
class VisiblePart:
    """A visible part of a body.

    Attributes:
        kind: ``box``, ``cylinder`` along z, ``sphere`` or ``mesh``.
        size: (3,) edges of its bounding box, m.
        position: (3,) of the middle of that box, frame of the body, m.
        rotation: (3, 3) v_body = R v_part.
        colour: (3,) red, green and blue, sRGB, 0 to 1.
        corners: (n, 3, 3) of the triangles of a mesh from the middle of its box, m,
            counter-clockwise seen from outside; empty for other kinds.
    """

    kind: str
    size: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    colour: np.ndarray
    corners: np.ndarray


# Moving bodies of the scene: convex polyhedra and spheres, and their ray hits.


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body of n convex polyhedra a·p ≤ b and m balls, in its own frame.

    Attributes:
        normal: (n, h, 3) unit vectors a outwards; rows that are no face are 0.
        offset: (n, h) b, m; above 0 in rows that are no face.
        center: (m, 3) of the balls, m.
        radius: (m,) of the balls, m.
        position: (3,) of its frame, map, m.
        orientation: (4,) unit quaternion x, y, z, w to map.
        looks: returns the parts that cameras see, in its frame.
        label: what it is in a camera's segmentation; None: another vehicle.
        frames: translation (3,), m, and quaternion (4,) of the links fixed to it, by name.
        sensors: of a vehicle, for modems.
        seed: random seed of these.
        outbox: destinations and bytes that its modem was asked to send at the tick.
        velocity: (6,) linear, m/s, and angular, rad/s, in its frame, of a vehicle.
    """

    name: str
    normal: np.ndarray
    offset: np.ndarray
    center: np.ndarray
    radius: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    material: str = 'aluminium'
    looks: Callable[[], tuple[VisiblePart, ...]] = tuple
    label: int | None = None
    frames: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    sensors: tuple[Any, ...] = ()
    seed: int = 0
    outbox: tuple[tuple[str, bytes], ...] = ()
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(6))


def body_hits(body: Body, origins: Array, directions: Array) -> tuple[Array, Array]:
    """Return first hits of rays on a body: distances (...), m, and unit normals (..., 3), map.

    A ray o + t d is in a polyhedron for max (b − a·o)/(a·d) over the faces with a·d < 0 up to min
    over those with a·d > 0, if a·o ≤ b where a·d = 0. A ray that begins inside meets it at 0; what
    is not met is at infinity.

    Args:
        origins: (..., 3) in map, m.
        directions: (..., 3) unit vectors, map.
    """
    xp = namespace(directions)
    rotation = constant(xp, rotation_matrix(body.orientation))
    local, along = (origins - constant(xp, body.position)) @ rotation, directions @ rotation
    distance = xp.zeros_like(along[..., 0]) + xp.inf
    normal = xp.zeros_like(along)
    faces = zip(body.normal, body.offset, strict=True)
    balls = zip(body.center, body.radius, strict=True)
    for interval, facing in (
        *(_polyhedron(local, along, a, b) for a, b in faces),
        *(_ball(local, along, c, float(r)) for c, r in balls),
    ):
        nearer = interval < distance
        distance = xp.where(nearer, interval, distance)
        normal = xp.where(nearer[..., None], facing, normal)
    return distance, normal @ rotation.T


def _hit_distance(enter: Array, leave: Array) -> Array:
    """Return the distance (...) at which an interval of a ray begins; infinite for none."""
    xp = namespace(enter)
    is_hit = (enter <= leave) & (leave >= 0)
    return xp.where(is_hit, xp.maximum(enter, xp.zeros_like(enter)), xp.zeros_like(enter) + xp.inf)


def _polyhedron(o: Array, d: Array, a: np.ndarray, b: np.ndarray) -> tuple[Array, Array]:
    xp = namespace(d)
    normals = constant(xp, a)
    rise, clearance_ = d @ normals.T, constant(xp, b) - o @ normals.T
    sinks, rises = rise < 0, rise > 0
    crossing = clearance_ / xp.where(sinks | rises, rise, xp.ones_like(rise))
    inf = xp.zeros_like(crossing) + xp.inf
    enters = xp.where(sinks, crossing, -inf)
    enter = xp.max(enters, axis=-1)
    leave = xp.min(xp.where(rises, crossing, inf), axis=-1)
    beside = xp.any(~(sinks | rises) & (clearance_ < 0), axis=-1)
    leave = xp.where(beside, -inf[..., 0], leave)
    return _hit_distance(enter, leave), normals[xp.argmax(enters, axis=-1)]


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
    return _hit_distance(middle - half, leave), (passing - half[..., None] * d) / radius


# Areas, moments and volumes of shapes.

AREA_SHARES = {
    'box': (1.0, 1.0, 1.0),
    'cylinder': (1.0, 1.0, math.pi / 4),
    'sphere': (math.pi / 4,) * 3,
}
"""Areas of a shape across its axes, as shares of those of the box around it."""
_SQUARES = {'box': (12, 12, 12), 'cylinder': (16, 16, 12), 'sphere': (20, 20, 20)}
"""Mean square along an axis: edge²/12, diameter²/16 or /20 where it is round."""


def homogeneous_moments(body: Obstacle, mass: float) -> np.ndarray:
    """Return the moments of inertia (3,) of a box, cylinder or sphere of a mass, kg·m²."""
    squares = body.size**2 / np.array(_SQUARES[body.kind])
    return np.asarray(mass * (np.sum(squares) - squares))


def solid_volume(body: Obstacle) -> float:
    """Return the volume of a box, cylinder or sphere, m³."""
    ratio = {'box': 1.0, 'cylinder': math.pi / 4, 'sphere': math.pi / 6}[body.kind]
    return ratio * float(np.prod(body.size))
