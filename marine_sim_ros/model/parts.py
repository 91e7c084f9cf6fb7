# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts that a vehicle is built of: their list, their files, rays through them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import read_file, read_text_file
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml
from marine_sim_ros.geometry.mesh_files import MAX_BYTES, mesh_path
from marine_sim_ros.geometry.meshes import load_mesh
from marine_sim_ros.geometry.shapes import Shape
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE

__all__ = [
    'Solid',
    'SolidPart',
    'content_key',
    'load_parts',
    'mesh_spans',
    'parse_parts',
    'part_files',
    'solid_of_part',
]


# Reader of part lists: shape, position, density, flooded or not.

MAX_DENSITY = 25_000.0
"""kg/m³; osmium, the densest element, has 22,600."""
MAX_PARTS = 1000
_LARGEST_LIST = 1_000_000
"""Bytes."""
_MIN_SIZE = 1e-6
"""m."""
_SHAPES = {
    'box': {'size'},
    'cylinder': {'radius', 'length'},
    'sphere': {'radius'},
    'mesh': {'file', 'scale'},
}
_COMMON = {'name', 'shape', 'xyz', 'rpy', 'density', 'flooded', 'material'}


@dataclass(frozen=True, eq=False)
class SolidPart:
    """Homogeneous body and its pose on the vehicle.

    Attributes:
        name: display name.
        shape: ``box``, ``cylinder`` (along its z axis), ``sphere`` or ``mesh``.
        dimensions: box (3,) edges; cylinder (2,) radius, length; sphere (1,) radius; mesh (3,)
            scale; m, the scale 1.
        xyz: (3,) of its frame in ``base_link``, m.
        rpy: (3,) of its frame, rad.
        density: density in air, kg/m³; 0 is an opening in earlier parts.
        flooded: whether water fills its place under way, so that it displaces none.
        file: mesh file, or None.
        material: name of the material, for display only.
    """

    name: str
    shape: str
    dimensions: tuple[float, ...]
    xyz: tuple[float, ...]
    rpy: tuple[float, ...]
    density: float
    flooded: bool = False
    file: Path | None = None
    material: str = ''


def load_parts(uri: str, base: Path | None = None) -> tuple[SolidPart, ...]:
    """Return the parts of a file.

    Args:
        uri: ``package://package/path``, ``file:///path``, or a path.
        base: folder that relative names start from.

    Raises:
        ModelError: it cannot be found, read or used; one line says what, where, and why.
    """
    path = mesh_path(uri, base)
    text = read_text_file(path, ModelError, _LARGEST_LIST)
    return parse_parts(text, str(path), path.parent)


def part_files(uri: str, base: Path | None) -> tuple[Path, ...]:
    """Return the file of a list of parts and, in their order, those of the meshes in it.

    Arguments and errors as those of :func:`load_parts`.
    """
    meshes = [part.file for part in load_parts(uri, base) if part.file is not None]
    return (mesh_path(uri, base), *meshes)


def parse_parts(text: str, name: str, base: Path | None = None) -> tuple[SolidPart, ...]:
    """Return the parts of a YAML text, in its order.

    Args:
        name: source of the list, for messages.
        base: folder that relative mesh names start from.

    Raises:
        ModelError: one line with what, where, and what was expected.
    """
    root = YamlReader(name, parse_yaml(text, name, ModelError), ModelError)
    root.mapping({'description', 'parts'}, {'parts'})
    readers = root.child('parts').items()
    if not 1 <= len(readers) <= MAX_PARTS:
        raise root.error(f': parts has {len(readers)} parts; expected 1 to {MAX_PARTS}')
    parts = tuple(_part(reader, base) for reader in readers)
    names = [part.name for part in parts]
    for part, reader in zip(parts, readers, strict=True):
        if names.count(part.name) > 1:
            raise reader.error(f'.name {part.name!r} is used twice; expected names of their own')
    return parts


