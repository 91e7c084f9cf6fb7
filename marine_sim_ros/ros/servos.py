# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands and states of actuators, and the servos of an autopilot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float32MultiArray

from marine_sim_ros.core.state import NANOSECONDS, State, stamp_ns
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import Actuator, actuators_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.publishers import JointPublisher
from marine_sim_ros.ros.holds import HeldState, HoldListener
from marine_sim_ros.ros.message_fields import is_finite, set_stamp
from marine_sim_ros.ros.ticks import PairSynchronizer
from marine_sim_ros.sim.player import ActuatorTimeline
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.step import Memory, actuator_states

__all__ = [
    'ActuatorCommands',
    'ActuatorFollower',
    'ActuatorHold',
    'ActuatorStates',
    'AutopilotServoPublisher',
    'SERVO_PARAMETERS',
    'SERVO_SOURCE',
    'ServoCommands',
    'ServoPublisher',
    'StateListener',
    'kept_actuators',
]


# Commands of actuators: by a scenario, a controller, or the latest message.

SERVO_SOURCE = NodeParameter(
    'servo_source',
    'external',
    'external: the latest command holds; controller: one per odom',
    choices=('external', 'controller'),
)
SERVO_PARAMETERS = (
    option_parameter('scenario', empty='servos follow their command topic'),
    SERVO_SOURCE,
)
"""Parameters of a node with servos."""


class ServoPublisher:
    """Publisher of an actuator's state or command; publishes nothing without the actuator."""

    def __init__(
        self, node: VehicleNode, actuator: Actuator, topic: topics.Topic | None = None
    ) -> None:
        """Create the publisher; the topic is that of the state by default."""
        names, self._fields = actuator.names(node.vehicle), actuator.fields
        if topic is None:
            topic = topics.actuator_state(actuator)
        else:
            self._fields = ('position',)
        self._out = JointPublisher(node, topic, names) if names else None

    def publish(self, stamp: int, values: np.ndarray | None) -> None:
        """Publish the state or the command of a stamp in ns."""
        if self._out is not None and values is not None:
            columns = np.split(values, len(self._fields))
            parts = {f: c.tolist() for f, c in zip(self._fields, columns, strict=True)}
            self._out.publish(stamp, **parts)


