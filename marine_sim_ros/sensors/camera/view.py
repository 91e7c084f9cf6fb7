# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a picture is taken from, and the lamps beside the camera."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ['Lamp', 'View']


class Lamp(NamedTuple):
    """Lamps of the vehicle, as one.

    Attributes:
        light: irradiance at 1 m, relative to daylight below the surface; 0: off.
        place: (3,) frame of the camera, m.
        cosine: of the angle from the camera's axis at which there is no light any more.
    """

    light: float
    place: np.ndarray
    cosine: float


class View(NamedTuple):
    """What a picture is taken from.

    Attributes:
        eye: (3,) map, m.
        turn: (3, 3) v_map = R v_camera, optical frame.
        gain: from light to pixels, 1 is white.
        lamp: lamps.
        time: s, of the ripples on the water.
        position: (3,) of the vehicle itself, map, m.
        orientation: (4,) of the vehicle itself, to map.
    """

    eye: np.ndarray
    turn: np.ndarray
    gain: float
    lamp: Lamp
    time: float
    position: np.ndarray
    orientation: np.ndarray
