# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The newest message of every topic and the health of every node, for the console."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from marine_sim_ros.bags.roles import DISPLAY_TOPICS, actuator_of, role_of, row_converter
from marine_sim_ros.core.state import State, stamp_ns
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.bus import NEWEST, throttled_name
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.codecs import state_from
from marine_sim_ros.ros.topics import Topic

__all__ = ['GraphMonitor', 'create_hidden_node', 'ignore_message']


# Latest message of topics, on request: unread messages cost no Python time.


def create_hidden_node(node: SuiteNode, name: str) -> Node:
    """Return a node beside another one that no executor serves."""
    return rclpy.create_node(
        f'_{node.get_name()}_{name}',
        namespace=node.get_namespace(),
        context=node.context,
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )


def ignore_message(message: Any) -> None:
    """Stand where rclpy wants a callback; nobody calls it."""
    del message


class LatestMessageReader:
    """Subscriptions of a hidden node that no executor serves.

    Where a publisher has a slow lane, that is looked at, and its every tick costs nobody anything.
    """

    def __init__(self, node: SuiteNode, topics: Iterable[Topic]) -> None:
        """Subscribe in a node's namespace."""
        self._eyes = create_hidden_node(node, 'eyes')
        self._topics = {topic.name: topic for topic in topics}
        self._subscriptions: dict[str, Any] = {}
        self._slow: dict[str, bool] = {}
        self._look_around()
        node.create_timer(0.5, self._look_around, clock=node.wall_clock)

    def _look_around(self) -> None:
        """Take the slow lane of every topic that has one, and the topic itself where none is."""
        for name, topic in self._topics.items():
            slow = bool(self._eyes.count_publishers(throttled_name(name)))
            there = slow or bool(self._eyes.count_publishers(name))
            if not there or self._slow.get(name) is slow:
                continue
            if name in self._subscriptions:
                self._eyes.destroy_subscription(self._subscriptions[name])
            lane = throttled_name(name) if slow else name
            self._subscriptions[name] = self._eyes.create_subscription(
                topic.type, lane, ignore_message, NEWEST
            )
            self._slow[name] = slow

    def read_newest(self) -> dict[str, Any]:
        """Return the messages that came since the last call, by topic; of each the newest."""
        found = {}
        for name, subscription in self._subscriptions.items():
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, False)
            if taken is not None:
                found[name] = taken[0]
        return found

    def close(self) -> None:
        """Give the subscriptions up."""
        self._eyes.destroy_node()


# Monitor of a graph: the newest row of every topic, and health of the nodes.

LEVELS = ('ok', 'warning', 'error', 'stale')
STALE = 4.0
"""s of wall time after which nobody knows how a node is; they say it once a second."""


class GraphMonitor:
    """The newest of everything.

    Attributes:
        rows: rows by topic name.
        state: state of the vehicle, or None before the first.
        stamp: stamp of that state, ns.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Look at the topics of a node's namespace; the node has ``SOURCES``."""
        sources = node.wrench_sources
        readings = [t for t in topics.sensor_topics(node.vehicle) if role_of(t.name)]
        states = {
            a.state_topic: topics.actuator_state(a)
            for a in actuators_of(node.vehicle)
            if a.source in sources and actuator_of(role_of(a.state_topic) or '') is a
        }
        bodies = [topics.body_odom(body.name) for body in node.environment.free_bodies]
        looked_at = (
            topics.ODOM,
            *bodies,
            topics.PWM,
            topics.THRUSTER_STATE,
            topics.THRUSTER_POWER,
            topics.SETPOINTS,
            topics.JOINT_STATES,
            *readings,
            *states.values(),
            *(topics.wrench_topic(s) for s in (*sources, 'total')),
            *((topics.TETHER_TENSION, topics.TETHER_SHAPE) if 'tether' in sources else ()),
        )
        self._sampler = LatestMessageReader(node, looked_at)
        self._namespace = node.get_namespace().rstrip('/') + '/'
        self._numbers = {
            t.name: row_converter(role_of(t.name) or DISPLAY_TOPICS[t.name], _type(t))
            for t in looked_at
            if t not in bodies
        }
        self._numbers |= {t.name: row_converter('odom', _type(t)) for t in bodies}
        self._said: dict[str, dict[str, str]] = {}
        self._values: dict[str, dict[str, str]] = {}
        self._told: dict[str, float] = {}
        self.rows: dict[str, tuple[float, ...]] = {}
        self.state: State | None = None
        self.stamp, self._heard = 0, time.monotonic()
        node.listen(topics.DIAGNOSTICS, self._on_diagnostics)

    def look(self) -> None:
        """Take what is new."""
        found = self._sampler.read_newest()
        if found:
            self._heard = time.monotonic()
        for name, message in found.items():
            if name == topics.ODOM.name:
                if (state := state_from(message)) is None:
                    continue
                self.state, self.stamp = state, stamp_ns(message.header.stamp)
            self.rows[name] = self._numbers[name](message)

    def close(self) -> None:
        """Look no more."""
        self._sampler.close()

    @property
    def silent_time(self) -> float:
        """For how long nothing new has come, s of wall time."""
        return time.monotonic() - self._heard

    @property
    def health(self) -> dict[str, Any]:
        """Return the state owner's report of the run, and the report of every node."""
        nodes = [self._node_health(name) for name in sorted(self._said)]
        voltage = self._values.get('thrusters', {}).get('voltage')
        return {**self._owner, 'nodes': nodes, 'voltage': voltage}

    def _silent_time(self, name: str) -> float:
        return time.monotonic() - self._told[name]

    def _node_health(self, name: str) -> dict[str, str]:
        silent = self._silent_time(name)
        if silent < STALE:
            return self._said[name]
        return {'node': name, 'state': LEVELS[3], 'message': f'silent for {silent:.0f} s'}

    @property
    def paused(self) -> bool:
        """Whether the run waits."""
        return self._owner.get('paused') == 'yes'

    @property
    def armed(self) -> bool | None:
        """Whether the controller is armed; None without one."""
        modes = [values['mode'] for values in self._values.values() if 'mode' in values]
        return modes[0] != 'disarmed' if modes else None

    @property
    def _owner(self) -> dict[str, str]:
        for name, values in self._values.items():
            if 'real_time_factor' in values and self._silent_time(name) < STALE:
                return values
        return {}

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = status.name.removeprefix(self._namespace)
            if name == status.name:
                continue  # another vehicle's
            level = min(int.from_bytes(status.level, 'little'), 3)
            self._told[name] = time.monotonic()
            self._said[name] = {'node': name, 'state': LEVELS[level], 'message': status.message}
            self._values[name] = {v.key: v.value for v in status.values}


def _type(topic: topics.Topic) -> str:
    return f'{topic.type.__module__.split(".")[0]}/msg/{topic.type.__name__}'
