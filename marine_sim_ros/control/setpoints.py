# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Set-points of the twelve controlled quantities: pose, velocity and turn rates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from marine_sim_ros.core.errors import ParameterError, expected_one_of

__all__ = [
    'ATTITUDE',
    'POSITION',
    'SETPOINT_QUANTITIES',
    'RATES',
    'SPEEDS',
    'empty_setpoints',
    'make_setpoints',
]


SETPOINT_QUANTITIES = (
    # position in map, m
    'x',
    'y',
    'z',
    # attitude (ZYX), rad
    'roll',
    'pitch',
    'yaw',
    # velocity of base_link ahead, to port and up in the level frame, m/s
    'surge',
    'sway',
    'heave',
    # turn rates in the body frame, rad/s
    'roll_rate',
    'pitch_rate',
    'yaw_rate',
)
"""Names of set-points. The level frame has the vehicle's heading but neither its roll nor its
pitch, so that a vehicle that cannot hold its pitch still keeps its depth; the velocities of an
odometry are those of the body frame. Source: thesis "Real-Time ROV Motion Simulator", 4-1-1."""

POSITION, ATTITUDE, SPEEDS, RATES = (slice(i, i + 3) for i in (0, 3, 6, 9))


def empty_setpoints() -> np.ndarray:
    """Set-points (12,) that are all free (NaN)."""
    return np.full(len(SETPOINT_QUANTITIES), np.nan)


def make_setpoints(targets: Mapping[str, float]) -> np.ndarray:
    """Return set-points (12,) with some targets; the rest is free.

    Raises:
        ParameterError: a quantity that does not exist, or a target that is not finite.
    """
    result = empty_setpoints()
    for name, value in targets.items():
        if name not in SETPOINT_QUANTITIES:
            raise ParameterError(
                f'set-point {name!r} is unknown; {expected_one_of(name, SETPOINT_QUANTITIES)}'
            )
        if not np.isfinite(value):
            raise ParameterError(f'set-point {name} is {value}; expected a finite number')
        result[SETPOINT_QUANTITIES.index(name)] = value
    return result
