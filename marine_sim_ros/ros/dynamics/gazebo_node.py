# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""State node whose states Gazebo integrates: transports over ros_gz_bridge, pause, reset.

A transport calls ``arrived(stamp, state)`` for every state of Gazebo and takes a wrench for each.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
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
    TickArrival,
    TickSequence,
    stepped_velocity,
    twist_between,
)
from marine_sim_ros.model.free_bodies import is_absent
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.dynamics.state_node import StateNode
from marine_sim_ros.ros.message_fields import set_stamp, state_from
from marine_sim_ros.ros.ticks import Pacer, TickSynchronizer

__all__ = [
    'GAZEBO_PARAMETERS',
    'GazeboStateNode',
    'InServerTransport',
    'StockTransport',
    'TransportSettings',
]


# World of Gazebo through ros_gz_bridge: control service and time.


class ControlledWorld:
    """Requests steps, pauses and resets of a world; reports its time to a subscriber."""

    def __init__(self, node: VehicleNode, name: str) -> None:
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
        """Request control of the world; Gazebo answers before it acts, so nothing waits for it."""
        request = self._kind.Request()
        request.world_control.pause = pause
        request.world_control.multi_step = steps
        request.world_control.reset.all = reset
        self._client.call_async(request)

    def watch(self, on_time: Callable[[int], None]) -> None:
        """Call ``on_time`` with the world's time in ns, about 1,000 times a second.

        ros_gz_bridge takes up to a second to begin: it bridges this topic only while it has a
        subscriber.
        """
        if self._watched is None:
            self._watched = self._node.listen(
                topics.GAZEBO_CLOCK, lambda message: on_time(_time(message))
            )

    def stop_watching(self) -> None:
        """Unsubscribe from the world's time; not to be called within ``on_time``."""
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
        bodies: names of the free bodies that Gazebo moves.
    """

    world: str
    link: str
    initial: State
    step: int
    lockstep: bool = True
    impulse_ratio: float = 1.0
    bodies: tuple[str, ...] = ()


class Transport(Protocol):
    """Transport of states and wrenches."""

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Answer the state of a stamp (ns) with a wrench (6,) in the body frame.

        With free bodies the wrenches are rows (1 + b, 6), the vehicle's first.
        """

    def restart(self) -> bool:
        """Request a reset of the world; return whether the service exists."""

    def pause(self, *, paused: bool) -> None:
        """Pause or resume a world that runs without lockstep."""

    def check(self) -> None:
        """Check for time-outs; called twice a second."""


