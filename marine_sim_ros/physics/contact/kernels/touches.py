# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled contacts of bodies with a scene and each other: rows, impulses, wrenches.

The method and the names are those of physics/contact/solver.py.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import (
    add_product,
    inner_kernel,
    kernel,
    lever,
    set_rotation,
    turn,
    turn_back,
)
from marine_sim_ros.physics.contact.kernels.impulses import (
    find_impulses,
    used_columns,
    write_speeds,
)

__all__ = ['solve_touches']

_COLUMN, _MODULUS, _RESTITUTION, _SPOOK_DAMPING, _ADHESION, _OVERLAP = range(6)
_JOINT, _IN_MAP, _GROUP, _LAGGED, _RADIUS = range(6, 11)
_FRICTION, _VISCOSITY, _PRIMARY = 11, 13, 15
"""Rows of coefficients, in the order of ``PairCoefficients``; the last three have 2, 2 and 3."""


# Rows of contacts.


@inner_kernel
def _write_axes(values, primary, c, axes):
    """Write the normal and the tangents (3, c, 3) of a contact, as ``contact_axes`` says."""
    along, up, size = 0.0, -1.0 if values[c, 3] < 0.0 else 1.0, 1.0 + abs(values[c, 3])
    for i in range(3):
        axes[0, c, i] = values[c, 1 + i]
        along += primary[i] * values[c, 1 + i]
        mirror = (values[c, 1 + i] + (up if i == 2 else 0.0)) / size
        for k in range(2):
            axes[1 + k, c, i] = (1.0 if i == k else 0.0) - values[c, 1 + k] * mirror
    square = 0.0
    for i in range(3):
        primary[i] -= along * axes[0, c, i]
        square += primary[i] * primary[i]
    if square <= 1e-8:
        return
    for i in range(3):
        axes[1, c, i] = primary[i] / np.sqrt(square)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        axes[2, c, i] = axes[0, c, j] * axes[1, c, k] - axes[0, c, k] * axes[1, c, j]


@inner_kernel
def _write_rows(contacts, axes, jacobian):
    """Write the axes (3, c, 3) of contacts in the first body's frame, and J (3, c, n)."""
    ends, columns, attitudes, poses, values, coefficients, _, _ = contacts
    orientation, turned, point, primary = np.empty((3, 3)), np.empty(3), np.empty(3), np.empty(3)
    start = 0
    for p in range(len(ends)):
        set_rotation(attitudes[p], orientation)
        for c in range(start, ends[p]):
            for i in range(3):
                turned[i], primary[i] = (
                    coefficients[_PRIMARY + i, c],
                    coefficients[_PRIMARY + i, c],
                )
            if coefficients[_IN_MAP, c] > 0.0:  # fixed in map
                turn_back(orientation, turned, primary)
            _write_axes(values, primary, c, axes)
            column, other = columns[p, 0], columns[p, 1]
            for i in range(3):
                lever(axes[i, c], values[c, 4:], jacobian[i, c, column : column + 6])
            if other < 0:
                continue
            turn(poses[p, :3], values[c, 4:], point)
            for i in range(3):
                point[i] += poses[p, 3, i]
            for i in range(3):
                turn(poses[p, :3], axes[i, c], turned)
                lever(turned, point, jacobian[i, c, other : other + 6])
                for k in range(other, other + 6):
                    jacobian[i, c, k] *= -1.0
        start = ends[p]


@inner_kernel
def _write_mobilities(inverse, jacobian, columns, sizes, result):
    """Write J M⁻¹ Jᵀ (3, c) of each row by itself."""
    for row in range(3):
        for c in range(len(columns)):
            result[row, c] = 0.0
            for a in range(sizes[c]):
                for b in range(sizes[c]):
                    first, second = columns[c, b], columns[c, a]
                    product = jacobian[row, c, first] * inverse[first, second]
                    result[row, c] += product * jacobian[row, c, second]


@inner_kernel
def _write_components(axes, vectors, result):
    """Write the components (3, c) of vectors (c, 3) along axes (3, c, 3)."""
    for i in range(3):
        for c in range(len(vectors)):
            result[i, c] = 0.0
            for j in range(3):
                result[i, c] += axes[i, c, j] * vectors[c, j]


# Targets and compliances.


@inner_kernel
def _add_adhesion(coefficients, gap, skin, jacobian, wrench):
    """Add the wrench (n,) of ``adhesion_force`` on the bodies; return whether there is some."""
    sticks = False
    for c in range(len(gap)):
        if coefficients[_ADHESION, c] == 0.0 or not -gap[c] > coefficients[_OVERLAP, c] - skin:
            continue
        sticks, count = True, 0
        for k in range(len(gap)):
            touching = -gap[k] > coefficients[_OVERLAP, k] - skin
            count += touching and coefficients[_GROUP, k] == coefficients[_GROUP, c]
        for k in range(len(wrench)):
            wrench[k] -= coefficients[_ADHESION, c] / count * jacobian[0, c, k]
    return sticks


