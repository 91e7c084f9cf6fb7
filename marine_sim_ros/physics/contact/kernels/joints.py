# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled joints of a group of bodies.

k bodies have n = 6 k velocities. Matrices (n, n) are factored within their profile, the first
element of each row and column, so that a chain or a stack costs in proportion to its bodies.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import (
    add_cross,
    add_product,
    factor,
    kernel,
    multiply_quaternions,
    set_rotation,
    solve,
)
from marine_sim_ros.physics.contact.kernels.motion import advance_bodies

__all__ = ['constraint_rows', 'couple_bodies']


@kernel
def _joint_errors(joint, child, parent, error, direction):
    """Write errors (6,) and directions (6, 3) of a joint's constraints; return their two numbers.

    Args:
        joint: (20,) number of the type as in :func:`constraint_rows`, points of child and parent,
            axis, two vectors across it, and attitude at zero.
        child: (7,) pose of the child.
        parent: (7,) of the parent.
    """
    kind, own = int(joint[0]), np.empty((3, 3))
    frame, at_zero, gap = np.empty((3, 3)), np.empty((3, 3)), child[:3] - parent[:3]
    set_rotation(child[3:], own)
    set_rotation(parent[3:], frame)
    add_product(1.0, own, joint[1:4], gap)
    add_product(-1.0, frame, joint[4:7], gap)
    linear, angular = (2 if kind == 2 else 3), (0, 2, 3, 3)[kind]
    direction[:] = 0.0
    for i in range(linear):
        if kind == 2:
            add_product(1.0, frame, joint[10 + 3 * i : 13 + 3 * i], direction[i])
        else:
            direction[i, i] = 1.0
        error[i] = np.sum(direction[i] * gap)
    if kind == 1:
        axis, along, child_axis = np.zeros(3), np.zeros(3), np.zeros(3)
        set_rotation(joint[16:], at_zero)
        add_product(1.0, at_zero.T, joint[7:10], along)
        add_product(1.0, own, along, child_axis)
        add_product(1.0, frame, joint[7:10], axis)
        turned = np.zeros(3)
        add_cross(1.0, axis, child_axis, turned)
        for i in range(2):
            add_product(1.0, frame, joint[10 + 3 * i : 13 + 3 * i], direction[linear + i])
            error[linear + i] = np.sum(direction[linear + i] * turned)
    elif angular:
        target, difference = np.empty(4), np.empty(4)
        multiply_quaternions(parent[3:], joint[16:], target)
        target[:3] *= -1.0
        multiply_quaternions(target, child[3:], difference)
        if difference[3] < 0.0:
            difference *= -1.0
        sine = np.sqrt(np.sum(difference[:3] * difference[:3]))
        scale = 2.0 if sine < 1e-12 else 2.0 * np.arctan2(sine, difference[3]) / sine
        error[linear : linear + 3] = 0.0
        add_product(scale, own, difference[:3], error[linear : linear + 3])
        for i in range(3):
            direction[linear + i, i] = 1.0
    return linear, angular


@kernel
def _joint_gaps(joints, ends, poses):
    """Return the errors (h,) of all constraints."""
    result, error, direction = np.empty(6 * len(joints)), np.empty(6), np.empty((6, 3))
    count, world = 0, np.zeros(7)
    world[6] = 1.0
    for k in range(len(joints)):
        parent = poses[ends[k, 1]] if ends[k, 1] >= 0 else world
        linear, angular = _joint_errors(joints[k], poses[ends[k, 0]], parent, error, direction)
        result[count : count + linear + angular] = error[: linear + angular]
        count += linear + angular
    return result[:count]


