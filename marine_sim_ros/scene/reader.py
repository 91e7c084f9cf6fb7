# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of the scene in an environment file: seabed, planes, pool, terrain, obstacles."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.geodesy import TangentPlane
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.yaml_file import YamlReader, short_text
from marine_sim_ros.geometry.mesh_files import mesh_path
from marine_sim_ros.geometry.triangles import TriangleSurface
from marine_sim_ros.scene.bathymetry import map_heights, read_grid
from marine_sim_ros.scene.meshes import SHEET_THICKNESS, CenteredMesh, Growth, load_obstacle_mesh
from marine_sim_ros.scene.obstacles import (
    FAMILIES,
    FREEBOARD,
    OBSTACLE_KINDS,
    Fiducial,
    Obstacle,
    Plane,
)
from marine_sim_ros.scene.scene import JET_MODES, JetInteraction, Scene
from marine_sim_ros.scene.terrain import GENERATORS, HeightMap, generate

__all__ = [
    'SCENE_KEYS',
    'read_obstacle',
    'read_placement',
    'read_scene',
    'read_solid',
    'water_depth',
]

SCENE_KEYS = frozenset({'seabed', 'planes', 'pool', 'terrain', 'obstacles', 'surface', 'boundary'})
_GENERATED = {'generator', 'seed', 'material', 'depth', 'relief', 'size', 'spacing'}
_RELIEF = {'sand': 0.8, 'rock': 9.0}
_SIZES = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}
_MESH = {'file', 'scale', 'up', 'thickness', 'collision', 'growth'}
_MAX_SIDE = 1024
_LEVEL = 0.7
"""n_z above which a plane counts as a seabed for waves."""
_LONGEST = 4000.0
"""Largest side of a generated terrain, m. Its finest noise has a point every two metres."""


