# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Leak detector: whether there is water in the enclosure.

Water enters below the depth rating, and by the fault ``sensor_bias`` of this sensor with size 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
)

__all__ = ['LEAK']


@declaration(frozen=True)
class LeakDetector:
    """Parameters of a leak detector."""

    depth_rating: float = number(
        0.0, 0.0, 12_000.0, 'm', 'depth below which the enclosure leaks; 0: never'
    )


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return 1 (...) where there is water, else 0."""
    del inputs
    rating = sensor.spec.depth_rating
    wet = (environment.level - state.position[..., 2] > rating) & (rating > 0)
    return {'leak': np.asarray(wet, float)}


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'data': bool(readings['leak'] > 0.5)}


LEAK = SensorModel(
    'leak',
    _measure,
    spec=LeakDetector,
    rate=1.0,
    exact='there is water or none',
    label='Leak detector',
    topics=(SensorTopic('detected', 'std_msgs/msg/Bool', _fields),),
    charts=(
        SensorChart(
            'detected',
            'leak',
            '',
            message_numbers('std_msgs/msg/Bool', 'data'),
            against_ideal('leak'),
        ),
    ),
)
