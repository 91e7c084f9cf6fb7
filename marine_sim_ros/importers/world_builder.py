# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Builder of an environment file from a world of another simulator."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError, RunError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import reproducible_rpy, rotation_matrix, rpy_from_quaternion
from marine_sim_ros.geometry.mesh_files import SCENE_SUFFIXES, mesh_path
from marine_sim_ros.importers.builder import Options, VehicleBuilder
from marine_sim_ros.importers.description import ImportedLink, ImportedShape, Inertial
from marine_sim_ros.importers.model_files import ModelFolders
from marine_sim_ros.importers.writer import body_urdf
from marine_sim_ros.model.free_bodies import DEFAULT_WATER_DENSITY, box_drag
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.scene.bodies import homogeneous_moments
from marine_sim_ros.scene.height_file import HEIGHT_TYPE
from marine_sim_ros.scene.meshes import SHEET_THICKNESS, load_obstacle_mesh
from marine_sim_ros.scene.obstacles import Obstacle

__all__ = ['ImportedWorld', 'WorldBuilder', 'numbers', 'sizes']

_DRAG_COEFFICIENT = 1.1
"""C_d of the faces of the box around a body, as by default of bodies."""
_DECIMALS = 12
_SOLID = frozenset({'obstacles', 'planes', 'bodies', 'terrain'})
_MAX_PIXELS = 100_000_000
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
        heights: of the terrain (ny, nx), m, by their name beside the environment file.
        notes: what was assumed or left out, each once.
    """

    content: dict[str, Any] = field(default_factory=dict)
    meshes: dict[str, Path] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    heights: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a line, once."""
        if text not in self.notes:
            self.notes.append(text)


