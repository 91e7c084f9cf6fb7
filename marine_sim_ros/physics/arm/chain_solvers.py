# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Solvers of a chain's step: its free motion, and joint rates with drives, friction and stops.

The midpoint rule of a rigid body (Simo & Wong 1991, :mod:`.rigid_body`) with joints: vehicle and
joints move by the mean of their velocities before and after, ū = (u + u⁺)/2. The momentum of all
in space stays, P⁺ = Ad*(exp(dt ν̄)) P, and those of the joints change by

    π⁺ = π + dt ½ u⁺ · (∫₀¹ ∂𝓜/∂q ds) u    along the way from q to q⁺ = q + dt q̄̇,

so that ½ u·𝓜 u stays, too: it grows by ū·Δ(𝓜 u) − ½ u⁺·Δ𝓜 u, and ν̄·(P⁺ − P) = 0. Source: the
discrete gradient of mean values (Harten, Lax & van Leer 1983; Gonzalez 1996), of second order.

A drive gives clip(clip(c, K (v₋ − x), K (v₊ − x)), −e, e) at the rate x: with v₋ = v₊ it goes to a
speed, with v∓ = ∓ẋ_max it gives the effort c up to its speed. The gear resists with d x and, where
it turns, with f; where it rests, with up to f. A stop lets nothing through. All of them fall with
the rate, so that for each joint alone the answer is a median of four, and for all together the
minimum of a convex function: A x = b + dt φ(x). The law is ours; it is that of a motor with a
cascade of speed and current control, without its inductance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace, while_loop
from marine_sim_ros.core.numerics import linear_solve
from marine_sim_ros.model.arm import Manipulator
from marine_sim_ros.physics.arm.chain import generalized_mass, kinetic_energy_gradient, make_chain
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.rigid_body import transport_momentum

__all__ = ['JointLaw', 'drive_efforts', 'solve_free_motion', 'solve_joint_rates']


# A step of a vehicle and its links without forces that keeps momentum and energy.

_MAX_MOTION_ITERATIONS = 20
"""Iterations at most; each gains a factor of about dt |u|."""
_MOTION_TOLERANCE = 1e-14
"""Relative change of u⁺ in an iteration; the next one would change it by a hundredth of that."""
_GAUSS_POINTS = np.array([-0.3872983346207417, 0.0, 0.3872983346207417])
_GAUSS_WEIGHTS = np.array([0.27777777777777785, 0.4444444444444444, 0.27777777777777785])
"""Of Gauss on −½ to ½ (half of NumPy's ``leggauss(3)``): exact to rounding for what joints turn
in a step."""


class FreeMotion(NamedTuple):
    """Where a chain comes without forces: u (6 + n,), and 𝓜 (6 + n, 6 + n) there."""

    u: Array
    mass: Array


class _MotionIterate(NamedTuple):
    """u⁺ found, the one before, 𝓜 there, and how often it was improved."""

    after: Array
    before: Array
    mass: Array
    count: Array


def solve_free_motion(
    arm: Manipulator,
    inertia: tuple[Array, Array],
    mass: Array,
    u: Array,
    position: Array,
    dt: float,
) -> FreeMotion:
    """Return vehicle and joints after a step without forces.

    Args:
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
    places = constant(xp, np.append(_GAUSS_POINTS, 0.5)[:, None])
    shares = constant(xp, _GAUSS_WEIGHTS)

    def improve(search: _MotionIterate) -> _MotionIterate:
        after = search.after
        mean = (u + after) / 2
        way = dt * mean[6:]
        chain = make_chain(arm, *link_poses(arm, position + way / 2 + places * way)[:2])
        pushed = shares @ kinetic_energy_gradient(chain, inertia[1], u, after)[:-1]
        later = momentum[6:] + dt * pushed
        whole = generalized_mass(chain, *inertia)[-1]
        if fixed:
            better = xp.concat([u[:6], linear_solve(whole[6:, 6:], later)])
        else:
            moved = transport_momentum(momentum[:6], dt * mean[:6])
            better = linear_solve(whole, xp.concat([moved, later]))
        return _MotionIterate(better, after, whole, search.count + 1)

    def continues(search: _MotionIterate) -> Array:
        change = xp.max(xp.abs(search.after - search.before))
        unsettled = change > _MOTION_TOLERANCE * xp.max(xp.abs(search.after))
        return (search.count < _MAX_MOTION_ITERATIONS) & ((search.count == 0) | unsettled)

    done = while_loop(xp, continues, improve, _MotionIterate(u, u, mass, 0))
    return FreeMotion(done.after, done.mass)


# Drives, gears and stops of joints: the rates after a step that all of them agree with.

_MAX_RATE_ITERATIONS = 20
_MAX_HALVINGS = 30
_RATE_TOLERANCE = 1e-13


class JointLaw(NamedTuple):
    """What acts at n joints; every part (n,), in N·m or N and rad/s or m/s.

    Attributes:
        command: c, effort that is wanted.
        slowest: v₋, speed below which the drive pushes.
        fastest: v₊, speed above which it brakes.
        gain: K, effort per speed.
        effort: e, the most.
        damping: d of the gear.
        friction: f of the gear.
        least: rate that would reach the lower stop within the step.
        most: rate that would reach the upper stop.
    """

    command: Array
    slowest: Array
    fastest: Array
    gain: Array
    effort: Array
    damping: Array
    friction: Array
    least: Array
    most: Array


class _RateIterate(NamedTuple):
    """Rates (n,) so far, those of their linear system, and of these each joint's for itself."""

    rate: Array
    tried: Array
    alone: Array
    count: Array


