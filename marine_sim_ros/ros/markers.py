# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""RViz and Foxglove markers: force arrows, voxels, panels, contacts, the scene."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from marine_sim_ros.console.telemetry import force_colour
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import Wrench
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.model.free_bodies import FreeBody
from marine_sim_ros.model.hull import Panels, VoxelSet
from marine_sim_ros.physics.contact.solid_tables import solid_scene
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.message_fields import set_stamp
from marine_sim_ros.scene.drawing import (
    coarsen_terrain,
    material_colour,
    plane_lines,
    plane_outline,
)
from marine_sim_ros.scene.meshes import coarsen_surface
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap

__all__ = [
    'FORCE_SCALE',
    'arrow_scale',
    'contact_marker',
    'panel_marker',
    'point',
    'scene_markers',
    'voxel_marker',
    'wrench_arrows',
]


# Markers for RViz and Foxglove: force arrows, voxels, hull panels; in the body frame.

_WET = np.array([0.05, 0.35, 0.85])
_DRY = np.array([0.95, 0.75, 0.3])
_MIN_ARROW_LENGTH = 1e-3
"""m; shorter arrows are not drawn."""


FORCE_SCALE = NodeParameter(
    'force_scale', 0.0, 'length of force arrows', 0.0, 1e3, unit='m/N', empty='the weight is 1 m'
)


def arrow_scale(node: VehicleNode) -> float:
    """Return the length of a node's force arrows in m/N."""
    weight = node.vehicle.inertia.mass * (node.environment.gravity or STANDARD_GRAVITY)
    return float(node.values['force_scale'] or 1 / weight)


def new_marker(frame: str, stamp: int, kind: int, namespace: str) -> Marker:
    """Return a marker of a kind in a frame, with no shape yet."""
    marker = Marker(ns=namespace, type=kind, action=Marker.ADD, frame_locked=True)
    marker.header.frame_id = frame
    set_stamp(marker.header.stamp, stamp)
    marker.pose.orientation.w = 1.0
    return marker


def point(values: np.ndarray) -> Point:
    """Return three numbers as a Point."""
    x, y, z = map(float, values)
    return Point(x=x, y=y, z=z)


def _submersion_colours(fractions: np.ndarray, alpha: float) -> list[ColorRGBA]:
    """Return colours from dry to wet for submerged fractions (n,)."""
    mixed = _DRY + fractions[:, None] * (_WET - _DRY)
    return [ColorRGBA(r=float(r), g=float(g), b=float(b), a=alpha) for r, g, b in mixed]


def wrench_arrows(
    frame: str, stamp: int, wrenches: Mapping[str, Wrench], scale: float
) -> MarkerArray:
    """Return an arrow of every force, ``scale`` m per N, from the point on its line of action.

    That point is the one nearest to the body's origin, r = F × τ/|F|².
    """
    array = MarkerArray()
    for name, wrench in wrenches.items():
        force, torque = np.asarray(wrench[:3]), np.asarray(wrench[3:])
        squared_norm = float(force @ force)
        marker = new_marker(frame, stamp, Marker.ARROW, name)
        if squared_norm**0.5 * scale < _MIN_ARROW_LENGTH:
            marker.action = Marker.DELETE
        else:
            start = np.cross(force, torque) / squared_norm
            marker.points = [point(start), point(start + force * scale)]
            marker.scale = Vector3(x=0.012, y=0.03, z=0.04)
        r, g, b = force_colour(name)
        marker.color = ColorRGBA(r=r, g=g, b=b, a=1.0)
        array.markers.append(marker)
    return array


def voxel_marker(frame: str, stamp: int, voxels: VoxelSet, fractions: np.ndarray) -> Marker:
    """Return the voxels (m) as cubes, coloured by their submerged fractions (m,)."""
    marker = new_marker(frame, stamp, Marker.CUBE_LIST, 'voxels')
    size = 0.9 * float(np.median(np.linalg.norm(voxels.extent, axis=-1)))
    marker.scale = Vector3(x=size, y=size, z=size)
    marker.points = [point(center) for center in voxels.center]
    marker.colors = _submersion_colours(fractions, 0.6)
    return marker


def panel_marker(frame: str, stamp: int, panels: Panels, wet_fractions: np.ndarray) -> Marker:
    """Return the hull's panels (n) as triangles, coloured by their wet fractions (n,)."""
    marker = new_marker(frame, stamp, Marker.TRIANGLE_LIST, 'panels')
    marker.scale = Vector3(x=1.0, y=1.0, z=1.0)
    marker.points = [point(corner) for corner in panels.corners.reshape(-1, 3)]
    marker.colors = _submersion_colours(np.repeat(wet_fractions, 3), 0.8)
    return marker


def contact_marker(frame: str, stamp: int, points: np.ndarray, pressed: np.ndarray) -> MarkerArray:
    """Return contact points (n, 3) m: red where pressed (n,), else amber; none deletes them."""
    marker = new_marker(frame, stamp, Marker.SPHERE_LIST, 'contact')
    if not len(points):
        marker.action = Marker.DELETE
    marker.scale = Vector3(x=0.025, y=0.025, z=0.025)
    marker.points = [point(values) for values in points]
    red, amber = ColorRGBA(r=0.9, g=0.1, b=0.1, a=1.0), ColorRGBA(r=1.0, g=0.75, b=0.1, a=0.7)
    marker.colors = [red if hard else amber for hard in pressed]
    return MarkerArray(markers=[marker])


