# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint commands and gripper of the node that moves an arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Pose, PoseArray
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.model.arm import BANDWIDTH
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.arm.gripping import Gripping
from marine_sim_ros.physics.arm.manipulator import (
    JOINT_EFFORTS,
    JOINTS,
    ArmMemory,
    JointMotion,
    joints_at_rest,
)
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.arm_joints import KeptJoints
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.codecs import is_finite, set_stamp
from marine_sim_ros.sim.player import actuator_target
from marine_sim_ros.sim.scenario import Scenario

__all__ = ['ArmTick', 'GripperServer', 'JointCommands']


# Joint commands of an arm, from joint_commands or a scenario.

COMMAND_TIMEOUT = 0.5
"""s that a commanded joint velocity or effort lasts."""


class JointCommands:
    """Listens to joint_commands; positions stay, velocities and efforts last for half a second."""

    def __init__(self, node: SuiteNode, scenario: Scenario | None) -> None:
        """Listen for a node whose vehicle has an arm.

        Args:
            scenario: that the joints follow instead, or None.
        """
        self._node, self._scenario = node, scenario
        assert node.vehicle.manipulator is not None
        self._arm = node.vehicle.manipulator
        chain = self._arm.articulation
        self._by_effort = chain is not None
        self._bandwidth = BANDWIDTH if chain is None else chain.bandwidth
        self.restart()
        self._kept = KeptJoints(node) if node.bus is None else None
        node.listen(topics.ARM_COMMANDS, self._on_command)

    def restart(self) -> None:
        """Forget commands: the run begins anew."""
        self.joints = joints_at_rest(self._arm)
        """Positions of the joints, set by the node that moves them."""
        self.stamp: int | None = None
        """Of ``joints``, ns; None before the first tick."""
        self._target = np.zeros(len(self._arm))
        self._rate = np.zeros(len(self._arm))
        self._rate_until = self._effort_until = -1
        self._effort = np.full(len(self._arm), np.nan)

    def begin(self, stamp: int) -> int | None:
        """Begin at a stamp in ns, at rest or where the joints were before this node came back.

        Returns:
            number of the payload that the gripper held, −1: none; None: the joints are not known.
        """
        if not stamp or self._kept is None:
            return -1
        known = self._kept.kept_positions
        if known is None:
            return None
        position, rate, held = known
        self.joints, self._target = JointMotion(position, rate), position.copy()
        return held

    def _on_command(self, message: JointState) -> None:
        unknown = [name for name in message.name if name not in self._arm.names]
        for what in ('position', 'velocity', 'effort'):
            values = getattr(message, what)
            if unknown or (values and len(values) != len(message.name)):
                self._node.warn_throttled(
                    f'joint_commands: {what} of {list(message.name)}; expected one number for '
                    f'each of some of: {", ".join(self._arm.names)}; ignored'
                )
                return
            if not is_finite(np.array(values, float)):
                self._node.warn_throttled(f'joint_commands: {what} is not finite; ignored')
                return
        places = [self._arm.names.index(name) for name in message.name]
        if message.position:
            self._target[places] = message.position
            self._rate = np.zeros(len(self._arm))
            self._effort[places] = np.nan
        elif message.velocity:
            # A joint with a new speed command starts from where it is, braking room included.
            fresh = (
                np.ones(len(places), bool)
                if (self.stamp or 0) >= self._rate_until
                else (self._rate[places] != np.array(message.velocity))
            )
            self._target[places] = np.where(fresh, self._stops[places], self._target[places])
            self._rate = np.zeros(len(self._arm))
            self._rate[places] = message.velocity
            self._rate_until = (self.stamp or 0) + round(COMMAND_TIMEOUT * NANOSECONDS)
            self._effort[places] = np.nan
        elif message.effort and not self._by_effort:
            self._node.warn_throttled(
                'joint_commands: effort for a kinematic arm; expected position or velocity, or '
                '<manipulator dynamics="articulated">; ignored'
            )
        elif message.effort:
            self._effort[places] = message.effort
            self._effort_until = (self.stamp or 0) + round(COMMAND_TIMEOUT * NANOSECONDS)

    @property
    def _stops(self) -> np.ndarray:
        """Positions (n,) where the joints can stop, braking distance included."""
        return self.joints.position + self.joints.rate / self._bandwidth

    def target_positions(self, stamp: int, dt: float) -> np.ndarray:
        """Return target positions (n,), rad, at a stamp in ns, dt (s) after the last."""
        if self._scenario is not None:
            return self._scenario_command(JOINTS, self._scenario, stamp)
        if stamp < self._rate_until:
            moved = self._target + dt * np.clip(
                self._rate, -self._arm.max_rate, self._arm.max_rate
            )
            self._target = np.clip(moved, self._arm.lower, self._arm.upper)
            if self._by_effort:  # a joint that is blocked is not left behind
                room = self._arm.max_rate / self._bandwidth
                here = self.joints.position
                self._target = np.clip(self._target, here - room, here + room)
        return self._target

    def _scenario_command(self, actuator: Actuator, scenario: Scenario, stamp: int) -> np.ndarray:
        return actuator_target(actuator, scenario, self._node.vehicle, stamp / NANOSECONDS)

    def efforts(self, stamp: int) -> np.ndarray | None:
        """Return the efforts (n,) that joints give at a stamp in ns, NaN: they go to a position.

        None where the arm is kinematic. A joint whose effort has run out stays where it is.
        """
        if not self._by_effort:
            return None
        if self._scenario is not None:
            return self._scenario_command(JOINT_EFFORTS, self._scenario, stamp)
        if stamp >= self._effort_until:
            self._target = np.where(np.isnan(self._effort), self._target, self._stops)
            self._effort = np.full(len(self._arm), np.nan)
        return self._effort


# Gripper of an arm's node: services, and commands of a scenario.


class ArmTick(NamedTuple):
    """Result of the latest tick of an arm; time in s."""

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
