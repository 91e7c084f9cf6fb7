# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What every owner of the state does: publish it, keep the time, pause, reset, end."""

from __future__ import annotations

import time as wall
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.run_progress import report_time
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.stamps import NANOSECONDS, step_nanoseconds
from marine_sim_ros.core.state import LIMITS, State, is_physical
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import SOURCES, Parameter, shared
from marine_sim_ros.ros.base.publishers import NumbersPublisher, SpatialPublisher
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.owners.rivals import Rivals
from marine_sim_ros.ros.recording.recorded import is_recorded
from marine_sim_ros.ros.ticks.followers import SILENCE, Followers
from marine_sim_ros.ros.ticks.pacing import Pacer
from marine_sim_ros.sim.safe_step import step_warnings
from marine_sim_ros.sim.start import start_warnings

__all__ = ['PARAMETERS', 'START_TIMEOUT', 'StateOwner']

ACKNOWLEDGEMENT = Duration(seconds=1)
"""That is waited for at most; then somebody listens who does not live any more."""
AHEAD = topics.ACK_WINDOW // 2
"""Ticks ahead of a follower, which is ACK_WINDOW ahead of its recorder: together fewer than the
queues keep for who is discovered late."""
LONGEST_READING = 30.0
"""s of wall time that a sensor may take for a reading on a busy machine."""
START_TIMEOUT = 60.0
"""s of wall time; who has not spoken at all by then is missing."""

PARAMETERS = (
    shared('dt'),
    shared('real_time_factor'),
    SOURCES,
    shared('lockstep'),
    Parameter(
        'source_timeout',
        1.0,
        'wall time after which a silent source is missing',
        1e-3,
        1e6,
        unit='s',
    ),
    Parameter(
        'on_missing_wrench',
        'hold',
        'hold the last wrench of a missing source, or stop',
        choices=('hold', 'stop'),
    ),
    shared('integrator'),
    Parameter('implicit_drag', True, 'treat drag as linearly implicit, stable at any step'),
    shared('initial_position', default=[0.0, 0.0, -0.5], empty=''),
    shared('initial_rpy', default=[0.0, 0.0, 0.0], empty=''),
    shared('duration', empty='until stopped'),
    shared('clock'),
    shared('truth_frame'),
    Parameter(
        'followers', [''], 'namespaces of the vehicles that follow this /clock; it waits for them'
    ),
    Parameter('await_recorder', False, 'wait for the recorder where it falls behind'),
    Parameter('await_sensors', False, 'wait for the nodes of sensors where they fall behind'),
    Parameter('await_acknowledgement', False, 'wait for every other listener to odom, over DDS'),
)
"""Parameters of every owner of the state."""


def _three(name: str, values: Any) -> np.ndarray:
    array = np.array(values, float)
    if array.shape != (3,) or not np.all(np.isfinite(array)):
        raise ParameterError(f'{name} is {list(values)}; expected three finite numbers')
    return array


