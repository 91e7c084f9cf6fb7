# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Dead reckoning between two messages, as a DVL tells an autopilot (VISION_POSITION_DELTA)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.autopilot.conventions import frd
from marine_sim_ros.core.spatial import quaternion_product, rotation_matrix, rotation_vector
from marine_sim_ros.core.state import State

__all__ = ['Delta', 'DeltaOdometry']

PERIOD = 100_000_000
"""ns between two messages."""


@dataclass(frozen=True)
class Delta:
    """How the vehicle moved.

    Attributes:
        stamp: end of the motion, ns.
        duration: ns.
        angle: rotation vector in FRD, rad.
        position: in the body axes (FRD) at the start, m.
    """

    stamp: int
    duration: int
    angle: tuple[float, float, float]
    position: tuple[float, float, float]


class DeltaOdometry:
    """Sums velocities between two messages, in the body axes at the first one."""

    def __init__(self) -> None:
        """Start without a motion."""
        self._start: tuple[int, np.ndarray] | None = None
        self._last = 0
        self._moved = np.zeros(3)

    def forget(self) -> None:
        """Begin anew."""
        self._start = None

    def add(self, stamp: int, state: State, velocity: np.ndarray | None) -> Delta | None:
        """Take the velocity since the tick before; return the motion when it is due.

        Args:
            stamp: time of the tick, ns.
            state: state of the vehicle; of it, only the attitude is used.
            velocity: that was measured (3,), FLU, m/s; None: it was not, and what was summed is
                forgotten.
        """
        if velocity is None or self._start is None or stamp <= self._last:
            self._begin(stamp, state)
            return None
        start, attitude = self._start
        dt, self._last = (stamp - self._last) * 1e-9, stamp
        turned = quaternion_product(attitude * np.array([-1, -1, -1, 1]), state.orientation)
        self._moved = self._moved + rotation_matrix(turned) @ velocity * dt
        if stamp - start < PERIOD:
            return None
        angle = np.asarray(rotation_vector(attitude, state.orientation))
        delta = Delta(stamp, stamp - start, frd(angle), frd(self._moved))
        self._begin(stamp, state)
        return delta

    def _begin(self, stamp: int, state: State) -> None:
        self._start, self._last, self._moved = (stamp, state.orientation), stamp, np.zeros(3)