class InServerTransport:
    """Transport to the lockstep system in the server, which waits for a wrench for each state.

    Without lockstep it waits for the first one only.

    Attributes:
        bodies: states of the free bodies at the vehicle's last stamp, as Gazebo reports them, by
            name.
    """

    def __init__(
        self, node: VehicleNode, settings: TransportSettings, arrived: StateCallback
    ) -> None:
        """Subscribe to the lockstep system."""
        self.bodies: Mapping[str, State] = {}
        self._arrived = arrived
        self._node = node
        self._settings = settings
        self._physics_step = settings.step / settings.impulse_ratio / NANOSECONDS
        try:
            self._world: ControlledWorld | None = ControlledWorld(node, settings.world)
        except MarineSimError:  # only a pause and a reset need it
            self._world = None
        node.listen(topics.GAZEBO_STATUS, self._on_status)
        self._connect(node)

    def _connect(self, node: VehicleNode) -> None:
        """Open the topics of states and wrenches."""
        bodies, synchronous = self._settings.bodies, self._settings.lockstep
        synchronizer = TickSynchronizer(
            self._on_all, dict.fromkeys(bodies), bodies if synchronous else ()
        )
        self._wrenches = [SpatialPublisher(node, topics.GAZEBO_WRENCH)]
        for name in bodies:
            topic = topics.of_gazebo_body(topics.GAZEBO_WRENCH, name)
            frame = topics.body_frame_name(name)
            self._wrenches.append(SpatialPublisher(node, topic, frame))
            take = partial(_take_state, partial(synchronizer.add_other, name))
            node.listen(topics.of_gazebo_body(topics.GAZEBO_STATE, name), take)
        node.listen(topics.GAZEBO_STATE, partial(_take_state, synchronizer.main))

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Publish the wrenches with the stamp of the states that they answer."""
        del state
        for publisher, row in zip(self._wrenches, np.atleast_2d(wrench), strict=True):
            publisher.publish(stamp, row)

    def restart(self) -> bool:
        """Reset the world; the lockstep system then reports the state at time 0."""
        if self._world is None or not self._world.is_available:
            return False
        self._world.ask(reset=True)
        return True

    def pause(self, *, paused: bool) -> None:
        """Pause the world where it does not wait for the wrench."""
        if self._world is not None and not self._settings.lockstep:
            self._world.ask(pause=paused)

    def check(self) -> None:
        """Do nothing: the lockstep system repeats a state that has no wrench yet."""

    def _on_all(self, stamp: int, state: State, bodies: Mapping[str, State]) -> None:
        self.bodies = bodies
        velocity = stepped_velocity(state.velocity, self._physics_step)
        self._arrived(stamp, state._replace(velocity=velocity))

    def _on_status(self, message: String) -> None:
        if not message.data.startswith('waiting'):
            self._node.warn_throttled(f'Gazebo: {message.data[:200]}')


def _take_state(take: StateCallback, message: Odometry) -> None:
    """Pass on the stamp and the state of a message; one that is not finite as NaN."""
    state = state_from(message)
    if state is None:
        state = State(np.full(3, np.nan), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(6))
    take(stamp_ns(message.header.stamp), state)


# Transport by Gazebo's own systems: PosePublisher, ApplyLinkWrench, the control service.

STEP_TIMEOUT = 2.0
"""s of wall time after which a requested step counts as lost."""
MAX_COVERED_TIME = 0.2
"""s whose impulse one wrench may have where states were missed: drag over longer overshoots."""


class StockTransport:
    """One summed wrench, then one step of a paused world; PosePublisher reports the result.

    Gazebo smooths the velocities that it reports, but not the poses: velocities are differences of
    poses. Without lockstep the world starts with the first wrench, and each acts for one physics
    step, scaled to have the impulse of the time since the wrench before.

    The state is unknown at first, after a reset and after a time-out. It is the initial one if the
    time is 0; else the transport waits for two poses, which in lockstep it requests by steps
    without a wrench.
    """

    def __init__(
        self, node: VehicleNode, settings: TransportSettings, arrived: StateCallback
    ) -> None:
        """Listen to PosePublisher and look for the world.

        Raises:
            MarineSimError: ros_gz_interfaces is not installed.
        """
        self._arrived = arrived
        self._settings = settings
        self._world = ControlledWorld(node, settings.world)
        from ros_gz_interfaces.msg import Entity, EntityWrench

        self._message = EntityWrench(entity=Entity(name=settings.link, type=Entity.LINK))
        topic = topics.Topic('gazebo/link_wrench', EntityWrench, topics.QUEUE, per_tick=False)
        self._publisher = node.publisher(topic)
        self._stamp, self._state = -1, settings.initial
        self._answered = -1
        self._is_synchronized = self._resetting = self._running = False
        self._before: tuple[int, State] | None = None
        self._requested_at: float | None = None
        self._received_at = wall.monotonic()
        node.listen(topics.GAZEBO_POSE, self._on_pose)
        self._world.watch(self._on_time)

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Publish the wrench in world axes at the link's origin, then request one step."""
        if self._resetting:
            return
        rotation = self._ratio(stamp) * rotation_matrix(state.orientation)
        force, torque = self._message.wrench.force, self._message.wrench.torque
        force.x, force.y, force.z = (rotation @ wrench[:3]).tolist()
        torque.x, torque.y, torque.z = (rotation @ wrench[3:]).tolist()
        set_stamp(self._message.header.stamp, stamp)
        self._publisher.publish(self._message)
        self._answered = stamp
        if self._settings.lockstep:
            self._ask_step()
        elif not self._running:
            self._running = True
            self._world.ask(pause=False)

    def _ratio(self, stamp: int) -> float:
        """Return the factor by which a wrench has its impulse within one physics step."""
        if self._settings.lockstep:
            return 1.0
        step, since = self._settings.step, stamp - self._answered
        covered = (
            min(since, MAX_COVERED_TIME * NANOSECONDS) if 0 <= self._answered < stamp else step
        )
        return self._settings.impulse_ratio * covered / step

    def restart(self) -> bool:
        """Reset the world once no step is pending: of two pending requests, Gazebo drops one."""
        if not self._world.is_available:
            return False
        self._resetting = True
        if self._requested_at is None:
            self._ask_reset()
        return True

    def pause(self, *, paused: bool) -> None:
        """Pause the world where it does not wait for the wrench."""
        if not self._settings.lockstep:
            self._world.ask(pause=paused)

    def check(self) -> None:
        """Subscribe to the time of a world that timed out; unsubscribe once its state is known."""
        now = wall.monotonic()
        if self._is_synchronized:
            self._world.stop_watching()
        since = (
            self._requested_at if self._settings.lockstep or self._resetting else self._received_at
        )
        if since is None or now - since < STEP_TIMEOUT:
            return
        self._requested_at, self._received_at = None, now
        if self._resetting:
            self._ask_reset()
        else:
            self._lose_world()

    def _lose_world(self) -> None:
        self._is_synchronized, self._before = False, None
        self._world.watch(self._on_time)

    def _ask_step(self) -> None:
        self._requested_at = wall.monotonic()
        self._world.ask(pause=True, steps=1)

    def _ask_reset(self) -> None:
        self._requested_at = wall.monotonic()
        self._world.ask(reset=True, pause=True)
        self._lose_world()

    def _on_time(self, now: int) -> None:
        """Act on the time (ns) of a world whose state is unknown."""
        if self._is_synchronized or not self._world.is_available:
            return
        wrench_is_queued = self._stamp == now and self._answered == now and not self._resetting
        if now == 0 and not wrench_is_queued:
            self._begin()
        elif self._resetting or self._requested_at is not None:
            return
        elif not self._settings.lockstep:
            self._is_synchronized = 0 <= now - self._stamp < self._settings.step  # it is paused
        else:
            self._is_synchronized = wrench_is_queued  # then the wrench is in Gazebo's queue
            self._ask_step()

    def _begin(self) -> None:
        self._is_synchronized, self._resetting, self._running = True, False, False
        self._requested_at, self._answered = None, -1
        self._stamp, self._state = 0, self._settings.initial
        self._arrived(0, self._state)

    def _on_pose(self, message: PoseStamped) -> None:
        p, q = message.pose.position, message.pose.orientation
        pose = State(np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w]), np.zeros(6))
        self._received_at = wall.monotonic()
        self._take_pose(stamp_ns(message.header.stamp), pose)

    def _take_pose(self, stamp: int, pose: State) -> None:
        if self._resetting:
            if self._is_synchronized:  # the step that was under way is through
                self._ask_reset()
            return
        self._requested_at = None
        if self._is_synchronized and stamp < self._stamp:
            if stamp <= self._settings.step:  # the world was reset by another program
                self._stamp, self._state, self._answered = 0, self._settings.initial, -1
            else:
                self._lose_world()
        if not self._is_synchronized and not self._take_unknown_pose(stamp, pose):
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

    def _take_unknown_pose(self, stamp: int, pose: State) -> bool:
        """Take a pose of a world whose state is unknown; return whether it gives a velocity."""
        before, self._before = self._before, (stamp, pose)
        if before is None or stamp <= before[0]:
            if self._settings.lockstep:
                self._ask_step()
            return False
        (self._stamp, self._state), self._before = before, None
        self._is_synchronized = self._running = True
        return True


