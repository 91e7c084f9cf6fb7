# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Servos: a first-order lag within limits and a rate; they turn fins and thrusters."""

from __future__ import annotations

from typing import Any

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.model.servos import Servos

__all__ = ['servo_step']


def servo_step(servos: Servos, angle: Array, target: Array, dt: Any) -> Array:
    """Return the angles (..., m) in rad, dt seconds later.

    A first-order lag within its rate: δ' = δ + clip((1 − e^(−dt/T)) (δ_c − δ), ±r dt), δ_c the
    commanded angle within the limits.

    Args:
        servos: the servos.
        angle: (..., m) angles before, rad.
        target: (..., m) commanded angles, rad.
        dt: s.
    """
    xp = namespace(angle)
    within = xp.minimum(xp.maximum(target, constant(xp, servos.lower)), constant(xp, servos.upper))
    share = 1 - xp.exp(-dt / xp.maximum(constant(xp, servos.time_constant), 1e-12))
    most = constant(xp, servos.max_rate) * dt
    return angle + xp.minimum(xp.maximum(share * (within - angle), -most), most)
