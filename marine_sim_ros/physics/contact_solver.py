# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Impulses at the contacts of one rigid body, found by minimising over its six velocities.

With Coulomb's bounds given, the velocity ν after a step minimises the convex

    ½ (ν − ν*)ᵀ M (ν − ν*) + Σ ψ(J ν),

where ν* is what the velocity would be without contact and ψ' = −γ is the impulse that a contact
gives at its velocity: γ_n = max(0, (b − v_n)/r_n) along the normal, and along the tangents
−v_t/r_t, cut off at the bound. Newton's method with a line search finds it from anywhere, and the
number of contacts only adds rows to products: there are six unknowns, however many. Coulomb's
bounds μ γ_n are then taken from the solution, and again, until they stay. Source: Castro et al.
(2022), "An unconstrained convex formulation of compliant contact", for the method; bounds from
the solution before, instead of their coupled cone, so that a sliding body is not lifted.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.arrays import Array, matvec, namespace

__all__ = ['Impulses', 'Rows', 'impulse_work', 'solve']

_NEWTON_STEPS = 30
_BOUND_UPDATES = 12
_PRECISION = 1e-9
"""Of velocities, relative to the largest there are; and of Coulomb's bounds."""
_LINE_STEPS = 8


class Rows(NamedTuple):
    """c contacts: how their velocities follow from ν (...), and what they resist with.

    Attributes:
        normal: J_n (..., c, 6).
        tangents: J_t (..., 2, c, 6), along and across.
        target: b (..., c) m/s; the normal velocity is kept from falling below it.
        normal_compliance: r_n (..., c), 1/kg.
        tangent_compliance: r_t (..., 2, c), 1/kg.
        friction: μ (..., 2, c).
        joint: (..., c) 1 where the bound is on the tangents' length, 0 where on each alone.
        fixed_bound: (..., c) N·s, the normal impulse that bounds friction; below 0: the present.
    """

    normal: Array
    tangents: Array
    target: Array
    normal_compliance: Array
    tangent_compliance: Array
    friction: Array
    joint: Array
    fixed_bound: Array


class Impulses(NamedTuple):
    """What a solution is: ν (..., 6) after the step, and γ of every contact, N·s.

    Attributes:
        velocity: (..., 6).
        normal: (..., c).
        tangent: (..., 2, c).
    """

    velocity: Array
    normal: Array
    tangent: Array


def _all(xp: Any, condition: Array) -> bool:
    """Return whether a loop may end: never, where a compiler cannot ask."""
    return bool(np.all(condition)) if xp is np else False


def _normal_impulse(rows: Rows, velocity: Array) -> Array:
    xp = namespace(velocity)
    wanted = (rows.target - matvec(rows.normal, velocity)) / rows.normal_compliance
    return xp.maximum(wanted, xp.zeros_like(wanted))


def _friction(rows: Rows, bound: Array, velocity: Array) -> tuple[Array, Array]:
    """Return tangential impulses (..., 2, c) and −∂γ/∂v (..., 2, 2, c) for bounds (..., 2, c)."""
    xp = namespace(velocity)
    r, joint = rows.tangent_compliance, rows.joint[..., None, :]
    wanted = -matvec(rows.tangents, velocity[..., None, :]) / r
    grips = bound > 0
    safe = xp.where(grips, bound, xp.ones_like(bound))
    share = wanted / safe
    square = share * share
    length = xp.sqrt(joint * xp.sum(square, axis=-2, keepdims=True) + (1 - joint) * square)
    slides = grips & (length > 1)
    zero, one = xp.zeros_like(length), xp.ones_like(length)
    keep = xp.where(slides, 1 / xp.where(slides, length, one), one)
    keep = xp.where(grips, keep, zero)
    impulse = wanted * keep
    # Joint, sliding: B/|y| (E − t tᵀ)/r with t the direction; alone, sliding: 0; sticking: E/r.
    alone = xp.where(slides, 1 - joint, zero)
    root = xp.sqrt(keep / r * (1 - alone))
    along = xp.where(slides, joint * impulse / safe, zero)
    eye = xp.asarray(np.eye(2)[:, :, None])
    left = eye - along[..., :, None, :] * along[..., None, :, :]
    return impulse, root[..., :, None, :] * left * root[..., None, :, :]


def _spread(rows: Rows, normal: Array, tangent: Array) -> Array:
    """Return Jᵀ γ (..., 6)."""
    xp = namespace(normal)
    first = matvec(xp.matrix_transpose(rows.normal), normal)
    second = matvec(xp.matrix_transpose(rows.tangents), tangent)
    return first + xp.sum(second, axis=-2)


def _gradient(rows: Rows, mass: Array, free: Array, bound: Array, velocity: Array) -> Array:
    normal = _normal_impulse(rows, velocity)
    tangent, _ = _friction(rows, bound, velocity)
    return matvec(mass, velocity - free) - _spread(rows, normal, tangent)


