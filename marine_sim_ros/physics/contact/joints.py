# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints between bodies: constraints, stops, friction, springs and detents over one step.

A joint's rows E map the velocities ν of its bodies to those that it constrains to zero: at the
point p of the child, the difference of d·(v + ω × r) for constrained directions d, and the
difference of ω about constrained axes. Both bodies get equal and opposite impulses at one point. A
constraint is a stiff spring and damper over the step: the impulse λ = (b − E ν)/r, with b so that
its error e is zero after the step, rotations included: b = E ν − e(ν)/dt, in a few iterations as
in SHAKE. With it the step is

    M̃ = M + Eᵀ r⁻¹ E,   ν̃* = M̃⁻¹ (M ν* + Eᵀ r⁻¹ b),

and the contact solver uses M̃ and ν̃* in place of M and ν*. The impulses themselves are found
from (E M⁻¹ Eᵀ + r) λ = b − E ν*, which has no large numbers. Only stops and friction are rows
of the contact solver, a stop as a normal, friction as a tangent with a fixed bound. A spring and a
damper c about the axis are a row with r = 1/(k' dt² + c dt) and b = τ/(k' dt + c), with the torque
τ = −k (q − q₀) now and k' = k − m/dt² where it is positive, m being the mass about the axis;
detents add theirs to τ and k. Sources: Ryckaert et al. (1977) for SHAKE; Catto (2011), "Soft
constraints", for the spring and damper of a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import (
    cross,
    matrix_quaternion,
    quaternion_conjugate,
    quaternion_product,
    rotation_matrix,
)
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.model.body_joints import BodyJoint
from marine_sim_ros.physics.arm.links import LinkPoses
from marine_sim_ros.physics.contact.detection import lever_rows
from marine_sim_ros.physics.contact.group_motion import GroupMotion
from marine_sim_ros.physics.contact.solver import ContactRows, contact_axes
from marine_sim_ros.physics.wrench_observer import StepPrediction

__all__ = ['HeldJoint', 'JointRows', 'OpenMate', 'joint_rows', 'root_of']

_CONSTRAINT_COMPLIANCE = 1e-7
"""Compliance of a joint's constraint, as a fraction of the inverse mass there."""
_DEPENDENT = 1e-6
"""Largest mobility of a load of constraints that balances itself, as a fraction of each one's."""
_STOP_COMPLIANCE = 1e-4
"""Compliance of stops, likewise."""
_BRISTLE = 1e-3
"""Compliance of friction, likewise."""
_MIN_RESISTANCE = 1e-9
"""Smallest resistance of a spring, as a fraction of the mass over the step."""
_EXIT = 0.2
"""Fraction of the excess beyond a stop that a step corrects."""
_ROUNDS = 2
"""Iterations for b; each reduces the error by a factor of about dt |ω|."""
_WORLD = state_at_rest()
"""Parent of a joint that is fixed to the world."""
_TYPES = 'ball', 'revolute', 'prismatic', 'fixed'
"""Types of joints; the kernels know them by their numbers."""


