# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a wrench on a vehicle may be, whoever sends it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ['largest_wrench', 'wrench_fault']

LARGEST = 1e4
"""N or N·m for each kg of the vehicle: a thousand times its weight."""
LARGEST_CHANGE = 100.0
"""m/s in one step; an impulse, as of a contact, acts within one."""


def largest_wrench(mass: float, dt: float) -> float:
    """Return the bound of the sum of a wrench's absolute values, N or N·m.

    Args:
        mass: mass of the vehicle, kg.
        dt: step, s.
    """
    return mass * max(LARGEST, LARGEST_CHANGE / dt)


def wrench_fault(wrench: Sequence[float], largest: float) -> str:
    """Return why a wrench (6,) cannot act, or an empty text."""
    size = sum(map(abs, wrench))
    if size <= largest:  # false for NaN
        return ''
    if size != size or size == float('inf'):
        return 'not finite'
    return f'{max(map(abs, wrench)):g} N or N m, expected {largest:g} at most'
