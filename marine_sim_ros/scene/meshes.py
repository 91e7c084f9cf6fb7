# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of obstacles that are meshes, and coarser ones to draw."""

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
from marine_sim_ros.geometry.triangles import TriangleSurface, orient_surface

__all__ = ['MAX_SCENE_TRIANGLES', 'PlacedMesh', 'coarsen_surface', 'load_obstacle_mesh']

MAX_SCENE_TRIANGLES = 5_000_000
_LARGEST = 1e5
"""m; the farthest that a vertex may be from the origin of its file."""
_UP = {'x': [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 'y': [[1, 0, 0], [0, 0, -1], [0, 1, 0]]}
"""Rotations v_z-up = R v that keep a right-handed frame; z stays."""
_LOG = logging.getLogger(__name__)


_KEPT = ('nodes', 'links', 'mates', 'bent', 'edges')
_MAX_KEPT_BYTES = 2_000_000_000
_VERSION = 1
"""Of what is kept; another number forgets all of it."""


class _Reading(NamedTuple):
    """A surface about ``middle`` (3,), m, with its tree, and what is told of it."""

    surface: TriangleSurface
    middle: np.ndarray
    told: tuple[str, ...]


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
    def read() -> _Reading:
        return _read(path, scale, up, thickness, middle)

    if stamp[1] < MIN_CACHED_BYTES or path.suffix.lower() not in SCENE_SUFFIXES:
        found = read()
    else:
        about = [_VERSION, path.suffix.lower(), str(path), scale, up, thickness, middle]
        content = read_file(path, MAX_SCENE_BYTES, ModelError)
        key = hashlib.sha256(json.dumps(about).encode() + content).hexdigest()
        found = load_or_compute(
            'scenes', f'{key}.npz', read, load=_from_npz, dump=_to_npz, limit=_MAX_KEPT_BYTES
        )
    for text in found.told:
        _LOG.warning(text)
    return PlacedMesh(found.surface, found.middle)


def _read(
    path: Path,
    scale: tuple[float, float, float],
    up: str | None,
    thickness: float,
    middle: tuple[float, ...] | None,
) -> _Reading:
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
    return _Reading(surface.built(), own, (*mesh.metadata['told'], *told))


def _to_npz(found: _Reading) -> bytes:
    surface = found.surface
    assert surface.kept is not None
    arrays: dict[str, Any] = {
        'vertices': surface.vertices,
        'faces': surface.faces,
        'thickness': np.array([surface.closed, surface.thickness], float),
        'middle': found.middle,
        'told': np.array(found.told, str),
        **dict(zip(_KEPT, surface.kept, strict=True)),
    }
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _from_npz(content: bytes) -> _Reading:
    """Return the reading of a file's content; whatever is odd about it raises."""
    with np.load(io.BytesIO(content), allow_pickle=False) as kept:
        closed, thickness = kept['thickness'].tolist()
        surface = TriangleSurface(
            kept['vertices'],
            kept['faces'],
            bool(closed),
            thickness,
            tuple(kept[name] for name in _KEPT),
        )
        told = tuple(str(text) for text in kept['told'])
        middle = kept['middle']
    surface.check()
    return _Reading(surface, middle, told)


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
