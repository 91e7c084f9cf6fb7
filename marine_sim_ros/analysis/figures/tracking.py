# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values over time with their set-points, and below them the errors, enlarged."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figures.style import BLACK, GREY, LIGHT, THREE, roomy, sheet, thinned
from marine_sim_ros.control.attitude import wrapped

__all__ = ['pose_figure', 'speed_figure']

_POSE = (('x', 'y', 'z'), 'm', 0.1), (('roll', 'pitch', 'yaw'), '°', 2.0)
_SPEED = (
    (('surge', 'sway', 'heave'), 'm/s', 0.1),
    (('roll rate', 'pitch rate', 'yaw rate'), '°/s', 2.0),
)


def pose_figure(
    path: Path,
    time: np.ndarray,
    position: np.ndarray,
    rpy: np.ndarray,
    targets: np.ndarray,
    *,
    title: str,
    window: float = 5.0,
) -> None:
    """Draw position and attitude, their set-points, and the errors of the last seconds.

    Args:
        path: path of the PNG file.
        time: (n,) s.
        position: (n, 3) m, map.
        rpy: (n, 3) rad.
        targets: (n, 12) as for ``response``; NaN: free.
        title: title of the picture.
        window: length of the enlarged error window, s.

    Raises:
        RecordingError: the file cannot be written.
    """
    turned = np.unwrap(rpy, axis=0)
    goals = targets[:, :6].copy()
    # A set-point is drawn in the turn that the vehicle is in.
    goals[:, 3:] = turned + wrapped(goals[:, 3:] - turned)
    values = np.concatenate([position, np.degrees(turned)], axis=1)
    goals[:, 3:] = np.degrees(goals[:, 3:])
    _draw(path, time, values, goals, _POSE, title, window)


def speed_figure(
    path: Path,
    time: np.ndarray,
    velocity: np.ndarray,
    targets: np.ndarray,
    *,
    title: str,
    window: float = 5.0,
) -> None:
    """Draw speeds and turn rates (n, 6) in m/s and rad/s as :func:`pose_figure` draws poses.

    Raises:
        RecordingError: the file cannot be written.
    """
    scale = np.repeat([1.0, 180 / math.pi], 3)
    _draw(path, time, velocity * scale, targets[:, 6:] * scale, _SPEED, title, window)


def _draw(
    path: Path,
    time: np.ndarray,
    values: np.ndarray,
    goals: np.ndarray,
    groups: tuple[tuple[tuple[str, ...], str, float], ...],
    title: str,
    window: float,
) -> None:
    held = ~np.isnan(goals[-1])
    with sheet(path, title, 10.4 if held.any() else 7.6) as figure:
        rows = 4 if held.any() else 3
        grid = figure.subplots(
            rows, 2, squeeze=False, gridspec_kw={'height_ratios': [1, 1, 1, 1.25][:rows]}
        )
        few = thinned(len(time))
        for column, (names, unit, least) in enumerate(groups):
            for row, name in enumerate(names):
                i = 3 * column + row
                axes = grid[row, column]
                _series(axes, time[few], values[few, i], goals[few, i], THREE[row], least)
                axes.set_ylabel(f'{name} [{unit}]')
                if held.any():
                    axes.axvspan(time[-1] - window, time[-1], color=LIGHT, zorder=0)
                if row < 2:
                    axes.tick_params(labelbottom=False)
            grid[2, column].set_xlabel('time [s]')
            if held.any():
                _errors(grid[3, column], time, values - goals, column, groups[column], window)
        _legend(figure, grid[0, 0], held=bool(held.any()))


def _series(
    axes: Any, time: np.ndarray, value: np.ndarray, goal: np.ndarray, colour: str, least: float
) -> None:
    axes.plot(time, value, color=colour)
    if np.isnan(goal).all():
        axes.text(0.99, 0.92, 'free', transform=axes.transAxes, ha='right', va='top', color=GREY)
    else:
        axes.plot(time, goal, color=BLACK, linestyle=(0, (4, 3)), linewidth=1.2)
    shown = np.concatenate([value, goal[~np.isnan(goal)]])
    axes.set_xlim(time[0], time[-1])
    axes.set_ylim(*roomy(float(shown.min()), float(shown.max()), least))


def _errors(
    axes: Any,
    time: np.ndarray,
    error: np.ndarray,
    column: int,
    group: tuple[tuple[str, ...], str, float],
    window: float,
) -> None:
    names, unit, least = group
    late = time >= time[-1] - window - 1e-9
    part = error[late, 3 * column : 3 * column + 3]
    axes.axhline(0, color=BLACK, linestyle=(0, (4, 3)), linewidth=1.2)
    extremes = [0.0]
    for i, name in enumerate(names):
        one = part[:, i]
        if np.isnan(one).any():
            continue
        mean = np.abs(one).mean()
        axes.plot(time[late], one, color=THREE[i], label=f'{name}: {_short(mean)} {unit}')
        extremes += [float(one.min()), float(one.max())]
    axes.set_title(f'error in the last {window:g} s (its mean size below)')
    axes.set(xlabel='time [s]', ylabel=f'error [{unit}]')
    axes.set_facecolor(LIGHT)
    axes.grid(color='white')
    axes.set_xlim(time[late][0], time[-1])
    axes.set_ylim(*roomy(min(extremes), max(extremes), least / 20))
    if len(extremes) > 1:
        # Below the lines, which may be anywhere.
        axes.legend(
            loc='upper center',
            bbox_to_anchor=(0.5, -0.24),
            ncols=3,
            handlelength=1.0,
            columnspacing=1.0,
            handletextpad=0.4,
        )
    else:
        axes.text(0.5, 0.6, 'all free', transform=axes.transAxes, ha='center', color=GREY)


def _short(value: float) -> str:
    return f'{value:.2g}' if value >= 1e-4 or value == 0 else '<0.0001'


def _legend(figure: Any, axes: Any, *, held: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Line2D([], [], color=GREY, label='run')]
    if held:
        dashes: dict[str, Any] = {'color': BLACK, 'linestyle': (0, (4, 3)), 'linewidth': 1.2}
        handles.append(Line2D([], [], label='set-point', **dashes))
        handles.append(Patch(color=LIGHT, label='enlarged below'))
    figure.legend(handles=handles, loc='upper right', ncols=3, bbox_to_anchor=(0.995, 1.0))
