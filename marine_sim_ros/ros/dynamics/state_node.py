# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Base class of the nodes that publish the state: odometry, clock, pause, reset; second runs.

The younger of two runs with the same vehicle ends with exit code 2 at its start. Later, and
against other publishers (a bag that is played, a test), it names them and continues.
Two vehicles that share a clock or frames continue, because the physics of a run reads no clock;
both runs warn, and name the option that separates them.
"""

from __future__ import annotations

import time as wall
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.progress import report_state
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import (
    LIMITS,
    NANOSECONDS,
    State,
    is_physical,
    step_nanoseconds,
    ticks_of,
)
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import (
    OWNS_BODIES,
    WRENCH_SOURCES,
    NodeParameter,
    option_parameter,
)
from marine_sim_ros.ros.base.publishers import (
    NumbersPublisher,
    OdometryPublisher,
    SpatialPublisher,
)
from marine_sim_ros.ros.recording.bag_topics import is_recorded
from marine_sim_ros.ros.ticks import FOLLOWER_TIMEOUT, Followers, Pacer
from marine_sim_ros.ros.topics import ODOM, STATE_NODES
from marine_sim_ros.sim.run_setup import description_warnings, start_warnings
from marine_sim_ros.sim.safe_step import step_warnings

__all__ = ['STATE_PARAMETERS', 'START_TIMEOUT', 'StateNode']


# Other publishers of a state node's topics: another run in the ROS domain.

SETTLING_TIME = 2.0
"""s of wall time after its start that a run may find an older one; discovery takes 0.1 to 0.6 s,
and on a busy machine up to 3 s."""


class PublisherConflicts:
    """Search for other publishers of a node's topics."""

    def __init__(
        self,
        node: VehicleNode,
        topics: Sequence[str],
        *,
        clocks: Sequence[str],
        frames: Sequence[str],
    ) -> None:
        """Prepare the search; for ``SETTLING_TIME`` a conflict ends the node.

        Args:
            node: state node; it ends where an older run publishes the same topics.
            topics: full names of the topics that only this node may publish.
            clocks: full names of topics on which it publishes the time.
            frames: full names of topics on which other state nodes need other frame names.
        """
        self._node, self._topics = node, tuple(topics)
        self._clocks, self._frames = tuple(clocks), tuple(frames)
        self._body_frames: dict[str, _BodyFrame] = {}
        self._settles = wall.monotonic() + SETTLING_TIME

    def check(self) -> None:
        """Warn of other publishers; end this run where it is the younger of two."""
        is_starting = wall.monotonic() < self._settles
        for topic in self._topics:
            publishers = self._other_publishers(topic)
            if not publishers:
                continue
            text = f'{topic} is published by {" and ".join(publishers)} too'
            if not _owners(publishers):
                self._node.warn_throttled(f'{text}; expected this run alone', error=True)
                continue
            text += (
                ', which is another run: end it, or set another ROS_DOMAIN_ID, or join its clock '
                'with --clock follow, --namespace and --frame-prefix'
            )
            self._node.warn_throttled(text, error=True)
            if is_starting:
                self._node.end(2)
                return
        for topic in self._clocks:
            if names := _owners(self._other_publishers(topic)):
                self._node.warn_throttled(
                    f'{topic} is published by {" and ".join(names)} too, which is another run: '
                    'what follows the clock jumps between two times; expected --clock follow in '
                    'one of them, or another ROS_DOMAIN_ID'
                )
        for topic in self._frames:
            for name in _owners(self._other_publishers(topic)):
                self._compare_frames(topic, name)

    def _compare_frames(self, topic: str, name: str) -> None:
        """Warn where another state node has the same body frame, by its first odometry."""
        other = self._body_frames.setdefault(name, _BodyFrame())
        if other.frame is None and other.subscription is None:
            odometry = f'{name.rpartition("/")[0]}/{ODOM.name}'
            other.subscription = self._node.create_subscription(
                Odometry, odometry, other.take, qos_profile_sensor_data
            )
        if other.frame is not None and other.subscription is not None:
            self._node.destroy_subscription(other.subscription)
            other.subscription = None
        if other.frame == self._node.body_frame:
            self._node.warn_throttled(
                f'{topic} has the frame {other.frame!r} of {name} too, which is another run; '
                'expected a --frame-prefix of its own for each, or another ROS_DOMAIN_ID'
            )

    def _other_publishers(self, topic: str) -> list[str]:
        """Return the full names of the other nodes that publish a topic."""
        if self._node.count_publishers(topic) < 2:
            return []
        names = [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self._node.get_publishers_info_by_topic(topic)
        ]
        own_name = self._node.get_fully_qualified_name()
        for publisher in self._node.publishers:  # another run may have a node of the same name
            if publisher.topic_name == topic and own_name in names:
                names.remove(own_name)
        return names


