# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pulse widths as messages: what is credible, and which state a command answers."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from std_msgs.msg import MultiArrayDimension, UInt16MultiArray

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.physics.thrusters import PWM_MAX, PWM_MIN

__all__ = ['PwmMessage', 'credible', 'pwm_stamp']

CREDIBLE = (800, 2200)
STAMP = 'stamp'
"""Label of the layout's dimension that holds a stamp: size is its seconds, stride its ns. The type
has no header, and readers that only take ``data`` need not know."""


class PwmMessage:
    """A command that is filled anew for each tick."""

    def __init__(self) -> None:
        """Make the message."""
        self._stamp = MultiArrayDimension(label=STAMP)
        self._message = UInt16MultiArray()
        self._message.layout.dim = [self._stamp]

    def filled(self, stamp: int, pwm: np.ndarray | Sequence[float]) -> UInt16MultiArray:
        """Return the command (n,), µs, that answers the state of a stamp (ns)."""
        self._stamp.size, self._stamp.stride = divmod(stamp, NANOSECONDS)
        self._message.data = array('H', map(int, np.asarray(pwm).tolist()))
        return self._message


def pwm_stamp(message: UInt16MultiArray) -> int | None:
    """Return the stamp (ns) of the state a command answers, or None where it does not say."""
    for dimension in message.layout.dim:
        if dimension.label == STAMP:
            return int(dimension.size) * NANOSECONDS + int(dimension.stride)
    return None


def credible(message: UInt16MultiArray, count: int) -> tuple[np.ndarray | None, str]:
    """Return the pulse widths (n,) in µs within their limits, and a complaint or nothing.

    None where the command is to be ignored as a whole: of the wrong length, or beyond what any
    thruster takes (a negative number wraps to a huge one).
    """
    pwm = np.array(message.data, float)
    if len(pwm) != count:
        return None, f'thrusters/pwm: {len(pwm)} pulse widths; expected {count}; ignored'
    if not count:
        return pwm, ''
    low, high = min(message.data), max(message.data)
    if not (CREDIBLE[0] <= low and high <= CREDIBLE[1]):
        span = f'{low:g} to {high:g} us'
        return None, f'thrusters/pwm: {span}; expected 1100 to 1900; ignored'
    if low < PWM_MIN or high > PWM_MAX:
        clamped = np.clip(pwm, PWM_MIN, PWM_MAX)
        return clamped, 'thrusters/pwm: beyond 1100 to 1900 us; clamped'
    return pwm, ''