class HeldJoint(NamedTuple):
    """A closed joint, with its points and axes in the frames of its two bodies.

    Attributes:
        joint: description of the joint.
        geometry: (20,) number of the type, points of child and parent, axis, two vectors across it
            and each other, and attitude of the child at zero; all but the first in the frame of
            the parent, which is map for the world.
    """

    joint: BodyJoint
    geometry: np.ndarray

    @property
    def child(self) -> np.ndarray:
        """Its point (3,) in the child's frame, m."""
        return self.geometry[1:4]

    @property
    def parent(self) -> np.ndarray:
        """Its point (3,) in the parent's frame, or in map, m."""
        return self.geometry[4:7]

    @property
    def axis(self) -> np.ndarray:
        """Its axis (3,) in the parent's frame."""
        return self.geometry[7:10]

    @property
    def turn(self) -> np.ndarray:
        """Attitude (4,) of the child in the parent's frame at zero."""
        return self.geometry[16:]

    @classmethod
    def of(
        cls,
        joint: BodyJoint,
        child: np.ndarray,
        parent: np.ndarray,
        axis: np.ndarray,
        turn: np.ndarray,
    ) -> HeldJoint:
        """Return a joint by its points, axis and attitude in the frames of its bodies."""
        across = contact_axes(axis[None, :], None)[1:, 0, :]
        kind = [float(_TYPES.index(joint.type))]
        return cls(joint, np.concatenate([kind, child, parent, axis, across.ravel(), turn]))

    @classmethod
    def at_start(cls, joint: BodyJoint, starts: Mapping[str, State]) -> HeldJoint:
        """Return a joint of bodies by their states at the start, by name."""
        child, parent = starts[joint.child], starts.get(joint.parent, _WORLD)
        back = rotation_matrix(parent.orientation).T
        return cls.of(
            joint,
            rotation_matrix(child.orientation).T @ (joint.position - child.position),
            back @ (joint.position - parent.position),
            back @ joint.axis,
            quaternion_product(quaternion_conjugate(parent.orientation), child.orientation),
        )

    @classmethod
    def on_link(cls, joint: BodyJoint, links: LinkPoses | None) -> HeldJoint:
        """Return a joint on a link of its parent's arm in its present pose.

        The child's point is its origin, and its axes are those of the link.
        """
        assert links is not None
        rotation = np.asarray(links.rotation)[joint.link]
        return cls.of(
            joint,
            np.zeros(3),
            np.asarray(links.translation)[joint.link] + rotation @ joint.position,
            rotation @ joint.axis,
            matrix_quaternion(rotation),
        )

    def placed_child(self, parent: State, displacement: float) -> State:
        """Return the state of the child of a slider at a displacement, moving with the parent."""
        frame = rotation_matrix(parent.orientation)
        back = rotation_matrix(self.turn).T
        point = self.parent + displacement * self.axis
        linear = parent.velocity[:3] + cross(parent.velocity[3:], point)
        return State(
            parent.position + frame @ point,
            quaternion_product(parent.orientation, self.turn),
            np.concatenate([back @ linear, back @ parent.velocity[3:]]),
        )

    def position(self, states: Mapping[str, State], reference: float = 0.0) -> float:
        """Return the angle about its axis, rad, or displacement along it, m; 0: a fixed joint.

        Args:
            states: states of the bodies, by name.
            reference: rad; the angle nearest to this is returned, of those that differ by 2π.
        """
        if not self.joint.is_movable:
            return 0.0
        if self.joint.type == 'prismatic':
            return float(self.axis_in_map(states)[0] @ self._gap(states))
        child, parent = self._ends(states)
        relative = quaternion_product(quaternion_conjugate(parent.orientation), child.orientation)
        rotation = quaternion_product(relative, quaternion_conjugate(self.turn))
        angle = 2 * float(np.arctan2(rotation[:3] @ self.axis, rotation[3]))
        return angle + 2 * np.pi * round((reference - angle) / (2 * np.pi))

    def axis_in_map(self, states: Mapping[str, State]) -> np.ndarray:
        """Return its axis as one row (1, 3), map."""
        _, parent = self._ends(states)
        return (rotation_matrix(parent.orientation) @ self.axis)[None, :]

    def errors(self, states: Mapping[str, State]) -> np.ndarray:
        """Return the errors (h,) of its constraints, m and rad."""
        names = [name for name in (self.joint.child, self.joint.parent) if name]
        poses = np.array([np.concatenate(states[name][:2]) for name in names])
        bodies = JoinedBodies.of([self], names, poses, np.zeros((len(names), 6, 6)))
        return np.asarray(bodies.constraints()[1])

    def axis_row(self, states: Mapping[str, State], group: Sequence[str]) -> np.ndarray:
        """Return the Jacobian (n,) of the child's velocity about or along its axis.

        Args:
            states: states of the bodies, by name.
            group: names of the bodies whose velocities are in ν, in this order.
        """
        child, _ = self._ends(states)
        point = child.position + rotation_matrix(child.orientation) @ self.child
        axis, result = self.axis_in_map(states)[0], np.zeros(6 * len(group))
        for name, sign in ((self.joint.child, 1.0), (self.joint.parent, -1.0)):
            if name not in states:
                continue
            rotation, column = rotation_matrix(states[name].orientation), 6 * group.index(name)
            local = sign * (axis @ rotation)
            if self.joint.type == 'revolute':
                result[column + 3 : column + 6] = local
            else:
                lever = rotation.T @ (point - states[name].position)
                result[column : column + 6] = lever_rows(local, lever)
        return result

    def _ends(self, states: Mapping[str, State]) -> tuple[State, State]:
        """Return the states of the child and of the parent."""
        return states[self.joint.child], states.get(self.joint.parent, _WORLD)

    def _gap(self, states: Mapping[str, State]) -> np.ndarray:
        """Return the vector (3,) from its point of the parent to that of the child, map, m."""
        child, parent = self._ends(states)
        child_point = child.position + rotation_matrix(child.orientation) @ self.child
        return child_point - parent.position - rotation_matrix(parent.orientation) @ self.parent


