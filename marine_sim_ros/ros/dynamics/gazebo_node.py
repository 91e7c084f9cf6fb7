# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo as the owner of the state: transports over ros_gz_bridge, pause, reset, time-out.

A transport calls ``arrived(stamp, state)`` for every state of Gazebo and takes a wrench for each.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench, stamp_ns
from marine_sim_ros.gazebo.delivery import DELIVERIES, IN_SERVER
from marine_sim_ros.gazebo.exchange import (
    TickAccount,
    TickArrival,
    stepped_velocity,
    twist_between,
)
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.codecs import set_stamp, state_from
from marine_sim_ros.ros.owners.state_owner import StateOwner
from marine_sim_ros.ros.ticks import Pacer

__all__ = [
    'GAZEBO_PARAMETERS',
    'GazeboOwner',
    'InServerTransport',
    'StockTransport',
    'TransportSettings',
]


# World of Gazebo through ros_gz_bridge: control service and time.


class ControlledWorld:
    """Requests steps, pauses and resets of a world; reports its time to a subscriber."""

    def __init__(self, node: SuiteNode, name: str) -> None:
        """Open the control service.

        Raises:
            MarineSimError: ros_gz_interfaces is not installed.
        """
        try:
            from ros_gz_interfaces.srv import ControlWorld
        except ImportError as error:
            raise MarineSimError(
                f'gazebo_bridge: {error}; expected the package {ros_packages("ros_gz")}'
            ) from None

        self._node = node
        self._kind = ControlWorld
        self._client = node.create_client(ControlWorld, f'/world/{name}/control')
        self._watched: Any = None

    @property
    def is_available(self) -> bool:
        """Whether ros_gz_bridge offers the service; it does so without Gazebo too."""
        return bool(self._client.service_is_ready())

    def ask(self, *, pause: bool = False, steps: int = 0, reset: bool = False) -> None:
        """Ask for something; the answer comes before it is done, so nobody waits for that."""
        request = self._kind.Request()
        request.world_control.pause = pause
        request.world_control.multi_step = steps
        request.world_control.reset.all = reset
        self._client.call_async(request)

    def watch(self, told: Callable[[int], None]) -> None:
        """Call ``told`` with the world's time in ns, about 1,000 times a second.

        ros_gz_bridge takes up to a second to begin: that bridge is lazy, so that nothing is spent
        while nobody watches.
        """
        if self._watched is None:
            self._watched = self._node.listen(
                topics.GAZEBO_CLOCK, lambda message: told(_time(message))
            )

    def look_away(self) -> None:
        """Watch no longer; not to be called while it tells."""
        if self._watched is not None:
            self._node.destroy_subscription(self._watched)
            self._watched = None


def _time(message: Clock) -> int:
    return stamp_ns(message.clock)


# Transports between gazebo_bridge and Gazebo over ros_gz_bridge: interface and lockstep.

StateCallback = Callable[[int, State], None]


@dataclass(frozen=True)
class TransportSettings:
    """Names of the vehicle in Gazebo.

    Attributes:
        link: scoped name of the link that wrenches act on, as ``bluerov2::base_link``.
        initial: state at time 0.
        step: control period, ns.
        lockstep: whether Gazebo waits for every wrench.
        impulse_ratio: physics steps in a control period.
    """

    world: str
    link: str
    initial: State
    step: int
    lockstep: bool = True
    impulse_ratio: float = 1.0


