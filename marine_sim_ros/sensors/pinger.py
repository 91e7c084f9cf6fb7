# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pinger receiver: range and bearing of a beacon in the sensor's frame.

The beacon is fixed in map, or another vehicle of the fleet carries it.
An array of hydrophones receives the pings of a beacon at a known time (synchronised clocks, or as
answers to its own interrogation), so that their delay is the range. The angles are those of the
VRX acoustic pinger plugin (Open Robotics: range, bearing and elevation in the vehicle's frame).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.spatial import in_map, to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.partners import FarEnd, carried_pose, disturb_polar, polar_of
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
    vector_fields,
)

__all__ = ['PINGER']


@dataclass(frozen=True)
class Pinger(FarEnd):
    """Parameters of a receiver and its beacon."""

    beacon: tuple[float, ...] = number(
        (0.0, 0.0, -1.0), -1e5, 1e5, 'm', 'place of the beacon in map, or on its vehicle'
    )


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return range, azimuth (from the sensor's x axis towards its y axis) and elevation (to z).

    There is no reading beyond the greatest range, or where one of the two is out of the water.
    """
    del inputs
    spec, beacon = sensor.spec, np.array(sensor.spec.beacon)
    if spec.vehicle:
        beacon, _ = carried_pose(spec, spec.beacon, environment)
    position = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    away = np.asarray(to_body(state.orientation, beacon - position)) @ sensor.rotation
    polar = polar_of(away)
    distance = polar[..., 0]
    is_heard = position[..., 2] < environment.elevation(position)
    is_heard = is_heard & (
        beacon[2] < environment.elevation(np.broadcast_to(beacon, position.shape))
    )
    if spec.max_range:
        is_heard = is_heard & (distance <= spec.max_range)
    speed = environment.mean_sound_speed(position, beacon + 0.0 * position, spec.sound_speed)
    taken = distance * (spec.assumed_sound_speed / speed)
    polar = np.concatenate([taken[..., None], polar[..., 1:]], axis=-1)
    return {'polar': np.where(is_heard[..., None], polar, np.nan)}


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Add noise and the errors of the run to range and bearing."""
    del faults
    return {'polar': disturb_polar(sensor, readings['polar'], stamps, seed)}


def _polar(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'vector': vector_fields(readings['polar'])}


PINGER = SensorModel(
    'pinger',
    _measure,
    disturb=_disturb,
    spec=Pinger,
    topics=(SensorTopic('polar', 'geometry_msgs/msg/Vector3Stamped', _polar),),
    charts=(
        SensorChart(
            'polar',
            'range, azimuth and elevation',
            '',
            message_numbers('geometry_msgs/msg/Vector3Stamped', 'vector'),
            against_ideal('polar'),
            parts=('range, m', 'azimuth, rad', 'elevation, rad'),
        ),
    ),
    rate=1.0,
    label='Pinger',
    quiet='not heard',
)
