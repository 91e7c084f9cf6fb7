# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transports between gazebo_bridge and Gazebo over ros_gz_bridge: interface and lockstep.

A transport calls ``arrived(stamp, state)`` for every state of Gazebo and takes a wrench for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from nav_msgs.msg import Odometry
from std_msgs.msg import String

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.gazebo.kinematics import stepped_velocity
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.gazebo.world import ControlledWorld
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import stamp_ns, state_from

__all__ = ['Arrived', 'Place', 'InServerTransport', 'Transport']

Arrived = Callable[[int, State], None]


@dataclass(frozen=True)
class Place:
    """Where the vehicle is in Gazebo.

    Attributes:
        world: name of the world.
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
    """How states come and wrenches go."""

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

    def __init__(self, node: SuiteNode, place: Place, arrived: Arrived) -> None:
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
        if self._world is None or not self._world.ready:
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
