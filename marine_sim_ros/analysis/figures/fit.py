# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measured velocity, and what a model with fitted coefficients makes of the same thrust."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marine_sim_ros.analysis.figures.style import BLACK, SKY, roomy, sheet
from marine_sim_ros.control.allocation import AXES

__all__ = ['fit_figure']

_LEAST = 0.02
"""m/s or rad/s; noise below it does not look large."""


def fit_figure(
    path: Path, time: np.ndarray, measured: np.ndarray, fitted: np.ndarray, *, title: str
) -> None:
    """Draw velocities (s, l, 6) of s stretches over their times (s, l) in s.

    Raises:
        RecordingError: the file cannot be written.
    """
    with sheet(path, title, 10.0) as figure:
        grid = figure.subplots(6, 1, sharex=True)
        for i, (axes, name) in enumerate(zip(grid, AXES, strict=True)):
            axes.plot(*_joined(time, measured[..., i]), color=SKY, linewidth=4.0, label='measured')
            axes.plot(
                *_joined(time, fitted[..., i]),
                color=BLACK,
                linewidth=1.0,
                label='fitted, each stretch from its own start',
            )
            axes.set_ylabel(f'{name}\n[{"m/s" if i < 3 else "rad/s"}]')
            axes.set_ylim(
                *roomy(float(measured[..., i].min()), float(measured[..., i].max()), _LEAST)
            )
            axes.set_xlim(time.min(), time.max())
        # Above the first panel; Matplotlib has `outside` places from 3.7 on only.
        grid[0].legend(loc='lower right', bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
        grid[-1].set_xlabel('time [s]')


def _joined(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one line (s · (l + 1),) with a hole after every stretch."""
    hole = np.full((len(time), 1), np.nan)
    return np.concatenate([time, hole], 1).ravel(), np.concatenate([values, hole], 1).ravel()
