# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hold of states while their node is away: the state node keeps them for a restarted one.

The state node publishes the last message of each state on a latched topic of its own when the node
that computes it has timed out, and before the run the state of a start. While that node runs the
message is empty, so that one that restarts waits instead of continuing from old states. A node
that restarts within the first 16 ticks, the depth of ``odom``, gets the first and begins anew.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from marine_sim_ros.core.state import State, stamp_ns
from marine_sim_ros.model.body_joints import reported_joints
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.message_fields import odometry_message, state_from

__all__ = [
    'BodyHoldListener',
    'HeldBodies',
    'HeldState',
    'HoldListener',
    'HoldPublisher',
    'held_bodies',
]


class HeldState(NamedTuple):
    """Topic of a state, function that returns its last valid message, and that of a start."""

    topic: topics.Topic
    last: Callable[[], Any]
    first: Any = None


class HoldPublisher:
    """Publishes the states of one node to hold, for the state node."""

    def __init__(self, node: VehicleNode, states: Iterable[HeldState]) -> None:
        """Create the publishers."""
        self._states = [(state, node.publisher(topics.kept(state.topic))) for state in states]

    def start(self, *, begun: bool) -> None:
        """Hold the last states; those of a start before the run has begun."""
        for state, out in self._states:
            last = state.last() if begun else None
            if (message := state.first if last is None else last) is not None:
                out.publish(message)

    def stop(self) -> None:
        """Release the states to the node that computes them."""
        for state, out in self._states:
            out.publish(state.topic.type())


class HoldListener:
    """Messages that the state node holds, by topic; None before the first."""

    def __init__(self, node: VehicleNode, held: Iterable[topics.Topic]) -> None:
        """Listen for the node that computes the states of some topics."""
        self.messages: dict[str, Any] = {}
        for topic in held:
            self.messages[topic.name] = None
            node.listen(topics.kept(topic), partial(self.messages.__setitem__, topic.name))


# States of free bodies while no node moves them.


def _body_topics(node: VehicleNode) -> list[topics.Topic]:
    """Return the topics of the states of all bodies, and of their joints."""
    environment = node.environment
    joints = reported_joints(environment.body_joints)
    odometry = [topics.body_odom(body.name) for body in environment.free_bodies]
    return [*odometry, *(topics.body_joint_states(name) for name in joints)]


class _LatestTick:
    """Messages of the newest tick that all of several topics have.

    A node that dies while it publishes a tick has published it on some of them only.
    """

    def __init__(self, node: VehicleNode, per_tick: Iterable[topics.Topic]) -> None:
        """Subscribe to the topics."""
        self._messages: dict[str, deque[Any]] = {}
        for topic in per_tick:
            self._messages[topic.name] = deque(maxlen=2)
            node.listen(topic, partial(self._take, topic.name))

    def _take(self, name: str, message: Any) -> None:
        self._messages[name].append(message)

    def message(self, name: str) -> Any:
        """Return the message on a topic by its name; None while one of the topics has none."""
        if not all(self._messages.values()):
            return None
        stamps = [stamp_ns(messages[-1].header.stamp) for messages in self._messages.values()]
        messages = self._messages[name]
        same = [m for m in messages if stamp_ns(m.header.stamp) == min(stamps)]
        return [*messages, *same][-1]


def held_bodies(node: VehicleNode) -> list[HeldState]:
    """Return the states of the bodies that the state node holds; before the run, of the start."""
    environment = node.environment
    first: dict[str, Any] = {}
    for body in environment.free_bodies:
        odometry = odometry_message(topics.body_frame_name(body.name), body.start)
        first[topics.body_odom(body.name).name] = odometry
    for joint in filter(attrgetter('is_reported'), environment.body_joints):
        message = first.setdefault(topics.body_joint_states(joint.child).name, JointState())
        message.name = [*message.name, joint.name]
        message.position.append(math.nan if joint.mate else 0.0)
    body_topics = _body_topics(node)
    latest = _LatestTick(node, body_topics)
    return [HeldState(t, partial(latest.message, t.name), first[t.name]) for t in body_topics]


class HeldBodies(NamedTuple):
    """States of all bodies at a stamp in ns, and positions of the joints, by name."""

    stamp: int
    states: dict[str, State]
    joints: dict[str, float]


class BodyHoldListener:
    """States of the bodies that the state node holds."""

    def __init__(self, node: VehicleNode) -> None:
        """Listen for the node that moves the bodies."""
        self._names = {topics.body_odom(b.name).name: b.name for b in node.environment.free_bodies}
        self._hold = HoldListener(node, _body_topics(node))

    @property
    def held(self) -> HeldBodies | None:
        """States and joints that are held; None while not all of them are."""
        messages = self._hold.messages
        if any(m is None or m == type(m)() for m in messages.values()):  # none, or released
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
