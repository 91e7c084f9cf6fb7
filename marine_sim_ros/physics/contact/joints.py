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

and the contact solver uses M̃ and ν̃* in place of M and ν*. Only stops and friction are rows
of the contact solver, a stop as a normal, friction as a tangent with a fixed bound. A spring and a
damper c about the axis are a row with r = 1/(k' dt² + c dt) and b = τ/(k' dt + c), with the torque
τ = −k (q − q₀) now and k' = k − m/dt² where it is positive, m being the mass about the axis;
detents add theirs to τ and k. Sources: Ryckaert et al. (1977) for SHAKE; Catto (2011), "Soft
constraints", for the spring and damper of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.numerics import matrix_inverse
from marine_sim_ros.core.spatial import (
    cross,
    matrix_quaternion,
    quaternion_conjugate,
    quaternion_product,
    rotation_matrix,
    rotation_vector,
)
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.model.body_joints import BodyJoint
from marine_sim_ros.physics.arm.links import LinkPoses
from marine_sim_ros.physics.contact.detection import lever_rows
from marine_sim_ros.physics.contact.solver import ContactRows, contact_axes
from marine_sim_ros.physics.wrench_observer import StepPrediction

__all__ = ['HeldJoint', 'OpenMate', 'joint_rows']

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
_NO_AXES = np.zeros((0, 3))


