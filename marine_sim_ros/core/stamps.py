# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stamps in whole nanoseconds, and how many steps there are between two of them."""

from __future__ import annotations

import struct
from typing import Any

from marine_sim_ros.core.errors import ParameterError

__all__ = ['NANOSECONDS', 'header_stamp', 'stamp_ns', 'step_nanoseconds', 'ticks_of']

NANOSECONDS = 1_000_000_000
"""In a second."""


def header_stamp(data: bytes) -> int:
    """Return the stamp (ns) of a serialised message (CDR) that begins with a header."""
    sec, nanosec = struct.unpack_from('<iI' if data[1] & 1 else '>iI', data, 4)
    return int(sec) * NANOSECONDS + int(nanosec)


def stamp_ns(stamp: Any) -> int:
    """Return the stamp (ns) of a message's header."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def step_nanoseconds(dt: float) -> int:
    """Return a step in whole nanoseconds, at least one microsecond.

    Raises:
        ParameterError: not between 1 µs and 1 s.
    """
    if not 1e-6 <= dt <= 1.0:
        raise ParameterError(f'step is {dt} s; expected 0.000001 to 1')
    return round(dt * NANOSECONDS)


def ticks_of(duration: float, dt: float) -> int:
    """Return how many ticks of a step there are in a duration (s), both ends included."""
    return round(duration * NANOSECONDS) // step_nanoseconds(dt) + 1