class Transport(Protocol):
    """Transport of states and wrenches."""

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Answer the state of a stamp (ns) with a wrench (6,) in the body frame."""

    def restart(self) -> bool:
        """Request a reset of the world; return whether the service exists."""

    def pause(self, *, paused: bool) -> None:
        """Let a world that waits for nobody stand still, or go on."""

    def look(self) -> None:
        """Do what is due twice a second."""


class InServerTransport:
    """By the lockstep system in the server, which waits for the wrench of each reported state.

    Without lockstep it waits for the first one alone.
    """

    def __init__(self, node: SuiteNode, place: TransportSettings, arrived: StateCallback) -> None:
        """Subscribe to the lockstep system."""
        self._arrived = arrived
        self._node = node
        self._place = place
        self._physics_step = place.step / place.impulse_ratio / NANOSECONDS
        try:
            self._world: ControlledWorld | None = ControlledWorld(node, place.world)
        except MarineSimError:  # only a pause and a reset need it
            self._world = None
        node.listen(topics.GAZEBO_STATUS, self._on_status)
        self._connect(node)

    def _connect(self, node: SuiteNode) -> None:
        """Open the topics of states and wrenches."""
        self._wrench = SpatialPublisher(node, topics.GAZEBO_WRENCH)
        node.listen(topics.GAZEBO_STATE, self._on_state)

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Publish the wrench with the stamp of the state that it answers."""
        del state
        self._wrench.publish(stamp, wrench)

    def restart(self) -> bool:
        """Reset the world; the lockstep system then reports the state at time 0."""
        if self._world is None or not self._world.is_available:
            return False
        self._world.ask(reset=True)
        return True

    def pause(self, *, paused: bool) -> None:
        """Pause the world where it does not wait for the wrench."""
        if self._world is not None and not self._place.lockstep:
            self._world.ask(pause=paused)

    def look(self) -> None:
        """Do nothing: the lockstep system repeats a state that has no wrench yet."""

    def _on_state(self, message: Odometry) -> None:
        state = state_from(message)
        if state is None:
            state = State(np.full(3, np.nan), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(6))
        velocity = stepped_velocity(state.velocity, self._physics_step)
        self._arrived(stamp_ns(message.header.stamp), state._replace(velocity=velocity))

    def _on_status(self, message: String) -> None:
        if not message.data.startswith('waiting'):
            self._node.warn_throttled(f'Gazebo: {message.data[:200]}')


# Transport by Gazebo's own systems: PosePublisher, ApplyLinkWrench, the control service.

STEP_TIMEOUT = 2.0
"""s of wall time after which a requested step counts as lost."""
CATCH_UP = 0.2
"""s whose impulse one wrench may have where states were missed: drag over longer overshoots."""


