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

from marine_sim_ros.core.arrays import NUMPY, Array, matvec, namespace
from marine_sim_ros.core.control_flow import cond, while_loop
from marine_sim_ros.core.linear import linear_solve

__all__ = ['Impulses', 'Rows', 'impulse_work', 'solve']

_WARM_STEPS = 3
"""From the impulses of the step before; then from its velocity."""
_QUICK_STEPS = 10
_QUICK_PRECISION = 3e-8
"""Of velocities, relative to the largest there are."""
_LEAST_BOUND = 1e-12
"""N·s; a bound of friction where nothing presses, to divide by."""
_NEWTON_STEPS = 40
_NEARLY = 1e-2
"""Of velocities, relative: so far the search goes on before Coulomb's bounds are renewed. Impulses
on the way are no guide: those of stiff contacts are far off until all is in balance."""
_QUICK_RENEWALS = 4
"""Of the bounds; later ones go half the way only, so that none swings for ever."""
_LINE_STEPS = 20
_PRECISION = 1e-5
"""Of velocities, relative to the largest there are."""
_BOUND_PRECISION = 2e-3
"""Of Coulomb's bounds, relative to the largest."""


class Rows(NamedTuple):
    """c contacts: how their velocities follow from ν (...), and what they resist with.

    The first of three is along the normal, the others are along and across the surface.

    Attributes:
        jacobian: J (..., 3, c, 6).
        target: b (..., 3, c) m/s; the normal velocity is kept from falling below it, friction
            works towards it.
        compliance: r (..., 3, c), 1/kg.
        friction: μ (..., 2, c).
        joint: (..., c) 1 where the bound is on the tangents' length, 0 where on each alone;
            None: 1 everywhere.
        fixed_bound: (..., c) N·s, the normal impulse that bounds friction; below 0: the present;
            None: that everywhere.
    """

    jacobian: Array
    target: Array
    compliance: Array
    friction: Array
    joint: Array | None
    fixed_bound: Array | None


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


def _any(xp: Any, condition: Array) -> bool:
    """Return whether something is to be done at all: always, where a compiler cannot ask."""
    return bool(np.any(condition)) if xp is NUMPY else True


class _Reaction(NamedTuple):
    """Impulses γ (..., 3, c), and how they stiffen: −∂γ/∂v = diag(w) − diag(√w) t tᵀ diag(√w).

    Attributes:
        impulse: γ.
        weight: w (..., 3, c).
        along: √w t (..., 2, c) of what slides with a bound on its length, t its direction.
    """

    impulse: Array
    weight: Array
    along: Array


class _Bound(NamedTuple):
    """Coulomb's bounds B (..., 2, c), N·s, and what follows from them alone, (..., 2, c) too.

    Attributes:
        value: B.
        inverse: 1/B; 0 where there is none.
        grips: 1 where there is a bound, else 0.
        joint: whether it is on the length.
        zero: 0.
        one: 1.
    """

    value: Array
    inverse: Array
    grips: Array
    joint: Array
    zero: Array
    one: Array


class _Bracket(NamedTuple):
    """A search along a step: of its share (...), from where to where it is; what is there."""

    steps: int
    low: Array
    high: Array
    share: Array
    value: Array
    rate: Array
    answer: _Reaction
    done: Array


class _Search(NamedTuple):
    """Where Newton's method is: velocities, bounds, contacts' velocities and what they answer."""

    steps: int
    velocity: Array
    bound: _Bound
    speeds: Array
    reaction: _Reaction
    renewals: Array
    settled: Array


def _bound(rows: Rows, value: Array) -> _Bound:
    xp = namespace(value)
    one, zero = xp.ones_like(value), xp.zeros_like(value)
    there = value > 0
    inverse = xp.where(there, 1 / xp.where(there, value, one), zero)
    assert rows.joint is not None
    joint = (rows.joint[..., None, :] > 0) & (one > 0)
    return _Bound(value, inverse, xp.where(there, one, zero), joint, zero, one)


def _speeds(rows: Rows, velocity: Array) -> Array:
    """Return the contacts' velocities (..., 3, c)."""
    return matvec(rows.jacobian, velocity[..., None, :])


def _wanted(rows: Rows, speeds: Array) -> Array:
    return (rows.target - speeds) / rows.compliance


