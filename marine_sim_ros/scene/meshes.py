# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of obstacles that are meshes, and coarser ones to draw."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.geometry.mesh_files import MAX_SCENE_BYTES, SCENE_SUFFIXES, read_mesh
from marine_sim_ros.geometry.triangles import TriangleSurface, orient_surface

__all__ = ['MAX_SCENE_TRIANGLES', 'PlacedMesh', 'coarsen_surface', 'load_obstacle_mesh']

MAX_SCENE_TRIANGLES = 5_000_000
_LARGEST = 1e5
"""m; the farthest that a vertex may be from the origin of its file."""
_UP = {'x': [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 'y': [[1, 0, 0], [0, 0, -1], [0, 1, 0]]}
"""Rotations v_z-up = R v that keep a right-handed frame; z stays."""
_LOG = logging.getLogger(__name__)


class PlacedMesh(NamedTuple):
    """A surface about the middle of its bounding box.

    Attributes:
        surface: the surface.
        middle: (3,) of the box in the axes of the file, z up, m.
    """

    surface: TriangleSurface
    middle: np.ndarray


def load_obstacle_mesh(
    path: Path,
    scale: tuple[float, float, float],
    up: str | None,
    thickness: float,
    middle: np.ndarray | None = None,
) -> PlacedMesh:
    """Return the surface of a file, the same one as long as the file does not change.

    Args:
        path: a GLB, OBJ, STL, DAE or PLY file.
        scale: factors along the axes of the file.
        up: axis of the file that points up; None: y of a GLB, as its standard says; else z.
        thickness: of a surface that is not closed, m.
        middle: (3,) m, about which the surface is to be; None: the middle of its box.

    Raises:
        ModelError: one line with the file, what is wrong with it, and what was expected.
    """
    try:
        state = path.stat()
    except (OSError, ValueError):
        stamp = (0, 0)
    else:
        stamp = (state.st_mtime_ns, state.st_size)
    about = None if middle is None else tuple(float(x) for x in middle)
    return _load(path, stamp, scale, up, thickness, about)


@lru_cache(maxsize=64)
def _load(
    path: Path,
    stamp: tuple[int, int],
    scale: tuple[float, float, float],
    up: str | None,
    thickness: float,
    middle: tuple[float, ...] | None,
) -> PlacedMesh:
    mesh = read_mesh(path, SCENE_SUFFIXES, MAX_SCENE_BYTES)
    if len(mesh.faces) > MAX_SCENE_TRIANGLES:
        raise ModelError(
            f'{path}: the mesh has {len(mesh.faces)} triangles; '
            f'expected at most {MAX_SCENE_TRIANGLES}'
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
    if not np.all(np.abs(used) < _LARGEST):
        raise ModelError(
            f'{path}: a vertex is {np.max(np.abs(used)):.3g} m from the origin of the file; '
            f'expected less than {_LARGEST:g} m after scaling'
        )
    low, high = used.min(axis=0), used.max(axis=0)
    own = (low + high) / 2 if middle is None else np.array(middle)
    surface, told = orient_surface(vertices - own, faces, thickness, str(path))
    for text in (*mesh.metadata['told'], *told):
        _LOG.warning(text)
    # Processes that are forked from this one share the tree.
    return PlacedMesh(surface.prepare(), own)


@lru_cache(maxsize=64)
def coarsen_surface(surface: TriangleSurface, most: int) -> np.ndarray:
    """Return at most so many triangles (n, 3, 3) that look like a surface, m.

    Vertices in the same cell of a grid become their mean, the finest grid that is coarse enough
    (Rossignac and Borrel 1993).
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
