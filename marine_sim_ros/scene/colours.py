# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What materials look like."""

from __future__ import annotations

__all__ = ['colour']

_COLOURS = {
    'sand': (0.85, 0.75, 0.50),
    'rock': (0.45, 0.43, 0.42),
    'concrete': (0.70, 0.72, 0.74),
    'steel': (0.35, 0.40, 0.48),
    'rubber': (0.90, 0.55, 0.10),
    'black': (0.02, 0.02, 0.02),
    'white': (0.90, 0.90, 0.90),
}
_OTHER = (0.60, 0.60, 0.60)


def colour(material: str, light: float = 1.0) -> tuple[float, float, float]:
    """Return red, green and blue of a material in so much light, each 0 to 1."""
    r, g, b = (min(light * c, 1.0) for c in _COLOURS.get(material, _OTHER))
    return r, g, b
