# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the README's pictures from the software.

``.venv/bin/python docs/scripts/make_pictures.py``
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.trajectory import Trajectory

HERE = Path(__file__).resolve().parent.parent / 'pictures'
BLUE, GREY, ORANGE = '#1f6fb2', '#5f6b76', '#d9822b'


def _box(axes: Axes, x: float, y: float, text: str, colour: str = BLUE) -> None:
    patch = FancyBboxPatch(
        (x - 1.05, y - 0.3),
        2.1,
        0.6,
        boxstyle='round,pad=0.05',
        facecolor=colour,
        edgecolor='none',
    )
    axes.add_patch(patch)
    size = 8.5 if '\n' in text else 11
    axes.text(x, y, text, ha='center', va='center', color='white', fontsize=size, weight='bold')


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str, at: float = 0.5
) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle='-|>', mutation_scale=14, color=GREY, shrinkA=4, shrinkB=4
        )
    )
    x, y = (a + at * (b - a) for a, b in zip(start, end, strict=True))
    label = {'facecolor': 'white', 'edgecolor': 'none', 'pad': 1.5}
    axes.text(x, y, text, ha='center', va='center', fontsize=9, color='black', bbox=label)


def node_graph(path: Path) -> None:
    """Draw the nodes and their topics."""
    figure, axes = plt.subplots(figsize=(10, 5.6))
    axes.set(xlim=(-1, 14), ylim=(0, 7.6))
    axes.axis('off')
    _box(axes, 7, 6.9, 'dynamics')
    _box(axes, 0.3, 3.6, 'teleop, player\nor controller', ORANGE)
    rows = dict(zip(('thrusters', 'buoyancy', 'drag'), (4.6, 7.6, 10.2), strict=True))
    for name, x in rows.items():
        _box(axes, x, 3.6, name)
        _arrow(axes, (x - 0.55, 6.55), (x - 0.55, 3.95), 'odom', 0.3)
        _arrow(axes, (x + 0.45, 3.95), (x + 0.45, 6.55), f'wrench/{name}', 0.35)
    axes.plot([3.6, 11.2], [6.55, 6.55], color=GREY, linewidth=2)
    _box(axes, 12.8, 3.6, 'barometer,\nsensors')
    _arrow(axes, (12.8, 6.9), (12.8, 3.95), 'odom')
    axes.plot([8.05, 12.8], [6.9, 6.9], color=GREY, linewidth=1.5)
    _arrow(axes, (1.4, 3.6), (3.5, 3.6), '')
    axes.text(2.55, 3.85, 'thrusters/pwm', ha='center', fontsize=9)
    _arrow(axes, (5.9, 6.9), (1.5, 6.9), '/tf, /clock, wrench/total', 0.5)
    _arrow(axes, (4.6, 3.25), (4.6, 1.9), 'thrusters/state, power')
    _arrow(axes, (12.8, 3.25), (12.8, 1.9), 'barometer/pressure,\nimu/data_raw, …')
    _box(axes, 8.7, 1.3, 'recorder', ORANGE)
    axes.text(8.7, 0.6, 'every topic into an MCAP bag', ha='center', fontsize=9)
    axes.text(
        8.9,
        2.6,
        'likewise, where there are some:\nfins, boundary, contact,\nmanipulator, tether',
        ha='center',
        va='center',
        fontsize=9,
        color=GREY,
    )
    figure.savefig(path, dpi=110, bbox_inches='tight')
    plt.close(figure)


def _label(axes: Axes, name: str) -> None:
    axes.set_ylabel(name)
    axes.grid(alpha=0.3)


def dive(path: Path, trajectory: Trajectory) -> None:
    """Plot a run: depth, speed, attitude, PWM, forces."""
    figure, grid = plt.subplots(3, 2, figsize=(10, 7.6), sharex=True, layout='constrained')
    t = trajectory.time
    depth = -trajectory.position[:, 2]
    grid[0, 0].plot(t, depth, color=BLUE)
    grid[0, 0].invert_yaxis()
    _label(grid[0, 0], 'depth [m]')
    measured = (trajectory.pressure - 101300) / (1000 * 9.8)
    grid[0, 1].plot(t, measured - depth, color=GREY, linewidth=0.4)
    _label(grid[0, 1], 'barometer − depth [m]')
    for i, name in enumerate(('surge', 'sway', 'heave')):
        grid[1, 0].plot(t, trajectory.velocity[:, i], label=name)
    _label(grid[1, 0], 'velocity [m/s]')
    angles = np.degrees(np.unwrap(rpy_from_quaternion(trajectory.orientation), axis=0))
    for i, name in enumerate(('roll', 'pitch', 'yaw')):
        grid[1, 1].plot(t, angles[:, i], label=name)
    _label(grid[1, 1], 'attitude [°]')
    for i in range(trajectory.pwm.shape[1]):
        grid[2, 0].plot(t, trajectory.pwm[:, i], label=f'{i + 1}', linewidth=1)
    _label(grid[2, 0], 'PWM [µs]')
    for name, wrench in trajectory.sources.items():
        grid[2, 1].plot(t, wrench[:, 2], label=name, linewidth=1)
    _label(grid[2, 1], 'heave force [N]')
    for axes in (grid[1, 0], grid[1, 1], grid[2, 0], grid[2, 1]):
        axes.legend(fontsize=8, loc='best')
    for axes in grid[2]:
        axes.set_xlabel('time [s]')
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    """Make all pictures."""
    HERE.mkdir(exist_ok=True)
    node_graph(HERE / 'node_graph.png')
    dive(HERE / 'dive.png', simulate(load_vehicle('bluerov2'), load_scenario('dive')))


if __name__ == '__main__':
    main()
