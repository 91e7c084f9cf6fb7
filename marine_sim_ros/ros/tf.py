# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Broadcasts map -> base_link, with tf2_ros where there is one."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node

from marine_sim_ros.ros import topics

__all__ = ['broadcaster']


class _Broadcaster:
    """Does what tf2_ros.TransformBroadcaster does, on machines without tf2_ros."""

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(topics.TF.type, topics.TF.name, topics.TF.qos)

    def sendTransform(self, transform: TransformStamped) -> None:
        self._publisher.publish(topics.TF.type(transforms=[transform]))


def broadcaster(node: Node) -> Any:
    """Return an object with ``sendTransform``."""
    try:
        from tf2_ros import TransformBroadcaster
    except ImportError:
        return _Broadcaster(node)
    return TransformBroadcaster(node, qos=topics.TF.qos)
