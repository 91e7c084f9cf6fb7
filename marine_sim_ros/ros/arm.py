# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arm in the graph: joint positions and their hold, joint commands, gripper.

While no node moves the joints the state node holds them, as :mod:`marine_sim_ros.ros.holds` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from marine_sim_ros.core.state import NANOSECONDS, State, stamp_ns
from marine_sim_ros.model.arm import BANDWIDTH, GRIPPER
from marine_sim_ros.model.body_joints import has_jaws
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.arm.gripping import Gripping
from marine_sim_ros.physics.arm.links import HeldPayload, LinkPoses, link_poses, make_held_payload
from marine_sim_ros.physics.arm.manipulator import (
    JOINT_EFFORTS,
    JOINT_RATES,
    JOINTS,
    ArmMemory,
    JointMotion,
    joints_at_rest,
)
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.internals import create_delayed_service
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.holds import HeldState, HoldListener
from marine_sim_ros.ros.message_fields import is_finite, state_of
from marine_sim_ros.ros.ticks import PairSynchronizer
from marine_sim_ros.sim.player import ActuatorTimeline
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'ArmFollower',
    'ArmListener',
    'ArmTick',
    'GripperServer',
    'JOINT_SOURCE',
    'JointCommands',
    'held_joints',
]


# Listener of the arm's joint positions.


class ArmListener:
    """Latest valid joint positions (n,), rad or m, with their stamp (ns) and message."""

    def __init__(self, node: VehicleNode, on_stamp: Callable[[int], None]) -> None:
        """Subscribe for a node whose vehicle has an arm; call ``on_stamp`` with each stamp, ns."""
        arm = node.vehicle.manipulator
        assert arm is not None
        self._node = node
        self._on_stamp = on_stamp
        self.position = np.zeros(len(arm))
        self.closing = False
        self._rate = np.zeros(len(arm))
        self._number: int | None = None
        self._load: HeldPayload | None = None
        self.stamp = -1
        self.last: JointState | None = None
        node.listen(topics.JOINT_STATES, self._on_joints)

    @property
    def poses(self) -> LinkPoses:
        """Present positions and rates of the joints, and the gripped body."""
        assert self._node.vehicle.manipulator is not None
        poses = link_poses(self._node.vehicle.manipulator, self.position)
        return poses._replace(load=self._load, rate=self._rate)

    def _on_joints(self, message: JointState) -> None:
        count = len(self.position)
        position, rate = np.array(message.position, float), np.array(message.velocity, float)
        if list(message.name)[count:] == [GRIPPER]:
            self._take_number(position[count:])
            position, rate = position[:count], rate[:count]
        if len(position) == count and is_finite(position):
            self.position, self.last = position, message
            self._rate = rate if len(rate) == count and is_finite(rate) else 0 * position
        else:
            self._node.warn_throttled(
                f'joint_states: expected {len(self.position)} finite positions; the last hold'
            )
        self.stamp = stamp_ns(message.header.stamp)
        self._on_stamp(self.stamp)

    def _take_number(self, numbers: np.ndarray) -> None:
        """Store the number (1,) of the gripped body, counted from 1; 0: none.

        Of jaws: 1 while they close.
        """
        vehicle, bodies = self._node.vehicle, self._node.environment.free_bodies
        jaws = has_jaws(vehicle)
        count = 1 if jaws else len(bodies)
        number = float(numbers[0]) if len(numbers) == 1 else -1.0
        if number not in range(count + 1):
            self._node.warn_throttled(
                f'joint_states: {GRIPPER} is {number:g}; expected a whole number from 0 to '
                f"{count}, the environment's bodies; the last holds"
            )
        elif jaws:
            self.closing = bool(number)
        elif number != self._number:
            self._number = int(number)
            self._load = make_held_payload(vehicle, bodies[int(number) - 1]) if number else None


