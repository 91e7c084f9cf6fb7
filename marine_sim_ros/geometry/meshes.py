# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Meshes to closed shapes: repair, simplification, cells of a grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.geometry.mesh_files import cached_mesh, load_sidecar, mesh_path, read_mesh
from marine_sim_ros.geometry.shapes import MAX_TRIANGLES, Shape, shape_of

__all__ = [
    'MAX_VOXELS',
    'Voxels',
    'cell_counts',
    'default_size',
    'load_mesh',
    'solid_of',
    'voxelise',
]


# Cuts a shape into cells of a grid, exactly: no cell is half in and half out by guess.

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
    """Count the cells (3,) of about ``size`` m along the axes of a shape's bounding box."""
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
    return _box_cells(shape, counts) if shape.is_box else _solid_cells(shape, counts)


def _box_cells(shape: Shape, counts: np.ndarray) -> Voxels:
    edge = shape.extents / counts
    middles = [
        low + (np.arange(n) + 0.5) * e
        for low, n, e in zip(shape.bounds[0], counts, edge, strict=True)
    ]
    centers = np.stack(np.meshgrid(*middles, indexing='ij'), axis=-1).reshape(-1, 3)
    number = len(centers)
    return Voxels(centers, np.full(number, np.prod(edge)), np.tile(edge, (number, 1)))


def _cut_slices(solid: Any, axis: int, low: float, edge: float, count: int) -> Iterator[Any]:
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


def unite_bodies(shape: Shape) -> tuple[np.ndarray, np.ndarray, float]:
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


def _solid_cells(shape: Shape, counts: np.ndarray) -> Voxels:
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
    for slab in _cut_slices(solid, 0, low[0], edge[0], counts[0]):
        for column in _cut_slices(slab, 1, low[1], edge[1], counts[1]):
            for cell in _cut_slices(column, 2, low[2], edge[2], counts[2]):
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


# Closed surfaces of fewer triangles, with the volume that they had.

_MIN_TOLERANCE, _MAX_TOLERANCE = 1e-5, 0.05
"""Of the longest edge of the bounding box: the tolerances that are tried."""
_HALVINGS = 6
_NOTABLE = 2e-3
"""Of the longest edge, and of the volume: a smaller change by simplification is no warning."""


def simplify_shape(shape: Shape, most: int, label: str) -> Shape:
    """Return a closed surface of at most so many triangles; its warnings have notable changes.

    Edges are collapsed as far as no surface moves by more than a tolerance, the least that is
    enough; the result is scaled about its centre to the volume that it had. A surface that is no
    manifold, and one that does not get below ``most`` with a twentieth of its length, is left as
    it is, which is told too. Source: Manifold::Simplify of the manifold library.

    Args:
        shape: the surface.
        most: greatest number of triangles.
        label: what messages call it.
    """
    count = len(shape.faces)
    if count <= most:
        return shape
    solid = solid_of(shape)
    length = float(np.max(shape.extents))
    found = None if solid is None else _smallest_tolerance(solid, length, most)
    if found is None:
        text = (
            f'{label}: {count} triangles cannot be simplified to {most}; each one is a panel: '
            'expect a slow run'
        )
        return replace(shape, warnings=(*shape.warnings, text))
    part, tolerance = found
    mesh = part.to_mesh64()
    made = shape_of(np.array(mesh.vert_properties)[:, :3], np.array(mesh.tri_verts, np.int64))
    factor = (shape.volume / made.volume) ** (1 / 3)
    vertices = shape.center + factor * (made.vertices - made.center)
    if tolerance < _NOTABLE * length and abs(made.volume / shape.volume - 1) < _NOTABLE:
        return shape_of(vertices, made.faces, shape.warnings)
    text = (
        f'{label}: {count} triangles were simplified to {len(made.faces)}: no surface moved by '
        f'more than {tolerance:.2g} m; {made.volume:.4g} m³ were scaled to {shape.volume:.4g} m³'
    )
    return shape_of(vertices, made.faces, (*shape.warnings, text))


