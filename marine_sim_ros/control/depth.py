# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Depth holding with the vertical thrusters: the one closed loop a scripted dive needs."""

from __future__ import annotations

from marine_sim_ros.core.arrays import Array, namespace

__all__ = ['depth_effort']


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
