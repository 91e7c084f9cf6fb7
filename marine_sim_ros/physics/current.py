# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocity relative to the water."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.arrays import Array, constant, namespace
from marine_sim_ros.environment import Environment
from marine_sim_ros.spatial import to_body
from marine_sim_ros.state import State

__all__ = ['body_current', 'relative_velocity']


def body_current(state: State, current: np.ndarray) -> Array:
    """Return the water's velocity ν_c (..., 6) in the body frame: [Rᵀ u; 0], m/s."""
    xp = namespace(state.velocity)
    linear = to_body(state.orientation, constant(xp, current))
    return xp.concat([linear, xp.zeros_like(linear)], axis=-1)


def relative_velocity(state: State, environment: Environment) -> Array:
    """Return ν_r = ν − ν_c (..., 6) in the environment's current (Fossen 2011, eq. 8.2)."""
    if environment.still:
        return state.velocity
    return state.velocity - body_current(state, environment.current)
