# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled impulses of contacts, by the method of physics/contact/solver.py."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import add_product, factor, inner_kernel, solve

__all__ = ['find_impulses', 'used_columns', 'write_speeds']


@inner_kernel
def used_columns(jacobian):
    """Return the columns (c, w) in which each contact has a speed, and how many those are (c,)."""
    _, count, n = jacobian.shape
    columns, sizes = np.zeros((count, n), np.int64), np.zeros(count, np.int64)
    for c in range(count):
        for k in range(n):
            if jacobian[0, c, k] != 0.0 or jacobian[1, c, k] != 0.0 or jacobian[2, c, k] != 0.0:
                columns[c, sizes[c]] = k
                sizes[c] += 1
    return columns, sizes


@inner_kernel
def write_speeds(jacobian, columns, sizes, velocity, result):
    """Write J ν (3, c) from the columns (c, w) of each contact, of which some count."""
    for c in range(len(columns)):
        for r in range(3):
            total = 0.0
            for i in range(sizes[c]):
                total += jacobian[r, c, columns[c, i]] * velocity[columns[c, i]]
            result[r, c] = total


@inner_kernel
def _write_impulse(jacobian, columns, sizes, impulses, result):
    """Write Jᵀ γ (n,)."""
    for k in range(len(result)):
        result[k] = 0.0
    for c in range(len(columns)):
        for i in range(sizes[c]):
            column = columns[c, i]
            for r in range(3):
                result[column] += jacobian[r, c, column] * impulses[r, c]


@inner_kernel
def _add_stiffness(jacobian, columns, sizes, gradient, result):
    """Add Jᵀ (−∂γ/∂v) J to a matrix (n, n)."""
    line = np.empty((3, result.shape[1]))
    for c in range(len(columns)):
        if gradient[c, 0, 0] == 0.0 and gradient[c, 1, 1] == 0.0 and gradient[c, 2, 2] == 0.0:
            continue  # it presses on nothing
        for b in range(sizes[c]):
            for i in range(3):
                line[i, b] = 0.0
                for j in range(3):
                    line[i, b] += gradient[c, i, j] * jacobian[j, c, columns[c, b]]
        for a in range(sizes[c]):
            for b in range(sizes[c]):
                for i in range(3):
                    lever = jacobian[i, c, columns[c, a]]
                    result[columns[c, a], columns[c, b]] += lever * line[i, b]


@inner_kernel
def _add_products(sign, gradient, values, result):
    """Add or subtract each contact's matrix (c, 3, 3) times its column of (3, c)."""
    for c in range(len(gradient)):
        for i in range(3):
            total = 0.0
            for j in range(3):
                total += gradient[c, i, j] * values[j, c]
            result[i, c] += sign * total


@inner_kernel
def _copy(values, result):
    """Write values (3, c) into another array."""
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            result[i, c] = values[i, c]


@inner_kernel
def _subtract(values, result):
    """Subtract values (3, c) from another array."""
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            result[i, c] -= values[i, c]


@inner_kernel
def _largest_size(values):
    """Return the largest absolute value of (3, c)."""
    result = 0.0
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            result = max(result, abs(values[i, c]))
    return result


@inner_kernel
def _respond(rows, softness, friction_scale, demanded, impulses, sliding, gradient):
    """Write γ (3, c), directions of sliding (2, c) and −∂γ/∂v (c, 3, 3) at unbounded impulses.

    The same as ``_contact_response`` and ``_response_gradient`` of physics/contact/solver.py.
    """
    _, _, compliance, friction, joint, fixed, tiny, _ = rows
    kept = np.empty(2)
    for c in range(demanded.shape[1]):
        normal = max(demanded[0, c], 0.0)
        impulses[0, c] = normal
        stiffness = 1.0 / (softness * compliance[0, c]) if normal > 0.0 else 0.0
        gradient[c, 0, 0], gradient[c, 0, 1], gradient[c, 0, 2] = stiffness, 0.0, 0.0
        for i in range(2):
            own, other = demanded[1 + i, c], demanded[2 - i, c]
            magnitude = np.sqrt(own * own + joint[c] * (other * other))
            bound = friction_scale * friction[i, c] * normal + fixed[i, c]
            largest = max(magnitude, bound) + tiny
            kept[i] = bound / largest
            sliding[i, c] = own / largest if magnitude > bound else 0.0
            impulses[1 + i, c] = kept[i] * own
        for i in range(2):
            own, other = sliding[i, c], sliding[1 - i, c]
            gradient[c, 1 + i, 0] = friction_scale * friction[i, c] * own * stiffness
            own_compliance = softness * compliance[1 + i, c]
            gradient[c, 1 + i, 1 + i] = kept[i] * (1.0 - own * own) / own_compliance
            across = kept[i] * own * joint[c] * other / (softness * compliance[2 - i, c])
            gradient[c, 1 + i, 2 - i] = -across


