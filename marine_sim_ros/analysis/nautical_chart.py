# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts: depth contours, coast, graticule, scale and north, with tracks and waypoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figure_sheet import BLACK, GREY, THREE, figure_sheet
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import Origin, graticule
from marine_sim_ros.core.numerics import nice_step
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.drawing import ChartGround, chart_ground, chart_window

__all__ = ['write_nautical_chart']

_POINTS = 600
"""Heights a side that a chart draws."""
_LAND, _HIGH = '#efe3c0', '#cdb98a'
_SHALLOW, _DEEP = '#d8ecf5', '#3f7fa8'


def write_nautical_chart(
    path: Path,
    environment: Environment,
    title: str,
    tracks: Mapping[str, np.ndarray] | None = None,
    waypoints: Sequence[np.ndarray] = (),
) -> None:
    """Write the chart of an environment's ground to a PNG file.

    Args:
        tracks: (n, 2 or 3) positions in map by the vehicle's name, m.
        waypoints: (2 or 3,) places in map, m.

    Raises:
        ParameterError: the environment has no ground.
        RecordingError: the file cannot be written.
    """
    with figure_sheet(path, title, 10.5) as figure:
        draw_nautical_chart(figure, environment, tracks or {}, waypoints)


def draw_nautical_chart(
    figure: Any,
    environment: Environment,
    tracks: Mapping[str, np.ndarray],
    waypoints: Sequence[np.ndarray],
) -> None:
    """Draw the chart of an environment's ground on a figure: see :func:`write_nautical_chart`."""
    window = chart_window(environment.scene)
    if window is None:
        raise ParameterError(
            f'environment {environment.name!r}: no ground; expected some to chart'
        )
    low, high = window
    if tracks or waypoints:
        low, high = _view(low, high, [*tracks.values(), *(np.array([w]) for w in waypoints)])
    axes = figure.subplots()
    assert environment.scene is not None
    ground = chart_ground(environment.scene, low, high, _POINTS)
    drawn = _draw_heights(axes, ground)
    if drawn is not None:
        figure.colorbar(drawn, ax=axes, label='depth, m', shrink=0.7).ax.invert_yaxis()
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel='x, m', ylabel='y, m')
    axes.set_aspect('equal')
    axes.grid(visible=False)
    if environment.has_origin:
        _draw_graticule(axes, environment.origin, low, high)
    _draw_scale(axes, low, high)
    _draw_north(axes, environment.origin)
    for (name, track), colour in zip(tracks.items(), _colours(len(tracks)), strict=True):
        axes.plot(track[:, 0], track[:, 1], color=colour, lw=1.8, label=name, zorder=5)
        axes.plot(*track[-1:, :2].T, 'o', color=colour, ms=7, mec='white', zorder=6)
    for number, waypoint in enumerate(waypoints, 1):
        is_left = waypoint[0] < float(np.mean([w[0] for w in waypoints])) - 1e-6
        _draw_waypoint(axes, environment, waypoint, number, is_left=is_left)
    if tracks:
        axes.legend(loc='lower right', frameon=True, framealpha=0.9)


def _colours(count: int) -> list[str]:
    return [THREE[(n + 1) % len(THREE)] for n in range(count)]


