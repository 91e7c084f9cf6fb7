# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes the cable of a tether: shape and tension at a rate, nodes per tick."""

from __future__ import annotations

from array import array

import numpy as np
from sensor_msgs.msg import JointState, PointCloud2, PointField

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.physics.tether.cable_state import CableState
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import path_message, set_stamp

__all__ = ['TetherShape', 'cloud_points', 'set_cloud']

_STEP = 24
"""Bytes of a point: three numbers of 8."""


class TetherShape:
    """Publishes tether/tension and tether/shape, and tether/nodes where a camera needs it."""

    def __init__(self, node: SuiteNode, rate: float) -> None:
        """Publish for a node ``rate`` times per second of simulated time; 0: none but nodes."""
        self._rate, self._shown = rate, -(10**18)
        self._tension = node.publisher(topics.TETHER_TENSION)
        self._shape = node.publisher(topics.TETHER_SHAPE)
        needed = node.values['seen'] or 'tether' in topics.sensor_needs(node.vehicle)
        self._nodes = node.publisher(topics.TETHER_NODES) if needed else None
        fields = [
            PointField(name=name, offset=8 * i, datatype=PointField.FLOAT64, count=1)
            for i, name in enumerate('xyz')
        ]
        self._cloud = PointCloud2(height=1, point_step=_STEP, fields=fields, is_dense=True)
        self._cloud.header.frame_id = 'map'

    def publish(self, stamp: int, cable: CableState) -> None:
        """Publish a cable at a stamp in ns."""
        self.tell(stamp, cable.position)
        if self._rate <= 0 or 0 <= stamp - self._shown < NANOSECONDS / self._rate:
            return
        self._shown = stamp
        tension = JointState(name=['vehicle', 'anchor'])
        set_stamp(tension.header.stamp, stamp)
        tension.effort = np.linalg.norm(cable.pull, axis=-1).tolist()
        self._tension.publish(tension)
        self._shape.publish(path_message(stamp, cable.position))

    def tell(self, stamp: int, places: np.ndarray) -> None:
        """Publish places (n, 3) in map, m, as nodes where a sensor needs them."""
        if self._nodes is None:
            return
        set_stamp(self._cloud.header.stamp, stamp)
        set_cloud(self._cloud, places)
        self._nodes.publish(self._cloud)


def set_cloud(cloud: PointCloud2, places: np.ndarray) -> None:
    """Write places (n, 3) into a cloud of x, y and z, as little-endian float64."""
    cloud.width, cloud.row_step = len(places), _STEP * len(places)
    cloud.data = array('B', np.ascontiguousarray(places, '<f8').tobytes())


def cloud_points(cloud: PointCloud2) -> np.ndarray:
    """Return the places (n, 3) that :func:`set_cloud` wrote; raises ValueError for another."""
    if cloud.point_step != _STEP:
        raise ValueError(f'points have {cloud.point_step} bytes; expected {_STEP}')
    return np.frombuffer(bytes(cloud.data), '<f8').reshape(-1, 3)