@kernel
def constraint_rows(joints, ends, poses, inverses):
    """Return rows (h, n) of constraints, errors, directions (h, 3), joints, kinds, mobilities.

    A kind is 1 of a row about an axis, 0 of one along a direction; a mobility is e M⁻¹ eᵀ.

    Args:
        joints: (j, 20) types (0 ball, 1 revolute, 2 prismatic, 3 fixed) and geometry.
        ends: (j, 2) numbers of child and parent; −1: the world.
        poses: (k, 7) position and quaternion of the bodies.
        inverses: (k, 6, 6) of M.
    """
    size = 6 * len(joints)
    rows, errors, directions = (
        np.zeros((size, 6 * len(poses))),
        np.empty(size),
        np.empty((size, 3)),
    )
    owner, kinds = np.empty(size, np.int64), np.zeros(size, np.bool_)
    mobility, product = np.zeros(size), np.empty(6)
    world, rotation, local = np.zeros(7), np.empty((3, 3)), np.empty(3)
    world[6] = 1.0
    count = 0
    for k in range(len(joints)):
        child = poses[ends[k, 0]]
        parent = poses[ends[k, 1]] if ends[k, 1] >= 0 else world
        linear, angular = _joint_errors(
            joints[k], child, parent, errors[count : count + 6], directions[count : count + 6]
        )
        point = child[:3].copy()
        set_rotation(child[3:], rotation)
        add_product(1.0, rotation, joints[k, 1:4], point)
        for side in range(2):
            body = ends[k, side]
            if body < 0:
                continue
            sign, lever = (1.0, -1.0)[side], np.zeros(3)
            set_rotation(poses[body, 3:], rotation)
            add_product(1.0, rotation.T, point - poses[body, :3], lever)
            for i in range(count, count + linear + angular):
                local[:] = 0.0
                add_product(sign, rotation.T, directions[i], local)
                row = rows[i, 6 * body : 6 * body + 6]
                if i < count + linear:
                    row[:3] = local
                    add_cross(1.0, lever, local, row[3:])
                else:
                    row[3:] = local
                product[:] = 0.0
                add_product(1.0, inverses[body], row, product)
                mobility[i] += np.sum(row * product)
        owner[count : count + linear + angular] = k
        kinds[count + linear : count + linear + angular] = True
        count += linear + angular
    return (
        rows[:count], errors[:count], directions[:count], owner[:count], kinds[:count],
        mobility[:count],
    )  # fmt: skip


@kernel
def couple_bodies(
    inverses, free, rows, target, compliance, self_stress, joints, ends, poses, passive, vectors,
    matrices, dt, max_iterations, rounds,
):  # fmt: skip
    """Return λ (m,) of joints, ν̃* (n,), E M⁻¹ (m, n), and S (m, m) of S λ = b − E ν*.

    S = E M⁻¹ Eᵀ + r is as well-conditioned as the joints are, M + Eᵀ r⁻¹ E only as their stiffness
    allows. b of the constraints is found as in SHAKE.

    Args:
        inverses: (k, 6, 6) of M in the axes before the step.
        free: ν* (n,) in these axes.
        rows: E (m, n), the h constraints first.
        target: b (m,).
        compliance: r (m,).
        self_stress: (h, s) of :class:`~marine_sim_ros.physics.contact.joints.JointRows`.
        joints: of :func:`constraint_rows`, like ``ends`` and ``poses``.
        passive: of :func:`advance_bodies`, like the others.
        rounds: number of iterations for b.
    """
    bodies, count, constraints = len(poses), len(rows), len(self_stress)
    target, response, coupling = target.copy(), np.zeros(rows.shape), np.zeros((count, count))
    lines, responses = rows.reshape(count, bodies, 6), response.reshape(count, bodies, 6)
    moves = np.zeros((count, bodies), np.bool_)
    for i in range(count):
        for body in range(bodies):
            moves[i, body] = np.any(lines[i, body] != 0.0)
            if moves[i, body]:
                add_product(1.0, inverses[body], lines[i, body], responses[i, body])
                for j in range(i + 1):
                    if moves[j, body]:
                        coupling[i, j] += np.sum(lines[i, body] * responses[j, body])
        coupling[i, i] += compliance[i]
        coupling[:i, i] = coupling[i, :i]
    factors = coupling.copy()
    first, wrench, speeds = factor(factors), np.empty(rows.shape[1]), np.zeros(count)
    impulse = speeds
    add_product(1.0, rows, free, speeds)
    for iteration in range(rounds + 1):
        impulse = solve(factors, first, target - speeds)
        if iteration == rounds:
            break
        wrench[:] = 0.0
        add_product(1.0 / dt, rows.T, impulse, wrench)
        moved = advance_bodies(
            poses, passive, vectors, matrices, wrench.reshape(bodies, 6), dt, max_iterations
        )[1]
        for i in range(constraints):  # E ν = b − r λ
            target[i] -= compliance[i] * impulse[i]
        target[:constraints] -= _joint_gaps(joints, ends, moved) / dt
        scale = np.sqrt(compliance[:constraints])
        for s in range(self_stress.shape[1]):
            stress = np.sum(self_stress[:, s] * target[:constraints] / scale)
            target[:constraints] -= stress * scale * self_stress[:, s]
    joined = free.copy()
    add_product(1.0, response.T, impulse, joined)
    return impulse, joined, response, coupling
