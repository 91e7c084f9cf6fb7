# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time steps of a rigid body, independent of what moves it."""

from __future__ import annotations

from collections.abc import Callable

from marine_sim_ros.core.arrays import Array, matvec, namespace
from marine_sim_ros.core.linear import linear_solve
from marine_sim_ros.core.spatial import (
    cross,
    normalized,
    quaternion_product,
    rotation_matrix,
    rotation_vector_quaternion,
)
from marine_sim_ros.core.state import State

__all__ = ['advance_pose', 'carried', 'displaced', 'implicit_change', 'rk4']


def implicit_change(mass: Array, damping: Array, force: Array, dt: float) -> Array:
    """Return Δν (..., n) of (M + dt D) Δν = dt F, where F holds −D ν.

    The same as ν⁺ = (M + dt D)⁻¹ (M ν + dt F₀) with F₀ = F + D ν, without needing F₀.

    Args:
        mass: M (..., n, n).
        damping: D (..., n, n), positive semi-definite.
        force: F (..., n).
        dt: step, s.
    """
    return linear_solve(mass + dt * damping, dt * force)


def advance_pose(state: State, velocity: Array, dt: float) -> State:
    """Move and turn a state for dt seconds at a body velocity (..., 6), and give it to it.

    p⁺ = p + dt R v, q⁺ = q ⊗ exp(½ ω dt), normalised.
    """
    turn = rotation_vector_quaternion(velocity[..., 3:] * dt)
    return State(
        state.position + dt * matvec(rotation_matrix(state.orientation), velocity[..., :3]),
        normalized(quaternion_product(state.orientation, turn)),
        velocity,
    )


def _shift(twist: Array) -> Array:
    """Return r (..., 3) of the displacement exp([v; φ]): r = v + A φ x v + B φ x (φ x v).

    A = (1 − cos θ)/θ², B = (θ − sin θ)/θ³ with θ = |φ|.
    """
    xp = namespace(twist)
    v, phi = twist[..., :3], twist[..., 3:]
    square = xp.vecdot(phi, phi)[..., None]
    small = square < 1e-2
    angle = xp.sqrt(xp.where(small, xp.ones_like(square), square))
    series = 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72))
    b = xp.where(small, series, (angle - xp.sin(angle)) / angle**3)
    half = xp.where(small, xp.ones_like(square), xp.sin(angle / 2) / (angle / 2))
    series = 1 / 2 - square / 24 * (1 - square / 30 * (1 - square / 56))
    a = xp.where(small, series, half * half / 2)
    turned = cross(phi, v)
    return v + a * turned + b * cross(phi, turned)


def displaced(state: State, twist: Array, velocity: Array) -> State:
    """Displace a state by exp of a body twist (..., 6), m and rad, and give it a velocity."""
    turn = rotation_vector_quaternion(twist[..., 3:])
    return State(
        state.position + matvec(rotation_matrix(state.orientation), _shift(twist)),
        normalized(quaternion_product(state.orientation, turn)),
        velocity,
    )


def carried(momentum: Array, twist: Array) -> Array:
    """Return what a momentum [p; h] (..., 6) is in body axes after the body moved by a twist.

    In space it stays: p⁺ = Eᵀ p, h⁺ = Eᵀ (h − r x p) with E and r of exp(twist). Its power along
    the twist stays, too: twist·(P⁺ − P) = 0.
    """
    xp = namespace(momentum)
    p, h = momentum[..., :3], momentum[..., 3:]
    back = xp.matrix_transpose(rotation_matrix(rotation_vector_quaternion(twist[..., 3:])))
    turned = h - cross(_shift(twist), p)
    return xp.concat([matvec(back, p), matvec(back, turned)], axis=-1)


def _rates(state: State, acceleration: Array) -> State:
    """Return the time derivatives of a state."""
    xp = namespace(state.velocity)
    omega = state.velocity[..., 3:]
    pure = xp.concat([omega, xp.zeros_like(omega[..., :1])], axis=-1)
    return State(
        matvec(rotation_matrix(state.orientation), state.velocity[..., :3]),
        quaternion_product(state.orientation, pure) / 2,
        acceleration,
    )


def rk4(state: State, acceleration: Callable[[State], Array], dt: float) -> State:
    """Return the state after one classical Runge-Kutta step of dt seconds.

    Args:
        state: state at the start.
        acceleration: ν̇ (..., 6) of a state, body frame.
        dt: step, s.
    """

    def along(rates: State, duration: float) -> State:
        return State(*(x + duration * r for x, r in zip(state, rates, strict=True)))

    k1 = _rates(state, acceleration(state))
    middle = along(k1, dt / 2)
    k2 = _rates(middle, acceleration(middle))
    middle = along(k2, dt / 2)
    k3 = _rates(middle, acceleration(middle))
    end = along(k3, dt)
    k4 = _rates(end, acceleration(end))
    mean = State(*((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)))
    moved = along(mean, dt)
    return moved._replace(orientation=normalized(moved.orientation))
