# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed log: the velocity through the water at the sensor, with white noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import constant, namespace
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.spatial import cross
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.physics.force import relative_velocity
from marine_sim_ros.sensors import Readings, SensorInputs, SensorModel, SensorTopic

__all__ = ['SPEED_LOG', 'SpeedLog']


@dataclass(frozen=True, eq=False)
class SpeedLog:
    """A speed log."""

    deviation: float = number(0.01, 0.0, 10.0, 'm/s', 'standard deviation of the noise')


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return u + ω × r (..., 3), relative to the water, body frame, m/s."""
    del inputs
    velocity = relative_velocity(state, environment)
    xp = namespace(velocity)
    arm = constant(xp, sensor.position) + xp.zeros_like(velocity[..., 3:])
    return {'velocity': velocity[..., :3] + cross(velocity[..., 3:], arm)}


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del faults
    noise = [gaussian(seed, f'{sensor.name}/{axis}', stamps) for axis in 'xyz']
    return {'velocity': readings['velocity'] + sensor.spec.deviation * np.stack(noise, axis=-1)}


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    x, y, z = (float(v) for v in readings['velocity'])
    return {'vector': {'x': x, 'y': y, 'z': z}}


SPEED_LOG = SensorModel(
    'speed_log',
    _measure,
    disturb=_disturb,
    spec=SpeedLog,
    topics=(SensorTopic('velocity', 'geometry_msgs/msg/Vector3Stamped', _fields),),
    label='Speed log',
)