def read_scene(root: YamlReader, folder: Path, place: TangentPlane | None = None) -> Scene | None:
    """Return the scene of an environment's mapping, or None without solid surfaces.

    Args:
        root: the whole file.
        folder: folder of the files that it names.
        place: where map is on the Earth, for a terrain in degrees.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    planes = [
        *_seabed(root.child('seabed')),
        *_pool(root.child('pool')),
        *(_plane(item, i) for i, item in enumerate(root.child('planes', []).items())),
    ]
    terrain = _terrain(root.child('terrain'), folder, place)
    surface = root.child('surface', root.value.get('pool') is not None).truth()
    bare = Scene(tuple(planes), terrain, (), surface)
    obstacles = [
        read_solid(o, i, bare, folder) for i, o in enumerate(root.child('obstacles', []).items())
    ]
    jets = _jets(root.child('boundary', {}))
    scene = Scene(bare.planes, terrain, tuple(obstacles), surface, jets)
    for name, count in Counter(scene.names).items():
        if count > 1:
            raise root.error(f': two surfaces are named {name!r}; expected names of their own')
    return scene if len(scene) or surface else None


def water_depth(root: YamlReader, scene: Scene | None) -> float:
    """Return the depth that a scene gives the water, m; infinite for none.

    It is the least that ``seabed``, ``pool`` or ``terrain`` say; where they say none, that of the
    mean of a terrain from a file, or of a level plane below the origin.
    """
    depths = [
        root.value[k]['depth']
        for k in ('seabed', 'pool', 'terrain')
        if isinstance(root.value.get(k), dict) and 'depth' in root.value[k]
    ]
    if depths or scene is None:
        return float(min(depths, default=math.inf))
    seabed_depths = [-p.height(0.0, 0.0) for p in scene.planes if p.normal[2] > _LEVEL]
    if scene.terrain is not None:
        seabed_depths.append(-scene.terrain.mean_height)
    return min((depth for depth in seabed_depths if depth >= 0.1), default=math.inf)


def _jets(reader: YamlReader) -> JetInteraction:
    reader.mapping({'mode', 'exponent', 'suction'})
    return JetInteraction(
        reader.child('mode', 'normal_only').choice(JET_MODES),
        reader.child('exponent', 1.5).number(1.0, 2.0),
        reader.child('suction', 0.0).number(0.0, 1.0),
    )


def _material(reader: YamlReader) -> str:
    return reader.child('material', 'default').word()


def _seabed(reader: YamlReader) -> list[Plane]:
    if reader.value is None:
        return []
    reader.mapping({'depth', 'material', 'slope'}, {'depth'})
    depth = reader.child('depth').number(0.1, 12_000.0)
    slope = reader.child('slope', {})
    slope.mapping({'angle', 'direction'})
    angle = math.radians(slope.child('angle', 0.0).number(0.0, 80.0))
    towards = math.radians(slope.child('direction', 0.0).number(-360.0, 360.0))
    tilt = math.sin(angle)
    normal = [-tilt * math.cos(towards), -tilt * math.sin(towards), math.cos(angle)]
    point = np.array([0.0, 0.0, -depth])
    return [Plane('seabed', point, np.array(normal), _material(reader))]


def _pool(reader: YamlReader) -> list[Plane]:
    """Return a floor and four walls about the origin, length along x, width along y."""
    if reader.value is None:
        return []
    sizes = ('length', 'width', 'depth')
    reader.mapping({*sizes, 'material'}, set(sizes))
    length, width, depth = (reader.child(s).number(0.1, 12_000.0) for s in sizes)
    material = _material(reader)
    sides = {
        'floor': ([0.0, 0.0, -depth], [0.0, 0.0, 1.0]),
        'east_wall': ([length / 2, 0.0, 0.0], [-1.0, 0.0, 0.0]),
        'west_wall': ([-length / 2, 0.0, 0.0], [1.0, 0.0, 0.0]),
        'north_wall': ([0.0, width / 2, 0.0], [0.0, -1.0, 0.0]),
        'south_wall': ([0.0, -width / 2, 0.0], [0.0, 1.0, 0.0]),
    }
    return [
        Plane(name, np.array(point), np.array(normal), material, FREEBOARD)
        for name, (point, normal) in sides.items()
    ]


def _plane(reader: YamlReader, index: int) -> Plane:
    reader.mapping({'name', 'point', 'normal', 'material'}, {'point', 'normal'})
    normal = reader.child('normal').vector(-1e6, 1e6)
    if not np.linalg.norm(normal) > 1e-6:
        raise reader.error('.normal is zero; expected the direction into the water')
    name = reader.child('name', f'plane_{index}').word()
    return Plane(name, reader.child('point').vector(), normal, _material(reader))


def _terrain(reader: YamlReader, folder: Path, place: TangentPlane | None) -> HeightMap | None:
    if reader.value is None:
        return None
    reader.mapping(_GENERATED | {'file', 'positive', 'corner'})
    if ('file' in reader.value) == ('generator' in reader.value):
        raise reader.error(': expected either file or generator')
    material = _material(reader)
    if 'file' in reader.value:
        name = reader.child('file').value
        if not isinstance(name, str) or not name or '\0' in name:
            raise reader.error(f'.file is {name!r}; expected the path of a grid or of soundings')
        if name.endswith('.npy'):
            reader.mapping({'file', 'material', 'corner', 'spacing'}, {'corner', 'spacing'})
            corner = reader.child('corner')
            if not isinstance(corner.value, list) or len(corner.value) != 2:
                raise corner.error(f' is {short_text(corner.value)}; expected x and y, m')
            return map_heights(
                (folder / name).resolve(),
                tuple(x.number(-1e6, 1e6) for x in corner.items()),
                reader.child('spacing').number(1e-3, 1e5),
                material,
            )
        reader.mapping({'file', 'material', 'positive'})
        positive = reader.child('positive', 'up').choice(('up', 'down'))
        return read_grid((folder / name).resolve(), material, place, positive)
    generator = reader.child('generator').choice(tuple(GENERATORS))
    reader.mapping(_GENERATED, {'depth'})
    size = reader.child('size', [128.0, 128.0])
    if not isinstance(size.value, list) or len(size.value) != 2:
        raise size.error(f' is {short_text(size.value)}; expected a list of two numbers')
    width, height = (s.number(1.0, _LONGEST) for s in size.items())
    spacing = reader.child('spacing', 0.5).number(0.01, 1e3)
    if max(width, height) > _MAX_SIDE * spacing:
        raise reader.error(
            f'.spacing is {spacing:g}; expected at least {max(width, height) / _MAX_SIDE:g} m for '
            f'a side of {max(width, height):g} m'
        )
    return generate(
        generator,
        depth=reader.child('depth').number(0.1, 12_000.0),
        relief=reader.child('relief', _RELIEF[generator]).number(0.0, 1e3),
        size=(width, height),
        spacing=spacing,
        seed=reader.child('seed', 0).integer(0, 2**53),
        material=material,
    )


def read_obstacle(
    reader: YamlReader,
    index: int,
    ground: Scene,
    more: frozenset[str],
    kinds: tuple[str, ...] = tuple(_SIZES),
) -> Obstacle:
    """Return a body of a list, of which the caller reads ``more`` keys.

    Args:
        reader: the body's mapping.
        index: its place in the list.
        ground: scene on whose seabed it may stand.
        more: keys that are not of an obstacle.
        kinds: what may be named as its shape.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    common = {'name', 'shape', 'position', 'rpy', 'material', 'on_seabed', *more}
    reader.mapping(common | {'size', 'radius', 'length'}, {'shape', 'position'})
    kind = reader.child('shape').choice(kinds)
    size_keys = set(_SIZES[kind])
    reader.mapping(common | size_keys, size_keys)
    if kind == 'box':
        size = reader.child('size').vector(1e-3, 1e5)
    else:
        across = 2 * reader.child('radius').number(1e-3, 1e5)
        along = reader.child('length').number(1e-3, 1e5) if kind == 'cylinder' else across
        size = np.array([across, across, along])
    position, orientation = read_placement(reader, ground)
    name = reader.child('name', f'{kind}_{index}').word()
    try:
        return Obstacle(
            name,
            kind,
            size,
            position,
            orientation,
            _material(reader),
            _fiducial(reader.child('marker')),
        )
    except ParameterError as error:
        raise reader.error(f': {error}') from None


