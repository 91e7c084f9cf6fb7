# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From what an operator wants of the six axes to one PWM per thruster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.spatial import transport

__all__ = ['AXES', 'PilotMixer', 'Reach', 'reach', 'thrust_matrix']

AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
PWM_SPAN = 400.0
UNREACHABLE = 1e-6


def thrust_matrix(thrusters: ThrusterSet, about: np.ndarray) -> np.ndarray:
    """Return B (6, n) with the wrench B f about a point (3,) of unit thrusts f (n,).

    Columns [c_i; (r_i − p) × c_i] (Fossen 2011, eq. 9.7).
    """
    return np.asarray(transport(-np.asarray(about, float)).T @ thrusters.effectiveness)


@dataclass(frozen=True)
class Reach:
    """What a set of thrusters can command.

    Attributes:
        rank: of its matrix, 6 when every wrench can be had.
        shares: by axis, how much of a unit demand the best thrusts achieve, 0 to 1.
        unreachable: axes of which less than half can be had.
    """

    rank: int
    shares: dict[str, float]
    unreachable: tuple[str, ...]


def reach(thrusters: ThrusterSet, about: np.ndarray) -> Reach:
    """Return what thrusters can command about a point (3,): diag(B B⁺), and the rank of B."""
    matrix = thrust_matrix(thrusters, about)
    inverse = np.linalg.pinv(matrix, rcond=UNREACHABLE)
    achieved = np.clip(np.diag(matrix @ inverse), 0.0, 1.0)
    rank = int(np.linalg.matrix_rank(matrix, tol=UNREACHABLE)) if matrix.size else 0
    shares = dict(zip(AXES, achieved.tolist(), strict=True))
    return Reach(rank, shares, tuple(a for a in AXES if shares[a] < 0.5))


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
