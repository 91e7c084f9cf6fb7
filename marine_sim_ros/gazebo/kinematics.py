# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities from poses, where Gazebo tells no others that are not smoothed."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.spatial import quaternion_product, skew, to_body

__all__ = ['twist_between']


def twist_between(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], dt: float
) -> np.ndarray:
    """Return the constant body velocity ν (6,) that moves one pose to another in dt seconds.

    T⁺ = T exp([ν] dt): the logarithm of SE(3) (Murray, Li and Sastry 1994, appendix A), which is
    how DART moves a free body, so that it is Gazebo's velocity at the end of the step. A turn is
    taken to be less than half a revolution.

    Args:
        before: position (3,), m, and quaternion (4,).
        after: the same, dt later.
        dt: s.
    """
    (p0, q0), (p1, q1) = before, after
    turn = quaternion_product(q0 * np.array([-1.0, -1.0, -1.0, 1.0]), q1)
    turn = turn if turn[3] >= 0 else -turn
    sine = float(np.linalg.norm(turn[:3]))
    angle = 2 * np.arctan2(sine, turn[3])
    rotation = turn[:3] * (angle / sine if sine > 1e-12 else 2.0)
    moved = to_body(q0, p1 - p0)
    # V⁻¹ = I − S/2 + (1 − (θ/2) cot(θ/2)) S²/θ², whose last factor tends to 1/12.
    half = angle / 2
    factor = 1 / 12 if angle < 1e-4 else (1 - half / np.tan(half)) / angle**2
    s = skew(rotation)
    moved = moved - s @ moved / 2 + factor * (s @ (s @ moved))
    return np.concatenate([moved, rotation]) / dt