def _part(reader: YamlReader, base: Path | None) -> SolidPart:
    names = _COMMON.union(*_SHAPES.values())
    reader.mapping(names, {'name', 'shape', 'density'})
    shape = reader.child('shape').choice(tuple(_SHAPES))
    reader.mapping(_COMMON | _SHAPES[shape], _SHAPES[shape] - {'scale'})
    zero = [0.0, 0.0, 0.0]
    flooded = reader.child('flooded', False)
    if not isinstance(flooded.value, bool):
        raise flooded.error(f' is {flooded.value!r}; expected true or false')
    return SolidPart(
        _text(reader.child('name')),
        shape,
        _dimensions(reader, shape),
        tuple(reader.child('xyz', zero).vector(-MAX_PART_DISTANCE, MAX_PART_DISTANCE).tolist()),
        tuple(reader.child('rpy', zero).vector(-10.0, 10.0).tolist()),
        reader.child('density').number(0.0, MAX_DENSITY),
        flooded.value,
        _file(reader.child('file'), base) if shape == 'mesh' else None,
        _text(reader.child('material')) if 'material' in reader.value else '',
    )


def _dimensions(reader: YamlReader, shape: str) -> tuple[float, ...]:
    if shape == 'box':
        return tuple(reader.child('size').vector(_MIN_SIZE, MAX_PART_DISTANCE).tolist())
    if shape == 'mesh':
        return tuple(reader.child('scale', [1.0, 1.0, 1.0]).vector(-1e6, 1e6).tolist())
    keys = ('radius', 'length') if shape == 'cylinder' else ('radius',)
    return tuple(reader.child(key).number(_MIN_SIZE, MAX_PART_DISTANCE) for key in keys)


def _file(reader: YamlReader, base: Path | None) -> Path:
    try:
        return mesh_path(_text(reader), base)
    except ModelError as error:
        raise reader.error(f': {error}') from None


def _text(reader: YamlReader) -> str:
    if not isinstance(reader.value, str) or not reader.value.strip():
        raise reader.error(f' is {reader.value!r}; expected words')
    if not reader.value.isprintable():
        raise reader.error(f' is {reader.value!a}; expected one line of words')
    return reader.value


def content_key(parts: Sequence[SolidPart], voxel_size: float, method: str) -> str:
    """Return the SHA-256 of all that the mass properties follow from.

    Names and materials are for people and do not count; the bytes of meshes do, not their paths.

    Args:
        parts: parts in the order of the list.
        voxel_size: m.
        method: name of the method; another one gives another key.

    Raises:
        ModelError: a mesh that cannot be read.
    """
    content = [
        [p.shape, p.dimensions, p.xyz, p.rpy, p.density, p.flooded, *_mesh_digest(p)]
        for p in parts
    ]
    text = json.dumps([method, float(voxel_size), content])
    return hashlib.sha256(text.encode()).hexdigest()


def _mesh_digest(part: SolidPart) -> list[str]:
    if part.file is None:
        return []
    content = read_file(part.file, MAX_BYTES, ModelError)
    return [part.file.suffix.lower(), hashlib.sha256(content).hexdigest()]


# Where rays along x enter and leave a closed mesh, by the winding of what they cross.

_CHUNK = 1_000_000
"""Pairs of triangle and ray that are tested together."""


