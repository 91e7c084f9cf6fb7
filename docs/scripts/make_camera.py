# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Draw docs/pictures/camera_pool.png and camera_coast.png: what a BlueROV2's camera sees.

Run with the package installed, with its extra `camera`:

    python docs/scripts/make_camera.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.optics import WaterOptics
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sensors import SENSORS, SensorInputs

PICTURES = Path(__file__).parents[1] / 'pictures'
VIEWS = {
    'camera_pool': ('pool', WaterOptics('pure'), (-8.0, 2.0, -1.8), (0.0, 0.05, -0.2)),
    'camera_coast': ('shallow_sand', WaterOptics('3C'), (0.0, 2.2, -8.4), (0.03, 0.18, 0.5)),
}
"""Environment, water, place in m and roll, pitch, yaw in rad."""


def main() -> None:
    """Draw both."""
    vehicle = load_vehicle('bluerov2', camera='true')
    found = next(sensor for sensor in vehicle.sensors if sensor.kind == 'camera')
    sensor = replace(found, spec=replace(found.spec, width=800.0, height=450.0, samples=3.0))
    for name, (environment, optics, place, rpy) in VIEWS.items():
        state = State(np.array(place), quaternion_from_rpy(*rpy), np.zeros(6))
        around = replace(load_environment(environment), optics=optics)
        readings = SENSORS['camera'].measure(sensor, state, around, SensorInputs.none())
        pillow = require('PIL.Image', 'the pictures of the camera')
        pillow.fromarray(readings['image']).save(PICTURES / f'{name}.png', optimize=True)


if __name__ == '__main__':
    main()
