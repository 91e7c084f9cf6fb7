# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of which one row holds at a time, read without branches."""

from __future__ import annotations

from marine_sim_ros.core.arrays import Array, constant, namespace

__all__ = ['held']


def held(start: Array, table: Array, time: Array) -> Array:
    """Return the row (...) of a table (s, ...) that holds at a time in s."""
    xp = namespace(time)
    rows, starts = constant(xp, table), constant(xp, start)
    result = rows[0]
    for i in range(1, len(start)):
        result = xp.where(starts[i] <= time, rows[i], result)
    return result
