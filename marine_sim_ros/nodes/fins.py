# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins: deflections in; lift and drag of the control surfaces out.

Subscribes: odom; fins/command (JointState: ``position`` in rad of named fins; the others keep
their command); thrusters/state where the vehicle has thrusters.
Publishes, one per odom, same stamp: wrench/fins; fins/state (JointState: position in rad).
Parameters: the common ones, and those below.
Failure: a command with unknown fins or numbers that are not finite is ignored as a whole, with
a warning; angles beyond the limits are clamped. The latest command holds, and ``command_timeout``
after it the fins go to 0. With ``servo_source: controller`` every odom waits for the
command of its stamp. While thrusters/state is silent its last message holds. A restarted
node goes on from the last deflections, which the state node keeps (fins/state/kept).
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.force_node import ACTUATOR_PARAMETERS as PARAMETERS
from marine_sim_ros.ros.force_node import ActuatorNode

__all__ = ['PARAMETERS', 'main']


class FinsNode(ActuatorNode):
    """Node of the fins' force and servos."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``fins``."""
        super().__init__('fins', **options)


def main() -> None:
    """Run the executable."""
    run(FinsNode)


if __name__ == '__main__':
    main()
