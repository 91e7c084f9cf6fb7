# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorder: writes every topic of the suite to an MCAP rosbag2, without a loss in lockstep.

Subscribes: everything in ros/recording/bag_topics.py. Publishes: recorder/written, the stamp
up to which it has every topic of every tick, -1 s as soon as it has subscribed; the state node
(``await_recorder``) starts then, and never gets further ahead than the queues hold.
Writes: <directory>/bag (rosbag2, MCAP; times are simulation time) and <directory>/manifest.json.
With ``recorder: ros2_bag`` it is `ros2 bag record` that writes the bag (times are those of
receipt); this node starts and ends it, and counts what it lost in a warning and the manifest.
Parameters: the common ones, and those below.
A reset begins a new recording, <directory>/reset_1 and so on, because time in a bag increases.
Failure: when the disk is full the bag is closed as far as it goes, the node ends with exit code 1
and one line that names the file; the run itself continues.
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
from marine_sim_ros.bags.storage import Thinning
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.state import NANOSECONDS, header_stamp
from marine_sim_ros.environment.changes import changes_content
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import makers, own_arguments, run
from marine_sim_ros.ros.base.publishers import NumbersPublisher
from marine_sim_ros.ros.cdr import read_numbers, remove_tag
from marine_sim_ros.ros.recording import bag_topics
from marine_sim_ros.ros.recording.bag_topics import Readiness
from marine_sim_ros.ros.recording.recorders import FleetRecording, RecorderFiles
from marine_sim_ros.ros.ticks import TickProgress
from marine_sim_ros.sim.player import scripted_commands
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['main']

IDLE_TIME = 0.3
"""s of wall time without a message after which the queues count as empty."""
REPORT_PERIOD = 0.05
"""s of wall time between two reports of the written stamp."""
MAX_STAMP_AHEAD = 3600 * NANOSECONDS
"""ns that a stamp may be ahead of the newest odom; a later one is of another clock."""
_SETTLING_TICKS = 20
"""Ticks after a reset in which messages from before it may still arrive."""
REPORT_TICKS = topics.ACK_WINDOW // 2
"""Ticks after which the written stamp is reported at once, without waiting for the timer."""
PARAMETERS = (
    NodeParameter('directory', 'out/run', 'new or empty folder to write to'),
    NodeParameter('manifest', '{}', 'JSON object to write into manifest.json'),
    option_parameter('recorder'),
    option_parameter('record_period'),
    bag_topics.MARKERS_PARAMETER,
    *bag_topics.RECORDING_PARAMETERS,
)