class JoinedBodies(NamedTuple):
    """Joints and the bodies that they connect, as the kernels take them.

    Attributes:
        joints: (j, 20) of :attr:`HeldJoint.geometry`.
        ends: (j, 2) numbers of child and parent; −1: the world.
        poses: (k, 7) position and quaternion of the bodies.
        inverses: (k, 6, 6) inverse masses in the axes of the bodies.
    """

    joints: np.ndarray
    ends: np.ndarray
    poses: np.ndarray
    inverses: np.ndarray

    @classmethod
    def of(
        cls,
        joints: Sequence[HeldJoint],
        group: Sequence[str],
        poses: np.ndarray,
        inverses: np.ndarray,
    ) -> JoinedBodies:
        """Return joints of a group of bodies by their names."""
        number = {name: i for i, name in enumerate(group)}
        ends = [(number[one.joint.child], number.get(one.joint.parent, -1)) for one in joints]
        return cls(np.array([one.geometry for one in joints]), np.array(ends), poses, inverses)

    def constraints(self) -> tuple[np.ndarray, ...]:
        """Return rows, errors, directions, owners, kinds and mobilities of the constraints."""
        from marine_sim_ros.physics.contact.kernels import joints as kernels

        rows, directions, (errors, mobility, owner, kinds) = kernels.constraint_rows(*self)
        return rows, errors, directions, owner.astype(int), kinds.astype(bool), mobility


class OpenMate(NamedTuple):
    """A joint that closes where its two ends meet.

    Attributes:
        joint: the joint, with its condition.
        child: (2, 3) point, m, and axis of its end in the child's frame.
        parent: (2, 3) the same in the parent's frame, or in map.
    """

    joint: BodyJoint
    child: np.ndarray
    parent: np.ndarray

    @classmethod
    def at_start(cls, joint: BodyJoint, starts: Mapping[str, State]) -> OpenMate:
        """Return a mate by the states of its bodies at the start, by name."""
        assert joint.mate is not None
        child, parent = starts[joint.child], starts.get(joint.parent, _WORLD)
        ends = (child, joint), (parent, joint.mate)
        local = (
            np.stack([end.position - state.position, end.axis])
            @ rotation_matrix(state.orientation)
            for state, end in ends
        )
        return cls(joint, *local)

    def in_map(self, states: Mapping[str, State]) -> tuple[np.ndarray, np.ndarray]:
        """Return point and axis (2, 3) of the child's end and of the parent's, map."""
        ends = (self.joint.child, self.child), (self.joint.parent, self.parent)
        poses = []
        for name, end in ends:
            state = states.get(name, _WORLD)
            point, axis = end @ rotation_matrix(state.orientation).T
            poses.append(np.stack([state.position + point, axis]))
        return poses[0], poses[1]

    def is_near(self, states: Mapping[str, State]) -> bool:
        """Whether its ends are within their largest distance."""
        assert self.joint.mate is not None
        child, parent = self.in_map(states)
        return bool(np.linalg.norm(child[0] - parent[0]) <= self.joint.mate.distance)

    def is_aligned(self, states: Mapping[str, State]) -> bool:
        """Whether their axes are within their largest angle."""
        assert self.joint.mate is not None
        child, parent = self.in_map(states)
        angle = np.arctan2(np.linalg.norm(cross(child[1], parent[1])), child[1] @ parent[1])
        return bool(angle <= self.joint.mate.angle)

    def close(self, states: Mapping[str, State]) -> HeldJoint:
        """Return the joint of the bodies in their present poses, about the parent's axis."""
        child, parent = self.in_map(states)
        closed = replace(self.joint, position=child[0], axis=parent[1])
        return HeldJoint.at_start(closed, states)


class JointImpulses(NamedTuple):
    """Impulses of joints in a step.

    Attributes:
        matrix: E (m, n) of :class:`JointRows`.
        compliance: r (m,).
        step: M and ν* of the bodies.
        impulse: λ (m,) without contacts, N·s or N·m·s.
        free: ν̃* (n,).
        response: E M⁻¹ (m, n).
        coupling: S (m, m) = E M⁻¹ Eᵀ + r.
    """

    matrix: np.ndarray
    compliance: np.ndarray
    step: StepPrediction
    impulse: np.ndarray
    free: np.ndarray
    response: np.ndarray
    coupling: np.ndarray

    def joined_step(self) -> tuple[StepPrediction, np.ndarray]:
        """Return the step M̃, ν̃* of joined bodies, and −∂λ/∂p (m, n) by impulses p on them."""
        yielding = np.linalg.solve(self.coupling, self.response)
        return self.step._replace(
            mass=self.step.mass + (self.matrix.T / self.compliance) @ self.matrix,
            inverse=self.step.inverse - self.response.T @ yielding,
            free=self.free,
        ), yielding


