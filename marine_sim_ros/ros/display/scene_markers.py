# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Markers of a scene in map: planes with a grid of 1 m, the terrain as a mesh, obstacles."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from marine_sim_ros.ros.display.markers import new_marker, point
from marine_sim_ros.scene.colours import colour
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.outline import coarse, plane_lines, plane_outline
from marine_sim_ros.scene.planes import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['scene_markers']

_SHAPES = {'box': Marker.CUBE, 'cylinder': Marker.CYLINDER, 'sphere': Marker.SPHERE}
_ONE = Vector3(x=1.0, y=1.0, z=1.0)


def _colour(material: str, light: float = 1.0, alpha: float = 1.0) -> ColorRGBA:
    r, g, b = colour(material, light)
    return ColorRGBA(r=r, g=g, b=b, a=alpha)


def _plane_markers(scene: Scene, plane: Plane, stamp: int) -> list[Marker]:
    """Return a plane's face, see-through unless it is ground, and the grid on it."""
    corners = plane_outline(scene, plane)
    if len(corners) < 3:
        return []
    face = new_marker('map', stamp, Marker.TRIANGLE_LIST, plane.name)
    face.scale = _ONE
    for i in range(1, len(corners) - 1):
        face.points += [point(corners[0]), point(corners[i]), point(corners[i + 1])]
    face.color = _colour(plane.material, alpha=1.0 if plane.normal[2] > 0.5 else 0.25)
    grid = new_marker('map', stamp, Marker.LINE_LIST, f'{plane.name}/grid')
    grid.scale = Vector3(x=0.015)
    grid.color = _colour(plane.material, 0.6)
    lifted = plane_lines(scene, plane).reshape(-1, 3) + 0.005 * plane.normal
    grid.points = [point(end) for end in lifted]
    return [face, grid]


def _terrain_marker(terrain: HeightMap, stamp: int) -> Marker:
    """Return the terrain as triangles, lighter where it is higher and faces the light."""
    seen = coarse(terrain)
    rows, columns = seen.heights.shape
    x, y = (seen.origin[i] + seen.spacing * np.arange(n) for i, n in enumerate((columns, rows)))
    vertices = np.stack([*np.meshgrid(x, y), seen.heights], axis=-1)
    a, b = vertices[:-1, :-1], vertices[:-1, 1:]
    c, d = vertices[1:, :-1], vertices[1:, 1:]
    corners = np.stack([a, b, d, a, d, c], axis=2).reshape(-1, 3)
    height = (corners[:, 2] - seen.heights.min()) / max(float(np.ptp(seen.heights)), 1e-9)
    slope = seen.normal(corners[:, 0], corners[:, 1]) @ np.array([-0.4, 0.3, 0.87])
    light = np.round((0.55 + 0.45 * height) * slope, 2)
    shades = {value: _colour(seen.material, 1.2 * value) for value in set(light.tolist())}
    marker = new_marker('map', stamp, Marker.TRIANGLE_LIST, 'terrain')
    marker.scale = _ONE
    marker.color = _colour(seen.material)
    marker.points = [point(corner) for corner in corners]
    marker.colors = [shades[value] for value in light.tolist()]
    return marker


def _obstacle_marker(obstacle: Obstacle, stamp: int) -> Marker:
    marker = new_marker('map', stamp, _SHAPES[obstacle.kind], obstacle.name)
    marker.pose.position = point(obstacle.position)
    q = marker.pose.orientation
    q.x, q.y, q.z, q.w = obstacle.orientation.tolist()
    marker.scale = Vector3(**dict(zip('xyz', obstacle.size.tolist(), strict=True)))
    marker.color = _colour(obstacle.material)
    return marker


def scene_markers(scene: Scene, stamp: int) -> MarkerArray:
    """Return everything solid of a scene, namespaces being the names of the surfaces."""
    array = MarkerArray()
    for plane in scene.planes:
        array.markers += _plane_markers(scene, plane, stamp)
    if scene.terrain is not None:
        array.markers.append(_terrain_marker(scene.terrain, stamp))
    array.markers += [_obstacle_marker(o, stamp) for o in scene.obstacles]
    return array
