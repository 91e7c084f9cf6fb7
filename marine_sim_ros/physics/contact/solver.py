# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Impulses at the contacts of one rigid body, found by Newton's method over its six velocities.

The velocity ν after a step is where

    M (ν − ν*) = Jᵀ γ(J ν),

ν* being what it would be without contact and γ what contacts answer to their velocities:
γ_n = max(0, (b_n − v_n)/r_n) along the normal, and along the tangents (b_t − v_t)/r_t, cut off at
Coulomb's bound μ γ_n. There are six unknowns, however many contacts. γ is piecewise smooth;
Newton's method starts at the impulses of the step before, and what goes on as it did takes one or
two steps. What has not ended then, as in impacts, is solved with compliances r of about the
body's own mobility first, where γ hardly bends, and with ever stiffer ones after that, each from
where the one before has led. Source: Castro et al. (2022), "An unconstrained convex formulation of
compliant contact", for compliant contacts over a body's velocities; here with Coulomb's bound as
it is instead of their convex cone, so that a sliding body is not lifted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import while_loop
from marine_sim_ros.core.linear import inverse

__all__ = ['Rows', 'solve']

_DESCENTS = (4.0, 6), (2.0, 14), (1.4, 28), (4.0, 6)
_SOFTNESS = np.concatenate(
    [np.ones(7)] + [r ** np.maximum(np.arange(n, -6, -1), 0.0) for r, n in _DESCENTS]
)
"""Factors of the compliances, step by step: three descents, the later ones slower, and a last one
without friction, which always ends: some 1 of 1,000 problems of steps of 0.1 s needs it."""
_GRIP = np.where(np.arange(len(_SOFTNESS)) < len(_SOFTNESS) - 12, 1.0, 0.0)
_PRECISION = np.full(len(_SOFTNESS), 3e-4)
_PRECISION[-13] = 0.1
"""Of impulses before the last correction, relative to the largest; the correction leaves some
square of it. What is as near as single precision gets does not lose its friction."""
_LEAST = 1e-12
"""N·s; a bound of friction where nothing presses, to divide by; impulses that are nothing."""
_LATER = np.append(np.ones(6), 0.0)[:, None, None]
"""What is left of a search's lines after its first step."""


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


class _Answer(NamedTuple):
    """What contacts answer to velocities.

    Attributes:
        impulse: γ (..., 3, c).
        bound: (..., 2, c) of friction, N·s.
        keep: (..., 2, c) share that its bound leaves of it, 1 at most.
        share: (..., 2, c) friction by its bound.
    """

    impulse: Array
    bound: Array
    keep: Array
    share: Array


class _Search(NamedTuple):
    """Newton's method: the steps so far, and where they have led.

    Attributes:
        steps: number.
        compliance: (..., 3, c) r of the next one, 1/kg.
        velocity: ν (..., 6).
        lines: (..., 7, 3, c) Jᵀ, and by how much the contacts' velocities are not those of ν: at
            first.
        answer: what they answer to theirs.
        found: γ (..., 3, c) after the latest step.
        done: (...) whether that is the solution.
    """

    steps: Array
    compliance: Array
    velocity: Array
    lines: Array
    answer: _Answer
    found: Array
    done: Array


def _answer(rows: Rows, friction: Array, wanted: Array) -> _Answer:
    """Return what contacts answer where (b − v)/r (..., 3, c) is wanted."""
    xp = namespace(wanted)
    pressed = normal = xp.maximum(wanted[..., :1, :], 0.0)
    if rows.fixed_bound is not None:
        fixed = rows.fixed_bound[..., None, :]
        pressed = xp.where(fixed < 0, normal, fixed)
    bound = friction * pressed
    ratio = wanted[..., 1:, :] / (bound + _LEAST)
    square = ratio * ratio
    together = square[..., :1, :] + square[..., 1:, :]
    square = together if rows.joint is None else xp.where(_joint(rows), together, square)
    keep = 1 / xp.sqrt(xp.maximum(square, 1.0))
    share = ratio * keep
    return _Answer(xp.concat([normal, share * bound], axis=-2), bound, keep, share)


def _joint(rows: Rows) -> Array:
    assert rows.joint is not None
    return rows.joint[..., None, :] > 0


