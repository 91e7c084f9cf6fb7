# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Markers: forces, hull, scene and propellers of a vehicle, for RViz or Foxglove.

Subscribes: odom, wrench/<source> of every source, wrench/total, robot_description,
thrusters/state where that description has propellers as continuous joints. Publishes: markers
(MarkerArray in base_link), ``rate`` times per second of simulation time: an arrow per force, the
voxels and the hull's panels coloured by how far they are under water; scene/markers (MarkerArray
in map, latched), once: seabed, walls and obstacles, where the environment has any; /tf of those
propellers, ``propeller_rate`` times per second of simulation time, while /tf has subscribers.
Parameters: the common ones, and those below.
Failure: no node waits for it, except a recorder, once, for scene/markers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry

from marine_sim_ros.core.state import NANOSECONDS, State, stamp_ns
from marine_sim_ros.physics.buoyancy import submerged_fractions
from marine_sim_ros.physics.hull_drag import wet_hull
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import WRENCH_SOURCES, NodeParameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.markers import (
    FORCE_SCALE,
    arrow_scale,
    panel_marker,
    scene_markers,
    voxel_marker,
    wrench_arrows,
)
from marine_sim_ros.ros.message_fields import is_finite, state_from, wrench_from
from marine_sim_ros.ros.moving_parts import PROPELLER_RATE, PropellerFrames

__all__ = ['main']

PARAMETERS = (
    NodeParameter('rate', 10.0, 'messages per second of simulated time', 0.01, 1e3, unit='Hz'),
    FORCE_SCALE,
    WRENCH_SOURCES,
    NodeParameter('voxels', True, 'show the voxels of the buoyancy'),
    NodeParameter('panels', True, 'show the panels of the hull'),
    PROPELLER_RATE,
)


class MarkersNode(VehicleNode):
    """Node that draws forces, hull and scene."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``markers``."""
        super().__init__('markers', PARAMETERS, **options)
        self._period = round(NANOSECONDS / self.values['rate'])
        self._published_at = -self._period
        self._wrenches: dict[str, np.ndarray] = {}
        self._markers = self.publisher(topics.MARKERS)
        self.follow_current()
        for source in (*self.wrench_sources, 'total'):
            self.listen(topics.wrench_topic(source), partial(self._on_wrench, source))
        self.listen(topics.ODOM, self._on_odom)
        self._propellers = PropellerFrames(self, self.values['propeller_rate'])
        environment = self.environment
        if environment.scene is not None or environment.free_bodies:
            # Latched, so over DDS: it also reaches late subscribers.
            self._scene = self.create_publisher(
                topics.SCENE_MARKERS.type, topics.SCENE_MARKERS.name, topics.SCENE_MARKERS.qos
            )
            self._scene.publish(scene_markers(environment.scene, 0, environment.free_bodies))

    def _on_wrench(self, source: str, message: WrenchStamped) -> None:
        wrench = wrench_from(message)
        if is_finite(wrench):
            self._wrenches[source] = wrench

    def _on_odom(self, message: Odometry) -> None:
        stamp = stamp_ns(message.header.stamp)
        if 0 <= stamp - self._published_at < self._period:
            return
        state = state_from(message)
        if state is None:
            return
        self._published_at = stamp
        self._publish(stamp, state)

    def _publish(self, stamp: int, state: State) -> None:
        environment = self.environment_at(stamp)
        forces = {**self._wrenches, 'weight': weight(self.vehicle, state, environment)}
        array = wrench_arrows(self.body_frame, stamp, forces, arrow_scale(self))
        hull = self.vehicle.hull
        if hull is not None and hull.voxels is not None and self.values['voxels']:
            fractions = submerged_fractions(hull.voxels, state, environment)
            array.markers.append(voxel_marker(self.body_frame, stamp, hull.voxels, fractions))
        if hull is not None and hull.panels is not None and self.values['panels']:
            fractions = wet_hull(hull.panels, state, environment).wet_fraction
            array.markers.append(panel_marker(self.body_frame, stamp, hull.panels, fractions))
        self._markers.publish(array)


def main() -> None:
    """Run the executable."""
    run(MarkersNode)


if __name__ == '__main__':
    main()
