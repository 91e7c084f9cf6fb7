# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the picture of what a BlueROV2's imaging sonar and scanning sonar see over sand.

``.venv/bin/python docs/scripts/make_sonar.py``
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import generate
from marine_sim_ros.sensors import SENSORS, Readings, SensorInputs
from marine_sim_ros.sensors.imaging_sonar import fan_picture

PICTURE = Path(__file__).resolve().parent.parent / 'pictures' / 'sonar_fan.png'
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
    figure.savefig(PICTURE, dpi=100)


if __name__ == '__main__':
    main()