class _BodyFrame:
    """Body frame of another state node, None until its first odometry."""

    def __init__(self) -> None:
        self.frame: str | None = None
        self.subscription: Any = None

    def take(self, message: Odometry) -> None:
        """Take the frame of a message."""
        self.frame = str(message.child_frame_id)


def _owners(names: Sequence[str]) -> list[str]:
    """Return the full names that are those of state nodes."""
    return [name for name in names if name.rpartition('/')[2] in STATE_NODES]


# Base class of state nodes: publish, keep time, pause, reset, end.

ACKNOWLEDGEMENT = Duration(seconds=1)
"""Time-out of acknowledgements; after it, a subscriber counts as gone."""
MAX_TICKS_AHEAD = topics.ACK_WINDOW // 2
"""Ticks that the state may be ahead of a follower, which may be ACK_WINDOW ahead of its recorder:
together fewer than the queues keep for a subscriber that is discovered late."""
SENSOR_TIMEOUT = 30.0
"""s of wall time that a sensor may take for a reading on a busy machine."""
START_TIMEOUT = 60.0
"""s of wall time; a node that has not published by then counts as missing."""
END_TIMEOUT = 5.0
"""s of wall time after the last tick that the recorder may take to write it."""
WATCH_PERIOD = 0.5
"""s of wall time between two reports of the run, and two searches for a second one."""
UNPACED_PERIOD = 0.05
"""s of wall time between two checks whether the state is due, where no pace is set."""
MIN_TIMER_PERIOD = 2e-4
"""s of wall time; a shorter period of a timer is not kept."""

STATE_PARAMETERS = (
    option_parameter('dt'),
    option_parameter('real_time_factor'),
    WRENCH_SOURCES,
    option_parameter('lockstep'),
    NodeParameter(
        'source_timeout',
        1.0,
        'wall time after which a silent source is missing',
        1e-3,
        1e6,
        unit='s',
    ),
    NodeParameter(
        'on_missing_wrench',
        'hold',
        'hold the last wrench of a missing source, or stop',
        choices=('hold', 'stop'),
    ),
    option_parameter('integrator'),
    NodeParameter('implicit_drag', True, 'treat drag as linearly implicit, stable at any step'),
    option_parameter('initial_position', default=[0.0, 0.0, -0.5], empty=''),
    option_parameter('initial_rpy', default=[0.0, 0.0, 0.0], empty=''),
    option_parameter('duration', empty='until stopped'),
    option_parameter('clock'),
    option_parameter('truth_frame'),
    OWNS_BODIES,
    NodeParameter(
        'followers', [''], 'namespaces of the vehicles that follow this /clock; it waits for them'
    ),
    NodeParameter('leader', '', 'namespace of the vehicle of a fleet that publishes /clock'),
    NodeParameter('await_recorder', False, 'wait for the recorder where it falls behind'),
    NodeParameter('await_sensors', False, 'wait for the nodes of sensors where they fall behind'),
    NodeParameter('await_mission', False, 'wait for the node that scores a mission'),
    option_parameter('start_paused'),
    NodeParameter(
        'await_acknowledgement', False, 'wait for every other listener to odom, over DDS'
    ),
)
"""Parameters of every state node."""


def _vector_parameter(name: str, values: Any) -> np.ndarray:
    """Return a parameter of three numbers (3,)."""
    array = np.array(values, float)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise ParameterError(f'{name} is {list(values)}; expected three finite numbers')
    return array


