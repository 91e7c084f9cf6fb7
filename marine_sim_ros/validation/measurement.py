# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measurement: a quantity that a manoeuvre gives, with its unit."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ['DIRECTIONS', 'Measurement']

DIRECTIONS = {
    'surge': ('ahead', 'astern'),
    'sway': ('port', 'starboard'),
    'heave': ('up', 'down'),
    'roll': ('starboard', 'port'),
    'pitch': ('bow_down', 'bow_up'),
    'yaw': ('port', 'starboard'),
}
"""By axis (FLU): what the positive and the negative sense are called."""


@dataclass(frozen=True)
class Measurement:
    """One quantity of a vehicle.

    Attributes:
        title: display title.
        unit: unit of the value.
        value: None where the vehicle has no such thing.
        note: reason of a missing value, or a remark for the reader; may be empty.
    """

    title: str
    unit: str
    value: float | None
    note: str = ''
