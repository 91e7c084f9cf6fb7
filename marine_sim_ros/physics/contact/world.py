# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact of several bodies at once: with the scene, and with each other.

One body sees another as a scene of its own: the shapes of b stand still in the frame of b, and a
moves in it. So what finds the touches of a vehicle and a seabed finds those of two bodies, edges
against edges too. Bodies that touch, directly or by others between them, are solved for together
(:mod:`marine_sim_ros.physics.contact.solver`): with ν of all of them below each other, a touch of
a and b has the rows J_a = [d, r_a × d] and J_b = −[d, r_b × d] at one place, in the axes of each.
What one gains in momentum the other loses. Joints (:mod:`marine_sim_ros.physics.contact.joints`)
hold bodies together as those that touch are; two that a joint joins do not touch each other.

The wrench of a step is held in body axes that turn within it. So that the momentum in space is the
same on both sides, each impulse is told in the axes of after the step: with the conserving
integrator a body's linear and angular momentum changes by exactly that impulse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.numerics import matrix_inverse
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.body_joints import BodyJoint
from marine_sim_ros.physics.contact.body_touches import (
    BodyTouches,
    relative_state,
    solid_environment,
    touch_rows,
)
from marine_sim_ros.physics.contact.contact import contact_limit
from marine_sim_ros.physics.contact.detection import (
    contacts_within,
    pair_layout,
    select_contacts,
    stays_separated,
    step_reach,
)
from marine_sim_ros.physics.contact.group_motion import GroupMotion, Mover, combine_steps
from marine_sim_ros.physics.contact.joints import HeldJoint, OpenMate, joint_rows
from marine_sim_ros.physics.contact.pair_coefficients import concatenate_pairs, pair_table
from marine_sim_ros.physics.contact.solver import (
    ContactRows,
    DirectedContacts,
    adhesion_force,
    contact_axes,
    solve_directed,
    solve_others,
)
from marine_sim_ros.physics.wrench_observer import (
    StateTerms,
    StepPrediction,
    predict_step,
    state_terms,
)

__all__ = ['ContactWorld']


class _Before(NamedTuple):
    """What is remembered of a body at the tick before."""

    state: State
    wrench: Wrench
    terms: StateTerms | None


class _Held(NamedTuple):
    """What is remembered of two that touched: numbers of pairs (n,), impulses (n, 3), N·s."""

    number: np.ndarray
    impulse: np.ndarray


