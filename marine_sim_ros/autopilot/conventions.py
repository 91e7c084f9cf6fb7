# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From this suite's axes to an autopilot's: ENU to NED, FLU to FRD (REP 103, REP 147)."""

from __future__ import annotations

from math import sqrt

import numpy as np

from marine_sim_ros.autopilot.packets import Motion
from marine_sim_ros.core.spatial import cross, rotation_matrix
from marine_sim_ros.core.state import State

__all__ = ['frd', 'motion_of', 'ned', 'ned_quaternion', 'specific_force']


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


def specific_force(state: State, acceleration: np.ndarray, gravity: float) -> np.ndarray:
    """Return what an accelerometer at ``base_link`` measures (3,), FLU, m/s².

    f = v̇ + ω x v − Rᵀ g, with the rate of change v̇ of the body-frame velocity (Fossen 2011,
    section 11.4).

    Args:
        state: state of the vehicle.
        acceleration: (6,) rate of change of ``state.velocity``, m/s² and rad/s².
        gravity: m/s².
    """
    up = rotation_matrix(state.orientation)[2]
    v, w = state.velocity[:3], state.velocity[3:]
    return acceleration[:3] + cross(w, v) + gravity * up


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
        stamp, frd(rates), frd(force), ned(state.position), ned(velocity),
        ned_quaternion(state.orientation), ranges,
    )  # fmt: skip
