# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Exchange with Gazebo: states come in, wrenches go out, as messages of named arrays.

Gazebo integrates, and its velocities are converted here. DART steps a free body's velocity in the
axes of before, ν* = ν + h (ν̇ + [ω x v; 0]), moves it by that, p⁺ = p + h R v* and R⁺ = R E with
E = exp(S(ω*) h), then reports v⁺ = Eᵀ v* in the axes of after (``FreeJoint``, since
https://github.com/dartsim/dart/pull/1437). The simulation moves a body by the ν that it then has.
So its ν is DART's ν*.

Named arrays go in one gz.msgs.Bytes: ``data`` of the message is a row of little-endian doubles;
``data`` of its header has one entry, ``marine_sim``, a JSON text: ``numbers``, a list of name and
shape in the order of the row, and further entries. Every message carries the names, so a reader
needs no earlier message; names change seldom, so writer and reader process them once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import (
    cross,
    momentum_rate,
    rotation_matrix,
    rotation_vector,
    rotation_vector_quaternion,
    to_body,
)
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.free_bodies import is_absent
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.joints import HeldJoint
from marine_sim_ros.physics.rigid_body import rigid_body_step, weight
from marine_sim_ros.sim.body_simulation import BodySimulation, check_body_states

__all__ = [
    'MESSAGE_TYPE',
    'BodyForces',
    'NumberReader',
    'NumberWriter',
    'TickArrival',
    'TickSequence',
    'exerted_wrench',
    'named_arrays',
    'rebuild_tree',
    'reported_velocity',
    'stepped_velocity',
    'twist_between',
]

MESSAGE_TYPE = 'gz.msgs.Bytes'
_KEY = b'marine_sim'
_BYTES = 2
"""Protobuf's wire type of what has a length; all fields here have one."""


def _varint(number: int) -> bytes:
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while raw[at] & 0x80:
        number |= (raw[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | raw[at] << shift, at + 1


def _fields(raw: bytes) -> dict[int, tuple[int, int]]:
    """Return start and end of the content of each field of a message, by field number.

    Fields that have no length, such as the seconds of a stamp, are passed over.

    Raises:
        ValueError: no message, or one cut off.
    """
    fields, at = {}, 0
    try:
        while at < len(raw):
            tag, at = _read_varint(raw, at)
            length, at = _read_varint(raw, at)
            if tag & 7 == _BYTES:
                fields[tag >> 3] = at, at + length
                at += length
            elif tag & 7 != 0:
                raise ValueError(f'wire type {tag & 7}')
    except IndexError:
        raise ValueError('cut off') from None
    if at > len(raw):
        raise ValueError('cut off')
    return fields


class NumberWriter:
    """Writes rows of numbers with the same names."""

    def __init__(self, names: Sequence[tuple[str, Sequence[int]]], **extras: Any) -> None:
        """Take names and shapes in the order of a row, and what else is to be told, JSON."""
        self.size = sum(math.prod(shape) for _, shape in names)
        text = json.dumps({'numbers': [[n, list(s)] for n, s in names], **extras}).encode()
        entry = _field(1, _KEY) + _field(2, text)
        self._prefix = _field(1, _field(2, entry)) + _varint(2 << 3 | _BYTES)
        self._prefix += _varint(8 * self.size)

    def write(self, *rows: np.ndarray) -> bytes:
        """Return the message of rows that lie one behind the other."""
        return b''.join((self._prefix, *(row.tobytes() for row in rows)))


class NumberReader:
    """Reads messages of a :class:`NumberWriter`.

    Attributes:
        more: what the last message told beside numbers.
    """

    def __init__(self) -> None:
        """Know no names yet."""
        self._prefix = b'no message'
        self._slices: list[tuple[str, int, int, tuple[int, ...]]] = []
        self._size = 0
        self.extras: Mapping[str, Any] = {}

    def read(self, raw: bytes) -> dict[str, np.ndarray]:
        """Return arrays by their names.

        Raises:
            MarineSimError: no such message.
        """
        if len(raw) != len(self._prefix) + 8 * self._size or not raw.startswith(self._prefix):
            try:
                self._take_names(raw)
            except (ValueError, KeyError, TypeError) as error:
                raise MarineSimError(
                    f'a message that is no {MESSAGE_TYPE} with the names of its numbers '
                    f'({type(error).__name__}: {error}); is one of another version there?'
                ) from None
        row = np.frombuffer(raw, '<f8', self._size, len(self._prefix))
        return {name: row[a:b].reshape(shape) for name, a, b, shape in self._slices}

    def _take_names(self, raw: bytes) -> None:
        parts = _fields(raw)
        header, (start, end) = raw[slice(*parts[1])], parts[2]
        entry = header[slice(*_fields(header)[2])]
        text = entry[slice(*_fields(entry)[2])]
        told = json.loads(text)
        slices, at = [], 0
        for name, shape in told.pop('numbers'):
            slices.append((name, at, at := at + math.prod(shape), tuple(shape)))
        if end - start != 8 * at or end != len(raw):
            raise ValueError(f'{end - start} bytes for {at} numbers')
        self._prefix, self._slices, self._size = raw[:start], slices, at
        self.extras = told


def named_arrays(tree: Any, prefix: str = '') -> dict[str, np.ndarray]:
    """Return the arrays of tuples with names and of dictionaries, by names such as ``a.b``.

    What is None has no name; keys of dictionaries come in their order, as in a tree of JAX.
    """
    if tree is None:
        return {}
    if isinstance(tree, dict):
        members = [(key, tree[key]) for key in sorted(tree)]
    elif hasattr(tree, '_fields'):
        members = list(zip(tree._fields, tree, strict=True))
    else:
        return {prefix: np.asarray(tree, float)}
    arrays: dict[str, np.ndarray] = {}
    for name, member in members:
        arrays |= named_arrays(member, f'{prefix}.{name}' if prefix else name)
    return arrays


def rebuild_tree(like: Any, numbers: Mapping[str, np.ndarray], prefix: str) -> Any:
    """Return a tree of the same tuples and dictionaries with the arrays of :func:`named_arrays`.

    What has no numbers is None, also where the other tree has some.
    """
    if isinstance(like, dict):
        return {key: rebuild_tree(like[key], numbers, f'{prefix}.{key}') for key in like}
    if hasattr(like, '_fields'):
        members = zip(like._fields, like, strict=True)
        return type(like)(*(rebuild_tree(x, numbers, f'{prefix}.{name}') for name, x in members))
    return numbers.get(prefix)


# Order of the states from Gazebo; without ROS.


class TickArrival(Enum):
    """Relation of a state to the one before."""

    NEXT = 'next'
    AGAIN = 'again'
    BACK = 'back'
    LATE = 'late'


class TickSequence:
    """Order of stamps: the next, a repetition, a jump, or a world that was reset.

    Attributes:
        stamp: stamp of the newest state, ns; -1 before the first.
        lost: ticks that never came.
        resets: times that the world went back.
    """

    def __init__(self, step: int) -> None:
        """Expect one state every ``step`` ns."""
        self.step = step
        self.stamp = -1
        self.lost = 0
        self.resets = 0

    def classify(self, stamp: int) -> TickArrival:
        """Return the relation of a stamp (ns) to the one before; the first may be any."""
        before, self.stamp = self.stamp, stamp
        if before < 0 or stamp == before + self.step:
            return TickArrival.NEXT
        if stamp == before:
            return TickArrival.AGAIN
        if stamp < before:
            self.resets += 1
            return TickArrival.BACK
        self.lost += (stamp - before) // self.step - 1
        return TickArrival.LATE


# Conversion between the velocities of Gazebo and those of the simulation.


def stepped_velocity(reported: Array, dt: float) -> Array:
    """Return ν* = [E v; ω] (..., 6), which moved the body, of the ν that Gazebo reports.

    Args:
        reported: (..., 6), body frame, at the end of a physics step.
        dt: that step, s.
    """
    xp = namespace(reported)
    v, omega = reported[..., :3], reported[..., 3:]
    rotation = rotation_matrix(rotation_vector_quaternion(omega * dt))
    return xp.concat([(rotation @ v[..., None])[..., 0], omega], axis=-1)


def reported_velocity(stepped: Array, dt: float) -> Array:
    """Return the ν (..., 6) that Gazebo has where :func:`stepped_velocity` is ν*."""
    xp = namespace(stepped)
    v, omega = stepped[..., :3], stepped[..., 3:]
    return xp.concat([to_body(rotation_vector_quaternion(omega * dt), v), omega], axis=-1)


def twist_between(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], dt: float
) -> np.ndarray:
    """Return ν* (6,), which moves one pose to the other in dt seconds.

    v = Rᵀ (p⁺ − p)/dt and ω = log(Rᵀ R⁺)/dt: the inverse of
    :func:`marine_sim_ros.physics.rigid_body.advance_pose`. A turn is taken to be less than half
    a revolution.

    Args:
        before: position (3,), m, and quaternion (4,).
        after: the same, dt later.
        dt: s.
    """
    (p0, q0), (p1, q1) = before, after
    return np.concatenate([to_body(q0, p1 - p0), rotation_vector(q0, q1)]) / dt


# Wrench that Gazebo exerts, without its own weight and added mass.


def exerted_wrench(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    *,
    carried: Vehicle | None = None,
    integrator: str = 'semi_implicit',
    implicit_drag: bool = True,
    physics_step: float | None = None,
    after: State | None = None,
    jointed: bool = False,
) -> Wrench:
    """Return the wrench (..., 6) under which Gazebo's body makes this simulation's step.

    τ_G = M a + C(ν_G) ν_G − w with weight w, M = M_RB + M_A, C from M, and Gazebo's velocity ν_G,
    of which this simulation's ν is ν* (:mod:`marine_sim_ros.gazebo.exchange`);
    a = Δν/dt + [(v − v_G)/h − ω x v_G; 0] for the Δν of
    :func:`marine_sim_ros.physics.rigid_body.rigid_body_step` and the physics step h. With h = dt
    Gazebo then comes to the very velocity, and with the ``semi_implicit`` integrator to the very
    pose, of this simulation's step; otherwise up to the order of the step. Drag treated as
    implicit, currents in C_A, the water's own acceleration and the mass of an arm that moves are
    in it where they are. Without those it is, of a body that does not turn, the sum of all forces
    but the weight.

    Args:
        vehicle: the vehicle with its arm in the present pose.
        state: state at the start of the step, with velocity ν*.
        wrench: (..., 6) total, weight included, body frame about ``base_link``; of no effect where
            ``after`` is known.
        dt: step, s.
        carried: the vehicle as Gazebo has it; None takes ``vehicle``.
        implicit_drag: whether drag counts as linearly implicit.
        physics_step: Gazebo's own, s; None takes ``dt``.
        after: state after the step, where it is known already; None computes it.
        jointed: whether a joint holds the body: then DART steps the velocity in body axes, so that
            ν_G = ν and a = Δν/dt.
    """
    xp = namespace(state.velocity)
    body = vehicle if carried is None else carried
    mass = constant(xp, body.mass_matrix)
    if after is None:
        after = rigid_body_step(
            vehicle,
            state,
            environment,
            wrench,
            dt,
            integrator=integrator,
            implicit_drag=implicit_drag,
        )
    h = dt if physics_step is None else physics_step
    nu, reported, moved = state.velocity, state.velocity, after.velocity
    if jointed:
        moved = stepped_velocity(moved, dt)
        turning = -cross(nu[..., 3:], nu[..., :3])
    else:
        reported = reported_velocity(nu, h)
        turning = (nu - reported)[..., :3] / h - cross(nu[..., 3:], reported[..., :3])
    rate = (moved - nu) / dt + xp.concat([turning, xp.zeros_like(turning)], axis=-1)
    coriolis = momentum_rate(reported, matvec(mass, reported))
    return matvec(mass, rate) + coriolis - weight(body, state, environment)


class BodyForces:
    """Forces of the water on free bodies that Gazebo moves; contact and joints are Gazebo's.

    A body without a joint gets the wrench under which it makes the step of
    :class:`~marine_sim_ros.sim.body_simulation.BodySimulation`, which moves a body that turns by
    another velocity ν* than the ν that it then has. Gazebo has ν*; the difference ν − ν* of a step
    is kept, and added to ν* of the state after it.

    Attributes:
        names: names of the bodies in Gazebo, in the order of the environment.
        states: state of every body at the last tick, by name; absent ones stay where they are.
        joint_positions: angle, rad, or displacement, m, of the joints that move, by name.
    """

    def __init__(
        self, environment: Environment, dt: float, physics_step: float | None = None
    ) -> None:
        """Place the bodies at their start.

        Args:
            environment: environment with its free bodies.
            dt: step, s.
            physics_step: Gazebo's own, s; None takes ``dt``.
        """
        self._dt, self._physics_step = dt, physics_step or dt
        bodies, joints = environment.free_bodies, environment.body_joints
        self.names = tuple(body.name for body in bodies if not is_absent(body.start))
        self._vehicles = {body.name: body.vehicle for body in bodies}
        self._starts = {body.name: body.start for body in bodies}
        self._joints = {
            joint.name: HeldJoint.at_start(joint, self._starts)
            for joint in joints
            if joint.is_movable
        }
        self._jointed = {joint.child for joint in joints}
        self._world = BodySimulation(environment, dt, has_contact=False)
        self._restart()

    def _restart(self) -> None:
        self._world.reset()
        self._stamp = -1
        self.states = dict(self._starts)
        self.joint_positions = dict.fromkeys(self._joints, 0.0)
        # In Gazebo a body begins at rest.
        self._differences = {name: self._starts[name].velocity for name in self.names}

    def take(self, stamp: int, states: Mapping[str, State]) -> None:
        """Take the states of a tick, ns, as Gazebo reports them; an earlier one is a new run.

        Raises:
            RunError: the state of a body is no longer finite.
        """
        if stamp <= self._stamp:
            self._restart()
        check_body_states(states, stamp)
        self._moving = dict[str, State]()
        for name, state in states.items():
            velocity = state.velocity
            if name not in self._jointed:
                velocity = stepped_velocity(velocity, self._physics_step)
            self._moving[name] = state._replace(velocity=velocity)
            self.states[name] = state._replace(velocity=velocity + self._differences[name])
        for name, held in self._joints.items():
            previous = self.joint_positions[name]
            self.joint_positions[name] = held.position(self.states, previous)

    def wrenches(self, stamp: int, environment: Environment) -> list[Wrench]:
        """Return the wrench (6,) that Gazebo is to exert on each body, body frame about its link.

        Args:
            stamp: stamp of the states, ns.
            environment: environment at its time.
        """
        self._stamp = stamp
        self._world.place(self.states)
        self._world.tick(stamp, environment, {})
        result = []
        for name in self.names:
            moving, after = self._moving[name], self._world.next_states[name]
            jointed = name in self._jointed
            velocity = after.velocity
            if not jointed:
                velocity = twist_between(moving[:2], after[:2], self._dt)
            self._differences[name] = after.velocity - velocity
            wrench = exerted_wrench(
                self._vehicles[name],
                moving,
                environment,
                np.zeros(6),
                self._dt,
                physics_step=self._physics_step,
                after=after._replace(velocity=velocity),
                jointed=jointed,
            )
            result.append(wrench)
        return result
