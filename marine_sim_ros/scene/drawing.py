# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drawings of a scene: colours, outlines of planes, coarse terrain, charts, tubes of cables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.numerics import nice_step
from marine_sim_ros.scene.bodies import VisiblePart
from marine_sim_ros.scene.obstacles import FREEBOARD, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap

__all__ = [
    'ChartGround',
    'cable_tube',
    'chart_ground',
    'chart_window',
    'coarsen_terrain',
    'contour_lines',
    'material_colour',
    'plane_lines',
    'plane_outline',
]


# Colours of materials.

_COLOURS = {
    'sand': (0.85, 0.75, 0.50),
    'rock': (0.45, 0.43, 0.42),
    'gravel': (0.55, 0.52, 0.47),
    'coarse_sand': (0.80, 0.69, 0.46),
    'fine_sand': (0.86, 0.79, 0.60),
    'silt': (0.52, 0.47, 0.37),
    'clay': (0.49, 0.45, 0.42),
    'concrete': (0.70, 0.72, 0.74),
    'steel': (0.35, 0.40, 0.48),
    'rust': (0.44, 0.30, 0.21),
    'rubber': (0.90, 0.55, 0.10),
    'black': (0.02, 0.02, 0.02),
    'white': (0.90, 0.90, 0.90),
}
_OTHER = (0.60, 0.60, 0.60)


def material_colour(material: str, light: float = 1.0) -> tuple[float, float, float]:
    """Return red, green and blue of a material at a light level, each 0 to 1."""
    r, g, b = (min(light * c, 1.0) for c in _COLOURS.get(material, _OTHER))
    return r, g, b


# Drawable scene: bounded planes and a coarser terrain.


def _plane_axes(plane: Plane) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the plane's point nearest to the origin of map and two axes along it."""
    n = plane.normal
    first = np.array([0.0, 1.0, 0.0]) if abs(n[0]) > 0.9 else np.array([1.0, 0.0, 0.0])
    first = first - (first @ n) * n
    first = first / np.linalg.norm(first)
    return n * (n @ plane.point), first, np.cross(n, first)


def _drawn_limits(scene: Scene, plane: Plane) -> list[tuple[np.ndarray, float]]:
    """Return half-spaces a·p ≥ b that the drawn part of a plane lies in: the water."""
    crossing_planes = [
        p for p in scene.planes if p is not plane and abs(p.normal @ plane.normal) < 0.999
    ]
    up = (np.array([0.0, 0.0, -1.0]), -FREEBOARD)
    return [*((p.normal, float(p.normal @ p.point)) for p in crossing_planes), up]