class StockTransport:
    """One summed wrench, then one step of a paused world; PosePublisher reports the result.

    Only the poses that Gazebo reports are not smoothed; velocities are what moves one to the next.
    Without lockstep the world starts with the first wrench, and each acts for one physics step,
    scaled to have the impulse of the time since the one before.

    Where the world is, is unknown at first, after a reset and after a silence. Then its time
    tells: at 0 the state is known; elsewhere two poses are waited for, and in lockstep asked for
    by steps without a wrench.
    """

    def __init__(self, node: SuiteNode, place: TransportSettings, arrived: StateCallback) -> None:
        """Listen to PosePublisher and look for the world.

        Raises:
            MarineSimError: ros_gz_interfaces is not installed.
        """
        self._arrived = arrived
        self._place = place
        self._world = ControlledWorld(node, place.world)
        from ros_gz_interfaces.msg import Entity, EntityWrench

        self._message = EntityWrench(entity=Entity(name=place.link, type=Entity.LINK))
        topic = topics.Topic('gazebo/link_wrench', EntityWrench, topics.QUEUE, per_tick=False)
        self._publisher = node.publisher(topic)
        self._stamp, self._state = -1, place.initial
        self._given = -1
        self._known = self._resetting = self._running = False
        self._before: tuple[int, State] | None = None
        self._asked: float | None = None
        self._heard = wall.monotonic()
        node.listen(topics.GAZEBO_POSE, self._on_pose)
        self._world.watch(self._on_time)

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Give the wrench in world axes at the link's origin, then let one step go."""
        if self._resetting:
            return
        turned = self._ratio(stamp) * rotation_matrix(state.orientation)
        force, torque = self._message.wrench.force, self._message.wrench.torque
        force.x, force.y, force.z = (turned @ wrench[:3]).tolist()
        torque.x, torque.y, torque.z = (turned @ wrench[3:]).tolist()
        set_stamp(self._message.header.stamp, stamp)
        self._publisher.publish(self._message)
        self._given = stamp
        if self._place.lockstep:
            self._ask_step()
        elif not self._running:
            self._running = True
            self._world.ask(pause=False)

    def _ratio(self, stamp: int) -> float:
        """Return by what a wrench is multiplied to have its impulse in one physics step."""
        if self._place.lockstep:
            return 1.0
        step, since = self._place.step, stamp - self._given
        covered = min(since, CATCH_UP * NANOSECONDS) if 0 <= self._given < stamp else step
        return self._place.impulse_ratio * covered / step

    def restart(self) -> bool:
        """Reset the world, as soon as no step is under way: Gazebo would forget one of the two."""
        if not self._world.is_available:
            return False
        self._resetting = True
        if self._asked is None:
            self._ask_reset()
        return True

    def pause(self, *, paused: bool) -> None:
        """Pause the world where it does not wait for the wrench."""
        if not self._place.lockstep:
            self._world.ask(pause=paused)

    def look(self) -> None:
        """Look for the world again when it has been silent, and away when it is found."""
        now = wall.monotonic()
        if self._known:
            self._world.look_away()
        since = self._asked if self._place.lockstep or self._resetting else self._heard
        if since is None or now - since < STEP_TIMEOUT:
            return
        self._asked, self._heard = None, now
        if self._resetting:
            self._ask_reset()
        else:
            self._lose_world()

    def _lose_world(self) -> None:
        self._known, self._before = False, None
        self._world.watch(self._on_time)

    def _ask_step(self) -> None:
        self._asked = wall.monotonic()
        self._world.ask(pause=True, steps=1)

    def _ask_reset(self) -> None:
        self._asked = wall.monotonic()
        self._world.ask(reset=True, pause=True)
        self._lose_world()

    def _on_time(self, now: int) -> None:
        """Take the time of a world of which nothing else is known."""
        if self._known or not self._world.is_available:
            return
        lost = self._stamp == now and self._given == now and not self._resetting
        if now == 0 and not lost:
            self._begin()
        elif self._resetting or self._asked is not None:
            return
        elif not self._place.lockstep:
            self._known = 0 <= now - self._stamp < self._place.step  # it is paused
        else:
            self._known = lost  # then the wrench is in Gazebo's queue
            self._ask_step()

    def _begin(self) -> None:
        self._known, self._resetting, self._running = True, False, False
        self._asked, self._given = None, -1
        self._stamp, self._state = 0, self._place.initial
        self._arrived(0, self._state)

    def _on_pose(self, message: PoseStamped) -> None:
        p, q = message.pose.position, message.pose.orientation
        pose = State(np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w]), np.zeros(6))
        self._heard = wall.monotonic()
        self._take(stamp_ns(message.header.stamp), pose)

    def _take(self, stamp: int, pose: State) -> None:
        if self._resetting:
            if self._known:  # the step that was under way is through
                self._ask_reset()
            return
        self._asked = None
        if self._known and stamp < self._stamp:
            if stamp <= self._place.step:  # somebody has reset the world
                self._stamp, self._state, self._given = 0, self._place.initial, -1
            else:
                self._lose_world()
        if not self._known and not self._learn(stamp, pose):
            return
        if stamp <= self._stamp:
            return
        velocity = twist_between(
            (self._state.position, self._state.orientation),
            (pose.position, pose.orientation),
            (stamp - self._stamp) / NANOSECONDS,
        )
        self._stamp, self._state = stamp, pose._replace(velocity=velocity)
        self._arrived(stamp, self._state)

    def _learn(self, stamp: int, pose: State) -> bool:
        """Take a pose of a world whose state is unknown; return whether it can tell a velocity."""
        before, self._before = self._before, (stamp, pose)
        if before is None or stamp <= before[0]:
            if self._place.lockstep:
                self._ask_step()
            return False
        (self._stamp, self._state), self._before = before, None
        self._known = self._running = True
        return True


# Base class of owners of a state that Gazebo integrates: states, pauses, resets, time-outs.

