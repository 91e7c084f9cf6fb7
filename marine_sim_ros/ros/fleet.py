# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other vehicles of a fleet in a node: states, tether anchor, modem packets, common contact."""

from __future__ import annotations

import time as wall
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from sensor_msgs.msg import JointState

from marine_sim_ros.core.state import State, Wrench, stamp_ns
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.physics.contact.group_motion import ContactBody
from marine_sim_ros.physics.towing import towing_wrench
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.dynamics.state_node import START_TIMEOUT
from marine_sim_ros.ros.message_fields import set_stamp, state_from
from marine_sim_ros.ros.ticks import FOLLOWER_TIMEOUT, Followers, TickSynchronizer
from marine_sim_ros.ros.topics import Topic
from marine_sim_ros.sensors.packet_network import OutgoingData
from marine_sim_ros.sensors.series import is_due
from marine_sim_ros.sim.body_simulation import BodySimulation

__all__ = [
    'OtherVehicles',
    'Outbox',
    'SharedWorld',
    'TetherAnchor',
    'outbox_message',
    'read_outbox',
]


# Listener of one topic of each other vehicle of a fleet, tick by tick.

CHECK_PERIOD = 0.1
"""s of wall time between checks for vehicles that timed out."""


class OtherVehicles:
    """Messages of other vehicles at each tick, for a synchroniser.

    Attributes:
        last: latest value by namespace, or by name of the topic.
    """

    def __init__(
        self,
        node: VehicleNode,
        names: Iterable[str],
        topic: Topic,
        read: Callable[[Any], Any],
        *,
        first: Any,
        fallback: str,
        by_topic: bool = False,
    ) -> None:
        """Prepare the subscriptions of :meth:`listen`.

        Args:
            names: namespaces of the other vehicles.
            topic: topic of each of them.
            read: returns the value of a message; None: it is not finite, and the last one holds.
            first: value of each before its first message.
            fallback: what applies after a time-out, for the warning.
            by_topic: whether the synchroniser's inputs are named by topics, because those named
                by namespaces are others.
        """
        self._node, self._topic, self._read, self._fallback = node, topic, read, fallback
        names_of_topics = {name: f'{name}/{topic.name}' for name in names}
        self._topics = (
            {topic: topic for topic in names_of_topics.values()} if by_topic else names_of_topics
        )
        self.last: dict[str, Any] = dict.fromkeys(self._topics, first)
        self._followers = Followers(self.last)

    def listen(self, synchronizer: TickSynchronizer) -> None:
        """Subscribe, and pass the values to a synchroniser that waits for them."""
        for name in self.last:
            topic = replace(self._topic, name=self._topics[name])
            self._node.listen(topic, partial(self._on_message, synchronizer, name))
        if self.last:
            clock = self._node.wall_clock
            self._node.create_timer(CHECK_PERIOD, partial(self._watch, synchronizer), clock=clock)

    def _on_message(self, synchronizer: TickSynchronizer, name: str, message: Any) -> None:
        stamp, value = stamp_ns(message.header.stamp), self._read(message)
        if value is None:
            self._node.warn_throttled(f'{self._topics[name]}: not finite; its last one holds')
            value = self.last[name]
        if self._followers.take(name, stamp, wall.monotonic()):
            synchronizer.absent.discard(name)
            self._node.get_logger().info(f'{name} is back')
        self.last[name] = value
        synchronizer.add_other(name, stamp, value)

    def _watch(self, synchronizer: TickSynchronizer) -> None:
        """Stop waiting for vehicles that timed out."""
        stamp = synchronizer.next_stamp
        silent = self._followers.give_up(stamp, wall.monotonic(), FOLLOWER_TIMEOUT, START_TIMEOUT)
        for name in silent:
            self._node.get_logger().warning(f'{name} is silent: {self._fallback} until it is back')
        if silent:
            synchronizer.leave(silent)


# Far end of a tether on another vehicle: its state of each tick, and its force.


