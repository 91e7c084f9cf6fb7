# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the latest message of topics on request: only messages that are read cost Python time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rclpy
from rclpy.node import Node

from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.throttled_publisher import NEWEST, throttled_name
from marine_sim_ros.ros.messages.topics import Topic

__all__ = ['LatestMessageReader', 'hidden_node', 'uncalled']


def hidden_node(node: SuiteNode, name: str) -> Node:
    """Return a node beside another one that no executor serves."""
    return rclpy.create_node(
        f'_{node.get_name()}_{name}',
        namespace=node.get_namespace(),
        context=node.context,
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )


def uncalled(message: Any) -> None:
    """Stand where rclpy wants a callback; nobody calls it."""
    del message


class LatestMessageReader:
    """Subscriptions of a hidden node that no executor serves.

    Where a publisher has a slow lane, that is looked at, and its every tick costs nobody anything.
    """

    def __init__(self, node: SuiteNode, topics: Iterable[Topic]) -> None:
        """Subscribe in a node's namespace."""
        self._eyes = hidden_node(node, 'eyes')
        self._topics = {topic.name: topic for topic in topics}
        self._subscriptions: dict[str, Any] = {}
        self._slow: dict[str, bool] = {}
        self._look_around()
        node.create_timer(0.5, self._look_around, clock=node.wall_clock)

    def _look_around(self) -> None:
        """Take the slow lane of every topic that has one, and the topic itself where none is."""
        for name, topic in self._topics.items():
            slow = bool(self._eyes.count_publishers(throttled_name(name)))
            there = slow or bool(self._eyes.count_publishers(name))
            if not there or self._slow.get(name) is slow:
                continue
            if name in self._subscriptions:
                self._eyes.destroy_subscription(self._subscriptions[name])
            lane = throttled_name(name) if slow else name
            self._subscriptions[name] = self._eyes.create_subscription(
                topic.type, lane, uncalled, NEWEST
            )
            self._slow[name] = slow

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
