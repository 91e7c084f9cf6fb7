# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Impulses at the contacts of one rigid body, found by minimising over its six velocities.

With Coulomb's bounds given, the velocity ν after a step minimises the convex

    ½ (ν − ν*)ᵀ M (ν − ν*) + Σ ψ(J ν),

where ν* is what the velocity would be without contact and ψ' = −γ is the impulse that a contact
gives at its velocity: γ_n = max(0, (b_n − v_n)/r_n) along the normal, and along the tangents
(b_t − v_t)/r_t, cut off at the bound. Newton's method with a line search finds it from anywhere,
and the number of contacts only adds rows to products: there are six unknowns, however many.
Coulomb's bounds μ γ_n are then taken from the solution, and again, until they stay. Source: Castro
et al. (2022), "An unconstrained convex formulation of compliant contact", for the method; bounds
from the solution before, instead of their coupled cone, so that a sliding body is not lifted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.arrays import Array, matvec, namespace

__all__ = ['Impulses', 'Rows', 'impulse_work', 'solve']

_NEWTON_STEPS = 40
_NEARLY = 1e-2
"""Of velocities, relative: so far the search goes on before Coulomb's bounds are renewed. Impulses
on the way are no guide: those of stiff contacts are far off until all is in balance."""
_QUICK_RENEWALS = 4
"""Of the bounds; later ones go half the way only, so that none swings for ever."""
_LINE_STEPS = 20
_PRECISION = 1e-6
"""Of velocities, relative to the largest there are."""
_BOUND_PRECISION = 5e-4
"""Of Coulomb's bounds, relative to the largest."""


class Rows(NamedTuple):
    """c contacts: how their velocities follow from ν (...), and what they resist with.

    Attributes:
        normal: J_n (..., c, 6).
        tangents: J_t (..., 2, c, 6), along and across.
        target: b_n (..., c) m/s; the normal velocity is kept from falling below it.
        tangent_target: b_t (..., 2, c) m/s, towards which friction works.
        normal_compliance: r_n (..., c), 1/kg.
        tangent_compliance: r_t (..., 2, c), 1/kg.
        friction: μ (..., 2, c).
        joint: (..., c) 1 where the bound is on the tangents' length, 0 where on each alone.
        fixed_bound: (..., c) N·s, the normal impulse that bounds friction; below 0: the present.
    """

    normal: Array
    tangents: Array
    target: Array
    tangent_target: Array
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


def _any(xp: Any, condition: Array) -> bool:
    """Return whether something is to be done at all: always, where a compiler cannot ask."""
    return bool(np.any(condition)) if xp is np else True


class _Speeds(NamedTuple):
    """Velocities of the contacts: v_n (..., c) and v_t (..., 2, c), m/s."""

    normal: Array
    tangent: Array


def _speeds(rows: Rows, velocity: Array) -> _Speeds:
    return _Speeds(matvec(rows.normal, velocity), matvec(rows.tangents, velocity[..., None, :]))


def _after(speeds: _Speeds, change: _Speeds, share: Array) -> _Speeds:
    """Return the velocities after a share (...) of a change."""
    return _Speeds(
        speeds.normal + share[..., None] * change.normal,
        speeds.tangent + share[..., None, None] * change.tangent,
    )


class _Reaction(NamedTuple):
    """Impulses γ_n (..., c) and γ_t (..., 2, c), and how they stiffen.

    Attributes:
        normal: γ_n.
        tangent: γ_t.
        normal_stiffness: −∂γ_n/∂v_n (..., c).
        root: s (..., 2, c) and
        along: t (..., 2, c) of −∂γ_t/∂v_t = diag(s) (E − t tᵀ) diag(s).
    """

    normal: Array
    tangent: Array
    normal_stiffness: Array
    root: Array
    along: Array


def _normal_impulse(rows: Rows, speed: Array) -> Array:
    xp = namespace(speed)
    wanted = (rows.target - speed) / rows.normal_compliance
    return xp.maximum(wanted, xp.zeros_like(wanted))


def _reaction(rows: Rows, bound: Array, speeds: _Speeds) -> _Reaction:
    """Return what contacts answer to velocities, friction within bounds (..., 2, c)."""
    xp = namespace(bound)
    normal = _normal_impulse(rows, speeds.normal)
    pressing = xp.where(normal > 0, 1 / rows.normal_compliance, xp.zeros_like(normal))
    r, joint = rows.tangent_compliance, rows.joint[..., None, :] > 0
    wanted = (rows.tangent_target - speeds.tangent) / r
    zero, one = xp.zeros_like(wanted), xp.ones_like(wanted)
    grips = bound > 0
    safe = xp.where(grips, bound, one)
    share = wanted / safe
    together = xp.sqrt(xp.sum(share * share, axis=-2, keepdims=True))
    length = xp.where(joint, together, xp.abs(share))
    slides = grips & (length > 1)
    keep = xp.where(slides, 1 / xp.where(slides, length, one), one)
    keep = xp.where(grips, keep, zero)
    # Joint, sliding: B/|y| (E − t tᵀ)/r with t the direction; alone, sliding: 0; sticking: E/r.
    root = xp.where(slides & ~joint, zero, xp.sqrt(keep / r))
    along = xp.where(slides & joint, share * keep, zero)
    return _Reaction(normal, wanted * keep, pressing, root, along)


