# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of what sonars of a BlueROV2 see over sand and rock and before a quay.

``.venv/bin/python docs/scripts/make_sonar.py``
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import generate
from marine_sim_ros.sensors import SENSORS, Readings, SensorInputs
from marine_sim_ros.sensors.imaging_sonar import fan_picture
from marine_sim_ros.sensors.multibeam import beam_angles
from marine_sim_ros.sensors.sonar_3d import beam_grid

PICTURES = Path(__file__).resolve().parent.parent / 'pictures'
THINGS = (
    ('box', 'box', [1.0, 3.0, 2.0], [8.0, 2.0, -7.0], 'concrete'),
    ('pole', 'cylinder', [0.6, 0.6, 6.0], [10.0, -4.0, -6.0], 'steel'),
    ('ball', 'sphere', [1.5, 1.5, 1.5], [6.0, -1.5, -6.5], 'rock'),
)
OBSTACLES = tuple(
    Obstacle(name, kind, np.array(size), np.array(position), material=material)
    for name, kind, size, position, material in THINGS
)
SAND = generate(
    'sand', depth=8.0, relief=0.8, size=(128.0, 128.0), spacing=0.5, seed=1, material='sand'
)
AROUND = Environment(scene=Scene((), SAND, OBSTACLES))
PLACE = (0.0, 0.0, -5.5)
NORTH = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))


def main() -> None:
    """Draw both."""
    vehicle = load_vehicle('bluerov2', imaging_sonar='true', scanning_sonar='true')
    sensors = {sensor.name: sensor for sensor in vehicle.sensors}

    def reading(name: str, stamp: int) -> Readings:
        sensor = sensors[name]
        kind = SENSORS[sensor.kind]
        ideal = kind.measure(sensor, state_at_rest(PLACE), AROUND, SensorInputs.none(stamp / 1e9))
        return kind.disturb(sensor, ideal, stamp, 0, ())

    figure = plt.figure(figsize=(11, 4.6), layout='constrained')
    left, right = figure.subplots(1, 2, width_ratios=(1.75, 1))
    spec = sensors['imaging_sonar'].spec
    fan = fan_picture(spec, reading('imaging_sonar', 0)['image'])
    side = spec.max_range / fan.shape[0] * fan.shape[1] / 2
    left.imshow(fan, cmap='copper', extent=(-side, side, 0, spec.max_range))
    left.set(title='imaging sonar, 256 beams, 12° down', xlabel='m to the right', ylabel='m ahead')

    scan, period = sensors['scanning_sonar'].spec, sensors['scanning_sonar'].period
    count = round(360 / scan.step)
    echoes = np.stack([reading('scanning_sonar', k * period)['echo'] for k in range(count)])
    across = (np.arange(600) + 0.5) / 300 - 1
    y, x = np.meshgrid(-across, -across)
    ping = np.floor((np.degrees(np.arctan2(y, x)) + 180) / scan.step).astype(int) % count
    sample = np.minimum((np.hypot(x, y) * scan.samples).astype(int), int(scan.samples) - 1)
    seen = np.where(np.hypot(x, y) < 1, echoes[ping, sample], 0)
    reach = scan.max_range
    right.imshow(seen, cmap='copper', extent=(-reach, reach, -reach, reach))
    seconds = count * period / 1e9
    right.set(title=f'scanning sonar, a circle in {seconds:.1f} s', xlabel='m to the right')
    figure.savefig(PICTURES / 'sonar_fan.png', dpi=100)
    draw_survey_sonars()


def draw_survey_sonars() -> None:
    """Draw a multibeam over rock, and a 3D sonar before a quay with its image in the surface."""
    vehicle = load_vehicle('bluerov2', multibeam='true', sonar_3d='true')
    sensors = {sensor.name: sensor for sensor in vehicle.sensors}
    multibeam, grid = sensors['multibeam'], sensors['sonar_3d']
    figure = plt.figure(figsize=(13, 4.6), layout='constrained')
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.1, 1.5, 0.9))

    rock = generate(
        'rock', depth=30.0, relief=6.0, size=(96.0, 96.0), spacing=0.5, seed=1, material='rock'
    )
    around = Environment(scene=Scene((), rock))
    clouds = []
    for k in range(240):
        place = (0.0, -30.0 + 0.25 * k, -15.0)
        ideal = SENSORS['multibeam'].measure(
            multibeam, state_at_rest(place, NORTH), around, SensorInputs.none()
        )
        found = SENSORS['multibeam'].disturb(multibeam, ideal, k, 0, ())
        angle = beam_angles(multibeam.spec)
        reach = np.where(np.isfinite(found['range']), found['range'], np.nan)
        clouds.append(
            np.stack([reach * np.sin(angle), place[1] + 0 * angle, -15.2 - reach * np.cos(angle)])
        )
    x, y, z = np.concatenate(clouds, axis=1)
    shown = left.scatter(x, y, c=z, s=1.5, cmap='viridis', linewidths=0)
    left.set(title='multibeam, one line over rock', xlabel='x east, m', ylabel='y north, m',
             aspect='equal', xlim=(-20, 20), ylim=(-25, 25))  # fmt: skip
    figure.colorbar(shown, ax=left, label='z, m', shrink=0.8)

    planes = (
        Plane('quay', np.array([9.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]), 'concrete'),
        Plane('floor', np.array([0.0, 0.0, -3.7]), np.array([0.0, 0.0, 1.0]), 'sand'),
    )
    things = (
        ('pile', 'cylinder', [0.6, 0.6, 8.0], [6.0, 1.5, -2.0], 'steel'),
        ('box', 'box', [0.8, 1.2, 1.0], [6.0, -1.5, -3.2], 'concrete'),
    )
    obstacles = tuple(
        Obstacle(name, kind, np.array(size), np.array(position), material=material)
        for name, kind, size, position, material in things
    )
    quay = Scene(planes, None, obstacles)
    around, place = Environment(scene=quay), (0.0, 0.0, -1.2)
    for multipath, colour in ((1.0, 'tab:red'), (0.0, 'tab:blue')):
        sonar = replace(grid, spec=replace(grid.spec, multipath=multipath, width=90.0))
        ideal = SENSORS['sonar_3d'].measure(
            sonar, state_at_rest(place), around, SensorInputs.none()
        )
        found = SENSORS['sonar_3d'].disturb(sonar, ideal, 0, 0, ())
        reach = np.where(np.isfinite(found['range']), found['range'], np.nan)
        points = reach[..., None] * beam_grid(sonar.spec) + np.array(place) + grid.position
        column = reach.shape[1] // 2
        right.plot(points[:, column, 0], points[:, column, 2], '.', color=colour, markersize=4,
                   label='multipath' if multipath else 'direct echoes')  # fmt: skip
        if multipath:
            image = middle.imshow(reach, cmap='magma_r', extent=(45, -45, -20, 20), aspect='auto')
    middle.set(title='3D sonar with multipath before a quay', xlabel='azimuth to port, °',
               ylabel='elevation, °')  # fmt: skip
    figure.colorbar(image, ax=middle, label='range, m', shrink=0.8)
    right.axhline(0.0, color='tab:cyan')
    right.axvline(9.0, color='grey')
    right.set_title('middle column, from the side', fontsize=10)
    right.set(xlabel='x, m', ylabel='z, m',
              aspect='equal', xlim=(6, 10))  # fmt: skip
    right.legend(loc='center left')
    figure.savefig(PICTURES / 'survey_sonars.png', dpi=90)


if __name__ == '__main__':
    main()
