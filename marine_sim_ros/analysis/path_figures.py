# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""PNG figures of paths: plan and side view with trail, and the fitted helix."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figure_sheet import (
    BLACK,
    GREY,
    VERMILION,
    box_corners,
    figure_sheet,
    thinning_slice,
)
from marine_sim_ros.analysis.paths import FittedCircle, SteadyTurn
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.numerics import nice_step
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix

__all__ = ['helix_figure', 'plan_figure', 'trail_samples']


# Plan and side view of a run on a grid, with its trail.

GRID = 2.0
TRAIL = 20.0
SAMPLE = 0.1


def trail_samples(
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
    circle: FittedCircle | None = None,
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
    with figure_sheet(path, title, float(np.clip(height, 4.5, 11.0))) as figure:
        if stacked:
            panels = figure.subplots(2, 1, gridspec_kw={'height_ratios': ratios}, sharex=True)
        else:
            panels = figure.subplots(1, 2, gridspec_kw={'width_ratios': ratios})
        age, ago = trail_samples(time[:end], position[:end])
        few = thinning_slice(len(time))
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
    position: np.ndarray, goals: np.ndarray, circle: FittedCircle | None
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


def _circle(axes: Any, circle: FittedCircle) -> None:
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


# Path in three dimensions, coloured by time, with the fitted helix.


def helix_figure(
    path: Path,
    time: np.ndarray,
    position: np.ndarray,
    turn: SteadyTurn | None = None,
    *,
    title: str,
) -> None:
    """Draw a path (n, 3) in m, its shadow, and the circle and pitch of a steady turn.

    Raises:
        RecordingError: the file cannot be written.
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    with figure_sheet(path, title, 8.4) as figure:
        axes = figure.add_subplot(projection='3d', computed_zorder=False)
        few = _sample_indices(time, 1500)
        p, t = position[few], time[few]
        low, high = _limits(position, turn)
        floor = low[2]
        axes.plot(p[:, 0], p[:, 1], np.full(len(p), floor), color=GREY, linewidth=1, alpha=0.6)
        pieces = np.stack([p[:-1], p[1:]], axis=1)
        lines = Line3DCollection(pieces, cmap='viridis', linewidths=2.8)
        lines.set_array(t[:-1])
        axes.add_collection3d(lines)
        axes.scatter(*position[0], color='white', edgecolors=BLACK, s=60, depthshade=False)
        axes.text(*position[0], '  start', fontsize=12)
        if turn is not None:
            _draw_helix(axes, turn, position, floor)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        axes.set_box_aspect(tuple(high - low), zoom=1.12)
        axes.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
        for name in ('xaxis', 'yaxis', 'zaxis'):
            axis = getattr(axes, name)
            axis.pane.set_facecolor('#f6f8fa')
            axis.labelpad = 10
        axes.view_init(24, -58)
        bar = figure.colorbar(lines, ax=axes, shrink=0.6, pad=0.1)
        bar.set_label('time [s]')


def _sample_indices(time: np.ndarray, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, len(time) - 1, min(most, len(time))).astype(int))


def _limits(position: np.ndarray, turn: SteadyTurn | None) -> tuple[np.ndarray, np.ndarray]:
    """Return limits that hold the path; no side is shorter than a third of the longest."""
    low, high = position.min(axis=0), position.max(axis=0)
    if turn is not None:
        center, radius = np.array(turn.circle.center), turn.circle.radius
        low = np.array([*np.minimum(low[:2], center - radius), low[2]])
        high = np.array([*np.maximum(high[:2], center + radius), high[2]])
    half = np.maximum((high - low) * 0.54, np.max(high - low) / 6)
    half = np.maximum(half, 0.05)
    middle = (low + high) / 2
    return middle - half, middle + half


def _draw_helix(axes: Any, turn: SteadyTurn, position: np.ndarray, floor: float) -> None:
    from matplotlib.lines import Line2D

    (x, y), radius = turn.circle.center, turn.circle.radius
    a = np.linspace(0, 2 * math.pi, 120)
    dashes = {'color': VERMILION, 'linestyle': (0, (4, 3)), 'linewidth': 1.5}
    axes.plot(x + radius * np.cos(a), y + radius * np.sin(a), np.full(120, floor), **dashes)
    bottom, top = float(position[:, 2].min()), float(position[:, 2].max())
    axes.plot([x, x], [y, y], [floor, top], **dashes)
    axes.plot([x, x + radius], [y, y], [floor, floor], color=VERMILION, linewidth=1.5)
    labels = [f'fitted circle, R = {radius:.2f} m']
    pitch = abs(turn.pitch)
    if 0 < pitch <= top - bottom:
        middle = (top + bottom) / 2
        ends = [middle - pitch / 2, middle + pitch / 2]
        axes.plot([x, x], [y, y], ends, color=VERMILION, linewidth=3, marker='_', markersize=14)
        way = 'up' if turn.pitch > 0 else 'down'
        labels.append(f'{pitch:.2f} m {way} per turn')
    styles: tuple[dict[str, Any], ...] = ({'linestyle': (0, (4, 3))}, {'linewidth': 3})
    axes.figure.legend(
        handles=[
            Line2D([], [], label=label, color=VERMILION, **style)
            for label, style in zip(labels, styles, strict=False)
        ],
        loc='upper right',
        ncols=2,
        bbox_to_anchor=(0.995, 1.0),
    )
