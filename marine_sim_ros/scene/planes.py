# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Planes: a flat seabed, the floor and the walls of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError

__all__ = ['FREEBOARD', 'Plane', 'plane_surfaces']

FREEBOARD = 0.3
"""m that the walls of a pool go above the water."""


@dataclass(frozen=True, eq=False)
class Plane:
    """An endless flat surface, or a wall up to a rim.

    Attributes:
        name: name of the surface.
        point: (3,) any point of it, map, m.
        normal: (3,) unit vector into the water; any length but zero may be given.
        material: name.
        rim: m, z up to which rays meet it: what is solid behind it has a level top there. What
            touches it meets an endless surface.
    """

    name: str
    point: np.ndarray
    normal: np.ndarray
    material: str = 'default'
    rim: float = np.inf

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no plane."""
        point, normal = np.asarray(self.point, float), np.asarray(self.normal, float)
        if point.shape != (3,) or not np.all(np.isfinite(point)):
            raise ParameterError(f'{self.name}: point is {self.point}; expected three numbers, m')
        if normal.shape != (3,) or not 1e-6 < float(np.linalg.norm(normal)) < 1e12:
            raise ParameterError(
                f'{self.name}: normal is {self.normal}; expected three numbers, not all zero'
            )
        object.__setattr__(self, 'point', point)
        object.__setattr__(self, 'normal', normal / np.linalg.norm(normal))

    def height(self, x: float, y: float) -> float:
        """Return its z in m above a place; −inf for a wall or a ceiling."""
        if self.normal[2] < 1e-3:
            return -np.inf
        along = self.normal[:2] @ (np.array([x, y]) - self.point[:2])
        return float(self.point[2] - along / self.normal[2])


def plane_surfaces(planes: Sequence[Plane], points: Array) -> tuple[Array, Array]:
    """Return d = (p − b)·n (..., k, m) in m and n (..., k, m, 3) of points (..., m, 3)."""
    xp = namespace(points)
    normals = np.stack([p.normal for p in planes])
    offsets = np.array([p.normal @ p.point for p in planes])
    along = constant(xp, normals) @ xp.matrix_transpose(points)
    distance = along - constant(xp, offsets[:, None])
    normal = xp.zeros_like(points[..., None, :, :]) + constant(xp, normals[:, None, :])
    return distance, normal
