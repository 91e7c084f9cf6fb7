# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh obstacles: reader with a cache, marine growth, and coarser meshes to draw."""

from __future__ import annotations

import hashlib
import io
import json
import logging
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import load_or_compute, read_file
from marine_sim_ros.geometry.mesh_files import (
    MAX_SCENE_BYTES,
    MIN_CACHED_BYTES,
    SCENE_SUFFIXES,
    read_mesh,
)
from marine_sim_ros.geometry.triangles import TriangleSurface, build_surface, unite_vertices

__all__ = ['CenteredMesh', 'Growth', 'SHEET_THICKNESS', 'coarsen_surface', 'load_obstacle_mesh']

SHEET_THICKNESS = 0.005
"""Default thickness of an open surface, m."""
_MAX_TRIANGLES = 5_000_000
_MAX_COORDINATE = 1e5
"""Largest coordinate of a vertex, m."""
_UP = {'x': [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 'y': [[1, 0, 0], [0, 0, -1], [0, 1, 0]]}
"""Rotations R from the frame of the file to z up."""
_LOG = logging.getLogger(__name__)


_TREE_ARRAYS = ('nodes', 'links', 'neighbours', 'vertex_normals', 'edges')
_MAX_CACHED_BYTES = 2_000_000_000
_VERSION = 2
"""Version of the cache; a change invalidates it."""


class _LoadedMesh(NamedTuple):
    """Surface about ``center`` (3,), m, with its tree, and messages about repairs."""

    surface: TriangleSurface
    center: np.ndarray
    messages: tuple[str, ...]


class Growth(NamedTuple):
    """Marine growth on a mesh: a layer whose thickness is smooth noise.

    Attributes:
        thickness: largest thickness, m.
        wavelength: longest wavelength of the noise, m.
        parts: number of equal parts of each edge, so that a triangle becomes ``parts``² of them.
        seed: seed of the noise.
    """

    thickness: float
    wavelength: float
    parts: int
    seed: int


class CenteredMesh(NamedTuple):
    """Surface about the center of its bounding box.

    Attributes:
        center: (3,) of the box, in the frame of the file turned to z up, m.
    """

    surface: TriangleSurface
    center: np.ndarray


def load_obstacle_mesh(
    path: Path,
    scale: tuple[float, float, float],
    up: str | None,
    thickness: float,
    center: np.ndarray | None = None,
    growth: Growth | None = None,
) -> CenteredMesh:
    """Return the surface of a mesh file; it is cached while the file is unchanged.

    Args:
        path: a GLB, OBJ, STL, DAE or PLY file.
        scale: factors along the axes of the file.
        up: axis of the file that points up; None: y for GLB, by its standard; else z.
        thickness: thickness of an open surface, m.
        center: (3,) origin of the surface, m; None: the center of its bounding box.
        growth: marine growth on the surface, or None.

    Raises:
        ModelError: one line with the file, what is wrong with it, and what was expected.
    """
    try:
        state = path.stat()
    except (OSError, ValueError):
        stamp = (0, 0)
    else:
        stamp = (state.st_mtime_ns, state.st_size)
    center_key = None if center is None else tuple(float(x) for x in center)
    return _load(path, stamp, scale, up, thickness, center_key, growth)


@lru_cache(maxsize=64)
def _load(
    path: Path,
    stamp: tuple[int, int],
    scale: tuple[float, float, float],
    up: str | None,
    thickness: float,
    center: tuple[float, ...] | None,
    growth: Growth | None,
) -> CenteredMesh:
    def read() -> _LoadedMesh:
        return _read(path, scale, up, thickness, center, growth)

    is_small = stamp[1] < MIN_CACHED_BYTES and growth is None
    if is_small or path.suffix.lower() not in SCENE_SUFFIXES:
        mesh = read()
    else:
        key_parts = [_VERSION, path.suffix.lower(), str(path), scale, up, thickness, center]
        key_parts += [] if growth is None else [growth]
        content = read_file(path, MAX_SCENE_BYTES, ModelError)
        key = hashlib.sha256(json.dumps(key_parts).encode() + content).hexdigest()
        mesh = load_or_compute(
            'scenes', f'{key}.npz', read, load=_from_npz, dump=_to_npz, limit=_MAX_CACHED_BYTES
        )
    for text in mesh.messages:
        _LOG.warning(text)
    return CenteredMesh(mesh.surface, mesh.center)


def _read(
    path: Path,
    scale: tuple[float, float, float],
    up: str | None,
    thickness: float,
    center: tuple[float, ...] | None,
    growth: Growth | None,
) -> _LoadedMesh:
    mesh = read_mesh(path, SCENE_SUFFIXES, MAX_SCENE_BYTES)
    cut, cause = (1, '') if growth is None else (growth.parts**2, ' with its growth')
    if len(mesh.faces) * cut > _MAX_TRIANGLES:
        raise ModelError(
            f'{path}: the mesh has {len(mesh.faces) * cut} triangles{cause}; expected at most '
            f'{_MAX_TRIANGLES}'
        )
    axis = up or ('y' if path.suffix.lower() == '.glb' else 'z')
    with np.errstate(over='ignore', invalid='ignore'):
        vertices = np.asarray(mesh.vertices, float) * scale
    faces = np.asarray(mesh.faces, np.int64)
    if np.prod(scale) < 0:
        faces = faces[:, ::-1]
    if axis != 'z':
        vertices = vertices @ np.array(_UP[axis], float).T
    used = vertices[faces.reshape(-1)]
    if not np.all(np.abs(used) < _MAX_COORDINATE):
        raise ModelError(
            f'{path}: a vertex is {np.max(np.abs(used)):.3g} m from the origin of the file; '
            f'expected less than {_MAX_COORDINATE:g} m after scaling'
        )
    low, high = used.min(axis=0), used.max(axis=0)
    middle = (low + high) / 2 if center is None else np.array(center)
    surface, messages = build_surface(vertices - middle, faces, thickness, str(path))
    if growth is not None:
        surface = _grow(surface, growth, str(path))
    return _LoadedMesh(surface.with_tree(), middle, (*mesh.metadata['messages'], *messages))


def _grow(surface: TriangleSurface, growth: Growth, label: str) -> TriangleSurface:
    """Return a surface with marine growth."""
    n = growth.parts
    grid = [(i, j) for i in range(n + 1) for j in range(n + 1 - i)]
    number = {place: k for k, place in enumerate(grid)}
    cells = [(number[i, j], number[i + 1, j], number[i, j + 1]) for i, j in grid if i + j < n]
    cells += [
        (number[i + 1, j], number[i + 1, j + 1], number[i, j + 1])
        for i, j in grid
        if i + j < n - 1
    ]
    weights = np.array([(n - i - j, i, j) for i, j in grid]) / n
    a, b, c = (surface.vertices[surface.faces[:, k], None] for k in range(3))
    # At an edge one weight is 0, so the points of both its triangles have the same bits.
    points = weights[:, :1] * a + weights[:, 1:2] * b + weights[:, 2:] * c
    vertices, index = unite_vertices(points.reshape(-1, 3))
    first = len(grid) * np.arange(len(surface.faces))[:, None, None]
    faces = index[(first + np.array(cells)).reshape(-1, 3)]
    fine = TriangleSurface(vertices, faces, surface.closed, surface.thickness)
    height = _growth_thickness(vertices, growth)
    # Rounded, as libraries for matrices differ in the last bits.
    moved = np.round(vertices + height[:, None] * fine.unit_vertex_normals(), 7)
    return build_surface(moved, faces, surface.thickness, label)[0]


def _growth_thickness(points: np.ndarray, growth: Growth) -> np.ndarray:
    """Return the thickness (v,) of growth at points (v, 3), m: a sum of plane waves."""
    rng = np.random.default_rng(growth.seed)
    total = np.full(len(points), 0.5)
    for scale in (1.0, 0.5, 0.25):
        directions = rng.normal(size=(12, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        phases = points @ directions.T * (2 * np.pi / (scale * growth.wavelength))
        total += scale * np.sin(phases + rng.uniform(0, 2 * np.pi, 12)).mean(axis=1)
    return growth.thickness * np.clip(total, 0.0, 1.0)


def _to_npz(mesh: _LoadedMesh) -> bytes:
    surface = mesh.surface
    assert surface.cached_tree is not None
    arrays: dict[str, Any] = {
        'vertices': surface.vertices,
        'faces': surface.faces,
        'thickness': np.array([surface.closed, surface.thickness], float),
        'center': mesh.center,
        'messages': np.array(mesh.messages, str),
        **dict(zip(_TREE_ARRAYS, surface.cached_tree, strict=True)),
    }
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _from_npz(content: bytes) -> _LoadedMesh:
    """Return the mesh of a cache file; raise an error if it is damaged."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        closed, thickness = archive['thickness'].tolist()
        surface = TriangleSurface(
            archive['vertices'],
            archive['faces'],
            bool(closed),
            thickness,
            tuple(archive[name] for name in _TREE_ARRAYS),
        )
        messages = tuple(str(text) for text in archive['messages'])
        center = np.asarray(archive['center'], float)
    surface.check()
    if center.shape != (3,) or not np.all(np.isfinite(center)):
        raise ValueError('the cached center is no point')
    return _LoadedMesh(surface, center, messages)


@lru_cache(maxsize=64)
def coarsen_surface(surface: TriangleSurface, most: int) -> np.ndarray:
    """Return a coarser mesh of at most ``most`` triangles (n, 3, 3), m.

    Vertices in the same cell of a grid are merged to their mean (vertex clustering, Rossignac and
    Borrel 1993).
    """
    if len(surface.faces) <= most:
        return np.asarray(surface.vertices[surface.faces])
    low, length = surface.vertices.min(axis=0), float(np.max(surface.extents))
    cells = max(int(most**0.5), 4)
    while True:
        index = np.minimum((surface.vertices - low) * (cells / length), cells - 1).astype(np.int64)
        key = (index[:, 0] * cells + index[:, 1]) * cells + index[:, 2]
        _, group, count = np.unique(key, return_inverse=True, return_counts=True)
        group = group.reshape(-1)
        mean = np.stack(
            [np.bincount(group, surface.vertices[:, i]) / count for i in range(3)], axis=-1
        )
        faces = group[surface.faces]
        faces = faces[np.all(faces != np.roll(faces, 1, axis=1), axis=1)]
        if len(faces) <= most:
            return np.asarray(mean[faces])
        cells = max(int(cells * min((most / len(faces)) ** 0.5, 0.9)), 1)
