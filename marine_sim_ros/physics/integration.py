# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time steps of a rigid body, independent of what moves it."""

from __future__ import annotations

from collections.abc import Callable

from marine_sim_ros.arrays import Array, matvec, namespace
from marine_sim_ros.spatial import (
    normalized,
    quaternion_product,
    rotation_matrix,
    rotation_vector_quaternion,
)
from marine_sim_ros.state import State

__all__ = ['advance_pose', 'implicit_change', 'rk4']


def implicit_change(mass: Array, damping: Array, force: Array, dt: float) -> Array:
    """Return Δν (..., n) of (M + dt D) Δν = dt F, where F holds −D ν.

    The same as ν⁺ = (M + dt D)⁻¹ (M ν + dt F₀) with F₀ = F + D ν, without needing F₀.

    Args:
        mass: M (..., n, n).
        damping: D (..., n, n), positive semi-definite.
        force: F (..., n).
        dt: step, s.
    """
    xp = namespace(force)
    return xp.linalg.solve(mass + dt * damping, (dt * force)[..., None])[..., 0]


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
        state: at the start.
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
