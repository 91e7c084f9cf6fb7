# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""PNG figures of a run over time, of a fit, and of a vehicle at rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.figure_sheet import (
    BLACK,
    BLUE,
    GREY,
    LIGHT,
    ORANGE,
    SKY,
    THREE,
    box_corners,
    figure_sheet,
    padded_limits,
    thinning_slice,
)
from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, wrap_angle

__all__ = [
    'Balance',
    'balance_figure',
    'efforts_figure',
    'fit_figure',
    'pose_figure',
    'speed_figure',
]


# Values and set-points over time, with enlarged errors below.

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
        window: length of the enlarged error window, s.

    Raises:
        RecordingError: the file cannot be written.
    """
    turned = np.unwrap(rpy, axis=0)
    goals = targets[:, :6].copy()
    # A set-point is drawn in the turn that the vehicle is in.
    goals[:, 3:] = turned + wrap_angle(goals[:, 3:] - turned)
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
    with figure_sheet(path, title, 10.4 if held.any() else 7.6) as figure:
        rows = 4 if held.any() else 3
        grid = figure.subplots(
            rows, 2, squeeze=False, gridspec_kw={'height_ratios': [1, 1, 1, 1.25][:rows]}
        )
        few = thinning_slice(len(time))
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
    axes.set_ylim(*padded_limits(float(shown.min()), float(shown.max()), least))


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
        axes.plot(time[late], one, color=THREE[i], label=f'{name}: {_number_text(mean)} {unit}')
        extremes += [float(one.min()), float(one.max())]
    axes.set_title(f'error in the last {window:g} s (its mean size below)')
    axes.set(xlabel='time [s]', ylabel=f'error [{unit}]')
    axes.set_facecolor(LIGHT)
    axes.grid(color='white')
    axes.set_xlim(time[late][0], time[-1])
    axes.set_ylim(*padded_limits(min(extremes), max(extremes), least / 20))
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


def _number_text(value: float) -> str:
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


# Command and thrust of every thruster, one row each.


def efforts_figure(
    path: Path,
    time: np.ndarray,
    thrust: np.ndarray,
    pwm: np.ndarray,
    *,
    title: str,
    names: Sequence[str] = (),
) -> None:
    """Draw thrust (n, k) in N and PWM (n, k) in µs of k thrusters over time (n,) in s.

    All thrusters share a scale, so that the busy ones show; 1500 µs is neutral. What was not
    recorded is NaN, and stays empty.

    Raises:
        RecordingError: the file cannot be written.
    """
    count = thrust.shape[1]
    labels = list(names) or [f'{i + 1}' for i in range(count)]
    with figure_sheet(path, title, max(3.0, 1.3 + 1.15 * count)) as figure:
        if not count:
            figure.text(0.5, 0.5, 'no thrusters', ha='center', color=GREY)
            return
        few = thinning_slice(len(time))
        grid = figure.subplots(count, 2, squeeze=False, sharex=True, sharey='col')
        for column, (values, colour, neutral) in enumerate(
            ((thrust, BLUE, 0.0), (pwm, ORANGE, 1500.0))
        ):
            told = np.append(values[np.isfinite(values)], neutral)
            low, high = float(told.min()), float(told.max())
            for i in range(count):
                axes = grid[i, column]
                axes.axhline(neutral, color=BLACK, linewidth=0.8)
                axes.plot(time[few], values[few, i], color=colour, linewidth=1.3)
                axes.set_xlim(time[0], time[-1])
            grid[0, column].set_ylim(*padded_limits(low, high, 50.0 if column else 1.0))
            grid[-1, column].set_xlabel('time [s]')
        for i, label in enumerate(labels):
            grid[i, 0].set_ylabel(label, rotation=0, ha='right', va='center', labelpad=10)
        known = bool(np.isfinite(thrust).any())
        grid[0, 0].set_title('thrust [N]' if known else 'thrust [N]: not recorded')
        grid[0, 1].set_title('pulse width [µs]; 1500 is neutral')


# Measured velocity, and the velocity of a fitted model under the same thrust.

_LEAST_SPEED = 0.02
"""m/s or rad/s; noise below it does not look large."""


def fit_figure(
    path: Path, time: np.ndarray, measured: np.ndarray, fitted: np.ndarray, *, title: str
) -> None:
    """Draw velocities (s, l, 6) of s stretches over their times (s, l) in s.

    Raises:
        RecordingError: the file cannot be written.
    """
    with figure_sheet(path, title, 10.0) as figure:
        grid = figure.subplots(6, 1, sharex=True)
        for i, (axes, name) in enumerate(zip(grid, BODY_AXES, strict=True)):
            axes.plot(
                *_join_stretches(time, measured[..., i]),
                color=SKY,
                linewidth=4.0,
                label='measured',
            )
            axes.plot(
                *_join_stretches(time, fitted[..., i]),
                color=BLACK,
                linewidth=1.0,
                label='fitted, each stretch from its own start',
            )
            axes.set_ylabel(f'{name}\n[{"m/s" if i < 3 else "rad/s"}]')
            known = measured[..., i][np.isfinite(measured[..., i])]
            shown = known if known.size else fitted[..., i]
            axes.set_ylim(*padded_limits(float(shown.min()), float(shown.max()), _LEAST_SPEED))
            axes.set_xlim(time.min(), time.max())
        # Above the first panel; Matplotlib has `outside` places from 3.7 on only.
        grid[0].legend(loc='lower right', bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        grid[-1].set_xlabel('time [s]')


def _join_stretches(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one line (s · (l + 1),) with a hole after every stretch."""
    hole = np.full((len(time), 1), np.nan)
    return np.concatenate([time, hole], 1).ravel(), np.concatenate([values, hole], 1).ravel()


