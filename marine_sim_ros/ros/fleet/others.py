# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Listens to one topic of each of some other vehicles of a fleet, tick by tick."""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages.convert import stamp_ns
from marine_sim_ros.ros.messages.topics import Topic
from marine_sim_ros.ros.owners.state_owner import START_TIMEOUT
from marine_sim_ros.ros.ticks.followers import SILENCE, Followers
from marine_sim_ros.ros.ticks.gathering import Gathering

__all__ = ['OtherVehicles']

PERIOD = 0.1
"""s of wall time between looks for who is silent."""


class OtherVehicles:
    """What other vehicles say at each tick, for a gathering that waits for it.

    Attributes:
        last: what was said last, by namespace, or by name of the topic.
    """

    def __init__(
        self,
        node: SuiteNode,
        names: Iterable[str],
        topic: Topic,
        read: Callable[[Any], Any],
        *,
        first: Any,
        meanwhile: str,
        by_topic: bool = False,
    ) -> None:
        """Take what is to be heard.

        Args:
            node: node that listens.
            names: namespaces of the other vehicles.
            topic: topic of each of them.
            read: returns what a message says; None: it is not finite, and the last one holds.
            first: what each of them has said before it speaks.
            meanwhile: what holds while one is silent, for the warning.
            by_topic: whether the gathering knows it by the names of the topics, because it has
                something else by the namespaces.
        """
        self._node, self._topic, self._read, self._meanwhile = node, topic, read, meanwhile
        told = {name: f'{name}/{topic.name}' for name in names}
        self._topics = {topic: topic for topic in told.values()} if by_topic else told
        self.last: dict[str, Any] = dict.fromkeys(self._topics, first)
        self._heard = Followers(self.last)

    def listen(self, gathering: Gathering) -> None:
        """Give what is heard to a gathering, which waits for it."""
        for name in self.last:
            topic = replace(self._topic, name=self._topics[name])
            self._node.listen(topic, partial(self._on_message, gathering, name))
        if self.last:
            clock = self._node.wall_clock
            self._node.create_timer(PERIOD, partial(self._watch, gathering), clock=clock)

    def _on_message(self, gathering: Gathering, name: str, message: Any) -> None:
        stamp, said = stamp_ns(message.header.stamp), self._read(message)
        if said is None:
            self._node.warn_throttled(f'{self._topics[name]}: not finite; its last one holds')
            said = self.last[name]
        if self._heard.take(name, stamp, wall.monotonic()):
            gathering.absent.discard(name)
            self._node.get_logger().info(f'{name} is back')
        self.last[name] = said
        gathering.other(name, stamp, said)

    def _watch(self, gathering: Gathering) -> None:
        """Wait no longer for who is silent."""
        stamp = gathering.waiting
        silent = self._heard.give_up(stamp, wall.monotonic(), SILENCE, START_TIMEOUT)
        for name in silent:
            self._node.get_logger().warning(
                f'{name} is silent: {self._meanwhile} until it is back'
            )
        if silent:
            gathering.leave(silent)
