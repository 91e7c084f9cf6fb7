# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled prediction of a step of passive bodies: lumped drag, weight, buoyancy, no contact.

The equations are those of ``state_terms`` (physics/wrench_observer.py) and ``unforced_velocity``
(physics/rigid_body.py), which serve all array libraries. Each body iterates by itself.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import (
    add_matrix_product,
    add_product,
    exponentiate,
    inner_kernel,
    kernel,
    move_momentum,
    set_rotation,
    set_transport_gradient,
)
from marine_sim_ros.physics.contact.kernels.motion import start_motion

__all__ = ['predict_bodies', 'static_wrenches']

_TOLERANCE = 1e-15
"""Change of an iteration, as a fraction of the velocity, at which it ends."""


@kernel
def static_wrenches(levers, lumped, density, poses, gravity):
    """Return weight and lumped buoyancy (b, 6) in flat water, as ``weight`` and ``buoyancy``.

    Args:
        levers: (b, 2, 6, 3) of the centres of mass and of volume.
        lumped: (b, 3) mass, kg, volume, m³, and the height over which buoyancy is lost, m.
        density: (b,) of the water, kg/m³.
        poses: (b, 7) position and quaternion.
        gravity: g, m/s².
    """
    result, rotation, force = np.zeros((len(poses), 6)), np.empty((3, 3)), np.empty(3)
    for b in range(len(poses)):
        mass, volume, height = lumped[b, 0], lumped[b, 1], lumped[b, 2]
        submerged = min(max((height / 2 - poses[b, 2]) / height, 0.0), 1.0)
        set_rotation(poses[b, 3:], rotation)
        for part in range(2):
            lift = -mass if part == 0 else density[b] * volume * submerged
            for i in range(3):
                force[i] = gravity * lift * rotation[2, i]
            add_product(1.0, levers[b, part], force, result[b])
    return result


@inner_kernel
def _invert(matrix, result):
    """Write the inverse of a matrix (6, 6), which is lost, by elimination with row exchange."""
    size = len(matrix)
    for i in range(size):
        for j in range(size):
            result[i, j] = 1.0 if i == j else 0.0
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        scale = 1.0 / matrix[pivot, k]
        for j in range(size):
            row, other = matrix[pivot, j], matrix[k, j]
            matrix[k, j], matrix[pivot, j] = row * scale, other if pivot != k else row * scale
            row, other = result[pivot, j], result[k, j]
            result[k, j], result[pivot, j] = row * scale, other if pivot != k else row * scale
        for i in range(size):
            weight = matrix[i, k]
            if i != k and weight != 0.0:
                for j in range(size):
                    matrix[i, j] -= weight * matrix[k, j]
                    result[i, j] -= weight * result[k, j]


@inner_kernel
def _add_gradient(factor, moved, twist, scratch, result):
    """Add a multiple of ∂P⁺/∂ξ (6, 6), as ``transport_gradient`` of physics/rigid_body.py."""
    rate, adjoint = scratch[0], scratch[1]
    set_transport_gradient(moved, twist, rate, adjoint)
    add_matrix_product(factor, rate, adjoint, result)


@inner_kernel
def _unforced_velocity(nu, water, momenta, wave_impulse, mass, dt, max_iterations, free):
    """Write ν_c (6,) after a step without forces; return the relative change of the last step.

    Args:
        nu: ν (6,).
        water: velocity of the water (6,), body axes.
        momenta: (2, 6) of the body, and of the water that moves with it.
        wave_impulse: (6,) of the water's acceleration.
        mass: M (6, 6).
        dt: step, s.
        max_iterations: largest number.
        free: ν_c.
    """
    change, step, moved = np.empty(6), np.empty(6), np.empty((2, 2, 6))
    scratch, matrix, inverse = np.empty((2, 6, 6)), mass.copy(), np.empty((6, 6))
    parts = 1
    for i in range(6):
        free[i] = nu[i]
        parts = 2 if momenta[1, i] != 0.0 else parts
    relative = 1.0
    for iteration in range(max_iterations):
        for i in range(6):
            change[i], step[i] = wave_impulse[i], nu[i] - free[i]
        add_product(1.0, mass, step, change)
        _move_momenta(nu, free, water, momenta[:parts], dt, moved, change)
        if iteration == 0:
            for part in range(parts):
                _add_gradient(-dt / 2, moved[part, 0], moved[part, 1], scratch, matrix)
            _invert(matrix, inverse)
        relative = _improve(inverse, change, step, free)
        if relative <= _TOLERANCE:
            break
    return relative