class RecorderNode(VehicleNode):
    """Node that records the topics of a vehicle."""

    def __init__(self, *, fleet: FleetRecording | None = None, **options: Any) -> None:
        """Create it as ``recorder`` and open the bag, or join that of a fleet."""
        super().__init__('recorder', PARAMETERS, **options)
        self._settings = json.loads(self.values['manifest'])
        self._manifest = self._new_manifest()
        self._stamp, self._step, self._last_message = 0, 1, wall.monotonic()
        self._named, self._every_tick = (
            bag_topics.recorded_topics(self),
            bag_topics.per_tick_topics(self),
        )
        self._thinning = Thinning(self.values['record_period'])
        self._packets = bag_topics.packet_topics(self)
        self._latched: dict[str, bytes] = {}
        """Last message of each latched topic."""
        self._settled = -1
        """Stamp (ns) until which, after a reset, messages with later stamps are from before it."""
        self._files = RecorderFiles(self, Path(self.values['directory']), fleet)
        self._bag = self._files.bag(self._named)
        self._readiness = Readiness(self._bag, self._every_tick)
        self._progress = TickProgress(
            {*self._every_tick, *bag_topics.one_time_topics(self)} & {*self._bag.topics}
        )
        self._written = NumbersPublisher(self, topics.RECORDER_WRITTEN, Time())
        for name in self._bag.topics:
            topic = self._named[name]
            bag_topics.subscribe_to(self, name, topic, partial(self._take, topic, name))
        self.create_timer(REPORT_PERIOD, self._report_written, clock=self.wall_clock)

    def _new_manifest(self) -> Manifest:
        """Return the manifest of a new recording, with the changes that are known already."""
        result, self._noted = Manifest(self._settings, self.vehicle), self.environment.changes
        if script := self._settings.get('scenario'):
            result.note(commands=scripted_commands(load_scenario(script), self.vehicle))
        if self._noted:
            result.note(changes=changes_content(self._noted))
        return result

    def on_parameters(self) -> None:
        """Note new changes of the environment; a reset ends some, after the recording of them."""
        changes = self.environment.changes
        if len(changes) > len(self._noted):
            self._noted = changes
            self._manifest.note(changes=changes_content(changes))

    def _take(self, topic: topics.Topic, full: str, data: bytes) -> None:
        """Write a message; skip an invalid one; any other failure ends the node."""
        if self.finished:
            return
        try:
            self._write(topic, full, data)
        except (ValueError, IndexError, struct.error) as error:
            self.warn_throttled(f'{topic.name}: {error}; not recorded')
        except Exception as error:  # a recording with a gap would go unnoticed
            expected = isinstance(error, MarineSimError)
            self._fail(
                str(error) if expected else f'{topic.name}: {type(error).__name__}: {error}'
            )

    def _write(self, topic: topics.Topic, full: str, data: bytes) -> None:
        header = header_stamp(data) if topic.has_stamp and topic.per_tick else None
        if header is not None and not 0 <= header <= self._stamp + MAX_STAMP_AHEAD:
            self.warn_throttled(
                f'{topic.name}: a stamp of {header / NANOSECONDS:g} s; not recorded'
            )
            return
        if header is not None and self._stamp < self._settled < header:
            return
        if topic.per_tick and not topic.shared:  # diagnostics, for example, never end
            self._last_message = wall.monotonic()
        if topic is topics.ODOM:
            before, (self._stamp, numbers) = self._stamp, read_numbers(Odometry, data)
            if self._stamp < before:
                self._split_recording()
            else:
                self._step = max(self._stamp - before, 1)
            if not self._manifest.ticks:
                self._describe()
            self._manifest.add(self._stamp, numbers[:7], numbers[7:])
        # Of a sensor with a rate, the tick of its node counts instead.
        tick = None if topic.sometimes else header
        self._progress.take(full, tick, self._last_message)
        if self._progress.is_reached:  # else the state node would wait for the timer
            self._report_written()
        if topic.transient_local and not topic.per_tick:
            self._latched[full] = remove_tag(data)
        stamp = self._stamp if header is None else header
        is_series = topic.per_tick and full not in self._packets
        if not is_series or self._thinning.keeps(full, stamp):
            self._bag.write(full, stamp, remove_tag(data))

    def _split_recording(self) -> None:
        """After a reset, begin a new recording, if the recorder supports that."""
        if self._files.splits:
            before = self._files.folder
            self._finish()
            self._files.begin_part()
            self._bag = self._files.bag(self._named)
            for full, data in self._latched.items():
                self._bag.write(full, self._stamp, data)
            text = f'{before} is complete, and {self._files.folder} goes on'
        else:
            text = 'the bag has both, the manifest its end'
        self.warn_throttled(f'the run was reset: {text}')
        self._manifest = self._new_manifest()
        self._thinning = Thinning(self.values['record_period'])
        self._settled = self._stamp + _SETTLING_TICKS * self._step

    def _describe(self) -> None:
        """Write the URDF with its meshes, so that readers of the recording need no other file."""
        full = self.resolve_topic_name(topics.ROBOT_DESCRIPTION.name)
        if full in self._bag.topics and full not in self._latched and self.vehicle.urdf:
            text = description_with_meshes(self.vehicle, self._files.folder / 'bag')
            self._bag.write(full, self._stamp, bytes(serialize_message(String(data=text))))

    def _fail(self, text: str) -> None:
        self.warn_throttled(text, error=True)
        self.end(1)

    def _report_written(self) -> None:
        """Publish the stamp up to which every topic is written."""
        if not self._is_ready():
            return
        stamp = self._progress.complete(wall.monotonic())
        self._progress.aim((stamp or 0) + REPORT_TICKS * self._step)
        self._written.publish(-NANOSECONDS if stamp is None else stamp)
        self.health['ticks'] = self._manifest.ticks

    def _is_ready(self) -> bool:
        """Return whether the run may continue: the bag is complete so far."""
        if self.finished:
            return False
        if self._bag.has_failed:
            self._fail(f'{self._files.folder}: `ros2 bag record` has ended before the run')
            return False
        if overdue := self._readiness.check(self._last_message):
            self.warn_throttled(f'`ros2 bag record` does not listen yet to {", ".join(overdue)}')
        return self._readiness.reached

    def drain(self, engine: Any) -> None:
        """Receive what is still in the queues; bounded, because the run may continue."""
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
        # In lockstep each of these topics has one message for every tick.
        names = self._every_tick if self._settings.get('lockstep', True) else ()
        entries = self._bag.close(dict.fromkeys(names, self._manifest.ticks))
        self._files.write_manifest(self._manifest, entries)


def main() -> None:
    """Run ``recorder``, or for a fleet ``recorder NAME JSON...``."""
    run(*makers(RecorderNode, own_arguments(), fleet=FleetRecording))


if __name__ == '__main__':
    main()
