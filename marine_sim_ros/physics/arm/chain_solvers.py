# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Solvers of an arm's step: free motion, and joint rates with drives, friction and stops.

The midpoint rule of a rigid body (Simo & Wong 1991, :mod:`.rigid_body`) with joints: vehicle and
joints move by the mean of their velocities before and after, ū = (u + u⁺)/2. The total momentum in
space is conserved, P⁺ = Ad*(exp(dt ν̄)) P, and the joints' momenta change by

    π⁺ = π + dt ½ u⁺ · (∫₀¹ ∂𝓜/∂q ds) u    along the path from q to q⁺ = q + dt q̄̇,

so that ½ u·𝓜 u is conserved too: it changes by ū·Δ(𝓜 u) − ½ u⁺·Δ𝓜 u, and ν̄·(P⁺ − P) = 0. Source:
the discrete gradient of mean values (Harten, Lax & van Leer 1983; Gonzalez 1996), of second order.

A drive gives clip(clip(c, K (v₋ − x), K (v₊ − x)), −e, e) at the rate x: with v₋ = v₊ it controls
a speed, with v∓ = ∓ẋ_max it gives the effort c up to the maximum speed. The gear resists with d x
and Coulomb friction f. A stop is rigid. All of them decrease with the rate, so that the solution
is a median of four for a single joint, and the minimum of a convex function for
all: A x = b + dt φ(x). The drive is a motor with cascaded speed and current control, without
inductance; no publication is known for this form.
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


# Force-free step of a vehicle and its links that conserves momentum and energy.

_MAX_MOTION_ITERATIONS = 20
"""Iteration limit; each iteration reduces the error by a factor of about dt |u|."""
_MOTION_TOLERANCE = 1e-14
"""Relative change of u⁺ at convergence; the next iteration would change it by a hundredth of
that."""
_GAUSS_POINTS = np.array([-0.3872983346207417, 0.0, 0.3872983346207417])
_GAUSS_WEIGHTS = np.array([0.27777777777777785, 0.4444444444444444, 0.27777777777777785])
"""Nodes and weights of Gauss quadrature on −½ to ½ (half of NumPy's ``leggauss(3)``): exact to
rounding for rotations within a step."""


class FreeMotion(NamedTuple):
    """Result of a force-free step: u (6 + n,), and 𝓜 (6 + n, 6 + n) at its end."""

    u: Array
    mass: Array


class _MotionIterate(NamedTuple):
    """u⁺, its previous value, 𝓜 at the end, and the number of iterations."""

    after: Array
    previous: Array
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
    assert arm.joint_dynamics is not None
    fixed = arm.joint_dynamics.fixed
    momentum = matvec(mass, u)
    fractions = constant(xp, np.append(_GAUSS_POINTS, 0.5)[:, None])
    weights = constant(xp, _GAUSS_WEIGHTS)

    def improve(search: _MotionIterate) -> _MotionIterate:
        after = search.after
        mean = (u + after) / 2
        displacement = dt * mean[6:]
        chain = make_chain(
            arm, *link_poses(arm, position + displacement / 2 + fractions * displacement)[:2]
        )
        joint_momentum_rate = weights @ kinetic_energy_gradient(chain, inertia[1], u, after)[:-1]
        new_joint_momentum = momentum[6:] + dt * joint_momentum_rate
        new_mass = generalized_mass(chain, *inertia)[-1]
        if fixed:
            improved = xp.concat([u[:6], linear_solve(new_mass[6:, 6:], new_joint_momentum)])
        else:
            new_base_momentum = transport_momentum(momentum[:6], dt * mean[:6])
            improved = linear_solve(new_mass, xp.concat([new_base_momentum, new_joint_momentum]))
        return _MotionIterate(improved, after, new_mass, search.count + 1)

    def continues(search: _MotionIterate) -> Array:
        change = xp.max(xp.abs(search.after - search.previous))
        not_converged = change > _MOTION_TOLERANCE * xp.max(xp.abs(search.after))
        return (search.count < _MAX_MOTION_ITERATIONS) & ((search.count == 0) | not_converged)

    result = while_loop(xp, continues, improve, _MotionIterate(u, u, mass, 0))
    return FreeMotion(result.after, result.mass)


