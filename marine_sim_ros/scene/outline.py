# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What of a scene can be drawn: where planes end at each other, and a coarser terrain."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.scene.planes import FREEBOARD, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['coarse', 'plane_lines', 'plane_outline']


def _axes(plane: Plane) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the plane's point nearest to the origin of map and two axes along it."""
    n = plane.normal
    first = np.array([0.0, 1.0, 0.0]) if abs(n[0]) > 0.9 else np.array([1.0, 0.0, 0.0])
    first = first - (first @ n) * n
    first = first / np.linalg.norm(first)
    return n * (n @ plane.point), first, np.cross(n, first)


def _limits(scene: Scene, plane: Plane) -> list[tuple[np.ndarray, float]]:
    """Return half-spaces a·p ≥ b that the drawn part of a plane lies in: the water."""
    others = [p for p in scene.planes if p is not plane and abs(p.normal @ plane.normal) < 0.999]
    up = (np.array([0.0, 0.0, -1.0]), -FREEBOARD)
    return [*((p.normal, float(p.normal @ p.point)) for p in others), up]


def plane_outline(scene: Scene, plane: Plane, reach: float = 32.0) -> np.ndarray:
    """Return the corners (v, 3) in map of a scene's plane as far as the other planes let it go.

    It is a square of ±reach m about the point nearest to the origin, cut by the others'
    half-spaces (Sutherland & Hodgman 1974); counter-clockwise seen from the water; empty when
    nothing is left.
    """
    middle, a, b = _axes(plane)
    corners = [middle + reach * (s * a + t * b) for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    for normal, offset in _limits(scene, plane):
        height = [float(normal @ c) - offset for c in corners]
        kept = []
        for i, (corner, h) in enumerate(zip(corners, height, strict=True)):
            before, h0 = corners[i - 1], height[i - 1]
            if (h < 0) != (h0 < 0):
                kept.append(before + h0 / (h0 - h) * (corner - before))
            if h >= 0:
                kept.append(corner)
        corners = kept
    return np.array(corners).reshape(-1, 3)


def plane_lines(
    scene: Scene, plane: Plane, reach: float = 32.0, spacing: float = 1.0
) -> np.ndarray:
    """Return a grid on a plane's drawn part: starts and ends (lines, 2, 3) in map."""
    middle, a, b = _axes(plane)
    steps = np.arange(-np.floor(reach / spacing), reach / spacing + 1e-9)[:, None] * spacing
    lines = []
    for along, across in ((a, b), (b, a)):
        base = middle + steps * across
        low, high = np.full(len(base), -reach), np.full(len(base), reach)
        for normal, offset in _limits(scene, plane):
            height, rise = base @ normal - offset, float(along @ normal)
            cut = -height / rise if abs(rise) > 1e-9 else np.where(height < 0, np.inf, -np.inf)
            low, high = (
                (low, np.minimum(high, cut)) if rise < -1e-9 else (np.maximum(low, cut), high)
            )
        ends = np.stack([low, high], axis=1)[high > low]
        lines.append(base[high > low][:, None, :] + ends[:, :, None] * along)
    return np.concatenate(lines)


def coarse(terrain: HeightMap, cells: int = 96) -> HeightMap:
    """Return a terrain with every n-th point, so that it has about ``cells`` cells a side."""
    rows, columns = terrain.heights.shape
    step = max(1, (max(rows, columns) - 1) // cells)
    return HeightMap(
        terrain.origin, terrain.spacing * step, terrain.heights[::step, ::step], terrain.material
    )
