# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tiles of a picture: the cone of what each sees, so that a pixel tries only what may be there.

A processor's OpenGL computes all that a shader has for every pixel; what no ray of a tile can meet
costs least where it is left out of the shader's loops, or out of the shader.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ['Tiles', 'tiles_of']

_BALLS, _MANY = 6, 24
"""That a box is covered by, and one that is long."""
_LONG = 8.0
"""Times its thickness."""
_SLACK = 1e-4
"""rad, for rounding."""


@dataclass(frozen=True)
class Tiles:
    """Tiles of a lens, row by row.

    Attributes:
        axes: (m, 3) middle of the rays of each tile, frame of the camera.
        spread: (m,) angle from that to the ray that is farthest from it, rad.
        across: tiles in a row.
    """

    axes: np.ndarray
    spread: np.ndarray
    across: int

    def steepest(self, turn: np.ndarray) -> np.ndarray:
        """Return bounds (m, 2) of the z of the rays' directions in map: lowest, highest.

        Args:
            turn: (3, 3) v_map = R v_camera.
        """
        rise = np.arcsin(np.clip(self.axes @ turn[2], -1.0, 1.0))[:, None]
        angles = rise + self.spread[:, None] * np.array([-1.0, 1.0])
        return np.sin(np.clip(angles, -np.pi / 2, np.pi / 2))

    def sees(
        self,
        turn: np.ndarray,
        places: np.ndarray,
        axes: np.ndarray,
        halves: np.ndarray,
        slack: float = 0.0,
    ) -> np.ndarray:
        """Return whether boxes may be in tiles, (m, k); false only where they are not.

        A box is in a row of balls along its longest side, and where the eye is beyond one of its
        sides, only rays that go back from there can meet it.

        Args:
            turn: (3, 3) v_map = R v_camera.
            places: (k, 3) middles from the eye, map, m.
            axes: (k, 3, 3) axes of each box in map, row by row.
            halves: (k, 3) half of each size, m.
            slack: angle by which rays may be turned, rad.
        """
        if not len(places):
            return np.zeros((len(self.axes), 0), bool)
        rays = self.axes @ turn.T
        longest = np.argmax(halves, axis=-1)
        each = np.arange(len(places))
        half = halves[each, longest]
        thick = np.sqrt(np.sum(halves**2, axis=-1) - half**2)
        along = half[:, None] * axes[each, longest]
        spread = self.spread[:, None, None] + _SLACK + slack
        inside = np.zeros((len(rays), len(places)), bool)
        long = half > _LONG * thick
        for some, count in ((~long, _BALLS), (long, _MANY)):
            if np.any(some):
                covered = places[some], along[some], thick[some], count
                inside[:, some] = _meets_balls(rays, spread, *covered)
        eye = -np.einsum('kji,ki->kj', axes, places)  # in the axes of the box
        beyond = np.abs(eye) > halves
        away = np.sign(eye)[..., None] * axes  # outward from the side that the eye is beyond
        rise = np.arcsin(np.clip(np.einsum('mi,kji->mkj', rays, away), -1.0, 1.0))
        return np.asarray(inside & ~np.any(beyond & (rise > spread), axis=-1))

    def corners(self, chosen: np.ndarray, side: int, size: tuple[int, int]) -> np.ndarray:
        """Return two triangles (n, 6, 2) for each chosen tile (n,), in OpenGL's −1 to 1.

        Args:
            chosen: numbers of tiles.
            side: pixels along a side.
            size: pixels of the picture along x and y.
        """
        begin = np.stack([chosen % self.across, chosen // self.across], axis=-1)[:, None]
        six = np.array([[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]])
        return np.asarray(2.0 * side * (begin + six) / np.array(size) - 1.0)


def _meets_balls(
    rays: np.ndarray,
    spread: np.ndarray,
    places: np.ndarray,
    along: np.ndarray,
    thick: np.ndarray,
    count: int,
) -> np.ndarray:
    """Return whether cones about rays (m, 3) meet any of the balls that cover boxes, (m, k).

    Args:
        rays: axes of the cones.
        spread: (m, 1, 1) of the cones, rad.
        places: (k, 3) middles of the boxes from the eye, m.
        along: (k, 3) from there to the end of the longest side, m.
        thick: (k,) half of the diagonal across that side, m.
        count: balls of each box.
    """
    steps = (np.arange(count) * 2 + 1) / count - 1
    balls = places[:, None] + along[:, None] * steps[:, None]  # (k, b, 3)
    radii = np.hypot(thick, np.linalg.norm(along, axis=-1) / count)[:, None]
    far = np.linalg.norm(balls, axis=-1)
    around = far <= radii
    size = np.arcsin(np.where(around, 0.0, radii / np.where(around, 1.0, far)))
    cosine = np.einsum('mi,kbi->mkb', rays, balls) / np.where(far > 0, far, 1.0)
    angle = np.arccos(np.clip(cosine, -1.0, 1.0))
    return np.any(around | (angle <= spread + size), axis=-1)


def tiles_of(rays: np.ndarray, side: int) -> Tiles:
    """Return the tiles of rays.

    Args:
        rays: (h, w, 3) unit vectors.
        side: rays along each side of a tile; the last ones may have fewer.
    """
    height, width = rays.shape[:2]
    padded = np.pad(rays, [(0, -height % side), (0, -width % side), (0, 0)], mode='edge')
    down, across = padded.shape[0] // side, padded.shape[1] // side
    blocks = padded.reshape(down, side, across, side, 3).transpose(0, 2, 1, 3, 4)
    blocks = blocks.reshape(down * across, side * side, 3)
    axes = blocks.mean(axis=1)
    axes = axes / np.linalg.norm(axes, axis=-1, keepdims=True)
    least = np.einsum('mij,mj->mi', blocks, axes).min(axis=-1)
    return Tiles(axes, np.arccos(np.clip(least, -1.0, 1.0)) + 1e-3, across)
