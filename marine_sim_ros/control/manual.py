# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pulse widths that ArduSub sends for stick inputs in manual mode."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['manual_pwm', 'motor_factors']

_SMALL = 0.1
"""Of the largest on an axis: what a thruster contributes less than this has no factor."""
_NEUTRAL, _SPAN = 1500.0, 400.0


def motor_factors(thrusters: ThrusterSet) -> np.ndarray:
    """Return ArduSub's factors (n, 6), −1, 0 or 1, of each motor for each axis (FLU).

    Of the vectored frames, where every motor is either horizontal or vertical. Source: ArduSub,
    AP_Motors6DOF::setup_motors.
    """
    matrix = thrusters.effectiveness.T
    largest = np.maximum(np.abs(matrix).max(axis=0), 1e-12)
    return np.where(np.abs(matrix) > _SMALL * largest, np.sign(matrix), 0.0)


def manual_pwm(thrusters: ThrusterSet, sticks: np.ndarray) -> np.ndarray:
    """Return pulse widths (..., n) in µs of sticks (..., 6) from −1 to 1, in axes FLU.

    A group that would go beyond full is scaled down together: the horizontal motors, which yaw,
    surge and sway use, and the vertical ones. Source: ArduSub,
    AP_Motors6DOF::output_armed_stabilizing_vectored_6dof.
    """
    wanted = np.asarray(sticks) @ motor_factors(thrusters).T
    vertical = np.abs(thrusters.axis[:, 2]) > np.sqrt(0.5)
    for group in (vertical, ~vertical):
        most = np.abs(wanted[..., group]).max(axis=-1, keepdims=True, initial=1.0)
        wanted[..., group] = wanted[..., group] / most
    return np.asarray(_NEUTRAL + _SPAN * wanted)
