# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""IMU: specific force and angular velocity at the sensor's position, in its axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import (
    cross,
    matrix_quaternion,
    quaternion_product,
    rotation_vector_quaternion,
    rpy_from_quaternion,
    up_in_body,
)
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import (
    constant_bias,
    mounting_error,
    quantize,
    slow_noise,
    white_noise,
)
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
    diagonal,
    quaternion_fields,
    vector_fields,
)

__all__ = ['IMU', 'specific_force']


NO_ORIENTATION = np.array([-1.0, *[0.0] * 8])


@declaration(frozen=True)
class Imu:
    """Parameters of an IMU; terms of noise as the Allan variance has them (IEEE Std 952-1997)."""

    gyro_noise: float = number(0.0, 0.0, 10.0, 'rad/s/√Hz', 'white noise of the gyroscopes')
    gyro_bias_instability: float = number(0.0, 0.0, 10.0, 'rad/s', 'flicker noise of their bias')
    gyro_random_walk: float = number(0.0, 0.0, 10.0, 'rad/s/√s', 'random walk of their bias')
    gyro_bias: float = number(0.0, 0.0, 10.0, 'rad/s', 'standard deviation of the turn-on bias')
    gyro_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale, per axis'
    )
    gyro_range: float = number(0.0, 0.0, 1e4, 'rad/s', 'greatest reading; 0: no limit')
    gyro_resolution: float = number(0.0, 0.0, 10.0, 'rad/s', 'step of the readings; 0: none')
    accelerometer_noise: float = number(
        0.0, 0.0, 100.0, 'm/s²/√Hz', 'white noise of the accelerometers'
    )
    accelerometer_bias_instability: float = number(
        0.0, 0.0, 100.0, 'm/s²', 'flicker noise of their bias'
    )
    accelerometer_random_walk: float = number(
        0.0, 0.0, 100.0, 'm/s²/√s', 'random walk of their bias'
    )
    accelerometer_bias: float = number(
        0.0, 0.0, 100.0, 'm/s²', 'standard deviation of the turn-on bias'
    )
    accelerometer_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale, per axis'
    )
    accelerometer_range: float = number(0.0, 0.0, 1e5, 'm/s²', 'greatest reading; 0: no limit')
    accelerometer_resolution: float = number(
        0.0, 0.0, 100.0, 'm/s²', 'step of the readings; 0: none'
    )
    misalignment: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the mounting angles, per axis'
    )
    orientation: float = number(0.0, 0.0, 1.0, '', '1: it estimates its attitude too')
    orientation_noise: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the attitude, per axis'
    )


def specific_force(
    state: State, acceleration: Array, position: np.ndarray, gravity: float
) -> Array:
    """Return the specific force (..., 3) at a point of the body, body axes, m/s².

    f = v̇ + ω × v + ω̇ × r + ω × (ω × r) − Rᵀ g, with the rate of change (v̇, ω̇) of the body-frame
    velocity: at rest it is +g upwards (REP 145).
    Source: Titterton and Weston (2004), Strapdown Inertial Navigation Technology, section 3.5;
    Fossen (2011), eq. 7.26 for the lever arm.

    Args:
        acceleration: (..., 6) of SensorInputs.
        position: (3,) of the point, m.
        gravity: m/s².
    """
    xp = namespace(state.velocity)
    v, w = state.velocity[..., :3], state.velocity[..., 3:]
    arm = constant(xp, position) + xp.zeros_like(w)
    acceleration_at_sensor = (
        acceleration[..., :3] + cross(w, v + cross(w, arm)) + cross(acceleration[..., 3:], arm)
    )
    return acceleration_at_sensor + gravity * up_in_body(state.orientation)


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return rates, specific force (..., 3) and attitude (..., 4) in the sensor's axes."""
    force = specific_force(state, inputs.acceleration, sensor.position, environment.gravity)
    to_sensor = constant(namespace(force), sensor.rotation.T)
    result = {
        'angular_velocity': matvec(to_sensor, state.velocity[..., 3:]),
        'linear_acceleration': matvec(to_sensor, force),
    }
    if sensor.spec.orientation:
        mounting = sensor.place.quaternion + 0.0 * state.orientation
        result['orientation'] = quaternion_product(state.orientation, mounting)
    return result


