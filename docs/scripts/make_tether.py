# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes picture and table of docs/explanation/tether.md: a heading step with and without a tether.

``.venv/bin/python docs/scripts/make_tether.py``
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from marks import between

from marine_sim_ros import Environment, load_scenario, load_vehicle, simulate
from marine_sim_ros.core.spatial import rpy_from_quaternion

DOCS = Path(__file__).resolve().parent.parent
PICTURE = DOCS / 'pictures' / 'tether_heading_step.png'
PAGE = DOCS / 'explanation' / 'tether.md'
RUNS: dict[str, dict[str, Any]] = {
    'without': {},
    'with 50 m of tether': {'tether': 'fathom', 'tether_length': '50'},
}
COLOURS = ('#5f6b76', '#d9822b')
DURATION = 30.0
HEAD = (
    '| run | heading at the end, ° | off its place at most, at the end, m '
    '| pull at most, at the end, N |\n|---|---|---|---|'
)


def main() -> None:
    """Draw the picture, and write the table."""
    scenario = load_scenario('heading_step')
    environment = Environment(current=np.array([0.0, 0.3, 0.0]), name='0.3 m/s northward')
    rows = [HEAD]
    figure, (yaw, off, pull) = plt.subplots(3, 1, figsize=(7, 6), sharex=True)
    for (name, arguments), colour in zip(RUNS.items(), COLOURS, strict=True):
        vehicle = load_vehicle('bluerov2', coefficients='bluerov2_gz', **arguments)
        run = simulate(vehicle, scenario, environment=environment, duration=DURATION)
        heading = np.degrees(np.unwrap(rpy_from_quaternion(run.orientation)[:, 2]))
        away = np.linalg.norm(run.position - [0, 0, -5], axis=-1)
        yaw.plot(run.time, heading, color=colour, label=name)
        off.plot(run.time, away, color=colour)
        force = np.zeros(1)
        if arguments:
            force = np.linalg.norm(run.sources['tether'][:, :3], axis=-1)
            pull.plot(run.time, force, color=colour)
        rows.append(
            f'| {name} | {heading[-1]:.2f} | {away.max():.3f}, {away[-1]:.3f} '
            f'| {force.max():.2f}, {force[-1]:.2f} |'
        )
    yaw.set(ylabel='heading, °')
    yaw.legend(loc='lower right')
    off.set(ylabel='off its place, m')
    pull.set(ylabel='pull of the tether, N', xlabel='time, s', xlim=(0, DURATION))
    for axes in (yaw, off, pull):
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)
    page = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(between(page, 'heading step', '\n'.join(rows)), encoding='utf-8')


if __name__ == '__main__':
    main()
