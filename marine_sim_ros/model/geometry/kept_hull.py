# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads what follows from a mesh, computed beforehand, from a file beside it.

To read, check and cut a mesh takes trimesh and manifold3d, which have no packages in Ubuntu. The
meshes of shipped vehicles have a file ``NAME.hull.npz`` with the result, made by
``scripts/keep_hull.py``; so these vehicles need neither, and have the same bits whatever the
versions of these libraries. A file that does not belong to the mesh's content counts as none.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import check_archive
from marine_sim_ros.model.geometry.shapes import Shape, shape_of

__all__ = ['hull_path', 'keep_hull', 'kept_hull']

MAX_BYTES = 100_000_000
"""Of what a file unfolds to."""
_CELLS = ('counts', 'center', 'volume', 'extent')


def hull_path(mesh: Path) -> Path:
    """Return the file beside a mesh."""
    return mesh.with_suffix('.hull.npz')


def kept_hull(mesh: Path) -> Shape | None:
    """Return the shape of a mesh file in m with its cells, or None where it is not kept."""
    path = hull_path(mesh)
    try:
        check_archive(path, MAX_BYTES, ModelError)
        with np.load(path, allow_pickle=False) as kept:
            if str(kept['sha256']) != hashlib.sha256(mesh.read_bytes()).hexdigest():
                return None
            shape = shape_of(kept['vertices'], kept['faces'])
            return replace(shape, cells=tuple(kept[name] for name in _CELLS))
    except (ModelError, OSError, ValueError, KeyError, MemoryError, zipfile.BadZipFile):
        return None


def keep_hull(mesh: Path, shape: Shape, cells: tuple[np.ndarray, ...]) -> None:
    """Write the file beside a mesh; cells as in Shape."""
    counts, center, volume, extent = cells
    np.savez_compressed(
        hull_path(mesh),
        sha256=hashlib.sha256(mesh.read_bytes()).hexdigest(),
        vertices=shape.vertices,
        faces=shape.faces,
        counts=counts,
        center=center,
        volume=volume,
        extent=extent,
    )