def _noise(sensor: Sensor, part: str, stamps: int | np.ndarray, seed: int) -> np.ndarray:
    """Return the noise (..., 3) of the gyroscopes or the accelerometers."""
    spec, name = sensor.spec, f'{sensor.name}/{part}'

    def term(what: str) -> float:
        return float(getattr(spec, f'{part}_{what}'))

    slow = slow_noise(
        seed, name, stamps, instability=term('bias_instability'), random_walk=term('random_walk')
    )
    fast = white_noise(seed, name, stamps, _deviation(sensor, part))
    return fast + slow + constant_bias(seed, name, term('bias'))


def _deviation(sensor: Sensor, part: str) -> float:
    """Return the standard deviation of white noise of a density N at a rate f: N √f."""
    return float(getattr(sensor.spec, f'{part}_noise')) * math.sqrt(NANOSECONDS / sensor.period)


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Add errors of mounting and scale, noise and biases; then limit and quantise readings."""
    del faults
    spec, result = sensor.spec, dict(readings)
    if spec.misalignment:
        mounted = mounting_error(seed, sensor.name, spec.misalignment)
        for quantity in ('angular_velocity', 'linear_acceleration'):
            result[quantity] = result[quantity] @ mounted
        if spec.orientation:
            quaternion = matrix_quaternion(mounted)
            result['orientation'] = quaternion_product(result['orientation'], quaternion)
    for part, quantity in (('gyro', 'angular_velocity'), ('accelerometer', 'linear_acceleration')):
        error = getattr(spec, f'{part}_scale_error')
        scale = 1 + constant_bias(seed, f'{sensor.name}/{part}/scale', error)
        result[quantity] = quantize(
            result[quantity] * scale + _noise(sensor, part, stamps, seed),
            getattr(spec, f'{part}_range'),
            getattr(spec, f'{part}_resolution'),
        )
    if spec.orientation and spec.orientation_noise:
        quaternion = white_noise(
            seed, f'{sensor.name}/orientation', stamps, spec.orientation_noise
        )
        result['orientation'] = quaternion_product(
            result['orientation'], rotation_vector_quaternion(quaternion)
        )
    return result


def _variance(sensor: Sensor, part: str) -> float:
    """Return the variance of white noise and of rounding to whole steps."""
    return _deviation(sensor, part) ** 2 + getattr(sensor.spec, f'{part}_resolution') ** 2 / 12


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    return {
        'orientation_covariance': NO_ORIENTATION,  # there is none (sensor_msgs/Imu)
        'angular_velocity': vector_fields(readings['angular_velocity']),
        'angular_velocity_covariance': diagonal(_variance(sensor, 'gyro')),
        'linear_acceleration': vector_fields(readings['linear_acceleration']),
        'linear_acceleration_covariance': diagonal(_variance(sensor, 'accelerometer')),
    }


def _fields_with_orientation(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    return {
        **_fields(sensor, readings),
        'orientation': quaternion_fields(readings['orientation']),
        'orientation_covariance': diagonal(sensor.spec.orientation_noise**2),
    }


def _compare_attitude(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    """Return roll, pitch and yaw, whose noise is that of the axes near to level."""
    del sensor, state
    angles = (rpy_from_quaternion(q) for q in (numbers[:, :4], ideal['orientation']))
    return ReadingComparison(*map(np.degrees, (*angles, np.sqrt(numbers[:, 4:]))))


IMU = SensorModel(
    'imu',
    _measure,
    disturb=_disturb,
    spec=Imu,
    topics=(
        SensorTopic('data_raw', 'sensor_msgs/msg/Imu', _fields),
        SensorTopic(
            'data',
            'sensor_msgs/msg/Imu',
            _fields_with_orientation,
            when=lambda sensor: bool(sensor.spec.orientation),
        ),
    ),
    charts=(
        SensorChart(
            'data_raw',
            'angular velocity',
            '°/s',
            message_numbers('sensor_msgs/msg/Imu', 'rates', 'rates_variance'),
            against_ideal('angular_velocity', math.degrees(1.0)),
            parts=('x', 'y', 'z'),
        ),
        SensorChart(
            'data_raw',
            'specific force',
            'm/s²',
            message_numbers('sensor_msgs/msg/Imu', 'force', 'force_variance'),
            against_ideal('linear_acceleration'),
            parts=('x', 'y', 'z'),
        ),
        SensorChart(
            'data',
            'attitude',
            '°',
            message_numbers('sensor_msgs/msg/Imu', 'orientation', 'orientation_variance'),
            _compare_attitude,
            parts=('roll', 'pitch', 'yaw'),
            period=360.0,
        ),
    ),
    needs=('acceleration',),
    rate=100.0,
    slowest=0.001,
    label='IMU',
)
