# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact points of shapes, and of the text of a description."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.model.arm import Manipulator
from marine_sim_ros.model.contact import ContactPoints, Material, Outline, no_contact

if TYPE_CHECKING:
    from marine_sim_ros.geometry.shapes import Shape
    from marine_sim_ros.model.collisions import Collision

__all__ = ['DescribedContact']


# Shapes -> contact points: a few points of the surface that touch first.

_RIM = 24
"""Points on each rim of a cylinder; the error between them is at most r (1 − cos(π/24))."""
MAX_MESH_POINTS = 32
"""Bound of a mesh's points: outermost vertices of its convex hull in as many directions."""


def _box(size: np.ndarray) -> np.ndarray:
    """Return corners, middles of edges and middles of faces (26, 3)."""
    signs = [s for s in product((-1, 0, 1), repeat=3) if any(s)]
    return np.array(signs) * np.asarray(size) / 2


def _cylinder(radius: float, length: float) -> np.ndarray:
    angle = 2 * math.pi * np.arange(_RIM) / _RIM
    ring = radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    ends = [np.column_stack([ring, np.full(_RIM, end)]) for end in (-length / 2, length / 2)]
    return np.concatenate(ends)


def _directions(count: int) -> np.ndarray:
    """Return unit vectors (count, 3) spread over the sphere: Fibonacci's lattice."""
    i = np.arange(count) + 0.5
    z = 1 - 2 * i / count
    angle = math.pi * (1 + math.sqrt(5)) * i
    flat = np.sqrt(1 - z * z)
    return np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=-1)


def _mesh(shape: Shape) -> np.ndarray:
    """Return vertices of the convex hull, all of them or those outermost in many directions.

    The hull spans its cavities: a thing that fits between two keels is not felt.
    """
    spatial = require('scipy.spatial', 'contact of a mesh')
    try:
        indices = spatial.ConvexHull(shape.vertices, qhull_options='QbB Pp Qt').vertices
        hull = shape.vertices[np.sort(indices)]
    except (spatial.QhullError, ValueError):  # flat: any of its vertices will do
        hull = shape.vertices
    if len(hull) <= MAX_MESH_POINTS:
        return np.array(hull)
    # Scaled to a cube first, so that a slender hull gets its points all along.
    middle, half = hull.mean(axis=0), np.maximum(np.ptp(hull, axis=0) / 2, 1e-9)
    indices = np.argmax(((hull - middle) / half) @ _directions(MAX_MESH_POINTS).T, axis=0)
    return np.array(hull[np.unique(indices)])


def _kind(collision: Collision) -> tuple[str, Any]:
    """Return the kind of a shape, and its element."""
    geometry = collision.reader.element.find('geometry')
    assert geometry is not None
    shapes = ((c.tag, c) for c in geometry if c.tag in ('box', 'cylinder', 'sphere'))
    return next(shapes, ('mesh', geometry))


def _points(collision: Collision) -> tuple[np.ndarray, float]:
    """Return points (n, 3) in the shape's frame, and the radius around them."""
    kind, element = _kind(collision)
    if kind == 'box':
        return _box(collision.shape.extents), 0.0
    if kind == 'cylinder':
        return _cylinder(float(element.get('radius', 0)), float(element.get('length', 0))), 0.0
    if kind == 'sphere':
        return np.zeros((1, 3)), float(element.get('radius', 0))
    return _mesh(collision.shape), 0.0


