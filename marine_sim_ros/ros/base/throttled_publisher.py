# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A hidden second topic beside each per-tick one, for who only looks: the newest, now and then."""

from __future__ import annotations

import time
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from marine_sim_ros.ros.base.internals import peer_counter
from marine_sim_ros.ros.messages.topics import Topic

__all__ = ['NEWEST', 'ThrottledPublisher', 'throttled_name']

PERIOD = 0.04
"""s of wall time between messages, at least."""
NEWEST = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE
)
"""The middleware keeps one message, and no writer waits for an acknowledgement."""


def throttled_name(name: str) -> str:
    """Return the hidden topic beside one of a vehicle's."""
    return f'_slow/{name}'


class ThrottledPublisher:
    """A publisher of every tick that sends some of it to the hidden topic too, where one looks.

    What was held back, :meth:`catch_up` sends: else who looks at a run that was paused would never
    see its last tick.
    """

    def __init__(self, node: Node, topic: Topic, publisher: Any) -> None:
        """Stand in front of the publisher of a per-tick topic."""
        self._publisher = publisher
        self._slow = node.create_publisher(topic.type, throttled_name(topic.name), NEWEST)
        self._lookers = peer_counter(self._slow, 'get_subscription_count')
        self._due = 0.0
        self._held: Any = None
        self.topic_name = publisher.topic_name

    @property
    def wanted(self) -> bool:
        """Whether anybody gets the next message."""
        return bool(self._publisher.wanted) or self._lookers() > 0

    @property
    def wants_bytes(self) -> bool:
        """Whether anybody outside gets the next message, or a recorder of this process."""
        return bool(self._publisher.wants_bytes) or self._lookers() > 0

    @property
    def handled(self) -> bool:
        """Whether a node of this process gets the next message as an object."""
        return bool(self._publisher.handled)

    def publish_numbers(self, stamp: int, numbers: Any) -> None:
        """Give stamp (ns) and numbers of a message to those on the bus who read no more of it."""
        self._publisher.publish_numbers(stamp, numbers)

    def deliver(self, message: Any) -> None:
        """Give a message to the nodes of this process that take it as an object."""
        self._publisher.deliver(message)

    def publish(self, message: Any) -> None:
        """Publish a message."""
        self._publisher.publish(message)
        self._held = message
        if time.monotonic() >= self._due:
            self.catch_up()

    def catch_up(self) -> None:
        """Send the newest message to the hidden topic, where that has not been done."""
        message, self._held = self._held, None
        self._due = time.monotonic() + PERIOD
        if message is not None and self._lookers():
            self._slow.publish(message)

    def wait_for_all_acked(self, timeout: Any) -> bool:
        """Wait until everybody who listens to every tick has it; return whether they do."""
        return bool(self._publisher.wait_for_all_acked(timeout))

    def get_subscription_count(self) -> int:
        """Return how many listen to every tick."""
        return int(self._publisher.get_subscription_count())
