# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The impulse of all contacts over one step; :mod:`marine_sim_ros.physics.contact` says how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import traced, while_loop
from marine_sim_ros.core.spatial import cross, normalized
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics.contact_pairs import PairTable
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
        free: ν* (..., 6).
        dt: s.
    """

    mass: Array
    free: Array
    dt: float


def adhesion(pairs: PairTable, gap: Array) -> Array:
    """Return the pull (..., c) in N: a shape's, shared among its pairs that touch a surface."""
    xp = namespace(gap)
    if not np.any(pairs.adhesion_force):
        return xp.zeros_like(gap)
    inside = -gap > constant(xp, pairs.adhesive_overlap) - SKIN
    touching = xp.where(inside, xp.ones_like(gap), xp.zeros_like(gap))
    _, member = np.unique(pairs.group, return_inverse=True)
    groups = constant(xp, np.equal.outer(member, np.arange(member.max() + 1)).astype(float))
    count = (touching @ groups) @ groups.T
    return constant(xp, pairs.adhesion_force) * touching / xp.maximum(count, xp.ones_like(count))


def _tangents(normal: Array, primary: Array) -> tuple[Array, Array]:
    """Return two unit vectors (..., 3) across a normal, the first along a direction.

    Where that stands on the surface, or is zero, another one takes its place.
    """
    xp = namespace(normal)
    x, y = (constant(xp, np.eye(3)[i]) for i in range(2))
    first = primary - xp.vecdot(primary, normal)[..., None] * normal
    other = xp.where(xp.abs(normal[..., :1]) < 0.8, x, y)
    other = other - xp.vecdot(other, normal)[..., None] * normal
    first = xp.where(xp.vecdot(first, first)[..., None] > 1e-8, first, other)
    first = normalized(first)
    return first, cross(normal, first)


def _targets(
    pairs: PairTable,
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
    zero = xp.zeros_like(gap)
    leave = xp.minimum(-gap / (dt + constant(xp, pairs.spook_damping)), most)
    target = xp.where(gap > 0, -gap / dt, leave)
    # What others do in a step is not the speed of an impact.
    threshold = _SLOWEST_BOUNCE + 2 * xp.maximum(incoming - free, zero)
    e = constant(xp, pairs.restitution)
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
    pairs: PairTable,
    touch: Touch,
    state: State,
    step: Step,
    held: WarmStart,
    *,
    bounce: Array | bool,
) -> _Result:
    xp = namespace(touch.gap)
    dt, gap = step.dt, touch.gap
    across = _tangents(touch.normal, pairs.primary_in_body(state.orientation))
    directions = xp.stack([touch.normal, *across], axis=-3)
    jacobian = lever_rows(directions, touch.point[..., None, :, :] + xp.zeros_like(directions))
    normal = jacobian[..., 0, :, :]
    incoming, free = matvec(normal, state.velocity), matvec(normal, step.free)
    tau = constant(xp, pairs.spook_damping)
    give = 1 / (pairs.stiffness(gap) * dt * (dt + tau))
    # What the contact already carries is no exit: the cap is on the speed above it.
    most = _FASTEST_EXIT + give * held.normal
    target, rebounds = _targets(pairs, gap, incoming, free, dt, most=most, bounce=bounce)
    inverse = xp.linalg.inv(step.mass)
    mobilities = xp.vecdot(jacobian @ inverse[..., None, :, :], jacobian)
    mobility, sideways = mobilities[..., 0, :], mobilities[..., 1:, :]
    soft = xp.where((gap <= 0) & ~rebounds, give, xp.zeros_like(give))
    wide = xp.zeros_like(sideways)
    friction = xp.stack([constant(xp, f) for f in (pairs.friction, pairs.cross_friction)])
    creep = xp.stack([constant(xp, v) for v in (pairs.surface_viscosity, pairs.cross_viscosity)])
    # The same along and across, so that what slides is braked against its direction.
    bristle = _BRISTLE * (wide + xp.mean(sideways, axis=-2, keepdims=True))
    before = xp.stack([xp.vecdot(held.tangent, t) for t in across], axis=-2)
    hard = xp.maximum(_RIGID * mobility, soft)
    rows = Rows(
        jacobian,
        xp.concat([target[..., None, :], bristle * before], axis=-2),
        xp.concat([hard[..., None, :], bristle + creep / dt], axis=-2),
        friction + wide,
        constant(xp, pairs.joint) + xp.zeros_like(gap),
        xp.where(constant(xp, pairs.lagged) * held.normal > 0, held.normal, -xp.ones_like(gap)),
    )
    result = solve(rows, step.mass, step.free, state.velocity, held.normal)
    impulse, work = impulse_work(rows, step.mass, step.free, result)
    tangent = sum(result.tangent[..., i, :, None] * across[i] for i in range(2))
    exit_speed = xp.where(rebounds, xp.zeros_like(target), xp.maximum(target, xp.zeros_like(gap)))
    bent = xp.sum(xp.vecdot(bristle, before * before), axis=-1) / 2
    allowed = xp.vecdot(result.normal, exit_speed) + bent
    return _Result(impulse, work, allowed, result.normal, tangent)


