# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""GPS receiver: latitude, longitude and altitude of its antenna above the surface.

Under water there is no reading. How long a receiver takes to find satellites again is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin, radii
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import cross, in_map, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import slow_noise, white_noise
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    diagonal,
)

__all__ = ['GPS', 'geodetic']

FIX, SERVICE_GPS, DIAGONAL_KNOWN = 0, 1, 2
"""Constants of sensor_msgs/NavSatStatus and NavSatFix."""


@declaration(frozen=True)
class Gps:
    """Parameters of a GPS receiver; noise is white, wander is slow (flicker noise)."""

    horizontal_noise: float = number(0.0, 0.0, 1e4, 'm', 'standard deviation east and north')
    vertical_noise: float = number(0.0, 0.0, 1e4, 'm', 'standard deviation of the altitude')
    horizontal_wander: float = number(0.0, 0.0, 1e4, 'm', 'flicker noise east and north')
    vertical_wander: float = number(0.0, 0.0, 1e4, 'm', 'flicker noise of the altitude')
    velocity_noise: float = number(
        0.0, 0.0, 100.0, 'm/s', 'standard deviation of the velocity east, north and up'
    )


def geodetic(origin: Origin, points: np.ndarray) -> np.ndarray:
    """Return latitude (°), longitude (°) and altitude (m) (..., 3) of points (..., 3) in map.

    Map is a plane that touches the WGS84 ellipsoid at its origin, at the origin's altitude.

    Raises:
        MissingPackageError: pymap3d is not installed.
    """
    pymap3d = require('pymap3d', 'a GPS receiver')
    local = origin.enu(points)
    coordinates = pymap3d.enu2geodetic(
        local[..., 0],
        local[..., 1],
        local[..., 2],
        origin.latitude,
        origin.longitude,
        origin.altitude,
    )
    return np.stack([np.asarray(part, float) for part in coordinates], axis=-1)


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the antenna's place (..., 3), and velocity east, north, up (..., 3), m/s.

    The place is latitude, longitude and altitude. Both are NaN under water.
    """
    del inputs
    position = in_map(state.position, state.orientation, sensor.position[None, :])[..., 0, :]
    dry = position[..., 2:] > environment.elevation(position)[..., None]
    if not np.any(dry):
        return {
            'geodetic': np.full_like(position, np.nan),
            'velocity': np.full_like(position, np.nan),
        }
    nu = state.velocity
    turning = cross(nu[..., 3:], np.broadcast_to(sensor.position, nu[..., 3:].shape))
    velocity = matvec(rotation_matrix(state.orientation), nu[..., :3] + turning)
    return {
        'geodetic': np.where(dry, geodetic(environment.origin, position), np.nan),
        'velocity': np.where(dry, environment.origin.enu(velocity), np.nan),
    }


def _degrees_per_metre(geodetic: np.ndarray) -> np.ndarray:
    """Return degrees of latitude and longitude per metre, and 1, (..., 3)."""
    north, east = radii(geodetic[..., 0])
    degree = math.degrees(1.0)
    return np.stack([degree / north, degree / east, np.ones_like(north)], axis=-1)


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    del faults
    spec, position = sensor.spec, readings['geodetic']
    noise = np.array([spec.horizontal_noise] * 2 + [spec.vertical_noise])
    wander = np.array([spec.horizontal_wander] * 2 + [spec.vertical_wander])
    error = white_noise(seed, sensor.name, stamps, noise)
    if wander.any():
        error = error + wander * slow_noise(seed, sensor.name, stamps, instability=1.0)
    result = {'geodetic': position + _degrees_per_metre(position) * error}
    if 'velocity' in readings:
        doppler = white_noise(
            seed, f'{sensor.name}/velocity', stamps, np.full(3, spec.velocity_noise)
        )
        result['velocity'] = readings['velocity'] + doppler
    return result


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    latitude, longitude, altitude = readings['geodetic'].tolist()
    spec = sensor.spec
    # Flicker noise over the octaves of its spectrum has a variance of about 3.3 B².
    level = spec.horizontal_noise**2 + 3.3 * spec.horizontal_wander**2
    height = spec.vertical_noise**2 + 3.3 * spec.vertical_wander**2
    return {
        'status': {'status': FIX, 'service': SERVICE_GPS},
        'latitude': latitude,
        'longitude': longitude,
        'altitude': altitude,
        'position_covariance': diagonal(level, level, height),
        'position_covariance_type': DIAGONAL_KNOWN,
    }


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    """Return metres to the north, to the east and up from the first true fix."""
    del sensor, state
    degrees, truth = numbers[:, :3], ideal['geodetic']
    first = truth[np.argmax(np.isfinite(truth).all(axis=1))]
    metres = 1 / _degrees_per_metre(first)
    deviation = np.sqrt(numbers[:, 3:])
    return ReadingComparison((degrees - first) * metres, (truth - first) * metres, deviation)


def _numbers(message: Any) -> tuple[float, ...]:
    east, _, _, _, north, _, _, _, up = message.position_covariance
    return message.latitude, message.longitude, message.altitude, north, east, up


GPS = SensorModel(
    'gps',
    _measure,
    disturb=_disturb,
    spec=Gps,
    topics=(SensorTopic('fix', 'sensor_msgs/msg/NavSatFix', _fields),),
    charts=(
        SensorChart('fix', 'position', 'm', _numbers, _compare, parts=('north', 'east', 'up')),
    ),
    rate=5.0,
    label='GPS',
    quiet='no fix under water',
)
