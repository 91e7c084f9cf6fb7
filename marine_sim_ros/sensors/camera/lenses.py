# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lenses, the view from a camera, and the lamps beside it.

Frames are optical ones (REP 103): x to the right, y down, z ahead. Pixel (0, 0) is the middle of
the upper left one. The models are those of sensor_msgs/CameraInfo and OpenCV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment

__all__ = ['EQUIDISTANT', 'Lamp', 'Lens', 'PLUMB_BOB', 'View', 'height_above_water']


# Lenses: projection of directions to pixels, and of pixels to directions.

PLUMB_BOB, EQUIDISTANT = 'plumb_bob', 'equidistant'
_ROUNDS = 60


@dataclass(frozen=True)
class Lens:
    """A lens over an image.

    Attributes:
        width: pixels.
        height: pixels.
        field_of_view: from the left to the right edge of an image without distortion, rad.
        model: ``plumb_bob`` or ``equidistant``.
        distortion: k1, k2, p1, p2, k3 of ``plumb_bob``; k1 to k4 of ``equidistant``.
    """

    width: int
    height: int
    field_of_view: float
    model: str = PLUMB_BOB
    distortion: tuple[float, ...] = (0.0,) * 5

    @property
    def focal_length(self) -> float:
        """Pixels: w/2 over tan(fov/2), or over fov/2 of an equidistant lens."""
        half = self.field_of_view / 2
        return self.width / 2 / (math.tan(half) if self.model == PLUMB_BOB else half)

    @property
    def matrix(self) -> np.ndarray:
        """(3, 3) K: the focal length and the middle of the image, pixels."""
        f = self.focal_length
        return np.array([[f, 0, (self.width - 1) / 2], [0, f, (self.height - 1) / 2], [0, 0, 1.0]])

    def distort(self, points: np.ndarray) -> np.ndarray:
        """Return the image positions (..., 2) of directions, in focal lengths from the centre.

        Args:
            points: (..., 2) x/z and y/z of directions; of an equidistant lens the angle from the
                axis along x and y, rad.
        """
        r2 = np.sum(points * points, axis=-1, keepdims=True)
        if self.model == EQUIDISTANT:
            a, b, c, d = self.distortion[:4]
            return np.asarray(points * (1 + r2 * (a + r2 * (b + r2 * (c + r2 * d)))))
        k1, k2, p1, p2, k3 = self.distortion
        x, y = points[..., :1], points[..., 1:]
        radial = 1 + r2 * (k1 + r2 * (k2 + r2 * k3))
        tangential = [
            2 * p1 * x * y + p2 * (r2 + 2 * x * x),
            p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
        ]
        return np.asarray(points * radial + np.concatenate(tangential, axis=-1))

    def directions(self, pixels: np.ndarray) -> np.ndarray:
        """Return the unit vectors (..., 3) that pixels (..., 2) see.

        Raises:
            ParameterError: the distortion shows one direction at two places.
        """
        middle = np.array([self.width - 1, self.height - 1]) / 2
        image_points = (pixels - middle) / self.focal_length
        points = image_points
        for _ in range(_ROUNDS):
            error = self.distort(points) - image_points
            xx, xy, yy = self._slope(points)
            x, y, determinant = error[..., 0], error[..., 1], xx * yy - xy * xy
            move = [(yy * x - xy * y) / determinant, (xx * y - xy * x) / determinant]
            points = points - np.stack(move, axis=-1)
            if not np.all(np.isfinite(points)) or np.max(np.abs(error)) < 1e-13:
                break
        residual = np.max(np.abs(self.distort(points) - image_points))
        xx, xy, yy = self._slope(points)
        if not residual < 1e-9 or np.any(xx * yy - xy * xy <= 0):
            raise ParameterError(
                f'distortion {list(self.distortion)} folds the image at its edges; expected '
                'coefficients that keep directions apart, or a narrower field_of_view'
            )
        if self.model == PLUMB_BOB:
            rays = np.concatenate([points, np.ones_like(points[..., :1])], axis=-1)
            return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))
        angle = np.linalg.norm(points, axis=-1, keepdims=True)
        across = points * np.sinc(angle / np.pi)
        return np.concatenate([across, np.cos(angle)], axis=-1)

    def _slope(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return xx, xy and yy (...) of ∂distorted/∂points, which is symmetric in both models."""
        x, y = points[..., 0], points[..., 1]
        r2 = x * x + y * y
        d = self.distortion
        k1, k2, k3 = d[0], d[1], d[2 if self.model == EQUIDISTANT else 4]
        k4 = d[3] if self.model == EQUIDISTANT else 0.0
        p1, p2 = (0.0, 0.0) if self.model == EQUIDISTANT else d[2:4]
        radial = 1 + r2 * (k1 + r2 * (k2 + r2 * (k3 + r2 * k4)))
        steeper = 2 * (k1 + r2 * (2 * k2 + r2 * (3 * k3 + r2 * 4 * k4)))
        return (
            radial + steeper * x * x + 2 * p1 * y + 6 * p2 * x,
            steeper * x * y + 2 * p1 * x + 2 * p2 * y,
            radial + steeper * y * y + 6 * p1 * y + 2 * p2 * x,
        )


# Viewpoint of a picture, and the lamps beside the camera.


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


def height_above_water(environment: Environment, eye: np.ndarray) -> float:
    """Return the height of an eye (3,), map, m, above the water's surface, m.

    The surface is level, at the height of the tide.
    """
    return float(eye[2] - environment.level)


class View(NamedTuple):
    """Viewpoint of a picture.

    Attributes:
        eye: (3,) map, m.
        turn: (3, 3) v_map = R v_camera, optical frame.
        gain: from light to pixels, 1 is white.
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
