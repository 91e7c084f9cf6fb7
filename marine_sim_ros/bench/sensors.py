# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the sensors of a BlueROV2 cost: each reading, and all of them at their rates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors import SensorInputs
from marine_sim_ros.sensors.series import SensorReader

__all__ = ['EVERYTHING', 'IMAGE', 'NOTHING', 'camera_rows', 'reading_seconds', 'sensor_rows']

IMAGE = 'imaging_sonar'
NOTHING: dict[str, Any] = {
    'barometer': 'none',
    **dict.fromkeys(('imu', 'magnetometer', 'battery'), 'false'),
}
"""xacro arguments of a BlueROV2 without sensors."""
EVERYTHING: dict[str, Any] = {
    'barometer': 'bar30',
    **dict.fromkeys(('leak', 'thermometer', 'usbl', 'dvl', 'altimeter', 'scanning_sonar'), 'true'),
    **({'gps': 'true'} if find_spec('pymap3d') else {}),
}
"""xacro arguments of a BlueROV2 with every sensor but imaging sonar and camera, at real rates."""
READINGS = 60
"""Of each sensor that are measured, after WARM_UP that are not."""
PICTURES = 10
"""The same of cameras."""
WARM_UP = 5
_TICK = 0.005


def reading_seconds(sensor: Sensor, environment: str, count: int) -> float:
    """Return the processor time of a reading and of its messages' fields, s.

    Args:
        sensor: the sensor.
        environment: name of what is around it.
        count: how many are measured.
    """
    around = load_environment(environment)
    reader, period = SensorReader(sensor, 0), sensor.period or round(_TICK * NANOSECONDS)
    ground = -20.0 if around.scene is None else around.scene.ground(0.0, 0.0)
    turn = np.array([0.05, 0.02, 0.3, 0.95])
    state = State(
        np.array([0.0, 0.0, min(ground + 3.0, -0.5)]),
        turn / np.linalg.norm(turn),
        np.array([0.5, 0.1, 0.0, 0.02, 0.01, 0.1]),
    )

    def read(i: int) -> None:
        stamp = i * period
        inputs = SensorInputs.none(stamp / NANOSECONDS)
        found = reader.read(stamp, state, around.at(stamp / NANOSECONDS), inputs, ())
        if found is not None:
            for topic in reader.model.topics_of(sensor):
                topic.fields(sensor, found[1])

    for i in range(WARM_UP):
        read(i)
    start = time.process_time()
    for i in range(WARM_UP, WARM_UP + count):
        read(i)
    return (time.process_time() - start) / count


CAMERAS = {'320 x 240': (320.0, 240.0), '640 x 480': (640.0, 480.0), '1280 x 720': (1280.0, 720.0)}


def camera_rows(add: Callable[[str, str, float], None]) -> None:
    """Measure the pictures of a camera by their size, in a pool and over sand, JPEG included.

    Args:
        add: takes name, format and value of a measurement.
    """
    vehicle = load_vehicle('bluerov2', camera='true')
    sensor = next(s for s in vehicle.sensors if s.kind == 'camera')
    for name, (width, height) in CAMERAS.items():
        sized = replace(sensor, spec=replace(sensor.spec, width=width, height=height))
        for around in ('pool', 'shallow_sand'):
            cost = reading_seconds(sized, around, PICTURES)
            add(f'camera {name}, {around}: CPU ms a picture', '.0f', 1e3 * cost)


def sensor_rows(add: Callable[[str, str, float], None]) -> None:
    """Measure every sensor over sand, and the imaging sonar over rock too.

    Args:
        add: takes name, format and value of a measurement.
    """
    vehicle = load_vehicle('bluerov2', **{**EVERYTHING, IMAGE: 'true'})
    whole = 0.0
    for sensor in vehicle.sensors:
        cost = reading_seconds(sensor, 'shallow_sand', READINGS)
        share = cost / (sensor.period / NANOSECONDS or _TICK)
        add(f'sensor {sensor.name}: CPU ms a reading', '.3f', 1e3 * cost)
        add(f'sensor {sensor.name} at its rate: % of a core', '.2f', 100 * share)
        if sensor.name == IMAGE:
            rock = reading_seconds(sensor, 'deep_rock', READINGS)
            add(f'sensor {sensor.name} over rock: CPU ms a reading', '.1f', 1e3 * rock)
        else:
            whole += share
    add('all these but the imaging sonar: % of a core (goal 33)', '.1f', 100 * whole)
