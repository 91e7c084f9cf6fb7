# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Node that integrates the state once the wrenches of all forces for a stamp have arrived.

An external wrench, from any node, acts beside them. Bounds keep an absurd wrench from the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped

from marine_sim_ros.core.state import NANOSECONDS, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import FORCES, actuators_of
from marine_sim_ros.physics.arm.manipulator import pose_vehicle
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.arm import ArmListener, held_joints
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.dynamics.environment_changer import EnvironmentChanger
from marine_sim_ros.ros.dynamics.state_node import START_TIMEOUT, StateNode
from marine_sim_ros.ros.holds import HeldState, HoldPublisher, held_bodies
from marine_sim_ros.ros.message_fields import wrench_from
from marine_sim_ros.ros.servos import StateListener, kept_actuators
from marine_sim_ros.ros.ticks import WrenchBarrier
from marine_sim_ros.sim.step import changed_body

__all__ = ['ExternalWrench', 'WrenchSumNode', 'largest_wrench', 'wrench_error']


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
    total = sum(map(abs, wrench))
    if total <= largest:  # false for NaN
        return ''
    if total != total or total == float('inf'):
        return 'not finite'
    return f'{total:g} (|F| + |M|, N and N m), expected {largest:g} at most'


# External wrench, on the topic wrench/external.

EXTERNAL_WRENCH_DURATION = 1.0
"""s of simulated time that a message acts."""


class ExternalWrench:
    """Latest message of wrench/external while it acts; a message out of bounds is ignored."""

    def __init__(self, node: StateNode) -> None:
        """Subscribe."""
        self._node = node
        self._wrench = np.zeros(6)
        self._until = -1
        self._largest = largest_wrench(node.vehicle.inertia.mass, node.dt)
        node.listen(topics.EXTERNAL_WRENCH, self._on_wrench)

    def _on_wrench(self, message: WrenchStamped) -> None:
        wrench = wrench_from(message)
        if error := self._error(wrench, message.header.frame_id):
            self._node.warn_throttled(f'wrench/external: {error}; ignored')
            return
        self._wrench = wrench
        self._until = self._node.stamp + round(EXTERNAL_WRENCH_DURATION * NANOSECONDS)

    def _error(self, wrench: Wrench, frame: str) -> str:
        """Return the reason to refuse a wrench, or an empty text."""
        body = self._node.body_frame
        if frame not in ('', self._node.vehicle.base_link, body):
            return f'frame_id is {frame!r}, expected {body!r}'
        return wrench_error(wrench.tolist(), self._largest)

    def at(self, stamp: int) -> Wrench | None:
        """Return the wrench (6,) that acts at a stamp in ns, or None."""
        return self._wrench if stamp < self._until else None

    def restart(self) -> None:
        """End the effect of the latest message, for a new run."""
        self._until = -1


# State node that waits for every force and sums the wrenches.

SOURCE_CHECK_PERIOD = 0.05
"""s of wall time between two checks for missing sources."""


