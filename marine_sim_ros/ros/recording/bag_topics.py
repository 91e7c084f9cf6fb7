# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics that a bag records, and whether the recorder has subscribed to all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from marine_sim_ros.faults.fault_types import (
    BarometerDropout,
    CamerasDark,
    SensorDelay,
    SensorDropout,
)
from marine_sim_ros.model.body_joints import reported_joints
from marine_sim_ros.model.free_bodies import tethered_bodies
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import (
    OWNS_BODIES,
    WRENCH_SOURCES,
    NodeParameter,
    option_parameter,
)
from marine_sim_ros.sensors import has_packets

__all__ = [
    'MARKERS_PARAMETER',
    'RECORDING_PARAMETERS',
    'Readiness',
    'bag_node',
    'is_recorded',
    'one_time_topics',
    'packet_topics',
    'per_tick_topics',
    'recorded_topics',
    'subscribe_to',
]


# Topics that a run records, the same for every recorder.

SILENCING_FAULTS = (BarometerDropout, CamerasDark, SensorDelay, SensorDropout)

RECORDING_PARAMETERS = (
    NodeParameter(
        'pwm_source', 'external', "the thrusters' pwm_source", choices=('external', 'controller')
    ),
    option_parameter('publish_components'),
    NodeParameter('controller', False, 'record the topics of a controller too'),
    WRENCH_SOURCES,
    OWNS_BODIES,
)
"""Parameters of a node that computes the recorded topics."""
MARKERS_PARAMETER = option_parameter('markers')


def recorded_topics(node: VehicleNode) -> dict[str, topics.Topic]:
    """Return the topics of a node's run by full name; the node has ``RECORDING_PARAMETERS``."""
    bodies, joints = node.environment.free_bodies, node.environment.body_joints
    if not node.values['owns_bodies']:
        bodies, joints = (), ()
    recorded = topics.topics_to_record(
        node.vehicle,
        components=node.values['publish_components'],
        controller=node.values['controller'],
        pwm_per_tick=node.values['pwm_source'] == 'controller',
        sources=node.wrench_sources,
        bodies=[body.name for body in bodies],
        joined=list(reported_joints(joints)),
        tethered=list(tethered_bodies(bodies)),
    )
    return {node.resolve_topic_name(topic.name): topic for topic in recorded}


def subscribe_to(
    node: VehicleNode, full: str, topic: topics.Topic, take: Callable[[bytes], None]
) -> None:
    """Subscribe a node to the bytes of a topic, by the fastest path that carries it."""
    if node.bus is not None and topic.per_tick and not (topic.open_ended or topic.shared):
        node.bus.subscribe_bytes(full, take)
    elif topic.per_tick and not topic.shared:
        node.listen_to_bytes(topic, take)
    else:
        node.create_subscription(topic.type, topic.name, take, topic.subscriber_qos, raw=True)


def bag_node(namespace: str) -> str:
    """Return the node name of the `ros2 bag record` that records a namespace.

    Each namespace has its own, so that another recorder of the graph is not mistaken for it.
    """
    return f'rosbag2_recorder_{namespace.strip("/").replace("/", "_")}'


def is_recorded(node: VehicleNode, topic: str) -> bool:
    """Return whether a topic, by its full name, has the recorder of a node's run as subscriber."""
    namespace = node.get_namespace()
    recorders = {(namespace, 'recorder'), ('/', bag_node(namespace))}
    ends = node.get_subscriptions_info_by_topic(topic)
    return any((end.node_namespace, end.node_name) in recorders for end in ends)


def per_tick_topics(node: VehicleNode) -> list[str]:
    """Return the full names of the topics with one message for every tick of the node's run."""
    silent = tuple(
        f'{sensor.name}/'
        for sensor in node.vehicle.sensors
        for fault in node.faults
        if isinstance(fault, SILENCING_FAULTS)
        and getattr(fault, 'sensor', sensor.name) == sensor.name
    )
    ticks = {tick.name for tick in topics.sensor_ticks(node.vehicle)}  # also without readings
    return [
        name
        for name, topic in recorded_topics(node).items()
        if topic.per_tick
        and not topic.sometimes
        and (topic.name in ticks or not topic.name.startswith(silent))
    ]


def one_time_topics(node: VehicleNode) -> list[str]:
    """Return the full names of topics with one message in a run, which may come late.

    The node has ``MARKERS_PARAMETER``.
    """
    environment = node.environment
    has_markers = node.values['markers'] and (
        environment.scene is not None or environment.free_bodies
    )
    return [node.resolve_topic_name(topics.SCENE_MARKERS.name)] if has_markers else []


def packet_topics(node: VehicleNode) -> set[str]:
    """Return the full names of topics whose messages are packets, and not series of readings."""
    return {
        node.resolve_topic_name(topics.sensor_topic(sensor, topic).name)
        for sensor in node.vehicle.sensors
        if has_packets(sensor)
        for topic in topics.published_topics(sensor)
    }


# Check that a bag has every topic: `ros2 bag record` discovers topics with a delay.

_OVERDUE_TIME = 5.0
"""s without a message after which topics that the bag lacks are reported."""


class Readiness:
    """Readiness of a bag for the first tick.

    Attributes:
        reached: whether the bag has listened to every topic for its settling time.
    """

    def __init__(self, bag: Any, names: Iterable[str]) -> None:
        """Watch a bag for topics by full name."""
        self._bag, self._names = bag, tuple(names)
        self._complete_at = time.monotonic()
        self.reached = False

    def check(self, last_message: float) -> list[str]:
        """Update ``reached``; return the topics that are overdue.

        Args:
            last_message: monotonic time of the newest message, s.
        """
        if self.reached:
            return []
        missing, now = self._bag.unsubscribed_topics(self._names), time.monotonic()
        self._complete_at = now if missing else self._complete_at
        self.reached = now - self._complete_at >= self._bag.settling
        return missing if now - last_message > _OVERDUE_TIME else []
