# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transport by Gazebo's own systems: PosePublisher, ApplyLinkWrench, the control service."""

from __future__ import annotations

import time as wall

import numpy as np
from geometry_msgs.msg import PoseStamped

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.gazebo.kinematics import twist_between
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.gazebo.transport import Arrived, Place
from marine_sim_ros.ros.gazebo.world import ControlledWorld
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import set_stamp, stamp_ns

__all__ = ['StockTransport']

SILENCE = 2.0
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

    def __init__(self, node: SuiteNode, place: Place, arrived: Arrived) -> None:
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
        if not self._world.ready:
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
        if since is None or now - since < SILENCE:
            return
        self._asked, self._heard = None, now
        if self._resetting:
            self._ask_reset()
        else:
            self._lose()

    def _lose(self) -> None:
        self._known, self._before = False, None
        self._world.watch(self._on_time)

    def _ask_step(self) -> None:
        self._asked = wall.monotonic()
        self._world.ask(pause=True, steps=1)

    def _ask_reset(self) -> None:
        self._asked = wall.monotonic()
        self._world.ask(reset=True, pause=True)
        self._lose()

    def _on_time(self, now: int) -> None:
        """Take the time of a world of which nothing else is known."""
        if self._known or not self._world.ready:
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
                self._lose()
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