# Joint rates after a step with implicit drives, gears and stops.

_MAX_RATE_ITERATIONS = 20
_MAX_HALVINGS = 30
_RATE_TOLERANCE = 1e-13


class JointLaw(NamedTuple):
    """Drives, gears and stops of n joints; all (n,), in N·m or N and rad/s or m/s.

    Attributes:
        command: c, commanded effort.
        lower_speed: v₋, speed below which the drive pushes.
        upper_speed: v₊, speed above which it brakes.
        gain: K, effort per speed.
        effort: e, maximum effort.
        damping: d of the gear.
        friction: f of the gear.
        lower_stop_rate: rate that would reach the lower stop within the step.
        upper_stop_rate: rate that would reach the upper stop.
    """

    command: Array
    lower_speed: Array
    upper_speed: Array
    gain: Array
    effort: Array
    damping: Array
    friction: Array
    lower_stop_rate: Array
    upper_stop_rate: Array


class _RateIterate(NamedTuple):
    """Rates (n,), solution of the linearised system, and its decoupled update."""

    rate: Array
    linearised: Array
    decoupled: Array
    count: Array


def drive_efforts(law: JointLaw, rate: Array) -> Array:
    """Return the efforts (n,) of the drives at rates (n,)."""
    xp = namespace(rate)
    low, high = law.gain * (law.lower_speed - rate), law.gain * (law.upper_speed - rate)
    speed_effort = xp.minimum(xp.maximum(law.command, low), high)
    return xp.clip(speed_effort, -law.effort, law.effort)


def _decoupled_rates(law: JointLaw, diagonal: Array, momentum: Array, dt: float) -> Array:
    """Return the rates (n,) of a x = r + dt φ(x), with all joints decoupled."""
    xp = namespace(momentum)

    def rate_after_friction(applied: Array, mass: Array) -> Array:
        magnitude = xp.maximum(xp.abs(applied) - dt * law.friction, 0 * applied)
        return xp.sign(applied) * magnitude / mass

    damped_mass = diagonal + dt * law.damping
    driven_mass = damped_mass + dt * law.gain

    def rate_under(effort: Array) -> Array:
        return rate_after_friction(momentum + dt * effort, damped_mass)

    low = rate_after_friction(momentum + dt * law.gain * law.lower_speed, driven_mass)
    high = rate_after_friction(momentum + dt * law.gain * law.upper_speed, driven_mass)
    rate = xp.minimum(xp.maximum(rate_under(law.command), low), high)
    rate = xp.minimum(xp.maximum(rate, rate_under(-law.effort)), rate_under(law.effort))
    return xp.minimum(xp.maximum(rate, law.lower_stop_rate), law.upper_stop_rate)


def _linearised_rates(
    law: JointLaw, matrix: Array, momentum: Array, rate: Array, dt: float
) -> Array:
    """Return the rates (n,) if every joint stays on its present linear piece of the law."""
    xp = namespace(rate)
    low, high = law.gain * (law.lower_speed - rate), law.gain * (law.upper_speed - rate)
    drive = drive_efforts(law, rate)
    speed_controlled = (law.command <= low) | (law.command >= high)
    drive_gradient = xp.where(speed_controlled & (xp.abs(drive) < law.effort), law.gain, 0 * rate)
    is_fixed = (
        ((rate == 0) & (law.friction > 0))
        | (rate <= law.lower_stop_rate)
        | (rate >= law.upper_stop_rate)
    )
    fixed_mask = xp.astype(is_fixed, rate.dtype)
    eye = xp.eye(rate.shape[0], dtype=rate.dtype)
    system = matrix + dt * eye * (law.damping + drive_gradient)
    right = momentum + dt * (drive + drive_gradient * rate - law.friction * xp.sign(rate))
    system = system * (1 - fixed_mask)[:, None] + eye * fixed_mask
    return linear_solve(system, right * (1 - fixed_mask) + rate * fixed_mask)


