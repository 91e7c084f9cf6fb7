# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of sonars: ranges, scans, point clouds and SonarDetections."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from marine_sim_ros.environment.environment import SOUND_SPEED
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import (
    equivalent_width,
    exponential_draws,
    normal_draws,
    sounding_deviation,
)
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.sensor_model import Readings, one_at_a_time

__all__ = [
    'confidence_message',
    'detect_echoes',
    'disturb_detections',
    'point_cloud',
    'points_of',
    'range_message',
    'scan_of_one_angle',
    'strongest_echoes',
]


# Sonars of one beam.


def range_message(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the fields of a Range; ±∞ where there is none (REP 117)."""
    spec = sensor.spec
    return {
        'radiation_type': 0,
        'field_of_view': math.radians(spec.beam_width),
        'min_range': spec.min_range,
        'max_range': spec.max_range,
        'range': float(readings['range']),
    }


def confidence_message(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the fields of a confidence, %."""
    del sensor
    return {'data': float(readings['confidence'])}


def scan_of_one_angle(sensor: Sensor, readings: Readings, intensity: Any) -> Mapping[str, Any]:
    """Return a range at the bearing as a LaserScan; +∞ where there is none (REP 117)."""
    spec, angle = sensor.spec, float(readings['bearing'])
    return {
        'angle_min': angle,
        'angle_max': angle,
        'angle_increment': math.radians(spec.step),
        'range_min': spec.min_range,
        'range_max': spec.max_range,
        'ranges': np.array([readings['range']], np.float32),
        'intensities': np.array([intensity], np.float32),
    }


# Sonars that survey.


class _Receiver(Protocol):
    """Parameters that such sonars have in common."""

    min_range: float
    max_range: float
    pulse_length: float
    sample: float
    source_level: float
    noise_level: float
    threshold: float


def detect_echoes(
    spec: _Receiver, distance: np.ndarray, energy: np.ndarray, extent: np.ndarray
) -> Readings:
    """Return the detections (...) of echoes without noise.

    ``range`` is in m, infinite where the echo is weaker than the threshold or out of range;
    ``level`` is the level of the echo, dB re 1 µPa; ``deviation`` is the standard deviation of
    the range, m.

    Args:
        spec: parameters of the sonar.
        distance: (...) from the sonar by the time of travel, m.
        energy: (...) of the whole echo of a beam, over the intensity of the source at 1 m.
        extent: (...) L = r ψ tan α of the echo in range, m.
    """
    resolution = 0.5e-6 * SOUND_SPEED * spec.pulse_length
    has_echo = energy > 0
    # Of an echo that is longer than the pulse, only a part is there at a time.
    independent_samples = np.maximum(extent * equivalent_width(1.0) / resolution, 1.0)
    level = spec.source_level + 10 * np.log10(
        np.where(has_echo, energy, 1.0) / independent_samples
    )
    ratio = np.where(has_echo, level - spec.noise_level, -np.inf)
    within = (distance >= spec.min_range) & (distance <= spec.max_range)
    detected = (ratio >= spec.threshold) & within
    deviation = sounding_deviation(extent, 10.0 ** (0.1 * ratio), resolution, spec.sample)
    return {
        'range': np.where(detected, distance, np.inf),
        'level': np.where(detected, level, np.nan),
        'deviation': np.where(detected, deviation, np.nan),
    }


def strongest_echoes(
    echoes: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distance, energy and extent (...), as of :func:`detect_echoes`, of the most energy.

    Args:
        echoes: distance, energy and extent (...) of one echo in each beam, by path of the sound.
    """
    if len(echoes) == 1:
        return echoes[0]
    distance, energy, extent = (np.stack(values) for values in zip(*echoes, strict=True))
    best = np.argmax(energy, axis=0)[None]
    found = (np.take_along_axis(values, best, axis=0)[0] for values in (distance, energy, extent))
    return next(found), next(found), next(found)


@one_at_a_time
def disturb_detections(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return ranges with the noise of the detection and the errors of the run, speckled levels."""
    del faults
    stamp, shape = int(stamps), np.shape(readings['range'])
    valid = np.isfinite(readings['range'])
    noise = readings['deviation'] * normal_draws(seed, f'{sensor.name}/range', stamp, shape)
    speckle = 10 * np.log10(exponential_draws(seed, sensor.name, stamp, shape) + 1e-12)
    ranges = add_lasting_errors(sensor, '', readings['range'], stamp, seed)
    return {
        'range': np.where(valid, ranges + noise, ranges),
        'level': readings['level'] + speckle,
        'deviation': np.asarray(readings['deviation']),
    }


_TYPES = {'i1': 1, 'u1': 2, 'i2': 3, 'u2': 4, 'i4': 5, 'u4': 6, 'f4': 7, 'f8': 8}
"""Numbers of sensor_msgs/PointField for types of NumPy."""


def point_cloud(points: np.ndarray, channels: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the fields of an organised cloud; points that are not known are NaN (REP 117).

    Args:
        points: (h, w, 3) m.
        channels: arrays (h, w) by name, of the types that the message shall have.
    """
    rows, columns, _ = points.shape
    channels_by_name = {
        **dict(zip('xyz', np.moveaxis(points, -1, 0).astype('<f4'), strict=True)),
        **channels,
    }
    kinds = [(name, value.dtype.newbyteorder('<')) for name, value in channels_by_name.items()]
    table = np.empty((rows, columns), np.dtype(kinds))
    for name, value in channels_by_name.items():
        table[name] = value
    described = table.dtype
    fields = [
        {
            'name': name,
            'offset': described.fields[name][1],
            'datatype': _TYPES[kind.str[1:]],
            'count': 1,
        }
        for name, kind in kinds
        if described.fields is not None
    ]
    return {
        'height': rows,
        'width': columns,
        'fields': fields,
        'is_bigendian': False,
        'point_step': described.itemsize,
        'row_step': columns * described.itemsize,
        'data': np.frombuffer(table.tobytes(), np.uint8),
        'is_dense': bool(np.all(np.isfinite(points))),
    }


def points_of(message: Any) -> np.ndarray:
    """Return the points of a PointCloud2 as a structured array (h, w), with x, y and z at least.

    A cloud without these, or whose data are not as long as it says, has no points.
    """
    data = np.frombuffer(message.data, np.uint8)
    named = {field.name for field in message.fields}
    if not data.size == message.height * message.row_step > 0 or not named >= set('xyz'):
        return np.zeros((0, 0), [(axis, '<f4') for axis in 'xyz'])
    names = {number: name for name, number in _TYPES.items()}
    order = '>' if message.is_bigendian else '<'
    kind = np.dtype(
        {
            'names': [field.name for field in message.fields],
            'formats': [order + names[field.datatype] for field in message.fields],
            'offsets': [field.offset for field in message.fields],
            'itemsize': message.point_step,
        }
    )
    rows = data.reshape(message.height, message.row_step)
    used = np.ascontiguousarray(rows[:, : message.width * message.point_step])
    return used.view(kind)
