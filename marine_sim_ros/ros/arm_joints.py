# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint positions of an arm: listeners, and their keeper in the owner of the state.

The owner keeps the joints while no node moves them: at rest before the run, and at their last
positions after a time-out of ``manipulator``. While that node runs the message is empty, so a node
that restarts before the time-out waits instead of continuing from old positions.
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

__all__ = ['ArmFollower', 'ArmListener', 'JointKeeper', 'KeptJoints']


# Listener of the arm's joint positions.


class ArmListener:
    """Knows the joint positions (n,), their stamp (ns) and message; ignores unusable ones."""

    def __init__(self, node: SuiteNode, heard: Callable[[int], None]) -> None:
        """Listen for a node whose vehicle has an arm; ``heard`` is called with each stamp."""
        arm = node.vehicle.manipulator
        assert arm is not None
        self._node = node
        self._heard = heard
        self.position = np.zeros(len(arm))
        self._held: int | None = None
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
            position, held = position[: len(self.position)], position[len(self.position) :]
            self._hold(held)
        if len(position) == len(self.position) and is_finite(position):
            self.position, self.last = position, message
        else:
            self._node.warn_throttled(
                f'joint_states: expected {len(self.position)} finite positions; the last hold'
            )
        self.stamp = stamp_ns(message.header.stamp)
        self._heard(self.stamp)

    def _hold(self, held: np.ndarray) -> None:
        """Take the number (1,) of the payload that is held; 0: none."""
        count = len(self._node.environment.payloads)
        number = float(held[0]) if len(held) == 1 else -1.0
        if number not in range(count + 1):
            self._node.warn_throttled(
                f'joint_states: {GRIPPER} is {number:g}; expected a whole number from 0 to '
                f"{count}, the environment's payloads; the last holds"
            )
        elif number != self._held:
            self._held = int(number)
            node = self._node
            self._load = (
                gripper_load(node.vehicle, node.environment, self._held - 1) if number else None
            )


class ArmFollower:
    """Answers each state with the joint positions of its stamp."""

    def __init__(self, node: SuiteNode, answer: Callable[[int, State], None]) -> None:
        """Listen for a node whose vehicle has an arm."""
        self._arm = ArmListener(node, lambda stamp: self._pairing.second(stamp, None))
        self._pairing: PairSynchronizer[State, None] = PairSynchronizer(
            lambda stamp, state, _: answer(stamp, state), None
        )

    @property
    def poses(self) -> Poses:
        """Present positions of the joints."""
        return self._arm.poses

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state when the joints of its stamp are known."""
        self._pairing.first(stamp, state)


# Keeper of joint positions: the state owner restores them when the arm's node restarts.


class JointKeeper:
    """The owner's end."""

    def __init__(self, node: SuiteNode, arm: ArmListener) -> None:
        """Keep the joints of a node's vehicle that a listener hears of."""
        assert node.vehicle.manipulator is not None
        names = list(node.vehicle.manipulator.names)
        none = [0.0] * len(names)
        self._rest = JointState(name=names, position=none, velocity=none)
        self._arm = arm
        self._out = node.publisher(topics.KEPT_JOINTS)

    def keep(self, *, begun: bool) -> None:
        """Keep the joints where they were last; at rest before the run has begun."""
        last = self._arm.last if begun else None
        self._out.publish(self._rest if last is None else last)

    def give(self) -> None:
        """Leave them to the node that moves them."""
        self._out.publish(JointState())


class KeptJoints:
    """The end of the node that moves them: positions and rates (n,), payload held or −1."""

    def __init__(self, node: SuiteNode) -> None:
        """Listen for a node whose vehicle has an arm."""
        assert node.vehicle.manipulator is not None
        self._count = len(node.vehicle.manipulator)
        self._message = JointState()
        node.listen(topics.KEPT_JOINTS, self._on_kept)

    def _on_kept(self, message: JointState) -> None:
        self._message = message

    @property
    def kept_positions(self) -> tuple[np.ndarray, np.ndarray, int] | None:
        """Kept positions; None while the joints are not kept."""
        position = np.array(self._message.position, float)
        rate = np.array(self._message.velocity, float)
        n = self._count
        if min(len(position), len(rate)) < n or not (is_finite(position) and is_finite(rate)):
            return None
        return position[:n], rate[:n], int(position[n]) - 1 if len(position) > n else -1
