# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact of several bodies at once: with the scene, and with each other.

For body a, body b is a scene: the shapes of b are fixed in the frame of b, and a moves in it. So
the collision detection of a vehicle and a seabed also serves two bodies, edges against edges
included. Bodies that touch, directly or through others, are solved together
(:mod:`marine_sim_ros.physics.contact.solver`): with ν of all of them stacked, a contact of a and b
has the rows J_a = [d, r_a × d] and J_b = −[d, r_b × d] at one place, in the axes of each. Momentum
is conserved. Joints (:mod:`marine_sim_ros.physics.contact.joints`) also put bodies into one group;
bodies connected by a joint do not touch each other.

The wrench of a step is constant in body axes that rotate within it. For equal and opposite changes
of momentum in space, each impulse is expressed in the axes after the step: with the conserving
integrator a body's linear and angular momentum changes by exactly that impulse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.numerics import matrix_inverse
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.body_joints import BodyJoint
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.body_touches import ContactSearch, Touches
from marine_sim_ros.physics.contact.group_motion import (
    BodyStates,
    ContactBody,
    GroupMotion,
    PassiveBodies,
)
from marine_sim_ros.physics.contact.joints import (
    HeldJoint,
    JointRows,
    OpenMate,
    joint_rows,
    root_of,
)
from marine_sim_ros.physics.contact.solver import ContactArrays, ContactRows, solve_contact_arrays
from marine_sim_ros.physics.wrench_observer import (
    StateTerms,
    StepPrediction,
    predict_step,
    state_terms,
)

__all__ = ['ContactWorld', 'may_touch']


_HELD_ERROR = 1e-3
"""m and rad; a joint that is further apart does not hold."""

_MEMORIES = (
    'joint_positions',
    'broken',
    '_friction_impulses',
    '_mean_loads',
    '_previous',
    '_pair_impulses',
)
"""Attributes that a tick takes from the one before, by body, joint or pair."""


def may_touch(one: ContactBody, other: ContactBody, step: float) -> bool:
    """Whether two bodies are near enough to touch, with ``step`` m of motion between them."""
    offset = one.state.position - other.state.position
    distance = one.vehicle.contact.reach + other.vehicle.contact.reach + step
    return bool(offset @ offset <= distance * distance)


class _PreviousTick(NamedTuple):
    """State, contact wrench and state terms of a body at the previous tick."""

    state: State
    wrench: Wrench
    terms: StateTerms | None


def _drive_speed(joint: BodyJoint, bodies: Mapping[str, ContactBody]) -> float:
    """Return the speed to which the drive of a joint moves it, rad/s or m/s; 0: it has none."""
    if joint.drive is None:
        return 0.0
    return joint.drive.speed if bodies[joint.parent].closing else -joint.drive.speed


def _mean_weight(period: float, dt: float) -> float:
    """Return the weight of a step in an exponential mean over a period, s."""
    return 1.0 if period == 0 else -math.expm1(-dt / period)


class _PairImpulses(NamedTuple):
    """Contacts of two bodies at the previous tick: pair numbers (n,), impulses (n, 3), N·s."""

    number: np.ndarray
    impulse: np.ndarray


_NO_IMPULSES = _PairImpulses(np.zeros(0, int), np.zeros((0, 3)))


