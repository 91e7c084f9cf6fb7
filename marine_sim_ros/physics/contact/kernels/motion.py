# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled motion of a group of bodies within one step."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import (
    add_cross,
    add_product,
    add_skew,
    exponentiate,
    kernel,
    move_momentum,
    multiply_quaternions,
    set_rotation,
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
    for i in range(vectors.shape[1]):
        velocity, free, unforced, space = (
            vectors[0, i],
            vectors[1, i],
            vectors[2, i],
            vectors[3, i],
        )
        base, momentum, start = vectors[4, i], vectors[5, i], vectors[7, i]
        start[:], momentum[:] = free, 0.0
        add_product(-dt, matrices[2, i], space, start)
        add_product(1.0, matrices[0, i], velocity, momentum)
        base[:] = dt * start
        if conserving[i]:
            base += dt / 2 * (velocity - unforced)
        exponentiate(base, quaternion, rotation, translation)
        move_momentum(momentum, rotation, translation, vectors[6, i])
        if not conserving[i]:
            rotation[:] = np.eye(3)
        for source in range(1, 3):
            _turn_blocks(rotation, matrices[source, i], matrices[source + 2, i])
        turned = np.zeros(6)
        add_product(1.0, rotation, start[:3], turned[:3])
        add_product(1.0, rotation, start[3:], turned[3:])
        start[:] = turned
        add_product(dt, matrices[4, i], space, start)


@kernel
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
    wrenches, velocities, changes = np.empty((count, 6)), np.empty((count, 6)), np.zeros(count)
    ends, total = poses.copy(), vectors[3] + wrench
    for i in range(count):
        changes[i] = _advance_body(
            ends[i], passive[i], vectors[:, i], matrices[:, i], total[i], wrenches[i],
            velocities[i], dt, max_iterations,
        )  # fmt: skip
    return wrenches, ends, velocities, changes


@kernel
def _advance_body(
    pose, passive, vectors, matrices, wrench, reported, velocity, dt, max_iterations
):
    """Move one body; return the relative change of its last iteration, or 0."""
    momentum = vectors[5] + dt * wrench
    magnitude = np.max(np.abs(momentum)) / dt
    base, response = vectors[4].copy(), dt * dt * matrices[2]
    displacement, moved, twist = np.zeros(3), np.empty(6), np.empty(6)
    rotation, translation, turn = np.empty((3, 3)), np.empty(3), np.empty(4)
    if passive:
        exponentiate(base, turn, rotation, displacement)
        add_product(dt * dt, matrices[4, :3], wrench, displacement)
        add_cross(-1.0, displacement, momentum[:3], momentum[3:])
        base[:3], response[:3] = 0.0, 0.0
    reported[:] = wrench
    change = 0.0
    for _ in range(max_iterations):
        twist[:] = base
        add_product(1.0, response, reported, twist)
        exponentiate(twist, turn, rotation, translation)
        move_momentum(momentum, rotation, translation, moved)
        correction = (moved - vectors[6]) / dt - reported
        _solve_transport(moved, twist, response, correction, dt)
        reported += correction
        change = np.max(np.abs(correction))
        if change <= 1e-15 * magnitude:
            change = 0.0
            break
    twist[:] = base
    add_product(1.0, response, reported, twist)
    exponentiate(twist, turn, rotation, translation)
    reported -= vectors[3]
    velocity[:] = vectors[1]
    add_product(dt, matrices[2], reported, velocity)
    set_rotation(pose[3:], rotation)
    add_product(1.0, rotation, translation + displacement, pose[:3])
    quaternion = np.empty(4)
    multiply_quaternions(pose[3:], turn, quaternion)
    pose[3:] = quaternion / np.sqrt(np.sum(quaternion * quaternion))
    return change / magnitude if change > 0.0 else 0.0


@kernel
def _solve_transport(moved, twist, response, residual, dt):
    """Replace a residual (6,) by the solution of (1 − ∂P⁺/∂ξ response / dt) x = residual."""
    rate, adjoint = np.zeros((6, 6)), np.eye(6)
    add_skew(1.0, moved[:3], rate[:3, 3:])
    add_skew(1.0, moved[:3], rate[3:, :3])
    add_skew(1.0, moved[3:], rate[3:, 3:])
    add_skew(-0.5, twist[3:], adjoint[:3, :3])
    add_skew(-0.5, twist[:3], adjoint[:3, 3:])
    add_skew(-0.5, twist[3:], adjoint[3:, 3:])
    product, matrix = np.zeros((6, 6)), np.eye(6)
    for i in range(6):
        add_product(1.0, adjoint, response[:, i].copy(), product[:, i])
    for i in range(6):
        add_product(-1.0 / dt, rate, product[:, i].copy(), matrix[:, i])
    for k in range(6):  # by elimination with exchange of rows
        pivot = k + np.argmax(np.abs(matrix[k:, k]))
        for j in range(6):
            matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        residual[k], residual[pivot] = residual[pivot], residual[k]
        for i in range(k + 1, 6):
            factor = matrix[i, k] / matrix[k, k]
            matrix[i, k:] -= factor * matrix[k, k:]
            residual[i] -= factor * residual[k]
    for k in range(5, -1, -1):
        for j in range(k + 1, 6):
            residual[k] -= matrix[k, j] * residual[j]
        residual[k] /= matrix[k, k]
