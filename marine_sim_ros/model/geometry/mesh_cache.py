# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps what large meshes became between runs, by the content that they follow from."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from marine_sim_ros.core.user_cache import cache_folder, keep
from marine_sim_ros.model.geometry.shapes import Shape, shape_of

__all__ = ['LARGE', 'cached_mesh']

LARGE = 500_000
"""Bytes of a mesh file from which on its result is kept: about 10,000 triangles."""
_EDITION = 1
"""Of the repairs: another number forgets all that is kept."""


def cached_mesh(
    path: Path, scale: np.ndarray, most: int | None, compute: Callable[[], Shape]
) -> Shape:
    """Return what is kept of a mesh file, or else what is computed, which is then kept if large.

    Args:
        path: the file.
        scale: (3,) factors.
        most: greatest number of triangles, or None.
        compute: gives the result.
    """
    folder = cache_folder('meshes')
    try:
        content = path.read_bytes() if path.stat().st_size >= LARGE else b''
    except (OSError, ValueError):
        content = b''
    if folder is None or not content:
        return compute()
    about = [
        _EDITION,
        path.name,
        scale.tolist(),
        most,
        _version('manifold3d'),
        _version('trimesh'),
    ]
    key = hashlib.sha256(json.dumps(about).encode() + content).hexdigest()
    file = folder / f'{key}.npz'
    found = _read(file)
    if found is not None:
        return found
    shape = compute()
    keep(
        file,
        lambda out: np.savez_compressed(
            out, vertices=shape.vertices, faces=shape.faces, warnings=np.array(shape.warnings, str)
        ),
    )
    return shape


def _version(package: str) -> str:
    from importlib import metadata  # which few runs need, and takes as long as a third of NumPy

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ''


def _read(file: Path) -> Shape | None:
    """Return what is kept; a file that is damaged counts as none."""
    try:
        with np.load(file, allow_pickle=False) as kept:
            vertices, faces = np.asarray(kept['vertices'], float), np.asarray(kept['faces'])
            warnings = tuple(str(text) for text in kept['warnings'])
            if not np.all(np.isfinite(vertices)) or faces.ndim != 2:
                return None
            return shape_of(vertices, faces, warnings)
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile):
        return None