def _normal(wanted: Array) -> Array:
    normal = wanted[..., 0, :]
    return namespace(normal).maximum(normal, namespace(normal).zeros_like(normal))


def _reaction(rows: Rows, bound: _Bound, speeds: Array) -> _Reaction:
    """Return what contacts answer to velocities, friction within bounds."""
    xp = namespace(speeds)
    wanted = _wanted(rows, speeds)
    across, zero, one = wanted[..., 1:, :], bound.zero, bound.one
    presses = wanted[..., :1, :] > 0
    ratio = across * bound.inverse
    square = ratio * ratio
    together = square[..., :1, :] + square[..., 1:, :]
    length = xp.sqrt(xp.where(bound.joint, together, square))
    slides = length > 1
    keep = bound.grips / xp.maximum(length, one)
    # Joint, sliding: B/|y| (E − t tᵀ)/r with t the direction; alone, sliding: 0; sticking: E/r.
    holding = xp.where(slides & ~bound.joint, zero, keep)
    pressing = xp.where(presses, one[..., :1, :], zero[..., :1, :])
    weight = xp.concat([pressing, holding], axis=-2) / rows.compliance
    turned = xp.where(slides & bound.joint, ratio * keep, zero)
    along = xp.sqrt(weight[..., 1:, :]) * turned
    impulse = wanted * xp.concat([pressing, keep], axis=-2)
    return _Reaction(impulse, weight, along)


def _dot(a: Array, b: Array) -> Array:
    """Return the sum (...) of products of two (..., n, c)."""
    xp, flat = namespace(a), (*a.shape[:-2], -1)
    return xp.vecdot(xp.reshape(a, flat), xp.reshape(b, flat))


def _spread(rows: Rows, impulse: Array) -> Array:
    """Return Jᵀ γ (..., 6)."""
    xp = namespace(impulse)
    flat = xp.reshape(impulse, (*impulse.shape[:-2], -1))
    return matvec(xp.matrix_transpose(_flat(rows.jacobian)), flat)


def _flat(jacobian: Array) -> Array:
    """Return J with its rows in one column, (..., 3 c, 6)."""
    return namespace(jacobian).reshape(jacobian, (*jacobian.shape[:-3], -1, 6))


def _newton_step(rows: Rows, mass: Array, gradient: Array, reaction: _Reaction) -> Array:
    """Return the step (..., 6) to the minimum of the cost's second-order model."""
    xp = namespace(gradient)
    lines = _flat(rows.jacobian)
    weighted = _flat(reaction.weight[..., None] * rows.jacobian)
    hessian = mass + xp.matrix_transpose(lines) @ weighted
    if _any(xp, reaction.along != 0):
        sliding = xp.sum(reaction.along[..., None] * rows.jacobian[..., 1:, :, :], axis=-3)
        hessian = hessian - xp.matrix_transpose(sliding) @ sliding
    return -linear_solve(hessian, gradient)


def _share_of_step(
    rows: Rows,
    bound: _Bound,
    at: Array,
    along: Array,
    slope: Array,
    curvature: Array,
    steepness: Array,
) -> tuple[Array, _Reaction]:
    """Return how much of a step (...), 0 to 1, brings the cost to its least; the reaction there.

    Its slope never falls, for the cost is convex; Newton's method for its zero, within a bracket,
    starting from the stiff side.

    Args:
        rows: rows of the contacts.
        bound: bound of friction.
        at: velocities (..., 3, c) at the start of the step.
        along: their change in the whole step.
        slope: (...) of the kinetic part of the cost at the start.
        curvature: (...) of the kinetic part.
        steepness: (...) of the whole cost at the start, positive downwards.
    """
    xp = namespace(slope)

    def slopes(share: Array) -> tuple[Array, Array, _Reaction]:
        answer = _reaction(rows, bound, at + share[..., None, None] * along)
        stiff = _dot(answer.weight * along, along)
        turning = answer.along * along[..., 1:, :]
        sliding = turning[..., 0, :] + turning[..., 1, :]
        bend = curvature + stiff - xp.vecdot(sliding, sliding)
        return slope + share * curvature - _dot(answer.impulse, along), bend, answer

    def narrowed(now: _Bracket) -> _Bracket:
        rises = now.value > 0
        low = xp.where(rises, now.low, now.share)
        high = xp.where(rises, now.share, now.high)
        guess = now.share - now.value / now.rate
        inside = (guess > low) & (guess < high)
        share = xp.where(now.done, now.share, xp.where(inside, guess, (low + high) / 2))
        value, rate, answer = slopes(share)
        done = now.done | (xp.abs(value) <= 0.1 * steepness)
        return _Bracket(now.steps + 1, low, high, share, value, rate, answer, done)

    whole = xp.ones_like(slope)
    value, rate, answer = slopes(whole)
    start = _Bracket(
        0, xp.zeros_like(slope), whole, whole, value, rate, answer, value <= 0.1 * steepness
    )
    found = while_loop(
        xp, lambda now: (now.steps < _LINE_STEPS) & ~xp.all(now.done), narrowed, start
    )
    return found.share, found.answer


