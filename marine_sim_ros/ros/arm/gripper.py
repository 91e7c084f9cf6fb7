# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The gripper of a node that drives an arm: its services, and what a scenario says."""

from __future__ import annotations

from typing import NamedTuple

from geometry_msgs.msg import Pose, PoseArray
from std_srvs.srv import Trigger

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.physics.arm.gripping import Gripping
from marine_sim_ros.physics.arm.manipulator import ArmMemory, JointMotion
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import set_stamp

__all__ = ['ArmTick', 'GripperServer']


class ArmTick(NamedTuple):
    """What the latest tick of an arm left behind; time in s."""

    time: float
    state: State
    joints: JointMotion
    memory: ArmMemory | None


class GripperServer:
    """Takes and releases payloads between two ticks.

    Attributes:
        gripping: what is held.
        tick: latest tick, set by the node after each; None before the first.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Offer ``attach`` and ``detach`` for a node.

        Raises:
            ParameterError: the gripper is on a joint that does not exist.
        """
        self._node = node
        self.restart()
        needed = node.values['seen'] or 'payloads' in topics.sensor_needs(node.vehicle)
        self._places = node.publisher(topics.PAYLOADS) if needed else None
        node.create_service(Trigger, 'attach', self._on_attach)
        node.create_service(Trigger, 'detach', self._on_detach)

    def restart(self) -> None:
        """Begin anew: nothing is held, and payloads are where they are declared."""
        self.gripping = Gripping(self._node.vehicle, self._node.environment)
        self.tick: ArmTick | None = None

    def tell(self, stamp: int, state: State, joints: JointMotion) -> None:
        """Publish where the payloads are at a stamp in ns, where a sensor needs it."""
        if self._places is None:
            return
        message = PoseArray()
        message.header.frame_id = 'map'
        set_stamp(message.header.stamp, stamp)
        for row in self.gripping.places(state, joints, stamp / NANOSECONDS).tolist():
            pose = Pose()
            place, turn = pose.position, pose.orientation
            place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w = row
            message.poses.append(pose)
        self._places.publish(message)

    def follow(self, closed: bool, tick: ArmTick) -> ArmMemory | None:
        """Follow a scenario; return the arm's momentum without what was released."""
        text, done, memory = self.gripping.follow(
            closed, tick.state, tick.joints, tick.memory, tick.time
        )
        if text:
            self._log(done, text)
        return memory

    def _log(self, done: bool, text: str) -> None:
        # One line for each severity: rclpy takes no other at a place that has logged once.
        if done:
            self._node.get_logger().info(text)
        else:
            self._node.get_logger().warning(text)

    def _on_attach(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.tick is None:
            response.message = 'attach: no odom yet; expected a running simulation'
            return response
        time, state, joints, _ = self.tick
        response.success, response.message = self.gripping.attach(state, joints, time)
        self._log(response.success, response.message)
        return response

    def _on_detach(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.tick is None:
            response.message = 'detach: the gripper holds nothing'
            return response
        time, state, joints, memory = self.tick
        response.success, response.message, memory = self.gripping.detach(
            state, joints, memory, time
        )
        self.tick = self.tick._replace(memory=memory)
        self._log(response.success, response.message)
        return response