def read_placement(reader: YamlReader, ground: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return position (3,), m, and quaternion x, y, z, w of a body of a list, map."""
    orientation = quaternion_from_rpy(*reader.child('rpy', [0.0, 0.0, 0.0]).angles())
    position = reader.child('position').vector()
    if reader.child('on_seabed', False).truth():
        z = ground.ground(position[0], position[1])
        if not math.isfinite(z):
            raise reader.error('.on_seabed: there is no seabed; expected seabed, pool or terrain')
        position = position + np.array([0.0, 0.0, z])
    return position, orientation


def read_solid(reader: YamlReader, index: int, ground: Scene, folder: Path) -> Obstacle:
    """Return an obstacle of a list: a box, cylinder, sphere or mesh.

    Args:
        reader: the obstacle's mapping.
        index: its place in the list.
        ground: scene on whose seabed it may stand.
        folder: folder of the meshes that it names.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    if _is_mesh(reader.value):
        return _mesh_obstacle(reader, index, ground, folder)
    return read_obstacle(reader, index, ground, frozenset({'marker'}), OBSTACLE_KINDS)


def _is_mesh(value: object) -> bool:
    """Return whether an obstacle is one of the shape ``mesh``, which a file says by itself."""
    if not isinstance(value, dict):
        return False
    return bool(value.get('shape', 'mesh' if {'file', 'mesh'} & value.keys() else '') == 'mesh')


def _mesh_obstacle(reader: YamlReader, index: int, ground: Scene, folder: Path) -> Obstacle:
    reader.mapping(
        {'name', 'shape', 'position', 'rpy', 'material', 'on_seabed', *_MESH}, {'file', 'position'}
    )
    scale = reader.child('scale', 1.0)
    factors = scale.vector() if isinstance(scale.value, list) else np.full(3, scale.number())
    if not np.all(np.abs(factors) > 1e-9):
        raise scale.error(f' is {short_text(scale.value)}; expected factors other than 0')
    up = reader.child('up')
    axis = None if up.value is None else up.choice(('x', 'y', 'z'))
    thickness = reader.child('thickness', SHEET_THICKNESS).number(1e-4, 10.0)
    position, orientation = read_placement(reader, ground)

    def load(
        key: str, center: np.ndarray | None = None, growth: Growth | None = None
    ) -> CenteredMesh:
        file_reader = reader.child(key)
        if not isinstance(file_reader.value, str) or not file_reader.value:
            raise file_reader.error(
                f' is {short_text(file_reader.value)}; expected the path of a mesh'
            )
        try:
            path = mesh_path(file_reader.value, folder)
            x, y, z = (float(f) for f in factors)
            path = path.resolve()
            return load_obstacle_mesh(path, (x, y, z), axis, thickness, center, growth)
        except ModelError as error:
            raise file_reader.error(f': {error}') from None

    visual_mesh = load('file', growth=_growth(reader.child('growth')))
    touched = None
    if reader.child('collision').value is not None:
        touched = load('collision', visual_mesh.center).surface
    size = _box_size(visual_mesh.surface, touched)
    return Obstacle(
        reader.child('name', f'mesh_{index}').word(),
        'mesh',
        size,
        position + rotation_matrix(orientation) @ visual_mesh.center,
        orientation,
        _material(reader),
        mesh=visual_mesh.surface,
        collision=touched,
    )


def _growth(reader: YamlReader) -> Growth | None:
    if reader.value is None:
        return None
    reader.mapping(set(Growth._fields), {'thickness'})
    return Growth(
        reader.child('thickness').number(1e-4, 1.0),
        reader.child('wavelength', 0.3).number(1e-3, 100.0),
        reader.child('parts', 4).integer(1, 100),
        reader.child('seed', 0).integer(0, 2**53),
    )


def _box_size(*surfaces: TriangleSurface | None) -> np.ndarray:
    """Return the edges (3,) of the least box about the origin that holds surfaces, m."""
    halves = [
        np.max(np.abs(s.vertices), axis=0) + s.thickness / 2 for s in surfaces if s is not None
    ]
    return np.maximum(2 * np.max(halves, axis=0), 1e-3)


def _fiducial(reader: YamlReader) -> Fiducial | None:
    if reader.value is None:
        return None
    reader.mapping({'family', 'id', 'size'}, {'id', 'size'})
    family = reader.child('family', 'tag36h11').choice(tuple(FAMILIES))
    number = reader.child('id').integer(0, FAMILIES[family] - 1)
    return Fiducial(family, number, reader.child('size').number(1e-3, 1e3))