class _Quick(NamedTuple):
    """Newton's method with bounds that follow: velocity, its reaction, what is off in velocity.

    Attributes:
        steps: (...) so far.
        velocity: (..., 6).
        speeds: (..., 3, c) at which ``reaction`` is; those of the velocity, but at first.
        reaction: answer of the contacts.
        off: (..., 6) by how much the velocity is not what the reaction leads to.
        size: (...) of that, of the largest velocity there is.
    """

    steps: Array
    velocity: Array
    speeds: Array
    reaction: _Coupled
    off: Array
    size: Array


class _Coupled(NamedTuple):
    """Impulses γ (..., 3, c) with Coulomb's bounds of these very normals, and what slides.

    Attributes:
        impulse: γ.
        presses: (..., 1, c) 1/r where the normal is more than 0.
        holding: (..., 2, c) share of the stiffness that is left along and across.
        sliding: (..., 2, c) direction of friction where it is at its bound, else 0.
    """

    impulse: Array
    presses: Array
    holding: Array
    sliding: Array


def _coupled(rows: Rows, speeds: Array) -> _Coupled:
    xp = namespace(speeds)
    wanted = (rows.target - speeds) / rows.compliance
    across, normal = wanted[..., 1:, :], xp.maximum(wanted[..., :1, :], 0.0)
    pressed = normal
    if rows.fixed_bound is not None:
        fixed = rows.fixed_bound[..., None, :]
        pressed = xp.where(fixed < 0, normal, fixed)
    bound = rows.friction * pressed
    ratio = across / (bound + _LEAST_BOUND)
    square = ratio * ratio
    together = square[..., :1, :] + square[..., 1:, :]
    if rows.joint is not None:
        square = xp.where(rows.joint[..., None, :] > 0, together, square)
    else:
        square = together
    slides = square > 1
    keep = 1 / xp.sqrt(xp.maximum(square, 1.0))
    share = ratio * keep
    holding = xp.where(bound > 0, keep, 0.0)
    if rows.joint is not None:
        holding = xp.where(slides & (rows.joint[..., None, :] <= 0), 0.0, holding)
    return _Coupled(
        xp.concat([normal, share * bound], axis=-2),
        xp.where(normal > 0, 1 / rows.compliance[..., :1, :], 0.0),
        holding,
        xp.where(slides, share, 0.0),
    )


def _coupled_step(rows: Rows, mass: Array, gradient: Array, at: _Coupled, apart: Array) -> Array:
    """Return Newton's step (..., 6) with ∂γ/∂v of the normals that bound friction too.

    Args:
        rows: rows of the contacts.
        mass: M.
        gradient: M times what is off.
        at: reaction, and how it changes.
        apart: (..., 3, c) by how much the speeds of the reaction are not those of the velocity.
    """
    xp = namespace(gradient)
    lines = xp.concat([rows.jacobian, apart[..., None]], axis=-1)
    normal = at.presses[..., None] * lines[..., :1, :, :]
    across = lines[..., 1:, :, :] / rows.compliance[..., 1:, :, None]
    turning, lifting = at.sliding, rows.friction * at.sliding
    if rows.joint is not None:
        turning = xp.where(rows.joint[..., None, :] > 0, turning, 0.0)
    if rows.fixed_bound is not None:
        lifting = xp.where(rows.fixed_bound[..., None, :] < 0, lifting, 0.0)
    turning = turning[..., None]
    along = turning * across
    across = across - turning * (along[..., :1, :, :] + along[..., 1:, :, :])
    across = at.holding[..., None] * across + lifting[..., None] * normal
    weighted = xp.concat([normal, across], axis=-3)
    weighted = xp.reshape(weighted, (*weighted.shape[:-3], -1, 7))
    hessian = xp.matrix_transpose(_flat(rows.jacobian)) @ weighted
    return linear_solve(mass + hessian[..., :6], hessian[..., 6] - gradient)


