# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The two ways between gazebo_bridge and Gazebo, over ros_gz_bridge: one seam, one class each.

A way calls ``arrived(stamp, state)`` for every state of Gazebo, and takes one wrench for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from std_msgs.msg import String

from marine_sim_ros.gazebo.kinematics import stepped_velocity, twist_between
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import set_stamp, stamp_ns, state_from
from marine_sim_ros.ros.node import SuiteNode, WrenchPublisher
from marine_sim_ros.spatial import rotation_matrix
from marine_sim_ros.state import State, Wrench
from marine_sim_ros.trajectory import NANOSECONDS

__all__ = ['Place', 'SeatWay', 'StockWay', 'Way']

Arrived = Callable[[int, State], None]


@dataclass(frozen=True)
class Place:
    """Where the vehicle is in Gazebo.

    Attributes:
        world: its name.
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


class Way(Protocol):
    """How states come and wrenches go."""

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Answer the state of a stamp (ns) with a wrench (6,) in the body frame."""

    def restart(self) -> bool:
        """Ask Gazebo to put the world back to the start; return whether it can be asked."""

    def look(self) -> None:
        """Do what is due twice a second."""


class _Control:
    """The control service of a world."""

    def __init__(self, node: SuiteNode, world: str) -> None:
        from ros_gz_interfaces.srv import ControlWorld

        self._kind = ControlWorld
        self._client = node.create_client(ControlWorld, f'/world/{world}/control')

    @property
    def ready(self) -> bool:
        """Whether ros_gz_bridge offers it."""
        return bool(self._client.service_is_ready())

    def ask(self, done: Callable[[Any], None] | None = None, *, steps: int = 0,
            reset: bool = False, pause: bool = False) -> None:  # fmt: skip
        """Ask for steps or a reset; ``done`` is called with the answer."""
        request = self._kind.Request()
        request.world_control.pause = pause
        request.world_control.multi_step = steps
        request.world_control.reset.all = reset
        future = self._client.call_async(request)
        if done is not None:
            future.add_done_callback(done)


class SeatWay:
    """By the seat inside the server, which waits for the wrench of the state that it told."""

    def __init__(self, node: SuiteNode, place: Place, arrived: Arrived) -> None:
        """Listen to the seat."""
        self._arrived = arrived
        self._node = node
        self._physics_step = place.step / place.impulse_ratio / NANOSECONDS
        try:
            self._control: _Control | None = _Control(node, place.world)
        except ImportError:  # only a reset needs it
            self._control = None
        self._wrench = WrenchPublisher(node, topics.GAZEBO_WRENCH)
        node.listen(topics.GAZEBO_STATE, self._on_state)
        node.listen(topics.GAZEBO_STATUS, self._on_status)

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Publish the wrench with the stamp of the state that it answers."""
        del state
        self._wrench.publish(stamp, wrench)

    def restart(self) -> bool:
        """Reset the world; the seat tells the state at time 0 then."""
        if self._control is None or not self._control.ready:
            return False
        self._control.ask(reset=True)
        return True

    def look(self) -> None:
        """Do nothing: the seat repeats what is not answered."""

    def _on_state(self, message: Odometry) -> None:
        state = state_from(message)
        if state is None:
            state = State(np.full(3, np.nan), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(6))
        velocity = stepped_velocity(state.velocity, self._physics_step)
        self._arrived(stamp_ns(message.header.stamp), state._replace(velocity=velocity))

    def _on_status(self, message: String) -> None:
        if not message.data.startswith('waiting'):
            self._node.complain(f'Gazebo: {message.data[:200]}')


class StockWay:
    """By ApplyLinkWrench and the world's control service: one summed wrench, then one step.

    Gazebo tells poses alone that are not smoothed; velocities are what moves one to the next.
    Without lockstep a wrench acts for one physics step of a period, so it is scaled to have the
    impulse of the whole period.
    """

    def __init__(self, node: SuiteNode, place: Place, arrived: Arrived) -> None:
        """Listen to PosePublisher."""
        from ros_gz_interfaces.msg import Entity, EntityWrench

        self._arrived = arrived
        self._place = place
        self._control = _Control(node, place.world)
        self._message = EntityWrench(entity=Entity(name=place.link, type=Entity.LINK))
        topic = topics.Topic('gazebo/link_wrench', EntityWrench, topics.QUEUE, per_tick=False)
        self._publisher = node.publisher(topic)
        self._stamp, self._state, self._owed = -1, place.initial, False
        node.listen(topics.GAZEBO_POSE, self._on_pose)

    def send(self, stamp: int, state: State, wrench: Wrench) -> None:
        """Give the wrench in world axes at the link's origin, then let one step go."""
        turned = rotation_matrix(state.orientation)
        ratio = 1.0 if self._place.lockstep else self._place.impulse_ratio
        force, torque = self._message.wrench.force, self._message.wrench.torque
        force.x, force.y, force.z = (ratio * (turned @ wrench[:3])).tolist()
        torque.x, torque.y, torque.z = (ratio * (turned @ wrench[3:])).tolist()
        set_stamp(self._message.header.stamp, stamp)
        self._publisher.publish(self._message)
        if self._place.lockstep:
            self._ask_step()

    def _ask_step(self) -> None:
        """Ask for one step; where that fails, once more when it is due: the wrench is queued."""
        self._owed = False

        def done(answer: Any) -> None:
            self._owed = answer.exception() is not None or not answer.result().success

        self._control.ask(done, pause=True, steps=1)

    def restart(self) -> bool:
        """Reset the world; PosePublisher tells nothing of time 0, which is known."""
        if not self._control.ready:
            return False
        self._control.ask(lambda _: self._begin(), reset=True, pause=self._place.lockstep)
        return True

    def look(self) -> None:
        """Begin as soon as the world can be asked to step."""
        if self._stamp < 0 and self._place.lockstep and self._control.ready:
            self._begin()
        elif self._owed:
            self._ask_step()

    def _begin(self) -> None:
        self._stamp, self._state = 0, self._place.initial
        self._arrived(0, self._state)

    def _on_pose(self, message: PoseStamped) -> None:
        p, q = message.pose.position, message.pose.orientation
        state = State(np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w]), np.zeros(6))
        stamp = stamp_ns(message.header.stamp)
        if self._stamp < 0 or stamp < self._stamp:
            self._stamp, self._state = 0, self._place.initial
        if stamp <= self._stamp:
            return
        velocity = twist_between(
            (self._state.position, self._state.orientation),
            (state.position, state.orientation),
            (stamp - self._stamp) / NANOSECONDS,
        )
        self._stamp, self._state = stamp, state._replace(velocity=velocity)
        self._arrived(stamp, self._state)