def mesh_spans(
    vertices: np.ndarray, faces: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the x at which rays along x enter and leave a mesh: (k, nz, ny) each, m.

    A ray is inside while the number of triangles it crossed that face it exceeds that of those
    that face away. Edges are told from one side by the same numbers for both of their triangles,
    so that no ray slips between them.

    Args:
        vertices: (v, 3) m.
        faces: (n, 3), counter-clockwise seen from outside.
        y: (1, ny) of the rays, evenly spaced, m.
        z: (nz, 1) of the rays, evenly spaced, m.
    """
    rows, columns = np.ravel(z), np.ravel(y)
    ray, x, sign = _crossings(vertices, faces, columns, rows)
    order = np.lexsort((x, ray))
    ray, x, sign = ray[order], x[order], sign[order]
    first = np.ones(len(ray), bool)
    first[1:] = ray[1:] != ray[:-1]
    total = np.cumsum(sign)
    # Winding starts at zero for every ray, so that an error of one does not affect the next.
    start = np.maximum.accumulate(np.where(first, np.arange(len(ray)), 0))
    winding = total - (total[start] - sign[start])
    before = np.where(first, 0, np.roll(winding, 1))
    enters, leaves = (winding > 0) & (before <= 0), (winding <= 0) & (before > 0)
    return _table(ray, x, enters, leaves, (len(rows), len(columns)))


def _table(
    ray: np.ndarray, x: np.ndarray, enters: np.ndarray, leaves: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the crossings as the first, second, ... span of every ray."""
    result = []
    count = int(np.prod(shape))
    tables = 1
    for chosen, missing in ((enters, np.inf), (leaves, -np.inf)):
        rays = ray[chosen]
        counts = np.bincount(rays, minlength=count)
        tables = max(tables, int(counts.max(initial=1)))
        rank = np.arange(len(rays)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = np.full((tables, count), missing)
        table[rank, rays] = x[chosen]
        result.append(table.reshape(-1, *shape))
    return result[0], result[1][: len(result[0])]


def _crossings(
    vertices: np.ndarray, faces: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of every crossing the ray's number, x, and +1 where it enters, -1 where it leaves."""
    corners = vertices[faces]
    low, high = corners.min(axis=1), corners.max(axis=1)
    j0, j1 = np.searchsorted(y, low[:, 1]), np.searchsorted(y, high[:, 1], 'right')
    k0, k1 = np.searchsorted(z, low[:, 2]), np.searchsorted(z, high[:, 2], 'right')
    counts = (j1 - j0) * (k1 - k0)
    ends = np.cumsum(counts)
    hits: list[tuple[np.ndarray, ...]] = [(np.zeros(0, int), np.zeros(0), np.zeros(0, int))]
    start = 0
    while start < len(faces):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK, 'right')))
        block = slice(start, stop)
        triangle = np.repeat(np.arange(start, stop), counts[block])
        inside = np.arange(len(triangle)) - np.repeat(
            ends[block] - counts[block] - done, counts[block]
        )
        width = np.maximum(j1 - j0, 1)[triangle]
        j, k = j0[triangle] + inside % width, k0[triangle] + inside // width
        hit, x, sign = _hits(vertices, faces[triangle], y[j], z[k])
        hits.append((k[hit] * len(y) + j[hit], x, sign))
        start = stop
    ray, x, sign = (np.concatenate(c) for c in zip(*hits, strict=True))
    return ray, x, sign