def solve(
    rows: Rows, mass: Array, inverse: Array, free: Array, start: Array, guess: Array
) -> Impulses:
    """Return velocities and impulses after a step.

    Newton's method with friction's bounds in its derivatives, begun at the impulses of the step
    before, finds what goes on as it did in a step or two; where it has not ended after eight, as
    in impacts, :func:`_searched` begins anew.

    Args:
        rows: rows of the contacts.
        mass: M (..., 6, 6), symmetric, positive.
        inverse: M⁻¹.
        free: ν* (..., 6), the velocity without contact.
        start: (..., 6), a velocity to start from.
        guess: (..., 3, c) impulses to start from, N·s.
    """
    xp = namespace(free)
    begun = rows.target - rows.compliance * guess
    quick, done = _quick(rows, mass, inverse, free, start, begun)
    known = rows, mass, inverse, free, start, guess[..., 0, :], done, quick
    return cond(xp, xp.any(~done), _surely, lambda *known: known[-1], *known)  # type: ignore[no-any-return]


def _surely(
    rows: Rows,
    mass: Array,
    inverse: Array,
    free: Array,
    start: Array,
    guess: Array,
    done: Array,
    known: Impulses,
) -> Impulses:
    """Return what is known, or the answer of a search, made exact where that can be."""
    searched = _searched(rows, mass, free, start, guess, done, known)
    speeds = _speeds(rows, searched.velocity)
    better, exact = _quick(rows, mass, inverse, free, searched.velocity, speeds)
    return _either(exact & ~done, better, searched)


def _either(condition: Array, a: Impulses, b: Impulses) -> Impulses:
    xp, condition = namespace(condition), condition[..., None]
    return Impulses(
        xp.where(condition, a.velocity, b.velocity),
        xp.where(condition, a.normal, b.normal),
        xp.where(condition[..., None], a.tangent, b.tangent),
    )


def _quick(
    rows: Rows, mass: Array, inverse: Array, free: Array, start: Array, begun: Array
) -> tuple[Impulses, Array]:
    """Return an answer, and whether (...) it is one.

    Args:
        rows: rows of the contacts.
        mass: M (..., 6, 6).
        inverse: M⁻¹.
        free: ν* (..., 6).
        start: (..., 6), a velocity to start from.
        begun: (..., 3, c) speeds to start from; they need not be those of that velocity.
    """
    xp = namespace(free)
    scale = xp.max(xp.abs(start), axis=-1) + xp.max(xp.abs(free), axis=-1) + 1e-6

    def looked(steps: Array, velocity: Array, speeds: Array) -> _Quick:
        reaction = _coupled(rows, speeds)
        off = velocity - free - matvec(inverse, _spread(rows, reaction.impulse))
        return _Quick(steps, velocity, speeds, reaction, off, xp.max(xp.abs(off), axis=-1) / scale)

    def settled(now: _Quick) -> Array:
        return (now.steps > 0) & (now.size <= _QUICK_PRECISION)

    def improved(now: _Quick) -> _Quick:
        apart = now.speeds - _speeds(rows, now.velocity)
        step = _coupled_step(rows, mass, matvec(mass, now.off), now.reaction, apart)
        velocity = xp.where(settled(now)[..., None], now.velocity, now.velocity + step)
        # Where other contacts press than did, it begins anew without any.
        lost = (now.steps > 0) & (now.steps <= _WARM_STEPS) & (now.size > 1)
        lost = lost | ((now.steps == _WARM_STEPS) & (now.size > _QUICK_PRECISION))
        velocity = xp.where(lost[..., None], free, velocity)
        steps = xp.where(lost, _WARM_STEPS, now.steps) + 1
        return looked(steps, velocity, _speeds(rows, velocity))

    found = while_loop(
        xp,
        lambda now: xp.any((now.steps < _QUICK_STEPS) & ~settled(now)),
        improved,
        looked(xp.astype(0 * scale, xp.int32), start, begun),
    )
    impulse = found.reaction.impulse
    answer = Impulses(found.velocity, impulse[..., 0, :], impulse[..., 1:, :])
    return answer, settled(found)


