# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A path in three dimensions, coloured by time, with the helix that was fitted to it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figures.style import BLACK, GREY, VERMILION, sheet
from marine_sim_ros.analysis.paths import Turn

__all__ = ['helix_figure']


def helix_figure(
    path: Path, time: np.ndarray, position: np.ndarray, turn: Turn | None = None, *, title: str
) -> None:
    """Draw a path (n, 3) in m, its shadow, and the circle and pitch of a steady turn.

    Raises:
        RecordingError: the file cannot be written.
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    with sheet(path, title, 8.4) as figure:
        axes = figure.add_subplot(projection='3d', computed_zorder=False)
        few = _even(time, 1500)
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
            _fitted(axes, turn, position, floor)
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


def _even(time: np.ndarray, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, len(time) - 1, min(most, len(time))).astype(int))


def _limits(position: np.ndarray, turn: Turn | None) -> tuple[np.ndarray, np.ndarray]:
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


def _fitted(axes: Any, turn: Turn, position: np.ndarray, floor: float) -> None:
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
