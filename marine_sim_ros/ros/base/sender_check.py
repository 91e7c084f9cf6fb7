# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which messages of a per-tick topic are of this run: each has one rightful publisher.

The nodes of a run write its tag (ros/messages/codecs.py) into their messages. Where a topic has
such a publisher, messages without the tag are ignored: of a node that was forgotten, another run,
or a stranger. Where it has none, or none any more, anybody may publish: a force node of the user's
own, or a vehicle on another machine. This is no secret: on an open DDS network
anybody can read the tag and send it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy.node import Node

from marine_sim_ros.ros.base.internals import peer_counter
from marine_sim_ros.ros.messages.codecs import run_tag, tag_of

__all__ = ['SenderCheck']

SILENCE = 5.0
"""s of wall time after the last message of this run until a single other publisher replaces it."""


class SenderCheck:
    """Looks at the messages of one subscription."""

    def __init__(self, node: Node, topic: str, warn: Callable[..., None]) -> None:
        """Look at none yet.

        Args:
            node: node of the subscription.
            topic: name of the topic.
            warn: called with a warning, and ``error``.
        """
        self._node, self._topic, self._warn = node, topic, warn
        self._tag = run_tag()
        self._heard: float | None = None
        self._count: Callable[[], int] = int

    def attach(self, subscription: Any) -> None:
        """Look at a subscription's publishers."""
        self._count = peer_counter(subscription, 'get_publisher_count')

    def takes(self, data: bytes) -> bool:
        """Return whether a serialised message counts."""
        if self._tag and tag_of(data) == self._tag:
            self._heard = monotonic()
            return True
        several = self._count() > 1
        if self._heard is None or (not several and monotonic() - self._heard > SILENCE):
            if several:
                self._warn(f'{self._topic}: {self.publishers()} publish it; expected one')
            return True
        self._warn(
            f'{self._topic}: {self.publishers()} publish it; what is not of this run is ignored',
            error=True,
        )
        return False

    def publishers(self) -> str:
        """Return the full names of the nodes that publish the topic."""
        infos = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(self._topic))
        return ' and '.join(
            sorted(f'{info.node_namespace.rstrip("/")}/{info.node_name}' for info in infos)
        )
