# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Impulse of all contacts over one step, by Newton's method on the velocities of what touches.

The velocity ν after a step is where

    M (ν − ν*) = Jᵀ γ(J ν),

ν* being what it would be without contact and γ what contacts answer to their velocities:
γ_n = max(0, (b_n − v_n)/r_n) along the normal, and along the tangents (b_t − v_t)/r_t, cut off at
Coulomb's bound μ γ_n. A body has six unknowns, however many contacts; bodies that touch each other
are solved for together, one below the other in ν, M and the columns of J. γ is piecewise smooth;
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

from marine_sim_ros.core.arrays import Array, constant, namespace, while_loop
from marine_sim_ros.core.numerics import matrix_inverse
from marine_sim_ros.core.spatial import cross, normalize
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics.contact.detection import SKIN, lever_rows
from marine_sim_ros.physics.contact.edges import ContactGeometry
from marine_sim_ros.physics.contact.pair_coefficients import PairCoefficients
from marine_sim_ros.physics.wrench_observer import StepPrediction

__all__ = [
    'ContactRows',
    'DirectedContacts',
    'adhesion_force',
    'contact_axes',
    'solve_contacts',
    'solve_directed',
    'solve_others',
]


# Impulses at the contacts of rigid bodies, found by Newton's method over their n velocities.

_DESCENTS = (4.0, 6), (2.0, 14), (1.4, 28), (4.0, 6)
_SOFTNESS = np.concatenate(
    [np.ones(7)] + [r ** np.maximum(np.arange(n, -6, -1), 0.0) for r, n in _DESCENTS]
)
"""Factors of the compliances, step by step: three descents, the later ones slower, and a last one
without friction, which always ends: some 1 of 1,000 problems of steps of 0.1 s needs it."""
_FRICTION_SCALES = np.where(np.arange(len(_SOFTNESS)) < len(_SOFTNESS) - 12, 1.0, 0.0)
_PRECISION = np.full(len(_SOFTNESS), 3e-4)
_PRECISION[-13] = 0.1
"""Of impulses before the last correction, relative to the largest; the correction leaves some
square of it. What is as near as single precision gets does not lose its friction."""
_MIN_IMPULSE = 1e-12
"""N·s; a bound of friction where nothing presses, to divide by; impulses that are nothing."""


