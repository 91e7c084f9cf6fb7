# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files -> closed shapes: found, read without surprises, checked, and repaired if told."""

from __future__ import annotations

import logging
import math
import posixpath
import warnings as python_warnings
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from lxml import etree

from marine_sim_ros.errors import MarineSimError, ModelError
from marine_sim_ros.model.shapes import MAX_TRIANGLES, Shape, shape_of
from marine_sim_ros.model.voxels import united
from marine_sim_ros.resources import resource_folder

__all__ = ['load_mesh', 'mesh_path']

MAX_BYTES = 100_000_000
MAX_PARTS = 1000
"""Of a COLLADA scene; its nodes can refer to others, so a short file could stand for millions."""
_SUFFIXES = ('.stl', '.obj', '.dae')
_HUGE = 1e6
"""m; beyond, double precision no longer tells vertices 1e-8 m apart from each other."""
_LARGE = 1000.0
"""m; a longer vehicle is more likely in millimetres."""


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
        return _package(package, path, uri)
    raise ModelError(f'mesh {uri!r}: scheme {scheme!r}; expected package://, file:// or a path')


def _package(package: str, path: str, uri: str) -> Path:
    if package == 'marine_sim_ros':
        top, _, below = path.partition('/')
        try:
            return resource_folder(top) / below
        except MarineSimError as error:
            raise ModelError(f'mesh {uri!r}: {error}') from None
    try:
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory(package)) / path
    except (ImportError, LookupError, ValueError):
        raise ModelError(
            f'mesh {uri!r}: package {package!r} is not installed; expected it in the ament index '
            '(source its workspace), or a file:// or relative path'
        ) from None


def load_mesh(uri: str, scale: np.ndarray, *, base: Path | None = None) -> Shape:
    """Return the closed shape of a mesh file: STL, OBJ or DAE.

    Holes are closed, faces turned outwards and overlapping bodies made one, each told in
    ``warnings``; duplicate vertices are merged, and triangles without area dropped, silently.
    Of a DAE the unit and the scene's transforms count, its up_axis does not, as in RViz.

    Args:
        uri: as :func:`mesh_path` takes it.
        scale: (3,) factors; mirrored is fine.
        base: folder that relative paths start from.

    Raises:
        ModelError: one line with the file, what is wrong with it, and what was expected.
    """
    path = mesh_path(uri, base)
    scale = np.asarray(scale, float).reshape(-1)
    if scale.shape != (3,) or not np.all(np.isfinite(scale)) or np.any(scale == 0):
        raise ModelError(f'mesh {uri}: scale is {scale.tolist()}; expected three numbers, none 0')
    mesh = _read(path)
    if not len(mesh.faces):
        raise ModelError(f'{path}: the mesh has no triangles')
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
    return _closed(mesh, path)


def _read(path: Path) -> Any:
    """Return trimesh's mesh of a file."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ModelError(f'{path}: suffix {suffix!r}; expected one of: {", ".join(_SUFFIXES)}')
    try:
        size = path.stat().st_size
        if not path.is_file() or size > MAX_BYTES:
            raise ModelError(
                f'{path}: is no file of at most {MAX_BYTES / 1e6:.0f} MB; simplify the mesh'
            )
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or 'it is no name of a file'
        raise ModelError(f'{str(path)[:300]}: the mesh cannot be read: {reason}') from None
    unit, told = _collada_header(content, path) if suffix == '.dae' else (1.0, [])
    mesh = _parse(content, suffix, path)
    mesh.apply_scale(unit)
    mesh.metadata['told'] = told
    return mesh


def _parse(content: bytes, suffix: str, path: Path) -> Any:
    import io

    import trimesh

    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter('ignore')
            # No resolver: materials and textures elsewhere are none of our business.
            return trimesh.load(
                io.BytesIO(content), file_type=suffix[1:], force='mesh', process=False,
                skip_materials=True,
            )  # fmt: skip
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


def _collada_header(content: bytes, path: Path) -> tuple[float, list[str]]:
    """Return the length unit in m of a COLLADA file, and what to tell of its axes."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        reason = ' '.join(str(error).split())[:120]
        raise ModelError(f'{path}: not a valid DAE mesh: {reason}') from None
    info: Any = root.getroottree().docinfo
    if info.doctype:
        raise ModelError(
            f'{path}: has a document type declaration (<!DOCTYPE ...>); expected none'
        )
    _refuse_bombs(root, path)
    unit, axis = root.find('.//{*}asset/{*}unit'), root.find('.//{*}asset/{*}up_axis')
    told = []
    if axis is not None and axis.text != 'Z_UP':
        told.append(f'{path}: says {axis.text}; its coordinates are taken as they are, z up')
    try:
        meters = float(unit.get('meter', '1')) if unit is not None else 1.0
    except ValueError:
        meters = math.nan
    if not 1e-9 < meters < 1e9:
        raise ModelError(f'{path}: <unit meter> is no length; expected a positive number of m')
    return meters, told