class ArmFollower:
    """Answers each state with the joint positions of its stamp."""

    def __init__(self, node: VehicleNode, answer: Callable[[int, State], None]) -> None:
        """Listen for a node whose vehicle has an arm."""
        self._arm = ArmListener(node, lambda stamp: self._synchronizer.second(stamp, None))
        self._synchronizer: PairSynchronizer[State, None] = PairSynchronizer(
            lambda stamp, state, _: answer(stamp, state), None
        )

    @property
    def poses(self) -> LinkPoses:
        """Present positions of the joints."""
        return self._arm.poses

    @property
    def closing(self) -> bool:
        """Whether the jaws of its gripper close."""
        return self._arm.closing

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state when the joints of its stamp have arrived."""
        self._synchronizer.first(stamp, state)


# Hold of joint positions, from which a restarted node of the arm goes on.


def held_joints(node: VehicleNode, arm: ArmListener) -> HeldState:
    """Return the joints that the state node holds; before the run they are at zero."""
    assert node.vehicle.manipulator is not None
    names = list(node.vehicle.manipulator.names)
    zeros = [0.0] * len(names)
    first = JointState(name=names, position=zeros, velocity=zeros)
    return HeldState(topics.JOINT_STATES, lambda: arm.last, first)


class JointHoldListener:
    """Positions and rates (n,) held by the state node, and the gripped body, or −1."""

    def __init__(self, node: VehicleNode) -> None:
        """Listen for a node whose vehicle has an arm."""
        assert node.vehicle.manipulator is not None
        self._count = len(node.vehicle.manipulator)
        self._hold = HoldListener(node, [topics.JOINT_STATES])

    @property
    def held_positions(self) -> tuple[np.ndarray, np.ndarray, int] | None:
        """Positions and rates (n,), number of the body or −1; None while nothing is held."""
        message = self._hold.messages[topics.JOINT_STATES.name] or JointState()
        position, rate = np.array(message.position, float), np.array(message.velocity, float)
        n = self._count
        if min(len(position), len(rate)) < n or not (is_finite(position) and is_finite(rate)):
            return None
        return position[:n], rate[:n], int(position[n]) - 1 if len(position) > n else -1


# Joint commands of an arm, from joint_commands or a scenario.

COMMAND_TIMEOUT = 0.5
"""s that a commanded joint velocity or effort lasts."""
JOINT_FIELDS = ('position', 'velocity', 'effort')
"""Fields of a command, of which one has numbers."""
JOINT_SOURCE = NodeParameter(
    'joint_source',
    'external',
    'external: the latest joint command holds; controller: one per odom',
    choices=('external', 'controller'),
)


class JointCommands:
    """Listens to joint_commands; positions stay, velocities and efforts last for half a second.

    The name ``gripper`` commands the jaws: above 0.5 they close, else they open.

    Attributes:
        closed: whether the jaws are commanded to be closed; None: they are not commanded.
    """

    def __init__(
        self, node: VehicleNode, scenario: Scenario | None, *, answer: Callable[[int, State], None]
    ) -> None:
        """Listen for a node with the parameter ``joint_source``, whose vehicle has an arm.

        Args:
            scenario: scenario that commands the joints instead, or None.
            answer: called with a stamp in ns and a state when the command has arrived.
        """
        self._node, self._scenario = node, scenario
        self._timelines: dict[str, ActuatorTimeline] = {}
        assert node.vehicle.manipulator is not None
        self._arm = node.vehicle.manipulator
        chain = self._arm.joint_dynamics
        self._by_effort = chain is not None
        self._bandwidth = BANDWIDTH if chain is None else chain.bandwidth
        self.restart()
        self._hold = JointHoldListener(node) if node.bus is None else None
        self.wait = answer
        """Answer a state at a stamp in ns when the command of its stamp has arrived."""
        if node.values['joint_source'] == 'external':
            node.listen(topics.ARM_COMMANDS, self._on_command)
            return
        synchronizer: PairSynchronizer[State, None] = PairSynchronizer(
            lambda stamp, state, _: answer(stamp, state), None
        )
        self.wait = synchronizer.first

        def take(message: JointState) -> None:
            self._on_command(message)
            synchronizer.second(stamp_ns(message.header.stamp), None)

        node.listen(topics.ARM_COMMANDS_PER_TICK, take)

    def restart(self) -> None:
        """Drop all commands, for a new run."""
        self.joints = joints_at_rest(self._arm)
        """Positions of the joints, set by the node that moves them."""
        self.stamp: int | None = None
        """Stamp of ``joints``, ns; None before the first tick."""
        self._target = np.zeros(len(self._arm))
        self._rate = np.zeros(len(self._arm))
        self._rate_until = self._effort_until = -1
        self._effort = np.full(len(self._arm), np.nan)
        self.closed: bool | None = None

    def begin(self, stamp: int) -> int | None:
        """Begin at a stamp in ns, at zero or, after a restart, at held positions.

        Returns:
            number of the gripped body, −1: none; None: no held positions have arrived yet.
        """
        if not stamp or self._hold is None:
            return -1
        held = self._hold.held_positions
        if held is None:
            return None
        position, rate, body = held
        self.joints, self._target = JointMotion(position, rate), position.copy()
        return body

    def _take_jaws(self, message: JointState) -> JointState:
        """Take the command of the gripper; return the message without it."""
        field = next((f for f in JOINT_FIELDS if getattr(message, f)), JOINT_FIELDS[0])
        numbers = dict(zip(message.name, getattr(message, field), strict=False))
        jaws = numbers.pop(GRIPPER, np.nan)
        if GRIPPER not in self._node.vehicle.extensions or not np.isfinite(jaws):
            return message
        self.closed = bool(jaws > 0.5)
        return JointState(name=list(numbers), **{field: list(numbers.values())})

    def _on_command(self, message: JointState) -> None:
        message = self._take_jaws(message)
        unknown = [name for name in message.name if name not in self._arm.names]
        for field in JOINT_FIELDS:
            values = getattr(message, field)
            if unknown or (values and len(values) != len(message.name)):
                self._node.warn_throttled(
                    f'joint_commands: {field} of {list(message.name)}; expected one number for '
                    f'each of some of: {", ".join(self._arm.names)}; ignored'
                )
                return
            if not is_finite(np.array(values, float)):
                self._node.warn_throttled(f'joint_commands: {field} is not finite; ignored')
                return
        indices = [self._arm.names.index(name) for name in message.name]
        if message.position:
            self._target[indices] = message.position
            self._rate = np.zeros(len(self._arm))
            self._effort[indices] = np.nan
        elif message.velocity:
            # A joint with a new speed command starts from where it can stop.
            is_new = (
                np.ones(len(indices), bool)
                if (self.stamp or 0) >= self._rate_until
                else (self._rate[indices] != np.array(message.velocity))
            )
            self._target[indices] = np.where(is_new, self._stops[indices], self._target[indices])
            self._rate = np.zeros(len(self._arm))
            self._rate[indices] = message.velocity
            self._rate_until = (self.stamp or 0) + round(COMMAND_TIMEOUT * NANOSECONDS)
            self._effort[indices] = np.nan
        elif message.effort and not self._by_effort:
            self._node.warn_throttled(
                'joint_commands: effort for a kinematic arm; expected position or velocity, or '
                '<manipulator dynamics="articulated">; ignored'
            )
        elif message.effort:
            self._effort[indices] = message.effort
            self._effort_until = (self.stamp or 0) + round(COMMAND_TIMEOUT * NANOSECONDS)

    @property
    def _stops(self) -> np.ndarray:
        """Positions (n,) where the joints can stop, braking distance included."""
        return self.joints.position + self.joints.rate / self._bandwidth

    def target_positions(self, stamp: int, dt: float) -> np.ndarray:
        """Return target positions (n,), rad, at a stamp in ns, dt (s) after the last."""
        if self._scenario is not None:
            return self._scenario_command(JOINTS, self._scenario, stamp)
        if stamp < self._rate_until:
            target = self._target + dt * np.clip(
                self._rate, -self._arm.max_rate, self._arm.max_rate
            )
            self._target = np.clip(target, self._arm.lower, self._arm.upper)
            if self._by_effort:  # anti-windup: the target stays near a blocked joint
                max_lead = self._arm.max_rate / self._bandwidth
                position = self.joints.position
                self._target = np.clip(self._target, position - max_lead, position + max_lead)
        return self._target

    def rates(self, stamp: int) -> np.ndarray | None:
        """Return the rates (n,) that a scenario commands at a stamp in ns; NaN: by position.

        None without a scenario: velocities of messages move the target positions.
        """
        if self._scenario is None:
            return None
        return self._scenario_command(JOINT_RATES, self._scenario, stamp)

    def _scenario_command(self, actuator: Actuator, scenario: Scenario, stamp: int) -> np.ndarray:
        timeline = self._timelines.get(actuator.name)
        if timeline is None:
            timeline = ActuatorTimeline(actuator, scenario, self._node.vehicle)
            self._timelines[actuator.name] = timeline
        return timeline.at(stamp / NANOSECONDS)

    def efforts(self, stamp: int) -> np.ndarray | None:
        """Return the commanded efforts (n,) at a stamp in ns; NaN: position control.

        None where the arm is kinematic. After the time-out of an effort, the joint holds its
        position.
        """
        if not self._by_effort:
            return None
        if self._scenario is not None:
            return self._scenario_command(JOINT_EFFORTS, self._scenario, stamp)
        if stamp >= self._effort_until:
            self._target = np.where(np.isnan(self._effort), self._target, self._stops)
            self._effort = np.full(len(self._arm), np.nan)
        return self._effort


# Gripper of an arm's node: services, and commands of a scenario.


class ArmTick(NamedTuple):
    """Result of the latest tick of an arm; time in s."""

    time: float
    state: State
    joints: JointMotion
    memory: ArmMemory | None


_STORED_TICKS = 8
"""Ticks of which inputs are stored; topics of different nodes arrive in any order."""


class _Attaching(NamedTuple):
    """Call of ``attach`` that waits for the other grippers; whether joint_states has its body."""

    send: Callable[[Any], None]
    text: str
    is_published: bool = False


class GripperServer:
    """Takes and releases bodies between two ticks.

    Whether a body is within reach, and another vehicle of a fleet holds it, follows from the
    tick before: from the states that the node of the contact has published, and the joint_states
    of the others. The node of the contact publishes those of a tick after the joints of that tick.
    Of grippers that take a body in the same tick, that of the first vehicle in alphabetical order
    has it. So ``attach`` answers when that is known, after two ticks.

    Attributes:
        gripping: which body the gripper holds.
        tick: latest tick, set by the node after each; None before the first.
        wait: answers a state at a stamp in ns when the tick before is known.
    """

    def __init__(
        self, node: VehicleNode, answer: Callable[[int, State], None], others: Sequence[str] = ()
    ) -> None:
        """Offer ``attach`` and ``detach`` for a node.

        Args:
            answer: called with a stamp in ns and a state when the tick before is known.
            others: namespaces of the other vehicles whose grippers take the same bodies.

        Raises:
            ParameterError: the gripper is on a joint that does not exist.
        """
        self._node, self._answer, self._others = node, answer, tuple(others)
        self._before: int | None = None
        self._attaching: _Attaching | None = None
        self.restart()
        attach = node.guard('attach', self._on_attach)
        create_delayed_service(node, Trigger, 'attach', attach)
        node.create_service(Trigger, 'detach', self._on_detach)
        self.wait = answer
        if self.gripping.reachable:
            self.wait = self._wait
        for name in self.gripping.reachable:
            node.listen_numbers(topics.body_odom(name), partial(self._on_body, name))
        for name in self._others:
            states = replace(topics.JOINT_STATES, name=f'{name}/{topics.JOINT_STATES.name}')
            node.listen(states, partial(self._on_other, name))

    def restart(self) -> None:
        """Restart: the gripper is empty, and bodies are at their start."""
        environment = self._node.environment
        self._reply(False, 'attach: the run was reset')
        self.gripping = Gripping(self._node.vehicle, environment)
        self.tick: ArmTick | None = None
        self._arrived: dict[int, dict[str, Any]] = {}
        starts = {body.name: body.start for body in environment.free_bodies}
        self._inputs: PairSynchronizer[tuple[int, State], dict[str, Any]] = PairSynchronizer(
            lambda _, tick, inputs: self._answer(*tick), starts
        )

    def _wait(self, stamp: int, state: State) -> None:
        before, self._before = self._before, stamp
        if before is None or stamp <= before:
            if stamp and not self._arrived:  # a start amid a run
                self._inputs.last = {}
            self._answer(stamp, state)
        else:
            self._inputs.first(before, (stamp, state))

    def _on_body(self, name: str, stamp: int, numbers: Sequence[float]) -> None:
        state = state_of(numbers)
        if state is None:
            self._node.warn_throttled(f'bodies/{name}/odom: not finite; ignored')
            return
        self._take(name, stamp, state)

    def _on_other(self, name: str, message: JointState) -> None:
        """Take the number of the body that the gripper of another vehicle holds; 0: none."""
        has_number = len(message.position) and list(message.name)[-1:] == [GRIPPER]
        number = float(message.position[-1]) if has_number else 0.0
        self._take(name, stamp_ns(message.header.stamp), number)

    def _take(self, name: str, stamp: int, value: Any) -> None:
        """Take the state of a body, or the number of the one that another vehicle holds."""
        inputs = self._arrived.setdefault(stamp, {})
        inputs[name] = value
        if len(inputs) == len(self.gripping.reachable) + len(self._others):
            self._inputs.second(stamp, inputs)
        while len(self._arrived) > _STORED_TICKS:
            del self._arrived[next(iter(self._arrived))]

    @property
    def _holders(self) -> dict[str, str]:
        """Other vehicles that held bodies in the tick before, by the name of the body.

        Where this one took a body in the same tick, only a vehicle with the earlier name.
        """
        names = [body.name for body in self._node.environment.free_bodies]
        result: dict[str, str] = {}
        for other in sorted(self._others, reverse=True):
            number = self._inputs.last.get(other, 0.0)
            if number in range(1, len(names) + 1):
                result[names[int(number) - 1]] = other
        own = '' if self.gripping.load is None else self.gripping.load.name
        if result.get(own, '') > self._node.get_namespace():
            del result[own]
        return result

    def follow(self, closed: bool | None, tick: ArmTick) -> None:
        """Begin a tick: let go of a body that is another's, and follow a command, if any."""
        if self._others:
            self._resolve(tick.time)
        if closed is None:
            return
        done, text = self.gripping.follow(
            closed, tick.state, tick.joints, tick.time, self._inputs.last, self._holders
        )
        if text:
            self._log(done, text)

    def _resolve(self, time: float) -> None:
        """Yield to the gripper that has the body; answer ``attach`` in the second tick after."""
        attaching = self._attaching
        if text := self.gripping.yield_to(self._holders, time):
            self._log(False, text)
            self._reply(False, text)
        elif attaching is not None and attaching.is_published:
            self._reply(True, attaching.text)
        elif attaching is not None:
            self._attaching = attaching._replace(is_published=True)

    def _reply(self, done: bool, text: str) -> None:
        """Answer the call of ``attach`` that waits, if any."""
        attaching, self._attaching = self._attaching, None
        if attaching is not None:
            attaching.send(Trigger.Response(success=done, message=text))

    def _log(self, done: bool, text: str) -> None:
        # A call for each severity: rclpy fixes the severity of a line of code at its first log.
        if done:
            self._node.get_logger().info(text)
        else:
            self._node.get_logger().warning(text)

    def _on_attach(
        self, _: Trigger.Request, response: Trigger.Response, send: Callable[[Any], None]
    ) -> None:
        if self.tick is None:
            response.message = 'attach: no odom yet; expected a running simulation'
            send(response)
            return
        time, state, joints, _ = self.tick
        response.success, response.message = self.gripping.attach(
            state, joints, time, self._inputs.last, self._holders
        )
        self._log(response.success, response.message)
        if response.success and self._others and not self.gripping.has_jaws:
            self._attaching = _Attaching(send, response.message)
        else:
            send(response)

    def _on_detach(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.tick is None:
            response.message = 'detach: the gripper holds nothing'
            return response
        response.success, response.message = self.gripping.detach(self.tick.time)
        self._reply(False, 'attach: detach was called')
        self._log(response.success, response.message)
        return response
