# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads lists of parts: shape, place, density, flooded or not; and names their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import read_file, read_text_file
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml
from marine_sim_ros.model.geometry.mesh_files import MAX_BYTES, mesh_path
from marine_sim_ros.model.kinematics import FARTHEST

__all__ = [
    'DENSEST',
    'MAX_PARTS',
    'Part',
    'content_key',
    'load_parts',
    'parse_parts',
    'part_files',
]

DENSEST = 25_000.0
"""kg/m³; osmium, the densest element, has 22,600."""
MAX_PARTS = 1000
_LARGEST_LIST = 1_000_000
"""Bytes."""
_SMALLEST = 1e-6
"""m."""
_SHAPES = {
    'box': {'size'},
    'cylinder': {'radius', 'length'},
    'sphere': {'radius'},
    'mesh': {'file', 'scale'},
}
_COMMON = {'name', 'shape', 'xyz', 'rpy', 'density', 'flooded', 'material'}


@dataclass(frozen=True, eq=False)
class Part:
    """A homogeneous body at its place on the vehicle.

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


def load_parts(uri: str, base: Path | None = None) -> tuple[Part, ...]:
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


def parse_parts(text: str, name: str, base: Path | None = None) -> tuple[Part, ...]:
    """Return the parts of a YAML text, in its order.

    Args:
        text: the YAML.
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


def _part(reader: YamlReader, base: Path | None) -> Part:
    known = _COMMON.union(*_SHAPES.values())
    reader.mapping(known, {'name', 'shape', 'density'})
    shape = reader.child('shape').choice(tuple(_SHAPES))
    reader.mapping(_COMMON | _SHAPES[shape], _SHAPES[shape] - {'scale'})
    zero = [0.0, 0.0, 0.0]
    flooded = reader.child('flooded', False)
    if not isinstance(flooded.value, bool):
        raise flooded.error(f' is {flooded.value!r}; expected true or false')
    return Part(
        _words(reader.child('name')),
        shape,
        _dimensions(reader, shape),
        tuple(reader.child('xyz', zero).vector(-FARTHEST, FARTHEST).tolist()),
        tuple(reader.child('rpy', zero).vector(-10.0, 10.0).tolist()),
        reader.child('density').number(0.0, DENSEST),
        flooded.value,
        _file(reader.child('file'), base) if shape == 'mesh' else None,
        _words(reader.child('material')) if 'material' in reader.value else '',
    )


def _dimensions(reader: YamlReader, shape: str) -> tuple[float, ...]:
    if shape == 'box':
        return tuple(reader.child('size').vector(_SMALLEST, FARTHEST).tolist())
    if shape == 'mesh':
        return tuple(reader.child('scale', [1.0, 1.0, 1.0]).vector(-1e6, 1e6).tolist())
    keys = ('radius', 'length') if shape == 'cylinder' else ('radius',)
    return tuple(reader.child(key).number(_SMALLEST, FARTHEST) for key in keys)


def _file(reader: YamlReader, base: Path | None) -> Path:
    try:
        return mesh_path(_words(reader), base)
    except ModelError as error:
        raise reader.error(f': {error}') from None


def _words(reader: YamlReader) -> str:
    if not isinstance(reader.value, str) or not reader.value.strip():
        raise reader.error(f' is {reader.value!r}; expected words')
    if not reader.value.isprintable():
        raise reader.error(f' is {reader.value!a}; expected one line of words')
    return reader.value


def content_key(parts: Sequence[Part], voxel_size: float, method: str) -> str:
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


def _mesh_digest(part: Part) -> list[str]:
    if part.file is None:
        return []
    content = read_file(part.file, MAX_BYTES, ModelError)
    return [part.file.suffix.lower(), hashlib.sha256(content).hexdigest()]
