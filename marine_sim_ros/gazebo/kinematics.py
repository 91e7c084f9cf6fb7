# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities as Gazebo reports them and as the simulation steps them.

DART steps a free body's velocity in the axes of before, ν* = ν + h (ν̇ + [ω x v; 0]), moves it by
that, p⁺ = p + h R v* and R⁺ = R E with E = exp(S(ω*) h), then reports v⁺ = Eᵀ v* in the axes of
after (``FreeJoint``, since https://github.com/dartsim/dart/pull/1437). The simulation moves
a body by the ν that it then has. So its ν is DART's ν*.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.spatial import (
    rotation_matrix,
    rotation_vector,
    rotation_vector_quaternion,
    to_body,
)

__all__ = ['stepped_velocity', 'reported_velocity', 'twist_between']


def stepped_velocity(told: Array, dt: float) -> Array:
    """Return ν* = [E v; ω] (..., 6), which moved the body, of the ν that Gazebo reports.

    Args:
        told: (..., 6), body frame, at the end of a physics step.
        dt: that step, s.
    """
    xp = namespace(told)
    v, omega = told[..., :3], told[..., 3:]
    turn = rotation_matrix(rotation_vector_quaternion(omega * dt))
    return xp.concat([(turn @ v[..., None])[..., 0], omega], axis=-1)


def reported_velocity(stepped: Array, dt: float) -> Array:
    """Return the ν (..., 6) that Gazebo has where :func:`stepped_velocity` is ν*."""
    xp = namespace(stepped)
    v, omega = stepped[..., :3], stepped[..., 3:]
    return xp.concat([to_body(rotation_vector_quaternion(omega * dt), v), omega], axis=-1)


def twist_between(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], dt: float
) -> np.ndarray:
    """Return ν* (6,), which moves one pose to the other in dt seconds.

    v = Rᵀ (p⁺ − p)/dt and ω = log(Rᵀ R⁺)/dt: the inverse of
    :func:`marine_sim_ros.physics.integration.advance_pose`. A turn is taken to be less than half
    a revolution.

    Args:
        before: position (3,), m, and quaternion (4,).
        after: the same, dt later.
        dt: s.
    """
    (p0, q0), (p1, q1) = before, after
    return np.concatenate([to_body(q0, p1 - p0), rotation_vector(q0, q1)]) / dt
