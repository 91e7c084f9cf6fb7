# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed log: the velocity through the water at the sensor, with white noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.spatial import cross
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.kinds import Fault
from marine_sim_ros.model.sensors import Mounting
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.current import relative_velocity
from marine_sim_ros.sensors import Readings, SensorModel, SensorTopic

__all__ = ['SPEED_LOG', 'SpeedLog']


@dataclass(frozen=True, eq=False)
class SpeedLog:
    """A speed log: its link, the position (3,) of that in the body frame (m), its noise (m/s)."""

    frame: str
    position: np.ndarray
    deviation: float


def read_speed_log(reader: Reader, mounting: Mounting) -> SpeedLog:
    """Return the log of an element <speed_log link="" deviation=""/>."""
    frame = mounting.frame(reader)
    deviation = reader.attribute_number('deviation', 0.01, 0.0, 10.0)
    return SpeedLog(frame.name, frame.translation, deviation)


def _measure(
    sensor: Sensor, state: State, acceleration: Array, environment: Environment
) -> Readings:
    """Return u + ω × r (..., 3), relative to the water, body frame, m/s."""
    del acceleration
    velocity = relative_velocity(state, environment)
    xp = namespace(velocity)
    arm = constant(xp, sensor.spec.position) + xp.zeros_like(velocity[..., 3:])
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
    'speed_log', 'speed_log', read_speed_log, _measure, disturb=_disturb,
    topics=(SensorTopic('velocity', 'geometry_msgs/msg/Vector3Stamped', _fields),),
    label='Speed log',
)  # fmt: skip
