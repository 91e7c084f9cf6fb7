# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorder: writes every topic of the suite to an MCAP rosbag2, without a loss in lockstep.

Subscribes: everything in ros/recording/bag_topics.py. Publishes: recorder/written, the stamp
up to which it has every topic of every tick, -1 s as soon as it listens; the state owner
(``await_recorder``) starts then, and never gets further ahead than the queues hold.
Writes: <directory>/bag (rosbag2, MCAP; times are simulation time) and <directory>/manifest.json.
With ``recorder: ros2_bag`` it is `ros2 bag record` that writes the bag (times are those of
receipt); this node starts and ends it, and counts what it lost in a warning and the manifest.
Parameters: the common ones, and those below.
A reset begins a recording of its own, <directory>/reset_1 and so on: a bag has one time.
Failure: when the disk is full the bag is closed as far as it goes, the node ends with exit code 1
and one line that names the file; the run itself goes on.
"""

from __future__ import annotations

import json
import struct
import time as wall
from functools import partial
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from marine_sim_ros.bags.description import Manifest, description_with_meshes
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.state import NANOSECONDS, header_stamp
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import own_words, run
from marine_sim_ros.ros.base.publishers import NumbersPublisher
from marine_sim_ros.ros.codecs import read_numbers, remove_tag
from marine_sim_ros.ros.recording import bag_topics
from marine_sim_ros.ros.recording.bag_topics import Readiness
from marine_sim_ros.ros.recording.recorders import FleetRecording, RecorderFiles, recorders
from marine_sim_ros.ros.ticks import TickProgress

__all__ = ['main']

IDLE_TIME = 0.3
MAX_STAMP_AHEAD = 3600 * NANOSECONDS
"""ns that a stamp may be ahead of the newest odom; beyond that it is of another clock."""
_SETTLING = 20
"""Ticks after a reset in which messages of before it may still come."""
OFTEN = topics.ACK_WINDOW // 2  # ticks, after which the owner is told that they are written
PARAMETERS = (
    NodeParameter('directory', 'out/run', 'new or empty folder to write to'),
    NodeParameter('manifest', '{}', 'JSON object to write into manifest.json'),
    option_parameter('recorder'),
    bag_topics.MARKERS_PARAMETER,
    *bag_topics.RECORDING_PARAMETERS,
)


class RecorderNode(SuiteNode):
    """The node."""

    def __init__(self, *, fleet: FleetRecording | None = None, **options: Any) -> None:
        """Create it as ``recorder`` and open the bag, or join that of a fleet."""
        super().__init__('recorder', PARAMETERS, **options)
        self._settings = json.loads(self.values['manifest'])
        self._manifest = Manifest(self._settings, self.vehicle)
        self._stamp, self._step, self._last_message = 0, 1, wall.monotonic()
        self._named, self._every_tick = (
            bag_topics.recorded_topics(self),
            bag_topics.per_tick_topics(self),
        )
        self._kept: dict[str, bytes] = {}
        """Last message of each topic that is sent once and kept for who comes late."""
        self._settled = -1
        """Stamp (ns) after a reset until which later ones are of before it."""
        self._files = RecorderFiles(self, Path(self.values['directory']), fleet)
        self._bag = self._files.bag(self._named)
        self._readiness = Readiness(self._bag, self._every_tick)
        self._progress = TickProgress(
            {*self._every_tick, *bag_topics.one_time_topics(self)} & {*self._bag.heard}
        )
        self._written = NumbersPublisher(self, topics.RECORDER_WRITTEN, Time())
        for name in self._bag.heard:
            topic = self._named[name]
            bag_topics.subscribe_to(self, name, topic, partial(self._take, topic, name))
        self.create_timer(0.05, self._tell, clock=self.wall_clock)

    def _take(self, topic: topics.Topic, full: str, data: bytes) -> None:
        """Write a message; one that is none is left out, and any other failure ends the run."""
        if self.finished:
            return
        try:
            self._write(topic, full, data)
        except (ValueError, IndexError, struct.error) as error:
            self.warn_throttled(f'{topic.name}: {error}; not recorded')
        except Exception as error:  # a recording with a gap would go unnoticed
            known = isinstance(error, MarineSimError)
            self._fail(str(error) if known else f'{topic.name}: {type(error).__name__}: {error}')

    def _write(self, topic: topics.Topic, full: str, data: bytes) -> None:
        own = header_stamp(data) if topic.has_stamp and topic.per_tick else None
        if own is not None and not 0 <= own <= self._stamp + MAX_STAMP_AHEAD:
            self.warn_throttled(f'{topic.name}: a stamp of {own / NANOSECONDS:g} s; not recorded')
            return
        if own is not None and self._stamp < self._settled < own:
            return
        if topic.per_tick and not topic.shared:  # others may never be quiet, as diagnostics
            self._last_message = wall.monotonic()
        if topic is topics.ODOM:
            before, (self._stamp, numbers) = self._stamp, read_numbers(Odometry, data)
            if self._stamp < before:
                self._begin_again()
            else:
                self._step = max(self._stamp - before, 1)
            if not self._manifest.ticks:
                self._describe()
            self._manifest.add(self._stamp, numbers[:7], numbers[7:])
        waited = None if topic.sometimes else own  # a sensor with a rate: its node's tick is
        self._progress.take(full, waited, self._last_message)
        if self._progress.is_reached:  # else the owner would wait for the timer
            self._tell()
        if topic.transient_local and not topic.per_tick:
            self._kept[full] = remove_tag(data)
        self._bag.write(full, self._stamp if own is None else own, remove_tag(data))

    def _begin_again(self) -> None:
        """Close the recording of before a reset; go on in one of its own where that can be."""
        if self._files.splits:
            before = self._files.folder
            self._finish()
            self._files.begin_part()
            self._bag = self._files.bag(self._named)
            for full, data in self._kept.items():
                self._bag.write(full, self._stamp, data)
            said = f'{before} is complete, and {self._files.folder} goes on'
        else:
            said = 'the bag has both, the manifest its end'
        self.warn_throttled(f'the run was reset: {said}')
        self._manifest = Manifest(self._settings, self.vehicle)
        self._settled = self._stamp + _SETTLING * self._step

    def _describe(self) -> None:
        """Write the URDF: who reads a recording opens no file that it names."""
        full = self.resolve_topic_name(topics.ROBOT_DESCRIPTION.name)
        if full in self._bag.heard and full not in self._kept and self.vehicle.urdf:
            text = description_with_meshes(self.vehicle, self._files.folder / 'bag')
            self._bag.write(full, self._stamp, bytes(serialize_message(String(data=text))))

    def _fail(self, text: str) -> None:
        self.warn_throttled(text, error=True)
        self.end(1)

    def _tell(self) -> None:
        """Say how far the recording is."""
        if not self._is_ready():
            return
        stamp = self._progress.complete(wall.monotonic())
        self._progress.aim((stamp or 0) + OFTEN * self._step)
        self._written.publish(-NANOSECONDS if stamp is None else stamp)
        self.health['ticks'] = self._manifest.ticks

    def _is_ready(self) -> bool:
        """Return whether the run may go on."""
        if self.finished:
            return False
        if self._bag.has_failed:
            self._fail(f'{self._files.folder}: `ros2 bag record` has ended before the run')
            return False
        if overdue := self._readiness.check(self._last_message):
            self.warn_throttled(f'`ros2 bag record` does not listen yet to {", ".join(overdue)}')
        return self._readiness.reached

    def drain(self, engine: Any) -> None:
        """Take what is still in the queues; of a run that goes on, no more than they hold."""
        if self.finished:
            return
        first = self._stamp
        last = first + 2 * topics.ACK_WINDOW * self._step
        while first <= self._stamp < last and wall.monotonic() - self._last_message < IDLE_TIME:
            engine.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        """Close the bag and write the manifest."""
        try:
            self._finish()
        except MarineSimError as error:
            self.get_logger().error(str(error))
            self.exit_code = 1

    def _finish(self) -> None:
        # In lockstep there was one message of each of these topics for every tick.
        names = self._every_tick if self._settings.get('lockstep', True) else ()
        more = self._bag.close(dict.fromkeys(names, self._manifest.ticks))
        self._files.write_manifest(self._manifest, more)


def main() -> None:
    """Run ``recorder``, or for a fleet ``recorder NAME JSON...``."""
    run(*recorders(RecorderNode, own_words()))


if __name__ == '__main__':
    main()
