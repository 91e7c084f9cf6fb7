# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Trim of a submerged vehicle: its attitude under weight and buoyancy alone."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix

__all__ = ['balance_metrics', 'trim']


def trim(center_of_gravity: np.ndarray, center_of_buoyancy: np.ndarray) -> tuple[float, float]:
    """Return roll and pitch in rad at which buoyancy acts straight above weight.

    With b = B − G (3,) in the body frame (FLU) and Rᵀ ẑ along b: roll = atan2(b_y, b_z) and
    pitch = atan2(−b_x, √(b_y² + b_z²)) (Fossen 2011, eq. 4.5, with no moment left).
    """
    x, y, z = np.subtract(center_of_buoyancy, center_of_gravity).tolist()
    return math.atan2(y, z), math.atan2(-x, math.hypot(y, z))


def balance_metrics(
    center_of_gravity: np.ndarray,
    center_of_buoyancy: np.ndarray,
    roll: float,
    pitch: float,
    *,
    mass: float,
    volume: float,
) -> dict[str, float]:
    """Return what metrics.json holds of a vehicle that has come to rest at roll and pitch (rad).

    Centres (3,) in the body frame, m; ``horizontal_m`` is the arm of the moment that is left, and
    ``trim_*_deg`` the attitude that leaves none.
    """
    lever = np.subtract(center_of_buoyancy, center_of_gravity)
    turned = rotation_matrix(quaternion_from_rpy(roll, pitch, 0.0)) @ lever
    free_roll, free_pitch = trim(center_of_gravity, center_of_buoyancy)
    return {
        'mass_kg': float(mass),
        'volume_m3': float(volume),
        'upright_vertical_m': float(lever[2]),
        'upright_horizontal_m': float(np.hypot(lever[0], lever[1])),
        'vertical_m': float(turned[2]),
        'horizontal_m': float(np.hypot(turned[0], turned[1])),
        'roll_deg': math.degrees(roll),
        'pitch_deg': math.degrees(pitch),
        'trim_roll_deg': math.degrees(free_roll),
        'trim_pitch_deg': math.degrees(free_pitch),
    }
