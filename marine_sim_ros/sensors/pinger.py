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
from marine_sim_ros.sensors.noise import white_noise
from marine_sim_ros.sensors.partners import FarEnd, carried_pose
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
    range_noise: float = number(0.0, 0.0, 1e3, 'm', 'standard deviation of the range')
    bearing_noise: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of azimuth and elevation'
    )
    max_range: float = number(0.0, 0.0, 1e5, 'm', 'greatest range; 0: no limit')
    sound_speed: float = number(1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound in uniform water')
    assumed_sound_speed: float = number(
        1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound that it takes for true'
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
    place = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    away = np.asarray(to_body(state.orientation, beacon - place)) @ sensor.rotation
    distance = np.sqrt(np.sum(away * away, axis=-1))
    heard = place[..., 2] < environment.elevation(place)
    heard = heard & (beacon[2] < environment.elevation(np.broadcast_to(beacon, place.shape)))
    if spec.max_range:
        heard = heard & (distance <= spec.max_range)
    speed = environment.mean_sound_speed(place, beacon + 0.0 * place, spec.sound_speed)
    polar = [
        distance * (spec.assumed_sound_speed / speed),
        np.arctan2(away[..., 1], away[..., 0]),
        np.arctan2(away[..., 2], np.sqrt(away[..., 0] ** 2 + away[..., 1] ** 2)),
    ]
    return {'polar': np.where(heard[..., None], np.stack(polar, axis=-1), np.nan)}


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Add white noise to range and bearing."""
    del faults
    spec = sensor.spec
    noise = np.array([spec.range_noise, spec.bearing_noise, spec.bearing_noise])
    return {'polar': readings['polar'] + white_noise(seed, sensor.name, stamps, noise)}


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
