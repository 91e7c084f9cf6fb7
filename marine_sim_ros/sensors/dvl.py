# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Doppler velocity log: beam ranges and velocities, their least squares, dead reckoning.

It looks along the z axis of its frame, x is ahead and y to the right, as in the
instruments and in marine_acoustic_msgs/Dvl. Beams 1 to 4 point 135°, −135°, −45° and 45° from x to
y, as those of the A50.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.core.messages import message_fields, message_numbers
from marine_sim_ros.core.random import gaussian, stamp_words, uniform
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.spatial import cross, quaternion_product
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.environment.rays import WATER_SURFACE, hit_materials
from marine_sim_ros.faults.fault_types import Fault, fault_key, uniform_draws
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import beam_hits
from marine_sim_ros.sensors.dead_reckoning import DeadReckoning, dead_reckoning, true_path
from marine_sim_ros.sensors.noise import mounting_error
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    against_ideal,
    vector_fields,
)

__all__ = ['DVL_MODEL', 'beam_directions']

AZIMUTHS = (135.0, -135.0, -45.0, 45.0)


@dataclass(frozen=True, eq=False)
class DvlSpec:
    """Parameters of a DVL."""

    beam_angle: float = number(22.5, 1.0, 60.0, 'deg', 'angle between the beams and the axis')
    min_altitude: float = number(0.05, 0.0, 1e3, 'm', 'least altitude')
    max_altitude: float = number(50.0, 0.1, 1e4, 'm', 'greatest altitude')
    max_velocity: float = number(3.75, 0.01, 100.0, 'm/s', 'greatest speed')
    incidence: float = number(
        70.0, 1.0, 90.0, 'deg', 'greatest angle between a beam and the normal of the bottom'
    )
    velocity_noise: float = number(
        0.003, 0.0, 10.0, 'm/s', "standard deviation of a beam's velocity at the bottom"
    )
    velocity_noise_rate: float = number(
        0.0002, 0.0, 10.0, '1/s', 'by which that grows per m of range'
    )
    scale_error: float = number(
        1.01, 0.0, 100.0, '%', 'largest error of scale of the velocity; drawn once per seed'
    )
    misalignment: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the mounting angles, per axis'
    )
    range_noise: float = number(
        0.005, 0.0, 1.0, '', 'standard deviation of a range, a fraction of it'
    )
    dropout: float = number(
        0.02, 0.0, 1.0, '', 'share of lost beams at the greatest altitude; grows with its square'
    )
    heading_drift: float = number(
        5.0, 0.0, 1e4, 'deg/h', 'largest drift of its own heading; drawn once per seed'
    )


@lru_cache(maxsize=32)
def beam_directions(angle: float) -> np.ndarray:
    """Return the unit vectors (4, 3) of beams at an angle in degrees, frame of the sensor."""
    tilt, azimuth = math.radians(angle), np.radians(AZIMUTHS)
    sine = math.sin(tilt)
    beams = [sine * np.cos(azimuth), sine * np.sin(azimuth), np.full(4, math.cos(tilt))]
    return np.stack(beams, axis=-1)


