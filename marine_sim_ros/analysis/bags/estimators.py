# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an autopilot's estimator says, as a sensor that would read the true state."""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.sensors import SENSORS, Readings, SensorInputs
from marine_sim_ros.sensors.sensor_model import (
    SensorChart,
    SensorModel,
    SensorTopic,
    against_ideal,
    vector_fields,
    vector_numbers,
)

__all__ = ['AUTOPILOT', 'model_of']

AUTOPILOT = Sensor(
    'autopilot', 'autopilot', None, Frame('map', '', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
)
"""The topics ``autopilot/...`` of a vehicle that ArduSub steers."""


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the position (..., 3) in map, m."""
    del sensor, environment, inputs
    return {'position': state.position}


def _fields(sensor: Sensor, readings: Readings) -> dict[str, Any]:
    del sensor
    return {'point': vector_fields(readings['position'])}


_MODEL = SensorModel(
    'autopilot',
    _measure,
    topics=(SensorTopic('position', 'geometry_msgs/msg/PointStamped', _fields, frame='map'),),
    charts=(
        SensorChart(
            'position',
            'position',
            'm',
            lambda m: vector_numbers(m.point),
            against_ideal('position'),
            parts=('x', 'y', 'z'),
        ),
    ),
    label='Estimator of the autopilot',
)


def model_of(sensor: Sensor) -> SensorModel:
    """Return the model of a sensor, or of AUTOPILOT."""
    return _MODEL if sensor is AUTOPILOT else SENSORS[sensor.kind]
