# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes of forces: each answers every ``odom`` with one wrench of the same stamp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics import FORCES, ForceInputs
from marine_sim_ros.physics.arm.manipulator import posed
from marine_sim_ros.ros.arm.joint_positions import ArmFollower
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import Parameter
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.forces.compiled_graph import CompiledGraph
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import finite, state_of
from marine_sim_ros.ros.messages.sequences import JointNumbers, read_joints
from marine_sim_ros.ros.ticks.pairing import Pairing
from marine_sim_ros.sim.step import StepOutput

__all__ = ['CompiledTick', 'ForceNode', 'ForceTick', 'ModelNode']


class ForceNode(SuiteNode):
    """Answers every ``odom`` with one wrench of the same stamp; has no timer of its own."""

    commanded = False
    """Whether the force follows commands that a compiled graph waits for."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[Parameter] = (),
        *,
        graph: CompiledGraph | None = None,
        **options: Any,
    ) -> None:
        """Subscribe to ``odom`` and publish ``wrench/<name>``.

        With a compiled graph the node computes nothing: it brings its commands, and publishes.
        """
        super().__init__(name, parameters, **options)
        self._wrench = SpatialPublisher(self, topics.wrench_topic(name))
        self._zero = np.zeros(6)
        self.source, self.graph = name, graph
        if graph is not None:
            graph.join(name, self, commanded=self.commanded)
            return
        self.follow_current()
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.take_time_from_ticks()

    def _on_odom(self, stamp: int, numbers: Sequence[float]) -> None:
        self.newest, state = stamp, state_of(numbers)
        if state is None:
            self.warn_throttled('odom: not finite; answered with a zero wrench')
            self.publish_wrench(stamp, self._zero)
            return
        self.on_state(stamp, state)

    def on_state(self, stamp: int, state: State) -> None:
        """Answer a state; the default computes :meth:`wrench` at once."""
        if self.graph is not None:
            self.graph.give(self.source, stamp, self.commands(stamp))
            return
        compute = self.values['compute']
        self.publish_wrench(stamp, self.wrench(stamp, state) if compute else self._zero)

    def commands(self, stamp: int) -> dict[str, Any]:
        """Return commands for a compiled graph, fields of Commands, at a stamp in ns."""
        del stamp
        return {}

    def on_output(self, tick: CompiledTick) -> None:
        """Publish what a compiled graph computed."""
        self.newest = tick.stamp
        self.publish_wrench(tick.stamp, tick.output.sources[self.source])

    def publish_wrench(self, stamp: int, wrench: Wrench) -> None:
        """Publish the answer to the odom of a stamp."""
        self._wrench.publish(stamp, wrench)

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Return the wrench (6,) of a state at a stamp in ns."""
        raise NotImplementedError


class ForceTick(NamedTuple):
    """One evaluation of a force: stamp in ns, time since the last one in s, memories around it."""

    stamp: int
    state: State
    environment: Environment
    dt: float
    before: Any
    after: Any


class CompiledTick(NamedTuple):
    """A tick of a compiled graph: stamp in ns, water, output, and what forces remember.

    Attributes:
        remembered: returns what a force remembered before and after it, by the name of the force.
    """

    stamp: int
    environment: Environment
    output: StepOutput
    remembered: Callable[[str], tuple[Any, Any]]


class ModelNode(ForceNode):
    """The node of a :class:`~marine_sim_ros.physics.ForceModel`, with what that needs.

    Subscribes beside ``odom``: ``joint_states`` where the force needs the joints of an arm,
    ``thrusters/state`` where it needs the thrust; each of the same stamp. While one of them is
    silent its last message holds.
    """

    def __init__(self, name: str, parameters: Sequence[Parameter] = (), **options: Any) -> None:
        """Create the node of a force by its name.

        Raises:
            ParameterError: no force has that name.
        """
        if name not in FORCES:
            raise ParameterError(f'force {name!r} is unknown; {expected_one_of(name, FORCES)}')
        super().__init__(name, parameters, **options)
        self.model = FORCES[name]
        self._begin()
        self._thrust = np.zeros(len(self.vehicle.thrusters))
        needs, answer = self.model.needs, super().on_state
        self._thrusts: Pairing[State, np.ndarray] | None = None
        if self.graph is not None:
            needs = ()
        if 'thrust' in needs and len(self._thrust):
            self._thrusts = Pairing(self._on_pair, self._thrust)
            self.listen_numbers(topics.THRUSTER_STATE, self._on_thrust, read_joints)
            answer = self._thrusts.first
        self.arm: ArmFollower | None = None
        if 'joints' in needs and self.vehicle.manipulator is not None:
            self.arm = ArmFollower(self, answer)
            answer = self.arm.wait
        self._when_known = answer

    def _begin(self) -> None:
        self._memory, self._stamp = None, None

    def on_state(self, stamp: int, state: State) -> None:
        """Answer when all that the force needs is known for this stamp."""
        if not self.values['compute']:
            super().on_state(stamp, state)
            return
        self._when_known(stamp, state)
        if self._thrusts is not None and self._thrusts.out:
            self.warn_throttled('thrusters/state: silent; the last thrust holds')

    def _on_pair(self, stamp: int, state: State, thrust: np.ndarray) -> None:
        self._thrust = thrust
        super().on_state(stamp, state)

    def _on_thrust(self, stamp: int, numbers: JointNumbers) -> None:
        assert self._thrusts is not None
        thrust = np.array(numbers[2], float)
        if len(thrust) != len(self._thrust) or not finite(thrust):
            self.warn_throttled(
                f'thrusters/state: effort is {thrust.tolist()}; expected {len(self._thrust)} '
                'finite numbers; the last thrust holds'
            )
            thrust = self._thrusts.last
        self._thrusts.second(stamp, thrust)

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Return the force on a state; time that stands still or goes back starts anew."""
        if self._stamp is not None and stamp <= self._stamp:
            self._begin()
        if self._stamp is None and self.model.begin is not None:
            self._memory = self.model.begin(self.vehicle, state)
        dt = 0.0 if self._stamp is None else (stamp - self._stamp) / NANOSECONDS
        environment, before = self.environment_at(stamp), self._memory
        wrench, self._memory = self.model.step(
            self.vehicle, state, environment, self.inputs(stamp), before, dt=dt
        )
        self._stamp = stamp
        self.on_wrench(ForceTick(stamp, state, environment, dt, before, self._memory))
        return wrench

    @property
    def watched(self) -> bool:
        """Whether :meth:`on_wrench` does something."""
        return type(self).on_wrench is not ModelNode.on_wrench

    def on_output(self, tick: CompiledTick) -> None:
        """Publish what a compiled graph computed."""
        super().on_output(tick)
        if not self.watched:
            return
        dt = 0.0 if self._stamp is None else (tick.stamp - self._stamp) / NANOSECONDS
        self._stamp = tick.stamp
        before, after = tick.remembered(self.source)
        state = tick.output.state
        self.on_wrench(ForceTick(tick.stamp, state, tick.environment, max(dt, 0.0), before, after))

    def inputs(self, stamp: int) -> ForceInputs:
        """Return what the force needs beside the state, at a stamp in ns."""
        del stamp
        body = posed(self.vehicle, None if self.arm is None else self.arm.poses)
        return ForceInputs(self._thrust, body, {})

    def on_wrench(self, tick: ForceTick) -> None:
        """Called with each evaluation; the default does nothing."""