class WrenchSumNode(StateNode):
    """Integrates the state once the wrenches of all forces for its stamp have arrived."""

    def __init__(
        self, name: str, parameters: Sequence[NodeParameter] = (), **options: Any
    ) -> None:
        """Subscribe to every source."""
        super().__init__(name, parameters, **options)
        sources = self.wrench_sources
        self.barrier = WrenchBarrier(sources)
        self.implicit = self.values['implicit_drag'] and 'drag' in sources
        self._begun = False
        self._largest = largest_wrench(self.vehicle.inertia.mass, self.dt)
        self.health['outages'] = 0
        has_arm = self.vehicle.manipulator is not None and 'manipulator' in sources
        self._arm = ArmListener(self, self._on_joints) if has_arm else None
        self._mass_states = {
            actuator: StateListener(self, actuator, self._on_joints)
            for actuator in actuators_of(self.vehicle)
            if actuator.body is not None and actuator.source in sources
        }
        self._holds = self._make_holds() if self.bus is None else {}
        for source in sources:
            self.listen_numbers(topics.wrench_topic(source), partial(self._on_wrench, source))
        self.follow_current(warns=True)
        self._external = ExternalWrench(self)
        self._changer = EnvironmentChanger(self)
        self.create_timer(SOURCE_CHECK_PERIOD, self._watch_sources, clock=self.wall_clock)

    def _make_holds(self) -> dict[str, HoldPublisher]:
        """Return the publishers of held states by the source of a wrench."""
        sources = self.wrench_sources
        states: dict[str, list[HeldState]] = {}
        if self._arm is not None:
            states['manipulator'] = [held_joints(self, self._arm)]
        owns_bodies = self.environment.free_bodies and self.values['owns_bodies']
        if owns_bodies and 'contact' in sources:
            states['contact'] = held_bodies(self)
        for actuator in kept_actuators(self.vehicle):
            if actuator.source in sources:
                listener = self._mass_states.get(actuator)
                if listener is None:
                    listener = StateListener(self, actuator)
                states.setdefault(actuator.source, []).append(listener.held)
        return {source: HoldPublisher(self, held) for source, held in states.items()}

    def on_reset(self) -> None:
        """Forget the wrenches of the run before."""
        self.barrier = WrenchBarrier(self.barrier.sources)
        self._begun = False
        self._external.restart()
        self._changer.restart()

    def on_parameters(self) -> None:
        """Have all nodes of the vehicle take new changes of the environment."""
        super().on_parameters()
        self._changer.ask_all()

    def awaits_state(self) -> bool:
        """Return whether the present state may not be published yet."""
        return self._changer.awaits_nodes() or super().awaits_state()

    @property
    def waits_for_all_forces(self) -> bool:
        """Whether the present tick waits for the wrench of every force.

        Without lockstep only the first does, so that the vehicle does not fall before the forces
        have started.
        """
        return self.values['lockstep'] or not self._begun

    def on_published(self) -> None:
        """Wait for the wrenches that answer the state just published."""
        if not self._begun:
            for hold in self._holds.values():
                hold.start(begun=False)
        if not self.waits_for_all_forces:
            return
        self.barrier.begin(self.stamp)
        self._integrate_when_complete()

    def _integrate_when_complete(self) -> None:
        """Integrate when every wrench and what changes the vehicle's mass have arrived."""
        if self.barrier.complete and not self._late_states:
            self.integrate()

    @property
    def _late_states(self) -> list[str]:
        """Topics of running actuators that change the vehicle's mass, without this tick."""
        listeners = {} if self._arm is None else {('manipulator', 'joint_states'): self._arm.stamp}
        listeners |= {(a.source, a.state_topic): s.stamp for a, s in self._mass_states.items()}
        return [
            topic
            for (source, topic), stamp in listeners.items()
            if source not in self.barrier.out and stamp != self.stamp
        ]

    def _on_joints(self, stamp: int) -> None:
        if self.waits_for_all_forces and self.published and stamp == self.stamp:
            self._integrate_when_complete()

    def on_pace(self) -> None:
        """Integrate a due tick with the latest wrenches, without lockstep."""
        if not self.waits_for_all_forces and self.published:
            self.integrate()

    def _on_wrench(self, source: str, stamp: int, numbers: Sequence[float]) -> None:
        wrench = np.array(numbers)
        if error := wrench_error(numbers, self._largest):
            self.warn_throttled(f'wrench/{source}: {error}; its last wrench holds', error=True)
            wrench = self.barrier.last[source]
        if self.barrier.offer(source, stamp, wrench):
            self.get_logger().info(f'wrench/{source} is back at {stamp / NANOSECONDS:.3f} s')
            if source in self._holds:
                self._holds[source].stop()
            self._changer.remind(source)
        if not self.waits_for_all_forces:
            self.barrier.last[source] = wrench
        elif self.published:
            self._integrate_when_complete()

    def _watch_sources(self) -> None:
        """Act on late sources, in this order: joints only, not yet started, lost."""
        self._changer.check()
        if not self.waits_for_all_forces:  # then no barrier reports a lost node
            for hold in self._holds.values():
                hold.start(begun=True)
        if not (self.published and self.waits_for_all_forces):
            return
        waited = self.seconds_since_publishing()
        if self.barrier.complete:  # only states of actuators are late
            if waited > self.values['source_timeout']:
                self.warn_throttled(
                    f'{", ".join(self._late_states)}: silent; the last state holds'
                )
                self.integrate()
            return
        missing = ', '.join(self.barrier.missing)
        started = set(self.barrier.missing) <= self.barrier.ever
        if waited < (self.values['source_timeout'] if started else START_TIMEOUT):
            return
        if not started or self.values['on_missing_wrench'] == 'stop':
            self.fail(f'no wrench from {missing} for {waited:.1f} s at {self.time:.3f} s')
            return
        self._replace_lost_sources()
        text = f'no wrench from {missing} for {waited:.1f} s at {self.time:.3f} s'
        self.get_logger().warning(f'{text}: holding the last one until it is back')
        self.integrate()

    def _replace_lost_sources(self) -> None:
        """Hold the last wrench of each missing source; an impulse does not act again."""
        lost = self.barrier.give_up()
        self.health['outages'] += len(lost)
        self._changer.leave_out(lost)
        for source in lost:
            if source in FORCES and FORCES[source].impulsive:
                self.barrier.last[source] = np.zeros(6)
            if source in self._holds:
                self._holds[source].start(begun=True)

    def integrate(self) -> None:
        """Sum the wrenches, publish the sum, and move the body by one step."""
        if not self._begun:
            for hold in self._holds.values():
                hold.stop()
        self._begun = True
        environment = self.environment_at(self.stamp)
        vehicle = pose_vehicle(self.vehicle, None if self._arm is None else self._arm.poses)
        states = {a.name: listener.state for a, listener in self._mass_states.items()}
        vehicle = changed_body(vehicle, self._mass_states, states)
        total = self.barrier.total(weight(vehicle, self.state, environment))
        external = self._external.at(self.stamp)
        if external is not None:
            total = total + external
        if not self.values['compute']:  # a benchmark of the messages alone
            total = np.zeros(6)
        self.total.publish(self.stamp, total)
        if self.barrier.out:
            self.warn_throttled(
                f'holding the last wrench of {", ".join(sorted(self.barrier.out))}'
            )
        self.integrate_body(vehicle, environment, total)

    def integrate_body(self, vehicle: Vehicle, environment: Environment, total: Wrench) -> None:
        """Move the body of a vehicle by one step under a wrench (6,), weight included."""
        raise NotImplementedError
