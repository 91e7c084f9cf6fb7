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

from marine_sim_ros.core.arrays import Array, constant, namespace
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


class Rows(NamedTuple):
    """c contacts: how their velocities follow from a change of ν, and what they resist with.

    The first of three is along the normal, the others are along and across the surface.

    Attributes:
        jacobian: J (3, c, 6).
        target: b − J ν* (3, c) m/s; the normal velocity is kept from falling below b, friction
            works towards it.
        compliance: r (3, c), 1/kg.
        friction: μ (2, c).
        joint: (c,) 1 where the bound is on the tangents' length, 0 where on each alone.
        fixed_bound: (2, c) N·s, what is added to μ γ_n; None: nothing.
    """

    jacobian: Array
    target: Array
    compliance: Array
    friction: Array
    joint: Array
    fixed_bound: Array | None


class _Answer(NamedTuple):
    """What contacts answer to velocities.

    Attributes:
        impulse: γ (3, c).
        keep: (2, c) share that its bound leaves of friction, 1 at most.
        sliding: (2, c) direction of what slides, else 0.
        lift: (2, c) ∂γ_t/∂γ_n of it.
    """

    impulse: Array
    keep: Array
    sliding: Array
    lift: Array


class _Search(NamedTuple):
    """Newton's method: the steps so far, and where they have led.

    Attributes:
        steps: number.
        compliance: r (3, c) of the answer, 1/kg.
        change: ν − ν* (6,).
        apart: (3, c) m/s by which the answer is not that to ν, at first.
        answer: what the contacts answer.
        found: γ (3, c) after the latest step.
        done: () whether that is the solution.
    """

    steps: Array
    compliance: Array
    change: Array
    apart: Array
    answer: _Answer
    found: Array
    done: Array


def _answer(rows: Rows, wanted: Array, grip: Array | float = 1.0) -> _Answer:
    """Return what contacts answer where (b − v)/r (3, c) is wanted; ``grip`` scales friction."""
    xp, across = namespace(wanted), wanted[1:, :]
    normal = xp.maximum(wanted[:1, :], 0.0)
    friction = grip * rows.friction
    bound = friction * normal
    if rows.fixed_bound is not None:
        bound = bound + grip * rows.fixed_bound
    square = across * across
    size = xp.sqrt(square + rows.joint * square[::-1, :])
    largest = xp.maximum(size, bound) + _LEAST
    keep = bound / largest
    sliding = xp.where(size > bound, across / largest, 0.0)
    impulse = xp.concat([normal, keep * across])
    return _Answer(impulse, keep, sliding, friction * sliding)


def _slope(rows: Rows, at: _Answer, lines: Array) -> Array:
    """Return −∂γ/∂v (7, 3 c) applied to velocities by 1/r (7, 3, c)."""
    xp, across = namespace(lines), lines[:, 1:, :]
    normal = xp.where(at.impulse[:1, :] > 0, lines[:, :1, :], 0.0)
    along = at.sliding * across
    along = along + rows.joint * along[:, ::-1, :]
    across = at.keep * (across - at.sliding * along) + at.lift * normal
    return xp.reshape(xp.concat([normal, across], axis=1), (lines.shape[0], -1))


def solve(rows: Rows, mass: Array, guess: Array) -> tuple[Array, Array]:
    """Return the impulses γ (3, c) of all contacts in a step, and Jᵀ γ (6,), N·s.

    With them the momentum is right to rounding; friction and stiffness are so to about 1e-6.

    Args:
        rows: rows of the contacts.
        mass: M (6, 6), symmetric, positive.
        guess: (3, c) impulses to start from, N·s.
    """
    xp, shape = namespace(mass), guess.shape
    lines = xp.reshape(rows.jacobian, (-1, 6))
    columns = xp.matrix_transpose(lines)
    shaped = xp.reshape(columns, (6, *shape))
    softness, grip, precision = (constant(xp, t) for t in (_SOFTNESS, _GRIP, _PRECISION))

    def improved(now: _Search) -> _Search:
        weighted = xp.concat([shaped, now.apart[None, ...]]) / now.compliance
        slope = _slope(rows, now.answer, weighted)
        stiff = xp.matrix_transpose(slope[:6, :])
        known = xp.reshape(now.answer.impulse, (-1,)) + slope[6, :]
        mobility = inverse(mass + columns @ stiff)
        step = mobility @ (columns @ known - mass @ now.change)
        change = now.change + step
        compliance = softness[now.steps + 1] * rows.compliance
        wanted = (rows.target - xp.reshape(lines @ change, shape)) / compliance
        answer = _answer(rows, wanted, grip[now.steps + 1])
        impulse = xp.reshape(answer.impulse, (-1,))
        off = impulse - (known - stiff @ step)
        # One more step with the same derivatives costs next to nothing.
        found = impulse - stiff @ (mobility @ (columns @ off))
        largest = precision[now.steps + 1] * xp.max(xp.abs(impulse)) + _LEAST
        return _Search(
            now.steps + 1,
            compliance,
            change,
            xp.zeros_like(wanted),
            answer,
            xp.reshape(found, shape),
            xp.max(xp.abs(off)) <= largest,
        )

    start, apart = _answer(rows, guess), rows.target - rows.compliance * guess
    still = xp.zeros_like(mass[0, :])
    found = while_loop(
        xp,
        lambda now: (now.steps < len(_SOFTNESS) - 1) & ~now.done,
        improved,
        _Search(0, rows.compliance, still, apart, start, start.impulse, still[0] != 0),
    ).found
    return found, columns @ xp.reshape(found, (-1,))
