# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The battery, as often as an autopilot is told of it."""

from __future__ import annotations

import math

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.sensors.series import due

__all__ = ['SlowSupply']

STEP = 0.05
"""V; a smaller change is not told."""


class SlowSupply:
    """Takes voltage and current of ticks; tells them once a second, half a second later.

    By then the message has come on any machine, so that a run does not depend on how busy it is.
    """

    def __init__(self) -> None:
        """Know none."""
        self._before = -1
        self._taken: tuple[int, float, float] | None = None
        self._told = math.nan

    def take(self, stamp: int, power: float, voltage: float) -> None:
        """Take power (W) and voltage (V) of a tick (ns); NaN: nothing is wrong with the supply."""
        before, self._before = self._before, stamp
        if due(NANOSECONDS, stamp, before) and voltage > 0:
            self._taken = stamp, voltage, power / voltage

    def due(self, stamp: int) -> tuple[float, float] | None:
        """Return voltage (V) and current (A) told at a tick (ns); None: they are as before."""
        if self._taken is None or stamp < self._taken[0] + NANOSECONDS // 2:
            return None
        (_, voltage, current), self._taken = self._taken, None
        if abs(voltage - self._told) < STEP:
            return None
        self._told = voltage
        return voltage, current
