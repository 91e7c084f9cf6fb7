# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readings of sensors and pictures of cameras, received while a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from marine_sim_ros.console.sensor_rows import SensorRow, SensorRows
from marine_sim_ros.core.state import NANOSECONDS, header_stamp
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.bus import NEWEST, throttled_name
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.operators.console_backend import ConsoleBackend
from marine_sim_ros.ros.operators.graph_monitor import (
    GraphMonitor,
    create_hidden_node,
    ignore_message,
)
from marine_sim_ros.sensors import SENSORS

__all__ = ['SENSOR_TIMEOUT', 'SensorPanel', 'VideoMonitor']


# Listener of the sensors while a page shows them.

QUEUE_DEPTH = 64
"""Queue depth of a subscription; if it is full, the oldest messages are lost."""
LARGE_TYPES = ('sensor_msgs/msg/Image',)
"""Types with a short queue, unless every message is needed."""
SENSOR_TIMEOUT = 3.0
"""s without any message after which a page shows it."""
UPDATE_PERIOD = 0.25
"""s of wall time between updates of the sensors."""


class SensorMonitor:
    """Subscriptions of a hidden node, which exist while :meth:`poll` is called.

    They are best effort and volatile, so that no publisher waits for them. Messages are counted by
    their bytes, and only those that are shown become objects.

    Attributes:
        rows: rows of the vehicle's sensors.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Prepare rows of the sensors of a node's vehicle; subscribe to nothing."""
        self._node = node
        self._hidden_node: Any = None
        self._subscriptions: list[tuple[SensorRow, topics.Topic, str, Any, int]] = []
        self._since = 0.0
        self.rows = self._new_rows()

    def _new_rows(self) -> SensorRows:
        sensors = self._node.vehicle.sensors
        return SensorRows((sensor, topics.published_topics(sensor)) for sensor in sensors)

    def poll(
        self, now: float, faults: Sequence[Fault], ticks: float
    ) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
        """Read new messages; return the rows and pictures of the sensors.

        Args:
            now: time of the run, s.
            ticks: ticks per second of the run's time; 0: unknown.
        """
        if self._hidden_node is None or now < self._since:  # at the first call, and after a reset
            self.close()
            self._listen(now)
        for row, topic, name, subscription, depth in self._subscriptions:
            self._read(row, topic, name, subscription, depth, now)
        frame = self.rows.frame(now, since=self._since, faults=faults, ticks=ticks)
        return frame, self.rows.pictures()

    def _listen(self, now: float) -> None:
        node = self._node
        self.rows, self._since = self._new_rows(), now
        self._hidden_node = create_hidden_node(node, 'sensors')
        for row in self.rows.rows:
            published = {topic.name: topic for topic in topics.published_topics(row.sensor)}
            for name, needs_all in row.wanted.items():
                topic = topics.sensor_topic(row.sensor, published[name])
                depth = 4 if topic.type_name in LARGE_TYPES and not needs_all else QUEUE_DEPTH
                # A page needs no per-tick readings: the throttled topic is enough.
                full_name = topic.name if row.sensor.period else throttled_name(topic.name)
                quality = QoSProfile(
                    depth=depth, reliability=NEWEST.reliability, durability=NEWEST.durability
                )
                subscription = self._hidden_node.create_subscription(
                    topic.type, full_name, ignore_message, quality
                )
                self._subscriptions.append((row, topic, name, subscription, depth))

    def _read(
        self,
        row: SensorRow,
        topic: topics.Topic,
        name: str,
        subscription: Any,
        depth: int,
        now: float,
    ) -> None:
        taken: list[bytes] = []
        while len(taken) < depth:
            with subscription.handle:
                received = subscription.handle.take_message(subscription.msg_type, True)
            if received is None:
                break
            taken.append(received[0])
        if not taken:
            return
        stamps = [header_stamp(data) / NANOSECONDS if topic.has_stamp else now for data in taken]
        shown = taken if row.wanted[name] else taken[-1:]
        messages = [deserialize_message(data, topic.type) for data in shown]
        row.take(name, stamps, messages, gap=len(taken) == depth)

    def close(self) -> None:
        """End the subscriptions."""
        self._subscriptions.clear()
        if self._hidden_node is not None:
            self._hidden_node.destroy_node()
            self._hidden_node = None


