# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What all thrusters together can push."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['full_thrust']

_ENDS = (1100.0, 1900.0)


def full_thrust(thrusters: ThrusterSet, direction: np.ndarray) -> float:
    """Return the largest force (N) along a unit vector (3,), each thruster at its best."""
    count = len(thrusters)
    if count == 0:
        return 0.0
    along = thrusters.axis @ direction
    ends = [np.asarray(thrusters.thrust_of_pwm(np.full(count, pwm))) * along for pwm in _ENDS]
    best = np.maximum(np.maximum(ends[0], ends[1]), 0.0)
    return float(np.sum(np.where(np.abs(along) > 0.1, best, 0.0)))
