# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Colours of what acts on a vehicle: the same in RViz and in the browser."""

from __future__ import annotations

from marine_sim_ros.physics import FORCES

__all__ = ['force_colour', 'force_colours']

_OTHERS = {
    'weight': '#666666',
    'total': '#1a1a1a',
    'external': '#cc4dcc',
    'damping': '#f2991a',
    'viscous': '#33b34d',
    'pressure': '#e64d1a',
    'suction': '#8033cc',
    'slamming': '#e61a80',
    'air': '#80ccf2',
}
"""Of wrenches that are no forces of the list, and of the kinds of drag."""
_UNKNOWN = '#999933'


def force_colour(name: str) -> tuple[float, float, float]:
    """Return red, green and blue (0 to 1) of a wrench."""
    text = FORCES[name].colour if name in FORCES else _OTHERS.get(name, _UNKNOWN)
    r, g, b = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return r, g, b


def force_colours() -> dict[str, tuple[float, float, float]]:
    """Return the colours of all wrenches that are known by name."""
    return {name: force_colour(name) for name in (*FORCES, *_OTHERS)}