def _without_gain(step: Step, hard: _Result, plain: _Result) -> _Result:
    """Return a mixture of a solution with and one without rebounds that adds no energy.

    Rebounds of several points with friction may add some (Kane's paradox); the energy is convex
    in the impulse, so the share s = −E₀/(E₁ − E₀) of the way adds none.
    """
    xp = namespace(hard.work)
    gain, base = hard.work - hard.allowed, plain.work - plain.allowed
    over = gain > 0
    base = xp.minimum(base, xp.zeros_like(base))
    share = xp.where(
        over, -base / xp.where(over, gain - base, xp.ones_like(gain)), xp.ones_like(gain)
    )
    impulse = plain.impulse + share[..., None] * (hard.impulse - plain.impulse)
    normal = plain.normal + share[..., None] * (hard.normal - plain.normal)
    change = xp.linalg.solve(step.mass, impulse[..., None])[..., 0]
    work = xp.vecdot(impulse, step.free + change / 2)
    allowed = xp.maximum(hard.allowed, plain.allowed)
    return _Result(impulse, work, allowed, normal, plain.tangent)


def _leaves(touch: Touch, step: Step, held: WarmStart) -> bool:
    """Return whether a body is off everything after the step anyway: all impulses are 0."""
    free = matvec(lever_rows(touch.normal, touch.point), step.free)
    return bool(np.all(touch.gap + step.dt * free > 0) and np.all(held.normal == 0))


class _Tries(NamedTuple):
    """Solutions, how many: the latest, and the one before."""

    number: int
    before: _Result
    latest: _Result


def _solution(
    pairs: PairTable, touch: Touch, state: State, step: Step, held: WarmStart
) -> _Result:
    """Return the solution with rebounds, mixed with the one without where it adds energy."""
    xp = namespace(touch.gap)

    def found(bounce: Array | bool) -> _Result:
        return _solved(pairs, touch, state, step, held, bounce=bounce)

    def gains(result: _Result) -> Array:
        return xp.any(result.work > result.allowed + 1e-12)

    if not traced(xp):
        hard = found(True)
        return _without_gain(step, hard, found(False)) if gains(hard) else hard
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
    return _without_gain(step, hard, done.latest)


def solve_contacts(
    pairs: PairTable, touch: Touch, state: State, step: Step, held: WarmStart, pull: Array
) -> tuple[Wrench, WarmStart]:
    """Return the wrench (..., 6) of contacts over a step, and their impulses to remember.

    Args:
        pairs: coefficients of c pairs.
        touch: places of the contacts.
        state: state of the body.
        step: motion under the other wrenches.
        held: warm start, the impulses of the previous step.
        pull: (..., c) of :func:`adhesion`, N.
    """
    xp = namespace(touch.gap)
    rows = lever_rows(touch.normal, touch.point)
    drawn = -matvec(xp.matrix_transpose(rows), pull)
    change = xp.linalg.solve(step.mass, drawn[..., None])[..., 0]
    step = step._replace(free=step.free + step.dt * change)
    impulse, held = _impulse(pairs, touch, state, step, held)
    return impulse / step.dt + drawn, held


def _impulse(
    pairs: PairTable, touch: Touch, state: State, step: Step, held: WarmStart
) -> tuple[Array, WarmStart]:
    """Return the impulse (..., 6) of a step, and its contacts' to remember."""
    xp = namespace(touch.gap)
    if xp is NUMPY and _leaves(touch, step, held):
        return xp.zeros_like(step.free), WarmStart(*(xp.zeros_like(h) for h in held))
    result = _solution(pairs, touch, state, step, held)
    # Whatever is left of a search that did not end: s p with pᵀν* s + pᵀM⁻¹p s²/2 = allowed.
    change = xp.linalg.solve(step.mass, result.impulse[..., None])[..., 0]
    a, b = xp.vecdot(result.impulse, change), xp.vecdot(result.impulse, step.free)
    root = xp.sqrt(b * b + 2 * a * result.allowed)
    share = xp.where(a > 0, (root - b) / xp.where(a > 0, a, xp.ones_like(a)), xp.ones_like(a))
    share = xp.minimum(share * (1 + 1e-9), xp.ones_like(share))
    return share[..., None] * result.impulse, WarmStart(result.normal, result.tangent)