class ContactRows(NamedTuple):
    """c contacts: how their velocities follow from a change of ν, and what they resist with.

    The first of three is along the normal, the others are along and across the surface.

    Attributes:
        jacobian: J (3, c, n).
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


class _ContactResponse(NamedTuple):
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


class _NewtonIterate(NamedTuple):
    """Newton's method: the steps so far, and where they have led.

    Attributes:
        steps: number.
        compliance: r (3, c) of the answer, 1/kg.
        change: ν − ν* (n,).
        apart: (3, c) m/s by which the answer is not that to ν, at first.
        answer: what the contacts answer.
        found: γ (3, c) after the latest step.
        done: () whether that is the solution.
    """

    steps: Array
    compliance: Array
    change: Array
    apart: Array
    answer: _ContactResponse
    found: Array
    done: Array


def _contact_response(
    rows: ContactRows, wanted: Array, grip: Array | float = 1.0
) -> _ContactResponse:
    """Return the impulses of contacts that want (b − v)/r (3, c); ``grip`` scales friction."""
    xp, across = namespace(wanted), wanted[1:, :]
    normal = xp.maximum(wanted[:1, :], 0.0)
    friction = grip * rows.friction
    bound = friction * normal
    if rows.fixed_bound is not None:
        bound = bound + grip * rows.fixed_bound
    square = across * across
    size = xp.sqrt(square + rows.joint * square[::-1, :])
    largest = xp.maximum(size, bound) + _MIN_IMPULSE
    keep = bound / largest
    sliding = xp.where(size > bound, across / largest, 0.0)
    impulse = xp.concat([normal, keep * across])
    return _ContactResponse(impulse, keep, sliding, friction * sliding)


def _response_gradient(rows: ContactRows, at: _ContactResponse, lines: Array) -> Array:
    """Return −∂γ/∂v (n + 1, 3 c) applied to velocities by 1/r (n + 1, 3, c)."""
    xp, across = namespace(lines), lines[:, 1:, :]
    normal = xp.where(at.impulse[:1, :] > 0, lines[:, :1, :], 0.0)
    along = at.sliding * across
    along = along + rows.joint * along[:, ::-1, :]
    across = at.keep * (across - at.sliding * along) + at.lift * normal
    return xp.reshape(xp.concat([normal, across], axis=1), (lines.shape[0], -1))


def solve_impulses(rows: ContactRows, mass: Array, guess: Array) -> tuple[Array, Array]:
    """Return the impulses γ (3, c) of all contacts in a step, and Jᵀ γ (n,), N·s.

    With them the momentum is right to rounding; friction and stiffness are so to about 1e-6.

    Args:
        mass: M (n, n), symmetric, positive.
        guess: (3, c) impulses to start from, N·s.
    """
    xp, shape, n = namespace(mass), guess.shape, mass.shape[0]
    lines = xp.reshape(rows.jacobian, (-1, n))
    columns = xp.matrix_transpose(lines)
    shaped = xp.reshape(columns, (n, *shape))
    softness, grip, precision = (
        constant(xp, t) for t in (_SOFTNESS, _FRICTION_SCALES, _PRECISION)
    )

    def newton_step(now: _NewtonIterate) -> _NewtonIterate:
        weighted = xp.concat([shaped, now.apart[None, ...]]) / now.compliance
        slope = _response_gradient(rows, now.answer, weighted)
        stiff = xp.matrix_transpose(slope[:n, :])
        known = xp.reshape(now.answer.impulse, (-1,)) + slope[n, :]
        mobility = matrix_inverse(mass + columns @ stiff)
        step = mobility @ (columns @ known - mass @ now.change)
        change = now.change + step
        compliance = softness[now.steps + 1] * rows.compliance
        wanted = (rows.target - xp.reshape(lines @ change, shape)) / compliance
        answer = _contact_response(rows, wanted, grip[now.steps + 1])
        impulse = xp.reshape(answer.impulse, (-1,))
        off = impulse - (known - stiff @ step)
        # One more step with the same derivatives costs next to nothing.
        found = impulse - stiff @ (mobility @ (columns @ off))
        largest = precision[now.steps + 1] * xp.max(xp.abs(impulse)) + _MIN_IMPULSE
        return _NewtonIterate(
            now.steps + 1,
            compliance,
            change,
            xp.zeros_like(wanted),
            answer,
            xp.reshape(found, shape),
            xp.max(xp.abs(off)) <= largest,
        )

    start, apart = _contact_response(rows, guess), rows.target - rows.compliance * guess
    still = xp.zeros_like(mass[0, :])
    found = while_loop(
        xp,
        lambda now: (now.steps < len(_SOFTNESS) - 1) & ~now.done,
        newton_step,
        _NewtonIterate(0, rows.compliance, still, apart, start, start.impulse, still[0] != 0),
    ).found
    return found, columns @ xp.reshape(found, (-1,))


# The impulse of all contacts over one step; contact.py says how.

_RIGID_COMPLIANCE = 1e-4
"""Compliance of what is rigid, as a share of the inverse mass at the point."""
_BRISTLE = 1e-3
"""Compliance of friction, as a share of the inverse mass at the point."""
_MIN_BOUNCE_SPEED = 0.01
"""m/s; slower impacts do not rebound."""
_MAX_EXIT_SPEED = 0.2
"""m/s; at which what has got deep inside is pushed out."""
_GUESS = np.array([[1.0], [1 + 1e-6], [1 + 1e-6]])
"""Friction to start from, of that of the step before: a little more, so that what slid slides."""


def adhesion_force(pairs: PairCoefficients, gap: Array) -> Array:
    """Return the pull (c,) in N: a shape's, shared among its pairs that touch a surface."""
    xp = namespace(gap)
    touching = xp.astype(-gap > pairs.adhesive_overlap - SKIN, gap.dtype)
    same = xp.astype(pairs.group[:, None] == pairs.group[None, :], gap.dtype)
    return pairs.adhesion_force * touching / xp.maximum(same @ touching, 1.0)


_AXES, _UP = np.eye(3)[:2, None, :], np.eye(3)[2]


def contact_axes(normal: Array, primary: Array | None) -> Array:
    """Return (3, c, 3): normals n and two unit vectors across them, the first along a primary.

    Where that stands on the surface, is zero or None, they are x and y mirrored by what takes z
    to ±n: x − n_x w, y − n_y w with w = (n ± z)/(1 + |n_z|).
    """
    xp, up = namespace(normal), normal[:, 2:]
    mirror = (normal + xp.where(up < 0, constant(xp, -_UP), constant(xp, _UP))) / (1 + xp.abs(up))
    share = xp.matrix_transpose(normal[:, :2])
    across = constant(xp, _AXES) - share[..., None] * mirror
    if primary is not None:
        along = primary - xp.vecdot(primary, normal)[:, None] * normal
        lies = xp.vecdot(along, along)[:, None] > 1e-8
        first = normalize(xp.where(lies, along, across[0, :, :]))
        across = xp.stack([first, cross(normal, first)])
    return xp.concat([normal[None, :, :], across])