def _refuse_bombs(root: Any, path: Path) -> None:
    """Refuse a short COLLADA file that would unfold to more than memory holds."""
    for polygons in root.iterfind('.//{*}polylist'):
        sizes = [float(n) for n in (polygons.findtext('{*}vcount') or '').split() if n.isdigit()]
        if sum(sizes) > len((polygons.findtext('{*}p') or '').split()):
            raise ModelError(f'{path}: not a valid DAE mesh: <vcount> is more than <p> holds')
    nodes = {node.get('id'): node for node in root.iterfind('.//{*}node')}
    counts: dict[str, int] = {}
    try:
        scenes = list(root.iterfind('.//{*}visual_scene'))
        parts = sum(_geometries(scene, nodes, counts) for scene in scenes)
    except RecursionError:
        raise ModelError(f'{path}: not a valid DAE mesh: its nodes hold each other') from None
    if parts > MAX_PARTS:
        raise ModelError(f'{path}: its scene has {parts:.3g} parts; expected at most {MAX_PARTS}')


def _geometries(node: Any, nodes: dict[str, Any], counts: dict[str, int]) -> int:
    """Return how many geometries are below a node, those of nodes it refers to included."""
    total = len(node.findall('{*}instance_geometry')) + len(node.findall('{*}instance_controller'))
    for child in node.iterfind('{*}node'):
        total += _geometries(child, nodes, counts)
    for reference in node.iterfind('{*}instance_node'):
        name = reference.get('url', '').lstrip('#')
        if name in nodes:
            if name not in counts:
                counts[name] = _geometries(nodes[name], nodes, counts)
            total += counts[name]
    return total


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
        _close_holes(mesh, path, told)
    if not mesh.is_winding_consistent:
        mesh.fix_normals()
        told.append(f'{path}: triangles that faced inwards were turned')
    if not mesh.is_winding_consistent:
        raise ModelError(f'{path}: the mesh has no inside; expected a closed hull')
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


def _close_holes(mesh: Any, path: Path, told: list[str]) -> None:
    holes = _holes(mesh)
    mesh.fill_holes()
    if not mesh.is_watertight:
        counts = _shares(mesh)[1]
        raise ModelError(
            f'{path}: the mesh is not watertight ({np.sum(counts == 1)} open edges, '
            f'{np.sum(counts > 2)} shared by more than two triangles); expected a closed surface'
        )
    told.append(f'{path}: {holes} hole(s) closed; expected a closed surface')


def _shares(mesh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (e, 2) and how many triangles (e,) share each."""
    return np.unique(np.sort(mesh.edges, axis=1), axis=0, return_counts=True)


def _holes(mesh: Any) -> int:
    """Return how many separate lines the open edges form."""
    import trimesh

    edges, counts = _shares(mesh)
    return len(trimesh.graph.connected_components(edges[counts == 1]))
