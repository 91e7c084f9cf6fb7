# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes what an autopilot commands besides thrusters: lights, camera tilt, gripper, joints."""

from __future__ import annotations

from collections.abc import Mapping

from sensor_msgs.msg import JointState
from std_msgs.msg import Float32MultiArray

from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import set_stamp

__all__ = ['ServoPublisher']


class ServoPublisher:
    """Publishes values where they change: on servos, and on the topics of what they move."""

    def __init__(self, node: SuiteNode) -> None:
        """Make the publishers."""
        self._servos = node.publisher(topics.SERVOS)
        self._lights = node.publisher(topics.LIGHTS)
        self._joints = node.publisher(topics.ARM_COMMANDS)
        self._light_count = sum('light' in frame.name for frame in node.vehicle.frames)
        arm = node.vehicle.manipulator
        self._arm = () if arm is None else arm.names
        self._values: Mapping[str, float] = {}

    def publish(self, stamp: int, values: Mapping[str, float]) -> None:
        """Publish values by the name of the device, with a stamp in ns."""
        if values == self._values:
            return
        self._values = values
        message = JointState(name=list(values), position=list(values.values()))
        set_stamp(message.header.stamp, stamp)
        self._servos.publish(message)
        if 'lights' in values and self._light_count:
            self._lights.publish(Float32MultiArray(data=[values['lights']] * self._light_count))
        joints = [name for name in values if name in self._arm]
        if joints:
            self._joints.publish(JointState(name=joints, position=[values[n] for n in joints]))
