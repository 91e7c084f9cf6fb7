# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Command and thrust of every thruster, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from marine_sim_ros.analysis.figures.style import BLACK, BLUE, GREY, ORANGE, roomy, sheet, thinned

__all__ = ['efforts_figure']


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
    with sheet(path, title, max(3.0, 1.3 + 1.15 * count)) as figure:
        if not count:
            figure.text(0.5, 0.5, 'no thrusters', ha='center', color=GREY)
            return
        few = thinned(len(time))
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
            grid[0, column].set_ylim(*roomy(low, high, 50.0 if column else 1.0))
            grid[-1, column].set_xlabel('time [s]')
        for i, label in enumerate(labels):
            grid[i, 0].set_ylabel(label, rotation=0, ha='right', va='center', labelpad=10)
        known = bool(np.isfinite(thrust).any())
        grid[0, 0].set_title('thrust [N]' if known else 'thrust [N]: not recorded')
        grid[0, 1].set_title('pulse width [µs]; 1500 is neutral')
