# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The cells of fiducial markers, drawn by OpenCV, which has the codes of AprilTag's families."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.scene.fiducials import Fiducial

__all__ = ['cells', 'fiducial_rows']

_BITS = {'tag16h5': 4, 'tag25h9': 5, 'tag36h10': 6, 'tag36h11': 6}
"""Cells along each side within the black edge."""


@lru_cache(maxsize=256)
def cells(family: str, number: int) -> np.ndarray:
    """Return the cells (n, n) of a marker as it is seen, its black edge too: 1 white, 0 black.

    Raises:
        MissingPackageError: OpenCV is missing.
    """
    aruco = require('cv2', 'a marker in a picture').aruco
    book = aruco.getPredefinedDictionary(
        getattr(aruco, f'DICT_APRILTAG_{family.removeprefix("tag")}')
    )
    side = _BITS[family] + 2
    draw = getattr(aruco, 'generateImageMarker', None) or aruco.drawMarker  # before OpenCV 4.7
    return draw(book, number, side) / 255.0


def fiducial_rows(fiducials: Sequence[Fiducial]) -> np.ndarray:
    """Return what the shader must know of markers, (k, 65, 1): cells along a side, then cells."""
    rows = np.zeros((len(fiducials), 65, 1))
    for row, fiducial in zip(rows, fiducials, strict=True):
        drawn = cells(fiducial.family, fiducial.id)
        row[0], row[1 : 1 + drawn.size, 0] = len(drawn), drawn.reshape(-1)
    return rows
