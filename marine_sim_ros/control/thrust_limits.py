# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What thrust each thruster can make, and the pulse width that makes it."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.physics.thrusters import PWM_MAX, PWM_MIN, PWM_NEUTRAL

__all__ = ['PulseWidths']


class PulseWidths:
    """The curves of n thrusters turned round: a whole pulse width for each thrust.

    An ESC takes whole microseconds, so a thruster can make as many thrusts as there are pulse
    widths from 1100 to 1900 µs, and a wanted thrust becomes the nearest of them. That one rule is
    also the rule of the dead zone: a thrust below the least that the curve makes goes to 0 or to
    that least thrust, whichever is nearer (exactly between two, to the lower). Each call stands
    alone: nothing holds a thruster back from switching at that edge from one call to the next.

    Where several pulse widths make one thrust, the nearest to 1500 µs stands for them, so zero
    thrust is 1500 µs.

    Attributes:
        levels: (n, k) thrusts of all whole pulse widths, rising, N.
        between: (n, k − 1) halfway from each of them to the next, N.
        pulses: (n, k) the pulse width that stands for each, µs.
        lower: (n,) thrust at 1100 µs, N, not above 0.
        upper: (n,) thrust at 1900 µs, N, not below 0.
    """

    def __init__(self, thrusters: ThrusterSet) -> None:
        """Tabulate every pulse width once."""
        pulses = np.arange(PWM_MIN, PWM_MAX + 1.0)
        columns = np.broadcast_to(pulses[:, None], (len(pulses), len(thrusters)))
        # Rounding must not make a curve that rises fall by a last digit.
        self.levels = np.maximum.accumulate(thrusters.thrust_of_pwm(columns), axis=0).T.copy()
        self.between = (self.levels[:, :-1] + self.levels[:, 1:]) / 2
        self._between = self.between.tolist()
        neutral = int(PWM_NEUTRAL - PWM_MIN)
        self.pulses = np.empty_like(self.levels)
        for levels, row in zip(self.levels, self.pulses, strict=True):
            first = np.searchsorted(levels, levels, side='left')
            last = np.searchsorted(levels, levels, side='right') - 1
            row[:] = pulses[np.clip(neutral, first, last)]
        self._rows = np.arange(len(thrusters))
        self.lower = np.minimum(self.levels[:, 0], 0.0)
        self.upper = np.maximum(self.levels[:, -1], 0.0)

    def nearest(self, thrust: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pulse widths (n,) in µs and what they make (n,) in N, nearest to thrusts (n,)."""
        index = [bisect_left(b, f) for b, f in zip(self._between, thrust.tolist(), strict=True)]
        return self.pulses[self._rows, index], self.levels[self._rows, index]