# Weight and buoyancy of a vehicle at rest, seen from two sides.


@dataclass(frozen=True)
class Balance:
    """A vehicle at rest; points in the body frame (FLU), m.

    Attributes:
        name: name of the case, such as "without arm".
        center_of_gravity: (3,).
        center_of_buoyancy: (3,).
        roll: rad.
        pitch: rad.
        size: length, width, height of its outline, m.
    """

    name: str
    center_of_gravity: tuple[float, float, float]
    center_of_buoyancy: tuple[float, float, float]
    roll: float
    pitch: float
    size: tuple[float, float, float]

    @property
    def rotation(self) -> np.ndarray:
        """R (3, 3) with v_map = R v_body, heading along x."""
        return np.asarray(rotation_matrix(quaternion_from_rpy(self.roll, self.pitch, 0.0)))

    @property
    def lever(self) -> np.ndarray:
        """(3,) from the centre of gravity to that of buoyancy, m, map; upright when balanced."""
        offset = np.subtract(self.center_of_buoyancy, self.center_of_gravity)
        return np.asarray(self.rotation @ offset)


# Seen from starboard the bow is right; seen from astern starboard is right.
_VIEWS = (('from starboard', 0, 1.0), ('from astern', 1, -1.0))


def balance_figure(path: Path, cases: Sequence[Balance], *, title: str) -> None:
    """Draw one row per case, from starboard and from astern, to one scale.

    Raises:
        RecordingError: the file cannot be written.
    """
    reach = 0.62 * max(max(c.size) for c in cases)
    with figure_sheet(path, title, 0.7 + 4.1 * len(cases)) as figure:
        grid = figure.subplots(len(cases), 2, squeeze=False, sharex=True, sharey=True)
        for row, case in zip(grid, cases, strict=True):
            for axes, (view, axis, sign) in zip(row, _VIEWS, strict=True):
                _side(axes, case, axis, sign)
                axes.set_title(f'{case.name}, {view}\n{_tilt(case, axis)}')
                axes.set(xlim=(-reach, reach), ylim=(-0.62 * reach, 0.62 * reach), aspect='equal')
                axes.set_xlabel(f'{"forward" if axis == 0 else "to starboard"} [m]')
                axes.tick_params(labelbottom=True)
            row[0].set_ylabel('up [m]')
        _balance_legend(figure)


def _tilt(case: Balance, axis: int) -> str:
    name, value = ('pitch', case.pitch) if axis == 0 else ('roll', case.roll)
    ways = ('bow down', 'bow up') if axis == 0 else ('starboard down', 'port down')
    way = '' if abs(value) < 1e-4 else f', {ways[value < 0]}'
    return f'{name} {math.degrees(value):+.2f}°{way}'.replace('-', '−')


def _side(axes: Any, case: Balance, axis: int, sign: float) -> None:
    from matplotlib.patches import Polygon

    ConvexHull = require('scipy.spatial', 'figures').ConvexHull

    def project(points: Any) -> np.ndarray:
        turned = np.asarray(points) @ case.rotation.T
        return np.stack([sign * turned[..., axis], turned[..., 2]], axis=-1)

    corners = project(box_corners(case.size))
    axes.add_patch(
        Polygon(corners[ConvexHull(corners).vertices], facecolor=LIGHT, edgecolor=GREY, lw=1.5)
    )
    gravity, buoyancy = project(case.center_of_gravity), project(case.center_of_buoyancy)
    length = 0.2 * max(case.size)
    for point, way, colour in ((gravity, -1, ORANGE), (buoyancy, 1, SKY)):
        axes.annotate(
            '',
            (point[0], point[1] + way * length),
            point,
            arrowprops={'arrowstyle': '-|>', 'color': colour, 'lw': 2.5, 'shrinkA': 0},
        )
        axes.axvline(point[0], color=colour, linestyle=(0, (2, 3)), linewidth=1.3)
        axes.plot(*point, 'o', color=colour, markeredgecolor=BLACK, markersize=11, zorder=5)
    offset = abs(float(buoyancy[0] - gravity[0]))
    axes.text(
        0.99,
        0.02,
        f'verticals {1000 * offset:.1f} mm apart',
        ha='right',
        transform=axes.transAxes,
        color=BLACK,
        fontsize=11,
    )


def _balance_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {
        'marker': 'o',
        'markeredgecolor': BLACK,
        'markersize': 11,
        'linestyle': '',
    }
    figure.legend(
        handles=[
            Line2D([], [], color=SKY, label='centre of buoyancy', **dot),
            Line2D([], [], color=ORANGE, label='centre of gravity', **dot),
        ],
        loc='upper right',
        ncols=2,
        bbox_to_anchor=(0.995, 1.0),
    )
