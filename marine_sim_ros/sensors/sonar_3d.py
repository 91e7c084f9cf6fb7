# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""3D sonar: a grid of beams ahead, and the strongest echo of each as a point.

It looks along the x axis of its frame, y is to port and z up, as points of a lidar (REP 103).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from marine_sim_ros.core.schema import number
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import (
    beam_hits,
    beam_pattern,
    echo_intensity,
    equivalent_width,
    local_absorption,
)
from marine_sim_ros.sensors.corner_echoes import corner_detections
from marine_sim_ros.sensors.echo_profiles import SonarPing, reflected_echoes
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_state_at_a_time,
)
from marine_sim_ros.sensors.sonar_messages import (
    detect_echoes,
    disturb_detections,
    point_cloud,
    points_of,
    strongest_echoes,
)

__all__ = ['SONAR_3D', 'beam_grid']


@dataclass(frozen=True, eq=False)
class Sonar3d:
    """Parameters of a 3D sonar."""

    columns: float = number(256.0, 2.0, 1024.0, '', 'number of beams across', whole=True)
    rows: float = number(64.0, 2.0, 1024.0, '', 'number of beams from above to below', whole=True)
    width: float = number(90.0, 1.0, 170.0, 'deg', 'from the first column to the last')
    height: float = number(40.0, 1.0, 170.0, 'deg', 'from the first row to the last')
    beam_width: float = number(0.6, 0.05, 20.0, 'deg', 'width of a beam, at half power')
    beam_height: float = number(0.6, 0.05, 20.0, 'deg', 'height of a beam, at half power')
    min_range: float = number(0.2, 0.0, 1e3, 'm', 'least range')
    max_range: float = number(15.0, 0.5, 1e3, 'm', 'greatest range')
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of its ranges'
    )
    frequency: float = number(1200.0, 1.0, 1e4, 'kHz', 'frequency of the sound')
    pulse_length: float = number(
        20.0, 1.0, 1e5, 'µs', 'length of the pulse, after compression; it resolves c τ/2'
    )
    sample: float = number(0.01, 0.0, 10.0, 'm', 'distance of the samples in range')
    source_level: float = number(190.0, 100.0, 260.0, 'dB', 're 1 µPa at 1 m')
    noise_level: float = number(
        60.0, -50.0, 200.0, 'dB', 're 1 µPa, in the band and in a beam of the receiver'
    )
    threshold: float = number(
        10.0, -20.0, 60.0, 'dB', 'least signal-to-noise ratio of a detection'
    )
    multipath: float = number(
        0.0, 0.0, 1.0, '', '1: first echoes by the surface and the bottom too', whole=True
    )


@lru_cache(maxsize=8)
def beam_grid(spec: Sonar3d) -> np.ndarray:
    """Return the directions (h, w, 3) of the beams, frame of the sensor: above first, port first.

    Azimuth and elevation are equally spaced.
    """
    across = math.radians(spec.width) * np.linspace(0.5, -0.5, int(spec.columns))
    up = math.radians(spec.height) * np.linspace(0.5, -0.5, int(spec.rows))[:, None]
    beams = [np.cos(up) * np.cos(across), np.cos(up) * np.sin(across), np.sin(up) + 0 * across]
    return np.stack(beams, axis=-1)


def _sent(spec: Sonar3d, directions: np.ndarray) -> np.ndarray:
    """Return the intensity (...) sent in directions (..., 3): even within the grid."""
    x, y, z = np.moveaxis(directions, -1, 0)
    across, up = np.abs(np.arctan2(y, x)), np.abs(np.arcsin(np.clip(z, -1.0, 1.0)))
    limits = 0.5 * math.radians(spec.width) + 1e-9, 0.5 * math.radians(spec.height) + 1e-9
    return np.asarray(1.0 * ((across <= limits[0]) & (up <= limits[1])))


