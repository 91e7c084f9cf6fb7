# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The run from above and from the side, on a grid of known size, with the trail of its end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figures.style import (
    BLACK,
    GREY,
    VERMILION,
    box_corners,
    nice_step,
    sheet,
    thinned,
)
from marine_sim_ros.analysis.paths import Circle
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix

__all__ = ['plan_figure', 'trail']

GRID = 2.0
TRAIL = 20.0
SAMPLE = 0.1


def trail(
    time: np.ndarray, position: np.ndarray, *, length: float = TRAIL, period: float = SAMPLE
) -> tuple[np.ndarray, np.ndarray]:
    """Return age (k,) in s and place (k, 3) of the last seconds, sampled each period (s)."""
    count = int(min(length, time[-1] - time[0]) / period + 1e-9)
    age = np.arange(count, -1, -1) * period
    at = time[-1] - age
    return age, np.stack([np.interp(at, time, position[:, i]) for i in range(3)], axis=1)


def plan_figure(
    path: Path,
    time: np.ndarray,
    position: np.ndarray,
    rpy: np.ndarray,
    targets: np.ndarray | None = None,
    *,
    title: str,
    circle: Circle | None = None,
    size: tuple[float, float, float] | None = None,
    until: float | None = None,
) -> None:
    """Draw the path from above and from the south, on a 2 m grid.

    The grid is finer when the whole run stays within a cell, and coarser beyond 24 m.

    Args:
        path: path of the PNG file.
        time: (n,) s.
        position: (n, 3) m, map.
        rpy: (n, 3) rad.
        targets: (n, 12) as for ``response``; NaN: free. None: all free.
        title: title of the picture.
        circle: fitted one, drawn with its radius.
        size: length, width and height of the vehicle, m; drawn where the trail ends.
        until: end of the 20 s trail, s; default: end of the run.

    Raises:
        RecordingError: the file cannot be written.
    """
    goals = np.full((len(time), 12), np.nan) if targets is None else targets
    spans, grid = _frame(position, goals, circle)
    wide, deep, tall = (high - low for low, high in spans)
    # One scale for both panels: below one another when the run is long, else side by side.
    stacked = wide > 2 * deep
    ratios = [deep, tall] if stacked else [1.0, 1.0]
    height = 1.9 + 9.2 * (deep + tall) / wide if stacked else 1.6 + 5.0 * max(deep, tall) / wide
    end = len(time) if until is None else int(np.searchsorted(time, until + 1e-9))
    end = max(2, end)
    with sheet(path, title, float(np.clip(height, 4.5, 11.0))) as figure:
        if stacked:
            panels = figure.subplots(2, 1, gridspec_kw={'height_ratios': ratios}, sharex=True)
        else:
            panels = figure.subplots(1, 2, gridspec_kw={'width_ratios': ratios})
        age, ago = trail(time[:end], position[:end])
        few = thinned(len(time))
        for axes, j, name in zip(panels, (1, 2), 'yz', strict=True):
            axes.plot(position[few, 0], position[few, j], color=GREY, linewidth=1, alpha=0.7)
            dots = axes.scatter(
                ago[:, 0],
                ago[:, j],
                c=age,
                cmap='inferno',
                s=16,
                zorder=3,
                vmin=0,
                vmax=1.15 * TRAIL,
                linewidths=0,
            )
            axes.plot(
                *position[0, [0, j]], 'o', color='white', markeredgecolor=BLACK, markersize=9
            )
            _set_points(axes, goals, j)
            if size is not None and max(size) < min(wide, deep):
                _vehicle(axes, position[end - 1], rpy[end - 1], size, j)
            _ticks(axes, spans[0], spans[j], grid)
            axes.set_ylabel(f'{name} [m]')
            if not stacked or j == 2:
                axes.set_xlabel('x [m]')
        if circle is not None:
            _circle(panels[0], circle)
        panels[0].set_title(f'from above; grid {grid:g} m')
        panels[1].set_title('from the south')
        bar = figure.colorbar(dots, ax=list(panels), shrink=0.8, pad=0.02, aspect=30)
        bar.set_label('age of the trail [s]')
        bar.ax.set_ylim(0, TRAIL)
        _legend(figure, goals)


