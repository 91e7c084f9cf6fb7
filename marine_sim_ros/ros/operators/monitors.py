# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Monitors for the console: graph and node health; sensors and cameras while a page shows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from marine_sim_ros.bags.roles import DISPLAY_TOPICS, actuator_of, role_of, row_converter
from marine_sim_ros.console.pilot_readings import pilot_topics
from marine_sim_ros.console.telemetry import SensorRow, SensorRows
from marine_sim_ros.core.state import NANOSECONDS, State, header_stamp, stamp_ns
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.bus import NEWEST, throttled_name
from marine_sim_ros.ros.base.internals import poll_message
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.message_fields import state_from
from marine_sim_ros.ros.topics import Topic
from marine_sim_ros.sensors import SENSORS

__all__ = ['GraphMonitor', 'SENSOR_TIMEOUT', 'SensorPanel', 'VideoMonitor']


# Latest message of topics, on request: unread messages cost no Python time.


def create_hidden_node(node: VehicleNode, name: str) -> Node:
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

    def __init__(self, node: VehicleNode, topics: Iterable[Topic]) -> None:
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
            message = poll_message(subscription)
            if message is not None:
                messages[name] = message
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

    def __init__(self, node: VehicleNode) -> None:
        """Monitor the topics of a node's namespace; the node has ``WRENCH_SOURCES``."""
        sources = node.wrench_sources
        readings = [t for t in topics.sensor_topics(node.vehicle) if role_of(t.name)]
        overlay = {
            f'{sensor.name}/{topic.name}': (topics.sensor_topic(sensor, topic), numbers)
            for sensor, name, _, numbers in pilot_topics(node.vehicle)
            for topic in topics.published_topics(sensor)
            if topic.name == name
        }
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
            *(topic for topic, _ in overlay.values()),
            *states.values(),
            *(topics.wrench_topic(s) for s in (*sources, 'total')),
            *((topics.TETHER_TENSION, topics.TETHER_SHAPE) if 'tether' in sources else ()),
        )
        self._node = node
        self._newest: Any = None
        self._sampler = LatestMessageReader(node, monitored)
        self._namespace = node.get_namespace().rstrip('/') + '/'
        self._numbers = {
            t.name: row_converter(role_of(t.name) or DISPLAY_TOPICS[t.name], _type(t))
            for t in monitored
            if t not in bodies and t.name not in overlay
        }
        self._numbers |= {name: numbers for name, (_, numbers) in overlay.items()}
        self._numbers |= {t.name: row_converter('odom', _type(t)) for t in bodies}
        self._reports: dict[str, dict[str, str]] = {}
        self._values: dict[str, dict[str, str]] = {}
        self._reported_at: dict[str, float] = {}
        self.rows: dict[str, tuple[float, ...]] = {}
        self.state: State | None = None
        self.stamp, self._received_at = 0, time.monotonic()
        node.listen(topics.DIAGNOSTICS, self._on_diagnostics)

    def listen(self, callback: Callable[[], None]) -> None:
        """Have a function called when a state has come, at most 25 times a second."""

        def take(message: Any) -> None:
            self._newest = message  # the sampler may get it a moment later
            callback()

        name = throttled_name(topics.ODOM.name)
        self._node.create_subscription(topics.ODOM.type, name, take, NEWEST)

    def poll(self) -> None:
        """Read the new messages."""
        messages = self._sampler.read_newest()
        if self._newest is not None:
            messages[topics.ODOM.name], self._newest = self._newest, None
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

    def __init__(self, node: VehicleNode) -> None:
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
            received = poll_message(subscription, serialized=True)
            if received is None:
                break
            taken.append(received)
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

    def __init__(self, node: VehicleNode) -> None:
        """Prepare for the sensors of a node's vehicle."""
        self._monitor = SensorMonitor(node)
        self._updated_at = self._ticks = 0.0
        self.rows: list[dict[str, Any]] | None = None
        self.pictures: dict[str, bytes] = {}
        self.close()

    def scenery(self) -> Any:
        """Return the constant data of the sensors."""
        return self._monitor.rows.scenery()

    def update(
        self,
        clock: float,
        time: float,
        run: GraphMonitor,
        *,
        watched: bool,
        paused: bool,
        faults: Sequence[Fault],
    ) -> None:
        """Update rows and pictures, if a page shows them.

        Args:
            clock: wall time, s.
            time: time of the run, s.
            run: health of the run, and time since its latest message.
            watched: whether a page shows the sensors.
            paused: whether the run is paused, so that silence is no fault.
            faults: faults of the run.
        """
        if not watched:
            self.close()
            return
        if self.rows is not None and clock - self._updated_at < UPDATE_PERIOD:
            return
        self._updated_at = clock
        ticks = float(run.health.get('ticks') or 0)
        if ticks and time > 0:
            self._ticks = ticks / time
        rows, self.pictures = self._monitor.poll(time, faults, self._ticks)
        stopped = run.silent_time > SENSOR_TIMEOUT and not paused
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

    def __init__(self, node: VehicleNode) -> None:
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
            received = poll_message(subscription, serialized=True)
            if received is not None:
                self._count += 1
                message = deserialize_message(received, subscription.msg_type)
                pictures[name] = (self._count, bytes(message.data))
        self._pictures = pictures
        return pictures

    def close(self) -> None:
        """End the subscriptions."""
        self._subscriptions.clear()
        if self._hidden_node is not None:
            self._hidden_node.destroy_node()
            self._hidden_node = None
