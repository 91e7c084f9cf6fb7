# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Base classes of nodes that publish a force's wrench, and the graph of compiled forces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import COMMAND_TIMEOUT, Propulsion
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.faults.tables import FaultTables
from marine_sim_ros.physics import FORCES, Actuator, ForceInputs, actuators_of
from marine_sim_ros.physics.arm.manipulator import pose_vehicle
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.arm import ArmFollower
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import COMMAND_HOLD, NodeParameter
from marine_sim_ros.ros.base.publishers import SpatialPublisher
from marine_sim_ros.ros.cdr import JointNumbers, read_joints
from marine_sim_ros.ros.message_fields import is_finite, state_of
from marine_sim_ros.ros.servos import (
    SERVO_PARAMETERS,
    ActuatorCommands,
    ActuatorFollower,
    ActuatorHold,
    ActuatorStates,
)
from marine_sim_ros.ros.ticks import PairSynchronizer
from marine_sim_ros.sim.step import Memory, StepOutput, changed_body

if TYPE_CHECKING:
    from marine_sim_ros.sim.body_simulation import BodySimulation

__all__ = [
    'ACTUATOR_PARAMETERS',
    'ActuatorNode',
    'CompiledGraph',
    'CompiledTick',
    'WrenchNode',
    'ForceTick',
    'ModelNode',
]


# Forces computed by one compiled program; nodes supply commands and publish results.

Compute = Callable[[int, dict[str, Any]], None]


class CompiledForce(Protocol):
    """Interface of a force's node to a compiled graph."""

    newest: int

    def on_state(self, stamp: int, state: State) -> None:
        """Pass the node's commands for a state to the graph, now or when they arrive."""

    def on_output(self, tick: Any) -> None:
        """Publish the computed output of a tick."""


class CompiledGraph:
    """Collects the commands of a vehicle's force nodes at each tick, for one compiled program.

    Attributes:
        sources: names of the forces, in the order of their sum.
        step: s between two ticks.
        forces: nodes by their names.
        faults: tables of the thrusters' faults, or None.
        fault_list: the same faults as a list, for a program in another process.
        loses_command: whether the command of a tick may get lost.
        timeout: time without a command after which the thrusters stop, s.
    """

    def __init__(self, sources: Collection[str], step: float) -> None:
        """Expect the nodes of these forces."""
        self.sources, self.step = tuple(sources), step
        self.forces: dict[str, CompiledForce] = {}
        self.faults: FaultTables | None = None
        self.fault_list: tuple[Fault, ...] = ()
        self.loses_command = True
        self.timeout = COMMAND_TIMEOUT
        self._compute: Compute | None = None
        self._commanded: list[str] = []
        self._last: dict[str, dict[str, Any]] = {}
        self.forget()

    def join(self, name: str, node: CompiledForce, *, commanded: bool) -> None:
        """Add the node of a force; every tick waits for the commands of a commanded one."""
        self.forces[name] = node
        if commanded:
            self._commanded.append(name)

    def serve(self, compute: Compute) -> None:
        """Set the function to call with the stamp (ns) and the commands of each tick."""
        self._compute = compute

    def forget(self) -> None:
        """Drop the tick that is waited for."""
        self._stamp: int | None = None
        self._received: dict[str, dict[str, Any]] = {}

    def begin(self, stamp: int, state: State) -> None:
        """Request the commands of a tick from all nodes; stamp in ns."""
        self._stamp, self._received = stamp, {}
        for name in self._commanded:
            self.forces[name].on_state(stamp, state)
        self._conclude()

    def add_commands(self, name: str, stamp: int, commands: dict[str, Any]) -> None:
        """Add the commands of a node for a stamp in ns."""
        if stamp != self._stamp or name in self._received:
            return
        self._received[name] = self._last[name] = commands
        self._conclude()

    @property
    def missing(self) -> list[str]:
        """Names of the nodes whose commands are missing."""
        if self._stamp is None:
            return []
        return [name for name in self._commanded if name not in self._received]

    @property
    def started(self) -> bool:
        """Whether the missing nodes have ever sent commands."""
        return set(self.missing) <= self._last.keys()

    def give_up(self) -> None:
        """Continue with the last commands of the missing nodes."""
        for name in self.missing:
            self._received[name] = self._last[name]
        self._conclude()

    def _conclude(self) -> None:
        if self._stamp is None or self.missing or self._compute is None:
            return
        stamp, self._stamp = self._stamp, None
        commands = {k: v for received in self._received.values() for k, v in received.items()}
        self._compute(stamp, commands)


# Force nodes: one wrench for every ``odom``, with the same stamp.


