# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where the joints of an arm go on from: the owner of the state knows it when their node dies.

The owner keeps the joints while nobody moves them: at rest before the run, and where they were
while ``manipulator`` is silent. While it lives the message is empty, so that a node that comes
back sooner than it was missed waits, instead of going on from older joints.
"""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState

from marine_sim_ros.ros.arm.joint_positions import ArmListener
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import finite

__all__ = ['JointKeeper', 'KeptJoints']


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
    def known(self) -> tuple[np.ndarray, np.ndarray, int] | None:
        """What is kept; None while the joints are not kept."""
        position = np.array(self._message.position, float)
        rate = np.array(self._message.velocity, float)
        n = self._count
        if min(len(position), len(rate)) < n or not (finite(position) and finite(rate)):
            return None
        return position[:n], rate[:n], int(position[n]) - 1 if len(position) > n else -1