def drive_efforts(law: JointLaw, rate: Array) -> Array:
    """Return the efforts (n,) of the drives at rates (n,)."""
    xp = namespace(rate)
    low, high = law.gain * (law.slowest - rate), law.gain * (law.fastest - rate)
    wanted = xp.minimum(xp.maximum(law.command, low), high)
    return xp.clip(wanted, -law.effort, law.effort)


def _decoupled_rates(law: JointLaw, diagonal: Array, rest: Array, dt: float) -> Array:
    """Return the rates (n,) of a x = r + dt φ(x), each joint for itself."""
    xp = namespace(rest)

    def shrunk(pushed: Array, mass: Array) -> Array:
        size = xp.maximum(xp.abs(pushed) - dt * law.friction, 0 * pushed)
        return xp.sign(pushed) * size / mass

    plain = diagonal + dt * law.damping
    driven = plain + dt * law.gain

    def rate_under(effort: Array) -> Array:
        return shrunk(rest + dt * effort, plain)

    low = shrunk(rest + dt * law.gain * law.slowest, driven)
    high = shrunk(rest + dt * law.gain * law.fastest, driven)
    rate = xp.minimum(xp.maximum(rate_under(law.command), low), high)
    rate = xp.minimum(xp.maximum(rate, rate_under(-law.effort)), rate_under(law.effort))
    return xp.minimum(xp.maximum(rate, law.least), law.most)


def _linearised_rates(
    law: JointLaw, matrix: Array, pushed: Array, rate: Array, dt: float
) -> Array:
    """Return the rates (n,) where every joint stays on the piece of its law that it is on."""
    xp = namespace(rate)
    low, high = law.gain * (law.slowest - rate), law.gain * (law.fastest - rate)
    drive = drive_efforts(law, rate)
    bound = (law.command <= low) | (law.command >= high)
    slope = xp.where(bound & (xp.abs(drive) < law.effort), law.gain, 0 * rate)
    stuck = ((rate == 0) & (law.friction > 0)) | (rate <= law.least) | (rate >= law.most)
    fixed = xp.astype(stuck, rate.dtype)
    eye = xp.eye(rate.shape[0], dtype=rate.dtype)
    whole = matrix + dt * eye * (law.damping + slope)
    right = pushed + dt * (drive + slope * rate - law.friction * xp.sign(rate))
    whole = whole * (1 - fixed)[:, None] + eye * fixed
    return linear_solve(whole, right * (1 - fixed) + rate * fixed)


def _line_search(
    law: JointLaw, matrix: Array, pushed: Array, between: tuple[Array, Array], dt: float
) -> Array:
    """Return the rates (n,) between two, the second within the stops, where the function is least.

    There A x − b − dt φ(x) has no part along the way from one to the other.
    """
    xp = namespace(pushed)
    start, way = between[0], xp.minimum(xp.maximum(between[1], law.least), law.most) - between[0]

    def slope(share: Array | float) -> Array:
        x = start + share * way
        resisted = drive_efforts(law, x) - law.damping * x - law.friction * xp.sign(x)
        return xp.vecdot(way, matvec(matrix, x) - pushed - dt * resisted)

    falls = slope(1.0) <= 0

    def bisect(search: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, high, count = search
        middle = (low + high) / 2
        falling = slope(middle) < 0
        return xp.where(falling, middle, low), xp.where(falling, high, middle), count + 1

    none, all_of_it = 0 * pushed[0], 0 * pushed[0] + 1
    low, _, _ = while_loop(
        xp, lambda search: ~falls & (search[2] < _MAX_HALVINGS), bisect, (none, all_of_it, 0)
    )
    return start + xp.where(falls, all_of_it, low) * way


def solve_joint_rates(
    law: JointLaw, matrix: Array, pushed: Array, start: Array, dt: float
) -> Array:
    """Return the rates (n,) x with A x = b + dt φ(x), within the stops.

    A linear system finds the rates on the pieces of the law where they are, as Newton's method
    does; the search goes that way only as far as the convex function falls, and a round of Gauss
    and Seidel finds other pieces. It ends when each joint for itself agrees.

    Args:
        law: what acts at the joints.
        matrix: A (n, n), what the joints move, positive definite.
        pushed: b (n,), momenta without the law.
        start: rates (n,) to begin with.
        dt: step, s.
    """
    xp = namespace(start)
    # NumPy 1.26 has no linalg.diagonal.
    diagonal = xp.sum(matrix * xp.eye(matrix.shape[-1]), axis=-1)
    numbers = constant(xp, np.arange(matrix.shape[-1]))

    def alone(rate: Array) -> Array:
        return _decoupled_rates(law, diagonal, pushed - matvec(matrix, rate) + diagonal * rate, dt)

    def trial(rate: Array, count: Array) -> _RateIterate:
        tried = _linearised_rates(law, matrix, pushed, rate, dt)
        return _RateIterate(rate, tried, alone(tried), count)

    def agree(search: _RateIterate) -> Array:
        apart = xp.max(xp.abs(search.alone - search.tried))
        return apart <= _RATE_TOLERANCE * (1 + xp.max(xp.abs(search.tried)))

    def round_of(search: _RateIterate) -> _RateIterate:
        rate = _line_search(law, matrix, pushed, (search.rate, search.tried), dt)
        for i in range(rate.shape[0]):
            rate = xp.where(numbers == i, alone(rate), rate)
        return trial(rate, search.count + 1)

    done = while_loop(
        xp,
        lambda search: ~agree(search) & (search.count < _MAX_RATE_ITERATIONS),
        round_of,
        trial(xp.minimum(xp.maximum(start, law.least), law.most), 0),
    )
    return xp.where(agree(done) & (done.count < _MAX_RATE_ITERATIONS), done.alone, done.rate)