class WrenchNode(VehicleNode):
    """Answers every ``odom`` with one wrench of the same stamp; has no timer."""

    commanded = False
    """Whether the force follows commands that a compiled graph waits for."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[NodeParameter] = (),
        *,
        graph: CompiledGraph | None = None,
        **options: Any,
    ) -> None:
        """Subscribe to ``odom`` and publish ``wrench/<name>``.

        With a compiled graph the node computes nothing: it supplies commands and publishes output.
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
            self.graph.add_commands(self.source, stamp, self.commands(stamp))
            return
        compute = self.values['compute']
        wrench = self.wrench(stamp, state) if compute else self._zero
        if wrench is not None:
            self.publish_wrench(stamp, wrench)

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

    def wrench(self, stamp: int, state: State) -> Wrench | None:
        """Return the wrench (6,) of a state at a stamp in ns; None: it is published later."""
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
    """A tick of a compiled graph: stamp in ns, environment, output, and memories of forces.

    Attributes:
        force_memories: memory of a force before and after it, by the name of the force.
        bodies: the free bodies as at the tick, or None.
    """

    stamp: int
    environment: Environment
    output: StepOutput
    force_memories: Callable[[str], tuple[Any, Any]]
    bodies: BodySimulation | None = None


class ModelNode(WrenchNode):
    """Node of a :class:`~marine_sim_ros.physics.ForceModel`, with the inputs that it needs.

    Subscribes beside ``odom``: ``joint_states`` where the force needs the joints of an arm,
    ``thrusters/state`` where it needs the thrust, the states of actuators that change the
    vehicle's mass where it needs that; each of the same stamp. After the time-out of one of them
    its last message holds.
    """

    def __init__(
        self, name: str, parameters: Sequence[NodeParameter] = (), **options: Any
    ) -> None:
        """Create the node of a force by its name.

        Raises:
            ParameterError: no force has that name.
        """
        if name not in FORCES:
            raise ParameterError(f'force {name!r} is unknown; {expected_one_of(name, FORCES)}')
        super().__init__(name, parameters, **options)
        self.model = FORCES[name]
        self._begin()
        self._odom_stamp = 2**63
        self._thrust = np.zeros(len(self.vehicle.thrusters))
        needs = self.model.needs
        answer: Callable[[int, State], None] = super().on_state
        self._thrusts: PairSynchronizer[State, Sequence[float]] | None = None
        if self.graph is not None:
            needs = ()
        if 'thrust' in needs and len(self._thrust):
            self._thrusts = PairSynchronizer(self._on_pair, self._thrust.tolist())
            self.listen_numbers(topics.THRUSTER_STATE, self._on_thrust, read_joints)
            answer = self._thrusts.first
        self.arm: ArmFollower | None = None
        if 'joints' in needs and self.vehicle.manipulator is not None:
            self.arm = ArmFollower(self, answer)
            answer = self.arm.wait
        self._masses: dict[Actuator, ActuatorFollower] = {}
        for actuator in actuators_of(self.vehicle) if 'mass' in needs else ():
            if actuator.body is not None:
                self._masses[actuator] = ActuatorFollower(self, actuator, answer)
                answer = self._masses[actuator].wait
        self._wait_for_inputs = answer

    def _begin(self) -> None:
        self._memory: Any = None
        self._stamp: int | None = None

    def on_state(self, stamp: int, state: State) -> None:
        """Answer when all inputs of the force for this stamp have arrived."""
        if not self.values['compute']:
            super().on_state(stamp, state)
            return
        if not self._may_act(stamp, state):
            if self._stamp is not None:
                self._begin()
            self.on_idle(stamp)
            self.publish_wrench(stamp, self._zero)
            return
        self._wait_for_inputs(stamp, state)
        if self._thrusts is not None and self._thrusts.out:
            self.warn_throttled('thrusters/state: silent; the last thrust holds')

    def _may_act(self, stamp: int, state: State) -> bool:
        """Whether the force may act soon; else the tick needs no inputs and no memory."""
        before, self._odom_stamp = self._odom_stamp, stamp
        if self.model.may_act is None or self.graph is not None or stamp <= before:
            return True
        if self.arm is not None or self._masses:
            return True
        step = (stamp - before) / NANOSECONDS
        return bool(self.model.may_act(self.vehicle, state, self.environment, step))

    def _on_pair(self, stamp: int, state: State, effort: Sequence[float]) -> None:
        thrust = np.array(effort, float)
        if len(thrust) == len(self._thrust) and is_finite(thrust):
            self._thrust = thrust
        else:
            self.warn_throttled(
                f'thrusters/state: effort is {thrust.tolist()}; expected {len(self._thrust)} '
                'finite numbers; the last thrust holds'
            )
        super().on_state(stamp, state)

    def _on_thrust(self, stamp: int, numbers: JointNumbers) -> None:
        assert self._thrusts is not None
        self._thrusts.second(stamp, numbers[2])

    def wrench(self, stamp: int, state: State) -> Wrench | None:
        """Return the wrench (6,) on a state; if time does not advance, the memory starts anew."""
        if self._stamp is not None and stamp <= self._stamp:
            self._begin()
        if self._stamp is None and self.model.begin is not None:
            self._memory = self.first_memory(state)
        dt = 0.0 if self._stamp is None else (stamp - self._stamp) / NANOSECONDS
        environment, before = self.environment_at(stamp), self._memory
        wrench, self._memory = self.model.step(
            self.vehicle, state, environment, self.inputs(stamp), before, dt=dt
        )
        self._stamp = stamp
        if self.has_watchers:
            self.on_wrench(ForceTick(stamp, state, environment, dt, before, self._memory))
        return wrench

    def first_memory(self, state: State) -> Any:
        """Return the memory of a force that has one before its first tick."""
        assert self.model.begin is not None
        return self.model.begin(self.vehicle, state)

    @property
    def has_watchers(self) -> bool:
        """Whether :meth:`on_wrench` does something."""
        return type(self).on_wrench is not ModelNode.on_wrench

    def on_output(self, tick: CompiledTick) -> None:
        """Publish what a compiled graph computed."""
        super().on_output(tick)
        if not self.has_watchers:
            return
        dt = 0.0 if self._stamp is None else (tick.stamp - self._stamp) / NANOSECONDS
        self._stamp = tick.stamp
        before, after = tick.force_memories(self.source)
        state = tick.output.state
        self.on_wrench(ForceTick(tick.stamp, state, tick.environment, max(dt, 0.0), before, after))

    def inputs(self, stamp: int) -> ForceInputs:
        """Return the inputs of the force beside the state, at a stamp in ns."""
        del stamp
        if self.arm is None and not self._masses:
            return ForceInputs(self._thrust, self.vehicle, {})
        body = pose_vehicle(self.vehicle, None if self.arm is None else self.arm.poses)
        states = {actuator.name: follower.state for actuator, follower in self._masses.items()}
        return ForceInputs(self._thrust, changed_body(body, self._masses, states), {})

    def on_wrench(self, tick: ForceTick) -> None:
        """React to each evaluation; the default does nothing."""

    def on_idle(self, stamp: int) -> None:
        """React to a tick, stamp in ns, in which the force cannot act; the default does not."""


