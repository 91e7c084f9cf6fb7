# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of a vehicle along each axis: thrust, acceleration, speed."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.control.allocation import AXES, controllability, thrust_matrix
from marine_sim_ros.control.extended import effectors, extended_limits
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['axis_accelerations', 'axis_speeds', 'axis_thrusts']

FASTEST = 100.0
"""m/s and rad/s, of an axis without drag."""
_PWM_ENDS = (1100.0, 1900.0)


def axis_thrusts(vehicle: Vehicle) -> np.ndarray:
    """Return the largest pure force and moment (6,) about the centre of mass, the weaker way.

    The pattern of thrusters is the pseudo-inverse's; 0 for an axis that cannot be reached.
    """
    thrusters = vehicle.thrusters
    about = vehicle.inertia.center_of_mass
    inverse = np.linalg.pinv(thrust_matrix(effectors(thrusters), about), rcond=1e-6)
    ends = np.stack([thrusters.thrust_of_pwm(np.full(len(thrusters), p)) for p in _PWM_ENDS])
    room = np.minimum(*np.abs(extended_limits(thrusters, *ends)))
    lost = controllability(thrusters, about).unreachable
    result = np.zeros(6)
    for axis, name in enumerate(AXES):
        pattern = np.abs(inverse[:, axis])
        used = pattern > 1e-9 * pattern.max(initial=0.0)
        if name not in lost and used.any():
            result[axis] = float(np.min(room[used] / pattern[used]))
    return result


def axis_accelerations(vehicle: Vehicle) -> np.ndarray:
    """Return the acceleration (6,) of each axis at full thrust from rest, m/s² and rad/s²."""
    return np.asarray(axis_thrusts(vehicle) / np.diag(vehicle.mass_matrix))


def axis_speeds(vehicle: Vehicle, share: float = 1.0) -> np.ndarray:
    """Return the speed (6,) of each axis at which a share of full thrust meets the drag.

    d₁ v + d₂ v² = τ with the damping of motion along one axis.
    """
    linear, square = vehicle.damping.by_axis
    thrust = share * axis_thrusts(vehicle)
    root = np.sqrt(linear**2 + 4 * square * thrust)
    # The form that neither cancels nor divides by a missing coefficient.
    speed = 2 * thrust / np.maximum(linear + root, 2 * thrust / FASTEST + 1e-300)
    return np.asarray(np.minimum(speed, FASTEST))
