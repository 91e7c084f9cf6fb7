# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocity relative to the water."""

from __future__ import annotations

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.spatial import cross, to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment

__all__ = ['relative_velocity', 'water_acceleration', 'water_velocity']


def water_velocity(state: State, environment: Environment) -> Array:
    """Return the water's velocity ν_c (..., 6) at the ``base_link`` origin: [Rᵀ u; 0], m/s."""
    xp = namespace(state.velocity)
    linear = to_body(state.orientation, environment.velocity(state.position))
    return xp.concat([linear, xp.zeros_like(linear)], axis=-1)


def water_acceleration(state: State, environment: Environment) -> Array:
    """Return ν̇_c (..., 6) in the turning body frame: [Rᵀ ∂u/∂t − ω × Rᵀ u; 0]."""
    xp = namespace(state.velocity)
    velocity = water_velocity(state, environment)[..., :3]
    linear = cross(velocity, state.velocity[..., 3:])
    if not environment.flat:
        swing = environment.acceleration(state.position)
        linear = linear + to_body(state.orientation, swing)
    return xp.concat([linear, xp.zeros_like(linear)], axis=-1)


def relative_velocity(state: State, environment: Environment) -> Array:
    """Return ν_r = ν − ν_c (..., 6) where the vehicle is (Fossen 2011, eq. 8.2)."""
    if environment.still:
        return state.velocity
    return state.velocity - water_velocity(state, environment)
