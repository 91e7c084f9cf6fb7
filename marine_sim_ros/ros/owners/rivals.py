# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other publishers of what one owner of a state alone publishes: another run in the ROS domain.

The younger of two runs with the same vehicle ends with exit code 2, before anybody relies on it.
Once it has settled, and against publishers that own no state (a bag that is played, a test), it
names them and goes on. A clock or frames that two vehicles share stop neither: the physics of a
run reads no clock. Both runs warn, and say what keeps them apart.
"""

from __future__ import annotations

import time as wall
from collections.abc import Sequence
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data

from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages.topics import ODOM

__all__ = ['Rivals']

YOUNG = 2.0
"""s of wall time after its start that a run may find an older one; discovery takes 0.1 to 0.6 s,
and on a busy machine up to 3 s."""
OWNERS = ('dynamics', 'gazebo_bridge')
"""Nodes that own a state."""


class Rivals:
    """Looks for other publishers of a node's topics."""

    def __init__(
        self,
        node: SuiteNode,
        topics: Sequence[str],
        *,
        clocks: Sequence[str],
        frames: Sequence[str],
    ) -> None:
        """Start young.

        Args:
            node: owner of a state; it ends where an older one publishes the same.
            topics: full names of the topics that are its own.
            clocks: full names of topics on which it publishes the time.
            frames: full names of topics on which frames of other owners must differ from its own.
        """
        self._node, self._topics = node, tuple(topics)
        self._clocks, self._frames = tuple(clocks), tuple(frames)
        self._heard: dict[str, _Heard] = {}
        self._settles = wall.monotonic() + YOUNG

    def look(self) -> None:
        """End or warn where there are others."""
        young = wall.monotonic() < self._settles
        for topic in self._topics:
            others = self._others(topic)
            if not others:
                continue
            text = f'{topic} is published by {" and ".join(others)} too'
            if not _owners(others):
                self._node.warn_throttled(f'{text}; expected this run alone', error=True)
                continue
            text += (
                ', which is another run: end it, or set another ROS_DOMAIN_ID, or join its clock '
                'with --clock follow, --namespace and --frame-prefix'
            )
            self._node.warn_throttled(text, error=True)
            if young:
                self._node.end(2)
                return
        for topic in self._clocks:
            if owners := _owners(self._others(topic)):
                self._node.warn_throttled(
                    f'{topic} is published by {" and ".join(owners)} too, which is another run: '
                    'what follows the clock jumps between two times; expected --clock follow in '
                    'one of them, or another ROS_DOMAIN_ID'
                )
        for topic in self._frames:
            for owner in _owners(self._others(topic)):
                self._compare_frames(topic, owner)

    def _compare_frames(self, topic: str, owner: str) -> None:
        """Warn where another owner has the body frame of this one: ask its first odometry."""
        heard = self._heard.setdefault(owner, _Heard())
        if heard.frame is None and heard.subscription is None:
            odometry = f'{owner.rpartition("/")[0]}/{ODOM.name}'
            heard.subscription = self._node.create_subscription(
                Odometry, odometry, heard.take, qos_profile_sensor_data
            )
        if heard.frame is not None and heard.subscription is not None:
            self._node.destroy_subscription(heard.subscription)
            heard.subscription = None
        if heard.frame == self._node.body_frame:
            self._node.warn_throttled(
                f'{topic} has the frame {heard.frame!r} of {owner} too, which is another run; '
                'expected a --frame-prefix of its own for each, or another ROS_DOMAIN_ID'
            )

    def _others(self, topic: str) -> list[str]:
        """Return the full names of the other nodes that publish a topic."""
        if self._node.count_publishers(topic) < 2:
            return []
        names = [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self._node.get_publishers_info_by_topic(topic)
        ]
        own = self._node.get_fully_qualified_name()
        if own in names:
            names.remove(own)  # once: another run may have a node of the same name
        return names


class _Heard:
    """The body frame of another owner of a state, once its odometry was heard."""

    def __init__(self) -> None:
        self.frame: str | None = None
        self.subscription: Any = None

    def take(self, message: Odometry) -> None:
        """Take the frame of a message."""
        self.frame = str(message.child_frame_id)


def _owners(names: Sequence[str]) -> list[str]:
    """Return those of full names of nodes that own a state."""
    return [name for name in names if name.rpartition('/')[2] in OWNERS]