def _slope(rows: Rows, lines: Array, at: _Answer) -> Array:
    """Return −∂γ/∂v (..., 7, 3 c) applied to velocities by 1/r (..., 7, 3, c)."""
    xp = namespace(lines)
    pressed, across = at.impulse[..., None, :1, :] > 0, lines[..., 1:, :]
    normal = xp.where(pressed, lines[..., :1, :], 0.0)
    bounded = at.bound > 0
    slides, holding = (at.keep < 1) & bounded, xp.where(bounded, at.keep, 0.0)
    turning = sliding = xp.where(slides, at.share, 0.0)
    lifting = rows.friction * sliding
    if rows.joint is not None:
        turning = xp.where(_joint(rows), sliding, 0.0)
        holding = xp.where(slides & ~_joint(rows), 0.0, holding)
    if rows.fixed_bound is not None:
        lifting = xp.where(rows.fixed_bound[..., None, :] < 0, lifting, 0.0)
    turning, holding, lifting = (x[..., None, :, :] for x in (turning, holding, lifting))
    along = turning * across
    along = along[..., :1, :] + along[..., 1:, :]
    across = holding * (across - turning * along) + lifting * normal
    weighted = xp.concat([normal, across], axis=-2)
    return xp.reshape(weighted, (*weighted.shape[:-2], -1))


def solve(rows: Rows, mass: Array, free: Array, guess: Array) -> tuple[Array, Array]:
    """Return the impulses γ (..., 3, c) of all contacts in a step, and Jᵀ γ (..., 6), N·s.

    With them the momentum is right to rounding; friction and stiffness are so to about 1e-6.

    Args:
        rows: rows of the contacts.
        mass: M (..., 6, 6), symmetric, positive.
        free: ν* (..., 6), the velocity without contact.
        guess: (..., 3, c) impulses to start from, N·s.
    """
    xp, shape, alone = namespace(free), guess.shape, free.ndim == 1
    lines = xp.reshape(rows.jacobian, (*shape[:-2], -1, 6))
    columns = xp.matrix_transpose(lines)
    tables = _SOFTNESS, _GRIP, _PRECISION, _LATER
    softness, grip, precision, later = (constant(xp, table) for table in tables)

    def flat(values: Array) -> Array:
        return xp.reshape(values, (*shape[:-2], -1))

    def speeds(velocity: Array) -> Array:
        return xp.reshape(matvec(lines, velocity), shape)

    def improved(now: _Search) -> _Search:
        slope = _slope(rows, now.lines / now.compliance[..., None, :, :], now.answer)
        stiff = xp.matrix_transpose(slope[..., :6, :])
        known = flat(now.answer.impulse) + slope[..., 6, :]
        mobility = inverse(mass + columns @ stiff)
        missing = matvec(mass, free - now.velocity) + matvec(columns, known)
        step = matvec(mobility, missing)
        velocity = now.velocity + step
        compliance = softness[now.steps + 1] * rows.compliance
        wanted = (rows.target - speeds(velocity)) / compliance
        answer = _answer(rows, grip[now.steps + 1] * rows.friction, wanted)
        impulse = flat(answer.impulse)
        off = impulse - (known - matvec(stiff, step))
        # One more step with the same derivatives costs next to nothing.
        more = matvec(mobility, matvec(columns, off))
        found = xp.reshape(impulse - matvec(stiff, more), shape)
        largest = xp.max(xp.abs(impulse), axis=-1)
        done = xp.max(xp.abs(off), axis=-1) <= precision[now.steps + 1] * largest + _LEAST
        if not alone:
            found = xp.where(now.done[..., None, None], now.found, found)
            done = now.done | done
        return _Search(now.steps + 1, compliance, velocity, now.lines * later, answer, found, done)

    start, done = _answer(rows, rows.friction, guess), free[..., 0] != free[..., 0]
    apart = rows.target - rows.compliance * guess - speeds(free)
    shaped = xp.reshape(columns, (*shape[:-2], 6, *shape[-2:]))
    begun = xp.concat([shaped, apart[..., None, :, :]], axis=-3)
    found = while_loop(
        xp,
        lambda now: (now.steps < len(_SOFTNESS) - 1) & ~(now.done if alone else xp.all(now.done)),
        improved,
        _Search(0, rows.compliance, free, begun, start, start.impulse, done),
    ).found
    return found, matvec(columns, flat(found))
