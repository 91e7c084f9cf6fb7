# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lidar of a boat: ranges to what stands out of the water, in one plane or in many.

Its rays fan out about z of its frame, from x towards y. Water gives no return, nor does what is
under it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.core.schema import number
from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.bodies import body_hits
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.sensors.acoustics import exponential_draws, normal_draws
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
    one_state_at_a_time,
)
from marine_sim_ros.sensors.sonar_messages import point_cloud, points_of

__all__ = ['LIDAR', 'ray_angles']


@dataclass(frozen=True, eq=False)
class Lidar:
    """Parameters of a lidar."""

    columns: float = number(360.0, 2.0, 8192.0, '', 'number of rays of a row', whole=True)
    rows: float = number(
        16.0, 1.0, 512.0, '', 'number of rows; 1: it sends a LaserScan', whole=True
    )
    width: float = number(360.0, 1.0, 360.0, 'deg', 'from the first column to the last')
    lowest: float = number(-15.0, -90.0, 90.0, 'deg', 'elevation of the lowest row, or the only')
    highest: float = number(15.0, -90.0, 90.0, 'deg', 'elevation of the highest row')
    min_range: float = number(0.5, 0.0, 1e3, 'm', 'least range')
    max_range: float = number(100.0, 0.5, 1e4, 'm', 'greatest range')
    range_noise: float = number(0.0, 0.0, 10.0, 'm', 'standard deviation of a range')
    range_bias: float = number(0.0, 0.0, 10.0, 'm', 'standard deviation of their constant bias')
    range_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of their error of scale'
    )
    range_step: float = number(0.0, 0.0, 10.0, 'm', 'step of the ranges; 0: none')
    dropout: float = number(0.0, 0.0, 1.0, '', 'fraction of returns that are lost')

    def __post_init__(self) -> None:
        """Check the elevations.

        Raises:
            ValueError: the highest row is below the lowest.
        """
        if self.rows > 1 and self.highest <= self.lowest:
            raise ValueError(
                f'<highest> is {self.highest:g}; expected more than <lowest>, {self.lowest:g}'
            )


def ray_angles(spec: Lidar) -> tuple[np.ndarray, np.ndarray]:
    """Return azimuth (columns,) from x towards y and elevation (rows,) up, rad.

    Rows are from below; a full circle begins behind, at −180°, and does not repeat it.
    """
    count, full = int(spec.columns), spec.width >= 360
    half = math.radians(spec.width) / 2
    azimuth = np.linspace(-half, half, count, endpoint=not full)
    highest = spec.highest if spec.rows > 1 else spec.lowest
    elevation = np.radians(np.linspace(spec.lowest, highest, int(spec.rows)))
    return azimuth, elevation


@lru_cache(maxsize=8)
def _rays(spec: Lidar) -> np.ndarray:
    """Return the unit vectors (rows, columns, 3) of the rays, frame of the sensor."""
    azimuth, elevation = ray_angles(spec)
    level, rise = np.cos(elevation)[:, None], np.sin(elevation)[:, None]
    parts = [level * np.cos(azimuth), level * np.sin(azimuth), rise + 0 * azimuth]
    return np.stack(parts, axis=-1)


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return ``range`` (rows, columns), m, infinite for no return, and the cosine of incidence.

    A return is what a ray meets first, where it is above the surface at its place: of what is
    under water, or hidden by water, there is none. Under water the lidar has no reading.
    """
    del inputs
    spec = sensor.spec
    rays = _rays(spec)
    origin = in_map(state.position, state.orientation, sensor.position[None, :])[0]
    if origin[2] <= environment.elevation(origin):
        lost = np.full(rays.shape[:2], np.nan)
        return {'range': lost, 'cosine': lost}
    along = (rays @ (rotation_matrix(state.orientation) @ sensor.rotation).T).reshape(-1, 3)
    distance = np.full(len(along), np.inf)
    normal = np.zeros_like(along)
    if environment.scene is not None:
        hits = cast_rays(environment.scene, origin[None, :], along, spec.max_range)
        distance, normal = np.asarray(hits.distance), np.asarray(hits.normal)
    for body in environment.bodies:
        other, facing = body_hits(body, origin[None, :], along)
        nearer = other < distance
        distance = np.where(nearer, other, distance)
        normal = np.where(nearer[:, None], facing, normal)
    valid = (distance >= spec.min_range) & (distance <= spec.max_range)
    point = origin + np.where(valid, distance, 0.0)[:, None] * along
    valid = valid & (point[:, 2] > environment.elevation(point))
    cosine = np.abs(np.sum(normal * along, axis=-1))
    return {
        'range': np.where(valid, distance, np.inf).reshape(rays.shape[:2]),
        'cosine': np.where(valid, cosine, 0.0).reshape(rays.shape[:2]),
    }


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return ranges with noise, steps, the errors of the run, and lost returns."""
    del faults
    spec, stamp, name = sensor.spec, int(stamps), sensor.name
    ranges = add_lasting_errors(sensor, 'range', readings['range'], stamp, seed)
    if spec.range_noise:
        ranges = ranges + spec.range_noise * normal_draws(seed, name, stamp, ranges.shape)
    if spec.range_step:
        ranges = np.round(ranges / spec.range_step) * spec.range_step
    if spec.dropout:  # an exponential number is below −ln(1 − p) with the probability p
        drawn = exponential_draws(seed, f'{name}/dropout', stamp, ranges.shape)
        kept = drawn >= -math.log1p(-min(spec.dropout, 1 - 1e-12))
        ranges = np.where(kept | np.isnan(ranges), ranges, np.inf)
    return {**readings, 'range': ranges}


