# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Delivers messages between nodes of one process without serialising them.

DDS still gets what somebody outside listens to. Deliveries wait in one queue, first in, first
out, so that a message object may be filled anew for the next tick: whoever was to see it has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy.serialization import serialize_message

from marine_sim_ros.ros.base.internals import peer_counter

__all__ = ['Bus', 'Outlet']

FIRST = 16
"""Messages that a publisher sends though it has no subscriber yet: what its queue keeps."""
PERIOD = 0.04
"""s of wall time between those that it sends later though it has none."""


class Bus:
    """Handlers by full topic name, and the queue of deliveries.

    Attributes:
        time: newest stamp of /clock, ns; None before anybody keeps it here.
        clock_is_here: whether a node of this process publishes /clock.
    """

    def __init__(self, *, clock_is_here: bool = True, elsewhere: tuple[str, ...] = ()) -> None:
        """Start with no handlers.

        Args:
            clock_is_here: whether a node of this process publishes /clock.
            elsewhere: beginnings of the names of topics that other processes publish.
        """
        self.time: int | None = None
        self.clock_is_here = clock_is_here
        self._elsewhere = elsewhere
        self._handlers: dict[str, list[Callable[[Any], None]]] = {}
        self._readers: dict[str, list[Callable[[Any], None]]] = {}
        self._recorders: dict[str, list[Callable[[bytes], None]]] = {}
        self._queue: deque[tuple[Callable[[Any], None], Any]] = deque()
        self.wake: Callable[[], object] = bool
        """Wakes the thread that makes deliveries."""

    def carries(self, name: str) -> bool:
        """Return whether a topic of every tick is published in this process."""
        return not name.startswith(self._elsewhere)

    def subscribe(self, name: str, handler: Callable[[Any], None]) -> None:
        """Deliver what is published on a topic to a handler."""
        self._handlers.setdefault(name, []).append(handler)

    def subscribe_numbers(self, name: str, handler: Callable[[tuple[int, Any]], None]) -> None:
        """Deliver stamp (ns) and numbers of a topic to a handler, of which no message is made."""
        self._readers.setdefault(name, []).append(handler)

    def subscribe_bytes(self, name: str, handler: Callable[[bytes], None]) -> None:
        """Deliver the serialised messages of a topic to a handler: who records makes none."""
        self._recorders.setdefault(name, []).append(handler)

    def handlers(self, name: str) -> list[Callable[[Any], None]]:
        """Return the handlers of a topic's messages, those that come later included."""
        return self._handlers.setdefault(name, [])

    def readers(self, name: str) -> list[Callable[[Any], None]]:
        """Return the handlers of a topic's numbers, those that come later included."""
        return self._readers.setdefault(name, [])

    def recorders(self, name: str) -> list[Callable[[bytes], None]]:
        """Return the handlers of a topic's bytes, those that come later included."""
        return self._recorders.setdefault(name, [])

    def relay(self, name: str, data: bytes, stamp: int, numbers: Any) -> None:
        """Queue a message of another process for those who read numbers or record.

        Args:
            name: full name of its topic.
            data: the message, serialised.
            stamp: its stamp, ns.
            numbers: its numbers.
        """
        for reader in self._readers.get(name, ()):
            self._queue.append((reader, (stamp, numbers)))
        for recorder in self._recorders.get(name, ()):
            self._queue.append((recorder, data))

    def call(self, handler: Callable[[Any], None], message: Any) -> None:
        """Call a function with a message when what was published before is delivered."""
        self._queue.append((handler, message))

    def call_from_thread(self, handler: Callable[[Any], None], message: Any) -> None:
        """Have the thread that makes deliveries call a function, from another thread."""
        self._queue.append((handler, message))
        self.wake()

    @property
    def pending(self) -> int:
        """How many deliveries wait."""
        return len(self._queue)

    def run(self, count: int) -> None:
        """Make up to so many deliveries."""
        queue = self._queue
        for _ in range(count):
            if not queue:
                return
            handler, message = queue.popleft()
            handler(message)


class Outlet:
    """A publisher that serves the bus, and DDS where somebody listens.

    Where nobody does, DDS gets a message now and then: what it keeps for who comes late is new.

    Attributes:
        topic_name: full name of the topic.
    """

    def __init__(self, publisher: Any, bus: Bus | None = None, *, always: bool = False) -> None:
        """Wrap a ROS publisher.

        Args:
            publisher: the publisher.
            bus: the bus of this process, if it has one.
            always: give DDS every message, because a node may wait for it that is found late.
        """
        self._publisher = publisher
        self._bus = Bus() if bus is None else bus
        self._always = always
        self._first, self._due = FIRST, 0.0
        self._listeners = peer_counter(publisher, 'get_subscription_count')
        self.topic_name = publisher.topic_name
        self._handlers = self._bus.handlers(self.topic_name)
        self._readers = self._bus.readers(self.topic_name)
        self._recorders = self._bus.recorders(self.topic_name)

    @property
    def wanted(self) -> bool:
        """Whether anybody gets the next message, now or when he is discovered."""
        return bool(self._handlers) or self.wants_bytes

    @property
    def handled(self) -> bool:
        """Whether a node of this process gets the next message as an object."""
        return bool(self._handlers)

    @property
    def wants_bytes(self) -> bool:
        """Whether DDS or a recorder of this process gets the next message."""
        return bool(self._recorders) or self._sends()

    def _sends(self) -> bool:
        """Whether DDS gets the next message."""
        return self._always or self._first > 0 or self._listeners() > 0 or monotonic() >= self._due

    def publish(self, message: Any) -> None:
        """Publish a message, or the bytes of one, which no handler of messages gets.

        DDS gets the first ones too, and keeps them for who comes late.
        """
        if self._sends():
            self._first -= 1
            self._due = monotonic() + PERIOD
            self._publisher.publish(message)
        if self._recorders:
            data = message if isinstance(message, bytes) else serialize_message(message)
            for recorder in self._recorders:
                self._bus.call(recorder, data)
        if not isinstance(message, bytes):
            self.deliver(message)

    def deliver(self, message: Any) -> None:
        """Give a message to the nodes of this process that take it as an object."""
        for handler in self._handlers:
            self._bus.call(handler, message)

    def publish_numbers(self, stamp: int, numbers: Any) -> None:
        """Give stamp (ns) and numbers of a message to those on the bus who read no more of it."""
        for reader in self._readers:
            self._bus.call(reader, (stamp, numbers))

    def wait_for_all_acked(self, timeout: Any) -> bool:
        """Wait until everybody who listens over DDS has what was sent; return whether they do."""
        return bool(self._publisher.wait_for_all_acked(timeout))

    def get_subscription_count(self) -> int:
        """Return how many listen over DDS."""
        return int(self._listeners())