@inner_kernel
def _demand(rows, softness, sliding, damps, speeds, demanded, mismatch):
    """Write the unbounded impulses (3, c) at speeds (3, c); return whether some contacts turn.

    With ``damps`` a tangent whose sliding (2, c) has turned round sticks: the next step starts
    there.
    """
    _, target, compliance, _, joint, _, _, _ = rows
    turns = False
    for c in range(speeds.shape[1]):
        for i in range(3):
            excess = target[i, c] - speeds[i, c]
            demanded[i, c] = excess / (softness * compliance[i, c])
            mismatch[i, c] = 0.0
        first, second = sliding[0, c] * demanded[1, c], sliding[1, c] * demanded[2, c]
        for i in range(1, 3):
            along = first + joint[c] * second if i == 1 else second + joint[c] * first
            if damps and along < 0.0:
                turns = True
                mismatch[i, c] = demanded[i, c] * (softness * compliance[i, c])
                demanded[i, c] = 0.0
    return turns


@inner_kernel
def find_impulses(rows, damps, mass, guess, schedule):
    """Return the impulses γ (3, c), and Jᵀ γ (n,), of :func:`..solver.solve_impulses`.

    Args:
        rows: J (3, c, n), target (3, c), compliance (3, c), friction (2, c), joint (c,) and fixed
            bound (2, c) of ``ContactRows``, the impulse that counts as zero, and the precision
            until which what has converged is refined.
        damps: whether contacts that reverse their sliding stick between.
        mass: M (n, n), symmetric, positive.
        guess: (3, c) impulses to start from, N·s.
        schedule: (4, s) factors of the compliances and of friction, precision, and damping, by
            iteration.
    """
    jacobian, target, compliance, _, _, _, tiny, refined = rows
    (columns, sizes), count, n = used_columns(jacobian), guess.shape[1], len(mass)
    impulses, result, expected = np.empty((3, count)), np.empty((3, count)), np.empty((3, count))
    demanded, mismatch, speeds = np.empty((3, count)), np.empty((3, count)), np.empty((3, count))
    gradient, old_gradient = np.empty((count, 3, 3)), np.empty((count, 3, 3))
    sliding, change, right = np.empty((2, count)), np.zeros(n), np.empty(n)
    for i in range(3):
        for c in range(count):
            mismatch[i, c] = target[i, c] - compliance[i, c] * guess[i, c]
    _respond(rows, 1.0, 1.0, guess, impulses, sliding, gradient)
    _copy(impulses, result)
    smallest, step = np.inf, 0
    while step < schedule.shape[1] - 1:
        step += 1 if smallest == np.inf else 0  # what has converged is refined
        softness, friction_scale = schedule[0, step], schedule[1, step]
        _copy(impulses, expected)
        _add_products(1.0, gradient, mismatch, expected)
        factors = mass.copy()
        _add_stiffness(jacobian, columns, sizes, gradient, factors)
        first = factor(factors)
        _write_impulse(jacobian, columns, sizes, expected, right)
        add_product(-1.0, mass, change, right)
        moved = solve(factors, first, right)
        for k in range(n):
            change[k] += moved[k]
        write_speeds(jacobian, columns, sizes, moved, speeds)
        _add_products(-1.0, gradient, speeds, expected)
        write_speeds(jacobian, columns, sizes, change, speeds)
        damps_now = damps and schedule[3, step] > 0.0
        turns = _demand(rows, softness, sliding, damps_now, speeds, demanded, mismatch)
        gradient, old_gradient = old_gradient, gradient
        _respond(rows, softness, friction_scale, demanded, impulses, sliding, gradient)
        # The error of the linear prediction is corrected with the same derivatives.
        _subtract(impulses, expected)
        _write_impulse(jacobian, columns, sizes, expected, right)
        write_speeds(jacobian, columns, sizes, solve(factors, first, right), speeds)
        size, largest = _largest_size(expected), _largest_size(impulses)
        converged = size <= schedule[2, step] * largest + tiny and not turns
        if smallest < np.inf and not (converged and size < smallest / 4):
            break
        _copy(impulses, result)
        _add_products(1.0, old_gradient, speeds, result)
        if converged:
            smallest = size
            if size <= refined * largest:
                break
    _write_impulse(jacobian, columns, sizes, result, right)
    return result, right
