# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""USBL: range and bearing of the vehicle from a transceiver.

The transceiver is fixed in map, and measures in its axes; or another vehicle of the fleet, a ship
for example, carries it, and it measures in the axes of that vehicle or of one of its links.
The transceiver interrogates, and the transponder on the vehicle answers at the time of the stamp;
the message comes when the answer has travelled back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import random_events, white_noise
from marine_sim_ros.sensors.partners import (
    FarEnd,
    carried_pose,
    disturb_polar,
    polar_of,
    sound_way,
    unit_vector,
)
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
    vector_fields,
)

__all__ = ['USBL']


@declaration(frozen=True)
class Usbl(FarEnd):
    """Parameters of a USBL."""

    transceiver: tuple[float, ...] = number(
        (0.0, 0.0, -1.0), -1e5, 1e5, 'm', 'place of the transceiver in map, or on its vehicle'
    )
    outlier_share: float = number(0.0, 0.0, 1.0, '', 'share of readings by an echo')
    outlier_size: float = number(10.0, 0.0, 1e4, 'm', 'standard deviation of their position')


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return range, azimuth (from the x axis, anticlockwise), elevation (up), delay, place.

    There is no reading beyond the greatest range, or where the transponder or a transceiver on a
    vehicle is out of the water. Both are where they are at the time of the stamp.
    """
    del inputs
    spec = sensor.spec
    position = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    is_heard = position[..., 2] < environment.elevation(position)
    transceiver_pose: dict[str, np.ndarray] = {}
    if spec.vehicle:
        origin, orientation = carried_pose(spec, spec.transceiver, environment)
        is_heard = is_heard & (origin[2] < environment.elevation(origin))
        away, speed = sound_way(environment, origin, position, spec.sound_speed)
        away = away @ rotation_matrix(orientation)
        transceiver_pose = {'transceiver': np.concatenate([origin, orientation])}
    else:
        origin = np.array(spec.transceiver)
        away, speed = sound_way(environment, origin, position, spec.sound_speed)
    polar = polar_of(away)
    distance = polar[..., 0]
    if spec.max_range:
        is_heard = is_heard & (distance <= spec.max_range)
    taken = distance * (spec.assumed_sound_speed / speed)
    polar = np.concatenate([taken[..., None], polar[..., 1:]], axis=-1)
    found = np.where(is_heard[..., None], polar, np.nan)
    return {
        'polar': found,
        'delay': distance / speed,
        'position': _position_of(spec, {'polar': found, **transceiver_pose}),
        **transceiver_pose,
    }


def _direction(readings: Readings) -> np.ndarray:
    """Return the unit vector (..., 3) in map from the transceiver to the transponder."""
    along = unit_vector(readings['polar'])
    if 'transceiver' not in readings:
        return along
    rotation = rotation_matrix(readings['transceiver'][..., 3:])
    return np.asarray((rotation @ along[..., None])[..., 0])


def _position_of(spec: Usbl, readings: Readings) -> np.ndarray:
    """Return the place (..., 3) in map of range, azimuth and elevation (..., 3)."""
    origin = np.array(spec.transceiver)
    if 'transceiver' in readings:
        origin = readings['transceiver'][..., :3]
    return origin + readings['polar'][..., :1] * _direction(readings)


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Add noise and the errors of the run to range and bearing, and single wrong positions."""
    del faults
    spec, name = sensor.spec, sensor.name
    polar = disturb_polar(sensor, readings['polar'], stamps, seed)
    position = _position_of(spec, {**readings, 'polar': polar})
    if spec.outlier_share:
        wrong = random_events(seed, f'{name}/outlier', stamps, spec.outlier_share)[..., None]
        error = white_noise(seed, f'{name}/outlier', stamps, spec.outlier_size)
        position = position + np.where(wrong, error, 0.0)
    return {**readings, 'polar': polar, 'position': position}


def _polar(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'vector': vector_fields(readings['polar'])}


def _position(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    spec, along = sensor.spec, _direction(readings)
    across = float(readings['polar'][0]) * spec.bearing_noise
    line = np.outer(along, along)
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = spec.range_noise**2 * line + across**2 * (np.eye(3) - line)
    return {
        'pose': {
            'pose': {'position': vector_fields(readings['position']), 'orientation': {'w': 1.0}},
            'covariance': covariance.ravel(),
        }
    }


def _axes(sensor: Sensor) -> str:
    """Return the frame in whose axes range and bearing are."""
    spec = sensor.spec
    return f'{spec.vehicle}/{spec.frame or "base_link"}' if spec.vehicle else 'map'


USBL = SensorModel(
    'usbl',
    _measure,
    disturb=_disturb,
    spec=Usbl,
    topics=(
        SensorTopic('polar', 'geometry_msgs/msg/Vector3Stamped', _polar, frame=_axes),
        SensorTopic(
            'position', 'geometry_msgs/msg/PoseWithCovarianceStamped', _position, frame='map'
        ),
    ),
    charts=(
        SensorChart(
            'position',
            'position',
            'm',
            message_numbers(
                'geometry_msgs/msg/PoseWithCovarianceStamped', 'position', 'position_variance'
            ),
            against_ideal('position'),
            parts=('x', 'y', 'z'),
        ),
    ),
    rate=1.0,
    label='USBL',
    quiet='no answer',
)