def _frame(
    position: np.ndarray, goals: np.ndarray, circle: Circle | None
) -> tuple[list[tuple[float, float]], float]:
    """Return limits of x, y, z that hold everything, and the size of the grid."""
    lows, highs = position.min(axis=0), position.max(axis=0)
    for j in range(3):
        held = goals[~np.isnan(goals[:, j]), j]
        if len(held):
            lows[j], highs[j] = min(lows[j], held.min()), max(highs[j], held.max())
    if circle is not None:
        for j in range(2):
            lows[j] = min(lows[j], circle.center[j] - circle.radius)
            highs[j] = max(highs[j], circle.center[j] + circle.radius)
    extent = float(np.max(highs - lows))
    grid = GRID
    if extent < GRID:
        grid = nice_step(max(extent, 0.01), 4)
    elif extent > 12 * GRID:
        grid = nice_step(extent, 8)
    sides = highs - lows + 1.5 * grid
    # A run that is no longer than it is wide gets the same width in both directions.
    if sides[0] <= 2 * sides[1]:
        sides[:2] = sides[:2].max()
    if sides[2] > sides[0]:
        sides[:2] = np.maximum(sides[:2], 0.8 * sides[2])
    middles = (highs + lows) / 2
    return list(zip(middles - sides / 2, middles + sides / 2, strict=True)), grid


def _ticks(axes: Any, across: tuple[float, float], up: tuple[float, float], grid: float) -> None:
    from matplotlib.ticker import MultipleLocator

    axes.set(xlim=across, ylim=up, aspect='equal')
    axes.xaxis.set_major_locator(MultipleLocator(grid))
    axes.yaxis.set_major_locator(MultipleLocator(grid))


def _set_points(axes: Any, goals: np.ndarray, j: int) -> None:
    held = goals[~np.isnan(goals[:, [0, j]]).any(axis=1)]
    places = np.unique(np.round(held[:, [0, j]], 6), axis=0)
    if len(places) > 20:  # a moving set-point is a line
        axes.plot(held[:, 0], held[:, j], color=BLACK, linestyle=(0, (4, 3)), linewidth=1.2)
    else:
        axes.plot(places[:, 0], places[:, 1], '+', color=BLACK, markersize=16, mew=2, zorder=5)


def _vehicle(
    axes: Any, position: np.ndarray, rpy: np.ndarray, size: tuple[float, float, float], j: int
) -> None:
    from matplotlib.patches import Polygon

    ConvexHull = require('scipy.spatial', 'figures').ConvexHull

    rotation = rotation_matrix(quaternion_from_rpy(*(float(a) for a in rpy)))
    corners = (position + box_corners(size) @ rotation.T)[:, [0, j]]
    outline = corners[ConvexHull(corners).vertices]
    axes.add_patch(Polygon(outline, fill=False, edgecolor=BLACK, linewidth=1.3, zorder=4))
    if j == 1:
        bow = position + rotation @ np.array([size[0] / 2, 0, 0])
        line = np.stack([position, bow])
        axes.plot(line[:, 0], line[:, j], color=BLACK, linewidth=1.3, zorder=4)


def _circle(axes: Any, circle: Circle) -> None:
    around = np.linspace(0, 2 * math.pi, 200)
    x, y = circle.center
    axes.plot(
        x + circle.radius * np.cos(around),
        y + circle.radius * np.sin(around),
        color=VERMILION,
        linestyle=(0, (4, 3)),
        linewidth=1.4,
    )
    axes.plot([x, x + circle.radius], [y, y], color=VERMILION, linewidth=1)
    axes.plot(x, y, '.', color=VERMILION)
    axes.annotate(
        f'R = {circle.radius:.2f} m',
        (x + circle.radius / 2, y),
        (0, 5),
        textcoords='offset points',
        ha='center',
        color=VERMILION,
    )


def _legend(figure: Any, goals: np.ndarray) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=GREY, linewidth=1, label='whole run'),
        Line2D(
            [],
            [],
            marker='o',
            linestyle='',
            color='white',
            markeredgecolor=BLACK,
            markersize=9,
            label='start',
        ),
    ]
    known = ~np.isnan(goals[:, :3])
    if np.any(known[:, 0] & (known[:, 1] | known[:, 2])):
        handles.append(
            Line2D(
                [],
                [],
                marker='+',
                linestyle='',
                color=BLACK,
                markersize=13,
                mew=2,
                label='set-point',
            )
        )
    figure.legend(handles=handles, loc='upper right', ncols=3, bbox_to_anchor=(0.995, 1.0))
