# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the AUV's survey, the WAM-V's figure of eight, and the glider's glide.

``.venv/bin/python docs/scripts/make_steering.py``
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.physics import ACTUATORS
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.trajectory import Trajectory

HERE = Path(__file__).resolve().parent.parent / 'pictures'
COLOURS = ('#1f6fb2', '#d9822b', '#2a9d8f', '#5f6b76')


def _figure(run: Trajectory) -> tuple[Figure, Axes, Axes]:
    """Draw the track; return the figure and two axes below it."""
    figure, (plan, upper, lower) = plt.subplots(
        3, 1, figsize=(7, 8), height_ratios=(2.2, 1, 1), layout='constrained'
    )
    plan.plot(run.position[:, 0], run.position[:, 1], color=COLOURS[0])
    plan.plot(*run.position[0, :2], 'o', color=COLOURS[3], label='start')
    plan.set(xlabel='x, m', ylabel='y, m', aspect='equal')
    plan.legend()
    return figure, upper, lower


def _lines(axes: Axes, run: Trajectory, names: tuple[str, ...], angles: np.ndarray) -> None:
    for name, colour, values in zip(names, COLOURS, np.degrees(angles).T, strict=False):
        axes.plot(run.time, values, color=colour, label=name.replace('_', ' '), linewidth=1)
    axes.legend(ncols=2, fontsize='small')


def survey() -> None:
    """The lawn-mower pattern of ``torpedo_auv``: track, depth, deflections."""
    auv = load_vehicle('torpedo_auv')
    run = simulate(auv, load_scenario('lawn_mower'), dt=0.02)
    figure, depth, fins = _figure(run)
    depth.plot(run.time, -run.position[:, 2], color=COLOURS[0])
    depth.axhline(12, color=COLOURS[3], linestyle=':', label='set-point')
    depth.set(ylabel='depth, m')
    depth.invert_yaxis()
    depth.legend()
    _lines(fins, run, ACTUATORS['fins'].names(auv), run.actuators['fins'])
    fins.set(xlabel='time, s', ylabel='deflection, °')
    figure.savefig(HERE / 'lawn_mower.png', dpi=110)


def eight() -> None:
    """The figure of eight of ``wamv``: track, angles, thrusts."""
    boat = load_vehicle('wamv')
    run = simulate(boat, load_scenario('figure_of_eight'), dt=0.02)
    figure, angles, thrust = _figure(run)
    assert boat.thrusters.azimuths is not None
    _lines(angles, run, boat.thrusters.azimuths.names, run.actuators['azimuths'])
    angles.set(ylabel='azimuth, °')
    for name, colour, values in zip(boat.thrusters.names, COLOURS, run.thrust.T, strict=False):
        thrust.plot(run.time, values, color=colour, label=name, linewidth=1)
    thrust.set(xlabel='time, s', ylabel='thrust, N')
    thrust.legend()
    figure.savefig(HERE / 'figure_of_eight.png', dpi=110)


def glide() -> None:
    """The glide of ``glider``: depth along its way, pitch, volume and the battery's place."""
    glider = load_vehicle('glider')
    run = simulate(glider, load_scenario('glide'), dt=0.05)
    figure, (way, pitch, moved) = plt.subplots(3, 1, figsize=(7, 7), layout='constrained')
    way.plot(run.position[:, 0], -run.position[:, 2], color=COLOURS[0])
    way.set(xlabel='way ahead, m', ylabel='depth, m', aspect='equal')
    way.invert_yaxis()
    down = rpy_from_quaternion(run.orientation)[:, 1]
    pitch.plot(run.time, -np.degrees(down), color=COLOURS[0])
    pitch.axhline(0, color=COLOURS[3], linewidth=0.5)
    pitch.set(ylabel='pitch, bow up, °')
    volume, slide = run.actuators['buoyancy_engines'][:, 0], run.actuators['joints'][:, 0]
    moved.plot(run.time, 1e6 * volume, color=COLOURS[1], label='volume, cm³')
    moved.set(xlabel='time, s', ylabel='volume, cm³')
    place = moved.twinx()
    place.plot(run.time, 1e3 * slide, color=COLOURS[2])
    place.set(ylabel='battery, mm')
    moved.plot([], [], color=COLOURS[2], label='battery, mm')
    moved.legend(loc='center left')
    figure.savefig(HERE / 'glide.png', dpi=110)


if __name__ == '__main__':
    survey()
    eight()
    glide()