class ContactWorld:
    """Contacts and joints of all bodies of a run, with the memory of the previous tick.

    Attributes:
        joint_positions: angle, rad, or displacement, m, of unbroken joints at the last tick, by
            name.
        broken: mean force, N, and torque, N·m, at which joints broke, by name.
        groups: names of the bodies that touch or are joined at the last tick, and whether the
            scene or a joint to the world supports them.
        next_states: states of the passive bodies after the step, by name.
    """

    def __init__(self, joints: Sequence[BodyJoint], starts: Mapping[str, State]) -> None:
        """Start without memory: the forces on a vehicle are unknown in the first tick.

        Args:
            joints: joints between the bodies.
            starts: states of the bodies at the start, by name.
        """
        self._joints = {
            joint.name: HeldJoint.at_start(joint, starts)
            for joint in joints
            if not joint.mate and joint.link < 0
        }
        self._on_links = [joint for joint in joints if joint.link >= 0]
        self._mates = {
            joint.name: OpenMate.at_start(joint, starts) for joint in joints if joint.mate
        }
        self.joint_positions = {
            joint.name: 0.0 for joint in joints if joint.is_movable and not joint.mate
        }
        self.broken: dict[str, tuple[float, float]] = {}
        self.groups: list[tuple[list[str], bool]] = []
        self.next_states: dict[str, State] = {}
        self._passive: tuple[dict[str, Vehicle], list[PassiveBodies]] = {}, []
        self._friction_impulses: dict[str, float] = {}
        self._mean_loads: dict[str, np.ndarray] = {}
        self._previous: dict[str, _PreviousTick] = {}
        self._pair_impulses: dict[tuple[str, str], _PairImpulses] = {}
        self._search = ContactSearch()
        self._known_joined: tuple[tuple[str, ...], frozenset[frozenset[str]]] = (), frozenset()
        self._near_touches = Touches.none()
        self._parting: set[frozenset[str]] = set()

    def wrenches(
        self, bodies: Mapping[str, ContactBody], environment: Environment, dt: float
    ) -> dict[str, Wrench]:
        """Return the wrench (6,) of contacts and joints on each body over a step, body frame.

        Args:
            bodies: all bodies at this tick, by name.
            environment: environment at its time.
            dt: time since the tick before, s, and of the step to come.

        Raises:
            ModelError: a collision mesh that cannot be used.
        """
        names = sorted(bodies)
        result = {name: np.zeros(6) for name in names}
        pair_impulses: dict[tuple[str, str], _PairImpulses] = {}
        tracked = [name for name in names if name in self._previous or bodies[name].loose]
        self._follow_joints(bodies, dt)
        states = BodyStates.of(tracked, bodies)
        motions = self._predict(states, bodies, environment, dt)
        terms: dict[str, StateTerms] = {}
        groups = list(self._groups(states, bodies, environment, dt))
        self.groups = [(group[0], self._is_supported(*group)) for group in groups]
        grouped = {name for group, _ in groups for name in group}
        untouched = [name for name in tracked if bodies[name].loose and name not in grouped]
        self.next_states = {}
        for group, touches in [*groups, *([(untouched, Touches.none())] if untouched else [])]:
            for name in group:
                if name not in motions:
                    terms[name], step = self._predict_one(name, bodies[name], environment, dt)
                    motions[name] = GroupMotion.of([bodies[name]], [terms[name]], [step]), 0
            motion = GroupMotion.of_rows([motions[name] for name in group])
            wrenches = np.zeros((len(group), 6))
            if group is not untouched:
                wrenches, impulses = self._solve(group, touches, bodies, motion)
                pair_impulses |= impulses
            wrenches, moved = motion.advance(wrenches)
            result |= zip(group, wrenches, strict=True)
            if any(bodies[name].passive for name in group):
                self.next_states |= zip(group, moved, strict=True)
        self._previous = {
            n: _PreviousTick(bodies[n].state, result[n], terms.get(n))
            for n in names
            if not bodies[n].passive
        }
        self._pair_impulses = pair_impulses
        return result

    def restore(self, states: Mapping[str, State], positions: Mapping[str, float]) -> None:
        """Continue from the states of the bodies, and from positions of joints, by name.

        A position of NaN is that of an open or broken joint. Joints without a position are broken
        where they do not hold.
        """
        for name, mate in self._mates.items():
            if np.isfinite(positions.get(name, np.nan)):
                self._joints[name], self.joint_positions[name] = mate.close(states), 0.0
        for name in [*self.joint_positions.keys() - self._mates.keys()]:
            self.joint_positions[name] = positions.get(name, 0.0)
        for name, held in self._joints.items():
            gap = np.abs(held.errors(states)).max()
            is_open = np.isnan(positions.get(name, 0.0)) or gap > _HELD_ERROR
            if is_open and held.joint.link < 0:
                self.broken[name] = (np.nan, np.nan)
                self.joint_positions.pop(name, None)

    def snapshot(self) -> tuple[Any, ...]:
        """Return all that the next tick needs, for :meth:`resume`."""
        mates = {name: held for name, held in self._joints.items() if name in self._mates}
        return mates, {name: dict(getattr(self, name)) for name in _MEMORIES}

    def resume(self, snapshot: tuple[Any, ...]) -> None:
        """Continue from a snapshot of a world with the same bodies and joints."""
        mates, memories = snapshot
        others = {name: held for name, held in self._joints.items() if name not in self._mates}
        self._joints = others | mates
        vars(self).update(memories)

    def forget(self, name: str) -> None:
        """Drop the memory of a body that is put elsewhere, and open its mates."""
        self._previous.pop(name, None)
        self._pair_impulses = {k: v for k, v in self._pair_impulses.items() if name not in k}
        for mate in self._mates.values():
            if name in (mate.joint.child, mate.joint.parent):
                self._joints.pop(mate.joint.name, None)
                self.joint_positions.pop(mate.joint.name, None)
                self.broken.pop(mate.joint.name, None)

    def lose_track(self, names: Iterable[str]) -> None:
        """Drop the previous tick of bodies whose motion since then is unknown."""
        for name in names:
            self._previous.pop(name, None)

    def part(self, name: str, other: str) -> None:
        """Let two bodies that overlap not touch each other until they are apart."""
        self._parting.add(frozenset((name, other)))

    def release(self, name: str) -> None:
        """Break a joint by its name, without load."""
        if name in self._joints:
            self.broken.setdefault(name, (0.0, 0.0))

    def points_on(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the points (c, 3) of a body's nearby pairs at the last tick, and which press.

        Points are in the frame of the body, m.
        """
        points, is_pressed = [np.zeros((0, 3))], [np.zeros(0, bool)]
        touches = self._near_touches
        for (key, span), pose in zip(touches.spans(), touches.poses, strict=True):
            if name not in key:
                continue
            point, pair_impulse = touches.point[span], self._pair_impulses.get(key)
            points.append(point if key[0] == name else point @ pose[:3].T + pose[3])
            is_pressed.append(
                np.zeros(len(point), bool)
                if pair_impulse is None
                else np.any(pair_impulse.impulse != 0, axis=1)
            )
        return np.concatenate(points), np.concatenate(is_pressed)

    def _predict(
        self,
        states: BodyStates,
        bodies: Mapping[str, ContactBody],
        environment: Environment,
        dt: float,
    ) -> dict[str, tuple[GroupMotion, int]]:
        """Return motions without contact and places in them, by name: the passive ones at once.

        Those of a vehicle are computed where it is in a group.
        """
        result: dict[str, tuple[GroupMotion, int]] = {}
        passive = {n: bodies[n].vehicle for n in states.names if bodies[n].passive}
        known, batches = self._passive
        if known.keys() != passive.keys() or any(known[n] is not v for n, v in passive.items()):
            batches = PassiveBodies.groups(passive)
            self._passive = passive, batches
        for batch in batches:
            motion = batch.motion(bodies, states.some(batch.names), environment, dt)
            result |= {name: (motion, i) for i, name in enumerate(batch.names)}
        return result

    def _predict_one(
        self, name: str, body: ContactBody, environment: Environment, dt: float
    ) -> tuple[StateTerms, StepPrediction]:
        """Return terms and step without contact of a body with forces that are not known here."""
        vehicle, previous = body.vehicle, self._previous.get(name)
        conserving = dt if body.conserving else None
        current = state_terms(vehicle, body.state, environment, conserving)
        if previous is None:  # a free body has no unknown forces in the first tick
            mass = vehicle.mass_matrix + dt * current.damping
            inverse = matrix_inverse(mass)
            assert current.free is not None
            free = current.free + dt * (inverse @ current.known)
            return current, StepPrediction(mass, inverse, free, dt)
        previous_terms = previous.terms or state_terms(
            vehicle, previous.state, environment, conserving
        )
        return current, predict_step(
            vehicle.mass_matrix, body.state, current, previous[:2], previous_terms, dt
        )

    def _follow_joints(self, bodies: Mapping[str, ContactBody], dt: float) -> None:
        """Close the mates whose ends meet, and update the positions of the joints."""
        states = {name: body.state for name, body in bodies.items()}
        present = {*states, ''}
        self._joints |= {
            joint.name: HeldJoint.on_link(joint, bodies[joint.parent].links)
            for joint in self._on_links
        }
        for name, mate in self._mates.items():
            if not present >= {mate.joint.child, mate.joint.parent}:
                continue
            if name not in self._joints:
                closes = mate.is_near(states) and mate.is_aligned(states)
                if closes and self._is_pressed(mate, states, dt):
                    self._joints[name], self.joint_positions[name] = mate.close(states), 0.0
            elif name in self.broken and not mate.is_near(states):  # it may close again
                del self._joints[name], self.broken[name]
        for name, held in self._joints.items():
            if name in self.broken:
                self.joint_positions.pop(name, None)
            elif name in self.joint_positions and present >= {held.joint.child, held.joint.parent}:
                previous = self.joint_positions[name]
                self.joint_positions[name] = held.position(states, previous)

    def _is_pressed(self, mate: OpenMate, states: Mapping[str, State], dt: float) -> bool:
        """Whether a mate's bodies pressed with at least its closing force in the step before."""
        joint = mate.joint
        assert joint.mate is not None
        if not joint.mate.force:
            return True
        key = (joint.child, joint.parent)
        one, other = (min(key), max(key)) if joint.parent else key
        if (pair_impulse := self._pair_impulses.get((one, other))) is None:
            return False
        push = rotation_matrix(states[one].orientation) @ pair_impulse.impulse.sum(axis=0) / dt
        return bool(abs(mate.in_map(states)[1][1] @ push) >= joint.mate.force)

    def _intact_joints(self) -> list[HeldJoint]:
        """Return the joints that are not broken."""
        return [one for name, one in self._joints.items() if name not in self.broken]

    def _joined(self) -> frozenset[frozenset[str]]:
        """Return the pairs of bodies, by name, that do not touch since they are joined."""
        intact = self._intact_joints()
        names = tuple(one.joint.name for one in intact)
        if self._known_joined[0] != names:
            self._known_joined = (
                names,
                frozenset(
                    frozenset((one.joint.child, other))
                    for one in intact
                    for other in (one.joint.parent, one.joint.gear)
                ),
            )
        return self._known_joined[1]

    def _is_supported(self, members: list[str], touches: Touches) -> bool:
        """Whether bodies of a group touch the scene or are joined to the world."""
        return any(not other for _, other in touches.keys) or any(
            not held.joint.parent and held.joint.child in members for held in self._intact_joints()
        )

    def _groups(
        self,
        states: BodyStates,
        bodies: Mapping[str, ContactBody],
        environment: Environment,
        dt: float,
    ) -> Iterator[tuple[list[str], Touches]]:
        """Yield the groups of bodies in contact or joined, and their contacts."""
        self._near_touches = touches = self._touches(states, bodies, environment, dt)
        joined = [(one.joint.child, one.joint.parent) for one in self._intact_joints()]
        present, roots, constrained = {*states.names, ''}, dict[str, str](), set()
        for one, other in [*touches.keys, *joined]:
            if not present >= {one, other}:  # the first tick
                continue
            constrained.add(one)
            if other and (first := root_of(roots, one)) != (second := root_of(roots, other)):
                roots[first] = second
        groups: dict[str, list[str]] = {}
        for name in states.names:
            groups.setdefault(root_of(roots, name), []).append(name)
        for members in groups.values():
            if not constrained.isdisjoint(members):
                yield members, touches.of_bodies({*members})

    def _touches(
        self,
        states: BodyStates,
        bodies: Mapping[str, ContactBody],
        environment: Environment,
        dt: float,
    ) -> Touches:
        """Return the contacts of bodies, but of pairs that are joined or still part."""
        touching = {n: bodies[n] for n in states.names if len(bodies[n].vehicle.contact)}
        pressed = {key for key, pair in self._pair_impulses.items() if pair.impulse.any()}
        touches = self._search.touches(
            touching, states.some((*touching,)), environment, dt, self._joined(), pressed
        )
        if not self._parting:
            return touches
        overlapping = {
            frozenset(key) for key, span in touches.spans() if touches.gap[span].min() < 0
        }
        self._parting &= overlapping
        kept = [i for i, k in enumerate(touches.keys) if frozenset(k) not in self._parting]
        return touches.of_pairs(kept)

    def _solve(
        self,
        group: list[str],
        touches: Touches,
        bodies: Mapping[str, ContactBody],
        motion: GroupMotion,
    ) -> tuple[np.ndarray, dict[tuple[str, str], _PairImpulses]]:
        """Return the wrenches (k, 6) on a group of k bodies, and their contact impulses."""
        step = motion.prediction()
        joints = [
            one
            for one in self._intact_joints()
            if {one.joint.child, one.joint.parent} <= {*group, ''}
        ]
        if not joints and not touches.keys:  # all joints of the group broke
            return np.zeros((len(group), 6)), {}
        if not joints:
            wrench, impulses, _ = self._solve_contacts(group, touches, bodies, step)
            return wrench.reshape(-1, 6), impulses
        names = [held.joint.name for held in joints]
        rows = joint_rows(
            joints,
            [self.joint_positions.get(name, 0.0) for name in names],
            [_drive_speed(held.joint, bodies) for held in joints],
            np.array([self._friction_impulses.get(name, 0.0) for name in names]),
            {name: bodies[name].state for name in group},
            group,
            step,
            motion,
        )
        dt = step.dt
        held = rows.couple(step, motion)
        load = held.impulse / dt
        wrench, impulses = np.zeros(len(step.free)), {}
        if touches.keys or rows.limits is not None:
            joined, yielding = held.joined_step()
            wrench, impulses, joint_impulses = self._solve_contacts(
                group, touches, bodies, joined, rows.limits, step
            )
            if rows.limits is not None:
                friction = joint_impulses[1, ::2].tolist()
                self._friction_impulses |= zip(names, friction, strict=True)
            load = load - yielding @ wrench
        mean_loads, broken = self._loads(joints, rows, load, dt)
        if broken:  # solve again without the broken joints, which transmit nothing in this step
            self.broken |= broken
            for name in broken:
                self._mean_loads.pop(name, None)
            return self._solve(group, touches, bodies, motion)
        self._mean_loads = mean_loads
        # As the sum of the rows' loads, so that momentum is conserved to rounding.
        return (wrench + load @ rows.matrix).reshape(-1, 6), impulses

    def _loads(
        self, joints: Sequence[HeldJoint], rows: JointRows, load: np.ndarray, dt: float
    ) -> tuple[dict[str, np.ndarray], dict[str, tuple[float, float]]]:
        """Return the mean loads (2, 3) of joints that can break, by name, and those that do.

        Without the mean an impact would load a joint with its impulse over one step.

        Args:
            joints: j joints.
            rows: their rows.
            load: (m,) forces of the rows, N or N·m.
            dt: step, s.
        """
        mean_loads, broken = dict(self._mean_loads), {}
        breakable = [k for k, held in enumerate(joints) if held.joint.is_breakable]
        forces = rows.forces(len(joints), load) if breakable else np.zeros((0, 2, 3))
        for k in breakable:
            joint = joints[k].joint
            mean = mean_loads.get(joint.name, np.zeros((2, 3)))
            mean = mean + _mean_weight(joint.break_time, dt) * (forces[k] - mean)
            mean_loads[joint.name] = mean
            force, torque = np.linalg.norm(mean, axis=1).tolist()
            if force > joint.break_force or torque > joint.break_torque:
                broken[joint.name] = force, torque
        return mean_loads, broken

    def _solve_contacts(
        self,
        group: list[str],
        touches: Touches,
        bodies: Mapping[str, ContactBody],
        step: StepPrediction,
        limits: ContactRows | None = None,
        unjoined: StepPrediction | None = None,
    ) -> tuple[np.ndarray, dict[tuple[str, str], _PairImpulses], np.ndarray]:
        """Return the wrenches (6 k,) of contacts, their impulses, and those of joint limits.

        Args:
            group: names of k bodies.
            touches: their contacts.
            bodies: all bodies, by name.
            step: their motion with joints.
            limits: rows of joint limits, or None.
            unjoined: their motion without joints; None: they have none.
        """
        column = {name: 6 * i for i, name in enumerate(group)} | {'': -1}
        attitudes = [bodies[one].state.orientation for one, _ in touches.keys]
        contacts = ContactArrays(
            touches.ends,
            np.array([[column[name] for name in key] for key in touches.keys], int).reshape(-1, 2),
            np.array(attitudes).reshape(-1, 4),
            touches.poses,
            touches.values,
            self._search.coefficients(touches),
            self._previous_impulses(touches),
        )
        velocity = np.concatenate([bodies[name].state.velocity for name in group])
        wrench, impulse, joint_impulses = solve_contact_arrays(
            contacts, velocity, step, limits, unjoined
        )
        impulses = {
            key: _PairImpulses(touches.number[span], impulse[span])
            for key, span in touches.spans()
        }
        return wrench, impulses, joint_impulses

    def _previous_impulses(self, touches: Touches) -> np.ndarray:
        """Return the impulses (c, 3) of the step before, in the first bodies' frames, N·s."""
        from marine_sim_ros.physics.contact.kernels import detection

        if not touches.keys:
            return _NO_IMPULSES.impulse
        found = [self._pair_impulses.get(key, _NO_IMPULSES) for key in touches.keys]
        numbers, impulses = (np.concatenate(parts) for parts in zip(*found, strict=True))
        counts = [len(pair.number) for pair in found]
        return np.asarray(
            detection.match_impulses(
                touches.number, touches.ends, numbers, np.cumsum(counts), impulses
            )
        )
