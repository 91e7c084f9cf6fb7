# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy: of voxels that follow the sea, or ρ g V of one volume lost at the surface.

Subscribes: odom; joint_states where the vehicle has an arm. Publishes: wrench/buoyancy, one per
odom, same stamp.
Parameters: the common ones (``ros2 param describe /bluerov2/buoyancy ...`` tells them).
Failure: an odom that is not finite is answered with a zero wrench and a warning. Where the arm is
silent its last joint positions hold.
"""

from __future__ import annotations

from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics import FORCES
from marine_sim_ros.physics.manipulator import posed
from marine_sim_ros.ros.arm import ArmFollower
from marine_sim_ros.ros.node import ForceNode
from marine_sim_ros.ros.process import run

__all__ = ['BuoyancyNode', 'main']


class BuoyancyNode(ForceNode):
    """The node."""

    def __init__(self, **options: object) -> None:
        """Create it as ``buoyancy``."""
        super().__init__('buoyancy', **options)
        self._arm = ArmFollower(self, self._answer) if self.vehicle.manipulator else None

    def on_state(self, stamp: int, state: State) -> None:
        """Answer at once, or when the arm has told where it is."""
        if self._arm is None:
            super().on_state(stamp, state)
        else:
            self._arm.wait(stamp, state)

    def _answer(self, stamp: int, state: State) -> None:
        super().on_state(stamp, state)

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Return the buoyancy of a state."""
        vehicle = posed(self.vehicle, None if self._arm is None else self._arm.poses)
        return FORCES['buoyancy'](vehicle, state, self.environment_at(stamp))


def main() -> None:
    """Run the executable."""
    run(BuoyancyNode)


if __name__ == '__main__':
    main()
