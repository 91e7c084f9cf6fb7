# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed surfaces: boxes, cylinders, spheres, and what meshes become."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.model.geometry.refinement import split_long_edges

__all__ = ['MAX_TRIANGLES', 'Shape', 'box', 'cylinder', 'moved', 'refined', 'shape_of', 'sphere']

MAX_TRIANGLES = 200_000
_SIDES = 48
"""Of a cylinder."""
_SUBDIVISIONS = 3
"""Of an icosahedron for a sphere: 1,280 triangles."""

_BOX_FACES = (
    (1, 3, 0),
    (4, 1, 0),
    (0, 3, 2),
    (2, 4, 0),
    (1, 7, 3),
    (5, 1, 4),
    (5, 7, 1),
    (3, 7, 2),
    (6, 4, 2),
    (2, 7, 6),
    (6, 5, 4),
    (7, 5, 6),
)
"""Of corners in the order of itertools.product."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A closed surface in its own frame.

    Attributes:
        vertices: (v, 3) m.
        faces: (n, 3) indices, counter-clockwise seen from outside.
        volume: m³.
        center: (3,) of the volume, m.
        second_moment: (3, 3) ∫ (r − c)(r − c)ᵀ dV, m⁵.
        is_box: whether it is its own bounding box.
        warnings: repairs of the mesh.
        cells: counts (3,) of cells along the axes, with centers (m, 3), volumes (m,) and extents
            (m, 3) of what is in them, where these are known beforehand.
    """

    vertices: np.ndarray
    faces: np.ndarray
    volume: float
    center: np.ndarray
    second_moment: np.ndarray
    is_box: bool = False
    warnings: tuple[str, ...] = ()
    cells: tuple[np.ndarray, ...] | None = None

    @cached_property
    def bounds(self) -> np.ndarray:
        """(2, 3) smallest and largest coordinates, m."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @property
    def extents(self) -> np.ndarray:
        """(3,) edges of the bounding box, m."""
        return self.bounds[1] - self.bounds[0]

    @property
    def area(self) -> float:
        """m²."""
        a, b, c = np.moveaxis(self.vertices[self.faces], 1, 0)
        return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def shape_of(vertices: np.ndarray, faces: np.ndarray, warnings: tuple[str, ...] = ()) -> Shape:
    """Return a shape with the volume integrals of its polyhedron.

    Sums over the tetrahedra between the triangles and a point amid them: with a, b, c from that
    point, V = a·(b x c)/6, ∫ r dV = V (a+b+c)/4, ∫ r rᵀ dV = V/20 (aaᵀ + bbᵀ + ccᵀ + ssᵀ) with
    s = a+b+c.
    """
    amid = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    corners = (vertices - amid)[faces]
    a, b, c = np.moveaxis(corners, 1, 0)
    parts = np.einsum('ni,ni->n', a, np.cross(b, c)) / 6
    volume = float(parts.sum())
    total = corners.sum(axis=1)
    center = parts @ total / 4 / volume if volume else np.zeros(3)
    outer = np.einsum('n,nki,nkj->ij', parts, corners, corners)
    outer = (outer + np.einsum('n,ni,nj->ij', parts, total, total)) / 20
    second = outer - volume * np.outer(center, center)
    return Shape(vertices, faces, volume, amid + center, second, warnings=warnings)


def box(size: np.ndarray) -> Shape:
    """Return a box with edges (3,) in m, centred."""
    size = np.asarray(size, float)
    corners = np.array(list(product((-0.5, 0.5), repeat=3)))
    volume = float(np.prod(size))
    second = volume / 12 * np.diag(size**2)
    return Shape(corners * size, np.array(_BOX_FACES), volume, np.zeros(3), second, is_box=True)


def _with_volume(
    vertices: np.ndarray, faces: np.ndarray, second: np.ndarray, volume: float, axes: list[int]
) -> Shape:
    """Return a round shape, its facets moved outwards until they hold the exact volume.

    A polyhedron inside a round body is smaller; buoyancy must be right first, and panels and
    voxels then agree with the closed form.
    """
    factor = (volume / shape_of(vertices, faces).volume) ** (1 / len(axes))
    vertices = np.array(vertices, float)
    vertices[:, axes] *= factor
    return Shape(vertices, np.array(faces), volume, np.zeros(3), second)


def cylinder(radius: float, length: float) -> Shape:
    """Return a cylinder along z, centred, as URDF has it; m."""
    creation = require('trimesh', 'the hull of a cylinder').creation
    mesh = creation.cylinder(radius=radius, height=length, sections=_SIDES)
    volume = math.pi * radius**2 * length
    second = volume * np.diag([radius**2 / 4, radius**2 / 4, length**2 / 12])
    return _with_volume(mesh.vertices, mesh.faces, second, volume, [0, 1])


def sphere(radius: float) -> Shape:
    """Return a sphere, centred; m."""
    creation = require('trimesh', 'the hull of a sphere').creation
    mesh = creation.icosphere(subdivisions=_SUBDIVISIONS, radius=radius)
    volume = 4 / 3 * math.pi * radius**3
    second = volume * radius**2 / 5 * np.eye(3)
    return _with_volume(mesh.vertices, mesh.faces, second, volume, [0, 1, 2])


def refined(shape: Shape, max_edge: float) -> Shape:
    """Return the same surface with no edge longer than so many m.

    Raises:
        ModelError: that would take too many triangles.
    """
    vertices, faces = shape.vertices, shape.faces
    corners = vertices[faces]
    longest = float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max())
    halvings = max(0, math.ceil(math.log2(longest) - math.log2(max_edge)))
    # Longest edges first: slender shapes need far fewer triangles than if all edges were halved
    # at once, and the count, hence memory, is known before each step.
    for remaining in range(halvings - 1, -1, -1):
        vertices, faces = split_long_edges(vertices, faces, max_edge * 2.0**remaining)
        if len(faces) > MAX_TRIANGLES:
            raise ModelError(
                f'panel_size {max_edge:g} m would give more than {MAX_TRIANGLES} triangles; '
                f'the hull is up to {np.max(shape.extents):g} m long; expected a larger size'
            )
    return replace(shape, vertices=vertices, faces=faces)


def moved(shape: Shape, rotation: np.ndarray, translation: np.ndarray) -> Shape:
    """Return a shape turned by (3, 3) and shifted by (3,) m."""
    return replace(
        shape,
        vertices=shape.vertices @ rotation.T + translation,
        center=rotation @ shape.center + translation,
        second_moment=rotation @ shape.second_moment @ rotation.T,
        is_box=False,
    )