def _is_flat(sensor: Sensor) -> bool:
    return bool(sensor.spec.rows == 1)


def _points(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the returns as an organised cloud, the lowest row first."""
    spec = sensor.spec
    valid = np.isfinite(readings['range'])
    distance = np.where(valid, readings['range'], np.nan)
    shape = distance.shape
    ring = np.broadcast_to(np.arange(shape[0], dtype=np.uint16)[:, None], shape)
    channels: dict[str, np.ndarray] = {
        'intensity': (100 * readings['cosine']).astype('<f4'),
        'ring': ring,
    }
    return point_cloud(distance[..., None] * _rays(spec), channels)


def _scan(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the returns of the only row as a LaserScan; infinite where there is none."""
    spec = sensor.spec
    azimuth, _ = ray_angles(spec)
    return {
        'angle_min': float(azimuth[0]),
        'angle_max': float(azimuth[-1]),
        'angle_increment': float(azimuth[1] - azimuth[0]),
        'time_increment': 0.0,
        'scan_time': sensor.period / NANOSECONDS,
        'range_min': spec.min_range,
        'range_max': spec.max_range,
        'ranges': readings['range'][0].astype(np.float32),
        'intensities': (100 * readings['cosine'][0]).astype(np.float32),
    }


def _charted_rays(count: int) -> list[int]:
    """Return the columns that are charted: three quarters, half and a quarter across."""
    return [3 * count // 4, count // 2, count // 4] if count else []


_PARTS = ('port', 'ahead', 'starboard')


def _point_ranges(message: Any) -> tuple[float, ...]:
    points = points_of(message)
    rows, columns = points.shape
    if not rows:
        return ()
    chosen = points[rows // 2, _charted_rays(columns)]
    return tuple(np.sqrt(sum(chosen[axis].astype(float) ** 2 for axis in 'xyz')).tolist())


def _scan_ranges(message: Any) -> tuple[float, ...]:
    return tuple(float(message.ranges[i]) for i in _charted_rays(len(message.ranges)))


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    spec = sensor.spec
    truth = ideal['range'][:, int(spec.rows) // 2][:, _charted_rays(int(spec.columns))]
    return ReadingComparison(numbers, truth, np.array(sensor.spec.range_noise))


LIDAR = SensorModel(
    'lidar',
    _measure,
    disturb=_disturb,
    spec=Lidar,
    rate=10.0,
    sees=True,
    label='Lidar',
    executable='sensor',
    topics=(
        SensorTopic(
            'points', 'sensor_msgs/msg/PointCloud2', _points, when=lambda s: not _is_flat(s)
        ),
        SensorTopic('scan', 'sensor_msgs/msg/LaserScan', _scan, when=_is_flat),
    ),
    charts=(
        SensorChart('points', 'range', 'm', _point_ranges, _compare, parts=_PARTS),
        SensorChart('scan', 'range', 'm', _scan_ranges, _compare, parts=_PARTS),
    ),
    quiet='under water',
)
