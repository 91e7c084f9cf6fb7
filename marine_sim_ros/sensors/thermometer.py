# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thermometer: the temperature of the water, or of the air above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import in_map
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import add_lasting_errors, quantize
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
)

__all__ = ['THERMOMETER']


@declaration(frozen=True)
class Thermometer:
    """Parameters of a thermometer."""

    noise: float = number(0.0, 0.0, 100.0, '°C', 'standard deviation of a reading')
    bias: float = number(0.0, 0.0, 100.0, '°C', 'standard deviation of the constant bias')
    scale_error: float = number(0.0, 0.0, 1.0, '', 'standard deviation of the error of scale')
    drift: float = number(0.0, 0.0, 100.0, '°C/h', 'standard deviation of the drift')
    resolution: float = number(0.0, 0.0, 100.0, '°C', 'step of the readings; 0: none')


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the temperature (...) where the sensor sits, °C."""
    del inputs
    place = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    height = place[..., 2] - environment.level
    return {'temperature': environment.temperature_around(place, height)}


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del faults
    temperature = add_lasting_errors(sensor, '', readings['temperature'], stamps, seed)
    noise = sensor.spec.noise * gaussian(seed, sensor.name, stamps)
    return {'temperature': quantize(temperature + noise, 0.0, sensor.spec.resolution)}


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    spec = sensor.spec
    return {
        'temperature': float(readings['temperature']),
        'variance': spec.noise**2 + spec.resolution**2 / 12,
    }


THERMOMETER = SensorModel(
    'thermometer',
    _measure,
    disturb=_disturb,
    spec=Thermometer,
    rate=1.0,
    label='Thermometer',
    topics=(SensorTopic('temperature', 'sensor_msgs/msg/Temperature', _fields),),
    charts=(
        SensorChart(
            'temperature',
            'temperature',
            '°C',
            message_numbers('sensor_msgs/msg/Temperature', 'temperature', 'variance'),
            against_ideal('temperature'),
        ),
    ),
)
