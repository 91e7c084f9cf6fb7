# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Visible parts of what moves: boxes, cylinders, spheres and meshes with their colours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ['Part']


@dataclass(frozen=True, eq=False)
class Part:
    """A visible part of a body.

    Attributes:
        kind: ``box``, ``cylinder`` along z, ``sphere`` or ``mesh``.
        size: (3,) edges of its bounding box, m.
        position: (3,) of the middle of that box, frame of the body, m.
        rotation: (3, 3) v_body = R v_part.
        colour: (3,) red, green and blue, sRGB, 0 to 1.
        corners: (n, 3, 3) of the triangles of a mesh from the middle of its box, m,
            counter-clockwise seen from outside; empty for other kinds.
    """

    kind: str
    size: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    colour: np.ndarray
    corners: np.ndarray
