# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What all thrusters together can push."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL

__all__ = ['best_pulses', 'full_thrust']

_ENDS = (1100.0, 1900.0)


def best_pulses(thrusters: ThrusterSet, direction: np.ndarray) -> np.ndarray:
    """Return the pulse widths (n,) in µs with which each thruster pushes most along a vector (3,).

    A thruster across the direction, or with no thrust along it, stays neutral.
    """
    count = len(thrusters)
    along = thrusters.axis @ direction
    ends = [np.asarray(thrusters.thrust_of_pwm(np.full(count, pwm))) * along for pwm in _ENDS]
    pulses = np.where(ends[0] > ends[1], *_ENDS)
    used = (np.abs(along) > 0.1) & (np.maximum(ends[0], ends[1]) > 0)
    return np.where(used, pulses, PWM_NEUTRAL)


def full_thrust(thrusters: ThrusterSet, direction: np.ndarray) -> float:
    """Return the largest force (N) along a unit vector (3,), each thruster at its best."""
    if len(thrusters) == 0:
        return 0.0
    thrust = np.asarray(thrusters.thrust_of_pwm(best_pulses(thrusters, direction)))
    neutral = np.asarray(thrusters.thrust_of_pwm(np.full(len(thrusters), PWM_NEUTRAL)))
    return float((thrust - neutral) @ (thrusters.axis @ direction))
