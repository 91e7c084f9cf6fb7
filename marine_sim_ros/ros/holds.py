# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hold of states while their node is away: the state node keeps them for a restarted one.

The state node publishes the last message of each state on a latched topic of its own when the node
that computes it has timed out, and before the run the state of a start. While that node runs the
message is empty, so that one that restarts waits instead of continuing from old states. A node
that restarts within the first 16 ticks, the depth of ``odom``, gets the first and begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['HeldState', 'HoldListener', 'HoldPublisher', 'latest_message']


class HeldState(NamedTuple):
    """Topic of a state, function that returns its last valid message, and that of a start."""

    topic: topics.Topic
    last: Callable[[], Any]
    first: Any = None


def latest_message(node: SuiteNode, topic: topics.Topic) -> Callable[[], Any]:
    """Subscribe to a topic; return a function that returns its last message, or None."""
    messages: dict[str, Any] = {}
    node.listen(topic, partial(messages.__setitem__, topic.name))
    return partial(messages.get, topic.name)


class HoldPublisher:
    """Publishes the states of one node to hold, for the state node."""

    def __init__(self, node: SuiteNode, states: Iterable[HeldState]) -> None:
        """Create the publishers."""
        self._states = [(state, node.publisher(topics.kept(state.topic))) for state in states]

    def start(self, *, begun: bool) -> None:
        """Hold the last states; those of a start before the run has begun."""
        for state, out in self._states:
            last = state.last() if begun else None
            if (message := state.first if last is None else last) is not None:
                out.publish(message)

    def stop(self) -> None:
        """Release the states to the node that computes them."""
        for state, out in self._states:
            out.publish(state.topic.type())


class HoldListener:
    """Messages that the state node holds, by topic; None before the first."""

    def __init__(self, node: SuiteNode, held: Iterable[topics.Topic]) -> None:
        """Listen for the node that computes the states of some topics."""
        self.messages: dict[str, Any] = {}
        for topic in held:
            self.messages[topic.name] = None
            node.listen(topics.kept(topic), partial(self.messages.__setitem__, topic.name))
