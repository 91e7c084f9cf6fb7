# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The twelve quantities that can be controlled; each has a target or is free (NaN)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ParameterError

__all__ = ['ATTITUDE', 'POSITION', 'QUANTITIES', 'RATES', 'SPEEDS', 'all_free', 'setpoints']

QUANTITIES = (
    'x',
    'y',
    'z',
    'roll',
    'pitch',
    'yaw',
    'surge',
    'sway',
    'heave',
    'roll_rate',
    'pitch_rate',
    'yaw_rate',
)
"""Position in map, m; attitude (ZYX), rad; velocity of base_link ahead, to port, up in the level
frame, which has the vehicle's heading but neither its roll nor its pitch, m/s; turn rates in the
body frame, rad/s. So a vehicle that cannot hold its pitch goes ahead at its depth all the same.
Source: thesis "Real-Time ROV Motion Simulator", section 4-1-1."""

POSITION, ATTITUDE, SPEEDS, RATES = (slice(i, i + 3) for i in (0, 3, 6, 9))


def all_free() -> np.ndarray:
    """Return set-points (12,) that want nothing."""
    return np.full(len(QUANTITIES), np.nan)


def setpoints(targets: Mapping[str, float]) -> np.ndarray:
    """Return set-points (12,) with some targets; the rest is free.

    Raises:
        ParameterError: a quantity that does not exist, or a target that is not finite.
    """
    result = all_free()
    for name, value in targets.items():
        if name not in QUANTITIES:
            raise ParameterError(
                f'set-point {name!r} is unknown; {expected_one_of(name, QUANTITIES)}'
            )
        if not np.isfinite(value):
            raise ParameterError(f'set-point {name} is {value}; expected a finite number')
        result[QUANTITIES.index(name)] = value
    return result
