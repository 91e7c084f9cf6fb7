# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files (STL, OBJ, DAE, GLB, PLY): search, checked reading, and cached results.

Reading, checking and cutting a mesh needs trimesh and manifold3d, which have no packages in
Ubuntu. The meshes of shipped vehicles have a file ``NAME.hull.npz`` with the result, made by
``scripts/keep_hull.py``: these vehicles need neither library, and have the same bits with all
their versions. A file whose hash does not match the mesh is ignored.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import math
import posixpath
import re
import struct
import warnings as python_warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from marine_sim_ros.core.errors import MarineSimError, ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import check_archive, load_or_compute, read_file, resource_folder
from marine_sim_ros.core.packages import package_folder
from marine_sim_ros.core.yaml_file import short_text
from marine_sim_ros.geometry.shapes import Shape, shape_of

__all__ = [
    'MAX_SCENE_BYTES',
    'MIN_CACHED_BYTES',
    'MESH_SUFFIXES',
    'SCENE_SUFFIXES',
    'cached_mesh',
    'load_sidecar',
    'mesh_path',
    'read_mesh',
    'save_sidecar',
    'sidecar_path',
]


# Checks of a COLLADA (DAE) file before a mesh library opens it.

MAX_PARTS = 1000
"""Parts of a scene. Nodes can refer to others, so a short file could unfold to millions."""


def collada_header(content: bytes, path: Path) -> tuple[float, list[str]]:
    """Return the length unit in m of a COLLADA file, and messages about its axes.

    Raises:
        ModelError: not XML, with entities, or a file that would unfold without end.
    """
    from lxml import etree

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
    messages = []
    if axis is not None and axis.text != 'Z_UP':
        messages.append(f'{path}: says {axis.text}; its coordinates are taken as they are, z up')
    try:
        meters = float(unit.get('meter', '1')) if unit is not None else 1.0
    except ValueError:
        meters = math.nan
    if not 1e-9 < meters < 1e9:
        raise ModelError(f'{path}: <unit meter> is no length; expected a positive number of m')
    return meters, messages


def _refuse_bombs(root: Any, path: Path) -> None:
    """Refuse a short COLLADA file that would unfold to more than memory holds."""
    for polygons in root.iterfind('.//{*}polylist'):
        sizes = [float(n) for n in (polygons.findtext('{*}vcount') or '').split() if n.isdigit()]
        if sum(sizes) > len((polygons.findtext('{*}p') or '').split()):
            raise ModelError(f'{path}: not a valid DAE mesh: <vcount> is more than <p> holds')
    try:
        parts, numbers = _ColladaSize(root).total()
    except RecursionError:
        raise ModelError(f'{path}: not a valid DAE mesh: its nodes hold each other') from None
    _check_size(path, parts, MAX_PARTS, numbers)


def _check_size(path: Path, parts: float, limit: int, numbers: float) -> None:
    """Refuse a scene of too many parts or, with each instance counted, numbers."""
    if not parts <= limit:
        raise ModelError(f'{path}: its scene has {parts:.6g} parts; expected at most {limit}')
    if not numbers <= _MAX_NUMBERS:
        raise ModelError(
            f'{path}: its parts have {numbers:.6g} elements; expected at most {_MAX_NUMBERS:.3g}'
        )