class JointRows(NamedTuple):
    """Rows of joints by the velocities ν (n,) of a group of bodies.

    Attributes:
        matrix: E (m, n) constraints, then springs.
        target: b (m,) m/s and rad/s.
        compliance: r (m,).
        owner: (m,) number of the joint of a constraint; −1: a spring.
        angular: (m,) whether a row is about an axis.
        direction: (m, 3) unit vector of a row, map.
        self_stress: (h, s) orthonormal basis of loads of the h constraints that balance each
            other, scaled by the square root of their compliance.
        bodies: the joints and their bodies.
        limits: two rows of a contact for each of j joints: a stop with friction, and the other
            stop; their targets are velocities. None: no joint has any.
    """

    matrix: np.ndarray
    target: np.ndarray
    compliance: np.ndarray
    owner: np.ndarray
    angular: np.ndarray
    direction: np.ndarray
    self_stress: np.ndarray
    bodies: JoinedBodies
    limits: ContactRows | None

    def couple(self, step: StepPrediction, motion: GroupMotion) -> JointImpulses:
        """Return the impulses of the joints without contacts.

        Where constraints are redundant, the part of b that no motion can meet would only press
        them against each other, and is left out. Without it they share their load with the least
        Σ r λ².

        Args:
            step: M and ν*.
            motion: the bodies of the rows.
        """
        from marine_sim_ros.physics.contact.kernels import joints as kernels

        *bodies, inverses = self.bodies
        impulse, free, response, coupling = kernels.couple_bodies(
            inverses, step.free, self.matrix, self.target, self.compliance, self.self_stress,
            *bodies, *motion.arrays, _ROUNDS,
        )  # fmt: skip
        return JointImpulses(self.matrix, self.compliance, step, impulse, free, response, coupling)

    def forces(self, count: int, load: np.ndarray) -> np.ndarray:
        """Return force, N, and torque, N·m, of joints in map (count, 2, 3) by loads (m,)."""
        is_owned = self.owner == np.arange(count)[:, None]
        masks = np.stack([is_owned & ~self.angular, is_owned & self.angular], axis=1)
        return np.asarray(masks @ (load[:, None] * self.direction))


def joint_rows(
    joints: Sequence[HeldJoint],
    positions: Sequence[float],
    speeds: Sequence[float],
    previous_friction: np.ndarray,
    states: Mapping[str, State],
    group: Sequence[str],
    step: StepPrediction,
    motion: GroupMotion,
) -> JointRows:
    """Return the rows of joints in a step of a group of bodies.

    Args:
        joints: j joints of these bodies.
        positions: (j,) angles, rad, or displacements, m.
        speeds: (j,) to which their drives move them, rad/s or m/s; 0: none.
        previous_friction: (j,) impulses of friction in the step before, N·s or N·m·s.
        states: states of the bodies, by name.
        group: names of the bodies whose velocities are in ν, in this order.
        step: their motion without joints and contact.
        motion: the same, body by body.
    """
    bodies = JoinedBodies.of(joints, group, motion.poses, motion.inverses)
    matrix, errors, directions, owner, kinds, mobility = bodies.constraints()
    count = len(matrix)
    rows = [(matrix, -errors / step.dt, _CONSTRAINT_COMPLIANCE * mobility, kinds, directions)]
    limits: ContactRows | None = None
    names = [one.joint.name for one in joints]
    for k, (one, q) in enumerate(zip(joints, positions, strict=True)):
        joint = one.joint
        has_spring = bool(joint.stiffness or joint.damping or joint.detents is not None)
        has_limit = joint.limits is not None or bool(joint.friction)
        if not joint.is_movable or not (has_spring or has_limit or joint.gear in names):
            continue
        turning = np.array([joint.type == 'revolute'])
        axis = one.axis_in_map(states)
        axis_row = one.axis_row(states, group)
        if has_spring:
            torque, late = _drive(joint, q, step.dt, 1 / float(axis_row @ step.inverse @ axis_row))
            compliance = np.array([1 / (late * step.dt)])
            rows.append((axis_row[None], np.array([torque / late]), compliance, turning, axis))
        if has_limit:
            limits = _no_limits(2 * len(joints), len(step.free)) if limits is None else limits
            _add_limits(limits, k, joint, q, axis_row, step, previous_friction[k])
            limits.target[1, 2 * k] += speeds[k]
        if joint.gear in names:
            other = names.index(joint.gear)
            geared = axis_row - joints[other].axis_row(states, group)
            softness = np.array([_CONSTRAINT_COMPLIANCE * (geared @ step.inverse @ geared)])
            error = np.array([q - positions[other]])
            rows.append((geared[None], -error / step.dt, softness, turning, axis))
    is_loop = _has_loop(tuple((one.joint.child, one.joint.parent) for one in joints))
    matrix, target, compliance, angular, direction = (
        np.concatenate(parts) if len(parts) > 1 else parts[0] for parts in zip(*rows, strict=True)
    )
    return JointRows(
        matrix,
        target,
        compliance,
        np.concatenate([owner, np.full(len(matrix) - count, -1)]),
        angular,
        direction,
        _self_stress(matrix[:count], step, is_loop),
        bodies,
        limits,
    )