def _received(spec: Sonar3d, direction: np.ndarray) -> np.ndarray:
    """Return the sensitivity (n,) of the beams to what comes from a direction (3,), both ways."""
    x, y, z = beam_grid(spec).reshape(-1, 3).T
    across = np.arctan2(y, x) - math.atan2(direction[1], direction[0])
    up = np.arcsin(z) - math.asin(min(max(direction[2], -1.0), 1.0))
    pattern = beam_pattern(across, math.radians(spec.beam_width))
    return pattern * beam_pattern(up, math.radians(spec.beam_height)) * _sent(spec, direction)


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the echo on the axis of each beam (h, w) without noise.

    The area that a beam meets is taken as plane: its echo is r w tan α long, with the wider side w
    of the beam and the angle of incidence α. With ``multipath`` an echo that went straight and
    came back by a reflection is detected where it is stronger. Quantities are those of
    :func:`.detect_echoes`.
    """
    del inputs
    spec = sensor.spec
    grid = beam_grid(spec)
    shape = grid.shape[:2]
    rays = grid.reshape(-1, 3)
    ping = SonarPing(
        sensor, state, environment, rays, spec.max_range, spec.frequency, echo_intensity
    )
    echoes = [_direct_echoes(spec, ping)]
    if spec.multipath:
        echoes.append(_reflected_echoes(spec, ping))
        echoes += corner_detections(ping, partial(_received, spec))
    readings = detect_echoes(spec, *strongest_echoes(echoes))
    return {name: value.reshape(shape) for name, value in readings.items()}


def _solid_angle(spec: Sonar3d) -> float:
    """Return the solid angle of a beam, sr."""
    return equivalent_width(math.radians(spec.beam_width)) * equivalent_width(
        math.radians(spec.beam_height)
    )


def _direct_echoes(spec: Sonar3d, ping: SonarPing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return range, m, energy and extent, m, (n,) of the echoes on the way straight."""
    sensor, state, environment, rays, max_range, frequency, _ = ping
    loss = local_absorption(environment, state, frequency)
    hits, along = beam_hits(sensor, state, environment, rays, max_range)
    energy = echo_intensity(environment, hits, along, frequency, loss) * _solid_angle(spec)
    has_echo = energy > 0
    distance = np.where(has_echo, hits.distance, 1.0)
    cosine = np.clip(-np.sum(hits.normal * along, axis=-1), 1e-6, 1.0)
    slope = np.sqrt(1 - cosine * cosine) / cosine
    wide = math.radians(max(spec.beam_width, spec.beam_height))
    return distance, energy, np.where(has_echo, distance * wide * slope, 0.0)


def _reflected_echoes(spec: Sonar3d, ping: SonarPing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return range, m, energy and extent, m, (n,) of the echoes by a reflection.

    Along the target the range grows by the tangential part of the mean of both directions; a beam
    covers L₁ w/cos α₁ of it.
    """
    found = reflected_echoes(ping, partial(_sent, spec), both_ways=False)
    has_echo = (found.strength > 0) & (found.hits.distance <= spec.max_range)
    normal = found.hits.normal
    mean = 0.5 * (found.back + found.onward)
    tangential = mean - np.sum(mean * normal, axis=-1, keepdims=True) * normal
    cosine = np.clip(-np.sum(normal * found.onward, axis=-1), 1e-6, 1.0)
    wide = math.radians(max(spec.beam_width, spec.beam_height))
    extent = wide * found.reflected * np.linalg.norm(tangential, axis=-1) / cosine
    distance = np.where(has_echo, found.hits.distance, 1.0)
    energy = np.where(has_echo, found.strength * _solid_angle(spec), 0.0)
    return distance, energy, np.where(has_echo, extent, 0.0)


def _points(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the detections as an organised cloud (h, w): above first, port first."""
    distance = np.asarray(readings['range'])
    points = np.where(np.isfinite(distance), distance, np.nan)[..., None] * beam_grid(sensor.spec)
    channels: dict[str, np.ndarray] = {
        'intensity': np.asarray(readings['level'], np.float32),
        'deviation': np.asarray(readings['deviation'], np.float32),
    }
    return point_cloud(points, channels)


def _numbers(message: Any) -> tuple[float, ...]:
    """Return the range of the beam in the middle."""
    points = points_of(message)
    middle_point = points[points.shape[0] // 2, points.shape[1] // 2]
    return (math.sqrt(sum(float(middle_point[axis]) ** 2 for axis in 'xyz')),)


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    middle = int(sensor.spec.rows) // 2, int(sensor.spec.columns) // 2
    truth, deviation = (ideal[n][:, middle[0], middle[1]] for n in ('range', 'deviation'))
    return ReadingComparison(numbers, truth[:, None], deviation[:, None])


SONAR_3D = SensorModel(
    'sonar_3d',
    _measure,
    disturb=disturb_detections,
    spec=Sonar3d,
    rate=5.0,
    sees=True,
    label='3D sonar',
    looks='x',
    executable='sensor',
    topics=(SensorTopic('points', 'sensor_msgs/msg/PointCloud2', _points),),
    charts=(SensorChart('points', 'range of the middle beam', 'm', _numbers, _compare),),
)
