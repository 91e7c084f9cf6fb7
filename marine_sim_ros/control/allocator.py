# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrust allocation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.control.allocation import AXES, thrust_matrix
from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['Allocation', 'Allocator']


@dataclass(frozen=True, eq=False)
class Allocation:
    thrust: np.ndarray
    pwm: np.ndarray
    achieved: np.ndarray
    saturated: bool
    shortfall: tuple[str, ...]


class Allocator:
    def __init__(
        self,
        thrusters: ThrusterSet,
        about: np.ndarray,
        *,
        method: str = 'bounded',
        damping: float = 1e-4,
    ) -> None:
        self._b = thrust_matrix(thrusters, about)
        pwm = np.arange(1100.0, 1901.0)
        self._pwm = pwm
        self._curve = np.stack([thrusters.thrust_of_pwm(np.full(len(thrusters), p)) for p in pwm])
        self._damping = damping

    def allocate(self, wrench: np.ndarray, *, failed: np.ndarray | None = None) -> Allocation:
        b = self._b if failed is None else self._b * ~failed
        f = b.T @ np.linalg.solve(b @ b.T + self._damping * np.eye(6), wrench)
        low, high = self._curve[0], self._curve[-1]
        ratio = np.max(np.maximum(f / high, f / low), initial=1.0)
        f = f / ratio
        pwm = np.array(
            [
                self._pwm[
                    np.argmin(np.abs(self._curve[:, i] - x) + 1e-9 * np.abs(self._pwm - 1500))
                ]
                for i, x in enumerate(f)
            ]
        )
        achieved = b @ f
        short = tuple(
            a
            for i, a in enumerate(AXES)
            if abs(achieved[i] - wrench[i]) > 0.5 + 0.02 * abs(wrench[i])
        )
        return Allocation(f, pwm, achieved, bool(ratio > 1), short)
