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
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.messages import message_fields, message_numbers
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import (
    in_map,
    quaternion_from_rpy,
    quaternion_product,
    rotation_matrix,
    to_body,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import constant_bias
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

__all__ = ['PINGER']


@declaration(frozen=True)
class Pinger(FarEnd):
    """Parameters of a receiver and its beacon."""

    beacon: tuple[float, ...] = number(
        (0.0, 0.0, -1.0), -1e5, 1e5, 'm', 'place of the beacon in map, or on its vehicle'
    )
    fix: float = number(
        0.0, 0.0, 1.0, '',
        '1: it sends the position of base_link too, as an inverted USBL that knows its attitude '
        'and the place of the beacon',
        whole=True,
    )  # fmt: skip
    heading_bias: float = number(
        0.0, 0.0, 3.2, 'rad', 'standard deviation of the error of the heading that fix uses'
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
    away, speed = sound_way(environment, position, beacon, spec.sound_speed)
    away = np.asarray(to_body(state.orientation, away)) @ sensor.rotation
    polar = polar_of(away)
    distance = polar[..., 0]
    is_heard = position[..., 2] < environment.elevation(position)
    is_heard = is_heard & (
        beacon[2] < environment.elevation(np.broadcast_to(beacon, position.shape))
    )
    if spec.max_range:
        is_heard = is_heard & (distance <= spec.max_range)
    taken = distance * (spec.assumed_sound_speed / speed)
    polar = np.concatenate([taken[..., None], polar[..., 1:]], axis=-1)
    found = {'polar': np.where(is_heard[..., None], polar, np.nan)}
    if not spec.fix:
        return found
    place = np.broadcast_to(beacon, position.shape)
    found |= {'beacon': place, 'attitude': state.orientation}
    return {**found, 'position': _position_of(sensor, found)}


def _position_of(sensor: Sensor, readings: Readings, yaw: float = 0.0) -> np.ndarray:
    """Return the positions (..., 3) of base_link in map by range, bearing, beacon and attitude.

    Args:
        yaw: error of the heading, rad.
    """
    polar = readings['polar']
    away = sensor.position + (polar[..., :1] * unit_vector(polar)) @ sensor.rotation.T
    turned = quaternion_product(quaternion_from_rpy(0.0, 0.0, yaw), readings['attitude'])
    return np.asarray(readings['beacon'] - matvec(rotation_matrix(turned), away))


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Add noise and the errors of the run to range and bearing."""
    del faults
    result = {**readings, 'polar': disturb_polar(sensor, readings['polar'], stamps, seed)}
    if 'position' in readings:
        name = f'{sensor.name}/heading_bias'
        yaw = float(constant_bias(seed, name, sensor.spec.heading_bias)[0])
        result['position'] = _position_of(sensor, result, yaw)
    return result


def _polar(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'vector': vector_fields(readings['polar'])}


def _fix(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the position, with the variance of the bearing in all directions."""
    spec = sensor.spec
    across = float(readings['polar'][0]) * spec.bearing_noise
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = (spec.range_noise**2 + across**2) * np.eye(3)
    covariance[3:, 3:] = -np.eye(3)
    return message_fields(
        _POSE, position=readings['position'], covariance=covariance.reshape(-1),
        orientation=np.array([0.0, 0.0, 0.0, 1.0]),
    )  # fmt: skip


_POSE = 'geometry_msgs/msg/PoseWithCovarianceStamped'

PINGER = SensorModel(
    'pinger',
    _measure,
    disturb=_disturb,
    spec=Pinger,
    topics=(
        SensorTopic('polar', 'geometry_msgs/msg/Vector3Stamped', _polar),
        SensorTopic('fix', _POSE, _fix, when=lambda sensor: bool(sensor.spec.fix), frame='map'),
    ),
    charts=(
        SensorChart(
            'polar',
            'range, azimuth and elevation',
            '',
            message_numbers('geometry_msgs/msg/Vector3Stamped', 'vector'),
            against_ideal('polar'),
            parts=('range, m', 'azimuth, rad', 'elevation, rad'),
        ),
        SensorChart(
            'fix',
            'position',
            'm',
            message_numbers(_POSE, 'position', 'position_variance'),
            against_ideal('position'),
            parts=('x', 'y', 'z'),
        ),
    ),
    rate=1.0,
    label='Pinger',
    quiet='not heard',
)