class WorldBuilder:
    """Environment that the reader of a file fills, with unique names and copied meshes.

    Attributes:
        result: the environment.
        shapes: builder that the readers of shapes report to.
        readable: folders in which files may be read.
    """

    def __init__(self, path: Path, file_format: str) -> None:
        self.path = path
        self.result = ImportedWorld()
        self.shapes = VehicleBuilder(path.stem, str(path), file_format, path.parent, Options())
        self.readable = ModelFolders(path)
        self._names: set[str] = set()

    def finish(self) -> ImportedWorld:
        """Return the environment.

        Raises:
            RunError: nothing solid is left.
        """
        for text in (*self.shapes.dropped, *self.shapes.assumptions):
            self.result.note(text)
        if not self.result.content.keys() & _SOLID:
            note = f': {self.result.notes[0]}' if self.result.notes else ''
            raise RunError(
                f'{self.path}: nothing solid is left{note}; expected a model with collisions'
            )
        return self.result

    def unique_name(self, name: str) -> str:
        """Return a word that no other surface has."""
        stem = re.sub(r'\W+', '_', name, flags=re.ASCII).strip('_')[:80] or 'part'
        stem = stem if stem[0].isalpha() else f'part_{stem}'
        word, number = stem, 2
        while word in self._names:
            word, number = f'{stem}_{number}', number + 1
        self._names.add(word)
        return word

    def add(self, kind: str, content: Mapping[str, Any]) -> None:
        """Add an item to a list of the environment, such as ``obstacles``."""
        self.result.content.setdefault(kind, []).append(dict(content))

    def add_plane(self, name: str, pose: Pose, normal: np.ndarray, words: str = '') -> None:
        """Add an endless plane through the origin of a pose, with its normal (3,) there."""
        place = {
            'name': self.unique_name(name),
            'point': numbers(pose.translation),
            'normal': numbers(rotation_matrix(pose.quaternion) @ normal),
        }
        self.add('planes', {**place, 'material': _material(f'{words} {name}')})

    def add_obstacle(
        self, name: str, kind: str, pose: Pose, fields: Mapping[str, Any], words: str = ''
    ) -> None:
        """Add an obstacle.

        Args:
            name: name from which its own follows.
            kind: its shape.
            pose: of the shape, map.
            fields: its sizes, or file and scale.
            words: further names from which its material follows.
        """
        place = {
            'name': self.unique_name(name),
            'shape': kind,
            'position': numbers(pose.translation),
            'rpy': numbers(rpy_from_quaternion(pose.quaternion)),
            'material': _material(f'{words} {name} {fields.get("file", "")}'),
        }
        self.add('obstacles', {**place, **fields})

    def add_terrain(
        self,
        name: str,
        heights: np.ndarray,
        center: tuple[float, float],
        spacing: Sequence[float],
        words: str = '',
    ) -> None:
        """Add the terrain.

        Args:
            name: name from which its file's follows.
            heights: (ny, nx) at grid points, rows to the north and columns to the east, m.
            center: of the grid, map, m.
            spacing: of rows and of columns, m.
            words: further names from which its material follows.

        Raises:
            ModelError: the environment has a terrain.
        """
        if 'terrain' in self.result.content:
            raise ModelError('a second terrain; expected one')
        step = min(spacing)
        for axis, own in enumerate(spacing):  # the spacing of an environment is that of both
            last = heights.shape[axis] - 1
            at = np.arange(round(last * own / step) + 1) * step / own
            low = np.minimum(at.astype(int), last - 1)
            fraction = np.expand_dims(at - low, 1 - axis)
            below, above = (np.take(heights, low + i, axis) for i in (0, 1))
            heights = below + fraction * (above - below)
        file = f'{self.unique_name(name)}.npy'
        self.result.heights[file] = np.ascontiguousarray(heights, HEIGHT_TYPE)
        half = [(n - 1) * step / 2 for n in reversed(heights.shape)]
        self.result.content['terrain'] = {
            'file': file,
            'corner': numbers([center[0] - half[0], center[1] - half[1]]),
            'spacing': step,
            'material': _material(f'{words} {name}'),
        }

    def read_gray_image(self, path: Path) -> np.ndarray:
        """Return the pixels (rows, columns) of an image, black 0 and white 1.

        Raises:
            ModelError: no image of 8 or 16 bits, or one that may not be read.
        """
        self.readable.check(path.resolve())
        pillow = require('PIL.Image', 'import-world (a height map)')
        try:
            with pillow.open(path) as image:
                if image.width * image.height > _MAX_PIXELS or min(image.size) < 2:
                    raise ModelError(
                        f'{path.name}: {image.width} x {image.height} pixels; expected at least '
                        f'2 x 2, and at most {_MAX_PIXELS:g}'
                    )
                deep = image.mode.startswith('I')
                pixels = np.asarray(image if deep else image.convert('L'), float)
        except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
            reason = ' '.join(str(error).split())[:120]
            raise ModelError(f'{path.name}: no image that can be read: {reason}') from None
        return pixels / (2**16 - 1 if deep else 2**8 - 1)

    def mesh_fields(self, shape: ImportedShape, folder: Path) -> dict[str, Any]:
        """Return file and scale of a mesh that can be an obstacle."""
        path = mesh_path(shape.uri, folder).resolve()
        if path.suffix.lower() not in SCENE_SUFFIXES:
            expected = ', '.join(SCENE_SUFFIXES)
            raise ModelError(f'{path.name}: suffix {path.suffix!r}; expected one of: {expected}')
        self.readable.check(path)
        x, y, z = shape.size
        load_obstacle_mesh(path, (x, y, z), 'z', SHEET_THICKNESS)
        fields = {'file': f'meshes/{self._copy_name(path)}', 'scale': [x, y, z]}
        if path.suffix.lower() == '.glb':
            # Gazebo takes coordinates as they are (gz-common, AssimpLoader), not y up.
            fields['up'] = 'z'
        return fields

    def with_copied_mesh(self, shape: ImportedShape, folder: Path) -> ImportedShape:
        """Return a shape of a body, with its mesh beside the environment file."""
        if shape.kind != 'mesh':
            return shape
        path = mesh_path(shape.uri, folder).resolve()
        self.readable.check(path)
        return replace(shape, uri=f'meshes/{self._copy_name(path)}')

    def add_body(self, name: str, pose: Pose, link: ImportedLink, words: str = '') -> str:
        """Add a link with mass and collisions as a free body; return its name.

        Args:
            name: name from which its own follows.
            pose: of the link, map.
            link: its meshes are those of :meth:`with_copied_mesh`.
            words: further names from which its material follows.

        Raises:
            ModelError: a body that cannot be read.
        """
        assert link.inertial is not None
        word = self.unique_name(name)
        fields = _plain_body(link.inertial, link.collisions)
        if fields is None:
            fields = {'file': f'{word}.urdf'}
            edges = _extent(link.collisions, self.result.meshes)
            drag = _DRAG_COEFFICIENT * box_drag(edges, self._density())
            text = body_urdf(word, replace(link, name='base_link'), drag)
            self._check_description(text)
            self.result.descriptions[f'{word}.urdf'] = text
        else:
            if link.visuals and link.visuals[0].colour is not None:
                fields['color'] = numbers(link.visuals[0].colour[:3])
            fields['material'] = _material(f'{words} {name}')
        placed = {
            'position': numbers(pose.translation),
            'rpy': numbers(reproducible_rpy(pose.quaternion)),
        }
        self.add('bodies', {'name': word, **fields, **placed})
        return word

    def _check_description(self, text: str) -> None:
        """Raise ModelError for a body that cannot be read."""
        for name, path in self.result.meshes.items():
            text = text.replace(f'filename="meshes/{name}"', f'filename="{path.as_uri()}"')
        load_vehicle(text)

    def _density(self) -> float:
        water = self.result.content.get('water', {})
        return float(water.get('density', DEFAULT_WATER_DENSITY))

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


