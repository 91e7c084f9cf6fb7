# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The impulse of all contacts over one step; contact.py says how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import cross, normalized
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics.contact.edges import Touch
from marine_sim_ros.physics.contact.pairs import Pairs
from marine_sim_ros.physics.contact.solver import Rows, solve
from marine_sim_ros.physics.contact.touch import SKIN, lever_rows

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


def _directions(normal: Array, primary: Array | None) -> Array:
    """Return (..., 3, c, 3): normals and two unit vectors across them, the first along a primary.

    Where that stands on the surface, is zero or None, another one takes its place.
    """
    xp = namespace(normal)
    level = xp.abs(normal[..., :1]) < 0.8
    axis = xp.where(level, constant(xp, _X), constant(xp, _Y))
    first = axis - xp.where(level, normal[..., :1], normal[..., 1:2]) * normal
    if primary is not None:
        along = primary - xp.vecdot(primary, normal)[..., None] * normal
        first = xp.where(xp.vecdot(along, along)[..., None] > 1e-8, along, first)
    first = normalized(first)
    parts = normal, first, cross(normal, first)
    return xp.concat([part[..., None, :, :] for part in parts], axis=-3)


def _targets(
    pairs: Pairs, gap: Array, incoming: Array, free: Array, dt: float, carried: Array
) -> tuple[Array, Array, Array]:
    """Return the least normal velocity (..., c) after the step, compliance, and where it rebounds.

    Args:
        pairs: coefficients.
        gap: (..., c) m.
        incoming: normal velocity (..., c) before the step, m/s.
        free: (..., c) after it, without contact.
        dt: step, s.
        carried: (..., c) normal impulse of the step before, N·s.
    """
    xp = namespace(gap)
    inside, late = gap <= 0, dt + pairs.spook_damping
    give = 1 / (pairs.stiffness(gap) * dt * late)
    # What the contact already carries is no exit: the cap is on the speed above it.
    target = xp.minimum(-gap / xp.where(inside, late, dt), _FASTEST_EXIT + give * carried)
    # What others do in a step is not the speed of an impact.
    threshold = _SLOWEST_BOUNCE + 2 * xp.maximum(incoming - free, 0.0)
    e = pairs.restitution
    rebounds = (gap + dt * free < 0) & (incoming + threshold < 0) & (e > 0)
    target = xp.where(rebounds, xp.maximum(-e * incoming, target), target)
    return target, xp.where(inside & ~rebounds, give, 0.0), rebounds


def _impulse(
    pairs: Pairs, touch: Touch, state: State, step: Step, held: WarmStart, drift: Array | None
) -> tuple[Array, WarmStart]:
    """Return the impulse (..., 6) of a step, and its contacts' to remember."""
    xp = namespace(touch.gap)
    dt, gap = step.dt, touch.gap
    directions = _directions(touch.normal, pairs.primary_in_body(state.orientation))
    jacobian = lever_rows(directions, touch.point[..., None, :, :])
    normal, tangents = jacobian[..., 0, :, :], directions[..., 1:, :, :]
    incoming, free = matvec(normal, state.velocity), matvec(normal, step.free)
    if drift is not None:
        moving = xp.vecdot(directions, drift[..., None, :, :])
        incoming, free = incoming + moving[..., 0, :], free + moving[..., 0, :]
    target, soft, rebounds = _targets(pairs, gap, incoming, free, dt, held.normal)
    mobility = xp.vecdot(jacobian @ step.inverse[..., None, :, :], jacobian)
    hard = xp.maximum(_RIGID * mobility[..., 0, :], soft)
    # The same along and across, so that what slides is braked against its direction.
    bristle = _BRISTLE / 2 * (mobility[..., 1:2, :] + mobility[..., 2:, :])
    before = xp.vecdot(held.tangent[..., None, :, :], tangents)
    stretch = bristle * before
    fixed = None
    if pairs.lagged is not None:
        fixed = xp.where(pairs.lagged * held.normal > 0, held.normal, -1.0)
    wanted = xp.concat([target[..., None, :], stretch], axis=-2)
    rows = Rows(
        jacobian,
        wanted if drift is None else wanted - moving,
        xp.concat([hard[..., None, :], bristle + pairs.viscosity / dt], axis=-2),
        pairs.friction,
        pairs.joint,
        fixed,
    )
    # A little above its bound, so that what slid slides.
    guess = xp.concat([held.normal[..., None, :], (1 + 1e-6) * before], axis=-2)
    found, impulse = solve(rows, step.mass, step.free, guess)
    normals = xp.maximum(found[..., 0, :], 0.0)
    exit_speed = xp.where(rebounds, 0.0, xp.maximum(target, 0.0))
    bent = xp.vecdot(stretch, before)
    allowed = xp.vecdot(normals, exit_speed) + (bent[..., 0] + bent[..., 1]) / 2
    if drift is not None:  # what the joints' drives do
        driven = xp.sum(xp.abs(found * moving), axis=-2)
        allowed = allowed + xp.sum(driven, axis=-1)
    sides = found[..., 1:, :, None] * tangents
    held = WarmStart(normals, sides[..., 0, :, :] + sides[..., 1, :, :])
    return _without_gain(step, impulse, allowed), held


def _without_gain(step: Step, impulse: Array, allowed: Array) -> Array:
    """Return an impulse p (..., 6) as far as it adds no more energy than allowed (...), J.

    The share s with pᵀν* s + pᵀM⁻¹p s²/2 = allowed, 1 at most. Rebounds of several points with
    friction may add some (Kane's paradox), and so may a search that did not end.
    """
    xp = namespace(impulse)
    a = xp.vecdot(impulse, matvec(step.inverse, impulse)) + 1e-30
    b = xp.vecdot(impulse, step.free)
    share = (xp.sqrt(b * b + 2 * a * allowed) - b) / a
    return xp.minimum(share * (1 + 1e-9), 1.0)[..., None] * impulse


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
