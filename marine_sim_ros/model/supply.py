# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrust and power of a thruster at another supply voltage than that of its curve.

At one pulse width thrust goes with (U/U₀)^1.22 and electrical power with (U/U₀)^2.24. The
exponents are fitted to Blue Robotics' bench data of the T200 (September 2019) at 10, 12 and 16 V:
within 0.61 N of 51 N, and 7 % of the power above 20 W. At 20 V the ESC gives up to 5 N less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    'CURVE_VOLTAGE',
    'POWER_EXPONENT',
    'SCALES',
    'power_factor',
    'scaled_curve',
    'thrust_factor',
]

CURVE_VOLTAGE = 16.0
"""V; of a thrust curve that states none."""
SCALES = 0.6, 1.25
"""U/U₀ within which the law was compared with bench data: 10 to 20 V for a curve of 16 V."""
THRUST_EXPONENT, POWER_EXPONENT = 1.22, 2.24


def thrust_factor(ratio: Any) -> Any:
    """Thrust at U over thrust at U₀, one pulse width; ``ratio`` is U/U₀, a number or an array."""
    return ratio**THRUST_EXPONENT


def power_factor(ratio: Any) -> Any:
    """Electrical power at U over power at U₀, likewise."""
    return ratio**POWER_EXPONENT


def scaled_curve(curve: np.ndarray, ratio: float) -> np.ndarray:
    """Return rows (k, 4) of µs, N, W, rad/s at U/U₀; rotor speed goes with the root of thrust."""
    thrust = thrust_factor(ratio)
    return curve * np.array([1.0, thrust, power_factor(ratio), np.sqrt(thrust)])