def _material(names: str) -> str:
    """Return the material that names suggest."""
    for material, words in _MATERIALS.items():
        if re.search(words, names, re.IGNORECASE):
            return material
    return 'default'


def _plain_body(inertial: Inertial, shapes: Sequence[ImportedShape]) -> dict[str, Any] | None:
    """Return shape and mass of a homogeneous body of one primitive in its middle, or None."""
    shape = shapes[0]
    middles = np.concatenate([p.translation for p in (shape.pose, inertial.pose)])
    turns = np.concatenate([p.quaternion[:3] for p in (shape.pose, inertial.pose)])
    if len(shapes) > 1 or shape.kind == 'mesh' or np.abs([*middles, *turns]).max() > 1e-9:
        return None
    mass = inertial.mass.value
    moments = homogeneous_moments(Obstacle('', shape.kind, _edges(shape), np.zeros(3)), mass)
    if not np.allclose(inertial.tensor.value, np.diag(moments), rtol=1e-6, atol=1e-12):
        return None
    return {'shape': shape.kind, **sizes(shape), 'mass': mass}


def _edges(shape: ImportedShape) -> np.ndarray:
    """Return the edges (3,) of the box around a primitive in its own axes, m."""
    if shape.kind == 'box':
        return np.array(shape.size)
    diameter = 2 * shape.size[0]
    return np.array([diameter, diameter, shape.size[1] if shape.kind == 'cylinder' else diameter])


def sizes(shape: ImportedShape) -> dict[str, Any]:
    """Return the sizes of a primitive by their keys in an environment file, m."""
    if shape.kind == 'box':
        return {'size': numbers(shape.size)}
    return dict(zip(('radius', 'length'), map(float, shape.size), strict=False))


def _extent(shapes: Sequence[ImportedShape], meshes: Mapping[str, Path]) -> np.ndarray:
    """Return the edges (3,) of the box around shapes, in the axes of their link, m.

    Args:
        shapes: primitives and meshes.
        meshes: files of the meshes by their name.
    """
    corners = []
    for shape in shapes:
        center = np.zeros(3)
        if shape.kind == 'mesh':
            path = meshes[Path(shape.uri).name]
            x, y, z = shape.size
            mesh = load_obstacle_mesh(path, (x, y, z), 'z', SHEET_THICKNESS)
            center, edges = mesh.center, np.ptp(mesh.surface.vertices, axis=0)
        else:
            edges = _edges(shape)
        signs = np.array(list(product((-0.5, 0.5), repeat=3)))
        rotation = rotation_matrix(shape.pose.quaternion)
        corners.append(shape.pose.translation + (center + signs * edges) @ rotation.T)
    return np.asarray(np.ptp(np.concatenate(corners), axis=0))


def numbers(values: Any) -> list[float]:
    """Return numbers as YAML writes them, without the rounding errors of rotations."""
    return [round(float(v), _DECIMALS) + 0.0 for v in values]