class _ColladaSize:
    """Numbers of parts, and of the indices of their triangles, below nodes of a COLLADA file."""

    def __init__(self, root: Any) -> None:
        self.scenes = list(root.iterfind('.//{*}visual_scene'))
        self.nodes = {node.get('id'): node for node in root.iterfind('.//{*}node')}
        self.indices = {
            geometry.get('id'): sum(len((p.text or '').split()) for p in geometry.iter('{*}p'))
            for geometry in root.iterfind('.//{*}geometry')
        }
        self.sizes_below: dict[str, np.ndarray] = {}

    def total(self) -> tuple[float, float]:
        """Return the numbers of all scenes."""
        parts, numbers = sum(map(self._below, self.scenes), np.zeros(2))
        return float(parts), float(numbers)

    def _below(self, node: Any) -> np.ndarray:
        """Return the numbers (2,) below a node, those of nodes it refers to included."""
        total = np.zeros(2)
        for instance in node.iterfind('{*}instance_geometry'):
            total += 1, self.indices.get(instance.get('url', '').lstrip('#'), 0)
        for _ in node.iterfind('{*}instance_controller'):
            total += 1, max(self.indices.values(), default=0)
        for child in node.iterfind('{*}node'):
            total += self._below(child)
        for reference in node.iterfind('{*}instance_node'):
            name = reference.get('url', '').lstrip('#')
            if name in self.nodes:
                if name not in self.sizes_below:
                    self.sizes_below[name] = self._below(self.nodes[name])
                total += self.sizes_below[name]
        return total


_MAX_NUMBERS = 50_000_000
"""Elements of all parts of a file, each instance counted, and of all accessors of a GLB: accessors
without a buffer stand for zeros that are not in the file."""
_MAX_GLB_PARTS = 20_000
"""Nodes and primitives of a GLB, those of each instance counted."""
_MAX_GLB_LEVELS = 100
"""Nesting depth of nodes."""
_NO_GLB = (struct.error, LookupError, RecursionError, ValueError, TypeError, AttributeError)
"""Exceptions raised by the bytes of a file that is no GLB."""


def check_glb(content: bytes, path: Path) -> None:
    """Refuse an invalid GLB, or one whose accessors stand for more numbers than memory holds.

    Raises:
        ModelError: not a GLB of version 2, or too large.
    """
    try:
        magic, version, _, length, kind = struct.unpack_from('<4sIII4s', content)
        if (magic, version, kind) != (b'glTF', 2, b'JSON'):
            raise ValueError('its header is not that of glTF 2')
        document = json.loads(content[20 : 20 + length])
        parts, numbers = _glb_size(document)
        levels = _glb_levels(document.get('nodes', []))
        required = document.get('extensionsRequired', [])
        files = [b['uri'] for b in document.get('buffers', []) if 'uri' in b]
    except _NO_GLB as error:
        reason = ' '.join(str(error).split())[:120]
        raise ModelError(f'{path}: not a valid GLB mesh: {reason}') from None
    _check_size(path, parts, _MAX_GLB_PARTS, numbers)
    if levels > _MAX_GLB_LEVELS:
        raise ModelError(
            f'{path}: its nodes are nested deeper than {_MAX_GLB_LEVELS}, or hold each other'
        )
    if required:
        raise ModelError(
            f'{path}: needs the glTF extensions {short_text(required)}; expected plain triangles: '
            'export it without compression'
        )
    if files:
        raise ModelError(
            f'{path}: names the buffer {short_text(files[0])}; expected all of the data in the GLB'
        )


def _glb_size(document: Any) -> tuple[float, float]:
    """Return the numbers of parts and of elements, those of each instance of a mesh counted."""
    counts = [float(accessor['count']) for accessor in document.get('accessors', [])]
    if min(counts, default=0) < 0:
        raise ValueError('an accessor has less than 0 elements')
    sizes = []
    for mesh in document.get('meshes', []):
        accessors = [
            index
            for primitive in mesh['primitives']
            for index in (primitive['attributes'].get('POSITION'), primitive.get('indices'))
        ]
        sizes.append(
            (
                len(mesh['primitives']),
                sum(counts[index] for index in accessors if index is not None),
            )
        )
    instances = [sizes[node['mesh']] for node in document.get('nodes', []) if 'mesh' in node]
    parts = len(document.get('nodes', [])) + sum(size[0] for size in (*sizes, *instances))
    return parts, max(sum(counts), sum(size[1] for size in instances))


