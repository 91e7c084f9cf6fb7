# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Attitude for controllers: errors without singularities, rates of angles, angles that wrap."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.spatial import quaternion_from_rpy, quaternion_product

__all__ = ['attitude_error', 'body_rates', 'level_frame', 'wrapped']

_CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])
_STEEPEST = math.radians(89.0)


def wrapped(angle: np.ndarray) -> np.ndarray:
    """Return angles within −π to π."""
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


def attitude_error(orientation: np.ndarray, wanted_rpy: np.ndarray) -> np.ndarray:
    """Return the rotation vector (3,) in the body frame that leads to wanted angles (ZYX, rad)."""
    target = quaternion_from_rpy(*(float(a) for a in wanted_rpy))
    x, y, z, w = quaternion_product(orientation * _CONJUGATE, target)
    sign = 1.0 if w >= 0 else -1.0
    vector = np.array([x, y, z]) * sign
    sine = float(np.linalg.norm(vector))
    if sine < 1e-12:
        return 2.0 * vector
    return vector * (2.0 * math.atan2(sine, w * sign) / sine)


def level_frame(yaw: float) -> np.ndarray:
    """Return R (3, 3) from the level frame, turned by a yaw (rad) only, to map."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def body_rates(rpy: np.ndarray, rpy_rate: np.ndarray) -> np.ndarray:
    """Return ω (3,) in the body frame of rates of roll, pitch, yaw (Fossen 2011, eq. 2.28)."""
    roll, pitch = float(rpy[0]), min(max(float(rpy[1]), -_STEEPEST), _STEEPEST)
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    dr, dp, dy = (float(r) for r in rpy_rate)
    return np.array([dr - sp * dy, cr * dp + cp * sr * dy, -sr * dp + cp * cr * dy])
