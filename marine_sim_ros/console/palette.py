# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Colours of what acts on a vehicle: the same in RViz and in the browser."""

from __future__ import annotations

__all__ = ['FORCE_COLOURS', 'OTHER_FORCE']

FORCE_COLOURS = {
    'thrusters': (0.9, 0.2, 0.2), 'buoyancy': (0.1, 0.5, 0.9), 'drag': (0.95, 0.6, 0.1),
    'weight': (0.4, 0.4, 0.4), 'total': (0.1, 0.1, 0.1), 'external': (0.8, 0.3, 0.8),
    'boundary': (0.2, 0.7, 0.7), 'contact': (0.6, 0.3, 0.1),
    'damping': (0.95, 0.6, 0.1), 'viscous': (0.2, 0.7, 0.3), 'pressure': (0.9, 0.3, 0.1),
    'suction': (0.5, 0.2, 0.8), 'slamming': (0.9, 0.1, 0.5), 'air': (0.5, 0.8, 0.95),
}  # fmt: skip
"""Red, green, blue of 0 to 1."""
OTHER_FORCE = (0.6, 0.6, 0.2)
