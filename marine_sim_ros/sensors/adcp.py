# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ADCP: velocities of the water in layers, along four slanted beams.

It looks along the z axis of its frame, as a DVL, whose beams it has: to look down, z points down.
A beam measures the velocity of the water along itself in cells, relative to the instrument; the
cells of four beams at one distance along the axis are a layer, in which the water is taken to move
as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.core.messages import message_fields, message_numbers
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.spatial import cross, quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.environment.rays import first_hits
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import normal_draws
from marine_sim_ros.sensors.dvl import beam_directions
from marine_sim_ros.sensors.noise import constant_bias, mounting_error
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
    one_at_a_time,
    one_state_at_a_time,
)
from marine_sim_ros.sensors.sonar_messages import point_cloud, points_of

__all__ = ['ADCP', 'layer_distances']


@dataclass(frozen=True, eq=False)
class Adcp:
    """Parameters of an ADCP."""

    beam_angle: float = number(25.0, 1.0, 60.0, 'deg', 'angle between the beams and the axis')
    layers: float = number(20.0, 1.0, 255.0, '', 'number of layers', whole=True)
    layer_size: float = number(1.0, 0.01, 100.0, 'm', 'thickness of a layer')
    blanking: float = number(0.4, 0.0, 100.0, 'm', 'distance to the first layer')
    velocity_noise: float = number(
        0.03, 0.0, 10.0, 'm/s', "standard deviation of a beam's velocity in a layer, of one ping"
    )
    pings: float = number(1.0, 1.0, 10000.0, '', 'number of pings of a reading', whole=True)
    max_velocity: float = number(5.0, 0.01, 100.0, 'm/s', "greatest of a beam's velocities")
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of the velocities'
    )
    misalignment: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the mounting angles, per axis'
    )
    heading_bias: float = number(
        0.0, 0.0, 3.2, 'rad', 'standard deviation of the error of its compass'
    )
    earth: float = number(
        0.0, 0.0, 1.0, '',
        '1: velocities are over ground in map, by its compass and its own velocity over ground; '
        '0: relative to the instrument, in its axes',
        whole=True,
    )  # fmt: skip
    reference: float = number(
        1.0, 1.0, 255.0, '', 'layer of the water track, counted from 1', whole=True
    )

    def __post_init__(self) -> None:
        """Check the layer of the water track.

        Raises:
            ValueError: there is no such layer.
        """
        if self.reference > self.layers:
            raise ValueError(
                f'<reference> is {self.reference:g}; expected 1 to the number of layers, '
                f'{self.layers:g}'
            )


def layer_distances(spec: Adcp) -> np.ndarray:
    """Return the distances (n,) of the middles of the layers along the axis, m.

    A cell is the size of the pulse, so that its weight is a triangle twice as long, and the first
    begins at the blanking: its middle is one layer farther.
    """
    return np.asarray(spec.blanking + spec.layer_size * (1 + np.arange(int(spec.layers))))


_NODE = math.sqrt(0.4)
_WEIGHTS = np.array([5 / 24, 7 / 12, 5 / 24])
"""Places ± of the weight of a cell in layer sizes, and weights: Gauss quadrature of a triangle."""


@lru_cache(maxsize=32)
def _estimator(angle: float) -> np.ndarray:
    """Return P (3, 4) of the least squares v = P v_beams."""
    return np.asarray(np.linalg.pinv(beam_directions(angle)))


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the mean velocities of the water along the beams in each layer, and its solution.

    ``velocity`` (n, 3) is along x, y and z of the instrument, relative to it, or in map over
    ground; NaN beyond the boundary. ``beam_velocity`` (4, n) is along the beams, away positive.
    A layer is lost as soon as one of its cells is as far away as the nearest boundary, whose echo
    in the side lobes covers it: z + Δ > D cos θ.
    """
    del inputs
    spec = sensor.spec
    beams, distance = beam_directions(spec.beam_angle), layer_distances(spec)
    cosine = math.cos(math.radians(spec.beam_angle))
    rotation = rotation_matrix(state.orientation)
    origin = state.position + rotation @ sensor.position
    turn = rotation @ sensor.rotation
    rays = np.concatenate([beams, [[0.0, 0.0, 1.0]]]) @ turn.T
    reach = (distance[-1] + spec.layer_size) / cosine
    nearest = float(np.min(first_hits(environment, origin, rays, reach).distance))
    away = distance[:, None] + spec.layer_size * np.array([-_NODE, 0.0, _NODE])
    along = beams @ turn.T
    points = origin + (away / cosine)[None, :, :, None] * along[:, None, None, :]
    water = np.sum(_WEIGHTS[:, None] * environment.velocity(points), axis=2)
    nu = state.velocity
    own = rotation @ (nu[:3] + cross(nu[3:], sensor.position))
    beam_velocity = np.sum((water - own) * along[:, None], axis=-1)
    if (
        environment.fields is not None
    ):  # as of a DVL: shifts are those of the sound at the transducer
        beam_velocity = beam_velocity * (SOUND_SPEED / environment.sound_speed(origin))
    lost = (distance + spec.layer_size) > nearest * cosine
    lost = lost | (np.max(np.abs(beam_velocity), axis=0) > spec.max_velocity)
    if origin[2] >= environment.elevation(origin):
        lost = np.ones_like(lost)
    beam_velocity = np.where(lost, np.nan, beam_velocity)
    return {**_solution(spec, beam_velocity, turn, own), 'turn': turn, 'own': own}


def _solution(
    spec: Adcp, beam_velocity: np.ndarray, turn: np.ndarray, own: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the velocities of the layers and of the water track, of the beams' (4, n).

    Args:
        turn: (3, 3) from the axes of the instrument to map.
        own: (3,) velocity of the instrument over ground, map, m/s.
    """
    relative = (_estimator(spec.beam_angle) @ beam_velocity).T
    track = -relative[int(spec.reference) - 1]
    velocity = relative @ turn.T + own if spec.earth else relative
    return {'velocity': velocity, 'beam_velocity': beam_velocity, 'water_track': track}


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return readings with noise of the beams, and errors of scale, mounting and compass."""
    del faults
    spec, name = sensor.spec, sensor.name
    beam_velocity, turn = readings['beam_velocity'], readings['turn']
    if spec.misalignment:
        error = mounting_error(seed, name, spec.misalignment) - np.eye(3)
        relative = _estimator(spec.beam_angle) @ beam_velocity
        beam_velocity = beam_velocity + beam_directions(spec.beam_angle) @ (error.T @ relative)
    scale = float(constant_bias(seed, f'{name}/scale_error', spec.scale_error)[0])
    noise = normal_draws(seed, name, int(stamps), beam_velocity.shape)
    beam_velocity = beam_velocity * (1 + scale) + beam_deviation(spec) * noise
    if spec.heading_bias:
        yaw = float(constant_bias(seed, f'{name}/heading_bias', spec.heading_bias)[0])
        turn = rotation_matrix(quaternion_from_rpy(0.0, 0.0, yaw)) @ turn
    return {
        **_solution(spec, beam_velocity, turn, readings['own']),
        'turn': turn,
        'own': readings['own'],
    }


def beam_deviation(spec: Adcp) -> float:
    """Return the standard deviation of a beam's velocity in a reading, m/s: σ/√pings."""
    return float(spec.velocity_noise / math.sqrt(spec.pings))


