# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins: deflections in; lift and drag of the control surfaces out.

Subscribes: odom; fins/command (JointState: ``position`` in rad that named fins go to; fins not
named stay where they were sent); thrusters/state where the vehicle has thrusters.
Publishes, one per odom, same stamp: wrench/fins; fins/state (JointState: position in rad).
Parameters: the common ones, and those below.
Failure: a command with unknown fins or numbers that are not finite is ignored as a whole and
warned of; angles beyond the limits are clamped. The latest command holds, and ``command_timeout``
after it the fins go to 0. With ``servo_source: controller`` the command of the same stamp is
awaited for every odom. While thrusters/state is silent its last message holds.
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.force_node import ACTUATOR_PARAMETERS as PARAMETERS
from marine_sim_ros.ros.force_node import ActuatorNode

__all__ = ['PARAMETERS', 'FinsNode', 'main']


class FinsNode(ActuatorNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``fins``."""
        super().__init__('fins', **options)


def main() -> None:
    """Run the executable."""
    run(FinsNode)


if __name__ == '__main__':
    main()
