# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mission: scores a mission while the vehicle performs it.

Subscribes: odom, wrench/contact and wrench/tether where the run has them, and what else its tasks
and penalties depend on: joint_states and odom of bodies, thrusters/state; every tick of each;
console/events where targets are reported.
Publishes: console/events, the reports of the scripted pilot; mission/score (String, latched), the
score of the ticks so far as JSON, ``rate`` times a second of wall time while the run goes on;
mission/tick, the stamp up to which it has every message: the state node (``await_mission``) waits
for it, so that no tick is lost.
Writes: ``live_score.json`` in ``directory``, if set, when it ends: the score of all
ticks, by the same function as that of the bag.
Parameters: the common ones, and those below.
A reset begins the mission anew. Failure: a tick that was lost ends the score with an error.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from std_msgs.msg import String

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.text import json_text
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import WRENCH_SOURCES, NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import NumbersPublisher
from marine_sim_ros.ros.cdr import JointNumbers, read_joints
from marine_sim_ros.sim.mission import (
    LIVE_SCORE,
    inputs_of_mission,
    load_mission,
    score_content,
    score_mission,
)
from marine_sim_ros.sim.mission_states import LOADS, MissionLog, parse_report, report_event
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['main']

IDLE_TIME = 0.3
"""s of wall time without a message after which the queues count as empty."""
PARAMETERS = (
    option_parameter('lesson', empty=''),
    option_parameter('scenario', empty='nobody reports targets by a script'),
    NodeParameter('rate', 2.0, 'scores per second of wall time', 0.1, 20.0, unit='Hz'),
    NodeParameter(
        'directory', '', 'folder for the score of the whole run', empty='it is not written'
    ),
    WRENCH_SOURCES,
)


class MissionNode(VehicleNode):
    """Node that scores a mission."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``mission``."""
        super().__init__('mission', PARAMETERS, **options)
        self._mission = load_mission(self.values['lesson'])
        self._loads = [name for name in LOADS if name in self.wrench_sources]
        self._inputs = inputs_of_mission(self._mission)
        self._log = MissionLog(self._loads, self._inputs)
        scenario = self.values['scenario']
        self._scenario = load_scenario(scenario) if scenario else None
        self._published = self._ticked = 0
        self._received_at = time.monotonic()
        self._score = self.create_publisher(
            topics.MISSION_SCORE.type, topics.MISSION_SCORE.name, topics.MISSION_SCORE.qos
        )
        tick = topics.sensor_tick('mission')
        self._tick = NumbersPublisher(self, tick, tick.type())
        for name in self._loads:
            self.listen_numbers(topics.wrench_topic(name), partial(self._on_load, name))
        if self._inputs.thrusters:
            self.listen_numbers(topics.THRUSTER_STATE, self._on_thrusters, read_joints)
        self._events = None
        if self._inputs.reports:
            self._events = self.publisher(topics.OPERATOR_EVENTS)
            self.listen(topics.OPERATOR_EVENTS, self._on_event)
        for body in self._inputs.bodies:
            self.listen_numbers(topics.body_odom(body), partial(self._on_body, body))
        for body in self._inputs.joints:
            self.listen_numbers(
                topics.body_joint_states(body), partial(self._on_joints, body), read_joints
            )
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.take_time_from_ticks()
        period = 1.0 / self.values['rate']
        self.create_timer(period, self.guard('score', self._publish), clock=self.wall_clock)

    def _on_odom(self, stamp: int, numbers: Sequence[float]) -> None:
        if stamp < self._log.newest:  # the run was reset
            self._log = MissionLog(self._loads, self._inputs)
            self._published = self._ticked = 0
        if self._scenario is not None and self._events is not None:
            for target in self._scenario.reports_at(stamp, self._log.newest):
                event = report_event(stamp / NANOSECONDS, target)
                self._events.publish(String(data=event))
        self.newest = stamp
        self._log.take_state(stamp, numbers)
        self._report_tick()

    def _on_load(self, name: str, stamp: int, numbers: Sequence[float]) -> None:
        self._log.take_load(name, stamp, numbers)
        self._report_tick()

    def _on_joints(self, body: str, stamp: int, numbers: JointNumbers) -> None:
        self._log.take_joints(body, stamp, numbers[0])
        self._report_tick()

    def _on_body(self, body: str, stamp: int, numbers: Sequence[float]) -> None:
        self._log.take_body(body, stamp, numbers)
        self._report_tick()

    def _on_thrusters(self, stamp: int, numbers: JointNumbers) -> None:
        self._log.take_thrust(stamp, numbers[2])
        self._report_tick()

    def _on_event(self, message: String) -> None:
        if (report := parse_report(message.data)) is not None:
            self._log.take_report(*report)
            self._published = 0

    def _report_tick(self) -> None:
        """Publish the newest complete tick, once."""
        self._received_at = time.monotonic()
        ticks = self._log.ticks
        if ticks > self._ticked:
            self._ticked = ticks
            self._tick.publish(self._log.stamp(ticks - 1))

    def _content(self) -> str:
        """Return the score of the complete ticks as JSON, with the time of the newest, s."""
        states = self._log.states()
        score = score_mission(self._mission, states)
        time = {'time': float(states.time[-1])}
        return json_text({**score_content(self._mission, score), **time}, indent=2)

    def _publish(self) -> None:
        if self._log.ticks and self._log.ticks != self._published:
            self._published = self._log.ticks
            self._score.publish(String(data=self._content()))
            self.health['time'] = f'{self._log.newest / NANOSECONDS:.3f}'

    def drain(self, engine: Any) -> None:
        """Receive what is still in the queues."""
        while time.monotonic() - self._received_at < IDLE_TIME:
            engine.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        """Write the score of the run."""
        if not self.values['directory'] or not self._log.ticks:
            return
        try:
            text = self._content()
            folder = Path(self.values['directory'])
            folder.mkdir(parents=True, exist_ok=True)
            (folder / LIVE_SCORE).write_text(f'{text}\n', encoding='utf-8')
        except (RecordingError, OSError) as error:
            self.get_logger().error(f'no live score: {error}')
            self.exit_code = 1


def main() -> None:
    """Run the executable."""
    run(MissionNode)


if __name__ == '__main__':
    main()
