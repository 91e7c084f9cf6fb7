# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From this suite's axes to an autopilot's: ENU to NED, FLU to FRD (REP 103, REP 147)."""

from __future__ import annotations

from math import sqrt

import numpy as np

from marine_sim_ros.autopilot.packets import Motion
from marine_sim_ros.core.spatial import (
    quaternion_from_rpy,
    quaternion_product,
    rotation_matrix,
)
from marine_sim_ros.core.state import State

__all__ = ['frd', 'geographic', 'motion_of', 'ned', 'ned_quaternion']


def ned(enu: np.ndarray) -> tuple[float, float, float]:
    """Return north, east, down of a vector (3,) east, north, up."""
    east, north, up = enu.tolist()
    return north, east, -up


def frd(flu: np.ndarray) -> tuple[float, float, float]:
    """Return forward, right, down of a vector (3,) forward, left, up."""
    forward, left, up = flu.tolist()
    return forward, -left, -up


def ned_quaternion(orientation: np.ndarray) -> tuple[float, float, float, float]:
    """Return w, x, y, z from FRD to NED of x, y, z, w from FLU to ENU.

    q' = p ⊗ q ⊗ d: p is half a turn about (1, 1, 0)/√2, d half a turn about the body's x axis.
    """
    x, y, z, w = orientation.tolist()
    half = sqrt(0.5)
    return half * (w + z), half * (x + y), half * (x - y), half * (w - z)


def geographic(state: State, heading: float) -> State:
    """Return a state in east, north, up, of one in a map whose y axis has a heading in degrees."""
    if not heading:
        return state
    turn = quaternion_from_rpy(0.0, 0.0, -np.radians(heading))
    return State(
        rotation_matrix(turn) @ state.position,
        quaternion_product(turn, state.orientation),
        state.velocity,
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
