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
    add_transposed_product,
    factor,
    inner_kernel,
    inner_product,
    kernel,
    multiply_quaternions,
    set_rotation,
    solve,
)
from marine_sim_ros.physics.contact.kernels.motion import advance_bodies

__all__ = ['constraint_rows', 'couple_bodies']


@inner_kernel
def _joint_errors(joint, child, parent, error, direction):
    """Write errors (6,) and directions (6, 3) of a joint's constraints; return their two numbers.

    Args:
        joint: (20,) number of the type as in :func:`constraint_rows`, points of child and parent,
            axis, two vectors across it, and attitude at zero.
        child: (7,) pose of the child.
        parent: (7,) of the parent.
    """
    kind, own, frame, gap = int(joint[0]), np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    set_rotation(child[3:], own)
    set_rotation(parent[3:], frame)
    for i in range(3):
        gap[i] = child[i] - parent[i]
    add_product(1.0, own, joint[1:4], gap)
    add_product(-1.0, frame, joint[4:7], gap)
    linear, angular = (2 if kind == 2 else 3), (0, 2, 3, 3)[kind]
    for i in range(6):
        error[i] = direction[i, 0] = direction[i, 1] = direction[i, 2] = 0.0
    for i in range(linear):
        if kind == 2:
            add_product(1.0, frame, joint[10 + 3 * i : 13 + 3 * i], direction[i])
        else:
            direction[i, i] = 1.0
        error[i] = inner_product(direction[i], gap)
    if kind == 1:
        _add_axis_errors(joint, own, frame, error[3:], direction[3:])
    elif angular:
        _add_attitude_errors(joint, child, parent, own, error[linear:], direction[linear:])
    return linear, angular


@inner_kernel
def _add_axis_errors(joint, own, frame, error, direction):
    """Add the two errors and directions of a hinge's axis to zeros."""
    rotation, lines = np.empty((3, 3)), np.zeros((4, 3))
    axis, along, child_axis, turned = lines[0], lines[1], lines[2], lines[3]
    set_rotation(joint[16:], rotation)
    add_transposed_product(1.0, rotation, joint[7:10], along)
    add_product(1.0, own, along, child_axis)
    add_product(1.0, frame, joint[7:10], axis)
    add_cross(1.0, axis, child_axis, turned)
    for i in range(2):
        add_product(1.0, frame, joint[10 + 3 * i : 13 + 3 * i], direction[i])
        error[i] = inner_product(direction[i], turned)


@inner_kernel
def _add_attitude_errors(joint, child, parent, own, error, direction):
    """Add the rotation from the attitude of a fixed or prismatic joint, and its axes, to zeros."""
    quaternions = np.empty((2, 4))
    target, difference = quaternions[0], quaternions[1]
    multiply_quaternions(parent[3:], joint[16:], target)
    for i in range(3):
        target[i] *= -1.0
        direction[i, i] = 1.0
    multiply_quaternions(target, child[3:], difference)
    sign = -1.0 if difference[3] < 0.0 else 1.0
    vector = difference[:3]
    sine, cosine = np.sqrt(inner_product(vector, vector)), sign * difference[3]
    scale = 2.0 if sine < 1e-12 else 2.0 * np.arctan2(sine, cosine) / sine
    add_product(sign * scale, own, vector, error)


@inner_kernel
def _joint_gaps(joints, ends, poses):
    """Return the errors (h,) of all constraints."""
    result, error, direction = np.empty(6 * len(joints)), np.empty(6), np.empty((6, 3))
    count, world = 0, np.zeros(7)
    world[6] = 1.0
    for k in range(len(joints)):
        parent = poses[ends[k, 1]] if ends[k, 1] >= 0 else world
        linear, angular = _joint_errors(joints[k], poses[ends[k, 0]], parent, error, direction)
        for i in range(linear + angular):
            result[count + i] = error[i]
        count += linear + angular
    return result[:count]