class TetherAnchor:
    """Tether anchor on another vehicle: its state of the same tick, and the wrench on it.

    Attributes:
        state: state of the other vehicle at the answered tick; None: not received yet, or no
            vehicle carries the anchor.
    """

    def __init__(
        self, node: VehicleNode, tether: Tether, answer: Callable[[int, State], None]
    ) -> None:
        """Listen to the other vehicle, if one carries the anchor.

        Args:
            node: the node of the tether.
            answer: called with stamp (ns) and state of this vehicle when the other's has arrived.
        """
        self._tether, self._answer = tether, answer
        self.state: State | None = None
        if not tether.vehicle:
            return
        name = '/' + tether.vehicle
        vehicles = OtherVehicles(
            node,
            [name],
            topics.ODOM,
            state_from,
            first=None,
            fallback='the tether ends where it was last',
        )
        self._name, self._node = name, node
        self._synchronizer = TickSynchronizer(self._on_both, vehicles.last, [name])
        vehicles.listen(self._synchronizer)
        self._publisher = SpatialPublisher(node, topics.TETHER_ANCHOR)

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state at a stamp (ns) when the other vehicle's has arrived."""
        if not self._tether.vehicle:
            self._answer(stamp, state)
            return
        self._synchronizer.main(stamp, state)

    def _on_both(self, stamp: int, state: State, values: Mapping[str, Any]) -> None:
        self.state = values[self._name]
        self._answer(stamp, state)

    def publish(self, stamp: int, pull: np.ndarray | None) -> None:
        """Publish the pull (3,) of the cable on the anchor, map, N; None: not computed, zero."""
        if not self._tether.vehicle:
            return
        wrench = np.zeros(6)
        if pull is not None and self.state is not None:
            wrench = towing_wrench(self._tether, self.state, pull)
        self._publisher.publish(stamp, wrench)


# Outboxes of modems: a vehicle's node of sensors alone takes what users send, and publishes it in
# every tick, so that all compute the same network.

_MAX_WAITING_PACKETS = 64
"""Packets that wait for the next tick at which the modem sends."""


def read_outbox(message: JointState) -> OutgoingData | None:
    """Return destinations and bytes of a message on outbox, or None where it is not one."""
    sizes = np.array(message.velocity, float)
    data = np.array(message.position, float)
    ends = np.cumsum(sizes)
    if len(sizes) != len(message.name) or (ends[-1] if len(ends) else 0) != len(data):
        return None
    if not (np.all(np.isin(data, np.arange(256))) and np.all(sizes >= 0)):
        return None
    parts = np.split(data.astype(np.uint8), ends[:-1].astype(int)) if len(ends) else ()
    return tuple((n, part.tobytes()) for n, part in zip(message.name, parts, strict=True))


def outbox_message(data: OutgoingData) -> JointState:
    """Return a message on outbox without its stamp."""
    message = JointState(name=[name for name, _ in data])
    message.velocity = array('d', [len(part) for _, part in data])
    message.position = array('d', list(b''.join(part for _, part in data)))
    return message


class Outbox:
    """Packets that users send by the modem of a vehicle, published tick by tick."""

    def __init__(self, node: VehicleNode, modem: Sensor) -> None:
        """Listen to ``<modem>/send``."""
        self._node, self._modem = node, modem
        self._waiting: deque[tuple[str, bytes]] = deque(maxlen=_MAX_WAITING_PACKETS)
        self._before = -1
        self._publisher = node.publisher(topics.OUTBOX)
        node.listen(topics.modem_send(modem), self._on_send)

    def _on_send(self, message: Any) -> None:
        labels = [dimension.label for dimension in message.layout.dim]
        size, max_size = len(message.data), int(self._modem.spec.packet_size)
        if size > max_size:
            self._node.warn_throttled(
                f'{self._modem.name}/send: {size} bytes; expected at most {max_size}; ignored'
            )
            return
        destination = labels[0].strip('/') if labels else ''
        self.send(bytes(message.data), destination)

    def send(self, data: bytes, destination: str = '') -> None:
        """Have the modem send a packet at its next tick; without a destination to all."""
        self._waiting.append((destination, data))

    def take(self, stamp: int) -> OutgoingData:
        """Return the packets that the modem is to send at a stamp (ns), and publish them."""
        if stamp < self._before:  # the run was reset
            self._waiting.clear()
            self._before = -1
        before, self._before = self._before, stamp
        packets: OutgoingData = ()
        if is_due(self._modem.period, stamp, before):
            packets = tuple(self._waiting)
            self._waiting.clear()
        message = outbox_message(packets)
        set_stamp(message.header.stamp, stamp)
        self._publisher.publish(message)
        return packets