def _target_velocities(
    pairs: PairCoefficients, gap: Array, incoming: Array, free: Array, dt: float, carried: Array
) -> tuple[Array, Array, Array]:
    """Return the least normal velocity (c,) after the step, compliance, and speed of exit, m/s.

    Args:
        gap: (c,) m.
        incoming: normal velocity (c,) before the step, m/s.
        free: (c,) after it, without contact.
        dt: step, s.
        carried: (c,) normal impulse of the step before, N·s.
    """
    xp = namespace(gap)
    inside, late = gap <= 0, dt + pairs.spook_damping
    give = 1 / (pairs.stiffness(gap) * dt * late)
    # What the contact already carries is no exit: the cap is on the speed above it.
    target = xp.minimum(-gap / xp.where(inside, late, dt), _MAX_EXIT_SPEED + give * carried)
    # What others do in a step is not the speed of an impact.
    threshold = _MIN_BOUNCE_SPEED + 2 * xp.maximum(incoming - free, 0.0)
    rebounds = (gap + dt * free < 0) & (incoming < -threshold) & (pairs.restitution > 0)
    exit_speed = xp.where(rebounds, 0.0, xp.maximum(target, 0.0))
    bounce = xp.maximum(-pairs.restitution * incoming, target)
    target = xp.where(rebounds, bounce, target)
    return target, xp.where(inside & ~rebounds, give, 0.0), exit_speed


def solve_contacts(
    pairs: PairCoefficients,
    touch: ContactGeometry,
    state: State,
    step: StepPrediction,
    held: Array,
    pull: Array | None,
    drift: Array | None = None,
) -> tuple[Wrench, Array]:
    """Return the wrench (6,) of contacts over a step, and their impulses (c, 3) to remember.

    Args:
        pairs: coefficients of c pairs.
        touch: places of the contacts.
        state: state of the body.
        step: motion under the other wrenches.
        held: impulses (c, 3) of the step before, body frame, N·s.
        pull: (c,) of :func:`adhesion_force`, N; None: nothing adheres.
        drift: (c, 3) velocity of a vehicle's points in it, m/s; None: none moves.
    """
    directions = contact_axes(touch.normal, pairs.primary_in_body(state.orientation))
    jacobian = lever_rows(directions, touch.point[None, :, :])
    rows = DirectedContacts(touch.gap, directions, jacobian)
    return solve_directed(pairs, rows, state.velocity, step, held, pull, drift)[:2]


class DirectedContacts(NamedTuple):
    """c contacts along the normal and two directions across it.

    Attributes:
        gap: (c,) m.
        directions: (3, c, 3) unit vectors, in the frame of the body on which impulses act.
        jacobian: (3, c, n) speeds along them of the n velocities of all bodies.
    """

    gap: Array
    directions: Array
    jacobian: Array


