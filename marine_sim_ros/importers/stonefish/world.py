# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stonefish scenario -> obstacles, planes, terrain and free bodies of an environment file.

The world of Stonefish has x north, y east and z down, that of an environment x east, y north and z
up. Source: stonefish, environment.rst, bodies.rst and
Library/src/entities/statics/Terrain.cpp.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.geometry.mesh_files import mesh_path
from marine_sim_ros.importers.builder import origin_of
from marine_sim_ros.importers.description import ImportedLink
from marine_sim_ros.importers.stonefish.parts import find_mesh, ned_pose
from marine_sim_ros.importers.stonefish.reader import LinkReader, ScenarioFiles, reader_in
from marine_sim_ros.importers.world_builder import ImportedWorld, WorldBuilder, numbers, sizes
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['read_stonefish_world']

_NORTH = Pose(np.zeros(3), np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]))
"""Axes north, west and up, in map."""
_UP = np.array([0.0, 0.0, 1.0])
_SURROUNDINGS = ('environment', 'materials', 'looks', 'solver', 'include')


def _quarter_turns(quaternion: np.ndarray) -> int:
    """Return the number of quarter turns about z of a rotation.

    Raises:
        ModelError: it is another rotation.
    """
    yaw = 2 * np.arctan2(quaternion[2], quaternion[3])
    quarters = round(float(yaw / (np.pi / 2)))
    if np.abs(quaternion[:2]).max() > 1e-6 or abs(yaw - quarters * np.pi / 2) > 1e-3:
        raise ModelError('a height map is turned; expected quarter turns about z')
    return quarters % 4


def read_stonefish_world(root: Element, path: Path) -> ImportedWorld:
    """Return the environment of a Stonefish scenario; its vehicles are imported by themselves.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
        RunError: nothing solid is left.
    """
    return _ScenarioReader(root, path).read()


class _ScenarioReader:
    """Reads one scenario."""

    def __init__(self, root: Element, path: Path) -> None:
        self.root, self.path = root, path
        self.world = WorldBuilder(path, 'Stonefish')
        self.note = self.world.result.note
        files = ScenarioFiles(str(path), path, {})
        files.fill(root)
        for text in files.missing:
            self.note(text)
        self.links = LinkReader(self.world.shapes, path, root, str(path))

    def read(self) -> ImportedWorld:
        """Read surroundings and entities."""
        content = self.world.result.content
        if not self.links.density.assumed:
            content['water'] = {'density': self.links.density.value}
        for element in self.root.iterfind('environment//*'):
            self._surroundings(reader_in(element, str(self.path)))
        for element in self.root.iterchildren('*'):
            reader = reader_in(element, str(self.path))
            try:
                self._entity(reader)
            except ModelError as error:
                self.note(f'{origin_of(reader)} is left out: {error}')
        return self.world.finish()

    def _surroundings(self, reader: Reader) -> None:
        content, tag = self.world.result.content, reader.element.tag
        if tag == 'ned':
            content['origin'] = {
                name: reader.attribute_number(name, 0.0) for name in ('latitude', 'longitude')
            }
        elif tag == 'current' and reader.attribute('type', '') == 'uniform':
            velocity = reader.child('velocity')
            if velocity is None:
                raise reader.error('has no <velocity xyz="..."/>')
            north, east, down = velocity.numbers({3}, velocity.attribute('xyz')).tolist()
            content['current'] = {'velocity': numbers([east, north, -down])}
        elif tag == 'current' or (tag == 'waves' and reader.attribute_number('height', 0.0) != 0):
            self.note(f'{origin_of(reader)}: is not taken')

    def _entity(self, reader: Reader) -> None:
        tag = str(reader.element.tag)
        if tag == 'static':
            self._static(reader)
        elif tag == 'dynamic':
            self._dynamic(reader)
        elif tag == 'robot':
            name = reader.attribute('name', '')
            self.note(
                f'{origin_of(reader)}: robot {name!r} is left out; import a vehicle with '
                f'marine_sim import --model {name}'
            )
        elif tag not in _SURROUNDINGS:
            self.note(f'{origin_of(reader)}: is not taken')

    def _pose(self, reader: Reader) -> Pose:
        """Return the pose of an entity, map."""
        return _NORTH.then(ned_pose(reader.child('world_transform')))

    def _words(self, reader: Reader) -> str:
        """Return the name of an entity's material."""
        material = reader.child('material')
        return '' if material is None else material.attribute('name', '')

    def _static(self, reader: Reader) -> None:
        """Add an obstacle or a plane."""
        name, pose, kind = reader.attribute('name'), self._pose(reader), reader.attribute('type')
        words = self._words(reader)
        if kind == 'plane':
            self.world.add_plane(name, pose, _UP, words)
            return
        if kind == 'terrain':
            self._terrain(reader, name, words)
            return
        shape = self.links.shape(reader)
        if shape is None:
            return
        folder = self.path.parent
        fields = self.world.mesh_fields(shape, folder) if shape.kind == 'mesh' else sizes(shape)
        self.world.add_obstacle(name, shape.kind, pose.then(shape.pose), fields, words)

    def _terrain(self, reader: Reader, name: str, words: str) -> None:
        """Add a height map: white is ``height`` above black, and the lowest point is at z."""
        image, size = reader.child('height_map'), reader.child('dimensions')
        if image is None or size is None:
            raise ModelError('it has no <height_map filename="..."/> and <dimensions .../>')
        path = mesh_path(find_mesh(image.attribute('filename'), self.path), self.path.parent)
        fraction = self.world.read_gray_image(path)
        height = size.attribute_number('height', 1.0, 0.0, 1e4)
        heights = height * (fraction - fraction.min()).T  # rows to the north, columns to the east
        spacing = [size.attribute_number(f'scale{axis}', 1.0, 1e-3, 1e4) for axis in 'xy']
        place = reader.child('world_transform')
        xyz, turn = (np.zeros(3), IDENTITY.quaternion) if place is None else place.pose()
        quarters = _quarter_turns(turn)
        heights = np.rot90(heights, quarters)  # clockwise from above, as rows go north
        if quarters % 2:
            spacing.reverse()
        self.world.add_terrain(name, heights - xyz[2], (xyz[1], xyz[0]), spacing, words)

    def _dynamic(self, reader: Reader) -> None:
        """Add a free body."""
        name = reader.attribute('name')
        self.world.shapes.links[name] = ImportedLink(name)
        self.links.read(reader, name)
        self.links.weigh()
        link, parts = self.world.shapes.links.pop(name), self.links.parts.pop(name)
        if not parts or link.mass <= 0:
            raise ModelError('it has no mass')
        if not all(part.buoyant for part in parts):
            self.note(f'{origin_of(reader)}: all its parts displace water here')
        body = replace(
            link,
            visuals=tuple(self.world.with_copied_mesh(s, self.path.parent) for s in link.visuals),
            collisions=tuple(
                self.world.with_copied_mesh(s, self.path.parent) for s in link.collisions
            ),
        )
        self.world.add_body(name, self._pose(reader), body, self._words(reader))
