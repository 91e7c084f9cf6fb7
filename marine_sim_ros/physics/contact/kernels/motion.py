# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled motion of a group of bodies within one step."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import (
    add_cross,
    add_matrix_product,
    add_product,
    exponentiate,
    inner_kernel,
    inner_product,
    kernel,
    move_momentum,
    multiply_quaternions,
    set_rotation,
    set_transport_gradient,
)

__all__ = ['advance_bodies', 'start_motion']


@kernel
def start_motion(vectors, matrices, conserving, dt):
    """Write what a step of k bodies needs besides its wrenches.

    Args:
        vectors: (8, k, 6): ν, ν* of the step and ν after it without any wrench, weight and
            buoyancy; written: the twist without ``space_wrench`` and contacts, momentum before the
            step, in the axes after that twist, and ν* in the axes before the step.
        matrices: (5, k, 6, 6): M, M + dt D and its inverse; written: these two in the axes before
            the step.
        conserving: (k,) whether a body's integrator is the conserving one.
        dt: step, s.
    """
    rotation, translation, quaternion = np.empty((3, 3)), np.empty(3), np.empty(4)
    turned = np.empty(6)
    for i in range(vectors.shape[1]):
        base, momentum, start = vectors[4, i], vectors[5, i], vectors[7, i]
        for k in range(6):
            start[k], momentum[k], turned[k] = vectors[1, i, k], 0.0, 0.0
        add_product(-dt, matrices[2, i], vectors[3, i], start)
        add_product(1.0, matrices[0, i], vectors[0, i], momentum)
        for k in range(6):
            base[k] = dt * start[k]
            if conserving[i]:
                base[k] += dt / 2 * (vectors[0, i, k] - vectors[2, i, k])
        exponentiate(base, quaternion, rotation, translation)
        move_momentum(momentum, rotation, translation, vectors[6, i])
        for k in range(9):
            if not conserving[i]:
                rotation[k // 3, k % 3] = 1.0 if k % 4 == 0 else 0.0
        for source in range(1, 3):
            _turn_blocks(rotation, matrices[source, i], matrices[source + 2, i])
        add_product(1.0, rotation, start[:3], turned[:3])
        add_product(1.0, rotation, start[3:], turned[3:])
        for k in range(6):
            start[k] = turned[k]
        add_product(dt, matrices[4, i], vectors[3, i], start)


@inner_kernel
def _turn_blocks(rotation, matrix, result):
    """Write T A Tᵀ of a matrix (6, 6), with T of one rotation in both blocks."""
    for row in range(0, 6, 3):
        for column in range(0, 6, 3):
            for i in range(3):
                for j in range(3):
                    total = 0.0
                    for p in range(3):
                        for q in range(3):
                            element = matrix[row + p, column + q]
                            total += rotation[i, p] * element * rotation[j, q]
                    result[row + i, column + j] = total


@kernel
def advance_bodies(poses, passive, vectors, matrices, wrench, dt, max_iterations):
    """Return the integrators' wrenches (k, 6), poses and velocities after a step, and changes.

    The changes (k,) of the last iteration are relative to the momentum over the step; 0: the
    iteration of a body has converged.

    Args:
        poses: (k, 7) position and quaternion.
        passive: (k,) whether a body moves by this prediction.
        vectors: of :func:`start_motion`, like the matrices.
        wrench: (k, 6) of contacts and joints, in the axes before the step.
        dt: step, s.
        max_iterations: largest number of iterations.
    """
    count = len(poses)
    wrenches, velocities, changes = np.empty((count, 6)), np.empty((count, 6)), np.empty(count)
    ends = poses.copy()
    for i in range(count):
        for k in range(6):
            wrenches[i, k] = vectors[3, i, k] + wrench[i, k]
        changes[i] = _advance_body(
            i, ends[i], passive[i], vectors, matrices, wrenches[i], velocities[i], dt,
            max_iterations,
        )  # fmt: skip
    return wrenches, ends, velocities, changes


@inner_kernel
def _advance_body(body, pose, passive, vectors, matrices, wrench, velocity, dt, max_iterations):
    """Move a body; return the relative change of the last iteration, or 0.

    Its total wrench (6,) is replaced by that of the integrator.
    """
    rows, lines, rotation, response = (
        np.empty((5, 6)),
        np.empty((3, 4)),
        np.empty((3, 3)),
        np.empty((6, 6)),
    )
    momentum, base, moved, twist, correction = rows[0], rows[1], rows[2], rows[3], rows[4]
    translation, displacement, turn, magnitude = lines[0, :3], lines[1, :3], lines[2], 0.0
    displacement[:] = 0.0
    for i in range(6):
        momentum[i], base[i] = vectors[5, body, i] + dt * wrench[i], vectors[4, body, i]
        magnitude = max(magnitude, abs(momentum[i]) / dt)
        for j in range(6):
            response[i, j] = dt * dt * matrices[2, body, i, j]
    if passive:
        exponentiate(base, turn, rotation, displacement)
        add_product(dt * dt, matrices[4, body, :3], wrench, displacement)
        base[:3], response[:3] = 0.0, 0.0
        add_cross(-1.0, displacement, momentum[:3], momentum[3:])
    change = 0.0
    for _ in range(max_iterations):
        _set_displacement(base, response, wrench, twist, turn, rotation, translation)
        move_momentum(momentum, rotation, translation, moved)
        for i in range(6):
            correction[i] = (moved[i] - vectors[6, body, i]) / dt - wrench[i]
        _solve_transport(moved, twist, response, correction, dt)
        change = 0.0
        for i in range(6):
            wrench[i] += correction[i]
            change = max(change, abs(correction[i]))
        if change <= 1e-15 * magnitude:
            change = 0.0
            break
    _set_displacement(base, response, wrench, twist, turn, rotation, translation)
    for i in range(6):
        wrench[i] -= vectors[3, body, i]
        velocity[i] = vectors[1, body, i]
    add_product(dt, matrices[2, body], wrench, velocity)
    _displace(pose, rotation, translation, displacement, turn)
    return change / magnitude if change > 0.0 else 0.0


@inner_kernel
def _set_displacement(base, response, wrench, twist, turn, rotation, translation):
    """Write the twist over a step under a wrench, and its exponential."""
    for i in range(6):
        twist[i] = base[i]
    add_product(1.0, response, wrench, twist)
    exponentiate(twist, turn, rotation, translation)


@inner_kernel
def _displace(pose, rotation, translation, displacement, turn):
    """Displace a pose (7,) by two translations (3,) and a quaternion in its own axes."""
    quaternion = np.empty(4)
    set_rotation(pose[3:], rotation)
    for i in range(3):
        translation[i] += displacement[i]
    add_product(1.0, rotation, translation, pose[:3])
    multiply_quaternions(pose[3:], turn, quaternion)
    length = np.sqrt(inner_product(quaternion, quaternion))
    for i in range(4):
        pose[3 + i] = quaternion[i] / length


@inner_kernel
def _solve_transport(moved, twist, response, residual, dt):
    """Replace a residual (6,) by the solution of (1 − ∂P⁺/∂ξ response / dt) x = residual."""
    blocks = np.zeros((4, 6, 6))
    rate, adjoint, product, matrix = blocks[0], blocks[1], blocks[2], blocks[3]
    for i in range(6):
        matrix[i, i] = 1.0
    set_transport_gradient(moved, twist, rate, adjoint)
    add_matrix_product(1.0, adjoint, response, product)
    add_matrix_product(-1.0 / dt, rate, product, matrix)
    for k in range(6):  # by elimination with exchange of rows
        pivot = k
        for i in range(k + 1, 6):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        for j in range(6):
            matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        residual[k], residual[pivot] = residual[pivot], residual[k]
        for i in range(k + 1, 6):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k, 6):
                matrix[i, j] -= factor * matrix[k, j]
            residual[i] -= factor * residual[k]
    for k in range(5, -1, -1):
        for j in range(k + 1, 6):
            residual[k] -= matrix[k, j] * residual[j]
        residual[k] /= matrix[k, k]