def _covariance(spec: Adcp, turn: np.ndarray) -> np.ndarray:
    """Return the covariance (3, 3) of a layer's velocity along its axes: σ² P Pᵀ, m²/s²."""
    estimator = _estimator(spec.beam_angle)
    if spec.earth:
        estimator = turn @ estimator
    return np.asarray(beam_deviation(spec) ** 2 * estimator @ estimator.T)


def _profile(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the layers as a cloud of one row: a point on the axis for each layer."""
    spec = sensor.spec
    distance = layer_distances(spec)
    points = distance[:, None] * np.array([0.0, 0.0, 1.0])
    deviation = np.sqrt(np.diag(_covariance(spec, readings['turn'])))
    velocity = readings['velocity'].astype('<f4')
    lost = np.isnan(velocity[:, 0])
    channels: dict[str, np.ndarray] = {
        **{name: velocity[None, :, i] for i, name in enumerate('uvw')},
        **{
            f'{name}_deviation': np.where(lost, np.nan, deviation[i]).astype('<f4')[None]
            for i, name in enumerate('uvw')
        },
    }
    return point_cloud(points[None], channels)


def _beams(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the cells of the beams, a row for each beam, with their velocities away."""
    spec = sensor.spec
    slant = layer_distances(spec) / math.cos(math.radians(spec.beam_angle))
    points = beam_directions(spec.beam_angle)[:, None] * slant[:, None]
    return point_cloud(points, {'velocity': readings['beam_velocity'].astype('<f4')})


_TWIST = 'geometry_msgs/msg/TwistWithCovarianceStamped'


def _water_track(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    """Return the velocity through the water of the reference layer, in the instrument's axes."""
    if not np.all(np.isfinite(readings['water_track'])):
        return None
    estimator = _estimator(sensor.spec.beam_angle)
    covariance = np.diag([0.0] * 3 + [-1.0] * 3)  # it measures no rates
    covariance[:3, :3] = beam_deviation(sensor.spec) ** 2 * estimator @ estimator.T
    return message_fields(
        _TWIST, linear=readings['water_track'], covariance=covariance.reshape(-1)
    )


def _charted_layers(count: int) -> list[int]:
    """Return the numbers of the layers that are charted: the first, a middle and the last one."""
    return [0, count // 2, count - 1]


def _numbers(message: Any) -> tuple[float, ...]:
    points = points_of(message).reshape(-1)
    if 'u' not in (points.dtype.names or ()):
        return ()
    chosen = points[_charted_layers(len(points))]
    return tuple(float(row[name]) for row in chosen for name in 'uv')


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    chosen = _charted_layers(int(sensor.spec.layers))
    truth = ideal['velocity'][:, chosen, :2].reshape(len(numbers), -1)
    deviation = [np.sqrt(np.diag(_covariance(sensor.spec, turn)))[:2] for turn in ideal['turn']]
    return ReadingComparison(numbers, truth, np.tile(np.array(deviation), (1, len(chosen))))


_PARTS = tuple(f'{name}, {where}' for where in ('first', 'middle', 'last') for name in 'uv')

ADCP = SensorModel(
    'adcp',
    _measure,
    disturb=_disturb,
    spec=Adcp,
    rate=1.0,
    sees=True,
    label='ADCP',
    looks='z',
    topics=(
        SensorTopic('profile', 'sensor_msgs/msg/PointCloud2', _profile),
        SensorTopic('beams', 'sensor_msgs/msg/PointCloud2', _beams),
        SensorTopic('water_track', _TWIST, _water_track),
    ),
    charts=(
        SensorChart('profile', 'water velocity', 'm/s', _numbers, _compare, parts=_PARTS),
        SensorChart(
            'water_track',
            'velocity through water',
            'm/s',
            message_numbers(_TWIST, 'linear', 'linear_variance'),
            against_ideal('water_track'),
            parts=('x', 'y', 'z'),
        ),
    ),
    quiet='out of the water, or nothing but the boundary in range',
)
