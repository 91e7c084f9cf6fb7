# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The impulse of all contacts over one step; :mod:`marine_sim_ros.physics.contact` says how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import traced, while_loop
from marine_sim_ros.core.spatial import cross, normalized
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics.contact_pairs import Pairs
from marine_sim_ros.physics.contact_solver import Rows, impulse_work, solve
from marine_sim_ros.physics.contact_touch import SKIN, Touch, lever_rows

__all__ = ['WarmStart', 'Step', 'adhesion', 'solve_contacts']

_RIGID = 1e-4
"""Compliance of what is rigid, as a share of the inverse mass at the point."""
_BRISTLE = 1e-3
"""Compliance of friction, as a share of the inverse mass at the point."""
_SLOWEST_BOUNCE = 0.01
"""m/s; slower impacts do not rebound."""
_FASTEST_EXIT = 0.2
"""m/s; at which what has got deep inside is pushed out."""


class WarmStart(NamedTuple):
    """Impulses of the step before: of the ContactMemory, of the pairs picked out."""

    normal: Array
    tangent: Array


class Step(NamedTuple):
    """What is known of a step before its solution.

    Attributes:
        mass: M + dt D (..., 6, 6).
        inverse: its inverse.
        free: ν* (..., 6).
        dt: s.
    """

    mass: Array
    inverse: Array
    free: Array
    dt: float


def adhesion(pairs: Pairs, gap: Array) -> Array:
    """Return the pull (..., c) in N: a shape's, shared among its pairs that touch a surface."""
    xp = namespace(gap)
    inside = -gap > pairs.adhesive_overlap - SKIN
    touching = xp.where(inside, xp.ones_like(gap), xp.zeros_like(gap))
    same = xp.astype(pairs.group[..., :, None] == pairs.group[..., None, :], gap.dtype)
    count = matvec(same, touching)
    return pairs.adhesion_force * touching / xp.maximum(count, xp.ones_like(count))


_X, _Y = np.eye(3)[:2]


def _tangents(normal: Array, primary: Array | None) -> tuple[Array, Array]:
    """Return two unit vectors (..., 3) across a normal, the first along a direction.

    Where that stands on the surface, is zero or None, another one takes its place.
    """
    xp = namespace(normal)
    x, y = constant(xp, _X), constant(xp, _Y)
    first = xp.where(xp.abs(normal[..., :1]) < 0.8, x, y)
    first = first - xp.vecdot(first, normal)[..., None] * normal
    if primary is not None:
        along = primary - xp.vecdot(primary, normal)[..., None] * normal
        first = xp.where(xp.vecdot(along, along)[..., None] > 1e-8, along, first)
    first = normalized(first)
    return first, cross(normal, first)


def _targets(
    pairs: Pairs,
    gap: Array,
    incoming: Array,
    free: Array,
    dt: float,
    *,
    most: Array,
    bounce: Array | bool,
) -> tuple[Array, Array]:
    """Return the least normal velocity (..., c) after the step, and where it is a rebound.

    Args:
        pairs: coefficients.
        gap: (..., c) m.
        incoming: normal velocity (..., c) before the step, m/s.
        free: (..., c) after it, without contact.
        dt: step, s.
        most: (..., c) that a penetration may ask for, m/s.
        bounce: whether there are rebounds at all.
    """
    xp = namespace(gap)
    leave = xp.minimum(-gap / (dt + pairs.spook_damping), most)
    target = xp.where(gap > 0, -gap / dt, leave)
    # What others do in a step is not the speed of an impact.
    threshold = _SLOWEST_BOUNCE + 2 * xp.maximum(incoming - free, 0.0)
    e = pairs.restitution
    rebounds = (gap + dt * free < 0) & (-incoming > threshold) & (e > 0)
    rebounds = rebounds & bounce
    return xp.where(rebounds, xp.maximum(-e * incoming, target), target), rebounds


class _Result(NamedTuple):
    """Impulse Jᵀγ (..., 6), the energy (...) it adds and may add, J; impulses to remember."""

    impulse: Array
    work: Array
    allowed: Array
    normal: Array
    tangent: Array


