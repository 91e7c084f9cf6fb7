# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled impulses of contacts, by the method of physics/contact/solver.py."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels.algebra import add_product, factor, kernel, solve

__all__ = ['find_impulses']


@kernel
def _respond(rows, compliance, friction_scale, demanded, impulse, sliding, gradient):
    """Write γ (3, c), directions of sliding (2, c) and −∂γ/∂v (c, 3, 3) at unbounded impulses.

    The same as ``_contact_response`` and ``_response_gradient`` of physics/contact/solver.py.
    """
    _, _, _, friction, joint, fixed, tiny, _ = rows
    bound, kept, magnitude = np.empty(2), np.empty(2), np.empty(2)
    for c in range(demanded.shape[1]):
        normal = max(demanded[0, c], 0.0)
        impulse[0, c] = normal
        stiffness = 1.0 / compliance[0, c] if normal > 0.0 else 0.0
        gradient[c] = 0.0
        gradient[c, 0, 0] = stiffness
        for i in range(2):
            own, other = demanded[1 + i, c], demanded[2 - i, c]
            magnitude[i] = np.sqrt(own * own + joint[c] * (other * other))
            bound[i] = friction_scale * friction[i, c] * normal + fixed[i, c]
            largest = max(magnitude[i], bound[i]) + tiny
            kept[i] = bound[i] / largest
            sliding[i, c] = own / largest if magnitude[i] > bound[i] else 0.0
            impulse[1 + i, c] = kept[i] * own
        for i in range(2):
            own, other = sliding[i, c], sliding[1 - i, c]
            gradient[c, 1 + i, 0] = friction_scale * friction[i, c] * own * stiffness
            gradient[c, 1 + i, 1 + i] = kept[i] * (1.0 - own * own) / compliance[1 + i, c]
            across = kept[i] * own * joint[c] * other / compliance[2 - i, c]
            gradient[c, 1 + i, 2 - i] = -across


@kernel
def _speeds(jacobian, columns, sizes, velocity, result):
    """Write J ν (3, c) from the columns (c, w) of each contact, of which some count."""
    for c in range(len(columns)):
        for r in range(3):
            total = 0.0
            for column in columns[c, : sizes[c]]:
                total += jacobian[r, c, column] * velocity[column]
            result[r, c] = total


@kernel
def _add_impulses(jacobian, columns, sizes, impulse, result):
    """Add Jᵀ γ to a vector (n,)."""
    for c in range(len(columns)):
        for column in columns[c, : sizes[c]]:
            for r in range(3):
                result[column] += jacobian[r, c, column] * impulse[r, c]


@kernel
def _multiply_each(gradient, values, result):
    """Write the product of each contact's matrix (c, 3, 3) with its column of (3, c)."""
    for c in range(len(gradient)):
        for i in range(3):
            total = 0.0
            for j in range(3):
                total += gradient[c, i, j] * values[j, c]
            result[i, c] = total


@kernel
def _used_columns(jacobian):
    """Return the columns (c, w) in which each contact has a speed, and how many those are (c,)."""
    result, sizes = np.zeros(jacobian.shape[1:], np.int64), np.zeros(jacobian.shape[1], np.int64)
    for c in range(len(result)):
        for column in range(jacobian.shape[2]):
            if np.any(jacobian[:, c, column] != 0.0):
                result[c, sizes[c]] = column
                sizes[c] += 1
    return result, sizes


@kernel
def _add_stiffness(jacobian, columns, sizes, gradient, result):
    """Add Jᵀ (−∂γ/∂v) J to a matrix (n, n)."""
    line = np.empty((3, result.shape[1]))
    for c in range(len(columns)):
        for column in columns[c, : sizes[c]]:
            for i in range(3):
                line[i, column] = 0.0
                for j in range(3):
                    line[i, column] += gradient[c, i, j] * jacobian[j, c, column]
        for a in columns[c, : sizes[c]]:
            for b in columns[c, : sizes[c]]:
                for i in range(3):
                    result[a, b] += jacobian[i, c, a] * line[i, b]


@kernel
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
    jacobian, target, softest, _, joint, _, tiny, refined = rows
    (columns, sizes), count, shape = _used_columns(jacobian), guess.shape[1], guess.shape
    impulse, constant, corrected = np.empty(shape), np.empty(shape), np.empty(shape)
    mismatch, speeds, demanded = target - softest * guess, np.empty(shape), guess.copy()
    sliding, gradient, before = np.empty((2, count)), np.empty((count, 3, 3)), np.empty((2, count))
    change, right = np.zeros(len(mass)), np.empty(len(mass))
    _respond(rows, softest, 1.0, demanded, impulse, sliding, gradient)
    result, smallest, step = impulse.copy(), np.inf, 0
    while step < schedule.shape[1] - 1:
        step += 1 if smallest == np.inf else 0  # what has converged is refined
        _multiply_each(gradient, mismatch, constant)
        constant += impulse
        factors = mass.copy()
        _add_stiffness(jacobian, columns, sizes, gradient, factors)
        first = factor(factors)
        right[:] = 0.0
        add_product(-1.0, mass, change, right)
        _add_impulses(jacobian, columns, sizes, constant, right)
        moved = solve(factors, first, right)
        change += moved
        _speeds(jacobian, columns, sizes, change, speeds)
        compliance = schedule[0, step] * softest
        demanded[:] = (target - speeds) / compliance
        mismatch[:] = 0.0
        turns, before[:] = False, sliding
        for c in range(count):
            for i in range(2):
                along = before[i, c] * demanded[1 + i, c]
                along += joint[c] * (before[1 - i, c] * demanded[2 - i, c])
                if damps and schedule[3, step] > 0.0 and along < 0.0:
                    turns = True
                    mismatch[1 + i, c] = demanded[1 + i, c] * compliance[1 + i, c]
            for i in range(1, 3):
                if mismatch[i, c] != 0.0:
                    demanded[i, c] = 0.0
        _speeds(jacobian, columns, sizes, moved, speeds)
        _multiply_each(gradient, speeds, corrected)
        stiffness = gradient.copy()
        _respond(rows, compliance, schedule[1, step], demanded, impulse, sliding, gradient)
        error = impulse - constant + corrected
        right[:] = 0.0
        _add_impulses(jacobian, columns, sizes, error, right)
        _speeds(jacobian, columns, sizes, solve(factors, first, right), speeds)
        _multiply_each(stiffness, speeds, corrected)
        corrected[:] = impulse - corrected
        size, largest = np.max(np.abs(error)), np.max(np.abs(impulse))
        converged = size <= schedule[2, step] * largest + tiny and not turns
        if smallest < np.inf and not (converged and size < smallest / 4):
            break
        result[:] = corrected
        if converged:
            smallest = size
            if size <= refined * largest:
                break
    right[:] = 0.0
    _add_impulses(jacobian, columns, sizes, result, right)
    return result, right