# Bodies of the vehicles of a process that touch each other and the same bodies.


class WorldMember(Protocol):
    """Node of the contact of a vehicle in a world."""

    def tick_world(
        self, world: BodySimulation, stamp: int, bodies: Mapping[str, ContactBody]
    ) -> Mapping[str, Wrench]:
        """Return the wrenches (6,) on all vehicles at a stamp in ns, as the owner of the world."""

    def publish_contact(self, stamp: int, wrench: Wrench) -> None:
        """Publish the wrench (6,) on the member's vehicle."""

    def get_logger(self) -> Any:
        """Return the logger."""


_MAX_TICKS = 64
"""Incomplete ticks that are stored; vehicles are a few ticks apart."""


class SharedWorld:
    """Bodies of the vehicles of a process; a tick is computed when all vehicles have arrived.

    The first member owns it. A member that times out is left out where it was last.

    Attributes:
        world: the world, which the owner sets.
    """

    world: BodySimulation

    def __init__(self) -> None:
        """Start without members."""
        self._members: dict[str, WorldMember] = {}
        self._ticks: dict[int, dict[str, ContactBody]] = {}
        self._last: dict[str, tuple[int, ContactBody]] = {}
        self._answered = -1
        self._followers = Followers(())

    def join(self, name: str, member: WorldMember) -> bool:
        """Add a member by its name among the bodies; return whether it owns the world."""
        self._members[name] = member
        self._followers = Followers(self._members)
        return len(self._members) == 1

    def add(self, name: str, stamp: int, body: ContactBody) -> None:
        """Add a vehicle at a stamp in ns; answer all vehicles when it was the last."""
        if name in self._followers.silent and stamp <= self._answered:
            self._members[name].publish_contact(stamp, np.zeros(6))
            return
        if self._followers.take(name, stamp, wall.monotonic()):
            self._members[name].get_logger().info(f'contact: {name} is back')
        if name in self._last and stamp <= self._last[name][0]:  # the run was reset
            for bodies in self._ticks.values():
                bodies.pop(name, None)
        self._last[name] = stamp, body
        self._ticks.setdefault(stamp, {})[name] = body
        if len(self._ticks) > _MAX_TICKS:
            del self._ticks[min(self._ticks)]
        self._answer(stamp)

    def watch(self) -> None:
        """Go on without the vehicles that timed out."""
        if not self._ticks:
            return
        stamp, now = max(self._ticks), wall.monotonic()
        for name in self._followers.give_up(stamp, now, FOLLOWER_TIMEOUT, START_TIMEOUT):
            self._members[name].get_logger().warning(
                f'contact: {name} is silent, and stays where it was last until it is back'
            )
        for pending in sorted(self._ticks):
            self._answer(pending)

    def _answer(self, stamp: int) -> None:
        present = self._ticks.get(stamp, {})
        silent = self._followers.silent
        if not present or not self._members.keys() <= present.keys() | silent:
            return
        self._ticks = {t: bodies for t, bodies in self._ticks.items() if t > stamp and bodies}
        self._answered = stamp
        still = {
            name: body._replace(state=body.state._replace(velocity=np.zeros(6)))
            for name, (_, body) in self._last.items()
            if name not in present
        }
        owner = next(iter(self._members.values()))
        wrenches = owner.tick_world(self.world, stamp, {**still, **present})
        for name in present:
            if name in wrenches:
                self._members[name].publish_contact(stamp, wrenches[name])
