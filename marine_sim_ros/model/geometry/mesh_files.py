# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds and reads mesh files: STL, OBJ, DAE."""

from __future__ import annotations

import io
import logging
import posixpath
import warnings as python_warnings
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from marine_sim_ros.core.errors import MarineSimError, ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import read_file
from marine_sim_ros.core.resources import resource_folder
from marine_sim_ros.model.geometry.collada import collada_header
from marine_sim_ros.model.packages import package_folder

__all__ = ['mesh_path', 'read_mesh']

MAX_BYTES = 100_000_000
_SUFFIXES = ('.stl', '.obj', '.dae')


def mesh_path(uri: str, base: Path | None) -> Path:
    """Return the file that a URDF's mesh name stands for.

    Args:
        uri: ``package://package/path``, ``file:///path``, or a path.
        base: folder that relative paths start from; default: the working directory.

    Raises:
        ModelError: a scheme or a package that is not known.
    """
    scheme, separator, rest = uri.partition('://')
    if not uri.strip():
        raise ModelError('mesh has no file name; expected package://, file:// or a path')
    if not uri.isprintable():  # line breaks would break messages; others are no file's name
        raise ModelError(f'mesh {uri!a}: expected a file name without control characters')
    if not separator:
        return (base or Path()) / uri
    if scheme == 'file':
        if not rest.startswith('/'):
            raise ModelError(f'mesh {uri!r}: expected file:///absolute/path, with three slashes')
        return Path(unquote(rest))
    if scheme == 'package':
        package, _, path = rest.partition('/')
        path = posixpath.normpath(path)
        if not package or path.startswith(('.', '/')):
            raise ModelError(f'mesh {uri!r}: expected package://package/path/within/it')
        return _package(package, path, uri, base)
    raise ModelError(f'mesh {uri!r}: scheme {scheme!r}; expected package://, file:// or a path')


def _package(package: str, path: str, uri: str, base: Path | None) -> Path:
    if package == 'marine_sim_ros':
        top, _, below = path.partition('/')
        try:
            return resource_folder(top) / below
        except MarineSimError as error:
            raise ModelError(f'mesh {uri!r}: {error}') from None
    try:
        return package_folder(package, base) / path
    except ModelError as error:
        raise ModelError(f'mesh {uri!r}: {error}, or a file:// or relative path') from None


def read_mesh(path: Path) -> Any:
    """Return trimesh's mesh of a file in m; ``metadata['told']`` lists messages about it.

    Raises:
        ModelError: it cannot be read, or is no mesh.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ModelError(f'{path}: suffix {suffix!r}; expected one of: {", ".join(_SUFFIXES)}')
    content = read_file(path, MAX_BYTES, ModelError)
    unit, told = collada_header(content, path) if suffix == '.dae' else (1.0, [])
    mesh = _parse(content, suffix, path)
    if not len(getattr(mesh, 'faces', ())):
        raise ModelError(f'{path}: the mesh has no triangles')
    mesh.apply_scale(unit)
    if not np.all(np.isfinite(mesh.vertices)):
        raise ModelError(f'{path}: the mesh has vertices that are not finite')
    mesh.metadata['told'] = told
    return mesh


def _parse(content: bytes, suffix: str, path: Path) -> Any:
    trimesh = require('trimesh', f'mesh {path.name}')
    if suffix == '.dae':
        require('collada', f'mesh {path.name}')

    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter('ignore')
            # No resolver: materials and textures elsewhere are none of our business.
            return trimesh.load(
                io.BytesIO(content),
                file_type=suffix[1:],
                force='mesh',
                process=False,
                skip_materials=True,
            )
    except MemoryError:
        raise ModelError(f'{path}: the mesh is too large to be read') from None
    except ImportError:  # trimesh would ask an optional library for the encoding
        raise ModelError(
            f'{path}: not a valid {suffix[1:].upper()} mesh: neither text nor all of a binary file'
        ) from None
    except Exception as error:  # its readers raise whatever the bytes lead them to
        reason = ' '.join(str(error).split())[:120] or type(error).__name__
        raise ModelError(f'{path}: not a valid {suffix[1:].upper()} mesh: {reason}') from None
    finally:
        logging.disable(level)
