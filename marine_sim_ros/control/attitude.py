# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Attitude for controllers: errors without singularities, rates of angles, angles that wrap."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.spatial import (
    quaternion_of_angles,
    rotation_matrix,
    rotation_vector,
    rpy_from_quaternion,
)

__all__ = ['attitude_error', 'body_rates', 'level_frame', 'level_velocity', 'wrapped']

_STEEPEST = math.radians(89.0)


def wrapped(angle: Array) -> Array:
    """Return angles within −π to π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def attitude_error(orientation: Array, wanted_rpy: Array) -> Array:
    """Return the rotation vector (3,) in the body frame that leads to wanted angles (ZYX, rad)."""
    return rotation_vector(orientation, quaternion_of_angles(wanted_rpy))


def level_frame(yaw: Array) -> Array:
    """Return R (3, 3) from the level frame, turned by a yaw () in rad only, to map."""
    xp = np if isinstance(yaw, float) else namespace(yaw)
    c, s = xp.cos(yaw), xp.sin(yaw)
    zero, one = xp.zeros_like(c), xp.ones_like(c)
    return xp.reshape(xp.stack([c, -s, zero, s, c, zero, zero, zero, one]), (3, 3))


def level_velocity(orientation: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return the velocity ahead, to port and up (..., 3), m/s, as set-points have it.

    Args:
        orientation: (..., 4) x, y, z, w.
        velocity: (..., 6) in the body frame, m/s and rad/s.
    """
    yaw = rpy_from_quaternion(orientation)[..., 2]
    over_ground = rotation_matrix(orientation) @ velocity[..., :3, None]
    east, north, up = np.moveaxis(over_ground[..., 0], -1, 0)
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([c * east + s * north, c * north - s * east, up], axis=-1)


def body_rates(rpy: Array, rpy_rate: Array) -> Array:
    """Return ω (3,) in the body frame of rates of roll, pitch, yaw (Fossen 2011, eq. 2.28)."""
    xp = namespace(rpy)
    roll, pitch = rpy[0], xp.clip(rpy[1], -_STEEPEST, _STEEPEST)
    sr, cr, sp, cp = xp.sin(roll), xp.cos(roll), xp.sin(pitch), xp.cos(pitch)
    dr, dp, dy = rpy_rate[0], rpy_rate[1], rpy_rate[2]
    return xp.stack([dr - sp * dy, cr * dp + cp * sr * dy, -sr * dp + cp * cr * dy])