@inner_kernel
def _move_momenta(nu, free, water, momenta, dt, moved, change):
    """Add the changes of momenta by the mean motion; write what is moved, and the twists."""
    quaternion, rotation, translation = np.empty(4), np.empty((3, 3)), np.empty(3)
    for part in range(len(momenta)):
        twist = moved[part, 1]
        for i in range(6):
            twist[i] = dt * ((nu[i] + free[i]) / 2 - (water[i] if part else 0.0))
        exponentiate(twist, quaternion, rotation, translation)
        move_momentum(momenta[part], rotation, translation, moved[part, 0])
        for i in range(6):
            change[i] += moved[part, 0, i] - momenta[part, i]


@inner_kernel
def _improve(inverse, change, step, free):
    """Add A x to a velocity; return the largest change of a part, relative to the largest."""
    for i in range(6):
        step[i] = 0.0
    add_product(1.0, inverse, change, step)
    largest, moves = 1e-300, 0.0
    for i in range(6):
        free[i] += step[i]
        largest, moves = max(largest, abs(free[i])), max(moves, abs(step[i]))
    return moves / largest


@inner_kernel
def _set_damping(constants, velocity, water, damping):
    """Write Hᵀ D(H ν_r) H (6, 6) of linear and quadratic drag, as ``damping_about_base``."""
    lever, linear, quadratic = constants[3], constants[4], constants[5]
    speeds, inner = np.zeros(6), np.empty((6, 6))
    for i in range(6):
        for j in range(6):
            speeds[i] += lever[i, j] * (velocity[j] - water[j])
    for i in range(6):
        for j in range(6):
            inner[i, j] = 0.0
            for k in range(6):
                element = linear[i, k] + quadratic[i, k] * abs(speeds[k])
                inner[i, j] += element * lever[k, j]
    for i in range(6):
        for j in range(6):
            damping[i, j] = 0.0
            for k in range(6):
                damping[i, j] += lever[k, i] * inner[k, j]


@kernel
def predict_bodies(constants, velocities, water, acceleration, static, dt, max_iterations):
    """Return vectors (8, b, 6) and matrices (5, b, 6, 6) of ``GroupMotion``, and changes (b,).

    A change is that of the last iteration of ν_c, relative to it.

    Args:
        constants: (b, 6, 6, 6) M, rigid-body and added mass, lever H of the damping centre, D_l
            and D_q.
        velocities: (b, 6) ν.
        water: (b, 6) velocity of the water there, body axes.
        acceleration: (b, 6) of the water, in the turning body axes.
        static: (b, 6) weight and buoyancy.
        dt: step, s.
        max_iterations: largest number of iterations.
    """
    bodies = len(velocities)
    vectors, matrices = np.zeros((8, bodies, 6)), np.zeros((5, bodies, 6, 6))
    changes, momenta, impulse = np.empty(bodies), np.empty((2, 6)), np.empty(6)
    known, damping, scratch = np.empty(6), np.empty((6, 6)), np.empty((6, 6))
    for b in range(bodies):
        mass = constants[b, 0]
        _set_damping(constants[b], velocities[b], water[b], damping)
        for i in range(6):
            momenta[0, i], momenta[1, i], impulse[i], known[i] = 0.0, 0.0, 0.0, static[b, i]
            for j in range(6):
                relative = velocities[b, j] - water[b, j]
                momenta[0, i] += constants[b, 1, i, j] * velocities[b, j]
                momenta[1, i] += constants[b, 2, i, j] * relative
                impulse[i] += dt * constants[b, 2, i, j] * acceleration[b, j]
                known[i] -= damping[i, j] * relative
                matrices[0, b, i, j] = mass[i, j]
                matrices[1, b, i, j] = scratch[i, j] = mass[i, j] + dt * damping[i, j]
            vectors[0, b, i], vectors[3, b, i] = velocities[b, i], static[b, i]
        changes[b] = _unforced_velocity(
            velocities[b], water[b], momenta, impulse, mass, dt, max_iterations, vectors[2, b]
        )
        _invert(scratch, matrices[2, b])
        for i in range(6):
            vectors[1, b, i] = vectors[2, b, i]
        add_product(dt, matrices[2, b], known, vectors[1, b])
    start_motion(vectors, matrices, np.ones(bodies, np.bool_), dt)
    return vectors, matrices, changes
