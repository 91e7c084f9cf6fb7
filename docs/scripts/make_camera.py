# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw docs/pictures/camera_*, scene_*, docking.png: what a camera sees; film_chase.png: a film.

Run with the package installed, with its extra `camera`:

    python docs/scripts/make_camera.py
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import WaterOptics
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.seen_bodies import body_of, with_vehicles

PICTURES = Path(__file__).parents[1] / 'pictures'
DOCK = str(Path(__file__).parents[2] / 'examples/docking/dock.yaml')
SUNNY = WaterOptics('pure', sun=0.8)
VIEWS = {
    'camera_pool': ('pool', SUNNY, (-8.0, 2.0, -1.8), (0.0, 0.2, -0.2)),
    'camera_split': ('pool', SUNNY, (-8.0, 2.0, -0.01), (0.05, 0.0, -0.2)),
    'camera_coast': (
        'shallow_sand',
        WaterOptics('3C', 0.05, 0.6, 150.0),
        (0.0, 2.2, -8.4),
        (0.03, 0.18, 0.5),
    ),
    'camera_lamps': (
        'deep_rock',
        WaterOptics('II', particles=60.0),
        (0.0, 0.0, -47.0),
        (0.0, 0.45, 0.6),
    ),
    'scene_wreck': (
        'wreck',
        WaterOptics('I', 0.0, 0.5, 40.0),
        (16.5, -3.0, -10.9),
        (0.0, 0.12, 2.45),
    ),
    'scene_overgrown_wreck': (
        'overgrown_wreck',
        WaterOptics('I', 0.0, 0.5, 40.0),
        (16.35, -3.0, -10.9),
        (0.0, 0.12, 2.45),
    ),
    'scene_jetty': (
        'jetty',
        WaterOptics('IB', 0.0, 0.5, 30.0),
        (1.2, -7.0, -2.6),
        (0.0, 0.0, 0.8),
    ),
    'scene_course': ('course', SUNNY, (0.2, 1.7, -1.0), (0.0, 0.16, -0.27)),
    'scene_net_pen': (
        'net_pen',
        WaterOptics('1C', 0.0, 0.4, 30.0),
        (0.0, 2.2, -2.6),
        (0.0, 0.1, -0.3),
    ),
    'scene_wellhead': (
        'wellhead',
        WaterOptics('IB', 0.0, 0.5, 30.0),
        (1.5, 1.0, -22.3),
        (0.0, 0.2, -0.25),
    ),
    'scene_pipeline': (
        'pipeline',
        WaterOptics('IB', 0.0, 0.5, 30.0),
        (2.0, -3.0, -23.4),
        (0.0, 0.25, 0.75),
    ),
    'docking': (DOCK, WaterOptics('pure'), (2.74, 0.87, -0.8), (0.0, 0.0, -0.34)),
}
"""Environment, water, place in m and roll, pitch, yaw in rad."""
LIGHTS = {'camera_lamps': {'light': 8.0, 'exposure': 6.0}}
"""Of views that are lit by the vehicle."""
OTHER = State(np.array([-7.15, 1.75, -1.85]), quaternion_from_rpy(0.25, 0.35, 0.5), np.zeros(6))
"""A vehicle before the camera of ``camera_propellers``, seen from behind."""
ROTORS = np.array([140.0, -95.0, 210.0, 180.0, 120.0, 155.0])
"""Speeds of its rotors, rad/s."""
SCENARIO = """
duration: 2.0
initial: {position: [-8, 2, -1.8], rpy: [0, 0, -0.2]}
segments:
  - {at: 0.0, pwm: [1400, 1400, 1600, 1600, 1500, 1500]}
"""


def main() -> None:
    """Draw all."""
    vehicle = load_vehicle('bluerov2', camera='true')
    found = next(sensor for sensor in vehicle.sensors if sensor.kind == 'camera')
    sensor = replace(found, spec=replace(found.spec, width=800.0, height=450.0, samples=3.0))
    pillow = require('PIL.Image', 'the pictures of the camera')
    for name, (environment, optics, place, rpy) in VIEWS.items():
        state = State(np.array(place), quaternion_from_rpy(*rpy), np.zeros(6))
        around = replace(load_environment(environment), optics=optics)
        free = {body.name: body for body in around.free_bodies if body.start is not None}
        seen = {name: body_of(body.vehicle, name) for name, body in free.items()}
        around = with_vehicles(around, seen, {name: body.start for name, body in free.items()})
        lit = replace(sensor, spec=replace(sensor.spec, **LIGHTS.get(name, {})))
        readings = SENSORS['camera'].measure(lit, state, around, SensorInputs.none())
        # A palette keeps them below 200 kB.
        picture = pillow.fromarray(readings['image']).quantize(256)
        picture.save(PICTURES / f'{name}.png', optimize=True)
    around = replace(load_environment('pool'), optics=SUNNY)
    inputs = SensorInputs.none(12.34)._replace(rotors=ROTORS)
    around = with_vehicles(around, {'b': body_of(vehicle, 'b')}, {'b': OTHER}, {'b': inputs})
    state = State(np.array([-8.0, 2.0, -1.8]), quaternion_from_rpy(0.0, 0.1, -0.25), np.zeros(6))
    readings = SENSORS['camera'].measure(sensor, state, around, SensorInputs.none(12.34))
    picture = pillow.fromarray(readings['image']).quantize(256)
    picture.save(PICTURES / 'camera_propellers.png', optimize=True)
    with TemporaryDirectory() as folder:
        scenario, run, frames = (Path(folder, name) for name in ('run.yaml', 'run', 'frames'))
        scenario.write_text(SCENARIO, encoding='utf-8')
        given = ['bluerov2', '--scenario', scenario, '--environment', 'pool', '--record', run]
        verb('simulate', *given)
        verb('render', run, '--frames', frames, '--size', '800x450', '--start', 1.5, '--end', 1.5)
        picture = pillow.open(frames / 'frame_00001.png')
        picture.save(PICTURES / 'film_chase.png', optimize=True)


def verb(*arguments: object) -> None:
    """Run a verb of marine_sim."""
    command = [sys.executable, '-m', 'marine_sim_ros.tools.main', *map(str, arguments)]
    subprocess.run(command, check=True)


if __name__ == '__main__':
    main()
