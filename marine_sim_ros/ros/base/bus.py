# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Message bus within a process, throttled publishers to DDS, and check of senders.

DDS gets the topics that have subscribers outside. Deliveries wait in one queue, first in, first
out, so every receiver has seen a message object before it is filled again for the next tick.

The nodes of a run write its tag (ros/cdr.py) into their messages. Where a topic has such a
publisher, messages without the tag are ignored: they come from a node left over, another run, or
a foreign program. Where it has none any more, any node may publish: a force node of the user, or a
vehicle on another machine. The tag is no secret: on an open DDS network anyone can read and send
it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

from marine_sim_ros.ros.base.internals import peer_counter
from marine_sim_ros.ros.cdr import run_tag, tag_of
from marine_sim_ros.ros.topics import Topic

__all__ = ['Bus', 'NEWEST', 'Outlet', 'SenderCheck', 'ThrottledPublisher', 'throttled_name']


# Delivery of messages between nodes of one process without serialisation.

FIRST_MESSAGES = 16
"""Messages that a publisher sends though it has no subscriber yet: what its queue keeps."""
UNHEARD_PERIOD = 0.04
"""s of wall time between the messages that it sends later though it has no subscriber."""


class Bus:
    """Handlers by full topic name, and the queue of deliveries.

    Attributes:
        time: newest stamp of /clock, ns; None before a node of this process follows it.
        clock_is_here: whether a node of this process publishes /clock.
        series: number of the present series of deliveries; None between two.
        queue: waiting deliveries: functions and their arguments.
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
        self._readers: dict[str, list[Callable[[int, Any], None]]] = {}
        self._recorders: dict[str, list[Callable[[bytes], None]]] = {}
        self.queue: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self.series: int | None = None
        self._last_series = 0
        self.wake: Callable[[], object] = bool
        """Wakes the thread that makes deliveries."""

    def has_topic(self, name: str) -> bool:
        """Return whether a topic of every tick is published in this process."""
        return not name.startswith(self._elsewhere)

    def subscribe(self, name: str, handler: Callable[[Any], None]) -> None:
        """Deliver what is published on a topic to a handler."""
        self._handlers.setdefault(name, []).append(handler)

    def subscribe_numbers(self, name: str, handler: Callable[[int, Any], None]) -> None:
        """Deliver stamp (ns) and numbers of a topic to a handler, without building a message."""
        self._readers.setdefault(name, []).append(handler)

    def subscribe_bytes(self, name: str, handler: Callable[[bytes], None]) -> None:
        """Deliver the serialised messages of a topic to a handler, as a recorder needs them."""
        self._recorders.setdefault(name, []).append(handler)

    def handlers(self, name: str) -> list[Callable[[Any], None]]:
        """Return the handlers of a topic's messages; the list grows with later subscriptions."""
        return self._handlers.setdefault(name, [])

    def readers(self, name: str) -> list[Callable[[int, Any], None]]:
        """Return the handlers of a topic's numbers; the list grows with later subscriptions."""
        return self._readers.setdefault(name, [])

    def recorders(self, name: str) -> list[Callable[[bytes], None]]:
        """Return the handlers of a topic's bytes; the list grows with later subscriptions."""
        return self._recorders.setdefault(name, [])

    def relay(self, name: str, data: bytes, stamp: int, numbers: Any) -> None:
        """Queue a message of another process for readers of numbers and recorders.

        Args:
            name: full name of its topic.
            data: the message, serialised.
            stamp: its stamp, ns.
        """
        for reader in self._readers.get(name, ()):
            self.queue.append((reader, (stamp, numbers)))
        for recorder in self._recorders.get(name, ()):
            self.queue.append((recorder, (data,)))

    def call(self, handler: Callable[..., None], *arguments: Any) -> None:
        """Call a function after all deliveries queued before."""
        self.queue.append((handler, arguments))

    def call_from_thread(self, handler: Callable[..., None], *arguments: Any) -> None:
        """Queue a call from another thread, and wake the thread that makes deliveries."""
        self.queue.append((handler, arguments))
        self.wake()

    @property
    def pending(self) -> int:
        """Number of waiting deliveries."""
        return len(self.queue)

    def run(self, count: int) -> None:
        """Make up to ``count`` deliveries."""
        queue = self.queue
        self._last_series += 1
        self.series = self._last_series
        try:
            for _ in range(count):
                if not queue:
                    return
                handler, arguments = queue.popleft()
                handler(*arguments)
        finally:
            self.series = None


