# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The impulse of all contacts over one step; contact.py says how."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import cross, normalized
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.physics.contact.edges import Touch
from marine_sim_ros.physics.contact.pairs import Pairs
from marine_sim_ros.physics.contact.solver import Rows, solve
from marine_sim_ros.physics.contact.touch import SKIN, lever_rows
from marine_sim_ros.physics.observed import Step

__all__ = ['adhesion', 'solve_contacts']

_RIGID = 1e-4
"""Compliance of what is rigid, as a share of the inverse mass at the point."""
_BRISTLE = 1e-3
"""Compliance of friction, as a share of the inverse mass at the point."""
_SLOWEST_BOUNCE = 0.01
"""m/s; slower impacts do not rebound."""
_FASTEST_EXIT = 0.2
"""m/s; at which what has got deep inside is pushed out."""
_GUESS = np.array([[1.0], [1 + 1e-6], [1 + 1e-6]])
"""Friction to start from, of that of the step before: a little more, so that what slid slides."""


def adhesion(pairs: Pairs, gap: Array) -> Array:
    """Return the pull (c,) in N: a shape's, shared among its pairs that touch a surface."""
    xp = namespace(gap)
    touching = xp.astype(-gap > pairs.adhesive_overlap - SKIN, gap.dtype)
    same = xp.astype(pairs.group[:, None] == pairs.group[None, :], gap.dtype)
    return pairs.adhesion_force * touching / xp.maximum(same @ touching, 1.0)


_AXES, _UP = np.eye(3)[:2, None, :], np.eye(3)[2]


def _directions(normal: Array, primary: Array | None) -> Array:
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
        first = normalized(xp.where(lies, along, across[0, :, :]))
        across = xp.stack([first, cross(normal, first)])
    return xp.concat([normal[None, :, :], across])


def _targets(
    pairs: Pairs, gap: Array, incoming: Array, free: Array, dt: float, carried: Array
) -> tuple[Array, Array, Array]:
    """Return the least normal velocity (c,) after the step, compliance, and speed of exit, m/s.

    Args:
        pairs: coefficients.
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
    target = xp.minimum(-gap / xp.where(inside, late, dt), _FASTEST_EXIT + give * carried)
    # What others do in a step is not the speed of an impact.
    threshold = _SLOWEST_BOUNCE + 2 * xp.maximum(incoming - free, 0.0)
    rebounds = (gap + dt * free < 0) & (incoming < -threshold) & (pairs.restitution > 0)
    exit_speed = xp.where(rebounds, 0.0, xp.maximum(target, 0.0))
    bounce = xp.maximum(-pairs.restitution * incoming, target)
    target = xp.where(rebounds, bounce, target)
    return target, xp.where(inside & ~rebounds, give, 0.0), exit_speed


def solve_contacts(
    pairs: Pairs,
    touch: Touch,
    state: State,
    step: Step,
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
        pull: (c,) of :func:`adhesion`, N; None: nothing adheres.
        drift: (c, 3) velocity of a vehicle's points in it, m/s; None: none moves.
    """
    xp = namespace(touch.gap)
    dt, directions = step.dt, _directions(touch.normal, pairs.primary_in_body(state.orientation))
    jacobian = lever_rows(directions, touch.point[None, :, :])
    normal, drawn = jacobian[0, :, :], 0.0
    if pull is not None:
        drawn = -(pull @ normal)
        step = step._replace(free=step.free + dt * (step.inverse @ drawn))
    incoming, free = normal @ state.velocity, jacobian @ step.free
    if drift is not None:
        moving = xp.vecdot(directions, drift[None, :, :])
        incoming, free = incoming + moving[0, :], free + moving
    before = xp.vecdot(directions, held[None, :, :])
    carried, bent = xp.maximum(before[0, :], 0.0), before[1:, :]
    target, soft, exits = _targets(pairs, touch.gap, incoming, free[0, :], dt, carried)
    mobility = xp.vecdot(jacobian @ step.inverse, jacobian)
    hard = xp.maximum(_RIGID * mobility[:1, :], soft)
    # The same along and across, so that what slides is braked against its direction.
    bristle = _BRISTLE / 2 * (mobility[1:2, :] + mobility[2:, :])
    stretch = bristle * bent
    friction, fixed = pairs.friction, None
    if pairs.lagged is not None:
        lags = pairs.lagged * xp.astype(carried > 0, carried.dtype)
        friction, fixed = friction * (1 - lags), friction * lags * carried
    rows = Rows(
        jacobian,
        xp.concat([target[None, :], stretch]) - free,
        xp.concat([hard, bristle + pairs.viscosity / dt]),
        friction,
        pairs.joint,
        fixed,
    )
    found, impulse = solve(rows, step.mass, constant(xp, _GUESS) * before)
    pushes = xp.concat([xp.maximum(found[:1, :], 0.0), found[1:, :]])
    allowed = pushes[0, :] @ exits + xp.sum(stretch * bent) / 2
    if drift is not None:  # what the joints' drives do
        allowed = allowed + xp.sum(xp.abs(found * moving))
    wrench = _without_gain(step, impulse, allowed) / dt + drawn
    return wrench, xp.sum(pushes[..., None] * directions, axis=0)


def _without_gain(step: Step, impulse: Array, allowed: Array) -> Array:
    """Return an impulse p (6,) as far as it adds no more energy than allowed, J.

    The share s with pᵀν* s + pᵀM⁻¹p s²/2 = allowed, 1 at most. Rebounds of several points with
    friction may add some (Kane's paradox), and so may a search that did not end.
    """
    xp = namespace(impulse)
    a = impulse @ (step.inverse @ impulse) + 1e-30
    b = impulse @ step.free
    share = (xp.sqrt(b * b + 2 * a * allowed) - b) / a
    return xp.minimum(share * (1 + 1e-9), 1.0) * impulse