GAZEBO_PARAMETERS = (
    NodeParameter(
        'delivery', IN_SERVER, 'transport of wrenches to Gazebo', choices=DELIVERIES[1:]
    ),
    NodeParameter('world', 'default', "name of Gazebo's world"),
    NodeParameter('link', 'bluerov2::base_link', 'scoped name of the link that takes the wrench'),
    NodeParameter('impulse_ratio', 1.0, 'physics steps of Gazebo in a simulation step', 1.0, 1e4),
    NodeParameter(
        'gazebo_timeout',
        3.0,
        'wall time after which a silent Gazebo is reported',
        0.1,
        1e6,
        unit='s',
    ),
    NodeParameter(
        'start_timeout', 60.0, 'wall time that Gazebo may take to start', 0.1, 1e6, unit='s'
    ),
)


class GazeboOwner(StateOwner):
    """Takes the states of Gazebo in place of an integrator's, and answers each.

    Attributes:
        account: account of the states that came.
        transport: how they come, and how answers go.
    """

    transport: Transport

    def follow(self, kind: Any) -> None:
        """Take states by a transport; to be called when the node is made."""
        values = self.values
        if not values['lockstep']:
            self.pacer = Pacer(0.0)  # Gazebo keeps the pace
        self.account = TickAccount(self._step)
        self._awaits = True
        self._heard = wall.monotonic()
        self._sent: tuple[int, Any] = (-1, None)
        place = TransportSettings(
            values['world'],
            values['link'],
            self._initial,
            self._step,
            values['lockstep'],
            values['impulse_ratio'],
        )
        self.transport = kind(self, place, self.on_gazebo)
        self.get_logger().info(f'wrenches go to Gazebo {values["delivery"]}')
        self.create_timer(0.5, self._watch_gazebo, clock=self.wall_clock)

    def idle_answer(self) -> Any:
        """Return an answer under which nothing acts on the vehicle but Gazebo."""
        raise NotImplementedError

    def awaits_state(self) -> bool:
        """Return whether the next state of Gazebo is still missing."""
        return self._awaits or super().awaits_state()

    def on_pace(self) -> None:
        """Leave the pace to Gazebo."""

    def answer(self, answer: Any) -> None:
        """Give Gazebo the answer to the present state, and wait for the state after it."""
        self._sent = (self.stamp, answer)
        self._awaits, self.published = True, False
        self._heard = wall.monotonic()
        self.transport.send(self.stamp, self.state, answer)

    def on_gazebo(self, stamp: int, state: State) -> None:
        """Take a state of Gazebo."""
        self._heard = wall.monotonic()
        arrival = self.account.take(stamp)
        if arrival is TickArrival.AGAIN:
            if self._sent[0] == stamp:  # the answer was lost, or has crossed with the question
                self.transport.send(stamp, state, self._sent[1])
            return
        if arrival is TickArrival.BACK:
            self.get_logger().info(f'Gazebo went back to {stamp / NANOSECONDS:.3f} s: a new run')
            self.on_reset()
            self.pacer.restart()
        elif arrival is TickArrival.LATE and self.values['lockstep']:
            self.warn_throttled(f'{self.account.lost} ticks of Gazebo never came')
        self.health.update(ticks_lost=self.account.lost, resets=self.account.resets)
        self._awaits = False
        self.stamp = stamp - self._step
        self.advance(state)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        super()._on_pause(request, response)
        self.transport.pause(paused=self.paused)
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        response.success = self.transport.restart()
        control = f'/world/{self.values["world"]}/control'
        response.message = f'{control} {"was called" if response.success else "is not there"}'
        if response.success and not self._awaits:  # it cannot be reset in the middle of a step
            self.transport.send(self.stamp, self.state, self.idle_answer())
        return response

    def _watch_gazebo(self) -> None:
        """Report when Gazebo is silent although its state is due."""
        self.transport.look()
        silent = wall.monotonic() - self._heard
        if not self._awaits or self.finished:
            return
        if self.account.stamp < 0 and silent > self.values['start_timeout']:
            self.fail(
                f'nothing from Gazebo for {silent:.0f} s; expected gz sim with the world '
                f'{self.values["world"]!r} and ros_gz_bridge'
            )
        elif self.account.stamp >= 0 and silent > self.values['gazebo_timeout']:
            self.warn_throttled(
                f'nothing from Gazebo for {silent:.0f} s at {self.time:.3f} s: '
                'is it paused, or gone?',
                error=True,
            )