def plane_outline(scene: Scene, plane: Plane, reach: float = 32.0) -> np.ndarray:
    """Return the corners (v, 3) in map of a scene's plane, clipped by the other planes.

    It is a square of ±reach m about the point nearest to the origin, cut by the others'
    half-spaces (Sutherland & Hodgman 1974); counter-clockwise seen from the water; empty when
    nothing is left.
    """
    middle, a, b = _plane_axes(plane)
    corners = [middle + reach * (s * a + t * b) for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    for normal, offset in _drawn_limits(scene, plane):
        height = [float(normal @ c) - offset for c in corners]
        corners_inside = []
        for i, (corner, h) in enumerate(zip(corners, height, strict=True)):
            before, h0 = corners[i - 1], height[i - 1]
            if (h < 0) != (h0 < 0):
                corners_inside.append(before + h0 / (h0 - h) * (corner - before))
            if h >= 0:
                corners_inside.append(corner)
        corners = corners_inside
    return np.array(corners).reshape(-1, 3)


def plane_lines(
    scene: Scene, plane: Plane, reach: float = 32.0, spacing: float = 1.0
) -> np.ndarray:
    """Return a grid on a plane's drawn part: starts and ends (lines, 2, 3) in map."""
    middle, a, b = _plane_axes(plane)
    steps = np.arange(-np.floor(reach / spacing), reach / spacing + 1e-9)[:, None] * spacing
    lines = []
    for along, across in ((a, b), (b, a)):
        base = middle + steps * across
        low, high = np.full(len(base), -reach), np.full(len(base), reach)
        for normal, offset in _drawn_limits(scene, plane):
            height, rise = base @ normal - offset, float(along @ normal)
            cut = -height / rise if abs(rise) > 1e-9 else np.where(height < 0, np.inf, -np.inf)
            low, high = (
                (low, np.minimum(high, cut)) if rise < -1e-9 else (np.maximum(low, cut), high)
            )
        ends = np.stack([low, high], axis=1)[high > low]
        lines.append(base[high > low][:, None, :] + ends[:, :, None] * along)
    return np.concatenate(lines)


def coarsen_terrain(terrain: HeightMap, cells: int = 96) -> HeightMap:
    """Return a terrain with every n-th point, so that it has about ``cells`` cells a side."""
    rows, columns = terrain.heights.shape
    step = max(1, (max(rows, columns) - 1) // cells)
    some = np.array(terrain.heights[::step, ::step], float)
    return HeightMap(terrain.origin, terrain.spacing * step, some, terrain.material)


# Charts: heights of the ground, and contours.

_LEAST_RELIEF = 1e-3
"""m; less is level."""


@dataclass(frozen=True, eq=False)
class ChartGround:
    """Ground of a chart.

    Attributes:
        x: (nx,) m.
        y: (ny,) m.
        heights: (ny, nx) z of the ground, m.
        interval: between the depths of the contours, m; 0 for level ground.
        depths: (k,) of the contours below z = 0, m.
    """

    x: np.ndarray
    y: np.ndarray
    heights: np.ndarray
    interval: float
    depths: np.ndarray

    @property
    def text(self) -> str:
        """One line about the depths."""
        if self.interval:
            return f'depth contours every {self.interval:g} m, below z = 0'
        height = float(np.mean(self.heights))
        return f'level ground, {-height:.4g} m deep' if height < 0 else 'land'


def _grounds(scene: Scene | None) -> list[Plane]:
    """Return the planes that are ground."""
    return [] if scene is None else [p for p in scene.planes if p.normal[2] > 0.5]


def chart_window(scene: Scene | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the lower and upper corner (2,) of what a chart shows, m; None without ground."""
    if scene is not None and scene.terrain is not None:
        low, high = scene.terrain.extent
        return low, high
    corners = [plane_outline(scene, p)[:, :2] for p in _grounds(scene) if scene is not None]
    if not corners or not len(corners[0]):
        return None
    every = np.concatenate(corners)
    return every.min(axis=0), every.max(axis=0)


def chart_ground(scene: Scene, low: np.ndarray, high: np.ndarray, count: int) -> ChartGround:
    """Return the ground between two corners (2,) of map, with ``count`` points a side.

    Obstacles are left out.
    """
    x, y = (np.linspace(low[i], high[i], count) for i in range(2))
    east, north = np.meshgrid(x, y)
    heights = np.full(east.shape, -np.inf)
    for plane in _grounds(scene):
        along = plane.normal[0] * (east - plane.point[0]) + plane.normal[1] * (
            north - plane.point[1]
        )
        heights = np.maximum(heights, plane.point[2] - along / plane.normal[2])
    if scene.terrain is not None:
        heights = np.maximum(heights, np.asarray(scene.terrain.height(east, north)))
    depth = -heights[heights < 0]
    span = float(np.ptp(depth)) if len(depth) else 0.0
    if span < _LEAST_RELIEF:
        return ChartGround(x, y, heights, 0.0, np.zeros(0))
    interval = nice_step(span, 8)
    first, last = np.ceil(depth.min() / interval), np.floor(depth.max() / interval + 1e-9)
    depths = interval * np.arange(max(first, 1), last + 1)
    return ChartGround(x, y, heights, interval, depths)


def contour_lines(ground: ChartGround, z: float) -> list[np.ndarray]:
    """Return the lines (n, 2) of map on which the ground is at a z, m."""
    make_contours = require('contourpy', 'charts').contour_generator
    return list(make_contours(ground.x, ground.y, ground.heights).lines(z))


# Tube of a cable, for pictures.

_YELLOW = np.array([0.95, 0.8, 0.1])
"""Colour of the cable, sRGB; an assumption."""


def cable_tube(places: np.ndarray, diameter: float) -> tuple[VisiblePart, ...]:
    """Return cylinders between consecutive points (m, 3), m, of a diameter, m."""
    result = []
    for a, b in pairwise(places):
        length = float(np.linalg.norm(b - a))
        if not 0 < length < np.inf:
            continue
        along = (b - a) / length
        # Any two axes across it: the first is that of the axis of map that is least along it.
        across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        across /= np.linalg.norm(across)
        axes = np.column_stack([across, np.cross(along, across), along])
        size = np.array([diameter, diameter, length])
        result.append(
            VisiblePart('cylinder', size, (a + b) / 2, axes, _YELLOW, np.zeros((0, 3, 3)))
        )
    return tuple(result)
