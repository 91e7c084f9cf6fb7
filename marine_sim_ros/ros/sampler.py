# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Looks at topics when asked, however often they are sent: only what is looked at costs Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.topics import Topic

__all__ = ['Sampler']

NEWEST = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE
)
"""The middleware keeps one message, and no writer waits for an acknowledgement."""


class Sampler:
    """Subscriptions of a hidden node that no executor serves."""

    def __init__(self, node: SuiteNode, topics: Iterable[Topic]) -> None:
        """Subscribe in a node's namespace."""
        self._eyes = rclpy.create_node(
            f'_{node.get_name()}_eyes', namespace=node.get_namespace(), context=node.context,
            use_global_arguments=False, enable_rosout=False, start_parameter_services=False,
        )  # fmt: skip
        self._subscriptions = {
            topic.name: self._eyes.create_subscription(topic.type, topic.name, _nothing, NEWEST)
            for topic in topics
        }

    def newest(self) -> dict[str, Any]:
        """Return the messages that came since the last call, by topic; of each the newest."""
        found = {}
        for name, subscription in self._subscriptions.items():
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, False)
            if taken is not None:
                found[name] = taken[0]
        return found

    def close(self) -> None:
        """Give the subscriptions up."""
        self._eyes.destroy_node()


def _nothing(message: Any) -> None:
    """Stand where rclpy wants a callback; nobody calls it."""
    del message