def _glb_levels(nodes: Any) -> int:
    """Return the depth of the tree of nodes, cut off at one more than the limit."""
    parents = {child: index for index, n in enumerate(nodes) for child in n.get('children', [])}
    deepest = 0
    for index in parents:
        levels = 1
        while index in parents and levels <= _MAX_GLB_LEVELS:
            index, levels = parents[index], levels + 1
        deepest = max(deepest, levels)
    return deepest


# Search and reading of mesh files.

MAX_BYTES = 25_000_000
"""Bytes of a vehicle's mesh file: half a million triangles of a binary STL, more than a hull may
have. Text takes the reader 20 µs and 1.5 kB for each triangle."""
MESH_SUFFIXES = ('.stl', '.obj', '.dae')
SCENE_SUFFIXES = ('.glb', '.obj', '.stl', '.dae', '.ply')
"""Suffixes of obstacles' files."""
MAX_SCENE_BYTES = 250_000_000
"""Bytes of an obstacle's file."""
_VERTEX_0 = re.compile(rb'^[ \t]*f[ \t][^\n]*(?<=[ \t])0+(?=[\s/]|\Z)', re.M)
_FACET_WORDS = re.compile(
    rb'^[ \t]*(?:(vertex(?:[ \t]+[-+]?[0-9.]+(?:e[-+]?[0-9]+)?){3})|endfacet)[ \t\r]*$',
    re.M | re.I,
)
_FARTHEST = 1e10
"""Bound of a coordinate in a file, in any unit; trimesh merges vertices by 64-bit steps of
1e-8."""


def mesh_path(uri: str, base: Path | None) -> Path:
    """Return the file of a URDF's mesh name.

    Args:
        uri: ``package://package/path``, ``file:///path``, or a path.
        base: folder that relative paths start from; default: the working directory.

    Raises:
        ModelError: an unknown scheme or package.
    """
    scheme, separator, location = uri.partition('://')
    if not uri.strip():
        raise ModelError('mesh has no file name; expected package://, file:// or a path')
    if not uri.isprintable():  # line breaks would break messages; others are no file's name
        raise ModelError(f'mesh {uri!a}: expected a file name without control characters')
    if not separator:
        return (base or Path()) / uri
    if scheme == 'file':
        if not location.startswith('/'):
            raise ModelError(f'mesh {uri!r}: expected file:///absolute/path, with three slashes')
        return Path(unquote(location))
    if scheme == 'package':
        package, _, path = location.partition('/')
        path = posixpath.normpath(path)
        if not package or path.startswith(('.', '/')):
            raise ModelError(f'mesh {uri!r}: expected package://package/path/within/it')
        return _package_path(package, path, uri, base)
    raise ModelError(f'mesh {uri!r}: scheme {scheme!r}; expected package://, file:// or a path')


def _package_path(package: str, path: str, uri: str, base: Path | None) -> Path:
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


