# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands of a MAVLink autopilot, on the topics of our controller."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Wrench
from sensor_msgs.msg import JointState

from marine_sim_ros.autopilot.mavlink.autopilot import Efforts, SetPoints
from marine_sim_ros.control.controllability import PilotMixer
from marine_sim_ros.control.setpoints import QUANTITIES
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['MavlinkCommands']


class MavlinkCommands:
    """Publishes efforts as wrenches, and set-points as they are."""

    def __init__(self, node: SuiteNode) -> None:
        """Make the publishers."""
        self._thrusters = node.vehicle.thrusters
        self._mixer = PilotMixer(node.vehicle.thrusters)
        self._wrench = node.publisher(topics.COMMAND_WRENCH)
        self._setpoints = node.publisher(topics.COMMAND_SETPOINTS)

    def send(self, command: Efforts | SetPoints) -> None:
        """Publish a command."""
        if isinstance(command, SetPoints):
            targets = command.targets.tolist()
            self._setpoints.publish(JointState(name=list(QUANTITIES), position=targets))
        else:
            self._push(command.efforts)

    def _push(self, efforts: np.ndarray) -> None:
        """Publish the wrench that the thrusters make of efforts (6,), −1 to 1."""
        thrust = self._thrusters.thrust_of_pwm(self._mixer.pwm(efforts))
        message = Wrench()
        f, t = message.force, message.torque
        f.x, f.y, f.z, t.x, t.y, t.z = (self._thrusters.effectiveness @ thrust).tolist()
        self._wrench.publish(message)