def _solved(
    pairs: Pairs,
    touch: Touch,
    state: State,
    step: Step,
    held: WarmStart,
    drift: Array | None,
    *,
    bounce: Array | bool,
) -> _Result:
    xp = namespace(touch.gap)
    dt, gap = step.dt, touch.gap
    across = _tangents(touch.normal, pairs.primary_in_body(state.orientation))
    directions = xp.stack([touch.normal, *across], axis=-3)
    jacobian = lever_rows(directions, touch.point[..., None, :, :])
    normal = jacobian[..., 0, :, :]
    incoming, free = matvec(normal, state.velocity), matvec(normal, step.free)
    moving: Any = 0.0
    if drift is not None:
        moving = xp.vecdot(directions, drift[..., None, :, :])
        incoming, free = incoming + moving[..., 0, :], free + moving[..., 0, :]
    tau = pairs.spook_damping
    give = 1 / (pairs.stiffness(gap) * dt * (dt + tau))
    # What the contact already carries is no exit: the cap is on the speed above it.
    most = _FASTEST_EXIT + give * held.normal
    target, rebounds = _targets(pairs, gap, incoming, free, dt, most=most, bounce=bounce)
    mobilities = xp.vecdot(jacobian @ step.inverse[..., None, :, :], jacobian)
    mobility, sideways = mobilities[..., 0, :], mobilities[..., 1:, :]
    soft = xp.where((gap <= 0) & ~rebounds, give, 0.0)
    # The same along and across, so that what slides is braked against its direction.
    bristle = _BRISTLE / 2 * (sideways[..., :1, :] + sideways[..., 1:, :])
    tangents = directions[..., 1:, :, :]
    before = xp.vecdot(held.tangent[..., None, :, :], tangents)
    hard = xp.maximum(_RIGID * mobility, soft)
    fixed = None
    if pairs.lagged is not None:
        fixed = xp.where(pairs.lagged * held.normal > 0, held.normal, -1.0)
    rows = Rows(
        jacobian,
        xp.concat([target[..., None, :], bristle * before], axis=-2) - moving,
        xp.concat([hard[..., None, :], bristle + pairs.viscosity / dt], axis=-2),
        pairs.friction,
        pairs.joint,
        fixed,
    )
    # A little above its bound, so that what slid slides.
    guess = xp.concat([held.normal[..., None, :], (1 + 1e-6) * before], axis=-2)
    result = solve(rows, step.mass, step.inverse, step.free, state.velocity, guess)
    impulse, work = impulse_work(rows, step.inverse, step.free, result)
    tangent = xp.sum(result.tangent[..., None] * tangents, axis=-3)
    exit_speed = xp.where(rebounds, 0.0, xp.maximum(target, 0.0))
    bent = xp.sum(bristle * before * before, axis=(-2, -1)) / 2
    allowed = xp.vecdot(result.normal, exit_speed) + bent
    if drift is not None:  # what the joints' drives do
        driven = xp.abs(result.normal * moving[..., 0, :])
        driven = driven + xp.sum(xp.abs(result.tangent * moving[..., 1:, :]), axis=-2)
        allowed = allowed + xp.sum(driven, axis=-1)
    return _Result(impulse, work, allowed, result.normal, tangent)


def _without_gain(step: Step, hard: _Result, plain: _Result) -> _Result:
    """Return a mixture of a solution with and one without rebounds that adds no energy.

    Rebounds of several points with friction may add some (Kane's paradox); the energy is convex
    in the impulse, so the share s = −E₀/(E₁ − E₀) of the way adds none.
    """
    xp = namespace(hard.work)
    gain, base = hard.work - hard.allowed, plain.work - plain.allowed
    over = gain > 0
    base = xp.minimum(base, 0.0)
    share = xp.where(over, -base / xp.where(over, gain - base, 1.0), 1.0)
    impulse = plain.impulse + share[..., None] * (hard.impulse - plain.impulse)
    normal = plain.normal + share[..., None] * (hard.normal - plain.normal)
    change = matvec(step.inverse, impulse)
    work = xp.vecdot(impulse, step.free + change / 2)
    allowed = xp.maximum(hard.allowed, plain.allowed)
    return _Result(impulse, work, allowed, normal, plain.tangent)