@kernel
def constraint_rows(joints, ends, poses, inverses):
    """Return rows (h, n) of constraints, directions (h, 3), and four numbers of each (4, h).

    These are error, mobility e M⁻¹ eᵀ, number of the joint, and whether the row is about an axis.

    Args:
        joints: (j, 20) types (0 ball, 1 revolute, 2 prismatic, 3 fixed) and geometry.
        ends: (j, 2) numbers of child and parent; −1: the world.
        poses: (k, 7) position and quaternion of the bodies.
        inverses: (k, 6, 6) of M.
    """
    size = 6 * len(joints)
    rows, directions = np.zeros((size, 6 * len(poses))), np.empty((size, 3))
    found = np.zeros((4, size))
    errors, mobility, owner, kinds = found[0], found[1], found[2], found[3]
    product = np.empty(6)
    world, rotation, lines = np.zeros(7), np.empty((3, 3)), np.empty((3, 3))
    point, offset, lever = lines[0], lines[1], lines[2]
    world[6] = 1.0
    count = 0
    for k in range(len(joints)):
        child = poses[ends[k, 0]]
        parent = poses[ends[k, 1]] if ends[k, 1] >= 0 else world
        linear, angular = _joint_errors(
            joints[k], child, parent, errors[count : count + 6], directions[count : count + 6]
        )
        for i in range(3):
            point[i] = child[i]
        set_rotation(child[3:], rotation)
        add_product(1.0, rotation, joints[k, 1:4], point)
        for side in range(2):
            body, sign = ends[k, side], 1.0 if side == 0 else -1.0
            if body < 0:
                continue
            set_rotation(poses[body, 3:], rotation)
            for i in range(3):
                offset[i], lever[i] = point[i] - poses[body, i], 0.0
            add_transposed_product(1.0, rotation, offset, lever)
            for i in range(count, count + linear + angular):
                mobility[i] += _set_row(
                    sign, i >= count + linear, directions[i], rotation, lever, inverses[body],
                    rows[i, 6 * body : 6 * body + 6], product,
                )  # fmt: skip
        for i in range(count, count + linear + angular):
            owner[i], kinds[i] = k, 1.0 if i >= count + linear else 0.0
        count += linear + angular
    return rows[:count], directions[:count], found[:, :count]


@inner_kernel
def _set_row(sign, is_angular, direction, rotation, lever, inverse, row, product):
    """Write the row (6,) of a constraint, from zeros; return its mobility. ``product`` is (6,)."""
    for i in range(6):
        product[i] = 0.0
    if is_angular:
        add_transposed_product(sign, rotation, direction, row[3:])
    else:
        add_transposed_product(sign, rotation, direction, row[:3])
        add_cross(1.0, lever, row[:3], row[3:])
    add_product(1.0, inverse, row, product)
    return inner_product(row, product)


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
    bodies, constraints = len(poses), len(self_stress)
    target, speeds, right = target.copy(), np.zeros(len(rows)), np.empty(len(rows))
    response, coupling = _couple(inverses, rows, compliance)
    factors, wrench, impulse = coupling.copy(), np.empty((bodies, 6)), right
    first = factor(factors)
    add_product(1.0, rows, free, speeds)
    for iteration in range(rounds + 1):
        for i in range(len(rows)):
            right[i] = target[i] - speeds[i]
        impulse = solve(factors, first, right)
        if iteration == rounds:
            break
        _set_wrenches(rows, impulse, dt, wrench)
        moved = advance_bodies(poses, passive, vectors, matrices, wrench, dt, max_iterations)[1]
        gaps = _joint_gaps(joints, ends, moved)
        for i in range(constraints):  # E ν = b − r λ
            target[i] -= compliance[i] * impulse[i]
            target[i] -= gaps[i] / dt
        _remove_self_stress(self_stress, compliance, target)
    joined = free.copy()
    add_transposed_product(1.0, response, impulse, joined)
    return impulse, joined, response, coupling


@inner_kernel
def _couple(inverses, rows, compliance):
    """Return E M⁻¹ (m, n) and E M⁻¹ Eᵀ + r (m, m)."""
    count, bodies = len(rows), len(inverses)
    response, coupling = np.zeros(rows.shape), np.zeros((count, count))
    moves = np.zeros((count, bodies), np.bool_)
    for i in range(count):
        for body in range(bodies):
            part = slice(6 * body, 6 * body + 6)
            for column in range(6 * body, 6 * body + 6):
                moves[i, body] |= rows[i, column] != 0.0
            if moves[i, body]:
                add_product(1.0, inverses[body], rows[i, part], response[i, part])
                for j in range(i + 1):
                    if moves[j, body]:
                        coupling[i, j] += inner_product(rows[i, part], response[j, part])
        coupling[i, i] += compliance[i]
        for j in range(i):
            coupling[j, i] = coupling[i, j]
    return response, coupling


@inner_kernel
def _set_wrenches(rows, impulse, dt, wrench):
    """Write the wrenches (k, 6) of impulses (m,) over a step."""
    for column in range(rows.shape[1]):
        total = 0.0
        for i in range(len(rows)):
            total += rows[i, column] * impulse[i]
        wrench[column // 6, column % 6] = 1.0 / dt * total


@inner_kernel
def _remove_self_stress(self_stress, compliance, target):
    """Remove from b (m,) what redundant constraints would only press each other with."""
    for s in range(self_stress.shape[1]):
        stress = 0.0
        for i in range(len(self_stress)):
            stress += self_stress[i, s] * target[i] / np.sqrt(compliance[i])
        for i in range(len(self_stress)):
            target[i] -= stress * np.sqrt(compliance[i]) * self_stress[i, s]
