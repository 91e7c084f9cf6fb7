# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Force node: publishes the wrench of one force of ``physics.FORCES``, chosen by its name.

Takes the name of the force, which is the node's too: ``force buoyancy --ros-args ...``.
Subscribes: odom; joint_states and thrusters/state where the force needs them; the command topic of
the actuator that exerts the force (JointState).
Publishes: wrench/<name>, one per odom, same stamp; the state of such an actuator likewise.
Parameters: the common ones, and of an actuator scenario, servo_source and command_timeout.
Failure: an odom that is not finite is answered with a zero wrench and a warning. While
joint_states or thrusters/state is silent its last message holds; one of the wrong length or not
finite counts as the one before. A restarted node goes on from the last states of its actuators,
which the state node keeps (<actuator>/state/kept), and waits for them.
"""

from __future__ import annotations

from marine_sim_ros.ros.base.process import run_named
from marine_sim_ros.ros.force_node import ActuatorNode

__all__ = ['main']

ForceNode = ActuatorNode
"""Class that composed runs look up by the name of the executable. ``ActuatorNode`` serves forces
without an actuator too; those with topics of their own have other executables."""


def main() -> None:
    """Run the executable: ``force NAME [--ros-args ...]``."""
    run_named('force', ForceNode)


if __name__ == '__main__':
    main()