# Markers of a scene in map: planes with a grid of 1 m, the terrain as a mesh, obstacles.

_SHAPES = {
    'box': Marker.CUBE,
    'cylinder': Marker.CYLINDER,
    'sphere': Marker.SPHERE,
    'mesh': Marker.TRIANGLE_LIST,
}
_UNIT_SCALE = Vector3(x=1.0, y=1.0, z=1.0)


def _colour(material: str, light: float = 1.0, alpha: float = 1.0) -> ColorRGBA:
    r, g, b = material_colour(material, light)
    return ColorRGBA(r=r, g=g, b=b, a=alpha)


def _plane_markers(scene: Scene, plane: Plane, stamp: int) -> list[Marker]:
    """Return a plane's face, transparent unless it is ground, and the grid on it."""
    corners = plane_outline(scene, plane)
    if len(corners) < 3:
        return []
    face = new_marker('map', stamp, Marker.TRIANGLE_LIST, plane.name)
    face.scale = _UNIT_SCALE
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
    grid = coarsen_terrain(terrain)
    rows, columns = grid.heights.shape
    x, y = (grid.origin[i] + grid.spacing * np.arange(n) for i, n in enumerate((columns, rows)))
    vertices = np.stack([*np.meshgrid(x, y), grid.heights], axis=-1)
    a, b = vertices[:-1, :-1], vertices[:-1, 1:]
    c, d = vertices[1:, :-1], vertices[1:, 1:]
    corners = np.stack([a, b, d, a, d, c], axis=2).reshape(-1, 3)
    height = (corners[:, 2] - grid.heights.min()) / max(float(np.ptp(grid.heights)), 1e-9)
    slope = grid.normal(corners[:, 0], corners[:, 1]) @ np.array([-0.4, 0.3, 0.87])
    light = np.round((0.55 + 0.45 * height) * slope, 2)
    shades = {value: _colour(grid.material, 1.2 * value) for value in set(light.tolist())}
    marker = new_marker('map', stamp, Marker.TRIANGLE_LIST, 'terrain')
    marker.scale = _UNIT_SCALE
    marker.color = _colour(grid.material)
    marker.points = [point(corner) for corner in corners]
    marker.colors = [shades[value] for value in light.tolist()]
    return marker


_MAX_TRIANGLES = 50_000
"""Bound for a mesh in a marker: RViz draws all in every frame, and each has 72 bytes."""


def _triangle_colours(obstacle: Obstacle, corners: np.ndarray) -> list[ColorRGBA]:
    """Return the colours of triangles (n, 3, 3) of an obstacle, lighter where they face up."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.maximum(np.linalg.norm(normal, axis=1), 1e-30)
    up = rotation_matrix(obstacle.orientation)[2]
    light = np.round(0.85 + 0.35 * (normal @ up) / length, 2)
    shades = {value: _colour(obstacle.material, value) for value in set(light.tolist())}
    return [shades[value] for value in light.tolist()]


def _obstacle_marker(obstacle: Obstacle, stamp: int) -> Marker:
    marker = new_marker('map', stamp, _SHAPES[obstacle.kind], obstacle.name)
    if obstacle.mesh is not None:
        corners = coarsen_surface(obstacle.mesh, _MAX_TRIANGLES)
        marker.points = [point(corner) for corner in corners.reshape(-1, 3)]
        marker.colors = [shade for shade in _triangle_colours(obstacle, corners) for _ in range(3)]
    marker.pose.position = point(obstacle.position)
    q = marker.pose.orientation
    q.x, q.y, q.z, q.w = obstacle.orientation.tolist()
    if obstacle.mesh is None:
        marker.scale = Vector3(**dict(zip('xyz', obstacle.size.tolist(), strict=True)))
    else:
        marker.scale = _UNIT_SCALE
    marker.color = _colour(obstacle.material)
    return marker


def scene_markers(scene: Scene | None, stamp: int, bodies: Iterable[FreeBody] = ()) -> MarkerArray:
    """Return markers of all surfaces of a scene, with their names as namespaces.

    Free bodies are drawn in their own frames, whose transforms tf has.
    """
    array = MarkerArray()
    for body in bodies:
        for i, shape in enumerate(solid_scene(body.vehicle.contact).obstacles):
            marker = _obstacle_marker(shape, 0)  # stamp 0: RViz takes the newest transform
            marker.header.frame_id = topics.body_frame_name(body.name)
            marker.ns, marker.id, marker.frame_locked = body.name, i, True
            array.markers.append(marker)
    if scene is None:
        return array
    for plane in scene.planes:
        array.markers += _plane_markers(scene, plane, stamp)
    if scene.terrain is not None:
        array.markers.append(_terrain_marker(scene.terrain, stamp))
    array.markers += [_obstacle_marker(o, stamp) for o in scene.obstacles]
    return array
