# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Multibeam echo sounder: a fan of beams across the track, and the bottom in each of them.

It looks along the z axis of its frame, x is ahead and y to the right, as
marine_acoustic_msgs/SonarDetections has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.schema import number
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import beam_pattern, echo_intensity, equivalent_width
from marine_sim_ros.sensors.corner_echoes import corner_detections
from marine_sim_ros.sensors.echo_profiles import Fan, SonarPing, fan_echoes
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

__all__ = ['MULTIBEAM', 'Multibeam', 'beam_angles']

_RAYS = 4
"""Rays within the width of a beam, at least."""


@dataclass(frozen=True, eq=False)
class Multibeam:
    """Parameters of a multibeam echo sounder."""

    beams: float = number(256.0, 2.0, 1024.0, '', 'number of beams, at equal angles', whole=True)
    swath: float = number(120.0, 1.0, 180.0, 'deg', 'from the first beam to the last')
    beam_across: float = number(
        1.0, 0.1, 20.0, 'deg', 'width of a beam across the track, at half power'
    )
    beam_along: float = number(
        1.0, 0.1, 20.0, 'deg', 'width of a beam along the track, at half power'
    )
    min_range: float = number(0.5, 0.0, 1e3, 'm', 'least range')
    max_range: float = number(100.0, 0.5, 1e4, 'm', 'greatest range')
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of its ranges'
    )
    frequency: float = number(400.0, 1.0, 1e4, 'kHz', 'frequency of the sound')
    pulse_length: float = number(
        30.0, 1.0, 1e5, 'µs', 'length of the pulse, after compression; it resolves c τ/2'
    )
    sample: float = number(0.02, 0.0, 10.0, 'm', 'distance of the samples in range')
    source_level: float = number(210.0, 100.0, 260.0, 'dB', 're 1 µPa at 1 m')
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
def beam_angles(spec: Multibeam) -> np.ndarray:
    """Return the angles (b,) of the beams from z towards y, rad: to starboard."""
    return np.radians(spec.swath) * np.linspace(-0.5, 0.5, int(spec.beams))


class _Beams(NamedTuple):
    """Rays that all beams share, and their parts in each beam.

    Attributes:
        rays: (m, 3) unit vectors, frame of the sensor.
        members: (b, k) numbers of the rays of a beam; the one in the middle is its axis.
        weights: (k,) solid angle of a ray by the pattern of the beam, sr.
        within: (k,) whether a ray is within the width of the beam.
        stretch: width of the beam over that between its outermost rays within.
    """

    rays: np.ndarray
    members: np.ndarray
    weights: np.ndarray
    within: np.ndarray
    stretch: float


@lru_cache(maxsize=8)
def _beams(spec: Multibeam) -> _Beams:
    """Return the rays of a fan: one on the axis of each beam, and more between them."""
    count, width = int(spec.beams), math.radians(spec.beam_across)
    pitch = math.radians(spec.swath) / (count - 1)
    each = math.ceil(_RAYS * pitch / width)
    step = pitch / each
    side = math.ceil(width / step)
    angle = step * (np.arange((count - 1) * each + 2 * side + 1) - side)
    angle = angle - math.radians(spec.swath) / 2
    rays = np.stack([0.0 * angle, np.sin(angle), np.cos(angle)], axis=-1)
    offset = np.arange(-side, side + 1)
    members = side + each * np.arange(count)[:, None] + offset
    pattern = beam_pattern(step * offset, width)
    solid = equivalent_width(width) * equivalent_width(math.radians(spec.beam_along))
    within = np.abs(step * offset) <= 0.5 * width * (1 + 1e-9)
    stretch = width / (2 * step * float(offset[within].max()))
    return _Beams(rays, members, solid * pattern / pattern.sum(), within, stretch)