ACTUATOR_PARAMETERS = (*SERVO_PARAMETERS, COMMAND_HOLD)
"""Parameters of the node of a force with an actuator."""


class ActuatorNode(ModelNode):
    """Node of a force and of the actuators whose commands it follows.

    Subscribes beside what the force needs: their command topics. Publishes their states.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Create the node of a force by its name.

        Raises:
            ParameterError: no force has that name, or the vehicle has none of its actuators.
        """
        actuators = [a for a in ACTUATORS.entries if a.source == name]
        self.commanded = bool(actuators)
        super().__init__(name, ACTUATOR_PARAMETERS if actuators else (), **options)
        if actuators and not any(a.names(self.vehicle) for a in actuators):
            missing = f'<{self.model.element}>' if self.model.element else actuators[0].part
            raise ParameterError(f'{name}: {self.vehicle.name} has no {missing}')
        timeout = self.values.get('command_timeout', np.inf)
        self._commands = ActuatorCommands(self, name, answer=super().on_state, timeout=timeout)
        self._states = ActuatorStates(self, name)
        self._hold = ActuatorHold(self, name)
        self._held: dict[str, np.ndarray] = {}

    def inputs(self, stamp: int) -> ForceInputs:
        """Return the inputs of the force, and the commands at a stamp in ns."""
        return super().inputs(stamp)._replace(commands=self.commands(stamp))

    def commands(self, stamp: int) -> dict[str, Any]:
        """Return the commands at a stamp in ns, by the name of the actuator."""
        return self._commands.commanded_values(stamp)

    def on_state(self, stamp: int, state: State) -> None:
        """Answer when all commands are known; where nothing is computed, the actuators rest.

        A node that starts amid a run waits for the states of its actuators.
        """
        if not self.values['compute'] and self._states and self.model.begin is not None:
            self._publish(stamp, self.model.begin(self.vehicle, state_at_rest()))
        elif self._stamp is None and stamp and not self._held:
            if (held := self._hold.states()) is None:
                return
            self._commands.hold(stamp, held)
            self._held = held
        self._commands.wait(stamp, state)

    def first_memory(self, state: State) -> Any:
        """Return the memory before the first tick, with the held states of the actuators."""
        held, self._held = self._held, {}
        memory = self._step_memory(super().first_memory(state))
        return self._hold.restore(memory, held).forces[self.source]

    @property
    def has_watchers(self) -> bool:
        """Whether there is a state to publish."""
        return bool(self._states)

    def on_wrench(self, tick: ForceTick) -> None:
        """Publish the states of the actuators."""
        self._publish(tick.stamp, tick.after)

    def _publish(self, stamp: int, memory: Any) -> None:
        self._states.publish(stamp, self._step_memory(memory))

    def _step_memory(self, memory: Any) -> Memory:
        return Memory(state_at_rest(), Propulsion(np.zeros(0)), {self.source: memory})
