# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed shapes from meshes: repair, simplification, exact voxels of a grid."""

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


# Voxels: exact intersections of a shape with the cells of a grid.

MAX_VOXELS = 200_000
DEFAULT_COUNT = 1000
_NEGLIGIBLE = 1e-9
"""Fraction of a cell's volume below which a piece is rounding."""
_SHARED = 1e-6
"""Overlap of bodies that counts as rounding, as a fraction of the volume."""


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

    The bounding box is divided evenly, so that a box has equal cells. Volumes
    and centroids are those of the exact intersection of shape and cell.

    Raises:
        ModelError: too many cells, or a surface that is no manifold.
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
    remainder = solid
    for i in range(1, count):
        if remainder.is_empty():
            return
        remainder, part = remainder.split_by_plane(normal, low + i * edge)
        if not part.is_empty():
            yield part
    if not remainder.is_empty():
        yield remainder


def solid_of(shape: Shape) -> Any:
    """Return the manifold3d.Manifold of a shape, or None if its surface is no manifold."""
    manifold3d = require('manifold3d', 'hull of a mesh')
    mesh = manifold3d.Mesh64(
        vert_properties=np.ascontiguousarray(shape.vertices, np.float64),
        tri_verts=np.ascontiguousarray(shape.faces, np.uint64),
    )
    solid = manifold3d.Manifold(mesh)
    is_valid = solid.status() == manifold3d.Error.NoError and solid.volume() > 0
    return solid if is_valid else None


