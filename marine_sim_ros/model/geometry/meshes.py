# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files -> closed shapes: checked, and repaired where that needs no guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.model.geometry.kept_hull import kept_hull
from marine_sim_ros.model.geometry.mesh_cache import cached_mesh
from marine_sim_ros.model.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.geometry.shapes import MAX_TRIANGLES, Shape, shape_of
from marine_sim_ros.model.geometry.simplification import simplified
from marine_sim_ros.model.geometry.voxels import united

__all__ = ['load_mesh']

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
    if np.all(scale == 1) and (kept := kept_hull(path)) is not None:
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
    shape = _closed(mesh, path)
    return shape if most is None else simplified(shape, most, str(path))


def _closed(mesh: Any, path: Path) -> Shape:
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
        mesh = _wrapped(mesh, path, told, 'its triangles have no inside')
    shape = shape_of(np.array(mesh.vertices, float), np.array(mesh.faces))
    if shape.volume < 0:
        mesh.invert()
        told.append(f'{path}: the mesh was inside out and was turned')
        shape = shape_of(shape.vertices, np.array(mesh.faces))
    if not shape.volume > 1e-9 * float(np.prod(np.maximum(extents, 1e-9 * extents.max()))):
        raise ModelError(f'{path}: the mesh encloses no volume; expected a closed hull')
    vertices, faces, shared = united(shape)
    if shared:
        told.append(f'{path}: bodies that overlap by {shared:.3g} m³ were made one')
    return shape_of(vertices, faces, tuple(told))


def _close_holes(mesh: Any, path: Path, told: list[str]) -> Any:
    """Return the mesh with its holes closed, or wrapped where they cannot be."""
    require('networkx', f'{path}: repair of the mesh')
    holes = _holes(mesh)
    before = mesh.copy()
    mesh.fill_holes()
    if mesh.is_watertight:
        told.append(
            f'{path}: {holes} hole(s) closed, {abs(before.volume):.3g} m³ became '
            f'{abs(mesh.volume):.3g} m³; expected a closed surface'
        )
        return mesh
    counts = _shares(mesh)[1]
    return _wrapped(
        before,
        path,
        told,
        f'it is not watertight ({np.sum(counts == 1)} open edges, '
        f'{np.sum(counts > 2)} shared by more than two triangles)',
    )


def _wrapped(mesh: Any, path: Path, told: list[str], why: str) -> Any:
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


def _shares(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (e, 2) and how many triangles (e,) share each."""
    return np.unique(np.sort(mesh.edges, axis=1), axis=0, return_counts=True)


def _holes(mesh: Any) -> int:
    """Return how many separate lines the open edges form."""
    trimesh = require('trimesh', 'repair of a mesh')
    edges, counts = _shares(mesh)
    return len(trimesh.graph.connected_components(edges[counts == 1]))
