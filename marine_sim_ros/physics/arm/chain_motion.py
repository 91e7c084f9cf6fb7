# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A step of a vehicle and its links without forces that keeps momentum and energy.

The midpoint rule of a rigid body (Simo & Wong 1991, :mod:`.rigid_body`) with joints: vehicle and
joints move by the mean of their velocities before and after, ū = (u + u⁺)/2. The momentum of all
in space stays, P⁺ = Ad*(exp(dt ν̄)) P, and those of the joints change by

    π⁺ = π + dt ½ u⁺ · (∫₀¹ ∂𝓜/∂q ds) u    along the way from q to q⁺ = q + dt q̄̇,

so that ½ u·𝓜 u stays, too: it grows by ū·Δ(𝓜 u) − ½ u⁺·Δ𝓜 u, and ν̄·(P⁺ − P) = 0. Source: the
discrete gradient of mean values (Harten, Lax & van Leer 1983; Gonzalez 1996), of second order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import while_loop
from marine_sim_ros.core.linear import linear_solve
from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.physics.arm.chain import chain_of, generalized_mass, slope
from marine_sim_ros.physics.arm.poses import link_poses
from marine_sim_ros.physics.integration import carried

__all__ = ['Free', 'unforced_chain']

_ROUNDS = 20
"""Iterations at most; each gains a factor of about dt |u|."""
_SETTLED = 1e-14
"""Relative change of u⁺ in an iteration; the next one would change it by a hundredth of that."""
_PLACES = np.array([-0.3872983346207417, 0.0, 0.3872983346207417])
_SHARES = np.array([0.27777777777777785, 0.4444444444444444, 0.27777777777777785])
"""Of Gauss on −½ to ½ (half of NumPy's ``leggauss(3)``): exact to rounding for what joints turn
in a step."""


class Free(NamedTuple):
    """Where a chain comes without forces: u (6 + n,), and 𝓜 (6 + n, 6 + n) there."""

    u: Array
    mass: Array


class _Search(NamedTuple):
    """u⁺ found, the one before, 𝓜 there, and how often it was improved."""

    after: Array
    before: Array
    mass: Array
    count: Array


def unforced_chain(
    arm: Manipulator,
    inertia: tuple[Array, Array],
    mass: Array,
    u: Array,
    position: Array,
    dt: float,
) -> Free:
    """Return vehicle and joints after a step without forces.

    Args:
        arm: the arm.
        inertia: of the vehicle (6, 6) about ``base_link``, and of the links (n, 6, 6) about and in
            their joint frames, added mass included.
        mass: 𝓜 (6 + n, 6 + n) at the start.
        u: [ν; q̇] (6 + n,) at the start; with a fixed base ν is 0, and stays.
        position: q (n,) at the start.
        dt: step, s.
    """
    xp = namespace(u)
    assert arm.articulation is not None
    fixed = arm.articulation.fixed
    momentum = matvec(mass, u)
    places = constant(xp, np.append(_PLACES, 0.5)[:, None])
    shares = constant(xp, _SHARES)

    def improved(search: _Search) -> _Search:
        after = search.after
        mean = (u + after) / 2
        way = dt * mean[6:]
        chain = chain_of(arm, *link_poses(arm, position + way / 2 + places * way)[:2])
        pushed = shares @ slope(chain, inertia[1], u, after)[:-1]
        later = momentum[6:] + dt * pushed
        whole = generalized_mass(chain, *inertia)[-1]
        if fixed:
            better = xp.concat([u[:6], linear_solve(whole[6:, 6:], later)])
        else:
            moved = carried(momentum[:6], dt * mean[:6])
            better = linear_solve(whole, xp.concat([moved, later]))
        return _Search(better, after, whole, search.count + 1)

    def unfinished(search: _Search) -> Array:
        change = xp.max(xp.abs(search.after - search.before))
        unsettled = change > _SETTLED * xp.max(xp.abs(search.after))
        return (search.count < _ROUNDS) & ((search.count == 0) | unsettled)

    done = while_loop(xp, unfinished, improved, _Search(u, u, mass, 0))
    return Free(done.after, done.mass)