def _view(
    low: np.ndarray, high: np.ndarray, places: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return corners of a square around places, not smaller than a tenth of the terrain."""
    every = np.concatenate([np.zeros((0, 2)), *(place[:, :2] for place in places)])
    every = every[np.all(np.isfinite(every), axis=1)]
    if not len(every):
        return low, high
    middle = (every.min(axis=0) + every.max(axis=0)) / 2
    half = max(0.65 * float(np.ptp(every, axis=0).max()), 0.05 * float(np.max(high - low)), 10.0)
    return middle - half, middle + half


def _draw_heights(axes: Any, ground: ChartGround) -> Any:
    """Draw depths, contours and land; return the image of the depths, or None for all land."""
    from matplotlib.colors import LinearSegmentedColormap

    x, y, heights = ground.x, ground.y, ground.heights
    depth, land = -heights, heights >= 0
    extent = (x[0], x[-1], y[0], y[-1])
    drawn = None
    if not land.all():
        water = np.ma.masked_where(land, depth)
        colours = LinearSegmentedColormap.from_list('water', (_SHALLOW, _DEEP))
        drawn = axes.imshow(water, cmap=colours, origin='lower', extent=extent)
        if len(ground.depths):
            lines = axes.contour(x, y, depth, ground.depths, colors=GREY, linewidths=0.8)
            axes.clabel(lines, fmt='%g', fontsize=9)
    if land.any():
        colours = LinearSegmentedColormap.from_list('land', (_LAND, _HIGH))
        axes.imshow(
            np.ma.masked_where(~land, heights), cmap=colours, origin='lower', extent=extent
        )
        if not land.all():
            axes.contour(x, y, heights, [0.0], colors=BLACK, linewidths=1.6)
    axes.set_title(ground.text, fontsize=10, color=GREY)
    return drawn


def _draw_graticule(axes: Any, origin: Origin, low: np.ndarray, high: np.ndarray) -> None:
    """Draw lines of latitude and longitude, with labels at the southern and western edges."""
    for line in graticule(origin, low, high):
        axes.plot(*line.points.T, color=BLACK, lw=0.5, alpha=0.35, zorder=3)
        _label_line(axes, line.points, line.label, low, high, line.is_parallel)


def _label_line(
    axes: Any, line: np.ndarray, text: str, low: np.ndarray, high: np.ndarray, level: bool
) -> None:
    inside = np.flatnonzero(np.all((line >= low) & (line <= high), axis=1))
    if not len(inside):
        return
    x, y = line[inside[-1]]
    axes.annotate(
        text, (x, y), xytext=(-4, 3) if level else (3, -4), textcoords='offset points',
        fontsize=8, color=GREY, ha='right' if level else 'left', va='bottom' if level else 'top',
        rotation=0 if level else 90, zorder=4,
        bbox={'facecolor': 'white', 'alpha': 0.65, 'edgecolor': 'none', 'pad': 1.0},
    )  # fmt: skip


def _draw_scale(axes: Any, low: np.ndarray, high: np.ndarray) -> None:
    """Draw a bar of a round length, in two halves."""
    size = high - low
    length = nice_step(float(size[0]), 5)
    x, y = low + 0.04 * size
    tall = 0.008 * size[1]
    for start, colour in ((0.0, BLACK), (0.5, 'white')):
        axes.add_patch(_rectangle((x + start * length, y), length / 2, tall, colour))
    text = f'{length / 1000:g} km' if length >= 1000 else f'{length:g} m'
    axes.annotate(text, (x + length / 2, y + tall), xytext=(0, 3), textcoords='offset points',
                  ha='center', fontsize=10, zorder=7)  # fmt: skip


def _rectangle(corner: tuple[float, float], width: float, height: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, facecolor=colour, edgecolor=BLACK, lw=0.8, zorder=7)


def _draw_north(axes: Any, origin: Origin) -> None:
    """Draw an arrow towards true north in the upper left corner."""
    north = origin.in_map(np.array([0.0, 1.0, 0.0]))[:2]
    middle = np.array([0.06, 0.91])
    axes.annotate(
        '', middle + 0.035 * north, middle - 0.035 * north, xycoords='axes fraction',
        textcoords='axes fraction', arrowprops={'arrowstyle': '-|>', 'lw': 2.2, 'color': BLACK},
        zorder=7,
    )  # fmt: skip
    axes.annotate('N', middle + 0.055 * north, xycoords='axes fraction', ha='center', va='center',
                  fontsize=12, weight='bold', zorder=7)  # fmt: skip


def _draw_waypoint(
    axes: Any, environment: Environment, waypoint: np.ndarray, number: int, *, is_left: bool
) -> None:
    """Draw a place with its number, and its latitude and longitude where map has an origin."""
    place, text = np.array([*waypoint[:2], 0.0]), f'{number}'
    if environment.has_origin:
        latitude, longitude = (float(v) for v in environment.origin.coordinates(place))
        text += f'  {latitude:.5f}, {longitude:.5f}'
    axes.plot(*place[:2], marker='D', ms=6, color='white', mec=BLACK, zorder=6)
    axes.annotate(text, place[:2], xytext=(7, 5), textcoords='offset points', fontsize=8, zorder=6)
