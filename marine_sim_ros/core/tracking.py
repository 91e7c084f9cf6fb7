# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Smooth motion towards a target: of driven joints, and of filtered set-points."""

from __future__ import annotations

from typing import Any

from marine_sim_ros.core.arrays import Array, namespace

__all__ = ['approach', 'limited']

_TINY = 1e-30
"""So that the root of nothing has a slope, in single precision too."""


def limited(vector: Array, most: Array, *, together: bool) -> Array:
    """Return a vector (..., n) no larger than ``most``: each component, or its length."""
    xp = namespace(vector)
    if not together:
        return xp.clip(vector, -most, most)
    square = xp.vecdot(vector, vector)[..., None]
    length = xp.sqrt(xp.maximum(square, xp.zeros_like(square) + _TINY))
    return vector * (most / xp.maximum(length, most * xp.ones_like(length)))


def approach(
    error: Array,
    rate: Array,
    *,
    bandwidth: Array,
    max_rate: Array,
    dt: Any,
    together: bool = False,
) -> tuple[Array, Array]:
    """Return the next rate (..., n) of something that goes to its target, and its acceleration.

    ẍ = ω² e − 2 ω ẋ with |ẋ| ≤ ẋ_max and |ẍ| ≤ ω ẋ_max / 2, one implicit Euler step: critically
    damped, stable at any step. Braking from full rate needs at most ω ẋ_max / e, so the limits
    cause no overshoot. Source: Fossen (2011) section 10.2.1, reference models of second order.

    Args:
        error: target less position, (..., n).
        rate: present rate (..., n).
        bandwidth: ω, rad/s.
        max_rate: ẋ_max > 0.
        dt: step, s; 0 changes nothing.
        together: the limits hold for the length of the vector: from rest it goes straight.
    """
    xp = namespace(rate)
    if isinstance(dt, int | float) and dt <= 0:
        return rate, xp.zeros_like(rate)
    h = bandwidth * dt
    wanted = (rate + h * bandwidth * error) / (1 + 2 * h + h * h)
    wanted = limited(wanted, max_rate, together=together)
    change = limited(wanted - rate, h * max_rate / 2, together=together)
    return rate + change, change / dt
