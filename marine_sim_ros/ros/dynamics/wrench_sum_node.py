# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Owner of the state that sums the wrenches of all forces, and an external one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped

from marine_sim_ros.core.state import NANOSECONDS, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import FORCES
from marine_sim_ros.physics.arm.manipulator import pose_vehicle
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.arm_joints import ArmListener, JointKeeper
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.codecs import wrench_from
from marine_sim_ros.ros.owners.state_owner import START_TIMEOUT, StateOwner
from marine_sim_ros.ros.ticks import WrenchBarrier

__all__ = ['ExternalWrench', 'SummingOwner', 'largest_wrench', 'wrench_error']


# Limits of a wrench on a vehicle.

MAX_WRENCH_PER_MASS = 1e4
"""N or N·m for each kg of the vehicle: a thousand times its weight."""
MAX_VELOCITY_CHANGE = 100.0
"""m/s in one step; an impulse, as of a contact, acts within one."""


def largest_wrench(mass: float, dt: float) -> float:
    """Return the bound of |F| + |M|, the sum of a wrench's absolute values, N and N·m.

    Args:
        mass: mass of the vehicle, kg.
        dt: step, s.
    """
    return mass * max(MAX_WRENCH_PER_MASS, MAX_VELOCITY_CHANGE / dt)


def wrench_error(wrench: Sequence[float], largest: float) -> str:
    """Return the reason to refuse a wrench (6,), or an empty text."""
    size = sum(map(abs, wrench))
    if size <= largest:  # false for NaN
        return ''
    if size != size or size == float('inf'):
        return 'not finite'
    return f'{size:g} (|F| + |M|, N and N m), expected {largest:g} at most'


# External wrench, on the topic wrench/external.

EXTERNAL_WRENCH_DURATION = 1.0
"""s that a message holds."""


class ExternalWrench:
    """The latest message, for as long as it holds; one that cannot act is ignored."""

    def __init__(self, owner: StateOwner) -> None:
        """Listen for the owner of the state."""
        self._owner = owner
        self._wrench = np.zeros(6)
        self._until = -1
        self._largest = largest_wrench(owner.vehicle.inertia.mass, owner.dt)
        owner.listen(topics.EXTERNAL_WRENCH, self._on_wrench)

    def _on_wrench(self, message: WrenchStamped) -> None:
        wrench = wrench_from(message)
        if fault := self._fault(wrench, message.header.frame_id):
            self._owner.warn_throttled(f'wrench/external: {fault}; ignored')
            return
        self._wrench = wrench
        self._until = self._owner.stamp + round(EXTERNAL_WRENCH_DURATION * NANOSECONDS)

    def _fault(self, wrench: Wrench, frame: str) -> str:
        """Return the reason to refuse a wrench, or an empty text."""
        body = self._owner.body_frame
        if frame not in ('', self._owner.vehicle.base_link, body):
            return f'frame_id is {frame!r}, expected {body!r}'
        return wrench_error(wrench.tolist(), self._largest)

    def at(self, stamp: int) -> Wrench | None:
        """Return the wrench (6,) that acts at a stamp in ns, or None."""
        return self._wrench if stamp < self._until else None

    def restart(self) -> None:
        """Forget it, since the run starts anew."""
        self._until = -1


# Owner of the state that waits for every force and sums them.


