# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDF world or model -> obstacles, planes, free bodies and joints of an environment file.

Source: SDFormat 1.11 specification, <world>, <collision>, <geometry>, <spherical_coordinates>.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.bodies import read_inertial, read_pose, read_shape
from marine_sim_ros.importers.builder import origin_of, read_flag, read_text
from marine_sim_ros.importers.description import ImportedLink, ImportedShape
from marine_sim_ros.importers.sdf_reader import SdfModel, read_frames
from marine_sim_ros.importers.stonefish.world import read_stonefish_world
from marine_sim_ros.importers.world_builder import ImportedWorld, WorldBuilder, numbers, sizes
from marine_sim_ros.importers.xml_files import expand_includes, folder_of, parse_file, reader_of
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['import_world']

_UNREAD = ('sensor', 'plugin', 'light', 'gripper', 'particle_emitter')
_TAKEN = ('model', 'frame', 'joint', 'gravity', 'spherical_coordinates', 'plugin')
_WATER = re.compile('water|ocean|sea_?surface|ceiling|sky|waves?(_|$)', re.IGNORECASE)
_ENDLESS = 1e15
"""rad or m; a stop beyond is none."""


def import_world(path: Path) -> ImportedWorld:
    """Return the environment of an SDF world or model, folder of a model, or Stonefish scenario.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
        RunError: nothing solid is left.
    """
    path = path / 'model.sdf' if path.is_dir() else path
    root = parse_file(path)
    if root.tag == 'scenario':
        return read_stonefish_world(root, path)
    if root.tag != 'sdf':
        raise ModelError(
            f'{path}: the root element is <{root.tag}>; expected <sdf> or <scenario> (Stonefish)'
        )
    return _WorldReader(path).read(root)


class _WorldReader:
    """Reads one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.world = WorldBuilder(path, 'SDF')
        self.result = self.world.result
        self.bodies: dict[str, tuple[str, Pose]] = {}

    def read(self, root: Element) -> ImportedWorld:
        """Read the content of the file."""
        source = str(self.path)
        note, readable = self.result.note, self.world.readable
        expand_includes(root, source, self.path.parent, note, readable)
        worlds = root.findall('world')
        for other in worlds[1:]:
            note(f'{origin_of(Reader(other, source))}: only the first world is taken')
        world = worlds[0] if worlds else None
        if world is None:
            world = etree.Element('world')
            world.extend(root.findall('model'))
        reader = Reader(world, source)
        self._surroundings(reader)
        frames = read_frames(reader, self.path.parent)
        self._walk(frames, '', IDENTITY, static=False)
        self._joints(frames, '', IDENTITY)
        return self.world.finish()

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
        inertial = read_inertial(link, self.world.shapes)
        collisions, visuals = (
            tuple(
                s
                for e in link.element.findall(tag)
                if (s := self._shape(reader_of(e, link), folder))
            )
            for tag in ('collision', 'visual')
        )
        if not collisions or not inertial.mass.value > 0:
            return False
        body = ImportedLink('base_link', inertial, visuals, collisions)
        self.bodies[key] = self.world.add_body(name, pose, body), pose
        return True

    def _shape(self, reader: Reader, folder: Path) -> ImportedShape | None:
        """Return a shape of a body, with its mesh beside the environment file."""
        shape = read_shape(reader, folder, self.world.shapes)
        return None if shape is None else self.world.with_copied_mesh(shape, folder)

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
            'name': self.world.unique_name(f'{prefix}{name}'),
            'type': kind,
            'child': found[1][0],
            'parent': 'world' if found[0] is None else found[0][0],
            'position': numbers(pose.translation),
        }
        axis = joint.first('axis')
        if kind in ('revolute', 'prismatic') and axis is not None:
            content |= _axis_fields(axis, pose)
        self.world.add('joints', content)

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
            normal = shape.value_of('normal', Reader.direction, np.array([0.0, 0.0, 1.0]))
            self.world.add_plane(name, pose, normal)
        elif inner.tag == 'capsule':
            self._capsule(shape, pose, name)
        else:
            made = read_shape(reader, folder, self.world.shapes)
            assert made is not None
            if shape.first('submesh') is not None:
                raise ModelError('a <submesh> cannot be selected here')
            is_mesh = made.kind == 'mesh'
            fields = self.world.mesh_fields(made, folder) if is_mesh else sizes(made)
            self.world.add_obstacle(name, made.kind, pose, fields)

    def _capsule(self, shape: Reader, pose: Pose, name: str) -> None:
        radius = shape.value_of('radius', lambda r: r.number(1e-3, 1e5), 0.5)
        length = shape.value_of('length', lambda r: r.number(1e-3, 1e5), 1.0)
        self.world.add_obstacle(name, 'cylinder', pose, {'radius': radius, 'length': length})
        for end in (-1, 1):
            tip = Pose(np.array([0.0, 0.0, end * length / 2]), IDENTITY.quaternion)
            self.world.add_obstacle(name, 'sphere', pose.then(tip), {'radius': radius})


def _axis_fields(axis: Reader, pose: Pose) -> dict[str, Any]:
    """Return axis, stops, friction, damping and spring of a joint whose frame is at a pose."""
    element = axis.element.find('xyz')
    if element is not None and element.get('expressed_in'):
        raise axis.error('is expressed in another frame; expected that of the joint')
    along = axis.value_of('xyz', Reader.direction, np.array([0.0, 0.0, 1.0]))
    result: dict[str, Any] = {'axis': numbers(rotation_matrix(pose.quaternion) @ along)}
    limit, dynamics = axis.first('limit'), axis.first('dynamics')
    if limit is not None:
        ends = [
            limit.value_of(n, Reader.number, d) for n, d in (('lower', -1e16), ('upper', 1e16))
        ]
        stops = [float(end) if abs(end) < _ENDLESS else None for end in ends]
        if any(stop is not None for stop in stops):
            result['limits'] = stops
    for ours, name in (
        ('friction', 'friction'),
        ('damping', 'damping'),
        ('stiffness', 'spring_stiffness'),
        ('rest', 'spring_reference'),
    ):
        value = 0.0 if dynamics is None else dynamics.value_of(name, Reader.number, 0.0)
        if value:
            result[ours] = float(value)
    return result


def _is_vehicle(model: Element) -> bool:
    """Return whether a model has a plugin of a thruster."""
    texts = (f'{p.get("name", "")} {p.get("filename", "")}' for p in model.iter('plugin'))
    return any('thrust' in text.lower() for text in texts)
