# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Axes of this package and of autopilots: ENU and NED, FLU and FRD (REP 103, REP 147)."""

from __future__ import annotations

from math import sqrt

import numpy as np

from marine_sim_ros.autopilot.packets import Motion
from marine_sim_ros.core.spatial import (
    quaternion_from_rpy,
    quaternion_of_angles,
    quaternion_product,
    rotation_matrix,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.origin import Origin

__all__ = [
    'enu',
    'flu',
    'flu_quaternion',
    'frd',
    'geographic',
    'motion_of',
    'ned',
    'ned_quaternion',
]


def ned(enu: np.ndarray) -> tuple[float, float, float]:
    """Return north, east, down of a vector (3,) east, north, up."""
    east, north, up = enu.tolist()
    return north, east, -up


def frd(flu: np.ndarray) -> tuple[float, float, float]:
    """Return forward, right, down of a vector (3,) forward, left, up."""
    forward, left, up = flu.tolist()
    return forward, -left, -up


def enu(vectors: np.ndarray) -> np.ndarray:
    """Return east, north, up of vectors (..., 3) north, east, down."""
    return vectors[..., [1, 0, 2]] * np.array([1.0, 1.0, -1.0])


def flu(vectors: np.ndarray) -> np.ndarray:
    """Return forward, left, up of vectors (..., 3) forward, right, down."""
    return vectors * np.array([1.0, -1.0, -1.0])


def flu_quaternion(angles: np.ndarray) -> np.ndarray:
    """Return x, y, z, w (n, 4) from FLU to ENU of roll, pitch, yaw (n, 3) of FRD in NED, rad.

    The yaw is clockwise from north, the pitch is bow up.
    """
    ours = flu(angles) + np.array([0.0, 0.0, np.pi / 2])
    return np.asarray(quaternion_of_angles(ours.T)).T


def ned_quaternion(orientation: np.ndarray) -> tuple[float, float, float, float]:
    """Return w, x, y, z from FRD to NED of x, y, z, w from FLU to ENU.

    q' = p ⊗ q ⊗ d: p is half a turn about (1, 1, 0)/√2, d half a turn about the body's x axis.
    """
    x, y, z, w = orientation.tolist()
    half = sqrt(0.5)
    return half * (w + z), half * (x + y), half * (x - y), half * (w - z)


def geographic(state: State, origin: Origin) -> State:
    """Return a state in east, north, up, of one in a map with an origin."""
    if not origin.heading:
        return state
    turn = quaternion_from_rpy(0.0, 0.0, -np.radians(origin.heading))
    return State(
        origin.enu(state.position), quaternion_product(turn, state.orientation), state.velocity
    )


def motion_of(
    stamp: int, state: State, force: np.ndarray, rates: np.ndarray, ranges: tuple[float, ...] = ()
) -> Motion:
    """Return what an autopilot is told of a state.

    Args:
        stamp: time, ns.
        state: state of the vehicle.
        force: specific force (3,) that the accelerometer measures, FLU, m/s².
        rates: angular velocity (3,) that the gyroscope measures, FLU, rad/s.
        ranges: distances that rangefinders measure, m.
    """
    velocity = rotation_matrix(state.orientation) @ state.velocity[:3]
    return Motion(
        stamp,
        frd(rates),
        frd(force),
        ned(state.position),
        ned(velocity),
        ned_quaternion(state.orientation),
        ranges,
    )