def unite_bodies(shape: Shape) -> tuple[np.ndarray, np.ndarray, float]:
    """Return vertices and faces of the union of bodies, and their overlap in m³.

    Triangles of zero area are removed. An inverted body within another is a cavity, and stays one.
    A
    surface that is no manifold is returned unchanged: it can have panels, and :func:`voxelise`
    refuses it.
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
    min_volume = _NEGLIGIBLE * float(np.prod(edge))
    low = shape.bounds[0]
    centers, volumes, extents = [], [], []
    for slab in _cut_slices(solid, 0, low[0], edge[0], counts[0]):
        for column in _cut_slices(slab, 1, low[1], edge[1], counts[1]):
            for cell in _cut_slices(column, 2, low[2], edge[2], counts[2]):
                volume = cell.volume()
                if volume <= min_volume:
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
    tetrahedra = np.einsum('ni,ni->n', a, np.cross(b, c)) / 6
    return reference + tetrahedra @ corners.sum(axis=1) / 4 / volume


# Simplification to fewer triangles with the same volume.

_MIN_TOLERANCE, _MAX_TOLERANCE = 1e-5, 0.05
"""Range of tolerances, as fractions of the longest edge of the bounding box."""
_HALVINGS = 6
_NOTABLE = 2e-3
"""Change by simplification, as a fraction of length and volume, below which there is no
warning."""


def simplify_shape(shape: Shape, max_triangles: int, label: str) -> Shape:
    """Return a closed surface of at most ``max_triangles``, with warnings about notable changes.

    Edges are collapsed within the smallest sufficient tolerance; the result is scaled about its
    centre to the original volume. A surface that is no manifold, or that needs a tolerance above a
    twentieth of its length, is returned unchanged with a warning. Source: Manifold::Simplify of
    the manifold library.

    Args:
        shape: the surface.
        max_triangles: largest number of triangles.
        label: name in messages.
    """
    count = len(shape.faces)
    if count <= max_triangles:
        return shape
    solid = solid_of(shape)
    length = float(np.max(shape.extents))
    simplified = None if solid is None else _smallest_tolerance(solid, length, max_triangles)
    if simplified is None:
        text = (
            f'{label}: {count} triangles cannot be simplified to {max_triangles}; each one is a '
            'panel: expect a slow run'
        )
        return replace(shape, warnings=(*shape.warnings, text))
    reduced, tolerance = simplified
    mesh = reduced.to_mesh64()
    new_shape = shape_of(np.array(mesh.vert_properties)[:, :3], np.array(mesh.tri_verts, np.int64))
    factor = (shape.volume / new_shape.volume) ** (1 / 3)
    vertices = shape.center + factor * (new_shape.vertices - new_shape.center)
    if tolerance < _NOTABLE * length and abs(new_shape.volume / shape.volume - 1) < _NOTABLE:
        return shape_of(vertices, new_shape.faces, shape.warnings)
    text = (
        f'{label}: {count} triangles were simplified to {len(new_shape.faces)}: no surface moved '
        f'by more than {tolerance:.2g} m; {new_shape.volume:.4g} m³ were scaled to '
        f'{shape.volume:.4g} m³'
    )
    return shape_of(vertices, new_shape.faces, (*shape.warnings, text))


def _smallest_tolerance(solid: Any, length: float, max_triangles: int) -> tuple[Any, float] | None:
    """Return a solid of few triangles and its tolerance in m, or None."""
    low, high = np.log(_MIN_TOLERANCE * length), np.log(_MAX_TOLERANCE * length)
    best = None
    for _ in range(_HALVINGS + 1):
        # The largest first: if it fails, all others fail.
        tolerance = float(np.exp(high if best is None else (low + high) / 2))
        part = solid.simplify(tolerance)
        is_enough = part.num_tri() <= max_triangles and part.volume() > 0
        if best is None and not is_enough:
            return None
        if is_enough:
            best, high = (part, tolerance), np.log(tolerance)
        else:
            low = np.log(tolerance)
    return best


# Closed shapes from mesh files: checks, and unambiguous repairs.

_HUGE = 1e6
"""Bound of coordinates, m; beyond, doubles do not separate vertices 1e-8 m apart."""
MAX_PIECES = 40
"""Pieces of a mesh that are wrapped one by one."""
_LARGE = 1000.0
"""Length, m, above which a vehicle was probably drawn in millimetres."""


def load_mesh(
    uri: str, scale: np.ndarray, *, base: Path | None = None, max_triangles: int | None = None
) -> Shape:
    """Return the closed shape of a mesh file: STL, OBJ or DAE.

    Holes are closed, faces oriented outwards and overlapping bodies united; a surface that cannot
    be closed is replaced by convex hulls. Each repair is reported in ``warnings``. Duplicate
    vertices are merged, and triangles without area dropped, silently. Unit and transforms of a DAE
    are applied, its up_axis is not, as in RViz.

    Args:
        uri: URI that :func:`mesh_path` accepts.
        scale: (3,) factors; mirrored is fine.
        base: folder that relative paths start from.
        max_triangles: largest number of triangles; larger meshes are simplified. None: unlimited.

    Raises:
        ModelError: one line with the file, what is wrong with it, and what was expected.
    """
    path = mesh_path(uri, base)
    scale = np.asarray(scale, float).reshape(-1)
    if scale.shape != (3,) or not np.all(np.isfinite(scale)) or np.any(scale == 0):
        raise ModelError(f'mesh {uri}: scale is {scale.tolist()}; expected three numbers, none 0')
    if np.all(scale == 1) and (stored := load_sidecar(path)) is not None:
        return stored
    return cached_mesh(path, scale, max_triangles, lambda: _read_shape(path, scale, max_triangles))


def _read_shape(path: Path, scale: np.ndarray, max_triangles: int | None) -> Shape:
    """Return the closed shape of a file with at most ``max_triangles``."""
    mesh = read_mesh(path)
    if len(mesh.faces) > MAX_TRIANGLES:
        raise ModelError(
            f'{path}: the mesh has {len(mesh.faces)} triangles; '
            f'expected at most {MAX_TRIANGLES}, better 2000: simplify it'
        )
    with np.errstate(over='ignore', invalid='ignore'):
        mesh.vertices = mesh.vertices * scale
    if not np.all(np.abs(mesh.vertices) < _HUGE):  # false for NaN too
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
    return shape if max_triangles is None else simplify_shape(shape, max_triangles, str(path))


def _close_mesh(mesh: Any, path: Path) -> Shape:
    """Return the shape of a mesh, repaired as far as it can be without guessing."""
    messages: list[str] = list(mesh.metadata['messages'])
    extents = np.ptp(mesh.vertices, axis=0)
    if extents.max() > _LARGE:
        messages.append(
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
        mesh = _close_holes(mesh, path, messages)
    if not mesh.is_winding_consistent:
        require('networkx', f'{path}: repair of the mesh')
        mesh.fix_normals()
        messages.append(f'{path}: triangles that faced inwards were turned')
    if not mesh.is_winding_consistent:
        mesh = _wrap_pieces(mesh, path, messages, 'its triangles have no inside')
    shape = shape_of(np.array(mesh.vertices, float), np.array(mesh.faces))
    if shape.volume < 0:
        mesh.invert()
        messages.append(f'{path}: the mesh was inside out and was turned')
        shape = shape_of(shape.vertices, np.array(mesh.faces))
    if not shape.volume > 1e-9 * float(np.prod(np.maximum(extents, 1e-9 * extents.max()))):
        raise ModelError(f'{path}: the mesh encloses no volume; expected a closed hull')
    vertices, faces, shared = unite_bodies(shape)
    if shared:
        messages.append(f'{path}: bodies that overlap by {shared:.3g} m³ were made one')
    return shape_of(vertices, faces, tuple(messages))


def _close_holes(mesh: Any, path: Path, messages: list[str]) -> Any:
    """Return the mesh with its holes closed, or its convex hulls if that fails."""
    require('networkx', f'{path}: repair of the mesh')
    holes = _count_holes(mesh)
    original = mesh.copy()
    mesh.fill_holes()
    if mesh.is_watertight:
        messages.append(
            f'{path}: {holes} hole(s) closed, {abs(original.volume):.3g} m³ became '
            f'{abs(mesh.volume):.3g} m³; expected a closed surface'
        )
        return mesh
    counts = _edge_shares(mesh)[1]
    return _wrap_pieces(
        original,
        path,
        messages,
        f'it is not watertight ({np.sum(counts == 1)} open edges, '
        f'{np.sum(counts > 2)} shared by more than two triangles)',
    )


def _wrap_pieces(mesh: Any, path: Path, messages: list[str], reason: str) -> Any:
    """Return the convex hulls of a mesh's connected pieces.

    With more than MAX_PIECES it is the hull of the whole mesh.

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
    messages.append(
        f'{path}: {reason}; it is wrapped: the convex hull of each of its {len(hulls)} piece(s), '
        f'{abs(mesh.volume):.3g} m³ became {result.volume:.3g} m³'
    )
    return result


def _edge_shares(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (e, 2) and their numbers of triangles (e,)."""
    return np.unique(np.sort(mesh.edges, axis=1), axis=0, return_counts=True)


def _count_holes(mesh: Any) -> int:
    """Return the number of connected loops of open edges."""
    trimesh = require('trimesh', 'repair of a mesh')
    edges, counts = _edge_shares(mesh)
    return len(trimesh.graph.connected_components(edges[counts == 1]))