def _smallest_tolerance(solid: Any, length: float, most: int) -> tuple[Any, float] | None:
    """Return a solid of few triangles and its tolerance in m, or None."""
    low, high = np.log(_MIN_TOLERANCE * length), np.log(_MAX_TOLERANCE * length)
    found = None
    for _ in range(_HALVINGS + 1):
        # The greatest first: it says whether there is a way at all.
        tolerance = float(np.exp(high if found is None else (low + high) / 2))
        part = solid.simplify(tolerance)
        enough = part.num_tri() <= most and part.volume() > 0
        if found is None and not enough:
            return None
        if enough:
            found, high = (part, tolerance), np.log(tolerance)
        else:
            low = np.log(tolerance)
    return found


# Mesh files -> closed shapes: checked, and repaired where that needs no guess.

_HUGE = 1e6
"""m; beyond, double precision no longer separates vertices 1e-8 m apart."""
MAX_PIECES = 40
"""Pieces of a mesh that are wrapped one by one."""
_LARGE = 1000.0
"""m; a longer vehicle is more likely in millimetres."""


def load_mesh(
    uri: str, scale: np.ndarray, *, base: Path | None = None, most: int | None = None
) -> Shape:
    """Return the closed shape of a mesh file: STL, OBJ or DAE.

    Holes are closed, faces turned outwards and overlapping bodies made one; what cannot be closed
    is wrapped by convex hulls. Each is reported in ``warnings``. Duplicate vertices are merged,
    and triangles without area dropped, silently. Of a DAE the unit and the scene's transforms
    count, its up_axis does not, as in RViz.

    Args:
        uri: URI that :func:`mesh_path` accepts.
        scale: (3,) factors; mirrored is fine.
        base: folder that relative paths start from.
        most: greatest number of triangles; a mesh of more is simplified. None: any number.

    Raises:
        ModelError: one line with the file, what is wrong with it, and what was expected.
    """
    path = mesh_path(uri, base)
    scale = np.asarray(scale, float).reshape(-1)
    if scale.shape != (3,) or not np.all(np.isfinite(scale)) or np.any(scale == 0):
        raise ModelError(f'mesh {uri}: scale is {scale.tolist()}; expected three numbers, none 0')
    if np.all(scale == 1) and (kept := load_sidecar(path)) is not None:
        return kept
    return cached_mesh(path, scale, most, lambda: _read_shape(path, scale, most))


def _read_shape(path: Path, scale: np.ndarray, most: int | None) -> Shape:
    """Return the closed shape of a file, of at most so many triangles."""
    mesh = read_mesh(path)
    if len(mesh.faces) > MAX_TRIANGLES:
        raise ModelError(
            f'{path}: the mesh has {len(mesh.faces)} triangles; '
            f'expected at most {MAX_TRIANGLES}, better 2000: simplify it'
        )
    with np.errstate(over='ignore', invalid='ignore'):
        mesh.vertices = mesh.vertices * scale
    if not np.all(np.abs(mesh.vertices) < _HUGE):  # so is not a number
        raise ModelError(
            f'{path}: the mesh has vertices that are not finite; '
            f'expected coordinates below {_HUGE:g} m after scaling'
        )
    if np.prod(scale) < 0:
        mesh.invert()
    with np.errstate(
        divide='ignore', invalid='ignore'
    ):  # trimesh divides by the volume of flat bodies
        shape = _close_mesh(mesh, path)
    return shape if most is None else simplify_shape(shape, most, str(path))