def _spread(rows: Rows, normal: Array, tangent: Array) -> Array:
    """Return Jᵀ γ (..., 6)."""
    xp = namespace(normal)
    first = matvec(xp.matrix_transpose(rows.normal), normal)
    second = matvec(xp.matrix_transpose(rows.tangents), tangent)
    return first + xp.sum(second, axis=-2)


def _newton_step(rows: Rows, mass: Array, gradient: Array, reaction: _Reaction) -> Array:
    """Return the step (..., 6) to the minimum of the cost's second-order model."""
    xp = namespace(gradient)
    weighted = reaction.normal_stiffness[..., None] * rows.normal
    hessian = mass + xp.matrix_transpose(rows.normal) @ weighted
    rooted = reaction.root[..., None] * rows.tangents
    sliding = xp.sum(reaction.along[..., None] * rooted, axis=-3)
    for i in range(2):
        part = rooted[..., i, :, :]
        hessian = hessian + xp.matrix_transpose(part) @ part
    hessian = hessian - xp.matrix_transpose(sliding) @ sliding
    return -xp.linalg.solve(hessian, gradient[..., None])[..., 0]


def _share_of_step(
    rows: Rows, bound: Array, at: _Speeds, along: _Speeds, slope: Array, curvature: Array,
    steepness: Array,
) -> Array:  # fmt: skip
    """Return how much of a step (...), 0 to 1, brings the cost to its least along the step.

    Its slope never falls, for the cost is convex; Newton's method for its zero, within a bracket,
    starting from the stiff side.

    Args:
        rows: of the contacts.
        bound: (..., 2, c) of friction.
        at: velocities at the start of the step.
        along: their change in the whole step.
        slope: (...) of the kinetic part of the cost at the start.
        curvature: (...) of the kinetic part.
        steepness: (...) of the whole cost at the start, positive downwards.
    """
    xp = namespace(slope)

    def slopes(share: Array) -> tuple[Array, Array]:
        answer = _reaction(rows, bound, _after(at, along, share))
        pull = xp.vecdot(answer.normal, along.normal)
        drag = xp.sum(xp.vecdot(answer.tangent, along.tangent), axis=-1)
        stiff = xp.vecdot(answer.normal_stiffness, along.normal * along.normal)
        rooted = answer.root * along.tangent
        sliding = xp.sum(answer.along * rooted, axis=-2)
        bend = xp.sum(xp.vecdot(rooted, rooted), axis=-1) - xp.vecdot(sliding, sliding)
        return slope + share * curvature - pull - drag, curvature + stiff + bend

    low, high = xp.zeros_like(slope), xp.ones_like(slope)
    share = high
    value, rate = slopes(share)
    done = value <= 0.1 * steepness
    for _ in range(_LINE_STEPS):
        if _all(xp, done):
            break
        rises = value > 0
        low, high = xp.where(rises, low, share), xp.where(rises, share, high)
        guess = share - value / rate
        inside = (guess > low) & (guess < high)
        share = xp.where(done, share, xp.where(inside, guess, (low + high) / 2))
        value, rate = slopes(share)
        done = done | (xp.abs(value) <= 0.1 * steepness)
    return share


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

    def bounds(normal: Array) -> Array:
        pressed = xp.where(rows.fixed_bound < 0, normal, rows.fixed_bound)
        return rows.friction * pressed[..., None, :]

    velocity, bound = start, bounds(guess)
    speeds = _speeds(rows, velocity)
    scale = xp.max(xp.abs(start), axis=-1) + xp.max(xp.abs(free), axis=-1) + 1e-6
    renewals = 0
    for _ in range(_NEWTON_STEPS):
        reaction = _reaction(rows, bound, speeds)
        pulled = matvec(mass, velocity - free)
        gradient = pulled - _spread(rows, reaction.normal, reaction.tangent)
        step = _newton_step(rows, mass, gradient, reaction)
        along = _speeds(rows, step)
        kinetic = xp.vecdot(step, matvec(mass, step))
        share = _share_of_step(
            rows, bound, speeds, along, xp.vecdot(step, pulled), kinetic,
            -xp.vecdot(step, gradient),
        )  # fmt: skip
        velocity = velocity + share[..., None] * step
        speeds = _after(speeds, along, share)
        size = xp.max(xp.abs(step), axis=-1)
        near = size <= _NEARLY * scale
        if not _any(xp, near):
            continue
        renewals += 1
        change = bounds(_normal_impulse(rows, speeds.normal)) - bound
        most = xp.max(bound + change, axis=(-2, -1))
        settled = xp.max(xp.abs(change), axis=(-2, -1)) <= _BOUND_PRECISION * most + 1e-12
        if _all(xp, (size <= _PRECISION * scale) & settled):
            break
        way = 1.0 if renewals <= _QUICK_RENEWALS else 0.5
        bound = bound + way * xp.where(near[..., None, None], change, xp.zeros_like(change))
    reaction = _reaction(rows, bound, speeds)
    return Impulses(velocity, reaction.normal, reaction.tangent)


def impulse_work(rows: Rows, mass: Array, free: Array, result: Impulses) -> tuple[Array, Array]:
    """Return the impulse Jᵀγ (..., 6) and the energy (...) in J that it adds: pᵀ(ν* + M⁻¹p/2)."""
    xp = namespace(free)
    impulse = _spread(rows, result.normal, result.tangent)
    change = xp.linalg.solve(mass, impulse[..., None])[..., 0]
    return impulse, xp.vecdot(impulse, free + change / 2)
