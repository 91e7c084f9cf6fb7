# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishes what an autopilot says of itself: mode, armed, flags of its estimator, position."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PointStamped
from std_msgs.msg import Bool, String, UInt16

from marine_sim_ros.autopilot.companion import Status
from marine_sim_ros.environment.origin import Origin
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import set_stamp

__all__ = ['StatusPublisher']


class StatusPublisher:
    """Publishes changes."""

    def __init__(self, node: SuiteNode) -> None:
        """Make the publishers."""
        self._node = node
        self._last = Status()
        named = (
            topics.AUTOPILOT_MODE,
            topics.AUTOPILOT_ARMED,
            topics.AUTOPILOT_EKF,
            topics.AUTOPILOT_POSITION,
        )
        self._outlets = {topic.name: node.publisher(topic) for topic in named}

    def publish(self, stamp: int, status: Status, origin: Origin) -> None:
        """Publish what has changed.

        Args:
            stamp: time, ns.
            status: what the autopilot has said.
            origin: where map is on the Earth.
        """
        last, self._last = self._last, status
        if status is last or not status.mode:
            return
        first = not last.mode
        changes: list[tuple[bool, topics.Topic, Any]] = [
            (status.mode != last.mode, topics.AUTOPILOT_MODE, String(data=status.mode)),
            (status.armed != last.armed, topics.AUTOPILOT_ARMED, Bool(data=status.armed)),
            (status.ekf != last.ekf, topics.AUTOPILOT_EKF, UInt16(data=status.ekf)),
        ]
        for changed, topic, message in changes:
            if changed or first:
                self._outlets[topic.name].publish(message)
        if status.position is not None and status.position != last.position:
            north, east, down = status.position
            place = PointStamped()
            place.header.frame_id = 'map'
            set_stamp(place.header.stamp, stamp)
            p = place.point
            p.x, p.y, p.z = origin.in_map(np.array([east, north, -down])).tolist()
            self._outlets[topics.AUTOPILOT_POSITION.name].publish(place)
        self._node.health |= {'mode': status.mode, 'armed': 'yes' if status.armed else 'no'}
