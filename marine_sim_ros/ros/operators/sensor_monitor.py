# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Listens to the sensors while somebody looks at them, and costs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from marine_sim_ros.console.sensor_rows import SensorRow, SensorRows
from marine_sim_ros.core.stamps import NANOSECONDS, header_stamp
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.ros.base.latest_message import hidden_node, uncalled
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.throttled_publisher import NEWEST, throttled_name
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.operators.console_backend import ConsoleBackend
from marine_sim_ros.ros.operators.graph_monitor import GraphMonitor

__all__ = ['SILENCE', 'SensorMonitor', 'SensorPanel']

DEPTH = 64
"""Messages that wait; of more the oldest are lost."""
LARGE = ('sensor_msgs/msg/Image',)
"""Types of which only a few wait, unless all are wanted."""
SILENCE = 3.0
"""s without any message after which a page shows it."""
LOOKS_EVERY = 0.25
"""s of wall time between looks at the sensors."""


class SensorMonitor:
    """Subscriptions of a hidden node, which are there while :meth:`look` is called.

    They are best effort and volatile, so that no publisher waits for them. Messages are counted by
    their bytes, and only those that are shown become objects.

    Attributes:
        rows: rows of the vehicle's sensors.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Prepare rows of the sensors of a node's vehicle; listen to nothing."""
        self._node = node
        self._eyes: Any = None
        self._heard: list[tuple[SensorRow, topics.Topic, str, Any, int]] = []
        self._since = 0.0
        self.rows = self._fresh()

    def _fresh(self) -> SensorRows:
        sensors = self._node.vehicle.sensors
        return SensorRows((sensor, topics.told_topics(sensor)) for sensor in sensors)

    def look(
        self, now: float, faults: Sequence[Fault], ticks: float
    ) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
        """Take what is new at a time of the run (s); return the rows and pictures of the sensors.

        Args:
            now: time of the run, s.
            faults: faults of the run.
            ticks: ticks per second of the run's time; 0: unknown.
        """
        if self._eyes is None or now < self._since:  # at the first look, and after a reset
            self.close()
            self._listen(now)
        for row, topic, name, subscription, depth in self._heard:
            self._take(row, topic, name, subscription, depth, now)
        frame = self.rows.frame(now, since=self._since, faults=faults, ticks=ticks)
        return frame, self.rows.pictures()

    def _listen(self, now: float) -> None:
        node = self._node
        self.rows, self._since = self._fresh(), now
        self._eyes = hidden_node(node, 'sensors')
        for row in self.rows.rows:
            told = {topic.name: topic for topic in topics.told_topics(row.sensor)}
            for name, every in row.wanted.items():
                topic = topics.sensor_topic(row.sensor, told[name])
                depth = 4 if topic.type_name in LARGE and not every else DEPTH
                # One reading in every tick is more than a page needs: its slow lane is enough.
                lane = topic.name if row.sensor.period else throttled_name(topic.name)
                quality = QoSProfile(
                    depth=depth, reliability=NEWEST.reliability, durability=NEWEST.durability
                )
                heard = self._eyes.create_subscription(topic.type, lane, uncalled, quality)
                self._heard.append((row, topic, name, heard, depth))

    def _take(
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
                found = subscription.handle.take_message(subscription.msg_type, True)
            if found is None:
                break
            taken.append(found[0])
        if not taken:
            return
        stamps = [header_stamp(data) / NANOSECONDS if topic.stamped else now for data in taken]
        shown = taken if row.wanted[name] else taken[-1:]
        messages = [deserialize_message(data, topic.type) for data in shown]
        row.take(name, stamps, messages, gap=len(taken) == depth)

    def close(self) -> None:
        """Listen no more."""
        self._heard.clear()
        if self._eyes is not None:
            self._eyes.destroy_node()
            self._eyes = None


class SensorPanel:
    """What a page shows of the sensors, made anew a few times a second while somebody looks.

    Attributes:
        rows: one for each sensor; None: nobody looks.
        pictures: PNG by name.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Prepare for the sensors of a node's vehicle."""
        self._monitor = SensorMonitor(node)
        self._looked = self._ticks = 0.0
        self.close()

    def scenery(self) -> Any:
        """Return what of the sensors does not change."""
        return self._monitor.rows.scenery()

    def look(self, clock: float, time: float, page: ConsoleBackend, run: GraphMonitor) -> None:
        """Make rows and pictures of what is new, if a page shows them.

        Args:
            clock: wall time, s.
            time: time of the run, s.
            page: knows whether somebody looks, and the faults of the run.
            run: tells of its health and silence.
        """
        if not page.looked_at(clock):
            self.close()
            return
        if self.rows is not None and clock - self._looked < LOOKS_EVERY:
            return
        self._looked = clock
        ticks = float(run.health.get('ticks') or 0)
        if ticks and time > 0:
            self._ticks = ticks / time
        faults = page.fault_injector.faults
        rows, self.pictures = self._monitor.look(time, faults, self._ticks)
        stopped = run.silence > SILENCE and not page.paused
        self.rows = [{**row, 'state': 'silent'} for row in rows] if stopped else rows

    def close(self) -> None:
        """Listen no more."""
        self.rows: list[dict[str, Any]] | None = None
        self.pictures: dict[str, bytes] = {}
        self._monitor.close()
