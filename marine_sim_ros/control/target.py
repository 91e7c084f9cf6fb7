# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The pose an operator wants the vehicle to hold, and how it is moved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.spatial import quaternion_from_rpy, rpy_from_quaternion
from marine_sim_ros.core.state import State

__all__ = ['Target', 'here', 'moved', 'to_go']


@dataclass(frozen=True)
class Target:
    """A level pose.

    Attributes:
        position: position of ``base_link`` in ``map`` (ENU), m.
        yaw: about map's z axis from east, −π to π rad.
    """

    position: tuple[float, float, float]
    yaw: float

    @property
    def depth(self) -> float:
        """Return the depth below the mean surface, m."""
        return -self.position[2]

    def orientation(self) -> np.ndarray:
        """Return the quaternion (4,) x, y, z, w."""
        return quaternion_from_rpy(0.0, 0.0, self.yaw)


def _wrapped(angle: float) -> float:
    """Return an angle (rad) in −π to π."""
    return math.remainder(angle, 2 * math.pi)


def _yaw(state: State) -> float:
    return float(rpy_from_quaternion(state.orientation)[2])


def here(state: State) -> Target:
    """Return where a vehicle is, level."""
    x, y, z = map(float, state.position)
    return Target((x, y, z), _yaw(state))


def moved(
    target: Target, state: State, *, surge: float, sway: float, heave: float, yaw: float
) -> Target:
    """Return a target moved by metres ahead, to port and up of the vehicle's heading, and turned.

    The target is never moved out of the water: up to z = 0, or where it is when that is higher.

    Args:
        target: the target to move.
        state: state of the vehicle; ahead and to port are level and turn with its yaw.
        surge: m ahead.
        sway: m to port.
        heave: m up.
        yaw: rad to port (counterclockwise from above).
    """
    heading = _yaw(state)
    c, s = math.cos(heading), math.sin(heading)
    x, y, z = target.position
    z = min(z + heave, max(z, 0.0))
    return Target(
        (x + c * surge - s * sway, y + s * surge + c * sway, z), _wrapped(target.yaw + yaw)
    )


def to_go(target: Target, state: State) -> tuple[float, float]:
    """Return the distance (m) from a vehicle to a target, and the turn to port (rad, −π to π)."""
    distance = math.dist(target.position, map(float, state.position))
    return distance, _wrapped(target.yaw - _yaw(state))
