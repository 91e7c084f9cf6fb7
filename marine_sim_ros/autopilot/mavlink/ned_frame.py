# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coordinates at the edge of MAVLink: map, and north-east-down with latitude and longitude."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.autopilot.conventions import enu, geographic, ned
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.origin import Origin

__all__ = ['NedFrame', 'wrapped']


def wrapped(angle: float) -> float:
    """Return an angle (rad) in −π to π."""
    return math.remainder(angle, 2 * math.pi)


class NedFrame:
    """North, east, down from the origin of map, which is home."""

    def __init__(self, origin: Origin) -> None:
        """Use the place and the heading of map."""
        self.origin = origin

    def state(self, state: State) -> State:
        """Return a state in map as one in east, north, up."""
        return geographic(state, self.origin)

    def ned(self, vector: np.ndarray) -> tuple[float, float, float]:
        """Return north, east, down of a vector (3,) in map."""
        return ned(self.origin.enu(vector))

    def in_map(self, vector: tuple[float, float, float] | np.ndarray) -> np.ndarray:
        """Return the vector (3,) in map of one north, east, down.

        NaN in its level axes makes both NaN, and NaN in the third axis the third.
        """
        given = np.asarray(vector, float)
        result = np.array(self.origin.in_map(enu(np.nan_to_num(given))))
        if np.any(np.isnan(given[:2])):
            result[:2] = np.nan
        if np.isnan(given[2]):
            result[2] = np.nan
        return result

    def compass(self, yaw: float) -> float:
        """Return the compass heading (rad, −π to π) of a yaw in map."""
        return wrapped(math.pi / 2 + math.radians(self.origin.heading) - yaw)

    def yaw(self, compass: float) -> float:
        """Return the yaw in map (rad, −π to π) of a compass heading."""
        return self.compass(compass)

    def heading(self, state: State) -> float:
        """Return the compass heading (rad) of a state in map."""
        return self.compass(float(rpy_from_quaternion(state.orientation)[2]))

    def place(self, position: np.ndarray) -> tuple[float, float]:
        """Return latitude and longitude, degrees, of a position (3,) in map."""
        return self.origin.place(*self.origin.enu(position)[:2].tolist())

    def position(self, latitude: float, longitude: float, altitude: float) -> np.ndarray:
        """Return the position (3,) in map of a place in degrees, m above the surface."""
        east, north = self.origin.offset(latitude, longitude)
        return self.in_map((north, east, -altitude))
