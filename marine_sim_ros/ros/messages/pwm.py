# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pulse widths that are credible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marine_sim_ros.physics.thrusters import PWM_MAX, PWM_MIN

__all__ = ['credible']

CREDIBLE = (800, 2200)


def credible(widths: Sequence[int], count: int) -> tuple[np.ndarray | None, str]:
    """Return the pulse widths (n,) in µs within their limits, and a complaint or nothing.

    None where the command is to be ignored as a whole: of the wrong length, or beyond what any
    thruster takes (a negative number wraps to a huge one).
    """
    pwm = np.array(widths, float)
    if len(pwm) != count:
        return None, f'thrusters/pwm: {len(pwm)} pulse widths; expected {count}; ignored'
    if not count:
        return pwm, ''
    low, high = min(widths), max(widths)
    if not (CREDIBLE[0] <= low and high <= CREDIBLE[1]):
        span = f'{low:g} to {high:g} us'
        return None, f'thrusters/pwm: {span}; expected 1100 to 1900; ignored'
    if low < PWM_MIN or high > PWM_MAX:
        clamped = np.clip(pwm, PWM_MIN, PWM_MAX)
        return clamped, 'thrusters/pwm: beyond 1100 to 1900 us; clamped'
    return pwm, ''