def _newton_step(rows: Rows, mass: Array, free: Array, bound: Array, velocity: Array) -> Array:
    """Return the step (..., 6) to the minimum of the cost's second-order model."""
    xp = namespace(velocity)
    normal = _normal_impulse(rows, velocity)
    tangent, stiffness = _friction(rows, bound, velocity)
    gradient = matvec(mass, velocity - free) - _spread(rows, normal, tangent)
    pressing = xp.where(normal > 0, 1 / rows.normal_compliance, xp.zeros_like(normal))
    hessian = mass + xp.matrix_transpose(rows.normal) @ (pressing[..., None] * rows.normal)
    for i, j in product(range(2), repeat=2):
        weighted = stiffness[..., i, j, :, None] * rows.tangents[..., j, :, :]
        hessian = hessian + xp.matrix_transpose(rows.tangents[..., i, :, :]) @ weighted
    return -xp.linalg.solve(hessian, gradient[..., None])[..., 0]


def _length_of_step(slope: Callable[[Array], Array], start: Array) -> Array:
    """Return where along a step (0 to 1) the cost is least: where its slope rises through 0.

    The slope never falls, for the cost is convex; found by false position (Illinois).

    Args:
        slope: of the cost (...) at a share of the step (...).
        start: slope (...) at 0, negative.
    """
    xp = namespace(start)
    low, high = xp.zeros_like(start), xp.ones_like(start)
    at_low, at_high = start, slope(high)
    best = high
    done = at_high <= 0.1 * xp.abs(start)
    for _ in range(_LINE_STEPS):
        if _all(xp, done):
            break
        gap = at_high - at_low
        middle = low - at_low * (high - low) / xp.where(gap > 0, gap, xp.ones_like(gap))
        at_middle = slope(middle)
        best = xp.where(done, best, middle)
        done = done | (xp.abs(at_middle) <= 0.1 * xp.abs(start))
        rises = at_middle > 0
        # The end that stays counts half, or it would stay for ever.
        low, high = xp.where(rises, low, middle), xp.where(rises, middle, high)
        at_low = xp.where(rises, at_low / 2, at_middle)
        at_high = xp.where(rises, at_middle, at_high / 2)
    return best


def _minimum(rows: Rows, mass: Array, free: Array, bound: Array, start: Array) -> Array:
    """Return the velocity (..., 6) of least cost for given bounds."""
    xp = namespace(start)
    velocity = start
    scale = xp.max(xp.abs(start), axis=-1) + xp.max(xp.abs(free), axis=-1) + 1e-6
    for _ in range(_NEWTON_STEPS):
        step = _newton_step(rows, mass, free, bound, velocity)

        def slope(share: Array, at: Array = velocity, step: Array = step) -> Array:
            there = at + share[..., None] * step
            return xp.vecdot(step, _gradient(rows, mass, free, bound, there))

        share = _length_of_step(slope, slope(xp.zeros_like(scale)))
        velocity = velocity + share[..., None] * step
        if _all(xp, xp.max(xp.abs(step), axis=-1) <= _PRECISION * scale):
            break
    return velocity


def solve(rows: Rows, mass: Array, free: Array, start: Array, guess: Array) -> Impulses:
    """Return velocities and impulses after a step.

    Args:
        rows: of the contacts.
        mass: M (..., 6, 6), symmetric, positive.
        free: ν* (..., 6), the velocity without contact.
        start: (..., 6), a velocity to start from.
        guess: (..., c) normal impulses, N·s, to bound friction at first.
    """
    xp = namespace(free)
    velocity, normal = start, guess
    for _ in range(_BOUND_UPDATES):
        bound = rows.friction * xp.where(rows.fixed_bound < 0, normal, rows.fixed_bound)[
            ..., None, :]  # fmt: skip
        velocity = _minimum(rows, mass, free, bound, velocity)
        before, normal = normal, _normal_impulse(rows, velocity)
        change = xp.max(xp.abs(normal - before), axis=-1)
        if _all(xp, change <= 1e-6 * xp.max(normal, axis=-1) + 1e-12):
            break
    return Impulses(velocity, normal, _friction(rows, bound, velocity)[0])


def impulse_work(rows: Rows, mass: Array, free: Array, result: Impulses) -> tuple[Array, Array]:
    """Return the impulse Jᵀγ (..., 6) and the energy (...) in J that it adds: pᵀ(ν* + M⁻¹p/2)."""
    xp = namespace(free)
    impulse = _spread(rows, result.normal, result.tangent)
    change = xp.linalg.solve(mass, impulse[..., None])[..., 0]
    return impulse, xp.vecdot(impulse, free + change / 2)