class ContactWorld:
    """Contact of all bodies of a run; it remembers the tick before.

    Attributes:
        joint_positions: angle, rad, or way, m, of the joints that hold, at the last tick, by name.
        broken: force, N, and torque, N·m, at which joints broke, by name.
    """

    def __init__(self, joints: Sequence[BodyJoint], starts: Mapping[str, State]) -> None:
        """Begin with no memory: what moves a vehicle is not known in the first tick.

        Args:
            joints: joints between the bodies.
            starts: states of the bodies at the start, by name.
        """
        self._joints = {
            one.name: HeldJoint.at_start(one, starts) for one in joints if not one.mate
        }
        self._mates = {one.name: OpenMate.at_start(one, starts) for one in joints if one.mate}
        self.joint_positions = {name: 0.0 for name, one in self._joints.items() if one.joint.moves}
        self.broken: dict[str, tuple[float, float]] = {}
        self._rubbing: dict[str, float] = {}
        self._before: dict[str, _Before] = {}
        self._held: dict[tuple[str, str], _Held] = {}
        self._near: list[BodyTouches] = []

    def wrenches(
        self, movers: Mapping[str, Mover], environment: Environment, dt: float
    ) -> dict[str, Wrench]:
        """Return the wrench (6,) of contact over the step to come on each body, body frame.

        Args:
            movers: all bodies at this tick, by name.
            environment: environment at its time.
            dt: time since the tick before, s, and of the step to come.

        Raises:
            ModelError: a collision mesh that cannot be used.
        """
        names = sorted(movers)
        result = {name: np.zeros(6) for name in names}
        terms: dict[str, StateTerms | None] = dict.fromkeys(names)
        held: dict[tuple[str, str], _Held] = {}
        known = [name for name in names if name in self._before or movers[name].loose]
        self._follow_joints(movers, dt)
        groups = list(self._groups(known, movers, environment, dt))
        grouped = {name for group, _ in groups for name in group}
        alone = [name for name in known if movers[name].loose and name not in grouped]
        for group, touches in [*groups, *(([name], []) for name in alone)]:
            steps, moves = self._moves(group, movers, environment, dt, terms)
            wrenches = np.zeros((len(group), 6))
            impulses: dict[tuple[str, str], _Held] = {}
            if group[0] in grouped:
                wrenches, impulses = self._solve(group, touches, movers, steps, moves)
            held |= impulses
            result |= zip(group, moves.wrench_in_space(wrenches), strict=True)
        self._before = {n: _Before(movers[n].state, result[n], terms[n]) for n in names}
        self._held = held
        return result

    def points_on(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the points (c, 3) of a body near something at the last tick, and which press.

        They are in the frame of the body, m.
        """
        points, pressed = [np.zeros((0, 3))], [np.zeros(0, bool)]
        for touch in self._near:
            if name not in touch.key:
                continue
            found = touch.points_on_other if touch.other == name else touch.geometry.point
            held = self._held.get(touch.key)
            points.append(found)
            pressed.append(
                np.zeros(len(found), bool) if held is None else np.any(held.impulse != 0, axis=1)
            )
        return np.concatenate(points), np.concatenate(pressed)

    def _moves(
        self,
        group: list[str],
        movers: Mapping[str, Mover],
        environment: Environment,
        dt: float,
        terms: dict[str, StateTerms | None],
    ) -> tuple[list[StepPrediction], GroupMotion]:
        """Return the steps of bodies without contact, and how they move by wrenches."""
        steps = [self._predict(name, movers[name], environment, dt, terms) for name in group]
        known = [own for name in group if (own := terms[name]) is not None]
        return steps, GroupMotion.of([movers[name] for name in group], known, steps)

    def _predict(
        self,
        name: str,
        mover: Mover,
        environment: Environment,
        dt: float,
        terms: dict[str, StateTerms | None],
    ) -> StepPrediction:
        """Return the step of a body without contact."""
        own, before = mover.vehicle, self._before.get(name)
        conserving = dt if mover.conserving else None
        now = terms[name] = state_terms(own, mover.state, environment, conserving)
        if before is None:  # of what is loose all forces are known
            mass = own.mass_matrix + dt * now.damping
            inverse = matrix_inverse(mass)
            assert now.free is not None
            return StepPrediction(mass, inverse, now.free + dt * (inverse @ now.known), dt)
        earlier = before.terms or state_terms(own, before.state, environment, conserving)
        return predict_step(own.mass_matrix, mover.state, now, before[:2], earlier, dt)

    def _follow_joints(self, movers: Mapping[str, Mover], dt: float) -> None:
        """Close the mates whose ends meet, and find where the joints are that hold."""
        states = {name: mover.state for name, mover in movers.items()}
        for name, mate in self._mates.items():
            if name not in self._joints:
                meets = mate.is_near(states) and mate.is_aligned(states)
                if meets and self._presses(mate, states, dt):
                    self._joints[name], self.joint_positions[name] = mate.close(states), 0.0
            elif name in self.broken and not mate.is_near(states):  # it may close again
                del self._joints[name], self.broken[name]
        self.joint_positions = {
            name: self._joints[name].position(states, before)
            for name, before in self.joint_positions.items()
            if name not in self.broken
        }

    def _presses(self, mate: OpenMate, states: Mapping[str, State], dt: float) -> bool:
        """Whether the bodies of a mate pressed on each other in the step before as it needs."""
        joint = mate.joint
        assert joint.mate is not None
        if not joint.mate.force:
            return True
        key = (joint.child, joint.parent)
        one, other = (min(key), max(key)) if joint.parent else key
        if (held := self._held.get((one, other))) is None:
            return False
        push = rotation_matrix(states[one].orientation) @ held.impulse.sum(axis=0) / dt
        return bool(abs(mate.in_map(states)[1][1] @ push) >= joint.mate.force)

    def _holding(self) -> list[HeldJoint]:
        """Return the joints that are not broken."""
        return [one for name, one in self._joints.items() if name not in self.broken]

    def _groups(
        self, names: list[str], movers: Mapping[str, Mover], environment: Environment, dt: float
    ) -> Iterator[tuple[list[str], list[BodyTouches]]]:
        """Yield the bodies that touch each other or are joined, and their touches."""
        self._near = touches = list(self._touches(names, movers, environment, dt))
        pairs = [(touch.one, touch.other) for touch in touches]
        pairs += [(held.joint.child, held.joint.parent) for held in self._holding()]
        group, held = {name: {name} for name in names}, set()
        for one, other in pairs:
            if not group.keys() >= {one, other} - {''}:  # the first tick
                continue
            held.add(one)
            if other:
                both = group[one] | group[other]
                group |= dict.fromkeys(both, both)
        for name in names:
            members = sorted(group[name])
            if name == members[0] and not held.isdisjoint(members):
                yield members, [touch for touch in touches if touch.one in group[name]]

    def _touches(
        self, names: list[str], movers: Mapping[str, Mover], environment: Environment, dt: float
    ) -> Iterator[BodyTouches]:
        within = {n: float(step_reach(movers[n].vehicle, movers[n].state, dt)) for n in names}
        touching = [n for n in names if len(movers[n].vehicle.contact)]
        if environment.scene is not None and len(environment.scene):
            for name in touching:
                mover = movers[name]
                found = self._find((name, ''), mover, mover.state, environment, within[name], dt)
                if found is not None:
                    yield found
        materials = environment.materials
        joined = {frozenset((one.joint.child, one.joint.parent)) for one in self._holding()}
        for one, other in combinations(touching, 2):
            if frozenset((one, other)) in joined:
                continue
            a, b = movers[one], movers[other]
            near = within[one] + within[other]
            far = a.vehicle.contact.reach + b.vehicle.contact.reach + near
            apart = a.state.position - b.state.position
            if apart @ apart > far * far:
                continue
            solid = solid_environment(b.vehicle.contact, materials)
            relative = relative_state(a.state, b.state)
            found = self._find((one, other), a, relative, solid, near, dt)
            if found is not None:
                yield found

    def _find(
        self,
        key: tuple[str, str],
        mover: Mover,
        state: State,
        environment: Environment,
        within: float,
        dt: float,
    ) -> BodyTouches | None:
        """Return the touches of a body and a scene in whose frame its state is; None: none."""
        own = mover.vehicle
        assert environment.scene is not None
        touch, number = contacts_within(own, state, environment, within)
        held = self._held[key].impulse if key in self._held else np.zeros((0, 3))
        if not len(number) or stays_separated(touch, state.velocity, held, dt):
            return None
        touch, number = select_contacts(
            touch, number, state.velocity, dt, contact_limit(own.contact)
        )
        layout = pair_layout(own.contact, environment.scene)
        pairs = pair_table(own, environment).select(layout.rows(number))
        return BodyTouches(*key, pairs, number, touch, state)

    def _solve(
        self,
        group: list[str],
        touches: list[BodyTouches],
        movers: Mapping[str, Mover],
        steps: list[StepPrediction],
        moves: GroupMotion,
    ) -> tuple[np.ndarray, dict[tuple[str, str], _Held]]:
        """Return the wrenches (k, 6) on a group of k bodies, and what their touches hold."""
        step = combine_steps(steps)
        own = [
            one for one in self._holding() if {one.joint.child, one.joint.parent} <= {*group, ''}
        ]
        if not own and not touches:  # all that held broke
            return np.zeros((len(group), 6)), {}
        if not own:
            wrench, impulses, _ = self._press(group, touches, movers, step, None)
            return wrench.reshape(-1, 6), impulses
        names = [held.joint.name for held in own]
        rows = joint_rows(
            own,
            [self.joint_positions.get(name, 0.0) for name in names],
            np.array([self._rubbing.get(name, 0.0) for name in names]),
            {name: movers[name].state for name in group},
            group,
            step,
        )
        dt = step.dt

        def errors(velocity: np.ndarray) -> np.ndarray:
            change = (step.mass @ (velocity - step.free) / dt).reshape(-1, 6)
            later = dict(zip(group, moves.states(change), strict=True))
            return np.concatenate([np.concatenate(held.errors(later)[2:]) for held in own])

        joined, rows = rows.couple(step, errors)
        if touches:
            wrench, impulses, others = self._press(group, touches, movers, joined, rows.limits)
        else:
            wrench, impulses, others = np.zeros(len(step.free)), {}, np.zeros((3, 2 * len(own)))
            if rows.limits is not None:
                wrench, others = solve_others(rows.limits, joined)
        if rows.limits is not None:
            self._rubbing |= zip(names, others[1, ::2].tolist(), strict=True)
        after = joined.free + dt * (joined.inverse @ wrench)
        load = rows.load(after, dt)
        broken = {
            held.joint.name: (float(force), float(torque))
            for held, force, torque in zip(own, *rows.sizes(len(own), load), strict=True)
            if force > held.joint.break_force or torque > held.joint.break_torque
        }
        if broken:  # what breaks holds nothing: an impact goes on
            self.broken |= broken
            return self._solve(group, touches, movers, steps, moves)
        # By what each row holds, so that momentum stays to rounding.
        return (wrench + load @ rows.held).reshape(-1, 6), impulses

    def _press(
        self,
        group: list[str],
        touches: list[BodyTouches],
        movers: Mapping[str, Mover],
        step: StepPrediction,
        others: ContactRows | None,
    ) -> tuple[np.ndarray, dict[tuple[str, str], _Held], np.ndarray]:
        """Return the wrenches (6 k,) of touches, what they hold, and impulses of other rows."""
        axes = [
            contact_axes(
                t.geometry.normal, t.pairs.primary_in_body(movers[t.one].state.orientation)
            )
            for t in touches
        ]
        rows = [
            touch_rows(touch, directions, group)
            for touch, directions in zip(touches, axes, strict=True)
        ]
        contacts = DirectedContacts(
            np.concatenate([t.geometry.gap for t in touches]),
            np.concatenate(axes, axis=1),
            np.concatenate(rows, axis=1),
        )
        pairs = concatenate_pairs([t.pairs for t in touches])
        before = np.concatenate([self._held_of(touch) for touch in touches])
        pull = adhesion_force(pairs, contacts.gap) if np.any(pairs.adhesion_force) else None
        velocity = np.concatenate([movers[name].state.velocity for name in group])
        wrench, impulse, rest = solve_directed(
            pairs, contacts, velocity, step, before, pull, others=others
        )
        ends = np.cumsum([len(t.number) for t in touches])[:-1]
        each = zip(touches, np.split(impulse, ends), strict=True)
        return wrench, {t.key: _Held(t.number, own) for t, own in each}, rest

    def _held_of(self, touch: BodyTouches) -> np.ndarray:
        """Return the impulses (c, 3) of the step before, in the first body's frame, N·s."""
        earlier = self._held.get(touch.key)
        if earlier is None:
            return np.zeros((len(touch.number), 3))
        same = touch.number[:, None] == earlier.number[None, :]
        return np.asarray(same @ earlier.impulse)
