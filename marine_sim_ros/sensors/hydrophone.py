# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Array of hydrophones: direction of a pinger of the scene by differences of arrival times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.beacons import Beacon
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.sensors.acoustics import (
    absorption,
    normal_draws,
    reflectivity,
    transmission_loss,
)
from marine_sim_ros.sensors.noise import constant_bias, mounting_error
from marine_sim_ros.sensors.partners import sound_way
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
    one_state_at_a_time,
    vector_fields,
)

__all__ = ['HYDROPHONE', 'is_in_sight', 'received_level']

_COUNT = 4


@declaration(frozen=True)
class Hydrophone:
    """Parameters of an array of four hydrophones and its receiver."""

    positions: tuple[float, ...] = number(
        (0.0, 0.0, 0.0, 0.0185, 0.0, 0.0, 0.0, 0.0185, 0.0, 0.0, 0.0, -0.0185), -100.0, 100.0, 'm',
        'places of four hydrophones in its frame, one after the other',
    )  # fmt: skip
    frequency: float = number(30.0, 0.1, 1000.0, 'kHz', 'middle of the band of the receiver')
    bandwidth: float = number(5.0, 0.001, 1000.0, 'kHz', 'width of that band')
    pulse_length: float = number(4.0, 0.001, 1000.0, 'ms', 'length of a ping')
    noise_level: float = number(95.0, -50.0, 200.0, 'dB', 're 1 µPa, in the band')
    threshold: float = number(
        6.0, -50.0, 100.0, 'dB', 'least signal-to-noise ratio of a ping that is detected'
    )
    time_noise: float = number(
        0.0, 0.0, 1.0, 's', 'standard deviation of an arrival time beside that of the noise'
    )
    time_bias: float = number(
        0.0, 0.0, 1.0, 's', "standard deviation of a hydrophone's constant delay"
    )
    misalignment: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the mounting angles, per axis'
    )
    multipath: float = number(
        0.0, 0.0, 1.0, '', '1: the first echoes of surface and bottom add to the level', whole=True
    )
    sound_speed: float = number(1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound in uniform water')
    assumed_sound_speed: float = number(
        1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound that it takes for true'
    )

    def __post_init__(self) -> None:
        """Check that three hydrophones are not on one line.

        Raises:
            ValueError: they are.
        """
        baselines = np.array(self.positions).reshape(-1, 3)[1:] - np.array(self.positions[:3])
        if np.linalg.matrix_rank(baselines, tol=1e-6) < 2:
            raise ValueError(
                '<positions> are on one line; expected hydrophones that span a plane or space'
            )


class _Array(NamedTuple):
    """Least squares of a direction.

    Attributes:
        solver: (3, 3) that makes delays times −c the direction, or its part in the plane.
        normal: (3,) of the plane, towards −z of the sensor; 0 for an array in space.
    """

    solver: np.ndarray
    normal: np.ndarray


@lru_cache(maxsize=16)
def _array(positions: tuple[float, ...]) -> _Array:
    place = np.array(positions).reshape(-1, 3)
    baselines = place[1:] - place[0]
    _, size, axes = np.linalg.svd(baselines)
    normal = np.zeros(3)
    if size[2] < 1e-3 * size[1]:  # in a plane: the side is that below, or ahead
        normal = axes[2]
        normal = normal * (-np.sign(normal[2]) if abs(normal[2]) > 1e-6 else np.sign(normal[0]))
    return _Array(np.linalg.pinv(baselines, rcond=1e-3), normal)


def direction_of(spec: Hydrophone, delays: np.ndarray) -> np.ndarray:
    """Return the unit vector (3,) to a source by delays (3,) against the first hydrophone, s.

    A plane wave from the direction s arrives by −(h_i − h_0)·s/c later than at h_0. An array in a
    plane does not tell on which side the source is: it is taken to be on that of −z.
    """
    array = _array(spec.positions)
    found = array.solver @ (-spec.assumed_sound_speed * delays)
    if array.normal.any():
        found = found + math.sqrt(max(1 - float(found @ found), 0.0)) * array.normal
    return np.asarray(found / max(float(np.linalg.norm(found)), 1e-12))


def is_in_sight(environment: Environment, point: np.ndarray, other: np.ndarray) -> bool:
    """Return whether both points (3,) are in the water and nothing of the scene is between."""
    if point[2] >= environment.elevation(point) or other[2] >= environment.elevation(other):
        return False
    if environment.scene is None:
        return True
    away = other - point
    distance = float(np.linalg.norm(away))
    if distance < 1e-6:
        return True
    hits = cast_rays(environment.scene, point, away / distance, distance)
    return float(hits.distance) >= distance - 1e-3


def received_level(
    environment: Environment, beacon: Beacon, point: np.ndarray, *, multipath: bool = False
) -> float:
    """Return the level of a beacon at a point (3,), dB re 1 µPa: SL − 20 log₁₀ r − a r.

    With ``multipath`` it is that of the sum of the direct sound and of the first echoes of surface
    and bottom, which come from mirror images of the beacon:
    |Σ R_i/r_i 10^(−a r_i/20) exp(i k r_i)| with R = −1 of the surface (Lloyd's mirror) and
    |Z − Z_w|/(Z + Z_w) of the level ground at the middle. Source: Urick (1983), section 6.5;
    Kinsler et al. (2000), section 15.8.
    """
    away = np.array(beacon.position) - point
    distance = max(float(np.linalg.norm(away)), 1.0)
    middle = point + 0.5 * away
    loss = absorption(
        beacon.frequency,
        float(environment.water_temperature(middle)),
        float(environment.water_salinity(middle)),
        max(-float(middle[2]), 0.0),
    )
    if not multipath:
        return float(beacon.source_level - transmission_loss(np.array(distance), loss))
    speed = float(environment.mean_sound_speed(point, np.array(beacon.position)))
    wave_number = 2e3 * math.pi * beacon.frequency / speed
    pressure = 0j
    for factor, plane in ((1.0, math.nan), *_mirrors(environment, middle)):
        image = np.array(beacon.position)
        if math.isfinite(plane):
            image[2] = 2 * plane - image[2]
        path = max(float(np.linalg.norm(image - point)), 1.0)
        spread = factor / path * 10.0 ** (-loss * path / 20)
        pressure += spread * complex(math.cos(wave_number * path), math.sin(wave_number * path))
    return float(beacon.source_level + 20 * math.log10(max(abs(pressure), 1e-12)))


def _mirrors(environment: Environment, middle: np.ndarray) -> list[tuple[float, float]]:
    """Return factor of the pressure and height, m, of surface and ground at a point (3,)."""
    found = [(-1.0, float(environment.elevation(middle)))]
    if environment.scene is None:
        return found
    down = np.array([0.0, 0.0, -1.0])
    hits = cast_rays(environment.scene, middle, down, 1.2e4)
    if math.isfinite(float(hits.distance)):
        material = environment.scene.materials[int(hits.surface)]
        found.append((math.sqrt(reflectivity(material)), float(middle[2] - hits.distance)))
    return found


def _arrives(beacon: Beacon, travel: float, time: float, period: float) -> bool:
    """Return whether a ping arrives in the interval of a reading, that of its multiple of period.

    Readings are at the first ticks after multiples of the period, so that each ping is in one.
    """
    end = math.floor(time / period + 1e-9) * period
    number_of_ping = math.floor((end - beacon.start - travel) / beacon.period)
    arrival = beacon.start + number_of_ping * beacon.period + travel
    return number_of_ping >= 0 and arrival > end - period


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return direction, delays and level of the loudest ping in the band since the last reading.

    ``true_direction`` is that to the beacon; ``deviation`` that of the time at one hydrophone by
    the noise, s: the Cramér-Rao bound 1/(2π f √(2 q B T)) of the phase of a tone of the length T
    at the signal-to-noise ratio q in the band B (Rife and Boorstyn 1974, IEEE Trans. Information
    Theory 20(5)).
    """
    spec = sensor.spec
    turn = rotation_matrix(state.orientation) @ sensor.rotation
    origin = in_map(state.position, state.orientation, sensor.position[None, :])[0]
    place = origin + np.array(spec.positions).reshape(-1, 3) @ turn.T
    period = max(sensor.period, 1_000_000) / NANOSECONDS
    best, level = None, spec.noise_level + spec.threshold
    for beacon in environment.beacons:
        if not beacon.period or abs(beacon.frequency - spec.frequency) > spec.bandwidth / 2:
            continue
        source = np.array(beacon.position)
        away, speed = sound_way(environment, origin, source, spec.sound_speed)
        if not speed > 0:
            continue
        ranges = np.linalg.norm(origin + away - place, axis=-1)
        if not _arrives(beacon, float(ranges[0]) / speed, float(inputs.time), period):
            continue
        found = received_level(environment, beacon, place[0], multipath=bool(spec.multipath))
        if found >= level and is_in_sight(environment, place[0], source):
            best, level = (beacon, source, ranges / speed), found
    if best is None:
        lost = np.full(3, np.nan)
        return {
            'direction': lost, 'delays': lost, 'level': np.array(np.nan),
            'true_direction': lost, 'deviation': np.array(np.nan),
        }  # fmt: skip
    beacon, source, times = best
    delays = times[1:] - times[0]
    gain = 1e3 * spec.bandwidth * 1e-3 * spec.pulse_length
    ratio = 10.0 ** (0.1 * (level - spec.noise_level)) * gain
    deviation = 1 / (2 * math.pi * 1e3 * beacon.frequency * math.sqrt(2 * ratio))
    away = (source - origin) @ turn
    return {
        'direction': direction_of(spec, delays),
        'delays': delays,
        'level': np.array(level),
        'true_direction': away / max(float(np.linalg.norm(away)), 1e-12),
        'deviation': np.array(math.hypot(deviation, spec.time_noise)),
    }


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return a reading with noise of the arrival times, and errors of delays and mounting."""
    del faults
    if np.isnan(readings['level']):
        return readings
    spec, name = sensor.spec, sensor.name
    arrival = readings['deviation'] * normal_draws(seed, name, int(stamps), (_COUNT,))
    arrival = arrival + [
        constant_bias(seed, f'{name}/time_bias{i}', spec.time_bias)[0] for i in range(_COUNT)
    ]
    delays = readings['delays'] + arrival[1:] - arrival[0]
    direction = direction_of(spec, delays)
    if spec.misalignment:
        direction = direction @ mounting_error(seed, name, spec.misalignment)
    return {**readings, 'direction': direction, 'delays': delays}


def _direction(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'vector': vector_fields(readings['direction'])}


def _delays(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'data': np.asarray(readings['delays'], float)}


def _level(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'data': float(readings['level'])}


def _angles(direction: np.ndarray) -> np.ndarray:
    """Return azimuth from x towards y and elevation towards z (..., 2) of directions, rad."""
    level = np.hypot(direction[..., 0], direction[..., 1])
    azimuth = np.arctan2(direction[..., 1], direction[..., 0])
    return np.stack([azimuth, np.arctan2(direction[..., 2], level)], axis=-1)


def _angle_deviation(spec: Hydrophone, direction: np.ndarray, deviation: float) -> np.ndarray:
    """Return the standard deviations (2,) of azimuth and elevation by that of an arrival, rad."""
    if not np.isfinite(deviation):
        return np.full(2, np.nan)
    array, change = _array(spec.positions), 1e-4
    rates = []
    for i in range(_COUNT):  # an arrival at the first shifts all delays
        delays = -change * np.ones(3) if i == 0 else change * np.eye(3)[i - 1]
        part = array.solver @ -delays
        inside = direction - (direction @ array.normal) * array.normal
        found = inside + part
        if array.normal.any():
            found = found + math.sqrt(max(1 - float(found @ found), 0.0)) * array.normal
        turned = _angles(found) - _angles(direction)
        rates.append((turned + math.pi) % (2 * math.pi) - math.pi)
    scale = spec.assumed_sound_speed * deviation / change
    return np.asarray(np.sqrt(np.sum(np.square(rates), axis=0)) * scale)


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    truth = ideal['true_direction']
    deviation = [
        _angle_deviation(sensor.spec, one, float(each))
        for one, each in zip(truth, ideal['deviation'], strict=True)
    ]
    return ReadingComparison(_angles(numbers), _angles(truth), np.array(deviation))


_VECTOR = 'geometry_msgs/msg/Vector3Stamped'

HYDROPHONE = SensorModel(
    'hydrophone',
    _measure,
    disturb=_disturb,
    spec=Hydrophone,
    rate=10.0,
    label='Hydrophones',
    topics=(
        SensorTopic('direction', _VECTOR, _direction),
        SensorTopic('delays', 'std_msgs/msg/Float64MultiArray', _delays),
        SensorTopic('level', 'std_msgs/msg/Float64', _level, unit='dB'),
    ),
    charts=(
        SensorChart(
            'direction',
            'azimuth and elevation',
            'rad',
            message_numbers(_VECTOR, 'vector'),
            _compare,
            parts=('azimuth', 'elevation'),
            period=2 * math.pi,
        ),
    ),
    quiet='no ping',
)