class HeldJoint(NamedTuple):
    """A closed joint, with its points and axes in the frames of its two bodies.

    Attributes:
        joint: description of the joint.
        child: (3,) its point in the child's frame, m.
        parent: (3,) its point in the parent's frame, or in map.
        axis: (3,) its axis in the parent's frame.
        across: (2, 3) two unit vectors across it and each other, in the parent's frame.
        turn: (4,) attitude of the child in the parent's frame at zero.
    """

    joint: BodyJoint
    child: np.ndarray
    parent: np.ndarray
    axis: np.ndarray
    across: np.ndarray
    turn: np.ndarray

    @classmethod
    def at_start(cls, joint: BodyJoint, starts: Mapping[str, State]) -> HeldJoint:
        """Return a joint of bodies by their states at the start, by name."""
        child, parent = starts[joint.child], starts.get(joint.parent, _WORLD)
        back = rotation_matrix(parent.orientation).T
        axis = back @ joint.axis
        return cls(
            joint,
            rotation_matrix(child.orientation).T @ (joint.position - child.position),
            back @ (joint.position - parent.position),
            axis,
            contact_axes(axis[None, :], None)[1:, 0, :],
            quaternion_product(quaternion_conjugate(parent.orientation), child.orientation),
        )

    @classmethod
    def on_link(cls, joint: BodyJoint, links: LinkPoses | None) -> HeldJoint:
        """Return a joint on a link of its parent's arm in its present pose.

        The child's point is its origin, and its axes are those of the link.
        """
        assert links is not None
        rotation = np.asarray(links.rotation)[joint.link]
        axis = rotation @ joint.axis
        return cls(
            joint,
            np.zeros(3),
            np.asarray(links.translation)[joint.link] + rotation @ joint.position,
            axis,
            contact_axes(axis[None, :], None)[1:, 0, :],
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

    def errors(
        self, states: Mapping[str, State]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the constrained directions (k, 3) and axes (l, 3), and their errors (k,), (l,).

        Directions and axes are unit vectors in map; errors are in m and rad.
        """
        child, parent = self._ends(states)
        frame = rotation_matrix(parent.orientation)
        axis, across = frame @ self.axis, self.across @ frame.T
        directions = across if self.joint.type == 'prismatic' else np.eye(3)
        displacement = directions @ self._gap(states)
        if self.joint.type == 'ball':
            return directions, _NO_AXES, displacement, np.zeros(0)
        rotation = rotation_matrix(child.orientation)
        if (
            self.joint.type == 'revolute'
        ):  # only the direction of the axis: the angle about it is free
            child_axis = rotation @ (rotation_matrix(self.turn).T @ self.axis)
            return directions, across, displacement, across @ cross(axis, child_axis)
        target = quaternion_product(parent.orientation, self.turn)
        return (
            directions,
            np.eye(3),
            displacement,
            rotation @ rotation_vector(target, child.orientation),
        )

    def rows(
        self,
        states: Mapping[str, State],
        group: Sequence[str],
        directions: np.ndarray,
        *,
        angular: bool = False,
    ) -> np.ndarray:
        """Return the Jacobian (k, n) of the child's velocity relative to the parent's.

        Args:
            states: states of the bodies, by name.
            group: names of the bodies whose velocities are in ν, in this order.
            directions: (k, 3) unit vectors, map.
            angular: whether of the angular velocity about them, not of the velocity along them
                at its point of the child.
        """
        child, _ = self._ends(states)
        point = child.position + rotation_matrix(child.orientation) @ self.child
        result = np.zeros((len(directions), 6 * len(group)))
        for name, sign in ((self.joint.child, 1.0), (self.joint.parent, -1.0)):
            if name not in states:
                continue
            rotation, column = rotation_matrix(states[name].orientation), 6 * group.index(name)
            local = sign * (directions @ rotation)
            if angular:
                result[:, column + 3 : column + 6] = local
            else:
                lever = rotation.T @ (point - states[name].position)
                result[:, column : column + 6] = lever_rows(local, lever[None, :])
        return result

    def _ends(self, states: Mapping[str, State]) -> tuple[State, State]:
        """Return the states of the child and of the parent."""
        return states[self.joint.child], states.get(self.joint.parent, _WORLD)

    def _gap(self, states: Mapping[str, State]) -> np.ndarray:
        """Return the vector (3,) from its point of the parent to that of the child, map, m."""
        child, parent = self._ends(states)
        child_point = child.position + rotation_matrix(child.orientation) @ self.child
        return child_point - parent.position - rotation_matrix(parent.orientation) @ self.parent


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


class JointRows(NamedTuple):
    """Rows of joints by the velocities ν (n,) of a group of bodies.

    Attributes:
        matrix: E (m, n) constraints and springs.
        target: b (m,) m/s and rad/s.
        compliance: r (m,).
        owner: (m,) number of the joint of a constraint; −1: a spring.
        angular: (m,) whether a row is about an axis.
        direction: (m, 3) unit vector of a row, map.
        self_stress: (h, s) orthonormal basis of loads of the h constraints that balance each
            other, scaled by the square root of their compliance.
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
    limits: ContactRows | None

    def couple(
        self, step: StepPrediction, errors: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[StepPrediction, JointRows]:
        """Return the step M̃, ν̃* of joined bodies, and the rows with their b.

        Args:
            step: M and ν*.
            errors: function of ν (n,) after the step that returns the constraints' errors e (h,).
        """
        scaled_rows, target, is_constraint = (
            self.matrix.T / self.compliance,
            self.target.copy(),
            self.owner >= 0,
        )
        mass = step.mass + scaled_rows @ self.matrix
        inverse = np.asarray(matrix_inverse(mass))
        momentum = step.mass @ step.free
        for _ in range(_ROUNDS):
            free = inverse @ (momentum + scaled_rows @ target)
            target[is_constraint] = self._compatible(
                (self.matrix @ free)[is_constraint] - errors(free) / step.dt
            )
        free = inverse @ (momentum + scaled_rows @ target)
        return StepPrediction(mass, inverse, free, step.dt), self._replace(target=target)

    def _compatible(self, target: np.ndarray) -> np.ndarray:
        """Return the part of constraints' targets (h,) that motion can meet.

        The rest, of redundant constraints that disagree by rounding, would only press them
        against each other. Without it they share their load with the least Σ r λ².
        """
        if not self.self_stress.shape[1]:
            return target
        scale = np.sqrt(self.compliance[self.owner >= 0])
        basis = self.self_stress
        return np.asarray(target - scale * (basis @ (basis.T @ (target / scale))))

    def load(self, velocity: np.ndarray, dt: float) -> np.ndarray:
        """Return the load of each row (m,), N or N·m, by ν (n,) after a step."""
        return np.asarray((self.target - self.matrix @ velocity) / self.compliance / dt)

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
    """
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray, int, bool, np.ndarray]] = []
    limits, limited = _no_limits(2 * len(joints), len(step.free)), False
    names = [one.joint.name for one in joints]
    for k, (one, q) in enumerate(zip(joints, positions, strict=True)):
        directions, axes, displacement, rotation_error = one.errors(states)
        for lines, error, turning in (
            (directions, displacement, False),
            (axes, rotation_error, True),
        ):
            constraint = one.rows(states, group, lines, angular=turning)
            softness = _CONSTRAINT_COMPLIANCE * np.sum(
                (constraint @ step.inverse) * constraint, axis=1
            )
            rows.append((constraint, -error / step.dt, softness, k, turning, lines))
        joint = one.joint
        if not joint.is_movable:
            continue
        turning = joint.type == 'revolute'
        axis = one.axis_in_map(states)
        axis_row = one.rows(states, group, axis, angular=turning)
        if joint.stiffness or joint.damping or joint.detents is not None:
            mobility = float(axis_row[0] @ step.inverse @ axis_row[0])
            torque, late = _drive(joint, q, step.dt, 1 / mobility)
            compliance = np.array([1 / (late * step.dt)])
            rows.append((axis_row, np.array([torque / late]), compliance, -1, turning, axis))
        if joint.limits is not None or joint.friction:
            limited = True
            _add_limits(limits, k, joint, q, axis_row[0], step, previous_friction[k])
            limits.target[1, 2 * k] += speeds[k]
        if joint.gear in names:
            other = names.index(joint.gear)
            lines = joints[other].axis_in_map(states)
            geared = axis_row - joints[other].rows(states, group, lines)
            softness = _CONSTRAINT_COMPLIANCE * np.sum((geared @ step.inverse) * geared, axis=1)
            error = np.array([q - positions[other]])
            rows.append((geared, -error / step.dt, softness, -1, turning, axis))
    matrix = np.concatenate([r[0] for r in rows])
    owner = np.concatenate([np.full(len(r[0]), r[3]) for r in rows])
    is_loop = _has_loop([(one.joint.child, one.joint.parent) for one in joints])
    return JointRows(
        matrix,
        np.concatenate([r[1] for r in rows]),
        np.concatenate([r[2] for r in rows]),
        owner,
        np.concatenate([np.full(len(r[0]), r[4]) for r in rows]),
        np.concatenate([r[5] for r in rows]),
        _self_stress(matrix[owner >= 0], step, is_loop),
        limits if limited else None,
    )


def _has_loop(edges: Sequence[tuple[str, str]]) -> bool:
    """Whether some of the edges between two names close a loop."""
    root: dict[str, str] = {}
    for ends in edges:
        one, other = (_root(root, name) for name in ends)
        if one == other:
            return True
        root[one] = other
    return False


def _root(parents: Mapping[str, str], name: str) -> str:
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
