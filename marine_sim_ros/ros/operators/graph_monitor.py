# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Latest message of every topic and health of every node, for the console."""

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
    """Return a hidden node in the namespace of another one, served by no executor."""
    return rclpy.create_node(
        f'_{node.get_name()}_{name}',
        namespace=node.get_namespace(),
        context=node.context,
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
    )


def ignore_message(message: Any) -> None:
    """Serve as the callback that rclpy requires; never called."""
    del message


class LatestMessageReader:
    """Subscriptions that are polled for their latest message.

    Of a per-tick topic with a throttled publisher (ros/base/bus.py), that one is subscribed to.
    """

    def __init__(self, node: SuiteNode, topics: Iterable[Topic]) -> None:
        """Subscribe in a node's namespace."""
        self._hidden_node = create_hidden_node(node, 'eyes')
        self._topics = {topic.name: topic for topic in topics}
        self._subscriptions: dict[str, Any] = {}
        self._throttled: dict[str, bool] = {}
        self._update_subscriptions()
        node.create_timer(0.5, self._update_subscriptions, clock=node.wall_clock)

    def _update_subscriptions(self) -> None:
        """Subscribe to each topic that has a publisher: to its throttled one, if there is one."""
        for name, topic in self._topics.items():
            throttled = bool(self._hidden_node.count_publishers(throttled_name(name)))
            has_publisher = throttled or bool(self._hidden_node.count_publishers(name))
            if not has_publisher or self._throttled.get(name) is throttled:
                continue
            if name in self._subscriptions:
                self._hidden_node.destroy_subscription(self._subscriptions[name])
            full_name = throttled_name(name) if throttled else name
            self._subscriptions[name] = self._hidden_node.create_subscription(
                topic.type, full_name, ignore_message, NEWEST
            )
            self._throttled[name] = throttled

    def read_newest(self) -> dict[str, Any]:
        """Return the newest message of each topic since the last call, by topic."""
        messages = {}
        for name, subscription in self._subscriptions.items():
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, False)
            if taken is not None:
                messages[name] = taken[0]
        return messages

    def close(self) -> None:
        """End the subscriptions."""
        self._hidden_node.destroy_node()


# Monitor of a graph: the newest row of every topic, and health of the nodes.

LEVELS = ('ok', 'warning', 'error', 'stale')
STALE = 4.0
"""s of wall time without a report after which a node's health is unknown; nodes report every
second."""


class GraphMonitor:
    """Latest numbers of every topic, and latest diagnostics of every node.

    Attributes:
        rows: latest numbers by topic name.
        state: state of the vehicle, or None before the first.
        stamp: stamp of that state, ns.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Monitor the topics of a node's namespace; the node has ``WRENCH_SOURCES``."""
        sources = node.wrench_sources
        readings = [t for t in topics.sensor_topics(node.vehicle) if role_of(t.name)]
        states = {
            a.state_topic: topics.actuator_state(a)
            for a in actuators_of(node.vehicle)
            if a.source in sources and actuator_of(role_of(a.state_topic) or '') is a
        }
        bodies = [topics.body_odom(body.name) for body in node.environment.free_bodies]
        monitored = (
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
        self._sampler = LatestMessageReader(node, monitored)
        self._namespace = node.get_namespace().rstrip('/') + '/'
        self._numbers = {
            t.name: row_converter(role_of(t.name) or DISPLAY_TOPICS[t.name], _type(t))
            for t in monitored
            if t not in bodies
        }
        self._numbers |= {t.name: row_converter('odom', _type(t)) for t in bodies}
        self._reports: dict[str, dict[str, str]] = {}
        self._values: dict[str, dict[str, str]] = {}
        self._reported_at: dict[str, float] = {}
        self.rows: dict[str, tuple[float, ...]] = {}
        self.state: State | None = None
        self.stamp, self._received_at = 0, time.monotonic()
        node.listen(topics.DIAGNOSTICS, self._on_diagnostics)

    def poll(self) -> None:
        """Read the new messages."""
        messages = self._sampler.read_newest()
        if messages:
            self._received_at = time.monotonic()
        for name, message in messages.items():
            if name == topics.ODOM.name:
                if (state := state_from(message)) is None:
                    continue
                self.state, self.stamp = state, stamp_ns(message.header.stamp)
            self.rows[name] = self._numbers[name](message)

    def close(self) -> None:
        """End the subscriptions."""
        self._sampler.close()

    def forget(self, name: str) -> None:
        """Forget the report of a node that has ended in order."""
        for reports in (self._reports, self._values, self._reported_at):
            reports.pop(name, None)

    @property
    def silent_time(self) -> float:
        """Time since the latest message, s of wall time."""
        return time.monotonic() - self._received_at

    @property
    def health(self) -> dict[str, Any]:
        """Return the state node's report of the run, and the report of every node."""
        nodes = [self._node_health(name) for name in sorted(self._reports)]
        voltage = self._values.get('thrusters', {}).get('voltage')
        return {**self._state_report, 'nodes': nodes, 'voltage': voltage}

    def _silent_time(self, name: str) -> float:
        return time.monotonic() - self._reported_at[name]

    def _node_health(self, name: str) -> dict[str, str]:
        silent = self._silent_time(name)
        if silent < STALE:
            return self._reports[name]
        return {'node': name, 'state': LEVELS[3], 'message': f'silent for {silent:.0f} s'}

    @property
    def paused(self) -> bool:
        """Whether the run is paused."""
        return self._state_report.get('paused') == 'yes'

    @property
    def armed(self) -> bool | None:
        """Whether the controller is armed; None without one."""
        modes = [values['mode'] for values in self._values.values() if 'mode' in values]
        return modes[0] != 'disarmed' if modes else None

    @property
    def _state_report(self) -> dict[str, str]:
        """Report of the state node; empty where it is stale."""
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
            self._reported_at[name] = time.monotonic()
            self._reports[name] = {'node': name, 'state': LEVELS[level], 'message': status.message}
            self._values[name] = {v.key: v.value for v in status.values}


def _type(topic: topics.Topic) -> str:
    return f'{topic.type.__module__.split(".")[0]}/msg/{topic.type.__name__}'
