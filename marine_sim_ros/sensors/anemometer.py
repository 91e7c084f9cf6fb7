# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Anemometer: the apparent wind at the sensor, its speed and the angle that it comes from.

The apparent wind is the air's velocity relative to the sensor, in the level of its x and y axes;
the angle is 0 from ahead (x) and grows clockwise as seen from above, as in NMEA 0183's MWV.
Under water there is no reading. The vehicle does not shelter the sensor.
"""

from __future__ import annotations

import math
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
from marine_sim_ros.physics.wind import apparent_wind
from marine_sim_ros.sensors.noise import add_lasting_errors, quantize
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    vector_fields,
)

__all__ = ['ANEMOMETER', 'polar_wind']


@declaration(frozen=True)
class Anemometer:
    """Parameters of an anemometer."""

    scale_noise: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the speed, as a fraction of it'
    )
    direction_noise: float = number(0.0, 0.0, 180.0, '°', 'standard deviation of the angle')
    speed_bias: float = number(
        0.0, 0.0, 200.0, 'm/s', 'standard deviation of the constant bias of the speed'
    )
    speed_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of the speed'
    )
    direction_bias: float = number(
        0.0, 0.0, 180.0, '°', 'standard deviation of the constant bias of the angle'
    )
    max_speed: float = number(0.0, 0.0, 200.0, 'm/s', 'greatest reading; 0: no limit')
    speed_resolution: float = number(0.0, 0.0, 10.0, 'm/s', 'step of the speed; 0: none')
    direction_resolution: float = number(0.0, 0.0, 90.0, '°', 'step of the angle; 0: none')


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the apparent wind (..., 2) along the sensor's x and y, m/s; NaN under water."""
    del inputs
    position = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    height = position[..., 2] - environment.elevation(position)
    wind = apparent_wind(state, environment, sensor.position, height) @ sensor.rotation
    return {'wind': np.where(height[..., None] > 0, wind[..., :2], np.nan)}


def polar_wind(wind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return speed (...) in m/s and angle (...), 0 to 360°, of an apparent wind (..., 2)."""
    x, y = wind[..., 0], wind[..., 1]
    return np.hypot(x, y), np.degrees(np.arctan2(y, -x)) % 360.0


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del faults
    spec = sensor.spec
    speed, angle = polar_wind(readings['wind'])
    speed = add_lasting_errors(sensor, 'speed', speed, stamps, seed)
    angle = add_lasting_errors(sensor, 'direction', angle, stamps, seed)
    speed = speed * (1 + spec.scale_noise * gaussian(seed, sensor.name, stamps))
    speed = np.clip(speed, 0.0, spec.max_speed or math.inf)
    angle = angle + spec.direction_noise * gaussian(seed, f'{sensor.name}/direction', stamps)
    speed = quantize(speed, 0.0, spec.speed_resolution)
    angle = np.radians(quantize(angle, 0.0, spec.direction_resolution))
    towards = np.stack([-np.cos(angle), np.sin(angle)], axis=-1)
    return {'wind': speed[..., None] * towards}


def _vector(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'vector': vector_fields(np.append(readings['wind'], 0.0))}


def _speed(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'data': float(polar_wind(readings['wind'])[0])}


def _angle(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'data': float(polar_wind(readings['wind'])[1])}


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    """Return speeds in m/s and angles in degrees."""
    del state
    reading, truth = (np.stack(polar_wind(w), axis=-1) for w in (numbers[:, :2], ideal['wind']))
    spec = sensor.spec
    speed = np.hypot(spec.scale_noise * truth[:, 0], spec.speed_resolution / math.sqrt(12))
    angle = np.hypot(spec.direction_noise, spec.direction_resolution / math.sqrt(12))
    deviation = np.stack([speed, np.full_like(speed, angle)], axis=-1)
    nearest = (reading[:, 1] - truth[:, 1] + 180.0) % 360.0 - 180.0
    reading[:, 1] = truth[:, 1] + nearest
    return ReadingComparison(reading, truth, deviation)


ANEMOMETER = SensorModel(
    'anemometer',
    _measure,
    disturb=_disturb,
    spec=Anemometer,
    rate=4.0,
    label='Anemometer',
    quiet='under water there is no wind',
    topics=(
        SensorTopic('wind', 'geometry_msgs/msg/Vector3Stamped', _vector),
        SensorTopic('speed', 'std_msgs/msg/Float64', _speed, unit='m/s'),
        SensorTopic('direction', 'std_msgs/msg/Float64', _angle, unit='°'),
    ),
    charts=(
        SensorChart(
            'wind',
            'apparent wind',
            '',
            message_numbers('geometry_msgs/msg/Vector3Stamped', 'vector'),
            _compare,
            parts=('speed, m/s', 'from, °'),
        ),
    ),
)