class Outlet:
    """Publisher to the bus, and to DDS where it has subscribers.

    Without subscribers DDS gets a message every ``UNHEARD_PERIOD``, so that a late one receives
    recent data.

    Attributes:
        topic_name: full name of the topic.
    """

    def __init__(self, publisher: Any, bus: Bus | None = None, *, always: bool = False) -> None:
        """Wrap a ROS publisher.

        Args:
            bus: the bus of this process, if it has one.
            always: send every message over DDS, for a waiting node that is discovered late.
        """
        self._publisher = publisher
        self._bus = Bus() if bus is None else bus
        self._always = always
        self._first, self._due = FIRST_MESSAGES, 0.0
        self._unwanted_in = -1
        self._listeners = peer_counter(publisher, 'get_subscription_count')
        self.topic_name = publisher.topic_name
        self._queue = self._bus.queue
        self._handlers = self._bus.handlers(self.topic_name)
        self._readers = self._bus.readers(self.topic_name)
        self._recorders = self._bus.recorders(self.topic_name)

    @property
    def has_receiver(self) -> bool:
        """Whether the next message has a receiver, present or discovered later."""
        return bool(self._handlers) or self.wants_bytes

    @property
    def has_local_receiver(self) -> bool:
        """Whether a node of this process gets the next message as an object."""
        return bool(self._handlers)

    @property
    def wants_bytes(self) -> bool:
        """Whether DDS or a recorder of this process gets the next message.

        What is not wanted is not wanted for the rest of a series of deliveries: it takes a few
        milliseconds, in which no event of DDS is handled, and each tick would ask forty times.
        """
        series = self._bus.series
        if series == self._unwanted_in:
            return False
        wanted = bool(self._recorders) or self._has_subscriber()
        if not wanted and series is not None:
            self._unwanted_in = series
        return wanted

    def _has_subscriber(self) -> bool:
        return self._sends()

    def _sends(self) -> bool:
        """Whether DDS gets the next message."""
        return self._always or self._first > 0 or self._listeners() > 0 or monotonic() >= self._due

    def publish(self, message: Any) -> None:
        """Publish a message, or the bytes of one, which no handler of messages gets.

        DDS also gets the first ones, and keeps them for late subscribers.
        """
        if self._sends():
            self._first -= 1
            self._due = monotonic() + UNHEARD_PERIOD
            self._publisher.publish(message)
        if self._recorders:
            data = message if isinstance(message, bytes) else serialize_message(message)
            for recorder in self._recorders:
                self._bus.call(recorder, data)
        if not isinstance(message, bytes):
            self.deliver(message)

    def deliver(self, message: Any) -> None:
        """Deliver a message object to the nodes of this process that subscribe to it."""
        for handler in self._handlers:
            self._bus.call(handler, message)

    def publish_numbers(self, stamp: int, numbers: Any) -> bool:
        """Deliver stamp (ns) and numbers to the subscribers on the bus that read only those.

        Returns:
            whether anyone else gets the message.
        """
        for reader in self._readers:
            self._queue.append((reader, (stamp, numbers)))
        return self.has_receiver

    def wait_for_all_acked(self, timeout: Any) -> bool:
        """Wait until all DDS subscribers have acknowledged; return whether they have."""
        return bool(self._publisher.wait_for_all_acked(timeout))

    def get_subscription_count(self) -> int:
        """Return the number of subscribers over DDS."""
        return int(self._listeners())


# Throttled second topic of each per-tick topic, for viewers.

THROTTLED_PERIOD = 0.04
"""Minimum interval between messages, s of wall time."""
NEWEST = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, durability=DurabilityPolicy.VOLATILE
)
"""The middleware keeps one message, and no writer waits for an acknowledgement."""


def throttled_name(name: str) -> str:
    """Return the name of the hidden, throttled topic that belongs to a topic."""
    return f'{name}/_slow' if name.startswith('/') else f'_slow/{name}'


class ThrottledPublisher(Outlet):
    """Per-tick publisher that also sends at most every 40 ms to the hidden topic.

    :meth:`catch_up` sends the latest message that throttling has held back, so that a viewer of a
    paused run sees its last tick.
    """

    def __init__(
        self, node: Node, topic: Topic, publisher: Any, bus: Bus | None, *, always: bool = False
    ) -> None:
        """Wrap a ROS publisher of a per-tick topic; bus and always as of an Outlet."""
        super().__init__(publisher, bus, always=always)
        self._slow = node.create_publisher(topic.type, throttled_name(topic.name), NEWEST)
        self._viewers = peer_counter(self._slow, 'get_subscription_count')
        self._next_time = 0.0
        self._unsent: Any = None

    def _has_subscriber(self) -> bool:
        return super()._has_subscriber() or self._viewers() > 0

    def publish(self, message: Any) -> None:
        """Publish a message."""
        super().publish(message)
        self._unsent = message
        if monotonic() >= self._next_time:
            self.catch_up()

    def catch_up(self) -> None:
        """Send the newest message to the hidden topic, unless it has been sent."""
        self._next_time = monotonic() + THROTTLED_PERIOD
        if self._unsent is not None and self._viewers():
            self._slow.publish(self._unsent)
            self._unsent = None


# Check of senders: each per-tick topic has one publisher of this run.

SENDER_TIMEOUT = 5.0
"""s of wall time after the last message of this run until a single other publisher replaces it."""


class SenderCheck:
    """Filter of one subscription: accepts messages of this run's publisher only."""

    def __init__(self, node: Node, topic: str, warn: Callable[..., None]) -> None:
        """Start without a message.

        Args:
            warn: called with a warning, and ``error``.
        """
        self._node, self._topic, self._warn = node, topic, warn
        self._tag = run_tag()
        self._heard_at: float | None = None
        self._count: Callable[[], int] = int

    def attach(self, subscription: Any) -> None:
        """Count the publishers of a subscription."""
        name = self._node.resolve_topic_name(self._topic)
        by_graph = partial(self._node.count_publishers, name)
        self._count = peer_counter(subscription, 'get_publisher_count', by_graph)

    def accepts(self, data: bytes) -> bool:
        """Return whether a serialised message is of this run, or of the only publisher."""
        if self._tag and tag_of(data) == self._tag:
            self._heard_at = monotonic()
            return True
        several = self._count() > 1
        if self._heard_at is None or (
            not several and monotonic() - self._heard_at > SENDER_TIMEOUT
        ):
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