def read_mesh(
    path: Path, suffixes: tuple[str, ...] = MESH_SUFFIXES, limit: int | None = None
) -> Any:
    """Return trimesh's mesh of a file in m; ``metadata['messages']`` lists messages about it.

    Args:
        suffixes: accepted suffixes.
        limit: largest size of a file, bytes; None: that of a vehicle's mesh.

    Raises:
        ModelError: a file that cannot be read, or is no mesh.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise ModelError(f'{path}: suffix {suffix!r}; expected one of: {", ".join(suffixes)}')
    limit = MAX_BYTES if limit is None else limit
    content = read_file(path, limit, ModelError)
    if suffix == '.obj':
        _check_obj(content, path, limit // 5)
    if suffix == '.glb':
        check_glb(content, path)
    if suffix == '.ply':
        _check_text_ply(content, path)
    facets = _check_text_stl(content, path) if suffix == '.stl' else None
    unit, messages = collada_header(content, path) if suffix == '.dae' else (1.0, [])
    mesh = _parse(content, suffix, path)
    if not len(getattr(mesh, 'faces', ())):
        raise ModelError(f'{path}: the mesh has no triangles')
    if facets not in (None, len(mesh.faces)):
        raise ModelError(
            f'{path}: has {facets} facets, and {len(mesh.faces)} triangles between solid and '
            'endsolid; expected as many: is the file cut?'
        )
    if np.ndim(mesh.vertices) != 2 or np.shape(mesh.vertices)[1] != 3:
        raise ModelError(f'{path}: its vertices have not three coordinates each')
    count = len(mesh.vertices)
    if not 0 <= mesh.faces.min() <= mesh.faces.max() < count:
        raise ModelError(f'{path}: a triangle names a vertex that is none of the {count}')
    with np.errstate(over='ignore', invalid='ignore'):
        mesh.apply_scale(unit)
    if not np.all(np.abs(mesh.vertices) < _FARTHEST):  # false for NaN too
        raise ModelError(
            f'{path}: the mesh has vertices that are not finite; '
            f'expected coordinates below {_FARTHEST:g} in the unit of the file'
        )
    mesh.metadata['messages'] = messages
    return mesh


def _check_obj(content: bytes, path: Path, max_words: int) -> None:
    """Refuse an OBJ with more words than its size justifies, and corners with vertex number 0.

    Each word of a face may become a triangle in memory. trimesh reads vertex 0 as the first one.
    """
    gaps = np.count_nonzero(np.frombuffer(content, np.uint8) - np.uint8(33) > 93)
    if gaps > max_words:
        raise ModelError(
            f'{path}: has {gaps:,} words; expected at most {max_words:,}: simplify it'
        )
    if _VERTEX_0.search(content):
        raise ModelError(f'{path}: a triangle names vertex 0; expected numbers from 1, or below 0')


def _check_text_stl(content: bytes, path: Path) -> int | None:
    """Refuse a text STL with a facet without three corners; return the number of facets.

    None: a binary file. trimesh reads the corners without counting facets.
    """
    if len(content) >= 84 and len(content) == 84 + 50 * int.from_bytes(content[80:84], 'little'):
        return None
    facets = corners = 0
    for word in _FACET_WORDS.finditer(content):
        if word[1]:
            corners += 1
            continue
        facets += 1
        if corners != 3:
            raise ModelError(
                f'{path}: facet {facets} has {corners} corners of three numbers; expected 3'
            )
        corners = 0
    return facets


def _check_text_ply(content: bytes, path: Path) -> None:
    """Refuse a text PLY with fewer lines than its header declares; trimesh would shift them."""
    head, _, body = content.partition(b'end_header')
    if not re.search(rb'^format\s+ascii', head, re.M):
        return
    counted = sum(int(n[:18]) for n in re.findall(rb'^element\s+\S+\s+(\d+)', head, re.M))
    lines = body.strip().count(b'\n') + 1
    if lines < counted:
        raise ModelError(f'{path}: has {lines} elements; expected {counted}, as its header says')


def _parse(content: bytes, suffix: str, path: Path) -> Any:
    trimesh = require('trimesh', f'mesh {path.name}')
    if suffix == '.dae':
        require('collada', f'mesh {path.name}')

    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter('ignore')
            # NumPy before 2.3 only warns about text within numbers, and omits the remaining ones.
            python_warnings.filterwarnings('error', 'string or file could not be read')
            # No resolver: materials and textures in other files are not read.
            return trimesh.load(
                io.BytesIO(content),
                file_type=suffix[1:],
                force='mesh',
                process=False,
                skip_materials=True,
            )
    except MemoryError:
        raise ModelError(f'{path}: the mesh is too large to be read') from None
    except IndexError:
        raise ModelError(
            f'{path}: not a valid {suffix[1:].upper()} mesh: an index names what is not in it'
        ) from None
    except ImportError:  # trimesh would ask an optional library for the encoding
        raise ModelError(
            f'{path}: not a valid {suffix[1:].upper()} mesh: neither text nor all of a binary file'
        ) from None
    except Exception as error:  # the readers of trimesh may raise anything
        reason = ' '.join(str(error).split())[:120] or type(error).__name__
        raise ModelError(f'{path}: not a valid {suffix[1:].upper()} mesh: {reason}') from None
    finally:
        logging.disable(level)


# Precomputed shapes of shipped meshes, in files beside them.

MAX_UNPACKED_BYTES = 100_000_000
"""Bytes of an unpacked file."""
_CELLS = ('counts', 'center', 'volume', 'extent')


def sidecar_path(mesh: Path) -> Path:
    """Return the path of a mesh's precomputed shape."""
    return mesh.with_suffix('.hull.npz')