class SensorPanel:
    """Sensor panel of a page, refreshed a few times per second while a page shows it.

    Attributes:
        rows: one for each sensor; None: no page shows them.
        pictures: PNG by name.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Prepare for the sensors of a node's vehicle."""
        self._monitor = SensorMonitor(node)
        self._updated_at = self._ticks = 0.0
        self.rows: list[dict[str, Any]] | None = None
        self.pictures: dict[str, bytes] = {}
        self.close()

    def scenery(self) -> Any:
        """Return the constant data of the sensors."""
        return self._monitor.rows.scenery()

    def update(self, clock: float, time: float, page: ConsoleBackend, run: GraphMonitor) -> None:
        """Update rows and pictures, if a page shows them.

        Args:
            clock: wall time, s.
            time: time of the run, s.
            page: whether a page shows the sensors, and the faults of the run.
            run: health of the run, and time since its latest message.
        """
        if not page.has_viewers(clock):
            self.close()
            return
        if self.rows is not None and clock - self._updated_at < UPDATE_PERIOD:
            return
        self._updated_at = clock
        ticks = float(run.health.get('ticks') or 0)
        if ticks and time > 0:
            self._ticks = ticks / time
        faults = page.fault_injector.faults
        rows, self.pictures = self._monitor.poll(time, faults, self._ticks)
        stopped = run.silent_time > SENSOR_TIMEOUT and not page.paused
        self.rows = [{**row, 'state': 'silent'} for row in rows] if stopped else rows

    def close(self) -> None:
        """End the subscriptions."""
        self.rows, self.pictures = None, {}
        self._monitor.close()


# Listener of the cameras' pictures while a page shows them.


class VideoMonitor:
    """Subscriptions of a hidden node to JPEG pictures, which a camera encodes on demand.

    Attributes:
        names: cameras of the vehicle.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Find the cameras of a node's vehicle; subscribe to none."""
        self._node = node
        self._topics = {
            sensor.name: topics.sensor_topic(sensor, topic)
            for sensor in node.vehicle.sensors
            for topic in topics.published_topics(sensor)
            if topic.name == f'{SENSORS[sensor.kind].video}/compressed'
        }
        self.names = list(self._topics)
        self._pictures: dict[str, tuple[int, bytes]] = {}
        self._hidden_node: Any = None
        self._subscriptions: dict[str, Any] = {}
        self._count = 0

    def poll(self, watched: Sequence[str]) -> dict[str, tuple[int, bytes]]:
        """Return number and JPEG of the newest pictures of the watched cameras, by name.

        Subscriptions to other cameras end.
        """
        cameras = [name for name in watched if name in self._topics]
        for name in self._subscriptions.keys() - set(cameras):
            self._hidden_node.destroy_subscription(self._subscriptions.pop(name))
        pictures = {n: picture for n, picture in self._pictures.items() if n in cameras}
        for name in cameras:
            if self._hidden_node is None:
                self._hidden_node = create_hidden_node(self._node, 'video')
            if name not in self._subscriptions:
                topic = self._topics[name]
                self._subscriptions[name] = self._hidden_node.create_subscription(
                    topic.type, topic.name, ignore_message, NEWEST
                )
            subscription = self._subscriptions[name]
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, True)
            if taken is not None:
                self._count += 1
                message = deserialize_message(taken[0], subscription.msg_type)
                pictures[name] = (self._count, bytes(message.data))
        self._pictures = pictures
        return pictures

    def close(self) -> None:
        """End the subscriptions."""
        self._subscriptions.clear()
        if self._hidden_node is not None:
            self._hidden_node.destroy_node()
            self._hidden_node = None
