# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From what an operator wants of the six axes to one PWM per thruster."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['AXES', 'PilotMixer']

AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
PWM_SPAN = 400.0
UNREACHABLE = 1e-6


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
        usable = (achieved > UNREACHABLE) & (peak > 0)
        self.patterns = np.where(usable, inverse / np.where(usable, peak, 1.0), 0.0)
        self.reachable = tuple(axis for axis, ok in zip(AXES, usable, strict=True) if ok)

    def pwm(self, efforts: np.ndarray) -> np.ndarray:
        """Return pulse widths (n,) in µs, whole numbers, of six efforts."""
        command = self.patterns @ np.clip(efforts, -1.0, 1.0)
        command = command / max(1.0, float(np.max(np.abs(command), initial=0.0)))
        return np.rint(1500.0 + PWM_SPAN * command)
