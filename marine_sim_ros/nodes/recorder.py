# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorder: writes every topic of the suite to an MCAP rosbag2, without a loss in lockstep.

Subscribes: everything in ros/topics.py recorded(). Publishes: recorder/written, the stamp up to
which it has every topic of every tick; the state owner (``await_recorder``) never gets further
ahead than the queues hold.
Writes: <directory>/bag (rosbag2, MCAP; times are simulation time) and <directory>/manifest.json.
Parameters: the common ones, and those below.
Failure: when the disk is full the bag is closed as far as it goes, the node ends with exit code 1
and one line that names the file; the run itself goes on.
"""

from __future__ import annotations

import json
import time as wall
from functools import partial
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message

from marine_sim_ros.bags.writer import BagWriter, Manifest
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.faults.kinds import BarometerDropout
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import header_stamp, odometry_numbers, set_stamp, stamp_ns
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.parameters import SOURCES, Parameter, shared
from marine_sim_ros.ros.process import run

__all__ = ['RecorderNode', 'main']

QUIET = 0.3
LOST = 1.0
PARAMETERS = (
    Parameter('directory', 'out/run', 'new or empty folder to write to'),
    Parameter('manifest', '{}', 'JSON object to write into manifest.json'),
    Parameter('pwm_source', 'external', "the thrusters' pwm_source",
              choices=('external', 'controller')),
    shared('publish_components'),
    Parameter('controller', False, 'record the topics of a controller too'),
    SOURCES,
)  # fmt: skip


class RecorderNode(SuiteNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``recorder`` and open the bag."""
        super().__init__('recorder', PARAMETERS, **options)
        self._directory = Path(self.values['directory'])
        self._manifest = self._new_manifest()
        self._bag = BagWriter(self._directory / 'bag')
        self._stamp = 0
        self._last_message = wall.monotonic()
        # Stamp and wall time of the newest message of each topic with a stamp.
        self._progress: dict[str, tuple[int, float]] = {}
        recorded = topics.recorded(
            self.vehicle,
            components=self.values['publish_components'],
            controller=self.values['controller'],
            sources=self.wrench_sources,
        )
        if self.values['pwm_source'] == 'controller':  # then it is one per odom, and waited for
            recorded = tuple(topics.PWM_PER_TICK if t is topics.PWM else t for t in recorded)
        self._first_missing = {t.name for t in recorded if t.per_tick}
        silent = any(isinstance(fault, BarometerDropout) for fault in self.faults)
        if silent:
            self._first_missing -= {t.name for t in topics.sensor_topics(self.vehicle)}
        self._written = self.publisher(topics.WRITTEN)
        self._written_message = Time()
        for topic in recorded:
            self._record(topic)
        self.create_timer(0.05, self._tell, clock=self.wall_clock)

    def _new_manifest(self) -> Manifest:
        return Manifest(json.loads(self.values['manifest']), self.vehicle)

    def _record(self, topic: topics.Topic) -> None:
        full = self.resolve_topic_name(topic.name)
        self._bag.add(full, topic.type, topic.qos)
        write = partial(self._write, topic, full)
        if self.bus is not None and topic.per_tick and not topic.open_ended:
            self.bus.subscribe(full, lambda message: write(serialize_message(message)))
        else:
            self.create_subscription(topic.type, topic.name, write, topic.qos, raw=True)

    def _write(self, topic: topics.Topic, full: str, data: bytes) -> None:
        if self.finished:
            return
        if topic.per_tick:  # others may never be quiet: diagnostics come once a second from each
            self._last_message = wall.monotonic()
        self._first_missing.discard(topic.name)
        if topic is topics.ODOM:
            message = deserialize_message(data, Odometry)
            before, self._stamp = self._stamp, stamp_ns(message.header.stamp)
            if self._stamp < before:
                self.warn_throttled(
                    'the run was reset: the bag has both, the manifest the last one'
                )
                self._manifest = self._new_manifest()
            self._manifest.add(self._stamp, *odometry_numbers(message))
        stamp = header_stamp(data) if topic.stamped and topic.per_tick else self._stamp
        if topic.stamped and topic.per_tick:
            self._progress[topic.name] = stamp, self._last_message
        if topic is topics.TOTAL_WRENCH and self._manifest.ticks % 4 == 0:
            self._tell()
        try:
            self._bag.write(full, stamp, data)
        except MarineSimError as error:
            self.get_logger().error(str(error))
            self.warn_throttled(str(error), error=True)
            self.end(1)

    def _tell(self) -> None:
        """Say how far the recording is; the first tick counts when every topic has come.

        A topic that lags and is silent has lost its node; nobody waits for it.
        """
        if self._first_missing or self.finished:
            return
        newest = max(stamp for stamp, _ in self._progress.values())
        alive = wall.monotonic() - LOST
        stamp = min(s for s, seen in self._progress.values() if s == newest or seen > alive)
        set_stamp(self._written_message, stamp)
        self._written.publish(self._written_message)
        self.health['ticks'] = self._manifest.ticks

    def drain(self, engine: Any) -> None:
        """Take what is still in the queues."""
        if self.finished:
            return
        while wall.monotonic() - self._last_message < QUIET:
            engine.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        """Close the bag and write the manifest."""
        try:
            self._bag.close()
            self._manifest.write(self._directory / 'manifest.json')
        except MarineSimError as error:
            self.get_logger().error(str(error))
            self.exit_code = 1


def main() -> None:
    """Run the executable."""
    run(RecorderNode)


if __name__ == '__main__':
    main()
