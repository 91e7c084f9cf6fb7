# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pulse widths as messages: what is credible, and which state a command answers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from std_msgs.msg import MultiArrayDimension, UInt16MultiArray

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.physics.thrusters import PWM_MAX, PWM_MIN

__all__ = ['credible', 'pwm_message', 'pwm_stamp']

CREDIBLE = (800, 2200)
STAMP = 'stamp'
"""Label of the layout's dimension that holds a stamp: size is its seconds, stride its ns. The type
has no header, and readers that only take ``data`` need not know."""


def pwm_message(stamp: int, pwm: Iterable[float]) -> UInt16MultiArray:
    """Return the command that answers the state of a stamp (ns)."""
    message = UInt16MultiArray(data=[int(p) for p in pwm])
    seconds, rest = divmod(stamp, NANOSECONDS)
    message.layout.dim = [MultiArrayDimension(label=STAMP, size=seconds, stride=rest)]
    return message


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
    if len(pwm) and not (CREDIBLE[0] <= pwm.min() and pwm.max() <= CREDIBLE[1]):
        span = f'{pwm.min():g} to {pwm.max():g} us'
        return None, f'thrusters/pwm: {span}; expected 1100 to 1900; ignored'
    clamped = np.clip(pwm, PWM_MIN, PWM_MAX)
    same = np.array_equal(clamped, pwm)
    return clamped, '' if same else 'thrusters/pwm: beyond 1100 to 1900 us; clamped'
