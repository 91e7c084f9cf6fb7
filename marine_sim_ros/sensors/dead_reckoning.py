# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Dead reckoning of a DVL: its velocities, rotated by its attitude and integrated.

The frame of the result begins where the first reading was taken: z is up, x where the DVL's x axis
pointed then, seen from above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import (
    in_map,
    quaternion_from_rpy,
    quaternion_product,
    rotation_matrix,
)
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.sensors.sensor_model import Readings

__all__ = ['DeadReckoning', 'dead_reckoning', 'start_pose', 'true_path']


class DeadReckoning(NamedTuple):
    """State carried from one reading to the next.

    Attributes:
        stamp: of the reading, ns.
        heading: heading of the first reading, rad.
        position: (3,) since the first reading, m.
        velocity: (3,) the last one that was valid, m/s.
        variance: of the position along an axis by the noise of the velocities, m².
        way: length of the way, m.
    """

    stamp: int
    heading: float
    position: np.ndarray
    velocity: np.ndarray
    variance: float
    way: float


def _heading(attitude: np.ndarray) -> float:
    """Return the direction of the x axis, seen from above, rad."""
    ahead = rotation_matrix(attitude)[:, 0]
    return math.atan2(ahead[1], ahead[0])


def start_pose(
    state: State, position: np.ndarray, orientation: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial pose of the dead reckoning in map: position (3,), m; level attitude (4,).

    Args:
        state: of the vehicle at the first reading.
        position: (3,) of the sensor in the body frame, m.
        orientation: (4,) its attitude in the body frame.
    """
    heading = _heading(quaternion_product(state.orientation, orientation))
    point = in_map(state.position, state.orientation, position[None, :])[0]
    return point, quaternion_from_rpy(0.0, 0.0, heading)


def true_path(state: State, position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
    """Return the positions of a sensor (m, 3) in the frame of the dead reckoning.

    Args:
        state: (m, ...) of the vehicle.
        position: (3,) of the sensor in the body frame, m.
        orientation: (4,) its attitude in the body frame.
    """
    points = in_map(state.position, state.orientation, position[None, :])[..., 0, :]
    _, attitude = start_pose(State(*(part[0] for part in state)), position, orientation)
    return np.asarray((points - points[0]) @ rotation_matrix(attitude))


def dead_reckoning(
    memory: DeadReckoning | None, stamp: int, readings: Readings, scale: float
) -> tuple[Readings, DeadReckoning]:
    """Return readings with the dead reckoning's position, attitude and variance, and its memory.

    The velocity between two readings is the mean of theirs; while the bottom is lost, the last one
    goes on. Variance: Σ (σ dt)² of the velocities' σ, and (scale · way)²/3, of an unknown error of
    scale.

    Args:
        memory: of the reading before; None: this is the first one.
        stamp: of this one, ns.
        readings: with ``velocity`` (3,), ``figure_of_merit`` () and ``attitude`` (4,).
        scale: largest error of scale, its share.
    """
    attitude = np.asarray(readings['attitude'])
    if memory is None:
        heading = _heading(attitude)
        memory = DeadReckoning(stamp, heading, np.zeros(3), np.zeros(3), 0.0, 0.0)
    relative_attitude = quaternion_product(
        quaternion_from_rpy(0.0, 0.0, -memory.heading), attitude
    )
    valid = bool(np.all(np.isfinite(readings['velocity'])))
    velocity = memory.velocity
    if valid:
        velocity = rotation_matrix(relative_attitude) @ np.asarray(readings['velocity'])
    dt = (stamp - memory.stamp) / NANOSECONDS
    step = 0.5 * dt * (memory.velocity + velocity)
    deviation = float(readings['figure_of_merit']) if valid else float(np.linalg.norm(velocity))
    memory = DeadReckoning(
        stamp,
        memory.heading,
        memory.position + step,
        velocity,
        memory.variance + (deviation * dt) ** 2,
        memory.way + float(np.linalg.norm(step)),
    )
    results = {
        'position': memory.position,
        'position_variance': np.array(memory.variance + (scale * memory.way) ** 2 / 3),
        'position_attitude': relative_attitude,
    }
    return {**readings, **results}, memory