class ServoCommands:
    """Commands of one of a node's actuators, by stamp.

    A command with unknown names or numbers that are not finite is ignored as a whole, with a
    warning. With ``servo_source: controller`` each stamp of a steered actuator waits for its
    command. Without the actuator each state is answered at once.
    """

    def __init__(
        self,
        node: VehicleNode,
        actuator: Actuator,
        *,
        answer: Callable[[int, State], None],
        timeout: float = np.inf,
    ) -> None:
        """Listen.

        Args:
            node: has the parameters of SERVO_PARAMETERS, or of them only ``scenario``.
            actuator: the actuator that is commanded.
            answer: called with a stamp in ns and a state when the command has arrived.
            timeout: s after which a command no longer holds, and 0 is commanded.
        """
        self._node, self._actuator, self._field = node, actuator, actuator.command_field
        self._names, self._topic = actuator.names(node.vehicle), actuator.command_topic
        self._answer, self._timeout = answer, timeout
        script = node.values['scenario']
        self._timeline = (
            ActuatorTimeline(actuator, load_scenario(script), node.vehicle) if script else None
        )
        self._target = np.full(len(self._names), actuator.rest)
        self._commanded: int | None = None
        self._stamp = 0
        self._synchronizer: PairSynchronizer[State, None] | None = None
        if not (self._names and self._topic):
            return
        if actuator.steered and node.values.get('servo_source') == 'controller':
            self._synchronizer = PairSynchronizer(
                lambda stamp, state, _: answer(stamp, state), None
            )
            node.listen(topics.actuator_commands(actuator, per_tick=True), self._on_command)
        elif self._timeline is None:
            node.listen(topics.actuator_commands(actuator), self._on_command)

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state when the command of its stamp has arrived."""
        self._stamp = stamp
        if self._synchronizer is None:
            self._answer(stamp, state)
            return
        self._synchronizer.first(stamp, state)
        if self._synchronizer.out:
            self._node.warn_throttled(f'{self._topic}: silent; the last command holds')

    def _on_command(self, message: JointState) -> None:
        if reason := self._take(
            list(message.name), np.array(getattr(message, self._field), float)
        ):
            self._node.warn_throttled(f'{self._topic}: {reason}; ignored')
        else:
            self._commanded = self._stamp
        if self._synchronizer is not None:
            self._synchronizer.second(stamp_ns(message.header.stamp), None)

    def _take(self, names: list[str], angles: np.ndarray) -> str:
        """Store values (k,) of named servos, or return the reason to refuse them."""
        servos = self._names
        if len(angles) != len(names) or not set(names) <= set(servos):
            expected = f'expected one number for each of some of: {", ".join(servos)}'
            return f'{self._field} of {names}; {expected}'
        if not is_finite(angles):
            return f'{self._field} is not finite'
        self._target[[servos.index(name) for name in names]] = angles
        return ''

    def hold(self, stamp: int, state: np.ndarray) -> None:
        """Command, at a stamp in ns, the positions in a state (k,) or more from there on."""
        if self._field == self._actuator.fields[0] == 'position':
            self._target, self._commanded = state[: len(self._names)].copy(), stamp

    def commanded_values(self, stamp: int) -> np.ndarray:
        """Return the commanded numbers (k,) at a stamp in ns."""
        if self._synchronizer is not None:
            return self._target.copy()
        if self._timeline is not None:
            return self._timeline.at(stamp / NANOSECONDS)
        if self._commanded is not None:
            if stamp < self._commanded:  # the run was reset
                self._commanded = 0
            if (stamp - self._commanded) / NANOSECONDS > self._timeout:
                self._commanded = None
                self._target = np.full(len(self._target), self._actuator.rest)
                self._node.warn_throttled(
                    f'{self._topic}: no command any more; {self._topic.partition("/")[0]} '
                    + ('centred' if self._field == 'position' else 'held')
                )
        return self._target.copy()


# All actuators of a force: any number of them, or none.


class ActuatorCommands:
    """Commands of the actuators that a force follows, by stamp."""

    def __init__(
        self,
        node: VehicleNode,
        source: str,
        *,
        answer: Callable[[int, State], None],
        timeout: float = np.inf,
    ) -> None:
        """Listen.

        Args:
            node: has the parameters of SERVO_PARAMETERS where there are such actuators.
            source: name of the force.
            answer: called with a stamp in ns and a state when all commands have arrived.
            timeout: s after which a command no longer holds, and rest is commanded.
        """
        self._servos: dict[str, ServoCommands] = {}
        for actuator in reversed(actuators_of(node.vehicle)):  # a chain: each answers the next
            if actuator.source == source:
                servos = ServoCommands(node, actuator, answer=answer, timeout=timeout)
                self._servos[actuator.name], answer = servos, servos.wait
        self.wait = answer
        """Answer a state at a stamp in ns when all commands have arrived."""

    def hold(self, stamp: int, states: Mapping[str, np.ndarray]) -> None:
        """Command, at a stamp in ns, the positions in states (k,) by name from there on."""
        for name, state in states.items():
            self._servos[name].hold(stamp, state)

    def commanded_values(self, stamp: int) -> dict[str, np.ndarray]:
        """Return the commanded numbers (k,) by the name of the actuator at a stamp in ns."""
        return {name: servos.commanded_values(stamp) for name, servos in self._servos.items()}


class ActuatorStates:
    """Publishes the states of a vehicle's actuators that a force follows."""

    def __init__(self, node: VehicleNode, source: str) -> None:
        """Create the publishers."""
        self._actuators = [a for a in actuators_of(node.vehicle) if a.source == source]
        self._publishers = {
            a.name: ServoPublisher(node, a)
            for a in self._actuators
            if a.state is not None and a.state_topic
        }

    def __bool__(self) -> bool:
        """Return whether there is a state to publish."""
        return bool(self._publishers)

    def publish(self, stamp: int, memory: Memory) -> None:
        """Publish the states in a vehicle's memory with a stamp in ns.

        Args:
            stamp: ns.
            memory: memory of the vehicle; only that of the force is read.
        """
        for name, state in actuator_states(self._actuators, memory).items():
            if name in self._publishers:
                self._publishers[name].publish(stamp, state)


