# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Listens to the pictures of cameras while a page shows them, and costs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.serialization import deserialize_message

from marine_sim_ros.ros.base.latest_message import hidden_node, uncalled
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.throttled_publisher import NEWEST
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.sensors import SENSORS

__all__ = ['VideoMonitor']


class VideoMonitor:
    """Subscriptions of a hidden node to JPEG pictures, which a camera encodes for who asks.

    Attributes:
        names: cameras of the vehicle.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Find the cameras of a node's vehicle; listen to none."""
        self._node = node
        self._topics = {
            sensor.name: topics.sensor_topic(sensor, topic)
            for sensor in node.vehicle.sensors
            for topic in topics.told_topics(sensor)
            if topic.name == f'{SENSORS[sensor.kind].video}/compressed'
        }
        self.names = list(self._topics)
        self._pictures: dict[str, tuple[int, bytes]] = {}
        self._eyes: Any = None
        self._heard: dict[str, Any] = {}
        self._count = 0

    def look(self, watched: Sequence[str]) -> dict[str, tuple[int, bytes]]:
        """Return number and JPEG of the newest pictures of the cameras that are watched, by name.

        The others are not listened to any more.
        """
        wanted = [name for name in watched if name in self._topics]
        for name in self._heard.keys() - set(wanted):
            self._eyes.destroy_subscription(self._heard.pop(name))
        pictures = {n: one for n, one in self._pictures.items() if n in wanted}
        for name in wanted:
            if self._eyes is None:
                self._eyes = hidden_node(self._node, 'video')
            if name not in self._heard:
                topic = self._topics[name]
                self._heard[name] = self._eyes.create_subscription(
                    topic.type, topic.name, uncalled, NEWEST
                )
            subscription = self._heard[name]
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, True)
            if taken is not None:
                self._count += 1
                message = deserialize_message(taken[0], subscription.msg_type)
                pictures[name] = (self._count, bytes(message.data))
        self._pictures = pictures
        return pictures

    def close(self) -> None:
        """Listen no more."""
        self._heard.clear()
        if self._eyes is not None:
            self._eyes.destroy_node()
            self._eyes = None
