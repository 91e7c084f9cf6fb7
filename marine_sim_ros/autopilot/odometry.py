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
"""ns between two messages of a velocity that is known at all times."""


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
    """Makes messages of velocities.

    Of a DVL, one as each reading comes, as its driver sends it: the autopilot takes the way over
    the duration for the velocity at the stamp, and to repeat a reading until the next one comes
    would make that later by half a period. Of a velocity that is known at all times, the sum of
    it over a period, in the body axes at its start.
    """

    def __init__(self) -> None:
        """Start without a motion."""
        self._start: tuple[int, np.ndarray] | None = None
        self._last = 0
        self._moved = np.zeros(3)

    def forget(self) -> None:
        """Begin anew."""
        self._start = None

    def add(
        self, stamp: int, state: State, velocity: np.ndarray | None, came: int | None = None
    ) -> Delta | None:
        """Take the velocity of a tick; return the motion when it is due.

        Args:
            stamp: time of the tick, ns.
            state: state of the vehicle; of it, only the attitude is used.
            velocity: that was measured (3,), FLU, m/s; None: it was not, and what was summed is
                forgotten.
            came: stamp at which the reading of the velocity came, ns; None: it is known at all
                times, and was this one since the tick before.
        """
        if came is not None:
            return self._between(stamp, state, velocity, came)
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

    def _between(
        self, stamp: int, state: State, velocity: np.ndarray | None, came: int
    ) -> Delta | None:
        """Return the motion since the reading before, by the velocity of a new one."""
        if velocity is None:
            self.forget()
            return None
        start = self._start
        if start is not None and start[0] == came:
            return None
        self._begin(came, state)
        if start is None or came < start[0]:  # no reading before, or the run was reset
            return None
        duration = came - start[0]
        angle = np.asarray(rotation_vector(start[1], state.orientation))
        return Delta(stamp, duration, frd(angle), frd(velocity * (duration * 1e-9)))

    def _begin(self, stamp: int, state: State) -> None:
        self._start, self._last, self._moved = (stamp, state.orientation), stamp, np.zeros(3)
