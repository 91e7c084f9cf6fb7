# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Set-points of the twelve controlled quantities, attitude errors, and a hold of depth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.spatial import (
    quaternion_of_angles,
    rotation_matrix,
    rotation_vector,
    rpy_from_quaternion,
)

__all__ = [
    'ATTITUDE',
    'POSITION',
    'SETPOINT_QUANTITIES',
    'RATES',
    'SPEEDS',
    'attitude_error',
    'body_rates',
    'depth_effort',
    'empty_setpoints',
    'level_frame',
    'level_velocity',
    'make_setpoints',
    'wrap_angle',
]


# The twelve quantities that can be controlled; each has a target or is free (NaN).

SETPOINT_QUANTITIES = (
    # position in map, m
    'x',
    'y',
    'z',
    # attitude (ZYX), rad
    'roll',
    'pitch',
    'yaw',
    # velocity of base_link ahead, to port and up in the level frame, m/s
    'surge',
    'sway',
    'heave',
    # turn rates in the body frame, rad/s
    'roll_rate',
    'pitch_rate',
    'yaw_rate',
)
"""Names of set-points. The level frame has the vehicle's heading but neither its roll nor its
pitch, so that a vehicle that cannot hold its pitch still keeps its depth; the velocities of an
odometry are those of the body frame. Source: thesis "Real-Time ROV Motion Simulator", 4-1-1."""

POSITION, ATTITUDE, SPEEDS, RATES = (slice(i, i + 3) for i in (0, 3, 6, 9))


def empty_setpoints() -> np.ndarray:
    """Set-points (12,) that are all free (NaN)."""
    return np.full(len(SETPOINT_QUANTITIES), np.nan)


def make_setpoints(targets: Mapping[str, float]) -> np.ndarray:
    """Return set-points (12,) with some targets; the rest is free.

    Raises:
        ParameterError: a quantity that does not exist, or a target that is not finite.
    """
    result = empty_setpoints()
    for name, value in targets.items():
        if name not in SETPOINT_QUANTITIES:
            raise ParameterError(
                f'set-point {name!r} is unknown; {expected_one_of(name, SETPOINT_QUANTITIES)}'
            )
        if not np.isfinite(value):
            raise ParameterError(f'set-point {name} is {value}; expected a finite number')
        result[SETPOINT_QUANTITIES.index(name)] = value
    return result


# Attitude for controllers: errors without singularities, rates of angles, angles that wrap.


def wrap_angle(angle: Array) -> Array:
    """Return angles within −π to π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def attitude_error(orientation: Array, target_rpy: Array) -> Array:
    """Return the rotation vector (3,) in the body frame that leads to wanted angles (ZYX, rad)."""
    return rotation_vector(orientation, quaternion_of_angles(target_rpy))


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
    roll, pitch = rpy[0], rpy[1]
    sr, cr, sp, cp = xp.sin(roll), xp.cos(roll), xp.sin(pitch), xp.cos(pitch)
    dr, dp, dy = rpy_rate[0], rpy_rate[1], rpy_rate[2]
    return xp.stack([dr - sp * dy, cr * dp + cp * sr * dy, -sr * dp + cp * cr * dy])


# Depth holding with the vertical thrusters: the one closed loop a scripted dive needs.


def depth_effort(
    depth: Array, climb_rate: Array, target: Array, *, kp: float = 0.6, kd: float = 0.9
) -> Array:
    """Return a heave effort (−1 to 1, up is positive) that goes to a depth and stays.

    u = k_p (depth − target) − k_d ż.

    Args:
        depth: below the mean surface, m, down is positive.
        climb_rate: ż in ``map``, m/s.
        target: wanted depth, m.
        kp: effort per metre.
        kd: effort per m/s.
    """
    effort = kp * (depth - target) - kd * climb_rate
    if isinstance(effort, int | float):
        return min(max(effort, -1.0), 1.0)
    return namespace(effort).clip(effort, -1.0, 1.0)