def _leaves(touch: Touch, step: Step, held: WarmStart) -> bool:
    """Return whether a body is off everything after the step anyway: all impulses are 0."""
    if np.any(held.normal):
        return False
    free = matvec(lever_rows(touch.normal, touch.point), step.free)
    return bool(np.all(touch.gap + step.dt * free > 0))


class _Tries(NamedTuple):
    """Solutions, how many: the latest, and the one before."""

    number: int
    before: _Result
    latest: _Result


def _solution(
    pairs: Pairs, touch: Touch, state: State, step: Step, held: WarmStart, drift: Array | None
) -> _Result:
    """Return the solution with rebounds, mixed with the one without where it adds energy."""
    xp = namespace(touch.gap)

    def found(bounce: Array | bool) -> _Result:
        return _solved(pairs, touch, state, step, held, drift, bounce=bounce)

    def gains(result: _Result) -> Array:
        return xp.any(result.work > result.allowed + 1e-12)

    if not traced(xp):
        hard = found(True)
        return _bounded(step, _without_gain(step, hard, found(False))) if gains(hard) else hard
    # The same loop once or twice: to compile it takes as long as all else of a tick together.
    work = xp.zeros_like(step.free[..., 0])
    none = _Result(xp.zeros_like(step.free), work, work, *(xp.zeros_like(h) for h in held))
    done = while_loop(
        xp,
        lambda now: (now.number == 0) | ((now.number == 1) & gains(now.latest)),
        lambda now: _Tries(now.number + 1, now.latest, found(now.number == 0)),
        _Tries(0, none, none),
    )
    hard = _Result(*(xp.where(done.number > 1, *pair) for pair in zip(*done[1:], strict=True)))
    return _bounded(step, _without_gain(step, hard, done.latest))


def _bounded(step: Step, result: _Result) -> _Result:
    """Return a solution of a search that did not end as far as it adds no energy.

    The share s of the impulse p with pᵀν* s + pᵀM⁻¹p s²/2 = allowed.
    """
    xp = namespace(result.work)
    a, b = (
        xp.vecdot(result.impulse, matvec(step.inverse, result.impulse)),
        xp.vecdot(result.impulse, step.free),
    )
    root = xp.sqrt(b * b + 2 * a * result.allowed)
    share = xp.where(a > 0, (root - b) / xp.where(a > 0, a, 1.0), 1.0)
    share = xp.minimum(share * (1 + 1e-9), 1.0)
    return result._replace(impulse=share[..., None] * result.impulse)


def solve_contacts(
    pairs: Pairs,
    touch: Touch,
    state: State,
    step: Step,
    held: WarmStart,
    pull: Array | None,
    drift: Array | None = None,
) -> tuple[Wrench, WarmStart]:
    """Return the wrench (..., 6) of contacts over a step, and their impulses to remember.

    Args:
        pairs: coefficients of c pairs.
        touch: places of the contacts.
        state: state of the body.
        step: motion under the other wrenches.
        held: warm start, the impulses of the previous step.
        pull: (..., c) of :func:`adhesion`, N; None: nothing adheres.
        drift: (..., c, 3) velocity of a vehicle's points in it, m/s; None: none moves.
    """
    if pull is None:
        impulse, held = _impulse(pairs, touch, state, step, held, drift)
        return impulse / step.dt, held
    rows = lever_rows(touch.normal, touch.point)
    drawn = -matvec(namespace(rows).matrix_transpose(rows), pull)
    step = step._replace(free=step.free + step.dt * matvec(step.inverse, drawn))
    impulse, held = _impulse(pairs, touch, state, step, held, drift)
    return impulse / step.dt + drawn, held


def _impulse(
    pairs: Pairs, touch: Touch, state: State, step: Step, held: WarmStart, drift: Array | None
) -> tuple[Array, WarmStart]:
    """Return the impulse (..., 6) of a step, and its contacts' to remember."""
    xp = namespace(touch.gap)
    if xp is NUMPY and drift is None and _leaves(touch, step, held):
        return xp.zeros_like(step.free), WarmStart(*(xp.zeros_like(h) for h in held))
    result = _solution(pairs, touch, state, step, held, drift)
    return result.impulse, WarmStart(result.normal, result.tangent)
