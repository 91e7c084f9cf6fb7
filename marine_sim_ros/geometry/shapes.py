# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed surfaces (boxes, cylinders, spheres, meshes): volume integrals, refinement of edges."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require

__all__ = [
    'MAX_TRIANGLES',
    'Shape',
    'box_shape',
    'cylinder_shape',
    'move_shape',
    'refine_shape',
    'shape_of',
    'sphere_shape',
    'split_long_edges',
]


# Refinement: triangles are split until no edge is too long; a closed surface stays closed.


def split_long_edges(
    vertices: np.ndarray, faces: np.ndarray, max_edge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (v, 3) and faces (n, 3) after halving all edges longer than ``max_edge``.

    The midpoint of an edge is shared by the triangles on both sides; a triangle with one, two or
    three midpoints becomes two, three or four. This is repeated until no edge is too long.

    Args:
        vertices: (v, 3) m.
        faces: (n, 3) indices.
        max_edge: m.
    """
    vertices, faces = np.array(vertices, float), np.array(faces, np.int64)
    while True:
        ends = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        number = ends[:, 1] * len(vertices) + ends[:, 0]
        _, first, edge = np.unique(number, return_index=True, return_inverse=True)
        a, b = np.moveaxis(vertices[ends[first]], 1, 0)
        is_long = ((a - b) ** 2).sum(axis=1) ** 0.5 > max_edge
        if not is_long.any():
            return vertices, faces
        middle = np.full(len(first), -1)
        middle[is_long] = len(vertices) + np.arange(np.count_nonzero(is_long))
        vertices = np.concatenate([vertices, (a[is_long] + b[is_long]) / 2])
        faces = _split_triangles(vertices, faces, middle[edge].reshape(-1, 3))


def _split_triangles(vertices: np.ndarray, faces: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return the parts of triangles with middles (n, 3) of edges 01, 12, 20; −1: not split."""
    count = (middle >= 0).sum(axis=1)
    one_split, two_split, three_split = (count == k for k in (1, 2, 3))
    # Corners are rotated so that the split edge is 01, or the unsplit edge 20.
    (a, b, c), (p, _, _) = _rotate_corners(
        faces[one_split], middle[one_split], np.argmax(middle[one_split] >= 0, axis=1)
    )
    halves = np.column_stack([a, p, c, p, b, c]).reshape(-1, 3)
    unsplit_edge = np.argmin(middle[two_split] >= 0, axis=1)
    (a, b, c), (p, q, _) = _rotate_corners(
        faces[two_split], middle[two_split], (unsplit_edge + 1) % 3
    )
    shorter = _squared_length(vertices[a] - vertices[q]) <= _squared_length(
        vertices[p] - vertices[c]
    )
    thirds = [
        np.column_stack([p, b, q]),
        np.column_stack([a, p, np.where(shorter, q, c)]),
        np.column_stack([np.where(shorter, a, p), q, c]),
    ]
    (a, b, c), (p, q, r) = faces[three_split].T, middle[three_split].T
    quarters = np.column_stack([a, p, r, p, b, q, r, q, c, p, q, r]).reshape(-1, 3)
    return np.concatenate([faces[count == 0], halves, *thirds, quarters])


def _rotate_corners(
    faces: np.ndarray, middle: np.ndarray, start: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return corners and middles, three (n,) each, counted from corner ``start`` (n,)."""
    rows = np.arange(len(faces))
    order = [(start + k) % 3 for k in range(3)]
    return [faces[rows, k] for k in order], [middle[rows, k] for k in order]


def _squared_length(vectors: np.ndarray) -> np.ndarray:
    return (vectors**2).sum(axis=1)


# Closed surfaces: boxes, cylinders, spheres, and what meshes become.

MAX_TRIANGLES = 200_000
_SIDES = 48
"""Sides of the prism for a cylinder."""
_SUBDIVISIONS = 3
"""Subdivisions of the icosahedron for a sphere: 1,280 triangles."""

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
"""Faces by corners in the order of ``itertools.product``."""


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
        cells: precomputed voxels: counts (3,) of cells along the axes, centres (m, 3), volumes
            (m,) and extents (m, 3) of the parts in the cells; None: not precomputed.
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
        """Area of the surface, m²."""
        a, b, c = np.moveaxis(self.vertices[self.faces], 1, 0)
        return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def shape_of(
    vertices: np.ndarray,
    faces: np.ndarray,
    warnings: tuple[str, ...] = (),
    about: np.ndarray | None = None,
) -> Shape:
    """Return a shape with the volume integrals of its polyhedron.

    Sums over the tetrahedra between the triangles and a point: with a, b, c from that point,
    V = a·(b x c)/6, ∫ r dV = V (a+b+c)/4, ∫ r rᵀ dV = V/20 (aaᵀ + bbᵀ + ccᵀ + ssᵀ) with
    s = a+b+c.

    Args:
        about: (3,) the point, on which the volume of an open mesh depends; default: the middle of
            the bounding box.
    """
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2 if about is None else about
    corners = (vertices - middle)[faces]
    a, b, c = np.moveaxis(corners, 1, 0)
    tetrahedra = np.einsum('ni,ni->n', a, np.cross(b, c)) / 6
    volume = float(tetrahedra.sum())
    total = corners.sum(axis=1)
    center = tetrahedra @ total / 4 / volume if volume else np.zeros(3)
    outer = np.einsum('n,nki,nkj->ij', tetrahedra, corners, corners)
    outer = (outer + np.einsum('n,ni,nj->ij', tetrahedra, total, total)) / 20
    second = outer - volume * np.outer(center, center)
    return Shape(vertices, faces, volume, middle + center, second, warnings=warnings)


def box_shape(size: np.ndarray) -> Shape:
    """Return a box with edges (3,) in m, centred."""
    size = np.asarray(size, float)
    corners = np.array(list(product((-0.5, 0.5), repeat=3)))
    volume = float(np.prod(size))
    second = volume / 12 * np.diag(size**2)
    return Shape(corners * size, np.array(_BOX_FACES), volume, np.zeros(3), second, is_box=True)


def _scale_to_volume(
    vertices: np.ndarray, faces: np.ndarray, second: np.ndarray, volume: float, axes: list[int]
) -> Shape:
    """Return a polyhedron of a round shape, scaled outwards to the exact volume.

    An inscribed polyhedron is too small. With the exact volume, buoyancy is correct, and panels
    and voxels agree with the closed form.
    """
    factor = (volume / shape_of(vertices, faces).volume) ** (1 / len(axes))
    vertices = np.array(vertices, float)
    vertices[:, axes] *= factor
    return Shape(vertices, np.array(faces), volume, np.zeros(3), second)


def cylinder_shape(radius: float, length: float) -> Shape:
    """Return a cylinder along z, centred, as in URDF; m."""
    creation = require('trimesh', 'the hull of a cylinder').creation
    mesh = creation.cylinder(radius=radius, height=length, sections=_SIDES)
    volume = math.pi * radius**2 * length
    second = volume * np.diag([radius**2 / 4, radius**2 / 4, length**2 / 12])
    return _scale_to_volume(mesh.vertices, mesh.faces, second, volume, [0, 1])


def sphere_shape(radius: float) -> Shape:
    """Return a sphere, centred; m."""
    creation = require('trimesh', 'the hull of a sphere').creation
    mesh = creation.icosphere(subdivisions=_SUBDIVISIONS, radius=radius)
    volume = 4 / 3 * math.pi * radius**3
    second = volume * radius**2 / 5 * np.eye(3)
    return _scale_to_volume(mesh.vertices, mesh.faces, second, volume, [0, 1, 2])


def refine_shape(shape: Shape, max_edge: float) -> Shape:
    """Return the same surface with no edge longer than ``max_edge``, m.

    Raises:
        ModelError: too many triangles.
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


def move_shape(shape: Shape, rotation: np.ndarray, translation: np.ndarray) -> Shape:
    """Return a shape rotated by (3, 3) and translated by (3,) m."""
    return replace(
        shape,
        vertices=shape.vertices @ rotation.T + translation,
        center=rotation @ shape.center + translation,
        second_moment=rotation @ shape.second_moment @ rotation.T,
        is_box=False,
    )