def solve_directed(
    pairs: PairCoefficients,
    touch: DirectedContacts,
    velocity: Array,
    step: StepPrediction,
    held: Array,
    pull: Array | None,
    drift: Array | None = None,
    others: ContactRows | None = None,
) -> tuple[Array, Array, Array]:
    """Return the wrenches (n,) of contacts of one or more bodies, and impulses to remember.

    The second are those of the contacts (c, 3), the third those of the other rows (3, o).

    Args:
        pairs: coefficients of c pairs.
        velocity: ν (n,) of all bodies.
        step: their motion under the other wrenches.
        held: impulses (c, 3) of the step before, N·s.
        pull: (c,) of :func:`adhesion_force`, N; None: nothing adheres.
        drift: (c, 3) velocity of points in their body, m/s; None: none moves.
        others: what else is found with the contacts, with b as its target; None: nothing.
    """
    xp = namespace(touch.gap)
    dt, directions, jacobian = step.dt, touch.directions, touch.jacobian
    normal, drawn = jacobian[0, :, :], 0.0
    if pull is not None:
        drawn = -(pull @ normal)
        step = step._replace(free=step.free + dt * (step.inverse @ drawn))
    incoming, free = normal @ velocity, jacobian @ step.free
    if drift is not None:
        moving = xp.vecdot(directions, drift[None, :, :])
        incoming, free = incoming + moving[0, :], free + moving
    before = xp.vecdot(directions, held[None, :, :])
    carried, bent = xp.maximum(before[0, :], 0.0), before[1:, :]
    target, soft, exits = _target_velocities(pairs, touch.gap, incoming, free[0, :], dt, carried)
    mobility = xp.vecdot(jacobian @ step.inverse, jacobian)
    hard = xp.maximum(_RIGID_COMPLIANCE * mobility[:1, :], soft)
    # The same along and across, so that what slides is braked against its direction.
    bristle = _BRISTLE / 2 * (mobility[1:2, :] + mobility[2:, :])
    stretch = bristle * bent
    friction, fixed = pairs.friction, None
    if pairs.lagged is not None:
        lags = pairs.lagged * xp.astype(carried > 0, carried.dtype)
        friction, fixed = friction * (1 - lags), friction * lags * carried
    rows = ContactRows(
        jacobian,
        xp.concat([target[None, :], stretch]) - free,
        xp.concat([hard, bristle + pairs.viscosity / dt]),
        friction,
        pairs.joint,
        fixed,
    )
    guess, count = constant(xp, _GUESS) * before, before.shape[1]
    if others is not None:
        rows = _with_others(rows, others, step)
        guess = xp.concat([guess, xp.zeros_like(others.target)], axis=1)
    found, impulse = solve_impulses(rows, step.mass, guess)
    found, rest = found[:, :count], found[:, count:]
    pushes = xp.concat([xp.maximum(found[:1, :], 0.0), found[1:, :]])
    allowed = pushes[0, :] @ exits + xp.sum(stretch * bent) / 2
    if drift is not None:  # what the joints' drives do
        allowed = allowed + xp.sum(xp.abs(found * moving))
    if others is not None:
        allowed = allowed + _allowed_of(others, rest)
    wrench = _limit_energy(step, impulse, allowed) / dt + drawn
    return wrench, xp.sum(pushes[..., None] * directions, axis=0), rest


def _with_others(rows: ContactRows, others: ContactRows, step: StepPrediction) -> ContactRows:
    """Return rows of contacts and others, of which a target is a velocity."""
    xp = namespace(rows.target)
    fixed = xp.zeros_like(rows.friction) if rows.fixed_bound is None else rows.fixed_bound
    both = zip(
        rows._replace(fixed_bound=fixed), _from_free(others, step), (1, 1, 1, 1, 0, 1), strict=True
    )
    return ContactRows(*(xp.concat([a, b], axis=axis) for a, b, axis in both))


def _from_free(others: ContactRows, step: StepPrediction) -> ContactRows:
    """Return rows with their target b told from ν*."""
    return others._replace(target=others.target - others.jacobian @ step.free)


def _allowed_of(others: ContactRows, impulse: Array) -> Array:
    """Return the energy that stops which push out, and friction that springs back, may add, J."""
    xp, wanted = namespace(impulse), others.target
    speed = xp.concat([xp.maximum(wanted[:1, :], 0.0), xp.abs(wanted[1:, :])])
    return xp.sum(xp.abs(impulse) * speed)


def solve_others(others: ContactRows, step: StepPrediction) -> tuple[Array, Array]:
    """Return the wrenches (n,) of rows that are no contacts, and their impulses (3, o).

    Args:
        others: the rows, with b as their target.
        step: motion of the bodies under the other wrenches.
    """
    xp = namespace(step.free)
    rows = _from_free(others, step)
    found, impulse = solve_impulses(rows, step.mass, xp.zeros_like(rows.target))
    return _limit_energy(step, impulse, _allowed_of(others, found)) / step.dt, found


def _limit_energy(step: StepPrediction, impulse: Array, allowed: Array) -> Array:
    """Return an impulse p (n,) as far as it adds no more energy than allowed, J.

    The share s with pᵀν* s + pᵀM⁻¹p s²/2 = allowed, 1 at most. Rebounds of several points with
    friction may add some (Kane's paradox), and so may a search that did not end.
    """
    xp = namespace(impulse)
    a = impulse @ (step.inverse @ impulse) + 1e-30
    b = impulse @ step.free
    share = (xp.sqrt(b * b + 2 * a * allowed) - b) / a
    return xp.minimum(share * (1 + 1e-9), 1.0) * impulse
