# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A cable as pictures show it: a tube of its diameter along its shape."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from marine_sim_ros.scene.parts import Part

__all__ = ['tube']

_YELLOW = np.array([0.95, 0.8, 0.1])
"""Colour of the cable, sRGB; an assumption."""


def tube(places: np.ndarray, diameter: float) -> tuple[Part, ...]:
    """Return cylinders from place to place (m, 3) in m, of a diameter in m."""
    result = []
    for a, b in pairwise(places):
        length = float(np.linalg.norm(b - a))
        if not 0 < length < np.inf:
            continue
        along = (b - a) / length
        # Any two axes across it: the first is that of the axis of map that is least along it.
        across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        across /= np.linalg.norm(across)
        turn = np.column_stack([across, np.cross(along, across), along])
        size = np.array([diameter, diameter, length])
        result.append(Part('cylinder', size, (a + b) / 2, turn, _YELLOW, np.zeros((0, 3, 3))))
    return tuple(result)
