# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drag: linear and quadratic damping, relative to the water.

Subscribes: odom; /ocean_current (Vector3Stamped in map, m/s: the latest holds; the parameter
``current`` is the same for every node and keeps runs reproducible). Publishes: wrench/drag, one
per odom, same stamp.
Parameters: the common ones (``ros2 param describe /bluerov2/drag ...`` tells them).
Failure: an odom that is not finite is answered with a zero wrench and a warning.
"""

from __future__ import annotations

from marine_sim_ros.physics import FORCES
from marine_sim_ros.ros.node import ForceNode
from marine_sim_ros.ros.process import run
from marine_sim_ros.state import State, Wrench

__all__ = ['DragNode', 'main']


class DragNode(ForceNode):
    """The node."""

    def __init__(self, **options: object) -> None:
        """Create it as ``drag``."""
        super().__init__('drag', **options)

    def wrench(self, state: State) -> Wrench:
        """Return the drag of a state."""
        return FORCES['drag'](self.vehicle, state, self.environment)


def main() -> None:
    """Run the executable."""
    run(DragNode)


if __name__ == '__main__':
    main()