@inner_kernel
def _stiffness(coefficients, c, gap, min_indentation):
    """Return F/δ, N/m, as ``PairCoefficients.stiffness`` says."""
    radius = coefficients[_RADIUS, c]
    if radius <= 0.0:
        return coefficients[_COLUMN, c]
    depth = max(-gap, min_indentation)
    return 4 / 3 * coefficients[_MODULUS, c] * np.sqrt(radius) * depth**1.5 / depth


@inner_kernel
def _target(coefficients, c, gap, incoming, free, dt, held_impulse, constants):
    """Return normal velocity, compliance and exit speed, as ``_target_velocities`` says."""
    _, _, min_bounce_speed, max_exit_speed, min_indentation = constants[:5]
    restitution, effective_step = (
        coefficients[_RESTITUTION, c],
        dt + coefficients[_SPOOK_DAMPING, c],
    )
    compliance = 1 / (_stiffness(coefficients, c, gap, min_indentation) * dt * effective_step)
    target = -gap / (effective_step if gap <= 0.0 else dt)
    target = min(target, max_exit_speed + compliance * held_impulse)
    threshold = min_bounce_speed + 2 * max(incoming - free, 0.0)
    if gap + dt * free < 0.0 and incoming < -threshold and restitution > 0.0:
        return max(-restitution * incoming, target), 0.0, 0.0
    return target, compliance if gap <= 0.0 else 0.0, max(target, 0.0)


@inner_kernel
def _add_contacts(coefficients, gap, motions, dt, constants, rows):
    """Write the rows of c contacts, and their exit speeds; return whether friction is lagged.

    Args:
        coefficients: (18, c).
        gap: (c,) m.
        motions: normal velocity (1, c) before the step, velocities (3, c) after it without
            contact, components of the impulses of the step before, mobilities, and exit speed.
        dt: s.
        constants: see :func:`solve_touches`.
        rows: of ``find_impulses``.
    """
    incoming, free, previous, mobility, exit_speed = motions
    _, target, compliance, friction, joint, fixed, _, _ = rows
    lags = False
    for c in range(len(gap)):
        held = max(previous[0, c], 0.0)
        speed, softness, exit_speed[c] = _target(
            coefficients, c, gap[c], incoming[0, c], free[0, c], dt, held, constants
        )
        bristle = constants[1] / 2 * (mobility[1, c] + mobility[2, c])
        target[0, c] = speed - free[0, c]
        compliance[0, c] = max(constants[0] * mobility[0, c], softness)
        joint[c] = coefficients[_JOINT, c]
        lags |= coefficients[_LAGGED, c] > 0.0
        is_lagged = coefficients[_LAGGED, c] > 0.0 and held > 0.0
        for i in range(2):
            coefficient = coefficients[_FRICTION + i, c]
            target[1 + i, c] = bristle * previous[1 + i, c] - free[1 + i, c]
            compliance[1 + i, c] = bristle + coefficients[_VISCOSITY + i, c] / dt
            friction[i, c] = 0.0 if is_lagged else coefficient
            fixed[i, c] = coefficient * held if is_lagged else 0.0
    return lags


@inner_kernel
def _add_others(others, free, count, rows):
    """Write further rows after those of the contacts, with their target relative to ν* (n,)."""
    for o in range(others[0].shape[1]):
        c = count + o
        rows[4][c] = others[4][o]
        for i in range(3):
            rows[1][i, c], rows[2][i, c] = others[1][i, o], others[2][i, o]
            for k in range(len(free)):
                rows[0][i, c, k] = others[0][i, o, k]
                rows[1][i, c] -= others[0][i, o, k] * free[k]
        for i in range(2):
            rows[3][i, c], rows[5][i, c] = others[3][i, o], others[5][i, o]


# Energy.


@inner_kernel
def _allowed_energy(impulses, motions, drift_speed, bristle_fraction, others):
    """Return the energy, J, that the impulses (3, c + o) may add."""
    _, _, previous, mobility, exit_speed = motions
    result, count = 0.0, len(exit_speed)
    for c in range(count):
        result += max(impulses[0, c], 0.0) * exit_speed[c]
        bristle = bristle_fraction / 2 * (mobility[1, c] + mobility[2, c])
        for i in range(1, 3):
            result += bristle * previous[i, c] * previous[i, c] / 2
        for i in range(3):  # work of the joints' drives
            result += abs(impulses[i, c] * drift_speed[i, c])
    for o in range(others[0].shape[1]):
        for i in range(3):
            speed = others[1][i, o]
            result += abs(impulses[i, count + o]) * (max(speed, 0.0) if i == 0 else abs(speed))
    return result


