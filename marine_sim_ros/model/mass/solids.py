# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where rays along x enter and leave a part: exact for round bodies, and for closed meshes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.model.geometry.meshes import load_mesh
from marine_sim_ros.model.geometry.shapes import Shape
from marine_sim_ros.model.mass.mesh_rays import mesh_spans
from marine_sim_ros.model.mass.part_list import Part

__all__ = ['Solid', 'Spans', 'solid_of_part']

Spans = tuple[np.ndarray, np.ndarray]
"""Enters, leaves: x in m, the shape of the rays behind a leading axis of spans; where it enters
after it leaves there is no span."""
_PARALLEL = 1e-12
"""Cosines below this are rounding."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A closed body with a function that returns its spans along rays.

    Attributes:
        bounds: (2, 3) smallest and largest coordinates in the body frame, m.
        spans: function that returns the spans of rays along x at y (1, ny) and z (nz, 1), m.
        warnings: repairs of the mesh.
    """

    bounds: np.ndarray
    spans: Callable[[np.ndarray, np.ndarray], Spans]
    warnings: tuple[str, ...] = ()


def solid_of_part(part: Part) -> Solid:
    """Return the solid of a part.

    Raises:
        ModelError: a mesh that cannot be read or encloses nothing.
    """
    rotation = rotation_matrix(quaternion_from_rpy(*part.rpy))
    place = np.array(part.xyz)
    size = np.array(part.dimensions)
    if part.shape == 'mesh':
        shape = load_mesh(str(part.file), size)
        return _mesh(shape, rotation, place)
    if part.shape == 'box':
        reach, cross = np.abs(rotation) @ (size / 2), partial(_box, size / 2)
    elif part.shape == 'cylinder':
        axis = rotation[:, 2]
        reach = np.abs(axis) * size[1] / 2 + size[0] * np.sqrt(np.maximum(1 - axis**2, 0))
        cross = partial(_cylinder, size[0], size[1] / 2)
    else:
        reach, cross = np.full(3, size[0]), partial(_sphere, size[0])
    return Solid(
        np.array([place - reach, place + reach]), partial(_convex_spans, cross, rotation, place)
    )


def _mesh(shape: Shape, rotation: np.ndarray, place: np.ndarray) -> Solid:
    vertices = shape.vertices @ rotation.T + place
    bounds = np.array([vertices.min(axis=0), vertices.max(axis=0)])
    return Solid(bounds, partial(mesh_spans, vertices, shape.faces), shape.warnings)


def _convex_spans(
    cross: Callable[[np.ndarray, np.ndarray], Spans],
    rotation: np.ndarray,
    place: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
) -> Spans:
    """Return the one span of each ray, found in the frame of the shape."""
    y, z = np.broadcast_arrays(y, z)
    origin = np.stack([np.full(y.shape, -place[0]), y - place[1], z - place[2]], axis=-1)
    enter, leave = cross(origin @ rotation, rotation[0])
    return enter[None], leave[None]


def _between(at: np.ndarray, slope: float, half: float) -> Spans:
    """Return where |at + slope t| <= half."""
    if abs(slope) < _PARALLEL:
        return _everywhere(np.abs(at) <= half)
    first, second = (-half - at) / slope, (half - at) / slope
    return np.minimum(first, second), np.maximum(first, second)


def _within(at: np.ndarray, slope: np.ndarray, radius: float) -> Spans:
    """Return where |at + slope t| <= radius, of vectors."""
    a, b = float(slope @ slope), at @ slope
    c = np.sum(at**2, axis=-1) - radius**2
    if a < _PARALLEL**2:
        return _everywhere(c <= 0)
    root = b**2 - a * c
    half = np.sqrt(np.maximum(root, 0.0))
    return (
        np.where(root >= 0, (-b - half) / a, np.inf),
        np.where(root >= 0, (-b + half) / a, -np.inf),
    )


def _everywhere(inside: np.ndarray) -> Spans:
    return np.where(inside, -np.inf, np.inf), np.where(inside, np.inf, -np.inf)


def _both(first: Spans, second: Spans) -> Spans:
    return np.maximum(first[0], second[0]), np.minimum(first[1], second[1])


def _box(half: np.ndarray, at: np.ndarray, slope: np.ndarray) -> Spans:
    x, y, z = (_between(at[..., i], float(slope[i]), float(half[i])) for i in range(3))
    return _both(_both(x, y), z)


def _cylinder(radius: float, half: float, at: np.ndarray, slope: np.ndarray) -> Spans:
    round_about = _within(at[..., :2], slope[:2], radius)
    return _both(round_about, _between(at[..., 2], float(slope[2]), half))


def _sphere(radius: float, at: np.ndarray, slope: np.ndarray) -> Spans:
    return _within(at, slope, radius)
