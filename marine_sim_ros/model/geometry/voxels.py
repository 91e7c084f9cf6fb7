# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cuts a shape into cells of a grid, exactly: no cell is half in and half out by guess."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.model.geometry.shapes import Shape

__all__ = ['MAX_VOXELS', 'Voxels', 'cell_counts', 'default_size', 'solid_of', 'united', 'voxelise']

MAX_VOXELS = 200_000
DEFAULT_COUNT = 1000
_NEGLIGIBLE = 1e-9
"""Of a cell's volume; smaller pieces are rounding."""
_SHARED = 1e-6
"""Of the whole volume; less overlap is rounding where bodies touch."""


@dataclass(frozen=True, eq=False)
class Voxels:
    """The parts of a shape within the cells of a grid; m of them.

    Attributes:
        center: (m, 3) centroid of the part, m.
        volume: (m,) of the part, m³.
        extent: (m, 3) edges of the part's bounding box, m.
    """

    center: np.ndarray
    volume: np.ndarray
    extent: np.ndarray


def default_size(bounding_volume: float) -> float:
    """Return the edge (m) of cubes that fill a volume (m³) with DEFAULT_COUNT cells."""
    return float((bounding_volume / DEFAULT_COUNT) ** (1 / 3))


def cell_counts(shape: Shape, size: float) -> np.ndarray:
    """Return how many cells (3,) of about ``size`` m a shape's bounding box has along its axes."""
    return np.maximum(1, np.round(shape.extents / size)).astype(int)


def voxelise(shape: Shape, size: float) -> Voxels:
    """Return the parts of a shape in cells of about ``size`` m.

    The bounding box is divided evenly, so that cells fill it and a box has equal ones. Volumes
    and centroids are those of the exact intersection of shape and cell.

    Raises:
        ModelError: too many cells, or a surface that encloses nothing definite.
    """
    counts = cell_counts(shape, size)
    if np.prod(counts, dtype=float) > MAX_VOXELS:
        raise ModelError(
            f'voxel_size {size:g} m would give {np.prod(counts, dtype=float):.3g} voxels; '
            f'expected at most {MAX_VOXELS}'
        )
    if shape.cells is not None and np.array_equal(shape.cells[0], counts):
        return Voxels(*shape.cells[1:])
    return _of_box(shape, counts) if shape.is_box else _of_solid(shape, counts)


def _of_box(shape: Shape, counts: np.ndarray) -> Voxels:
    edge = shape.extents / counts
    middles = [
        low + (np.arange(n) + 0.5) * e
        for low, n, e in zip(shape.bounds[0], counts, edge, strict=True)
    ]
    centers = np.stack(np.meshgrid(*middles, indexing='ij'), axis=-1).reshape(-1, 3)
    number = len(centers)
    return Voxels(centers, np.full(number, np.prod(edge)), np.tile(edge, (number, 1)))


def _slices(solid: Any, axis: int, low: float, edge: float, count: int) -> Iterator[Any]:
    """Yield the parts of a solid between parallel planes."""
    normal = [0.0, 0.0, 0.0]
    normal[axis] = 1.0
    rest = solid
    for i in range(1, count):
        if rest.is_empty():
            return
        rest, part = rest.split_by_plane(normal, low + i * edge)
        if not part.is_empty():
            yield part
    if not rest.is_empty():
        yield rest


def solid_of(shape: Shape) -> Any:
    """Return the manifold3d.Manifold of a shape, or None where its surface is no manifold."""
    manifold3d = require('manifold3d', 'hull of a mesh')
    mesh = manifold3d.Mesh64(
        vert_properties=np.ascontiguousarray(shape.vertices, np.float64),
        tri_verts=np.ascontiguousarray(shape.faces, np.uint64),
    )
    solid = manifold3d.Manifold(mesh)
    sound = solid.status() == manifold3d.Error.NoError and solid.volume() > 0
    return solid if sound else None


def united(shape: Shape) -> tuple[np.ndarray, np.ndarray, float]:
    """Return vertices, faces without any of zero area, and m³ that several bodies shared.

    A body within another that is inside out is a cavity, and stays one. A surface that is no
    manifold stays as it is: panels can be made of it, and :func:`voxelise` complains.
    """
    manifold3d = require('manifold3d', 'hull of a mesh')
    solid = solid_of(shape)
    if solid is None:
        return shape.vertices, shape.faces, 0.0
    bodies = solid.decompose()
    volumes = [body.volume() for body in bodies]
    shared = 0.0
    if len(bodies) > 1 and min(volumes) > 0:
        union = manifold3d.Manifold.batch_boolean(bodies, manifold3d.OpType.Add)
        shared = sum(volumes) - union.volume()
        if shared > _SHARED * shape.volume:
            solid = union
        else:
            shared = 0.0
    a, b, c = np.moveaxis(shape.vertices[shape.faces], 1, 0)
    if not shared and np.all(np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0):
        return shape.vertices, shape.faces, 0.0
    mesh = solid.to_mesh64()  # which has no triangles without area
    return np.array(mesh.vert_properties)[:, :3], np.array(mesh.tri_verts, np.int64), shared


def _of_solid(shape: Shape, counts: np.ndarray) -> Voxels:
    solid = solid_of(shape)
    if solid is None:
        raise ModelError(
            'the hull is not a manifold surface and encloses no solid; '
            'expected a closed surface without edges that more than two triangles share'
        )
    edge = shape.extents / counts
    least = _NEGLIGIBLE * float(np.prod(edge))
    low = shape.bounds[0]
    centers, volumes, extents = [], [], []
    for slab in _slices(solid, 0, low[0], edge[0], counts[0]):
        for column in _slices(slab, 1, low[1], edge[1], counts[1]):
            for cell in _slices(column, 2, low[2], edge[2], counts[2]):
                volume = cell.volume()
                if volume <= least:
                    continue
                x0, y0, z0, x1, y1, z1 = cell.bounding_box()
                centers.append(_centroid(cell, volume, np.array([x0, y0, z0])))
                volumes.append(volume)
                extents.append((x1 - x0, y1 - y0, z1 - z0))
    return Voxels(np.array(centers), np.array(volumes), np.array(extents))


def _centroid(cell: Any, volume: float, reference: np.ndarray) -> np.ndarray:
    """Return the centroid (3,) of a solid by tetrahedra from a point near it."""
    mesh = cell.to_mesh64()
    corners = (np.asarray(mesh.vert_properties)[:, :3] - reference)[np.asarray(mesh.tri_verts)]
    a, b, c = np.moveaxis(corners, 1, 0)
    parts = np.einsum('ni,ni->n', a, np.cross(b, c)) / 6
    return reference + parts @ corners.sum(axis=1) / 4 / volume