@inner_kernel
def _energy_scale(impulse, inverse, free, allowed):
    """Return the factor of Jᵀ γ (n,) with which it adds no more than the allowed energy, J.

    As ``_limit_energy`` of the solver says.
    """
    n = len(impulse)
    moved = np.zeros(n)
    add_product(1.0, inverse, impulse, moved)
    a, b = 1e-30, 0.0
    for k in range(n):
        a += impulse[k] * moved[k]
        b += impulse[k] * free[k]
    return min((np.sqrt(b * b + 2 * a * allowed) - b) / a * (1 + 1e-9), 1.0)


# All of a step.


@inner_kernel
def _hold_apart(mobility, free_mobility, fraction, far, gap):
    """Write a far gap where joints hold contacts: there their mobility is small."""
    for c in range(len(gap)):
        if mobility[0, c] < fraction * free_mobility[0, c]:
            gap[c] = far


@inner_kernel
def _add_drift(axes, drift, drift_speed, incoming, free):
    """Write the speeds (3, c) of points relative to their body, and add them to the others."""
    _write_components(axes, drift, drift_speed)
    for i in range(3):
        for c in range(len(drift)):
            incoming[i, c] += drift_speed[i, c]
            free[i, c] += drift_speed[i, c]


@inner_kernel
def _physical_impulses(axes, impulses):
    """Return the impulses (c, 3) of contacts from their components (3, c + o)."""
    result = np.zeros(axes.shape[1:])
    for c in range(len(result)):
        for i in range(3):
            physical = max(impulses[i, c], 0.0) if i == 0 else impulses[i, c]
            for k in range(3):
                result[c, k] += physical * axes[i, c, k]
    return result


@kernel
def solve_touches(contacts, motion, others, constants, schedule):
    """Return the wrenches (n,) of contacts on bodies over a step, and all impulses, N·s.

    The second result is of the contacts, (c, 3), in the frames of their first bodies, the third
    of the other rows, (3, o). All arrays are contiguous, and of float64 but for ends and columns
    of int64. Without contacts or other rows c or o is 0.

    Args:
        contacts: ``ContactArrays`` of the solver.
        motion: ν (n,) of all bodies; M, M⁻¹ (n, n), ν* (n,) and dt of the step; and M⁻¹ without
            joints, or (0, 0): what joints hold in place can press on nothing.
        others: J (3, o, n), b (3, o), compliance (3, o), friction (2, o), joint (o,) and fixed
            bound (2, o) of further rows, such as the limits of joints, with b as their target.
        constants: compliances of normals and of bristles as fractions of mobility, bounds of the
            speeds of bounce and exit, smallest indentation, skin, the fraction of mobility below
            which joints hold a contact, its gap then, factor of friction in the first guess, the
            impulse that counts as zero, and the precision of the impulses.
        schedule: (4, s), see ``find_impulses``.
    """
    _, _, _, _, values, coefficients, previous, drift = contacts
    velocity, mass, inverse, free, dt, unjoined = motion
    skin, held_fraction, far, friction_guess, tiny, refined = constants[5:]
    count, total, n = len(values), len(values) + others[0].shape[1], len(free)
    shape = (3, total)
    axes, jacobian = np.empty((3, count, 3)), np.zeros((3, total, n))
    _write_rows(contacts, axes, jacobian)
    columns, sizes = used_columns(jacobian)
    incoming, outgoing, drift_speed = np.empty(shape), np.empty(shape), np.zeros(shape)
    mobility, along = np.empty(shape), np.zeros(shape)
    _write_mobilities(inverse, jacobian, columns, sizes, mobility)
    gap, free, wrench = values[:, 0].copy(), free.copy(), np.zeros(n)
    if len(unjoined):
        _write_mobilities(unjoined, jacobian, columns, sizes, along)
        _hold_apart(mobility, along, held_fraction, far, gap)
    if _add_adhesion(coefficients, gap, skin, jacobian, wrench):
        add_product(dt, inverse, wrench, free)
    write_speeds(jacobian, columns, sizes, velocity, incoming)
    write_speeds(jacobian, columns, sizes, free, outgoing)
    _add_drift(axes, drift, drift_speed, incoming, outgoing)
    _write_components(axes, previous, along)
    motions = incoming, outgoing, along, mobility, np.empty(count)
    bounds, joint, guess = np.empty((2, total)), np.empty(total), np.zeros(shape)
    rows = jacobian, np.empty(shape), np.empty(shape), bounds, joint, bounds.copy(), tiny, refined
    lags = _add_contacts(coefficients, gap, motions, dt, constants, rows)
    _add_others(others, free, count, rows)
    for i in range(3):
        for c in range(count):
            guess[i, c] = (friction_guess if i > 0 else 1.0) * along[i, c]
    impulses, impulse = find_impulses(rows, lags or total > count, mass, guess, schedule)
    allowed = _allowed_energy(impulses, motions, drift_speed, constants[1], others)
    scale = _energy_scale(impulse, inverse, free, allowed)
    for k in range(n):
        wrench[k] += scale * impulse[k] / dt
    return wrench, _physical_impulses(axes, impulses), impulses[:, count:].copy()
