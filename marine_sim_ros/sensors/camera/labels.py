# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Labels of what a camera sees: a class, and which one of its class."""

from __future__ import annotations

__all__ = [
    'NOTHING',
    'OBSTACLE',
    'OTHER_VEHICLE',
    'OWN_VEHICLE',
    'PAYLOAD',
    'PLANE',
    'SURFACE',
    'TERRAIN',
    'TETHER',
    'label',
]

NOTHING, SURFACE, TERRAIN, PLANE, OBSTACLE, OWN_VEHICLE, OTHER_VEHICLE = range(7)
PAYLOAD, TETHER = 7, 8
"""Classes; the shader has them too. Nothing within 200 m is water, or sky."""
_MOST = 255


def label(kind: int, number: int) -> int:
    """Return the label of the number-th of a class: class + 256 min(number, 255)."""
    return kind + 256 * min(number, _MOST)
