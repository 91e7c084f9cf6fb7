# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint positions of an arm: subscribers, and their hold while the arm's node is not running.

The state node publishes held positions while no node moves the joints: zero before the run, and
the last positions after a time-out of ``manipulator``. While that node runs the message is empty,
so a node that restarts before the time-out waits instead of continuing from old positions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sensor_msgs.msg import JointState

from marine_sim_ros.core.state import State, stamp_ns
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.physics.arm.links import Load, Poses, gripper_load, link_poses
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.codecs import is_finite
from marine_sim_ros.ros.ticks import PairSynchronizer

__all__ = ['ArmFollower', 'ArmListener', 'JointHoldPublisher', 'JointHoldListener']


# Listener of the arm's joint positions.


class ArmListener:
    """Latest valid joint positions (n,), rad or m, with their stamp (ns) and message."""

    def __init__(self, node: SuiteNode, on_stamp: Callable[[int], None]) -> None:
        """Subscribe for a node whose vehicle has an arm; call ``on_stamp`` with each stamp, ns."""
        arm = node.vehicle.manipulator
        assert arm is not None
        self._node = node
        self._on_stamp = on_stamp
        self.position = np.zeros(len(arm))
        self._payload: int | None = None
        self._load: Load | None = None
        self.stamp = -1
        self.last: JointState | None = None
        node.listen(topics.JOINT_STATES, self._on_joints)

    @property
    def poses(self) -> Poses:
        """Present positions of the joints, and the gripped payload."""
        assert self._node.vehicle.manipulator is not None
        poses = link_poses(self._node.vehicle.manipulator, self.position)
        return poses._replace(load=self._load)

    def _on_joints(self, message: JointState) -> None:
        position = np.array(message.position, float)
        if list(message.name)[len(self.position) :] == [GRIPPER]:
            position, payload = position[: len(self.position)], position[len(self.position) :]
            self._take_payload(payload)
        if len(position) == len(self.position) and is_finite(position):
            self.position, self.last = position, message
        else:
            self._node.warn_throttled(
                f'joint_states: expected {len(self.position)} finite positions; the last hold'
            )
        self.stamp = stamp_ns(message.header.stamp)
        self._on_stamp(self.stamp)

    def _take_payload(self, numbers: np.ndarray) -> None:
        """Store the number (1,) of the gripped payload, counted from 1; 0: none."""
        count = len(self._node.environment.payloads)
        number = float(numbers[0]) if len(numbers) == 1 else -1.0
        if number not in range(count + 1):
            self._node.warn_throttled(
                f'joint_states: {GRIPPER} is {number:g}; expected a whole number from 0 to '
                f"{count}, the environment's payloads; the last holds"
            )
        elif number != self._payload:
            self._payload = int(number)
            node = self._node
            self._load = (
                gripper_load(node.vehicle, node.environment, self._payload - 1) if number else None
            )


class ArmFollower:
    """Answers each state with the joint positions of its stamp."""

    def __init__(self, node: SuiteNode, answer: Callable[[int, State], None]) -> None:
        """Listen for a node whose vehicle has an arm."""
        self._arm = ArmListener(node, lambda stamp: self._synchronizer.second(stamp, None))
        self._synchronizer: PairSynchronizer[State, None] = PairSynchronizer(
            lambda stamp, state, _: answer(stamp, state), None
        )

    @property
    def poses(self) -> Poses:
        """Present positions of the joints."""
        return self._arm.poses

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state when the joints of its stamp have arrived."""
        self._synchronizer.first(stamp, state)


# Hold of joint positions: the state node publishes them, the arm's node starts from them.


class JointHoldPublisher:
    """Publishes the positions to hold, for the state node."""

    def __init__(self, node: SuiteNode, arm: ArmListener) -> None:
        """Create the publisher.

        Args:
            arm: subscriber to the positions to hold.
        """
        assert node.vehicle.manipulator is not None
        names = list(node.vehicle.manipulator.names)
        zeros = [0.0] * len(names)
        self._zero = JointState(name=names, position=zeros, velocity=zeros)
        self._arm = arm
        self._out = node.publisher(topics.KEPT_JOINTS)

    def start(self, *, begun: bool) -> None:
        """Hold the joints at their last positions; at zero before the run has begun."""
        last = self._arm.last if begun else None
        self._out.publish(self._zero if last is None else last)

    def stop(self) -> None:
        """Release the joints to the node that moves them."""
        self._out.publish(JointState())


class JointHoldListener:
    """Positions and rates (n,) held by the state node, and the gripped payload, or −1."""

    def __init__(self, node: SuiteNode) -> None:
        """Listen for a node whose vehicle has an arm."""
        assert node.vehicle.manipulator is not None
        self._count = len(node.vehicle.manipulator)
        self._message = JointState()
        node.listen(topics.KEPT_JOINTS, self._on_hold)

    def _on_hold(self, message: JointState) -> None:
        self._message = message

    @property
    def held_positions(self) -> tuple[np.ndarray, np.ndarray, int] | None:
        """Positions and rates (n,), payload number or −1; None while nothing is held."""
        position = np.array(self._message.position, float)
        rate = np.array(self._message.velocity, float)
        n = self._count
        if min(len(position), len(rate)) < n or not (is_finite(position) and is_finite(rate)):
            return None
        return position[:n], rate[:n], int(position[n]) - 1 if len(position) > n else -1