@lru_cache(maxsize=256)
def _has_loop(edges: tuple[tuple[str, str], ...]) -> bool:
    """Whether some of the edges between two names close a loop."""
    root: dict[str, str] = {}
    for ends in edges:
        one, other = (root_of(root, name) for name in ends)
        if one == other:
            return True
        root[one] = other
    return False


def root_of(parents: Mapping[str, str], name: str) -> str:
    """Return the last parent of a name; itself: it has none."""
    while name in parents:
        name = parents[name]
    return name


def _self_stress(constraints: np.ndarray, step: StepPrediction, is_loop: bool) -> np.ndarray:
    """Return :attr:`JointRows.self_stress` of constraints (h, n); without a loop there is none."""
    if not is_loop:
        return np.zeros((len(constraints), 0))
    gram = constraints @ step.inverse @ constraints.T
    scale = np.sqrt(np.diag(gram))
    stiffness, directions = np.linalg.eigh(gram / scale[:, None] / scale)
    return np.asarray(directions[:, stiffness < _DEPENDENT])


def _drive(joint: BodyJoint, q: float, dt: float, mass: float) -> tuple[float, float]:
    """Return the torque of spring and detents at q, and the resistance k' dt + c of the step.

    Only the stiffness beyond the stability limit of an explicit step of a mass, kg or kg·m², is
    implicit: the rest conserves energy, as a symplectic step does.
    """
    torque, stiffness = -joint.stiffness * (q - joint.rest), joint.stiffness
    if joint.detents is not None:
        detent_torque, detent_stiffness = joint.detents.torque(q)
        torque, stiffness = torque + detent_torque, stiffness + detent_stiffness
    resistance = max(stiffness * dt - mass / dt, 0.0) + joint.damping
    return torque, resistance or _MIN_RESISTANCE * mass / dt


def _no_limits(count: int, n: int) -> ContactRows:
    """Return rows of the contact solver without effect."""
    target = np.repeat([[-1.0], [0.0], [0.0]], count, axis=1)
    bounds = np.zeros((2, count))
    return ContactRows(
        np.zeros((3, count, n)), target, np.ones((3, count)), bounds, np.zeros(count), 0 * bounds
    )


def _add_limits(
    rows: ContactRows,
    number: int,
    joint: BodyJoint,
    q: float,
    along: np.ndarray,
    step: StepPrediction,
    previous_friction: float,
) -> None:
    """Write the stops and the friction of a joint at q into its two rows."""
    assert rows.fixed_bound is not None
    mobility = along @ step.inverse @ along
    low, high = joint.limits or (-np.inf, np.inf)
    for stop, sign, gap in ((2 * number, 1.0, q - low), (2 * number + 1, -1.0, high - q)):
        if np.isfinite(gap):
            rows.jacobian[0, stop] = sign * along
            rows.target[0, stop] = -gap / step.dt * (1.0 if gap > 0 else _EXIT)
            rows.compliance[0, stop] = _STOP_COMPLIANCE * mobility
    rows.jacobian[1, 2 * number] = along
    rows.compliance[1, 2 * number] = _BRISTLE * mobility
    rows.target[1, 2 * number] = _BRISTLE * mobility * previous_friction
    effort = joint.friction if joint.drive is None else joint.drive.effort
    rows.fixed_bound[0, 2 * number] = effort * step.dt
