# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps simulation time in step with the wall clock; knows nothing of ROS."""

from __future__ import annotations

__all__ = ['Pacer']

MAX_DEBT = 0.5
"""s of wall time; a run that is further behind goes on from where it is instead of racing."""


class Pacer:
    """Tells when a stamp is due. Times are in seconds."""

    def __init__(self, real_time_factor: float) -> None:
        """Pace at a factor of real time; 0 never waits."""
        self.factor = real_time_factor
        self._wall0: float | None = None
        self._sim0 = 0.0

    def restart(self) -> None:
        """Forget the past: the next stamp is due at once."""
        self._wall0 = None

    def due(self, sim: float, wall: float) -> bool:
        """Return whether a simulation time may be shown at a wall time."""
        if self.factor <= 0:
            return True
        if self._wall0 is None:
            self._wall0, self._sim0 = wall, sim
        deadline = self._wall0 + (sim - self._sim0) / self.factor
        if wall - deadline > MAX_DEBT:
            self._wall0, self._sim0 = wall, sim
        return wall >= deadline
