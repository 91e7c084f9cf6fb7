# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a ground station's pilot commands, on the topics of our controller."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist, Wrench

from marine_sim_ros.autopilot.mavlink_vehicle import SetPoint
from marine_sim_ros.control.allocation import PilotMixer
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.operators.command_publisher import full_stick

__all__ = ['HOLDS', 'MavlinkCommands']

HOLDS = {
    'manual': (),
    'stabilize': ('auto_heading',),
    'alt_hold': ('auto_depth', 'auto_heading'),
    'poshold': ('auto_depth', 'auto_heading', 'station_keeping'),
    'guided': (),
}
"""Functions of the controller that are on in a mode."""


class MavlinkCommands:
    """Publishes sticks as wrenches or velocities, and set-points as poses or velocities."""

    def __init__(self, node: SuiteNode) -> None:
        """Make the publishers; the node has the parameters ``STICKS``."""
        self._thrusters, self._top = node.vehicle.thrusters, full_stick(node)
        self._mixer = PilotMixer(node.vehicle.thrusters)
        self._velocity = node.publisher(topics.COMMAND_VELOCITY)
        self._wrench = node.publisher(topics.COMMAND_WRENCH)
        self._pose = node.publisher(topics.COMMAND_POSE)

    def push(self, efforts: np.ndarray) -> None:
        """Publish the wrench that the thrusters make of efforts (6,), −1 to 1."""
        thrust = self._thrusters.thrust_of_pwm(self._mixer.pwm(efforts))
        message = Wrench()
        f, t = message.force, message.torque
        f.x, f.y, f.z, t.x, t.y, t.z = (self._thrusters.effectiveness @ thrust).tolist()
        self._wrench.publish(message)

    def drive(self, efforts: np.ndarray) -> None:
        """Publish efforts (6,), −1 to 1, as shares of the velocities of full stick."""
        self._drive(efforts * self._top)

    def go(self, target: SetPoint) -> None:
        """Publish a set-point: a pose, or a velocity where it has no position."""
        if target.position is None:
            assert target.velocity is not None
            self._drive(np.array([*target.velocity, 0.0, 0.0, 0.0]))
            return
        message = PoseStamped()
        message.header.frame_id = 'map'
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = target.position
        q.x, q.y, q.z, q.w = quaternion_from_rpy(0.0, 0.0, target.yaw).tolist()  # NaN frees it
        self._pose.publish(message)

    def _drive(self, velocity: np.ndarray) -> None:
        message = Twist()
        v, w = message.linear, message.angular
        v.x, v.y, v.z, w.x, w.y, w.z = velocity.tolist()
        self._velocity.publish(message)