def _line_search(
    law: JointLaw, matrix: Array, momentum: Array, interval: tuple[Array, Array], dt: float
) -> Array:
    """Return the rates (n,) with the minimum of the convex function between two points.

    There the residual A x − b − dt φ(x) is orthogonal to the line. The second point is clipped to
    the stops.
    """
    xp = namespace(momentum)
    start, direction = (
        interval[0],
        xp.minimum(xp.maximum(interval[1], law.lower_stop_rate), law.upper_stop_rate)
        - interval[0],
    )

    def directional_derivative(fraction: Array | float) -> Array:
        x = start + fraction * direction
        joint_effort = drive_efforts(law, x) - law.damping * x - law.friction * xp.sign(x)
        return xp.vecdot(direction, matvec(matrix, x) - momentum - dt * joint_effort)

    still_falling = directional_derivative(1.0) <= 0

    def bisect(search: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, high, count = search
        middle = (low + high) / 2
        is_negative = directional_derivative(middle) < 0
        return xp.where(is_negative, middle, low), xp.where(is_negative, high, middle), count + 1

    zero, one = 0 * momentum[0], 0 * momentum[0] + 1
    low, _, _ = while_loop(
        xp, lambda search: ~still_falling & (search[2] < _MAX_HALVINGS), bisect, (zero, one, 0)
    )
    return start + xp.where(still_falling, one, low) * direction


def solve_joint_rates(
    law: JointLaw, matrix: Array, momentum: Array, start: Array, dt: float
) -> Array:
    """Return the rates (n,) x with A x = b + dt φ(x), within the stops.

    Semi-smooth Newton method: a linear system gives the rates on the present pieces of the law, a
    line search ensures descent of the convex function, and a Gauss-Seidel sweep changes pieces. It
    ends when the decoupled updates agree. If it does not converge in 20 rounds, the last line
    search with its sweep is the result.

    Args:
        law: what acts at the joints.
        matrix: A (n, n), what the joints move, positive definite.
        momentum: b (n,), momenta without the law.
        start: rates (n,) to begin with.
        dt: step, s.
    """
    xp = namespace(start)
    # NumPy 1.26 has no linalg.diagonal.
    diagonal = xp.sum(matrix * xp.eye(matrix.shape[-1]), axis=-1)
    numbers = constant(xp, np.arange(matrix.shape[-1]))

    def decoupled(rate: Array) -> Array:
        return _decoupled_rates(
            law, diagonal, momentum - matvec(matrix, rate) + diagonal * rate, dt
        )

    def trial(rate: Array, count: Array) -> _RateIterate:
        tried = _linearised_rates(law, matrix, momentum, rate, dt)
        return _RateIterate(rate, tried, decoupled(tried), count)

    def agree(search: _RateIterate) -> Array:
        difference = xp.max(xp.abs(search.decoupled - search.linearised))
        return difference <= _RATE_TOLERANCE * (1 + xp.max(xp.abs(search.linearised)))

    def round_of(search: _RateIterate) -> _RateIterate:
        rate = _line_search(law, matrix, momentum, (search.rate, search.linearised), dt)
        for i in range(rate.shape[0]):
            rate = xp.where(numbers == i, decoupled(rate), rate)
        return trial(rate, search.count + 1)

    result = while_loop(
        xp,
        lambda search: ~agree(search) & (search.count < _MAX_RATE_ITERATIONS),
        round_of,
        trial(xp.minimum(xp.maximum(start, law.lower_stop_rate), law.upper_stop_rate), 0),
    )
    return xp.where(
        agree(result) & (result.count < _MAX_RATE_ITERATIONS), result.decoupled, result.rate
    )