class StateOwner(SuiteNode):
    """Publishes the state of a tick when it is due, and lets a subclass integrate it."""

    def __init__(self, name: str, parameters: Sequence[Parameter] = (), **options: Any) -> None:
        """Set up at time 0; nothing is published before the first spin."""
        super().__init__(name, (*PARAMETERS, *parameters), **options)
        values = self.values
        self._step = step_nanoseconds(values['dt'])
        self.dt = self._step / NANOSECONDS
        self._initial = State(
            _three('initial_position', values['initial_position']),
            quaternion_from_rpy(*_three('initial_rpy', values['initial_rpy'])),
            np.zeros(6),
        )
        self.state, self.stamp, self.published, self.paused = self._initial, 0, False, False
        self.pacer = Pacer(values['real_time_factor'] or (0.0 if values['lockstep'] else 1.0))
        self._end = round(values['duration'] * NANOSECONDS) if values['duration'] else None
        self._single = False
        self._written = -1
        self._recorder_listens = False
        self._followed = 0
        self._followers = Followers(name for name in values['followers'] if name)
        ticks = topics.sensor_ticks(self.vehicle) if values['await_sensors'] else ()
        self._sensors = Followers(topic.name for topic in ticks)
        self._sensor_ticks = ticks
        self._ticks_reported = (0, wall.monotonic())
        self._published_at = self._ended_at = self._heard_at = wall.monotonic()
        odd = start_warnings(self.environment, self._initial.position)
        odd += step_warnings(self.vehicle, self.environment, self.dt, values['integrator'])
        for text in (*self.vehicle.warnings, *odd):  # one node of a run is enough
            self.get_logger().warning(text)
        self._make_messages()
        self.total = SpatialPublisher(self, topics.TOTAL_WRENCH)
        needed = 'acceleration' in topics.sensor_needs(self.vehicle)
        self._acceleration = SpatialPublisher(self, topics.ACCELERATION) if needed else None
        self._rivals = self._find_rivals()
        self._make_inputs()
        self.take_time_from_ticks()
        period = self.dt / self.pacer.factor if self.pacer.factor else 0.05
        self.create_timer(max(period, 2e-4), self._on_timer, clock=self.wall_clock)
        self.create_timer(0.5, self._watch, clock=self.wall_clock)

    def _make_messages(self) -> None:
        odom = Odometry(child_frame_id=self.body_frame)
        odom.header.frame_id = 'map'
        self._odom_publisher = NumbersPublisher(self, topics.ODOM, odom)
        if topics.TF is None:
            self.get_logger().warning(
                'no /tf is published: tf2_msgs is not installed; a ROS workspace has it, and '
                '`make setup` in a checkout builds it, for it is not on PyPI'
            )
        else:
            truth = self.values['truth_frame']
            frame = self.values['frame_prefix'] + truth if truth else self.body_frame
            transform = TransformStamped(child_frame_id=frame)
            transform.header.frame_id = 'map'
            message = topics.TF.type(transforms=[transform])
            self._tf_publisher = NumbersPublisher(self, topics.TF, message)
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
            self.listen_numbers(topics.WRITTEN, self._on_written)
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
        """Called when the state of a tick is out."""
        raise NotImplementedError

    def on_pace(self) -> None:
        """Called when wall time has come to a tick."""

    def on_reset(self) -> None:
        """Called when the run starts anew."""

    def fail(self, text: str) -> None:
        """End the run with an error."""
        self._complaints[text] = True
        self.get_logger().error(text)
        self.end(1)

    def advance(self, state: State) -> None:
        """Take the state of the next tick, and publish it as soon as it may be."""
        if not is_physical(state.position, state.velocity):
            told = f'the state is not physical after {self.time:.3f} s: expected {LIMITS}'
            self.fail(f'{told}; try a smaller dt')
            return
        if self._acceleration is not None and self.stamp >= 0:  # none leads to the first state
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
        self.publish_when_due()

    def publish_when_due(self) -> None:
        """Publish the state unless it is out already or something holds it back."""
        if self.published or self.finished or (self.paused and not self._single):
            return
        if self.held():
            return
        if not self.pacer.due(self.time, wall.monotonic()):
            return
        self.published, self._single, self.newest = True, False, self.stamp
        self._published_at = wall.monotonic()
        stamp, state = self.stamp, self.state
        if self.values['clock'] == 'publish':
            self._clock_publisher.publish(stamp)
        pose = [*state.position.tolist(), *state.orientation.tolist()]
        self._odom_publisher.publish(stamp, [*pose, *state.velocity.tolist()])
        pause = stamp // self._step % topics.ACK_WINDOW == 0
        if pause and self.values['await_acknowledgement']:
            self._odom_publisher.wait_for_all_acked(ACKNOWLEDGEMENT)
        if topics.TF is not None:
            self._tf_publisher.publish(stamp, pose)
        self.on_published()

    def held(self) -> bool:
        """Return whether the present state may not be published yet."""
        if self.values['clock'] == 'follow' and self.stamp > self._followed:
            return True
        if self._followers_are_late(self.stamp - AHEAD * self._step):
            return True
        if not self.values['await_recorder']:
            return False
        ahead = self.stamp - max(self._written, 0)
        return not self._recorder_listens or ahead > topics.ACK_WINDOW * self._step

    def _followers_are_late(self, stamp: int) -> bool:
        """Whether a follower or sensor that lives has not completed the tick of a stamp (ns)."""
        for group, patience in ((self._followers, SILENCE), (self._sensors, LONGEST_READING)):
            for name in group.give_up(stamp, wall.monotonic(), patience, START_TIMEOUT):
                text = f'{name} is silent at {self.time:.3f} s: the run goes on without waiting'
                self.get_logger().warning(f'{text} for it')
        return stamp >= 0 and bool(self._followers.late(stamp) or self._sensors.late(stamp))

    def _on_follower(self, group: Followers, name: str, stamp: int, _: Sequence[float]) -> None:
        if group.take(name, stamp, wall.monotonic()):
            self.get_logger().info(f'{name} is back at {self.time:.3f} s')
        self.publish_when_due()
        self._finish()

    def _on_timer(self) -> None:
        if self.published and not self.values['lockstep']:
            if self.pacer.due(self.time + self.dt, wall.monotonic()):
                self.on_pace()
        else:
            self.publish_when_due()

    def _on_clock(self, stamp: int, _: Sequence[float]) -> None:
        before, self._followed = self._followed, stamp
        if self._followed < before:  # who publishes the clock was reset
            self._restart()
        self.publish_when_due()

    def _on_written(self, stamp: int, _: Sequence[float]) -> None:
        self._recorder_listens = self._recorder_listens or self._is_heard()
        self._written, self._heard_at = max(self._written, stamp), wall.monotonic()
        self.publish_when_due()
        self._finish()

    def _is_heard(self) -> bool:
        """Whether the recorder gets the first transform, which nothing keeps for it."""
        return topics.TF is None or is_recorded(self, self._tf_publisher.topic_name)

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
        """End when the last tick is through, and written if that is configured."""
        ended = self._end is not None and self.stamp >= self._end and self.paused
        late = wall.monotonic() - max(self._ended_at, self._heard_at) > 5.0
        if ended and self._followers_are_late(self.stamp):
            return
        if ended and (late or not self.values['await_recorder'] or self._written >= self.stamp):
            self.end()

    def close(self) -> None:
        """Stay until who records has the last tick; what is not received ends with its sender."""
        followed = self.values['clock'] == 'follow'  # the others wait for its last tick
        if not (followed or self.values['await_acknowledgement']):
            return
        own = [self._odom_publisher, self.total]
        own += [self._tf_publisher] if topics.TF is not None else []
        if self.values['clock'] == 'publish':
            own.append(self._clock_publisher)
        for publisher in own:
            publisher.wait_for_all_acked(ACKNOWLEDGEMENT)

    def _watch(self) -> None:
        """Look for a second owner, and report how the run goes."""
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
        if self.values['clock'] == 'publish':  # one vehicle of a run
            report_time(self.time)
        self._rivals.look()

    def _find_rivals(self) -> Rivals:
        """Return what looks for other runs."""
        publishes = self.values['clock'] == 'publish'
        framed = topics.TF is not None and not self.values['truth_frame']
        return Rivals(
            self,
            [self._odom_publisher.topic_name],
            clocks=(self._clock_publisher.topic_name,) if publishes else (),
            frames=(self._tf_publisher.topic_name,) if framed else (),
        )
