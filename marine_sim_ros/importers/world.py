# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDF world or model -> obstacles, planes, free bodies and joints of an environment file.

Source: SDFormat 1.11 specification, <world>, <collision>, <geometry>, <spherical_coordinates>.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from marine_sim_ros.core.errors import ModelError, RunError
from marine_sim_ros.core.spatial import reproducible_rpy, rotation_matrix, rpy_from_quaternion
from marine_sim_ros.geometry.mesh_files import SCENE_SUFFIXES, mesh_path
from marine_sim_ros.importers.bodies import read_inertial, read_pose, read_shape
from marine_sim_ros.importers.builder import (
    Options,
    VehicleBuilder,
    origin_of,
    read_flag,
    read_text,
)
from marine_sim_ros.importers.description import ImportedLink, ImportedShape
from marine_sim_ros.importers.model_files import ModelFolders
from marine_sim_ros.importers.sdf_reader import SdfModel, read_frames
from marine_sim_ros.importers.world_bodies import axis_fields, extent, numbers, plain_body, sizes
from marine_sim_ros.importers.writer import body_urdf
from marine_sim_ros.importers.xml_files import expand_includes, folder_of, parse_file, reader_of
from marine_sim_ros.model.free_bodies import DEFAULT_WATER_DENSITY, box_drag
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.scene.meshes import SHEET_THICKNESS, load_obstacle_mesh

__all__ = ['import_world']

_UNREAD = ('sensor', 'plugin', 'light', 'gripper', 'particle_emitter')
_TAKEN = ('model', 'frame', 'joint', 'gravity', 'spherical_coordinates', 'plugin')
_DRAG_COEFFICIENT = 1.1
"""C_d of the faces of the box around a body, as by default of bodies."""
_WATER = re.compile('water|ocean|sea_?surface|sky|waves?(_|$)', re.IGNORECASE)
_MATERIALS = {
    'sand': 'sand|beach',
    'rock': 'rock|boulder|cliff|stone',
    'gravel': 'gravel|pebble|cobble',
    'silt': 'silt|mud',
    'clay': 'clay',
    'concrete': 'concrete|quay|pier|jetty|pool',
    'steel': 'steel|metal|wreck|pipe',
    'aluminium': 'alumin',
    'rubber': 'rubber|tyre|tire|fender',
    'foam': 'foam',
}
"""Words in names from which a material follows; the first match counts."""