def load_sidecar(mesh: Path) -> Shape | None:
    """Return the precomputed shape of a shipped mesh in m with its cells, or None.

    Files beside users' meshes are not read: they could contradict the mesh.
    """
    path = sidecar_path(mesh)
    try:
        if not mesh.resolve().is_relative_to(resource_folder('urdf').resolve()):
            return None
        check_archive(path, MAX_UNPACKED_BYTES, ModelError)
        with np.load(path, allow_pickle=False) as archive:
            if str(archive['sha256']) != hashlib.sha256(mesh.read_bytes()).hexdigest():
                return None
            shape = shape_of(archive['vertices'], archive['faces'])
            return replace(shape, cells=tuple(archive[name] for name in _CELLS))
    except (
        MarineSimError,
        OSError,
        RuntimeError,
        ValueError,
        KeyError,
        MemoryError,
        zipfile.BadZipFile,
    ):
        return None


def save_sidecar(mesh: Path, shape: Shape, cells: tuple[np.ndarray, ...]) -> None:
    """Write the precomputed shape of a mesh; cells as in :class:`Shape`."""
    counts, center, volume, extent = cells
    np.savez_compressed(
        sidecar_path(mesh),
        sha256=hashlib.sha256(mesh.read_bytes()).hexdigest(),
        vertices=shape.vertices,
        faces=shape.faces,
        counts=counts,
        center=center,
        volume=volume,
        extent=extent,
    )


# Cache of the shapes of large meshes, by the content of their files.

MIN_CACHED_BYTES = 500_000
"""Size of a mesh file from which its result is cached: about 10,000 triangles."""
_MAX_CACHED_BYTES = 1_000_000_000
_REPAIR_VERSION = 2
"""Version of the repairs; a change invalidates the cache."""


def cached_mesh(
    path: Path, scale: np.ndarray, max_triangles: int | None, compute: Callable[[], Shape]
) -> Shape:
    """Return the cached result of a mesh file; else compute it, and cache that of a large file.

    Args:
        scale: (3,) factors.
        max_triangles: largest number of triangles, or None.
        compute: function that returns the result.
    """
    try:
        content = path.read_bytes() if path.stat().st_size >= MIN_CACHED_BYTES else b''
    except (OSError, ValueError):
        content = b''
    if not content:
        return compute()
    key_parts = [
        _REPAIR_VERSION,
        path.name,
        scale.tolist(),
        max_triangles,
        _package_version('manifold3d'),
        _package_version('trimesh'),
    ]
    key = hashlib.sha256(json.dumps(key_parts).encode() + content).hexdigest()
    return load_or_compute(
        'meshes', f'{key}.npz', compute, load=_from_npz, dump=_to_npz, limit=_MAX_CACHED_BYTES
    )


def _package_version(package: str) -> str:
    from importlib import metadata  # few runs need it, and its import takes a third of NumPy's

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ''


def _to_npz(shape: Shape) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(
        out, vertices=shape.vertices, faces=shape.faces, warnings=np.array(shape.warnings, str)
    )
    return out.getvalue()


def _from_npz(content: bytes) -> Shape:
    """Return the shape of a cached file; invalid content raises any exception."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        vertices, faces = np.asarray(archive['vertices'], float), np.asarray(archive['faces'])
        warnings = tuple(str(text) for text in archive['warnings'])
    if not np.all(np.isfinite(vertices)) or faces.ndim != 2:
        raise ValueError('a shape needs finite vertices and triangles')
    return shape_of(vertices, faces, warnings)