def _close_mesh(mesh: Any, path: Path) -> Shape:
    """Return the shape of a mesh, repaired as far as it can be without guessing."""
    told: list[str] = list(mesh.metadata['told'])
    extents = np.ptp(mesh.vertices, axis=0)
    if extents.max() > _LARGE:
        told.append(
            f'{path}: the mesh is {extents.max():.0f} m long; if it is in millimetres, '
            'give <mesh scale="0.001 0.001 0.001">'
        )
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    mesh.update_faces(np.all(mesh.faces != np.roll(mesh.faces, 1, axis=1), axis=1))
    mesh.remove_unreferenced_vertices()
    if not len(mesh.faces):
        raise ModelError(f'{path}: the mesh has no triangles with an area')
    if not mesh.is_watertight:
        mesh.update_faces(mesh.nondegenerate_faces())
        mesh = _close_holes(mesh, path, told)
    if not mesh.is_winding_consistent:
        require('networkx', f'{path}: repair of the mesh')
        mesh.fix_normals()
        told.append(f'{path}: triangles that faced inwards were turned')
    if not mesh.is_winding_consistent:
        mesh = _wrap_pieces(mesh, path, told, 'its triangles have no inside')
    shape = shape_of(np.array(mesh.vertices, float), np.array(mesh.faces))
    if shape.volume < 0:
        mesh.invert()
        told.append(f'{path}: the mesh was inside out and was turned')
        shape = shape_of(shape.vertices, np.array(mesh.faces))
    if not shape.volume > 1e-9 * float(np.prod(np.maximum(extents, 1e-9 * extents.max()))):
        raise ModelError(f'{path}: the mesh encloses no volume; expected a closed hull')
    vertices, faces, shared = unite_bodies(shape)
    if shared:
        told.append(f'{path}: bodies that overlap by {shared:.3g} m³ were made one')
    return shape_of(vertices, faces, tuple(told))


def _close_holes(mesh: Any, path: Path, told: list[str]) -> Any:
    """Return the mesh with its holes closed, or wrapped where they cannot be."""
    require('networkx', f'{path}: repair of the mesh')
    holes = _count_holes(mesh)
    before = mesh.copy()
    mesh.fill_holes()
    if mesh.is_watertight:
        told.append(
            f'{path}: {holes} hole(s) closed, {abs(before.volume):.3g} m³ became '
            f'{abs(mesh.volume):.3g} m³; expected a closed surface'
        )
        return mesh
    counts = _edge_shares(mesh)[1]
    return _wrap_pieces(
        before,
        path,
        told,
        f'it is not watertight ({np.sum(counts == 1)} open edges, '
        f'{np.sum(counts > 2)} shared by more than two triangles)',
    )


def _wrap_pieces(mesh: Any, path: Path, told: list[str], why: str) -> Any:
    """Return the convex hulls of a mesh's closed and open pieces, one around each.

    Pieces are what connected triangles form; of more than MAX_PIECES the hull of all is taken.

    Raises:
        ModelError: a mesh that is flat.
    """
    trimesh = require('trimesh', f'{path}: repair of the mesh')
    require('scipy', f'{path}: repair of the mesh')
    groups = trimesh.graph.connected_components(
        mesh.face_adjacency, nodes=np.arange(len(mesh.faces)), min_len=1
    )
    pieces = [mesh.submesh([group], append=True) for group in groups[: MAX_PIECES + 1]]
    if len(groups) > MAX_PIECES:
        pieces = [mesh]
    hulls = []
    for piece in pieces:
        try:
            hull = piece.convex_hull
        except Exception:  # of flat pieces Qhull and trimesh raise types of their own
            continue
        if hull.volume > 0:
            hulls.append(hull)
    if not hulls:
        raise ModelError(f'{path}: the mesh encloses no volume; expected a closed hull')
    result = trimesh.util.concatenate(hulls)
    told.append(
        f'{path}: {why}; it is wrapped: the convex hull of each of its {len(hulls)} piece(s), '
        f'{abs(mesh.volume):.3g} m³ became {result.volume:.3g} m³'
    )
    return result


def _edge_shares(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (e, 2) and how many triangles (e,) share each."""
    return np.unique(np.sort(mesh.edges, axis=1), axis=0, return_counts=True)


def _count_holes(mesh: Any) -> int:
    """Count the separate lines that the open edges form."""
    trimesh = require('trimesh', 'repair of a mesh')
    edges, counts = _edge_shares(mesh)
    return len(trimesh.graph.connected_components(edges[counts == 1]))