def with_link_points(
    points: ContactPoints, arm: Manipulator, links: Sequence[str]
) -> ContactPoints:
    """Return points whose links move with an arm; ``links`` has the link of every shape."""
    carriers = np.array([arm.carrier.get(link, -1) for link in links], int)
    if not np.any(carriers >= 0):
        return points
    joint = carriers[points.shape]
    joint_positions, joint_rotations, reaches = [np.zeros(3)], [np.eye(3)], [0.0]
    for i, p in enumerate(arm.parent):
        slide = max(abs(arm.lower[i]), abs(arm.upper[i])) * arm.sliding[i]
        joint_positions.append(
            joint_positions[p + 1] + joint_rotations[p + 1] @ arm.translation[i]
        )
        joint_rotations.append(joint_rotations[p + 1] @ arm.rotation[i])
        reaches.append(reaches[p + 1] + float(np.linalg.norm(arm.translation[i])) + slide)
    position, rotation = np.array(joint_positions)[joint + 1], np.array(joint_rotations)[joint + 1]
    local = ((points.position - position)[:, None, :] @ rotation)[:, 0]
    far = np.array(reaches)[joint + 1] + np.linalg.norm(local, axis=1) + points.radius
    hulls = tuple(hull for hull in points.hulls if carriers[hull[0]] < 0)
    fixed = tuple(o if c < 0 else None for o, c in zip(points.outlines, carriers, strict=True))
    farthest = float(far.max())
    return replace(
        points, hulls=hulls, joint=joint, local=local, farthest=farthest, outlines=fixed
    )


def contact_points(
    collisions: Sequence[Collision], materials: Sequence[str | Material]
) -> ContactPoints:
    """Return the contact points of collisions with their materials, in the body frame.

    A box has its corners and the middles of its edges and faces, a cylinder its rims, a sphere
    its centre with a radius, a mesh vertices of its convex hull.
    """
    if not collisions:
        return no_contact()
    positions, radii, edges, shapes, hulls = [], [], [], [], []
    for index, collision in enumerate(collisions):
        points, radius = _points(collision)
        points = points @ collision.rotation.T + collision.translation
        positions.append(points)
        if radius == 0:
            hulls.append((index, points))
        radii.append(np.full(len(points), radius))
        edges.append(np.full(len(points), max(collision.shape.volume, 1e-12) ** (1 / 3)))
        shapes.append(np.full(len(points), index))
    return ContactPoints(
        np.concatenate(positions),
        np.concatenate(radii),
        np.concatenate(edges),
        np.concatenate(shapes),
        tuple(materials),
        tuple(hulls),
        outlines=tuple(map(_outline, collisions)),
    )


def _outline(collision: Collision) -> Outline:
    middle = collision.shape.bounds.mean(axis=0)
    center = collision.translation + collision.rotation @ middle
    return Outline(_kind(collision)[0], collision.shape.extents, center, collision.rotation)


# Contact points from the text of a description, computed on first use.


class DescribedContact:
    """Contact points of a description, read when first asked for, once for all of its vehicles.

    It keeps the text alone, so that a vehicle is plain data that another process can have.
    """

    def __init__(
        self, text: str, source: str, base: Path | None, body: str, arm: Manipulator | None = None
    ) -> None:
        """Keep the description.

        Args:
            text: URDF with ``body`` as its root.
            source: source of the text, for messages.
            base: folder that relative mesh names start from.
            body: name of the body's link.
            arm: arm that the text describes, or None.
        """
        self._description = text, source, base, body
        self._arm = arm
        self._points: ContactPoints | None = None

    def __call__(self) -> ContactPoints:
        """Return the points of all collisions, those of an arm where its joints are at 0.

        Raises:
            ModelError: a mesh or a tag that cannot be read.
        """
        if self._points is None:
            self._points = _read_contact_points(*self._description, self._arm)
        return self._points


def _read_contact_points(
    text: str, source: str, base: Path | None, body: str, arm: Manipulator | None
) -> ContactPoints:
    # A vehicle without contact needs no reader of descriptions in its process.
    from marine_sim_ros.model.collisions import read_shapes, standard_urdf
    from marine_sim_ros.model.contact_reader import read_contact_tags
    from marine_sim_ros.model.kinematics import fixed_frames
    from marine_sim_ros.model.xml import Reader, parse

    root = parse(text, source)
    robot, reader = standard_urdf(root, source), Reader(root, source)
    shapes = read_shapes(robot, reader, fixed_frames(robot, source, body), base)
    points = contact_points(shapes, read_contact_tags(reader).collisions)
    return points if arm is None else with_link_points(points, arm, [s.link for s in shapes])
