# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drag: damping, and the forces on the hull's panels, relative to the water.

Subscribes: odom; /ocean_current (Vector3Stamped in map, m/s: the latest holds; the parameter
``current`` is the same for every node and keeps runs reproducible). Publishes: wrench/drag, one
per odom, same stamp; with ``publish_components`` also drag/<kind> (WrenchStamped: damping,
viscous, pressure, suction, slamming, air; they sum to wrench/drag) and drag/components (the same
as a MarkerArray of arrows).
Parameters: the common ones, and those below.
Failure: an odom that is not finite is answered with a zero wrench and a warning. Slamming is a
rate of change: it is zero in the first tick after a start, and after time went back.
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.physics.drag import drag_components
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.parameters import option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.force_node import ForceTick, ModelNode
from marine_sim_ros.ros.markers import FORCE_SCALE, arrow_scale, wrench_arrows

__all__ = ['main']

PARAMETERS = (option_parameter('publish_components'), FORCE_SCALE)


class DragNode(ModelNode):
    """Node of the drag force."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``drag``."""
        super().__init__('drag', PARAMETERS, **options)
        self._components: dict[str, SpatialPublisher] = {}
        if self.values['publish_components']:
            self._components = {
                kind: SpatialPublisher(self, topics.drag_topic(kind)) for kind in topics.DRAG_KINDS
            }
            self._arrows = self.publisher(topics.DRAG_COMPONENTS)

    @property
    def has_watchers(self) -> bool:
        """Whether the kinds of drag are published."""
        return bool(self._components)

    def on_wrench(self, tick: ForceTick) -> None:
        """Publish the kinds of drag if the option is on."""
        if not self.has_watchers:
            return
        kinds, _ = drag_components(
            self.vehicle, tick.state, tick.environment, tick.before, dt=tick.dt
        )
        for kind, wrench in kinds.items():
            self._components[kind].publish(tick.stamp, wrench)
        self._arrows.publish(wrench_arrows(self.body_frame, tick.stamp, kinds, arrow_scale(self)))


def main() -> None:
    """Run the executable."""
    run(DragNode)


if __name__ == '__main__':
    main()