@lru_cache(maxsize=32)
def _estimators(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least-squares estimator and its covariance for each set of valid beams.

    (16, 3, 4) P with v = P v_beams, and (16, 3, 3) (BᵀB)⁻¹; NaN for fewer than three beams. Bit i
    of a set's number is beam i.
    """
    beams = beam_directions(angle)
    estimator, covariance = np.full((16, 3, 4), np.nan), np.full((16, 3, 3), np.nan)
    for index in range(16):
        valid = np.array([bool(index >> i & 1) for i in range(4)])
        if valid.sum() >= 3:
            used = beams * valid[:, None]
            covariance[index] = np.linalg.inv(used.T @ used)
            estimator[index] = covariance[index] @ used.T
    return estimator, covariance


def _beam_set_index(valid: np.ndarray) -> np.ndarray:
    """Return the numbers (...) of sets of valid beams (..., 4)."""
    return np.sum(valid * np.array([1, 2, 4, 8]), axis=-1)


def _least_squares_velocity(spec: DvlSpec, ranges: np.ndarray, velocities: np.ndarray) -> Readings:
    """Return a DVL's solution from ranges and velocities (..., 4) of its beams; NaN: lost ones."""
    valid = np.isfinite(ranges)
    chosen = _beam_set_index(valid)
    estimator, covariance = (table[chosen] for table in _estimators(spec.beam_angle))
    measured = np.where(valid, velocities, 0.0)
    velocity = np.sum(estimator * measured[..., None, :], axis=-1)
    speed = np.sqrt(np.sum(velocity * velocity, axis=-1))
    velocity = np.where((speed > spec.max_velocity)[..., None], np.nan, velocity)
    count = np.sum(valid, axis=-1)
    total = np.sum(np.where(valid, ranges, 0.0), axis=-1) * math.cos(math.radians(spec.beam_angle))
    altitude = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    mean = altitude / math.cos(math.radians(spec.beam_angle))
    deviation = _deviation(spec, np.where(count > 0, mean, np.nan))
    spread = deviation[..., None, None] ** 2 * covariance
    return {
        'altitude': altitude,
        'velocity': velocity,
        'covariance': np.reshape(spread, (*spread.shape[:-2], 9)),
        'figure_of_merit': np.sqrt(spread[..., 0, 0] + spread[..., 1, 1] + spread[..., 2, 2]),
        'range': ranges,
        'beam_velocity': np.where(valid, velocities, np.nan),
    }


def _deviation(spec: DvlSpec, ranges: np.ndarray) -> np.ndarray:
    """Return the standard deviation (...) of the velocities of beams of ranges (...) m, m/s."""
    return np.asarray(spec.velocity_noise + spec.velocity_noise_rate * ranges)


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the ideal readings: the beams' ranges to the bottom, and what follows from them.

    A beam is lost that meets nothing within the altitudes of the instrument, the surface of the
    water, or the bottom at too great an angle.
    """
    del inputs
    spec = sensor.spec
    cosine = math.cos(math.radians(spec.beam_angle))
    directions = beam_directions(spec.beam_angle)
    hits, rays = beam_hits(sensor, state, environment, directions, spec.max_altitude / cosine)
    bottom = np.array([bool(m) and m != WATER_SURFACE for m in hit_materials(environment)])
    valid = bottom[hits.surface.astype(int)] & (hits.distance * cosine >= spec.min_altitude)
    facing = -np.sum(hits.normal * rays, axis=-1)
    valid = valid & (facing >= math.cos(math.radians(spec.incidence)))
    ranges = np.where(valid, hits.distance, np.nan)
    velocities = _velocity_over_ground(sensor, state) @ directions.T
    if environment.fields is not None:
        # A Doppler shift is that of the speed of sound at the transducer; the instrument
        # converts with its configured one, SOUND_SPEED.
        speed = environment.sound_speed(state.position)[..., None]
        velocities = velocities * (SOUND_SPEED / speed)
    readings = _least_squares_velocity(spec, ranges, velocities)
    attitude = quaternion_product(state.orientation, sensor.place.quaternion)
    return {**readings, 'attitude': attitude}


def _velocity_over_ground(sensor: Sensor, state: State) -> np.ndarray:
    """Return the velocity (..., 3) of the sensor over ground, its frame, m/s: v + ω × r."""
    nu = state.velocity
    turning = cross(nu[..., 3:], np.broadcast_to(sensor.position, nu[..., 3:].shape))
    return np.asarray((nu[..., :3] + turning) @ sensor.rotation)


def _add_errors(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return readings with noise of the beams, lost beams, and the error of scale."""
    del faults
    spec, name = sensor.spec, sensor.name

    def draws(what: str) -> np.ndarray:
        return np.stack([gaussian(seed, f'{name}/{what}{i}', stamps) for i in range(4)], axis=-1)

    ranges = np.asarray(readings['range'])
    cosine = math.cos(math.radians(spec.beam_angle))
    chance = spec.dropout * (ranges * cosine / spec.max_altitude) ** 2
    random_words = stamp_words(np.asarray(stamps))
    drawn = [
        uniform_draws(np, np.array(fault_key(seed, f'{name}/loss{i}')), random_words)
        for i in range(4)
    ]
    ranges = np.where(np.stack(drawn, axis=-1) < chance, np.nan, ranges)
    scale = 1 + 0.01 * spec.scale_error * (2 * float(uniform(seed, f'{name}/scale', 1)[0]) - 1)
    noise = _deviation(spec, ranges) * draws('velocity')
    velocities = np.asarray(readings['beam_velocity'])
    if spec.misalignment:
        misalignment_rotation = mounting_error(seed, name, spec.misalignment)
        directions = beam_directions(spec.beam_angle)
        velocities = velocities + np.nan_to_num(
            readings['velocity'] @ (misalignment_rotation - np.eye(3)) @ directions.T
        )
    velocities = velocities * scale + noise
    noisy = _least_squares_velocity(
        spec, ranges * (1 + spec.range_noise * draws('range')), velocities
    )
    return {**noisy, 'attitude': _add_heading_drift(sensor, readings['attitude'], stamps, seed)}


def _add_heading_drift(
    sensor: Sensor, attitude: np.ndarray, stamps: int | np.ndarray, seed: int
) -> np.ndarray:
    """Return attitudes (..., 4) with the drift of the heading that its own gyroscopes have."""
    fraction = 2 * float(uniform(seed, f'{sensor.name}/drift', 1)[0]) - 1
    rate = math.radians(fraction * sensor.spec.heading_drift) / 3600
    half = 0.5 * rate * (np.asarray(stamps) / NANOSECONDS)
    sine, cosine = np.sin(half), np.cos(half)
    # Written out, so that one reading and many round alike.
    x, y, z, w = (np.asarray(attitude)[..., i] for i in range(4))
    drifted = (
        cosine * x - sine * y,
        cosine * y + sine * x,
        cosine * z + sine * w,
        cosine * w - sine * z,
    )
    return np.stack(drifted, axis=-1)


def _dead_reckon(
    sensor: Sensor, memory: DeadReckoning | None, stamp: int, readings: Readings
) -> tuple[Readings, DeadReckoning]:
    return dead_reckoning(memory, stamp, readings, 0.01 * sensor.spec.scale_error)


_TWIST, _ODOMETRY = 'geometry_msgs/msg/TwistWithCovarianceStamped', 'nav_msgs/msg/Odometry'
_ALTITUDE, _BEAMS = 'sensor_msgs/msg/Range', 'marine_acoustic_msgs/msg/Dvl'


def _odometry(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the dead reckoning; what it does not know has the variance −1."""
    pose = np.zeros((6, 6))
    pose[:3, :3] = float(readings['position_variance']) * np.eye(3)
    pose[3:, 3:] = -np.eye(3)
    twist = _twist(sensor, readings)
    known = {'twist_covariance': -np.eye(6).reshape(-1)}
    if twist is not None:
        known = {'twist_covariance': _twist_covariance(readings), 'linear': readings['velocity']}
    return message_fields(
        _ODOMETRY,
        position=readings['position'],
        orientation=readings['position_attitude'],
        pose_covariance=pose.reshape(-1),
        **known,
    )


def _twist_covariance(readings: Readings) -> np.ndarray:
    covariance = np.full((6, 6), 0.0)
    covariance[:3, :3] = np.reshape(readings['covariance'], (3, 3))
    covariance[3:, 3:] = -np.eye(3)  # it measures no rates
    return covariance.reshape(-1)


def _twist(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    del sensor
    if not np.all(np.isfinite(readings['velocity'])):
        return None
    covariance = _twist_covariance(readings)
    return message_fields(_TWIST, linear=readings['velocity'], covariance=covariance)


def _figure_of_merit(sensor: Sensor, readings: Readings) -> Mapping[str, Any] | None:
    """Return the figure of merit, m/s, of a velocity that is sent."""
    if _twist(sensor, readings) is None:
        return None
    return {'data': float(readings['figure_of_merit'])}


def _altitude(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    spec = sensor.spec
    return {
        'radiation_type': 0,
        'field_of_view': 2 * math.radians(spec.beam_angle),
        'min_range': spec.min_altitude,
        'max_range': spec.max_altitude,
        **message_fields(_ALTITUDE, range=float(readings['altitude'])),
    }


def _beams(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the fields of marine_acoustic_msgs/Dvl; −1: unknown, as its definition says."""
    spec, valid = sensor.spec, np.isfinite(readings['range'])
    moving = bool(np.all(np.isfinite(readings['velocity'])))
    velocity = np.nan_to_num(readings['velocity'])
    covariance = readings['covariance'] if moving else np.full(9, -1.0)
    ranges = np.where(valid, readings['range'], -1.0)
    deviation = np.where(valid, _deviation(spec, readings['range']) ** 2, -1.0)
    spread = np.where(valid, (spec.range_noise * readings['range']) ** 2, -1.0)
    return {
        'velocity_mode': 1,
        'dvl_type': 0,
        'course_gnd': math.atan2(velocity[1], velocity[0]),
        'speed_gnd': math.hypot(velocity[0], velocity[1]),
        'num_good_beams': int(np.sum(valid)),
        'sound_speed': SOUND_SPEED,
        'beam_ranges_valid': True,
        'beam_velocities_valid': True,
        'beam_unit_vec': [vector_fields(beam) for beam in beam_directions(spec.beam_angle)],
        'beam_quality': valid.astype(np.float32),
        **message_fields(
            _BEAMS,
            velocity=velocity,
            velocity_covariance=covariance,
            altitude=float(readings['altitude']) if np.any(valid) else -1.0,
            range=ranges,
            range_variance=spread.astype(np.float32),
            beam_velocity=np.nan_to_num(readings['beam_velocity']).astype(np.float32),
            beam_velocity_variance=deviation.astype(np.float32),
        ),
    }


def _compare_altitude(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    """Return the altitude: the mean of ranges r with the deviation s r has s √(Σ r²)/n."""
    del state
    spec, ranges = sensor.spec, ideal['range']
    count = np.sum(np.isfinite(ranges), axis=-1)
    length = np.sqrt(np.nansum(ranges * ranges, axis=-1)) / np.maximum(count, 1)
    deviation = spec.range_noise * math.cos(math.radians(spec.beam_angle)) * length
    return ReadingComparison(numbers, ideal['altitude'][:, None], deviation[:, None])


def _compare_position(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    """Return the dead reckoning beside the way of the sensor from its first message on."""
    del ideal
    truth = true_path(state, sensor.position, sensor.place.quaternion)
    return ReadingComparison(numbers[:, :3], truth, np.sqrt(numbers[:, 3:]))


def _compare_beams(quantity: str) -> Callable[..., ReadingComparison]:
    """Return a comparison of a quantity of the beams; a lost beam has the variance −1."""

    def compare(
        sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
    ) -> ReadingComparison:
        del sensor, state
        values, variance = np.split(numbers, 2, axis=1)
        has_variance = variance >= 0
        deviation = np.sqrt(np.where(has_variance, variance, np.nan))
        return ReadingComparison(
            np.where(has_variance, values, np.nan), ideal[quantity], deviation
        )

    return compare


_AXES, _BEAM_NAMES = ('x', 'y', 'z'), ('1', '2', '3', '4')
_CHARTS = (
    SensorChart(
        'twist',
        'velocity',
        'm/s',
        message_numbers(_TWIST, 'linear', 'linear_variance'),
        against_ideal('velocity'),
        parts=_AXES,
    ),
    SensorChart(
        'figure_of_merit',
        'figure of merit',
        'm/s',
        message_numbers('std_msgs/msg/Float32', 'data'),
        against_ideal('figure_of_merit'),
    ),
    SensorChart(
        'altitude', 'altitude', 'm', message_numbers(_ALTITUDE, 'range'), _compare_altitude
    ),
    SensorChart(
        'odometry',
        'dead reckoning',
        'm',
        message_numbers(_ODOMETRY, 'position', 'x_variance'),
        _compare_position,
        parts=_AXES,
    ),
    SensorChart(
        'beams',
        'beam range',
        'm',
        message_numbers(_BEAMS, 'range', 'range_variance'),
        _compare_beams('range'),
        parts=_BEAM_NAMES,
    ),
    SensorChart(
        'beams',
        'beam velocity',
        'm/s',
        message_numbers(_BEAMS, 'beam_velocity', 'beam_velocity_variance'),
        _compare_beams('beam_velocity'),
        parts=_BEAM_NAMES,
    ),
)

DVL_MODEL = SensorModel(
    'dvl',
    _measure,
    disturb=_add_errors,
    spec=DvlSpec,
    follow=_dead_reckon,
    rate=5.0,
    sees=True,
    label='DVL',
    looks='z',
    down=True,
    topics=(
        SensorTopic('twist', _TWIST, _twist),
        SensorTopic('figure_of_merit', 'std_msgs/msg/Float32', _figure_of_merit),
        SensorTopic('altitude', _ALTITUDE, _altitude),
        SensorTopic('odometry', _ODOMETRY, _odometry, odometry=True),
        SensorTopic('beams', _BEAMS, _beams),
    ),
    charts=_CHARTS,
)
