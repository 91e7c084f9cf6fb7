# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Static models of what a scene has: planes, terrain, obstacles, and the water's surface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.xml import Element
from marine_sim_ros.scene.colours import colour
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.outline import plane_lines, plane_outline
from marine_sim_ros.scene.planes import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap
from marine_sim_ros.sdf.elements import add, add_pose
from marine_sim_ros.sdf.poses import Pose
from marine_sim_ros.sdf.surfaces import Surface, add_surface
from marine_sim_ros.sdf.visuals import add_colour

__all__ = ['add_obstacle', 'add_plane', 'add_terrain', 'add_water']

_REACH = 32.0
"""m; planes are drawn so far from the point nearest to the origin, and are solid farther out."""
_THICK = 0.02
"""m, of what is drawn of a plane: a slab behind it."""
_LINE = 0.015
"""m, width of the lines on a plane."""
_WATER = (0.10, 0.35, 0.50, 0.25)
_UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


def _solid(link: Element, surface: Surface) -> Element:
    """Add a collision, and return its <geometry>."""
    collision = add(link, 'collision', name='collision')
    geometry = add(collision, 'geometry')
    add_surface(collision, surface)
    return geometry


def _static(world: Element, name: str, pose: Pose) -> Element:
    """Add a model that stays where it is, and return its link."""
    model = add(world, 'model', name=name)
    add(model, 'static', True)
    add_pose(model, pose)
    return add(model, 'link', name='link')


def _visual(
    link: Element,
    name: str,
    material: str,
    *,
    height: float = 0.0,
    place: Sequence[float] = (0.0, 0.0),
    light: float = 1.0,
    alpha: float = 1.0,
) -> Element:
    """Add a visual of a material's colour at a place (x, y) and height, return its <geometry>."""
    visual = add(link, 'visual', name=name)
    add_pose(visual, Pose(np.array([*place, height]), _UPRIGHT))
    geometry = add(visual, 'geometry')
    add_colour(visual, np.array([*colour(material, light), alpha]))
    return geometry


def _box(geometry: Element, size: Sequence[float] | np.ndarray) -> None:
    add(add(geometry, 'box'), 'size', size)


def _facing(normal: np.ndarray) -> np.ndarray:
    """Return the attitude (4,) of least turn whose z axis is a unit vector."""
    x, y, z = normal
    if z < -1 + 1e-9:
        return np.array([1.0, 0.0, 0.0, 0.0])
    turn = np.array([-y, x, 0.0, 1 + z])
    return turn / np.linalg.norm(turn)


def add_plane(world: Element, scene: Scene, plane: Plane, surface: Surface) -> None:
    """Add a plane: drawn as far as the others let it go, ground with lines 1 m apart.

    Its frame has its z along the normal, and is in the middle of what is drawn.
    """
    corners = plane_outline(scene, plane, _REACH)
    if len(corners) < 3:
        return
    attitude = _facing(plane.normal)
    along, across, _ = rotation_matrix(attitude).T
    ranges = [(float((corners @ a).min()), float((corners @ a).max())) for a in (along, across)]
    sizes = [high - low for low, high in ranges]
    middles = [(low + high) / 2 for low, high in ranges]
    offset = float(plane.normal @ plane.point)
    middle = middles[0] * along + middles[1] * across + offset * plane.normal
    link = _static(world, plane.name, Pose(middle, attitude))
    face = add(_solid(link, surface), 'plane')
    add(face, 'normal', [0, 0, 1])
    add(face, 'size', sizes)
    ground = plane.normal[2] > 0.5
    alpha = 1.0 if ground else 0.5
    geometry = _visual(link, 'visual', plane.material, height=-_THICK / 2, alpha=alpha)
    _box(geometry, [*sizes, _THICK])
    if ground:
        _add_lines(link, plane_lines(scene, plane, _REACH), middle, along, across, plane.material)


def _add_lines(
    link: Element,
    lines: np.ndarray,
    middle: np.ndarray,
    along: np.ndarray,
    across: np.ndarray,
    material: str,
) -> None:
    for i, (start, end) in enumerate(lines):
        place = (start + end) / 2 - middle
        length = float(np.linalg.norm(end - start))
        lengthwise = abs(float((end - start) @ along)) > length / 2
        spot = (float(place @ along), float(place @ across))
        geometry = _visual(link, f'line_{i + 1}', material, height=0.002, place=spot, light=0.6)
        _box(geometry, [length if lengthwise else _LINE, _LINE if lengthwise else length, 0.002])


def add_terrain(world: Element, terrain: HeightMap, mesh: str, surface: Surface) -> None:
    """Add a terrain whose mesh is a file."""
    link = _static(world, 'terrain', Pose(np.zeros(3), _UPRIGHT))
    for geometry in (_solid(link, surface), _visual(link, 'visual', terrain.material)):
        add(add(geometry, 'mesh'), 'uri', mesh)


def add_obstacle(world: Element, obstacle: Obstacle, surface: Surface) -> None:
    """Add an obstacle."""
    link = _static(world, obstacle.name, Pose(obstacle.position, obstacle.orientation))
    for geometry in (_solid(link, surface), _visual(link, 'visual', obstacle.material)):
        if obstacle.kind == 'box':
            _box(geometry, obstacle.size)
            continue
        shape = add(geometry, obstacle.kind)
        add(shape, 'radius', obstacle.size[0] / 2)
        if obstacle.kind == 'cylinder':
            add(shape, 'length', obstacle.size[2])


def add_water(world: Element, scene: Scene) -> None:
    """Add the mean surface of the water, to be seen only."""
    low, high = _waters(scene)
    link = _static(world, 'water', Pose(np.array([*((low + high) / 2), 0.0]), _UPRIGHT))
    visual = add(link, 'visual', name='visual')
    _box(add(visual, 'geometry'), [*(high - low), 0.002])
    add(visual, 'cast_shadows', False)
    add_colour(visual, np.array(_WATER))


def _waters(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and greatest x and y of the water that is drawn."""
    if scene.terrain is not None:
        extent = scene.terrain.extent
        return extent[0], extent[1]
    floors = [plane_outline(scene, p, _REACH) for p in scene.planes if p.normal[2] > 0.5]
    corners = np.concatenate(floors)[:, :2] if floors else np.array([[-_REACH] * 2, [_REACH] * 2])
    return corners.min(axis=0), corners.max(axis=0)
