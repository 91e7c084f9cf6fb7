# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Markers for RViz and Foxglove: force arrows, voxels, hull panels; in the body frame."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from marine_sim_ros.console.palette import force_colour
from marine_sim_ros.core.state import Wrench
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.model.hull.hull import Panels, VoxelSet
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import Parameter
from marine_sim_ros.ros.messages.convert import set_stamp

__all__ = [
    'FORCE_SCALE',
    'arrow_scale',
    'contact_marker',
    'new_marker',
    'panel_marker',
    'point',
    'voxel_marker',
    'wrench_arrows',
]

_WET = np.array([0.05, 0.35, 0.85])
_DRY = np.array([0.95, 0.75, 0.3])
_SMALLEST = 1e-3
"""m; shorter arrows are not drawn."""


FORCE_SCALE = Parameter(
    'force_scale', 0.0, 'length of force arrows', 0.0, 1e3, unit='m/N', empty='the weight is 1 m'
)


def arrow_scale(node: SuiteNode) -> float:
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


def _shades(shares: np.ndarray, alpha: float) -> list[ColorRGBA]:
    """Return colours from dry to wet for submerged shares (n,)."""
    mixed = _DRY + shares[:, None] * (_WET - _DRY)
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
        size = float(force @ force)
        marker = new_marker(frame, stamp, Marker.ARROW, name)
        if size**0.5 * scale < _SMALLEST:
            marker.action = Marker.DELETE
        else:
            start = np.cross(force, torque) / size
            marker.points = [point(start), point(start + force * scale)]
            marker.scale = Vector3(x=0.012, y=0.03, z=0.04)
        r, g, b = force_colour(name)
        marker.color = ColorRGBA(r=r, g=g, b=b, a=1.0)
        array.markers.append(marker)
    return array


def voxel_marker(frame: str, stamp: int, voxels: VoxelSet, shares: np.ndarray) -> Marker:
    """Return the voxels (m) as cubes, coloured by their submerged shares (m,)."""
    marker = new_marker(frame, stamp, Marker.CUBE_LIST, 'voxels')
    size = 0.9 * float(np.median(np.linalg.norm(voxels.extent, axis=-1)))
    marker.scale = Vector3(x=size, y=size, z=size)
    marker.points = [point(center) for center in voxels.center]
    marker.colors = _shades(shares, 0.6)
    return marker


def panel_marker(frame: str, stamp: int, panels: Panels, wet_shares: np.ndarray) -> Marker:
    """Return the hull's panels (n) as triangles, coloured by their wet shares (n,)."""
    marker = new_marker(frame, stamp, Marker.TRIANGLE_LIST, 'panels')
    marker.scale = Vector3(x=1.0, y=1.0, z=1.0)
    marker.points = [point(corner) for corner in panels.corners.reshape(-1, 3)]
    marker.colors = _shades(np.repeat(wet_shares, 3), 0.8)
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
