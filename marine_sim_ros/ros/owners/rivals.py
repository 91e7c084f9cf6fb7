# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other publishers of what one owner of a state alone publishes: another run in the ROS domain.

The younger of two runs ends with exit code 2, before anybody relies on it. Once it has settled,
and against publishers that own no state (a bag that is played, a test), it names them and goes on.
"""

from __future__ import annotations

import time as wall
from collections.abc import Sequence

from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['Rivals']

YOUNG = 2.0
"""s of wall time after its start that a run may find an older one; discovery takes 0.1 to 0.6 s,
and on a busy machine up to 3 s."""
OWNERS = ('dynamics', 'gazebo_bridge')
"""Nodes that own a state."""


class Rivals:
    """Looks for other publishers of a node's topics."""

    def __init__(self, node: SuiteNode, topics: Sequence[str], *, frames: Sequence[str]) -> None:
        """Start young.

        Args:
            node: owner of a state; it ends where an older one publishes the same.
            topics: full names of the topics that are its own.
            frames: full names of topics on which its frames need a prefix beside other owners'.
        """
        self._node, self._topics, self._frames = node, tuple(topics), tuple(frames)
        self._settles = wall.monotonic() + YOUNG

    def look(self) -> None:
        """End or warn where there are others."""
        young = wall.monotonic() < self._settles
        for topic in self._topics:
            others = self._others(topic)
            if not others:
                continue
            text = f'{topic} is published by {" and ".join(others)} too'
            if not any(name.rpartition('/')[2] in OWNERS for name in others):
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
        for topic in self._frames:
            owners = [n for n in self._others(topic) if n.rpartition('/')[2] in OWNERS]
            if owners:
                body = self._node.body_frame
                self._node.warn_throttled(
                    f'{topic} has frames of {" and ".join(owners)} too; expected --frame-prefix '
                    f'if they have {body!r} as this run has'
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
