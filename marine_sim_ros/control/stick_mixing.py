# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mixing of stick efforts to pulse widths: patterns by axis, and the mixer of ArduSub."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES, UNREACHABLE_TOLERANCE
from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.model.propellers import PWM_MAX, PWM_NEUTRAL
from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['PilotMixer', 'ardusub_manual_pwm', 'mix_patterns', 'motor_factors']


PWM_SPAN = PWM_MAX - PWM_NEUTRAL


class PilotMixer:
    """Mixes stick efforts (−1 to 1 per axis, FLU) into pulse widths.

    Each axis has its pattern of thrusters: the column of the pseudo-inverse of the effectiveness
    matrix, scaled so that its busiest thruster is at 1. Axes add up; when a thruster would go
    beyond 1, all are scaled back together, which keeps the direction of the demand.
    """

    def __init__(self, thrusters: ThrusterSet) -> None:
        """Compute the six patterns; axes the thrusters cannot reach have none."""
        matrix = thrusters.effectiveness
        inverse = np.linalg.pinv(matrix, rcond=1e-6) if len(thrusters) else np.zeros((0, 6))
        # A row the thrusters hardly reach would give a huge pattern for a tiny moment.
        achieved = np.diag(matrix @ inverse) if len(thrusters) else np.zeros(6)
        peak = np.max(np.abs(inverse), axis=0, initial=0.0)
        usable = (achieved > UNREACHABLE_TOLERANCE) & (peak > 0)
        self.patterns = np.where(usable, inverse / np.where(usable, peak, 1.0), 0.0)
        self.reachable = tuple(axis for axis, ok in zip(BODY_AXES, usable, strict=True) if ok)

    def pwm(self, efforts: Array) -> Array:
        """Return pulse widths (..., n) in µs, whole numbers, of six efforts (..., 6)."""
        return mix_patterns(self.patterns, efforts)


def mix_patterns(patterns: Array, efforts: Array) -> Array:
    """Return pulse widths (..., n) in µs of the six patterns (n, 6) of thrusters by efforts."""
    xp = namespace(efforts)
    if not len(patterns):
        return efforts[..., :0]
    command = matvec(constant(xp, patterns), xp.clip(efforts, -1.0, 1.0))
    peak = xp.max(xp.abs(command), axis=-1, keepdims=True)
    return xp.round(PWM_NEUTRAL + PWM_SPAN * (command / xp.maximum(peak, xp.ones_like(peak))))


# Pulse widths that ArduSub sends for stick inputs in manual mode.

_MIN_FACTOR = 0.1
"""Fraction of the largest contribution to an axis below which a motor's factor is 0."""


def motor_factors(thrusters: ThrusterSet) -> np.ndarray:
    """Return ArduSub's factors (n, 6), −1, 0 or 1, of each motor for each axis (FLU).

    They apply to the vectored frames, whose motors are either horizontal or vertical. Source:
    ArduSub, AP_Motors6DOF::setup_motors.
    """
    matrix = thrusters.effectiveness.T
    largest = np.maximum(np.abs(matrix).max(axis=0), 1e-12)
    return np.where(np.abs(matrix) > _MIN_FACTOR * largest, np.sign(matrix), 0.0)


def ardusub_manual_pwm(thrusters: ThrusterSet, sticks: np.ndarray) -> np.ndarray:
    """Return pulse widths (..., n) in µs of sticks (..., 6) from −1 to 1, in axes FLU.

    The horizontal motors, used by yaw, surge and sway, and the vertical motors are each scaled
    down as a group if one of them exceeds full thrust. Source: ArduSub,
    AP_Motors6DOF::output_armed_stabilizing_vectored_6dof.
    """
    contributions = np.asarray(sticks) @ motor_factors(thrusters).T
    vertical = np.abs(thrusters.axis[:, 2]) > np.sqrt(0.5)
    for group in (vertical, ~vertical):
        peak = np.abs(contributions[..., group]).max(axis=-1, keepdims=True, initial=1.0)
        contributions[..., group] = contributions[..., group] / peak
    return np.asarray(PWM_NEUTRAL + PWM_SPAN * contributions)
