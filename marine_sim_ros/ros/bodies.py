# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States of free bodies while no node moves them: see :mod:`marine_sim_ros.ros.holds`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from marine_sim_ros.core.state import State, stamp_ns
from marine_sim_ros.model.body_joints import reported_joints
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.holds import HeldState, HoldListener, latest_message
from marine_sim_ros.ros.message_fields import state_from

__all__ = ['BodyHoldListener', 'HeldBodies', 'held_bodies']


def _body_topics(node: SuiteNode) -> list[topics.Topic]:
    """Return the topics of the states of all bodies, and of their joints."""
    environment = node.environment
    joints = reported_joints(environment.body_joints)
    odometry = [topics.body_odom(body.name) for body in environment.free_bodies]
    return [*odometry, *(topics.body_joint_states(name) for name in joints)]


def held_bodies(node: SuiteNode) -> list[HeldState]:
    """Return the states of the bodies that the state node holds."""
    return [HeldState(topic, latest_message(node, topic)) for topic in _body_topics(node)]


class HeldBodies(NamedTuple):
    """States of all bodies at a stamp in ns, and positions of the joints, by name."""

    stamp: int
    states: dict[str, State]
    joints: dict[str, float]


class BodyHoldListener:
    """States of the bodies that the state node holds."""

    def __init__(self, node: SuiteNode) -> None:
        """Listen for the node that moves the bodies."""
        self._names = {topics.body_odom(b.name).name: b.name for b in node.environment.free_bodies}
        self._hold = HoldListener(node, _body_topics(node))

    @property
    def held(self) -> HeldBodies | None:
        """States and joints that are held; None while not all of them are."""
        messages = self._hold.messages
        if any(m is None or not stamp_ns(m.header.stamp) for m in messages.values()):
            return None
        states: dict[str, State] = {}
        joints: dict[str, float] = {}
        for topic, message in messages.items():
            if isinstance(message, Odometry):
                if (state := state_from(message)) is None:
                    return None
                states[self._names[topic]] = state
            elif isinstance(message, JointState):
                joints |= dict(zip(message.name, map(float, message.position), strict=False))
        stamps = [stamp_ns(message.header.stamp) for message in messages.values()]
        return HeldBodies(int(np.max(stamps)), states, joints)