class StateNode(VehicleNode):
    """Publishes the state of each tick when it is due; a subclass computes the next one."""

    def __init__(
        self, name: str, parameters: Sequence[NodeParameter] = (), **options: Any
    ) -> None:
        """Set up at time 0; nothing is published before the first spin."""
        super().__init__(name, (*STATE_PARAMETERS, *parameters), **options)
        values = self.values
        self._step = step_nanoseconds(values['dt'])
        self.dt = self._step / NANOSECONDS
        self._initial = State(
            _vector_parameter('initial_position', values['initial_position']),
            quaternion_from_rpy(*_vector_parameter('initial_rpy', values['initial_rpy'])),
            np.zeros(6),
        )
        self.state, self.stamp, self.published = self._initial, 0, False
        self.pacer = Pacer(values['real_time_factor'] or (0.0 if values['lockstep'] else 1.0))
        self._end = None
        if duration := values['duration']:
            self._end = (ticks_of(duration, values['dt']) - 1) * self._step
        self.paused = self._single = values['start_paused']  # the first tick is published
        self._written = -1
        self._recorder_listens = False
        self._followed = 0
        self._watches_water, self._water_watched = self.environment.fields is not None, 0
        self._followers = Followers(name for name in values['followers'] if name)
        ticks = topics.sensor_ticks(self.vehicle) if values['await_sensors'] else ()
        ticks += (topics.sensor_tick('mission'),) * values['await_mission']
        self._sensors = Followers(topic.name for topic in ticks)
        self._sensor_ticks = ticks
        self._ticks_reported = (0, wall.monotonic())
        self._published_at = self._ended_at = self._written_at = wall.monotonic()
        warnings = [
            *self.vehicle.warnings,
            *description_warnings(self.vehicle),
            *start_warnings(self.environment, self._initial.position),
            *step_warnings(self.vehicle, self.environment, self.dt, values['integrator']),
        ]
        for text in warnings:  # this node warns for all of a run
            self.get_logger().warning(text)
        self._make_messages()
        self.total = SpatialPublisher(self, topics.TOTAL_WRENCH)
        needed = 'acceleration' in topics.sensor_needs(self.vehicle)
        self._acceleration = SpatialPublisher(self, topics.ACCELERATION) if needed else None
        self._conflicts = self._publisher_conflicts()
        self._make_inputs()
        self.take_time_from_ticks()
        period = self.dt / self.pacer.factor if self.pacer.factor else UNPACED_PERIOD
        self.create_timer(max(period, MIN_TIMER_PERIOD), self._on_timer, clock=self.wall_clock)
        self.create_timer(WATCH_PERIOD, self._watch, clock=self.wall_clock)

    def _make_messages(self) -> None:
        truth = self.values['truth_frame']
        frame = self.values['frame_prefix'] + truth if truth else self.body_frame
        self._odom_publisher = OdometryPublisher(self, topics.ODOM, self.body_frame, frame)
        if topics.TF is None:
            self.get_logger().warning(
                'no /tf is published: tf2_msgs is not installed; a ROS workspace has it, and '
                '`make setup` in a checkout builds it, for it is not on PyPI'
            )
        if self.values['clock'] == 'publish':
            self._clock_publisher = NumbersPublisher(self, topics.CLOCK, Clock())

    def _make_inputs(self) -> None:
        if self.values['clock'] == 'follow':
            self.listen_numbers(topics.CLOCK, self._on_clock)
        for name in filter(None, self.values['followers']):
            total = replace(topics.TOTAL_WRENCH, name=f'{name}/{topics.TOTAL_WRENCH.name}')
            self.listen_numbers(total, partial(self._on_follower, self._followers, name))
        for tick in self._sensor_ticks:
            self.listen_numbers(tick, partial(self._on_follower, self._sensors, tick.name))
        if self.values['await_recorder']:
            self.listen_numbers(topics.RECORDER_WRITTEN, self._on_written)
        self.create_service(SetBool, 'pause', self._on_pause)
        self.create_service(Trigger, 'reset', self._on_reset)
        self.create_service(Trigger, 'step', self._on_step)
        self.create_service(Trigger, 'end', self._on_end)

    @property
    def time(self) -> float:
        """Simulation time of the present tick, s."""
        return self.stamp / NANOSECONDS

    def seconds_since_publishing(self) -> float:
        """Return the wall time since the state was published, s."""
        return wall.monotonic() - self._published_at

    def on_published(self) -> None:
        """React to the publication of the state of a tick."""
        raise NotImplementedError

    def on_pace(self) -> None:
        """React to wall time reaching the next tick, without lockstep."""

    def on_reset(self) -> None:
        """Prepare a new run, from the start."""

    def fail(self, text: str) -> None:
        """End the run with an error."""
        self._complaints[text] = True
        self.get_logger().error(text)
        self.end(1)

    def advance(self, state: State) -> None:
        """Accept the state of the next tick, and publish it as soon as it is due."""
        if not is_physical(state.position, state.velocity):
            text = f'the state is not physical after {self.time:.3f} s: expected {LIMITS}'
            self.fail(f'{text}; try a smaller dt')
            return
        if self._acceleration is not None and self.stamp >= 0:  # before 0 there is no state
            change = (state.velocity - self.state.velocity) / self.dt
            self._acceleration.publish(self.stamp, change)
        if self._end is not None and self.stamp >= self._end:
            self.published = False
            self._ended_at = wall.monotonic()
            self.paused = True
            self._finish()
            return
        self.state, self.published = state, False
        self.stamp += self._step
        if self._watches_water and self.stamp // NANOSECONDS != self._water_watched:
            self._watch_water()
        self.publish_when_due()

    def _watch_water(self) -> None:
        """Warn once when the vehicle leaves the data of the water; looked at each second."""
        self._water_watched = self.stamp // NANOSECONDS
        point, time = self.state.position[None], np.array([self.stamp / NANOSECONDS])
        if warning := self.environment.beyond_data(point, time):
            self.get_logger().warning(warning)
            self._watches_water = False

    def publish_when_due(self) -> None:
        """Publish the state once, as soon as pause, followers and pace allow it."""
        if self.published or self.finished or (self.paused and not self._single):
            return
        if self.awaits_state():
            return
        if not self.pacer.is_due(self.time, wall.monotonic()):
            return
        self.published, self._single, self.newest = True, False, self.stamp
        self._published_at = wall.monotonic()
        stamp = self.stamp
        if self.values['clock'] == 'publish':
            self._clock_publisher.publish(stamp)
        ends_window = stamp // self._step % topics.ACK_WINDOW == 0
        waits = ends_window and self.values['await_acknowledgement']
        self._odom_publisher.publish_state(stamp, self.state, ACKNOWLEDGEMENT if waits else None)
        self.on_published()

    def awaits_state(self) -> bool:
        """Return whether the present state may not be published yet."""
        if self.values['clock'] == 'follow' and self.stamp > self._followed:
            return True
        if self._followers_are_late(self.stamp - MAX_TICKS_AHEAD * self._step):
            return True
        if not self.values['await_recorder']:
            return False
        ahead = self.stamp - max(self._written, 0)
        return not self._recorder_listens or ahead > topics.ACK_WINDOW * self._step

    def _followers_are_late(self, stamp: int) -> bool:
        """Whether a follower or sensor is late at a stamp (ns) and has not timed out."""
        for group, timeout in (
            (self._followers, FOLLOWER_TIMEOUT),
            (self._sensors, SENSOR_TIMEOUT),
        ):
            for name in group.give_up(stamp, wall.monotonic(), timeout, START_TIMEOUT):
                text = f'{name} is silent at {self.time:.3f} s: the run goes on without waiting'
                self.get_logger().warning(f'{text} for it')
        return stamp >= 0 and bool(
            self._followers.late_sources(stamp) or self._sensors.late_sources(stamp)
        )

    def _on_follower(self, group: Followers, name: str, stamp: int, _: Sequence[float]) -> None:
        if group.take(name, stamp, wall.monotonic()):
            self.get_logger().info(f'{name} is back at {self.time:.3f} s')
        self.publish_when_due()
        self._finish()

    def _on_timer(self) -> None:
        if self.published and not self.values['lockstep']:
            if self.pacer.is_due(self.time + self.dt, wall.monotonic()):
                self.on_pace()
        else:
            self.publish_when_due()

    def _on_clock(self, stamp: int, _: Sequence[float]) -> None:
        before, self._followed = self._followed, stamp
        if self._followed < before:  # the run that publishes the clock was reset
            self._restart()
        self.publish_when_due()

    def _on_written(self, stamp: int, _: Sequence[float]) -> None:
        self._recorder_listens = self._recorder_listens or self._recorder_has_transform()
        self._written, self._written_at = max(self._written, stamp), wall.monotonic()
        self.publish_when_due()
        self._finish()

    def _recorder_has_transform(self) -> bool:
        """Whether the recorder is connected to /tf, of which no queue keeps the first message."""
        transform = self._odom_publisher.transform
        return transform is None or is_recorded(self, transform.topic_name)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.paused = bool(request.data)
        self.pacer.restart()
        self.publish_when_due()
        response.success = True
        response.message = f'{"paused" if self.paused else "running"} at {self.time:.3f} s'
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        self._restart()
        self._followed = -1
        self.publish_when_due()
        response.success, response.message = True, 'back to the start at 0 s'
        return response

    def _restart(self) -> None:
        """Go back to the start."""
        self.on_reset()
        self.state, self.stamp, self.published = self._initial, 0, False
        self._single = self.paused  # the first tick is published
        self._written = -1
        self._sensors.restart()
        self.pacer.restart()

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        response.success = self.paused
        response.message = f'one tick from {self.time:.3f} s' if self.paused else 'not paused'
        if self.paused:
            self._single = True
            self.pacer.restart()
            self.publish_when_due()
        return response

    def _on_end(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        self.end()
        response.success, response.message = True, f'ends at {self.time:.3f} s'
        return response

    def _finish(self) -> None:
        """End when the last tick has reached all followers and, if configured, the recorder."""
        ended = self._end is not None and self.stamp >= self._end and self.paused
        timed_out = wall.monotonic() - max(self._ended_at, self._written_at) > END_TIMEOUT
        if ended and self._followers_are_late(self.stamp):
            return
        if ended and (
            timed_out or not self.values['await_recorder'] or self._written >= self.stamp
        ):
            self.end()

    def stop_ticks(self) -> None:
        """Publish no further state."""
        self.finished = True

    def close(self) -> None:
        """Wait until every subscriber has the last tick: DDS drops unsent data at shutdown."""
        self._report_state()
        follows = self.values['clock'] == 'follow'  # the other runs wait for the last tick
        if not (follows or self.values['await_acknowledgement']):
            return
        transform = self._odom_publisher.transform
        publishers: list[NumbersPublisher] = [self._odom_publisher, self.total]
        publishers += [transform] if transform is not None else []
        if self.values['clock'] == 'publish':
            publishers.append(self._clock_publisher)
        for publisher in publishers:
            publisher.wait_for_all_acked(ACKNOWLEDGEMENT)

    def _watch(self) -> None:
        """Search for a second run, and report time, real-time factor, depth and ticks."""
        self._finish()
        now = wall.monotonic()
        stamp, since = self._ticks_reported
        self._ticks_reported = (self.stamp, now)
        factor = (self.stamp - stamp) / NANOSECONDS / max(now - since, 1e-9)
        self.health.update(
            time=f'{self.time:.3f}',
            real_time_factor=f'{factor:.3f}',
            depth=f'{-self.state.position[2]:.3f}',
            ticks=self.stamp // self._step,
            paused='yes' if self.paused else 'no',
        )
        self._report_state()
        self._conflicts.check()

    def _report_state(self) -> None:
        if self.values['clock'] == 'publish':  # of a fleet, one vehicle reports
            report_state(self.time, self.state.position.tolist())

    def _publisher_conflicts(self) -> PublisherConflicts:
        """Return the search for other runs."""
        publishes = self.values['clock'] == 'publish'
        transform = None if self.values['truth_frame'] else self._odom_publisher.transform
        return PublisherConflicts(
            self,
            [self._odom_publisher.topic_name],
            clocks=(self._clock_publisher.topic_name,) if publishes else (),
            frames=(transform.topic_name,) if transform is not None else (),
        )