def _sent(spec: Multibeam, directions: np.ndarray) -> np.ndarray:
    """Return the intensity (...) sent in directions (..., 3): even across all beams."""
    x, y, z = np.moveaxis(directions, -1, 0)
    limit = np.max(np.abs(np.arctan2(_beams(spec).rays[:, 1], _beams(spec).rays[:, 2])))
    along = beam_pattern(np.arcsin(np.clip(x, -1.0, 1.0)), math.radians(spec.beam_along))
    return np.where(np.abs(np.arctan2(y, z)) <= limit + 1e-9, along, 0.0)


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the bottom of each beam without noise: its strongest echo.

    With ``multipath`` this may be one that went straight and came back by a reflection.
    Quantities (b,) are those of :func:`.detect_echoes`.
    """
    del inputs
    spec = sensor.spec
    rays = _beams(spec).rays[None]
    ping = SonarPing(
        sensor, state, environment, rays, spec.max_range, spec.frequency, echo_intensity
    )
    fan = fan_echoes(ping, partial(_sent, spec), multipath=bool(spec.multipath), both_ways=False)
    rows = (Fan(*row) for row in zip(*fan, strict=True))
    echoes = [_beam_echoes(spec, row) for row in rows]
    if spec.multipath:
        echoes += corner_detections(ping, partial(_received, spec))
    return detect_echoes(spec, *strongest_echoes(echoes))


def _received(spec: Multibeam, direction: np.ndarray) -> np.ndarray:
    """Return the sensitivity (b,) of the beams to what comes from a direction (3,), both ways."""
    across = beam_angles(spec) - math.atan2(direction[1], direction[2])
    return beam_pattern(across, math.radians(spec.beam_across)) * _sent(spec, direction)


def _beam_echoes(spec: Multibeam, fan: Fan) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return range, m, energy and extent, m, (b,) of the strongest echo in each beam.

    The rays (m,) of a beam that meet one surface without a step make one echo. Its range is that
    on the axis, or the mean of the echo where the axis meets something else.
    """
    beams = _beams(spec)
    echo = np.concatenate([[0], np.cumsum(~fan.joined)])[beams.members]
    reached = np.where(np.isfinite(fan.range), fan.range, 0.0)
    distance = reached[beams.members]
    energy = np.where(
        (distance > 0) & (distance <= spec.max_range),
        beams.weights * fan.strength[beams.members],
        0.0,
    )
    same = echo[:, :, None] == echo[:, None, :]
    strongest = np.argmax(np.sum(same * energy[:, None, :], axis=-1), axis=-1)
    same_surface = np.take_along_axis(same, strongest[:, None, None], axis=1)[:, 0]
    energy = np.where(same_surface, energy, 0.0)
    total = energy.sum(axis=-1)
    mean = np.sum(energy * distance, axis=-1) / np.where(total > 0, total, 1.0)
    axis = beams.members.shape[1] // 2
    ranges = np.where(same_surface[:, axis], distance[:, axis], mean)
    inside = same_surface & beams.within & (distance > 0)
    first = np.min(np.where(inside, distance, np.inf), axis=-1)
    last = np.max(np.where(inside, distance, -np.inf), axis=-1)
    extent = beams.stretch * np.maximum(np.where(inside.any(axis=-1), last - first, 0.0), 0.0)
    return ranges, total, extent


def _points(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the detections as a cloud of one row: a point for each beam."""
    spec = sensor.spec
    angle = beam_angles(spec)
    valid = np.isfinite(readings['range'])
    distance = np.where(valid, readings['range'], np.nan)
    points = distance[:, None] * np.stack([0 * angle, np.sin(angle), np.cos(angle)], axis=-1)
    channels: dict[str, np.ndarray] = {
        'intensity': np.asarray(readings['level'], np.float32)[None],
        'deviation': np.asarray(readings['deviation'], np.float32)[None],
        'beam': np.arange(len(angle), dtype=np.uint16)[None],
    }
    return point_cloud(points[None], channels)


def _detections(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the fields of a SonarDetections; beams without a detection are flagged as bad."""
    spec = sensor.spec
    angle = beam_angles(spec)
    valid = np.isfinite(readings['range'])
    width = np.ones(len(angle), np.float32)
    time = np.where(valid, 2 * readings['range'] / SOUND_SPEED, 0.0)
    return {
        'ping_info': {
            'frequency': 1e3 * spec.frequency,
            'sound_speed': SOUND_SPEED,
            'tx_beamwidths': width * np.float32(math.radians(spec.beam_along)),
            'rx_beamwidths': width * np.float32(math.radians(spec.beam_across)),
        },
        'flags': [{'flag': 0 if is_valid else 1} for is_valid in valid.tolist()],
        'two_way_travel_times': time.astype(np.float32),
        'tx_delays': 0 * width,
        'intensities': np.where(valid, readings['level'], 0.0).astype(np.float32),
        'tx_angles': 0 * width,
        'rx_angles': angle.astype(np.float32),
    }


_PARTS = ('port', 'middle', 'starboard')


def _charted_beams(count: int) -> list[int]:
    """Return the numbers of the beams that are charted: a quarter, half, three quarters across."""
    return [count // 4, count // 2, 3 * count // 4]


def _numbers(message: Any) -> tuple[float, ...]:
    points = points_of(message).reshape(-1)
    chosen = points[_charted_beams(len(points))]
    square = sum(chosen[axis].astype(float) ** 2 for axis in 'xyz')
    return tuple(np.sqrt(square).tolist())


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    chosen = _charted_beams(int(sensor.spec.beams))
    return ReadingComparison(numbers, ideal['range'][:, chosen], ideal['deviation'][:, chosen])


MULTIBEAM = SensorModel(
    'multibeam',
    _measure,
    disturb=disturb_detections,
    spec=Multibeam,
    rate=10.0,
    sees=True,
    label='Multibeam echo sounder',
    looks='z',
    down=True,
    executable='sensor',
    topics=(
        SensorTopic('points', 'sensor_msgs/msg/PointCloud2', _points),
        SensorTopic('detections', 'marine_acoustic_msgs/msg/SonarDetections', _detections),
    ),
    charts=(SensorChart('points', 'beam range', 'm', _numbers, _compare, parts=_PARTS),),
)