def _searched(
    rows: Rows, mass: Array, free: Array, start: Array, guess: Array, done: Array, known: Impulses
) -> Impulses:
    """Return velocities and impulses after a step, as :func:`solve`, from anywhere.

    Args:
        rows: rows of the contacts.
        mass: M (..., 6, 6).
        free: ν* (..., 6).
        start: (..., 6), a velocity to start from.
        guess: (..., c) normal impulses, N·s, to bound friction at first.
        done: (...) where there is an answer already.
        known: that answer.
    """
    xp = namespace(free)
    each = xp.ones_like(rows.target[..., 0, :])
    joint = each if rows.joint is None else rows.joint
    fixed = -each if rows.fixed_bound is None else rows.fixed_bound
    rows = rows._replace(joint=joint, fixed_bound=fixed)

    def bounds(normal: Array) -> Array:
        pressed = xp.where(fixed < 0, normal, fixed)
        return rows.friction * pressed[..., None, :]

    def improved(now: _Search) -> _Search:
        pulled = matvec(mass, now.velocity - free)
        gradient = pulled - _spread(rows, now.reaction.impulse)
        step = _newton_step(rows, mass, gradient, now.reaction)
        along = _speeds(rows, step)
        kinetic = xp.vecdot(step, matvec(mass, step))
        share, reaction = _share_of_step(
            rows,
            now.bound,
            now.speeds,
            along,
            xp.vecdot(step, pulled),
            kinetic,
            -xp.vecdot(step, gradient),
        )
        velocity = now.velocity + share[..., None] * step
        speeds = now.speeds + share[..., None, None] * along
        size = xp.max(xp.abs(step), axis=-1)
        near = size <= _NEARLY * scale
        now = now._replace(
            steps=now.steps + 1, velocity=velocity, speeds=speeds, reaction=reaction
        )
        if not _any(xp, near):
            return now
        wanted = bounds(_normal(_wanted(rows, speeds)))
        change = wanted - now.bound.value
        most = xp.max(wanted, axis=(-2, -1))
        settled = xp.max(xp.abs(change), axis=(-2, -1)) <= _BOUND_PRECISION * most + 1e-12
        settled = (size <= _PRECISION * scale) & settled
        renewals = now.renewals + xp.where(near, one, xp.zeros_like(one))
        way = xp.where(renewals <= _QUICK_RENEWALS, one, 0.5 * one)
        way = xp.where(near & ~xp.all(settled), way, xp.zeros_like(one))[..., None, None]
        bound = _bound(rows, now.bound.value + way * change)
        return now._replace(
            bound=bound,
            reaction=_reaction(rows, bound, speeds),
            renewals=renewals,
            settled=settled,
        )

    bound, speeds = _bound(rows, bounds(guess)), _speeds(rows, start)
    scale = xp.max(xp.abs(start), axis=-1) + xp.max(xp.abs(free), axis=-1) + 1e-6
    one = xp.ones_like(scale)
    begun = _Search(
        0, start, bound, speeds, _reaction(rows, bound, speeds), xp.zeros_like(one), done
    )
    found = while_loop(
        xp, lambda now: (now.steps < _NEWTON_STEPS) & ~xp.all(now.settled), improved, begun
    )
    impulse = found.reaction.impulse
    answer = Impulses(found.velocity, impulse[..., 0, :], impulse[..., 1:, :])
    return _either(done, known, answer)


def impulse_work(rows: Rows, inverse: Array, free: Array, result: Impulses) -> tuple[Array, Array]:
    """Return the impulse Jᵀγ (..., 6) and the energy (...) in J that it adds: pᵀ(ν* + M⁻¹p/2)."""
    xp = namespace(free)
    both = xp.concat([result.normal[..., None, :], result.tangent], axis=-2)
    impulse = _spread(rows, both)
    return impulse, xp.vecdot(impulse, free + matvec(inverse, impulse) / 2)