@dataclass(eq=False)
class ImportedWorld:
    """An environment file and its meshes.

    Attributes:
        content: mapping of the environment file.
        meshes: files to copy, by their name beside the environment file.
        descriptions: URDF of bodies, by their name beside the environment file.
        notes: what was assumed or left out, each once.
    """

    content: dict[str, Any] = field(default_factory=dict)
    meshes: dict[str, Path] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a line, once."""
        if text not in self.notes:
            self.notes.append(text)


def import_world(path: Path) -> ImportedWorld:
    """Return the environment of an SDF world, model, or folder of a model.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
        RunError: nothing solid is left.
    """
    path = path / 'model.sdf' if path.is_dir() else path
    root = parse_file(path)
    if root.tag != 'sdf':
        raise ModelError(f'{path}: the root element is <{root.tag}>; expected <sdf>')
    return _WorldReader(path).read(root)


class _WorldReader:
    """Reads one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.result = ImportedWorld()
        self.builder = VehicleBuilder(path.stem, str(path), 'SDF', path.parent, Options())
        self.readable = ModelFolders(path)
        self.names: set[str] = set()
        self.bodies: dict[str, tuple[str, Pose]] = {}

    def read(self, root: Element) -> ImportedWorld:
        """Read the content of the file."""
        source = str(self.path)
        expand_includes(root, source, self.path.parent, self.result.note, self.readable)
        worlds = root.findall('world')
        for other in worlds[1:]:
            self.result.note(f'{origin_of(Reader(other, source))}: only the first world is taken')
        world = worlds[0] if worlds else None
        if world is None:
            world = etree.Element('world')
            world.extend(root.findall('model'))
        reader = Reader(world, source)
        self._surroundings(reader)
        frames = read_frames(reader, self.path.parent)
        self._walk(frames, '', IDENTITY, static=False)
        self._joints(frames, '', IDENTITY)
        for text in (*self.builder.dropped, *self.builder.assumptions):
            self.result.note(text)
        if not self.result.content.keys() & {'obstacles', 'planes', 'bodies'}:
            note = f': {self.result.notes[0]}' if self.result.notes else ''
            raise RunError(
                f'{self.path}: nothing solid is left{note}; expected a model with collisions'
            )
        return self.result

    def _surroundings(self, world: Reader) -> None:
        content = self.result.content
        gravity = world.first('gravity')
        if gravity is not None:
            vector = gravity.numbers({3})
            if np.any(vector[:2]) or not 0.1 <= -vector[2] <= 99:
                self.result.note(f'{origin_of(gravity)}: is not downwards; standard gravity')
            else:
                content['gravity'] = float(-vector[2])
        place = world.first('spherical_coordinates')
        if place is not None:
            keys = {
                'latitude': 'latitude_deg',
                'longitude': 'longitude_deg',
                'altitude': 'elevation',
                'heading': 'heading_deg',
            }
            content['origin'] = {
                ours: place.value_of(name, Reader.number, 0.0) for ours, name in keys.items()
            }
            if content['origin']['heading']:
                self.result.note(
                    f'{origin_of(place)}: heading_deg is taken as the compass bearing of y'
                )
        for element in world.element:
            if isinstance(element.tag, str) and element.tag not in _TAKEN:
                self.result.note(f'{origin_of(reader_of(element, world))}: is not taken')
        for element in world.element.findall('plugin'):
            self._world_plugin(reader_of(element, world))

    def _world_plugin(self, plugin: Reader) -> None:
        for tag in ('uniform_fluid_density', 'default_density', 'fluid_density'):
            density = plugin.first(f'.//{tag}')
            if density is not None:
                self.result.content['water'] = {'density': density.number(100.0, 2e4)}
                return
        label = plugin.element.get('name') or plugin.element.get('filename')
        self.result.note(f'{origin_of(plugin)}: plugin {label!r} is not taken')

    def _walk(self, model: SdfModel, prefix: str, at: Pose, static: bool) -> None:
        """Add the links of a model and of the models in it."""
        for name, inner in model.nested.items():
            reader = inner.reader
            if _is_vehicle(reader.element):
                self.result.note(
                    f'{origin_of(reader)}: model {name!r} is a vehicle; import it with '
                    'marine_sim import'
                )
                continue
            if reader.element.get('placement_frame'):
                self.result.note(f'{origin_of(reader)}: its placement_frame is not taken')
            try:
                pose = at.then(model.pose(name))
            except ModelError as error:
                self.result.note(f'model {name!r} is left out: {error}')
                continue
            fixed = static or read_flag(reader, 'static')
            self._links(inner, f'{prefix}{name}_', pose, fixed)
            self._walk(inner, f'{prefix}{name}_', pose, fixed)
            if not fixed:
                self._joints(inner, f'{prefix}{name}_', pose)

    def _links(self, model: SdfModel, prefix: str, at: Pose, static: bool) -> None:
        around = model.reader
        label = f'{origin_of(around)}: model {prefix[:-1]!r}'
        unread = sorted({e.tag for e in around.element.iter(*_UNREAD)})
        if unread:
            self.result.note(f'{label}: not taken: {", ".join(unread)}')
        links = around.element.findall('link')
        tag = 'collision'
        if links and not any(True for _ in around.element.iter('collision')):
            if not static or _WATER.search(prefix):
                self.result.note(f'{label} has no collisions; it is left out')
                return
            self.result.note(f'{label} has no collisions; its visuals are solid')
            tag = 'visual'
        for element in links:
            link = reader_of(element, around)
            folder = folder_of(element, folder_of(around.element, model.folder))
            name = str(element.get('name', ''))
            if not static and self._is_body(link, folder, model, at, prefix, len(links) == 1):
                continue
            for part in element.findall(tag):
                reader = reader_of(part, link)
                try:
                    own, relative = read_pose(reader)
                    pose = at.then(model.pose(relative or name)).then(own)
                    self._add(reader, folder, pose, f'{prefix}{name}')
                except ModelError as error:
                    self.result.note(f'{origin_of(reader)} is left out: {error}')

    def _is_body(
        self, link: Reader, folder: Path, model: SdfModel, at: Pose, prefix: str, is_only: bool
    ) -> bool:
        """Add a link that moves as a free body; return whether nothing is left to add of it."""
        own = str(link.element.get('name', ''))
        name = prefix[:-1] if is_only else f'{prefix}{own}'
        try:
            pose = at.then(model.pose(own))
            if self._body(link, folder, pose, f'{prefix}{own}', name):
                return True
        except ModelError as error:
            self.result.note(f'{origin_of(link)} is left out: {error}')
            return True
        self.result.note(
            f'{origin_of(link)}: link {own!r} is an obstacle that does not move; a body needs an '
            '<inertial> and a collision'
        )
        return False

    def _body(self, link: Reader, folder: Path, pose: Pose, key: str, name: str) -> bool:
        """Add a link as a free body; return whether it has a mass and shapes.

        Args:
            pose: of the link, map.
            key: name by which joints of the world find it.
            name: name from which that of the body follows.
        """
        if link.first('inertial') is None:
            return False
        inertial = read_inertial(link, self.builder)
        collisions, visuals = (
            [
                s
                for e in link.element.findall(tag)
                if (s := self._shape(reader_of(e, link), folder))
            ]
            for tag in ('collision', 'visual')
        )
        if not collisions or not inertial.mass.value > 0:
            return False
        word = self._name(name)
        fields = plain_body(inertial, collisions)
        if fields is None:
            fields = {'file': f'{word}.urdf'}
            text = body_urdf(
                word,
                ImportedLink('base_link', inertial, tuple(visuals), tuple(collisions)),
                _DRAG_COEFFICIENT
                * box_drag(extent(collisions, self.result.meshes), self._density()),
            )
            self._check_description(text)
            self.result.descriptions[f'{word}.urdf'] = text
        elif visuals and visuals[0].colour is not None:
            fields['color'] = numbers(visuals[0].colour[:3])
        if 'file' not in fields:
            fields['material'] = _material(name)
        placed = {
            'position': numbers(pose.translation),
            'rpy': numbers(reproducible_rpy(pose.quaternion)),
        }
        self.result.content.setdefault('bodies', []).append({'name': word, **fields, **placed})
        self.bodies[key] = word, pose
        return True

    def _check_description(self, text: str) -> None:
        """Raise ModelError for a body that cannot be read."""
        for name, path in self.result.meshes.items():
            text = text.replace(f'filename="meshes/{name}"', f'filename="{path.as_uri()}"')
        load_vehicle(text)

    def _shape(self, reader: Reader, folder: Path) -> ImportedShape | None:
        """Return a shape of a body, with its mesh beside the environment file."""
        shape = read_shape(reader, folder, self.builder)
        if shape is None or shape.kind != 'mesh':
            return shape
        path = mesh_path(shape.uri, folder).resolve()
        self.readable.check(path)
        return replace(shape, uri=f'meshes/{self._copy_name(path)}')

    def _density(self) -> float:
        water = self.result.content.get('water', {})
        return float(water.get('density', DEFAULT_WATER_DENSITY))

    def _joints(self, model: SdfModel, prefix: str, at: Pose) -> None:
        """Add the joints of a model, or of the world, whose ends are bodies or the world."""
        for element in model.reader.element.findall('joint'):
            joint = reader_of(element, model.reader)
            try:
                self._joint(joint, model, prefix, at)
            except ModelError as error:
                self.result.note(f'{origin_of(joint)} is left out: {error}')

    def _joint(self, joint: Reader, model: SdfModel, prefix: str, at: Pose) -> None:
        kind, name = joint.attribute('type'), joint.attribute('name')
        if kind == 'continuous':
            kind = 'revolute'
        if kind not in ('revolute', 'prismatic', 'ball', 'fixed'):
            raise joint.error(f'is of type {kind!r}; expected revolute, prismatic, ball or fixed')
        ends = [read_text(joint, tag) for tag in ('parent', 'child')]
        found = [self.bodies.get(prefix + end.replace('::', '_')) for end in ends]
        if found[1] is None or (found[0] is None and ends[0] != 'world'):
            raise joint.error(f'joins {ends[0]} and {ends[1]}; expected bodies with an <inertial>')
        pose = at.then(model.pose(name))
        content: dict[str, Any] = {
            'name': self._name(f'{prefix}{name}'),
            'type': kind,
            'child': found[1][0],
            'parent': 'world' if found[0] is None else found[0][0],
            'position': numbers(pose.translation),
        }
        axis = joint.first('axis')
        if kind in ('revolute', 'prismatic') and axis is not None:
            content |= axis_fields(axis, pose)
        self.result.content.setdefault('joints', []).append(content)

    def _add(self, reader: Reader, folder: Path, pose: Pose, name: str) -> None:
        """Add one collision, or raise for one that cannot be an obstacle."""
        geometry = reader.first('geometry')
        inner = None if geometry is None else next(iter(geometry.element.iterchildren('*')), None)
        if inner is None or inner.tag not in (
            'box',
            'cylinder',
            'sphere',
            'capsule',
            'mesh',
            'plane',
        ):
            kind = 'nothing' if inner is None else f'a <{inner.tag}>'
            raise ModelError(f'its geometry is {kind}, which is no obstacle here')
        shape = Reader(inner, reader.source)
        if inner.tag == 'plane':
            self._plane(shape, pose, name)
        elif inner.tag == 'capsule':
            self._capsule(shape, pose, name)
        else:
            made = read_shape(reader, folder, self.builder)
            assert made is not None
            fields = self._mesh(shape, made, folder) if made.kind == 'mesh' else sizes(made)
            self._obstacle(name, made.kind, pose, fields)

    def _plane(self, shape: Reader, pose: Pose, name: str) -> None:
        normal = shape.value_of('normal', Reader.direction, np.array([0.0, 0.0, 1.0]))
        rotated = rotation_matrix(pose.quaternion) @ normal
        self.result.content.setdefault('planes', []).append(
            {
                'name': self._name(name),
                'point': numbers(pose.translation),
                'normal': numbers(rotated),
                'material': _material(name),
            }
        )

    def _capsule(self, shape: Reader, pose: Pose, name: str) -> None:
        radius = shape.value_of('radius', lambda r: r.number(1e-3, 1e5), 0.5)
        length = shape.value_of('length', lambda r: r.number(1e-3, 1e5), 1.0)
        self._obstacle(name, 'cylinder', pose, {'radius': radius, 'length': length})
        for end in (-1, 1):
            tip = Pose(np.array([0.0, 0.0, end * length / 2]), IDENTITY.quaternion)
            self._obstacle(name, 'sphere', pose.then(tip), {'radius': radius})

    def _mesh(self, shape: Reader, made: ImportedShape, folder: Path) -> dict[str, Any]:
        if shape.first('submesh') is not None:
            raise ModelError('a <submesh> cannot be selected here')
        path = mesh_path(made.uri, folder).resolve()
        if path.suffix.lower() not in SCENE_SUFFIXES:
            expected = ', '.join(SCENE_SUFFIXES)
            raise ModelError(f'{path.name}: suffix {path.suffix!r}; expected one of: {expected}')
        self.readable.check(path)
        x, y, z = made.size
        load_obstacle_mesh(path, (x, y, z), 'z', SHEET_THICKNESS)
        fields = {'file': f'meshes/{self._copy_name(path)}', 'scale': [x, y, z]}
        if path.suffix.lower() == '.glb':
            # Gazebo takes coordinates as they are (gz-common, AssimpLoader), not y up.
            fields['up'] = 'z'
        return fields

    def _copy_name(self, path: Path) -> str:
        """Return the name of the copy of a mesh, the same for the same file."""
        for name, mesh in self.result.meshes.items():
            if mesh == path:
                return name
        stem = re.sub(r'\W+', '_', path.stem, flags=re.ASCII)[:60]
        name = f'{stem}{path.suffix.lower()}'
        number = 2
        while name.lower() in {n.lower() for n in self.result.meshes}:
            name, number = f'{stem}_{number}{path.suffix.lower()}', number + 1
        self.result.meshes[name] = path
        return name

    def _obstacle(self, name: str, kind: str, pose: Pose, fields: dict[str, Any]) -> None:
        self.result.content.setdefault('obstacles', []).append(
            {
                'name': self._name(name),
                'shape': kind,
                'position': numbers(pose.translation),
                'rpy': numbers(rpy_from_quaternion(pose.quaternion)),
                'material': _material(f'{name} {fields.get("file", "")}'),
                **fields,
            }
        )

    def _name(self, name: str) -> str:
        """Return a word that no other surface has."""
        stem = re.sub(r'\W+', '_', name, flags=re.ASCII).strip('_')[:80] or 'part'
        stem = stem if stem[0].isalpha() else f'part_{stem}'
        word, number = stem, 2
        while word in self.names:
            word, number = f'{stem}_{number}', number + 1
        self.names.add(word)
        return word


def _is_vehicle(model: Element) -> bool:
    """Return whether a model has a plugin of a thruster."""
    texts = (f'{p.get("name", "")} {p.get("filename", "")}' for p in model.iter('plugin'))
    return any('thrust' in text.lower() for text in texts)


def _material(names: str) -> str:
    """Return the material that names suggest."""
    for material, words in _MATERIALS.items():
        if re.search(words, names, re.IGNORECASE):
            return material
    return 'default'