class StateListener:
    """Latest valid state (k,) of an actuator, with its stamp in ns."""

    def __init__(
        self,
        node: VehicleNode,
        actuator: Actuator,
        on_stamp: Callable[[int], None] = lambda stamp: None,
    ) -> None:
        """Subscribe; call ``on_stamp`` with each stamp, ns."""
        self._node, self._actuator, self._on_stamp = node, actuator, on_stamp
        self.state = actuator.zero_state(node.vehicle)
        self._last: JointState | None = None
        self.stamp = -1
        node.listen(topics.actuator_state(actuator), self._on_state)

    def _on_state(self, message: JointState) -> None:
        state = _state_from(message, self._actuator)
        if state.shape == self.state.shape and is_finite(state):
            self.state, self._last = state, message
        else:
            self._node.warn_throttled(
                f'{self._actuator.state_topic}: expected {len(self.state)} finite numbers; the '
                'last hold'
            )
        self.stamp = stamp_ns(message.header.stamp)
        self._on_stamp(self.stamp)

    @property
    def held(self) -> HeldState:
        """The state that the state node holds; before the run it is zero."""
        names = list(self._actuator.names(self._node.vehicle))
        first = JointState(name=names, **{f: [0.0] * len(names) for f in self._actuator.fields})
        return HeldState(topics.actuator_state(self._actuator), lambda: self._last, first)


class ActuatorFollower:
    """Answers each state with an actuator's state of its stamp."""

    def __init__(
        self, node: VehicleNode, actuator: Actuator, answer: Callable[[int, State], None]
    ) -> None:
        """Listen for the state of an actuator."""
        self._listener = StateListener(
            node, actuator, lambda stamp: self._synchronizer.second(stamp, None)
        )
        self._synchronizer: PairSynchronizer[State, None] = PairSynchronizer(
            lambda stamp, state, _: answer(stamp, state), None
        )

    @property
    def state(self) -> np.ndarray:
        """Present state (k,) of the actuator."""
        return self._listener.state

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state when the actuator's state of its stamp has arrived."""
        self._synchronizer.first(stamp, state)


def _state_from(message: JointState, actuator: Actuator) -> np.ndarray:
    """Return the state of an actuator in a message."""
    return np.concatenate([np.array(getattr(message, f), float) for f in actuator.fields])


# Hold of the states of actuators, from which a restarted node goes on.


def kept_actuators(vehicle: Vehicle) -> list[Actuator]:
    """Return the actuators of a vehicle whose states a restarted node goes on from."""
    return [a for a in actuators_of(vehicle) if a.restore is not None and a.state_topic]


class ActuatorHold:
    """States of the actuators of a force that the state node holds."""

    def __init__(self, node: VehicleNode, source: str) -> None:
        """Listen for the node of a force."""
        self._node = node
        self._actuators = [a for a in kept_actuators(node.vehicle) if a.source == source]
        if node.bus is not None:  # then it ends with the state node
            self._actuators = []
        self._hold = HoldListener(node, map(topics.actuator_state, self._actuators))

    def states(self) -> dict[str, np.ndarray] | None:
        """Return the held states (k,) by name; None, with a warning, while not all are held."""
        states = {}
        for actuator in self._actuators:
            message = self._hold.messages[actuator.state_topic] or JointState()
            state = _state_from(message, actuator)
            zero = actuator.zero_state(self._node.vehicle)
            if state.shape != zero.shape or not is_finite(state):
                self._node.warn_throttled(
                    f'{actuator.state_topic}/kept: began amid a run; waits for the last state'
                )
                return None
            states[actuator.name] = state
        return states

    def restore(self, memory: Memory, states: Mapping[str, np.ndarray]) -> Memory:
        """Return a memory with states (k,) by name."""
        for actuator in self._actuators:
            if actuator.name in states and actuator.restore is not None:
                memory = actuator.restore(memory, states[actuator.name])
        return memory


# Publisher of an autopilot's commands to other devices than thrusters.


class AutopilotServoPublisher:
    """Publishes changes of an autopilot's servos, and of the lights and joints that they move."""

    def __init__(self, node: VehicleNode) -> None:
        """Make the publishers."""
        self._servos = node.publisher(topics.SERVOS)
        self._lights = node.publisher(topics.LIGHTS)
        self._joints = node.publisher(topics.ARM_COMMANDS)
        self._light_count = sum('light' in frame.name for frame in node.vehicle.frames)
        arm = node.vehicle.manipulator
        self._arm = () if arm is None else arm.names
        self._values: Mapping[str, float] = {}

    def publish(self, stamp: int, values: Mapping[str, float]) -> None:
        """Publish values by the name of the device, with a stamp in ns."""
        if values == self._values:
            return
        self._values = values
        message = JointState(name=list(values), position=list(values.values()))
        set_stamp(message.header.stamp, stamp)
        self._servos.publish(message)
        if 'lights' in values and self._light_count:
            self._lights.publish(Float32MultiArray(data=[values['lights']] * self._light_count))
        joints = [name for name in values if name in self._arm]
        if joints:
            self._joints.publish(JointState(name=joints, position=[values[n] for n in joints]))
