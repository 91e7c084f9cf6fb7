# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy: of voxels that follow the sea, or ρ g V of one volume lost at the surface.

Subscribes: odom. Publishes: wrench/buoyancy, one per odom, same stamp.
Parameters: the common ones (``ros2 param describe /bluerov2/buoyancy ...`` tells them).
Failure: an odom that is not finite is answered with a zero wrench and a warning.
"""

from __future__ import annotations

from marine_sim_ros.physics import FORCES
from marine_sim_ros.ros.node import ForceNode
from marine_sim_ros.ros.process import run
from marine_sim_ros.state import State, Wrench

__all__ = ['BuoyancyNode', 'main']


class BuoyancyNode(ForceNode):
    """The node."""

    def __init__(self, **options: object) -> None:
        """Create it as ``buoyancy``."""
        super().__init__('buoyancy', **options)

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Return the buoyancy of a state."""
        return FORCES['buoyancy'](self.vehicle, state, self.environment_at(stamp))


def main() -> None:
    """Run the executable."""
    run(BuoyancyNode)


if __name__ == '__main__':
    main()