# Base class of nodes of a state that Gazebo integrates: states, pauses, resets, time-outs.

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


class GazeboStateNode(StateNode):
    """Publishes the states of Gazebo, and answers each with a wrench or with commands.

    Attributes:
        sequence: order of the states received, and count of those lost.
        transport: exchange of states and answers.
    """

    transport: Transport

    def follow(self, transport_class: Any) -> None:
        """Receive states by a class of transport; to be called at the end of construction."""
        values = self.values
        if not values['lockstep']:
            self.pacer = Pacer(0.0)  # Gazebo keeps the pace
        self.sequence = TickSequence(self._step)
        self._awaits = True
        self._received_at = wall.monotonic()
        self._sent: tuple[int, Any] = (-1, None)
        settings = TransportSettings(
            values['world'],
            values['link'],
            self._initial,
            self._step,
            values['lockstep'],
            values['impulse_ratio'],
            tuple(b.name for b in self.environment.free_bodies if not is_absent(b.start)),
        )
        self.transport = transport_class(self, settings, self.on_gazebo)
        self.get_logger().info(f'wrenches go to Gazebo {values["delivery"]}')
        self.create_timer(0.5, self._watch_gazebo, clock=self.wall_clock)

    def idle_answer(self) -> Any:
        """Return the answer that adds no force to those of Gazebo."""
        raise NotImplementedError

    def awaits_state(self) -> bool:
        """Return whether the next state of Gazebo is still missing."""
        return self._awaits or super().awaits_state()

    def on_pace(self) -> None:
        """Do nothing: Gazebo sets the pace."""

    def answer(self, answer: Any) -> None:
        """Send Gazebo the answer to the present state, and wait for the next state."""
        self._sent = (self.stamp, answer)
        self._awaits, self.published = True, False
        self._received_at = wall.monotonic()
        self.transport.send(self.stamp, self.state, answer)

    def on_gazebo(self, stamp: int, state: State) -> None:
        """Take a state of Gazebo."""
        self._received_at = wall.monotonic()
        arrival = self.sequence.classify(stamp)
        if arrival is TickArrival.AGAIN:
            if self._sent[0] == stamp:  # the answer was lost, or is still on its way
                self.transport.send(stamp, state, self._sent[1])
            return
        if arrival is TickArrival.BACK:
            self.get_logger().info(f'Gazebo went back to {stamp / NANOSECONDS:.3f} s: a new run')
            self.on_reset()
            self.pacer.restart()
        elif arrival is TickArrival.LATE and self.values['lockstep']:
            self.warn_throttled(f'{self.sequence.lost} ticks of Gazebo never came')
        self.health.update(ticks_lost=self.sequence.lost, resets=self.sequence.resets)
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
        self.transport.check()
        silence = wall.monotonic() - self._received_at
        if not self._awaits or self.finished:
            return
        if self.sequence.stamp < 0 and silence > self.values['start_timeout']:
            self.fail(
                f'nothing from Gazebo for {silence:.0f} s; expected gz sim with the world '
                f'{self.values["world"]!r} and ros_gz_bridge'
            )
        elif self.sequence.stamp >= 0 and silence > self.values['gazebo_timeout']:
            self.warn_throttled(
                f'nothing from Gazebo for {silence:.0f} s at {self.time:.3f} s: '
                'is it paused, or gone?',
                error=True,
            )
