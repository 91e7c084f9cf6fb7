# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a film tells in its corner: time, depth, heading."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.origin import Origin

__all__ = ['overlay_text', 'with_text']

_EDGE = 0.02
"""Of the text from the corner, of the height of the picture."""
_HEIGHT = 0.045
"""Of the text, of the height of the picture."""
_LEAST = 10.0
"""Pixels; smaller letters cannot be read."""


def overlay_text(time: float, state: State, origin: Origin) -> str:
    """Return time (s), depth of the origin (m), and heading clockwise from north (degrees).

    Args:
        time: s.
        state: in the map of an origin.
        origin: says where north is in its map.
    """
    ahead = np.asarray(rotation_matrix(state.orientation))[:, 0]
    heading = origin.compass(math.atan2(ahead[1], ahead[0]))
    # What rounds to 360 is 0.
    return f'{time:.2f} s   depth {-state.position[2]:.2f} m   heading {round(heading) % 360:03d}°'


def with_text(image: np.ndarray, text: str) -> np.ndarray:
    """Return an image (h, w, 3) uint8 with a text in its upper left corner.

    Raises:
        MissingPackageError: Pillow is missing.
    """
    pillow = require('PIL.Image', 'the overlay of a film')
    draw = require('PIL.ImageDraw', 'the overlay of a film')
    font = require('PIL.ImageFont', 'the overlay of a film')
    height = image.shape[0]
    picture = pillow.fromarray(image)
    letters = font.load_default(max(_HEIGHT * height, _LEAST))
    pen, corner = draw.Draw(picture), (_EDGE * height, _EDGE * height)
    pen.text(corner, text, (255, 255, 255), font=letters, stroke_width=1, stroke_fill=(0, 0, 0))
    return np.asarray(picture)