class SummingOwner(StateOwner):
    """A barrier in front of what moves the body."""

    def __init__(
        self, name: str, parameters: Sequence[NodeParameter] = (), **options: Any
    ) -> None:
        """Listen to every source."""
        super().__init__(name, parameters, **options)
        sources = self.wrench_sources
        self.barrier = WrenchBarrier(sources)
        self.implicit = self.values['implicit_drag'] and 'drag' in sources
        self._begun = False
        self._largest = largest_wrench(self.vehicle.inertia.mass, self.dt)
        self.health['outages'] = 0
        moves = self.vehicle.manipulator is not None and 'manipulator' in sources
        self._arm = ArmListener(self, self._on_joints) if moves else None
        self._keeper: JointKeeper | None = None
        if self._arm is not None and self.bus is None:
            self._keeper = JointKeeper(self, self._arm)
        for source in sources:
            self.listen_numbers(topics.wrench_topic(source), partial(self._on_wrench, source))
        self.follow_current(warns=True)
        self._external = ExternalWrench(self)
        self.create_timer(0.05, self._watch_sources, clock=self.wall_clock)

    def on_reset(self) -> None:
        """Forget the wrenches of the run before."""
        self.barrier = WrenchBarrier(self.barrier.sources)
        self._begun = False
        self._external.restart()

    @property
    def waits(self) -> bool:
        """Whether the present tick waits for every force.

        Without lockstep the first does, so that nothing falls before the forces are there.
        """
        return self.values['lockstep'] or not self._begun

    def on_published(self) -> None:
        """Wait for the answers to the state that was just published."""
        if self._keeper is not None and not self._begun:
            self._keeper.keep(begun=False)
        if not self.waits:
            return
        self.barrier.begin(self.stamp)
        self._integrate_when_complete()

    def _integrate_when_complete(self) -> None:
        """Integrate when every wrench is there, and the joints of an arm that lives."""
        arm = None if 'manipulator' in self.barrier.out else self._arm
        if self.barrier.complete and (arm is None or arm.stamp == self.stamp):
            self.integrate()

    def _on_joints(self, stamp: int) -> None:
        if self.waits and self.published and stamp == self.stamp:
            self._integrate_when_complete()

    def on_pace(self) -> None:
        """Without lockstep every due tick uses the latest wrenches."""
        if not self.waits and self.published:
            self.integrate()

    def _on_wrench(self, source: str, stamp: int, numbers: Sequence[float]) -> None:
        wrench = np.array(numbers)
        if fault := wrench_error(numbers, self._largest):
            self.warn_throttled(f'wrench/{source}: {fault}; its last wrench holds', error=True)
            wrench = self.barrier.last[source]
        if self.barrier.offer(source, stamp, wrench):
            self.get_logger().info(f'wrench/{source} is back at {stamp / NANOSECONDS:.3f} s')
            if self._keeper is not None and source == 'manipulator':
                self._keeper.give()
        if not self.waits:
            self.barrier.last[source] = wrench
        elif self.published:
            self._integrate_when_complete()

    def _watch_sources(self) -> None:
        if self._keeper is not None and not self.waits:
            self._keeper.keep(begun=True)  # nobody notices that a node is silent
        if not (self.published and self.waits):
            return
        waited = self.seconds_since_publishing()
        if self.barrier.complete:
            if waited > self.values['source_timeout']:
                self.warn_throttled('joint_states: silent; the last joint positions hold')
                self.integrate()
            return
        missing = ', '.join(self.barrier.missing)
        started = set(self.barrier.missing) <= self.barrier.ever
        if waited < (self.values['source_timeout'] if started else START_TIMEOUT):
            return
        if not started or self.values['on_missing_wrench'] == 'stop':
            self.fail(f'no wrench from {missing} for {waited:.1f} s at {self.time:.3f} s')
            return
        silent = self.barrier.give_up()
        self.health['outages'] += len(silent)
        for source in silent:
            if source in FORCES and FORCES[source].impulsive:
                self.barrier.last[source] = np.zeros(6)
        if self._keeper is not None and 'manipulator' in silent:
            self._keeper.keep(begun=True)
        told = f'no wrench from {missing} for {waited:.1f} s at {self.time:.3f} s'
        self.get_logger().warning(f'{told}: holding the last one until it is back')
        self.integrate()

    def integrate(self) -> None:
        """Sum the wrenches, publish the sum, and move the body."""
        if self._keeper is not None and not self._begun:
            self._keeper.give()
        self._begun = True
        environment = self.environment_at(self.stamp)
        vehicle = pose_vehicle(self.vehicle, None if self._arm is None else self._arm.poses)
        total = self.barrier.total(weight(vehicle, self.state, environment))
        external = self._external.at(self.stamp)
        if external is not None:
            total = total + external
        if not self.values['compute']:
            total = np.zeros(6)
        self.total.publish(self.stamp, total)
        if self.barrier.out:
            self.warn_throttled(
                f'holding the last wrench of {", ".join(sorted(self.barrier.out))}'
            )
        self.move(vehicle, environment, total)

    def move(self, vehicle: Vehicle, environment: Environment, total: Wrench) -> None:
        """Move the body of a vehicle by one step under a wrench (6,), weight included."""
        raise NotImplementedError