def _hits(
    vertices: np.ndarray, faces: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the triangles of n that their n rays cross, at which x, and in which sense."""
    sides = [_side(vertices, faces[:, (i + 1) % 3], faces[:, (i + 2) % 3], y, z) for i in range(3)]
    weights = np.stack([area for area, _ in sides])
    left = np.stack([is_left for _, is_left in sides])
    total = weights.sum(axis=0)
    hit = (total != 0) & np.all(left == left[0], axis=0)
    x = np.einsum('in,ni->n', weights[:, hit], vertices[faces[hit], 0]) / total[hit]
    return hit, x, np.where(left[0, hit], -1, 1)


def _side(
    vertices: np.ndarray, start: np.ndarray, end: np.ndarray, y: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return twice the area of edge and ray seen along x, and whether the ray is on its left.

    Both triangles of an edge get the same number, negated, and opposite answers. A ray on the
    edge counts as moved by (ε, ε²) in (y, z), so that all edges of a vertex agree (simulation of
    simplicity, Edelsbrunner and Mücke 1990).
    """
    a, b = vertices[np.minimum(start, end)], vertices[np.maximum(start, end)]
    dy, dz = b[:, 1] - a[:, 1], b[:, 2] - a[:, 2]
    area = dy * (z - a[:, 2]) - dz * (y - a[:, 1])
    tied = (dz < 0) | ((dz == 0) & (dy > 0))
    left = (area > 0) | ((area == 0) & tied)
    forward = start < end
    return np.where(forward, area, -area), left == forward


# Where rays along x enter and leave a part: exact for round bodies, and for closed meshes.

Spans = tuple[np.ndarray, np.ndarray]
"""Entry and exit x, m, with a leading axis of spans; no span where the entry is after the exit."""
_PARALLEL = 1e-12
"""Cosines below this are rounding."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A closed body with a function that returns its spans along rays.

    Attributes:
        bounds: (2, 3) smallest and largest coordinates in the body frame, m.
        spans: function that returns the spans of rays along x at y (1, ny) and z (nz, 1), m.
        warnings: repairs of the mesh.
    """

    bounds: np.ndarray
    spans: Callable[[np.ndarray, np.ndarray], Spans]
    warnings: tuple[str, ...] = ()


def solid_of_part(part: SolidPart) -> Solid:
    """Return the solid of a part.

    Raises:
        ModelError: a mesh that cannot be read or encloses nothing.
    """
    rotation = rotation_matrix(quaternion_from_rpy(*part.rpy))
    position = np.array(part.xyz)
    size = np.array(part.dimensions)
    if part.shape == 'mesh':
        shape = load_mesh(str(part.file), size)
        return _mesh(shape, rotation, position)
    if part.shape == 'box':
        reach, cross = np.abs(rotation) @ (size / 2), partial(_box, size / 2)
    elif part.shape == 'cylinder':
        axis = rotation[:, 2]
        reach = np.abs(axis) * size[1] / 2 + size[0] * np.sqrt(np.maximum(1 - axis**2, 0))
        cross = partial(_cylinder, size[0], size[1] / 2)
    else:
        reach, cross = np.full(3, size[0]), partial(_sphere, size[0])
    return Solid(
        np.array([position - reach, position + reach]),
        partial(_convex_spans, cross, rotation, position),
    )


def _mesh(shape: Shape, rotation: np.ndarray, position: np.ndarray) -> Solid:
    vertices = shape.vertices @ rotation.T + position
    bounds = np.array([vertices.min(axis=0), vertices.max(axis=0)])
    return Solid(bounds, partial(mesh_spans, vertices, shape.faces), shape.warnings)


def _convex_spans(
    cross: Callable[[np.ndarray, np.ndarray], Spans],
    rotation: np.ndarray,
    position: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
) -> Spans:
    """Return the one span of each ray, found in the frame of the shape."""
    y, z = np.broadcast_arrays(y, z)
    origin = np.stack([np.full(y.shape, -position[0]), y - position[1], z - position[2]], axis=-1)
    enter, leave = cross(origin @ rotation, rotation[0])
    return enter[None], leave[None]


def _slab_span(at: np.ndarray, slope: float, half: float) -> Spans:
    """Return the interval with |at + slope t| <= half."""
    if abs(slope) < _PARALLEL:
        return _unbounded_span(np.abs(at) <= half)
    first, second = (-half - at) / slope, (half - at) / slope
    return np.minimum(first, second), np.maximum(first, second)


def _round_span(at: np.ndarray, slope: np.ndarray, radius: float) -> Spans:
    """Return the interval with |at + slope t| <= radius, of vectors."""
    a, b = float(slope @ slope), at @ slope
    c = np.sum(at**2, axis=-1) - radius**2
    if a < _PARALLEL**2:
        return _unbounded_span(c <= 0)
    root = b**2 - a * c
    half = np.sqrt(np.maximum(root, 0.0))
    return (
        np.where(root >= 0, (-b - half) / a, np.inf),
        np.where(root >= 0, (-b + half) / a, -np.inf),
    )


def _unbounded_span(inside: np.ndarray) -> Spans:
    return np.where(inside, -np.inf, np.inf), np.where(inside, np.inf, -np.inf)


def _intersect(first: Spans, second: Spans) -> Spans:
    return np.maximum(first[0], second[0]), np.minimum(first[1], second[1])


def _box(half: np.ndarray, at: np.ndarray, slope: np.ndarray) -> Spans:
    x, y, z = (_slab_span(at[..., i], float(slope[i]), float(half[i])) for i in range(3))
    return _intersect(_intersect(x, y), z)


def _cylinder(radius: float, half: float, at: np.ndarray, slope: np.ndarray) -> Spans:
    round_about = _round_span(at[..., :2], slope[:2], radius)
    return _intersect(round_about, _slab_span(at[..., 2], float(slope[2]), half))


def _sphere(radius: float, at: np.ndarray, slope: np.ndarray) -> Spans:
    return _round_span(at, slope, radius)
