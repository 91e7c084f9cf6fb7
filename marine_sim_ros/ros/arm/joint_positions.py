# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint positions of the arm, for nodes that need them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sensor_msgs.msg import JointState

from marine_sim_ros.core.state import State
from marine_sim_ros.model.arm.gripper import GRIPPER
from marine_sim_ros.physics.arm.manipulator import Poses, link_poses
from marine_sim_ros.physics.arm.payload import Load, load_of
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import finite, stamp_ns
from marine_sim_ros.ros.ticks.pairing import Pairing

__all__ = ['ArmFollower', 'ArmListener']


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
        """Where the joints are now, and what the gripper holds."""
        assert self._node.vehicle.manipulator is not None
        poses = link_poses(self._node.vehicle.manipulator, self.position)
        return poses._replace(load=self._load)

    def _on_joints(self, message: JointState) -> None:
        position = np.array(message.position, float)
        if list(message.name)[len(self.position) :] == [GRIPPER]:
            position, held = position[: len(self.position)], position[len(self.position) :]
            self._hold(held)
        if len(position) == len(self.position) and finite(position):
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
                load_of(node.vehicle, node.environment, self._held - 1) if number else None
            )


class ArmFollower:
    """Answers each state with the joint positions of its stamp."""

    def __init__(self, node: SuiteNode, answer: Callable[[int, State], None]) -> None:
        """Listen for a node whose vehicle has an arm."""
        self._arm = ArmListener(node, lambda stamp: self._pairing.second(stamp, None))
        self._pairing: Pairing[State, None] = Pairing(
            lambda stamp, state, _: answer(stamp, state), None
        )

    @property
    def poses(self) -> Poses:
        """Where the joints are now."""
        return self._arm.poses

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state when the joints of its stamp are known."""
        self._pairing.first(stamp, state)
