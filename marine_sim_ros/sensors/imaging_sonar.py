# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Multibeam imaging sonar: the echoes of many beams at once, by azimuth and range.

It looks along the z axis of its frame, x is up and y to the right, as
marine_acoustic_msgs/ProjectedSonarImage has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.core.numerics import linear_between
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import (
    add_speckle,
    beam_pattern,
    decibels,
    local_absorption,
    silt_backscatter,
    two_way_beam_pattern,
)
from marine_sim_ros.sensors.echo_profiles import Fan, SonarPing, fan_echoes, profiles
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
    one_state_at_a_time,
)

__all__ = ['IMAGING_SONAR', 'fan_picture', 'sonar_rays']

_ROWS = 480
"""Height of the picture of the fan, pixels."""
_SILT_BEAMS, _SILT_BINS, _SILT_RAYS = 32, 128, 6
"""Beams, bins and rays of a beam at which clouds of silt are computed."""


@dataclass(frozen=True, eq=False)
class ImagingSonar:
    """Parameters of an imaging sonar."""

    beams: float = number(256.0, 2.0, 4096.0, '', 'number of beams')
    bins: float = number(512.0, 8.0, 8192.0, '', 'number of range bins')
    aperture: float = number(130.0, 1.0, 180.0, 'deg', 'from the first beam to the last')
    beam_height: float = number(20.0, 0.1, 120.0, 'deg', 'between the points of half power')
    min_range: float = number(0.1, 0.0, 1e3, 'm', 'range of the first bin')
    max_range: float = number(20.0, 0.5, 1e3, 'm', 'range of the last bin')
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of its ranges'
    )
    frequency: float = number(750.0, 1.0, 1e4, 'kHz', 'of the sound')
    rays: float = number(24.0, 2.0, 500.0, '', 'number of rays of a beam, from below to above')
    dynamic_range: float = number(60.0, 1.0, 200.0, 'dB', 'from the pixel 0 to 255')
    gain: float = number(15.0, -100.0, 200.0, 'dB', 'of the receiver')
    noise: float = number(-65.0, -200.0, 0.0, 'dB', 'mean noise, beside a perfect reflector')
    multipath: float = number(
        0.0, 0.0, 1.0, '', '1: first echoes by the surface and the bottom too', whole=True
    )


@lru_cache(maxsize=8)
def _azimuths(spec: ImagingSonar) -> np.ndarray:
    """Return the angles (b,) of the beams from z towards y, rad."""
    return np.radians(spec.aperture) * np.linspace(-0.5, 0.5, int(spec.beams))


@lru_cache(maxsize=8)
def sonar_rays(spec: ImagingSonar) -> tuple[np.ndarray, np.ndarray]:
    """Return the rays (b, n, 3) of the beams and their weights (n,)."""
    height, count = math.radians(spec.beam_height), int(spec.rays)
    up = height * ((np.arange(count) + 0.5) / count - 0.5)
    azimuth = _azimuths(spec)[:, None]
    rays = [np.sin(up) + 0 * azimuth, np.cos(up) * np.sin(azimuth), np.cos(up) * np.cos(azimuth)]
    return np.stack(rays, axis=-1), two_way_beam_pattern(up, height)


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the hits of the rays of all beams."""
    spec = sensor.spec
    rays, weights = sonar_rays(spec)
    height = math.radians(spec.beam_height)

    def pattern(directions: np.ndarray) -> np.ndarray:
        return beam_pattern(np.arcsin(np.clip(directions[..., 0], -1.0, 1.0)), height)

    ping = SonarPing(sensor, state, environment, rays, spec.max_range, spec.frequency)
    fan = fan_echoes(ping, pattern, multipath=bool(spec.multipath))
    if inputs.silt is None or environment.sediment is None:
        return fan._asdict()
    turn = rotation_matrix(state.orientation)
    clouds = inputs.silt[inputs.silt[:, 4] > 0]
    clouds[:, :3] = (clouds[:, :3] - state.position) @ turn - sensor.position
    clouds[:, :3] = clouds[:, :3] @ sensor.rotation
    loss = float(np.max(local_absorption(environment, state, spec.frequency)))
    per_mass = math.pi * silt_backscatter(environment.sediment, spec.frequency)
    echo = per_mass * _silt_echo(spec, clouds, fan.range, rays, weights, loss)
    return {**fan._asdict(), 'silt': echo}


def _silt_echo(
    spec: ImagingSonar,
    clouds: np.ndarray,
    ranges: np.ndarray,
    rays: np.ndarray,
    weights: np.ndarray,
    loss: float,
) -> np.ndarray:
    """Return the mass of silt per area of a beam (beams, bins) at some beams and bins, kg/m².

    It is that of a bin, less the absorption; each ray ends at what it meets.

    Args:
        clouds: (k, 5) in its frame.
        ranges: (b, n) of the rays, m.
        rays: (b, n, 3) of the beams.
        weights: (n,) of the rays of a beam.
        loss: absorption, dB/m.
    """
    beams = _coarse(int(spec.beams), _SILT_BEAMS)
    bins = _coarse(int(spec.bins), _SILT_BINS)
    chosen = np.unique(np.linspace(0, len(weights) - 1, _SILT_RAYS).astype(int))
    width = (spec.max_range - spec.min_range) / spec.bins
    distance = spec.min_range + (bins + 0.5) * width
    some = rays[np.ix_(beams, chosen)]
    concentration = np.zeros((*some.shape[:2], len(bins)))
    for x, y, z, size, mass in clouds.tolist():
        along = some @ np.array([x, y, z])
        aside = np.maximum(x * x + y * y + z * z - along**2, 0.0)
        reached = (distance - along[..., None]) ** 2 + aside[..., None]
        concentration += mass / (2 * np.pi * size**2) ** 1.5 * np.exp(-0.5 * reached / size**2)
    concentration *= distance < ranges[np.ix_(beams, chosen)][..., None]
    share = weights[chosen] / weights[chosen].sum()
    return np.asarray(
        np.einsum('r,brn->bn', share, concentration) * width * 10.0 ** (-0.2 * loss * distance)
    )


def _coarse(count: int, number: int) -> np.ndarray:
    """Return about a number of places among 0 to ``count`` − 1, both ends among them."""
    return np.unique(np.linspace(0, count - 1, min(number, count)).astype(int))


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return the nearest return (b,) of each beam, m, and the image (b, bins), 0 to 255."""
    del faults
    spec = sensor.spec
    _, weights = sonar_rays(spec)
    fan = Fan(*(readings[name] for name in Fan._fields))
    fan = fan._replace(range=add_lasting_errors(sensor, '', fan.range, stamps, seed))
    energy = profiles(fan, weights, (spec.min_range, spec.max_range), int(spec.bins))
    energy = energy.reshape(-1, int(spec.beams), energy.shape[-1]).sum(axis=0)
    if 'silt' in readings:
        beams, bins = int(spec.beams), int(spec.bins)
        silt = linear_between(readings['silt'], _coarse(beams, _SILT_BEAMS), beams)
        energy = energy + linear_between(silt, _coarse(bins, _SILT_BINS), bins, axis=1)
    drawn = add_speckle(energy, 10.0 ** (spec.noise / 10), seed, sensor.name, int(stamps))
    image = decibels(drawn, spec.gain, spec.dynamic_range)
    nearest = np.min(fan.range[: int(spec.beams)], axis=1)
    return {'range': np.where(nearest <= spec.max_range, nearest, np.inf), 'image': image}


@lru_cache(maxsize=8)
def _pixels(spec: ImagingSonar) -> tuple[np.ndarray, np.ndarray]:
    """Return the image index (rows, columns) of each pixel of the fan, and a validity mask."""
    half = math.radians(spec.aperture) / 2
    reach = spec.max_range
    side = reach * (math.sin(half) if half < math.pi / 2 else 1.0)
    low = min(reach * math.cos(half), 0.0)
    size = (reach - low) / _ROWS
    columns = 2 * math.ceil(side / size)
    right = (np.arange(columns) + 0.5 - columns / 2) * size
    ahead = (reach - (np.arange(_ROWS) + 0.5) * size)[:, None]
    distance, angle = np.hypot(right, ahead), np.arctan2(right, ahead)
    beams, bins = int(spec.beams), int(spec.bins)
    beam = np.round((angle / (2 * half) + 0.5) * (beams - 1)).astype(int)
    row = np.floor((distance - spec.min_range) / (reach - spec.min_range) * bins).astype(int)
    inside = (np.abs(angle) <= half) & (row >= 0) & (row < bins)
    return np.where(inside, beam * bins + row, 0), inside


def fan_picture(spec: ImagingSonar, image: np.ndarray) -> np.ndarray:
    """Return values (b, bins) as seen from above (rows, columns), ahead is up; 0 outside."""
    index, inside = _pixels(spec)
    return np.where(inside, image.reshape(-1)[index], image.dtype.type(0))


def _picture(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    picture = fan_picture(sensor.spec, np.asarray(readings['image'], np.uint8))
    rows, columns = picture.shape
    return {
        'height': rows,
        'width': columns,
        'encoding': 'mono8',
        'step': columns,
        'data': picture.reshape(-1),
    }


@lru_cache(maxsize=8)
def _geometry(spec: ImagingSonar) -> tuple[list[dict[str, float]], np.ndarray]:
    """Return the directions of the beams, and the middles of the bins, m."""
    angles = _azimuths(spec).tolist()
    directions = [{'x': 0.0, 'y': math.sin(a), 'z': math.cos(a)} for a in angles]
    bins = int(spec.bins)
    width = (spec.max_range - spec.min_range) / bins
    return directions, (spec.min_range + (np.arange(bins) + 0.5) * width).astype(np.float32)


def _projected_image(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the fields of a ProjectedSonarImage, whose rows are of one range."""
    spec = sensor.spec
    directions, ranges = _geometry(spec)
    beams = int(spec.beams)
    across = np.full(beams, math.radians(spec.aperture) / max(beams - 1, 1), np.float32)
    return {
        'ping_info': {
            'frequency': 1e3 * spec.frequency,
            'sound_speed': SOUND_SPEED,
            'rx_beamwidths': across,
            'tx_beamwidths': np.full(beams, math.radians(spec.beam_height), np.float32),
        },
        'beam_directions': directions,
        'ranges': ranges,
        'image': {
            'dtype': 0,
            'beam_count': beams,
            'data': np.asarray(readings['image'], np.uint8).T.reshape(-1),
        },
    }


IMAGING_SONAR = SensorModel(
    'imaging_sonar',
    _measure,
    disturb=_disturb,
    spec=ImagingSonar,
    rate=10.0,
    sees=True,
    needs=('silt',),
    label='Imaging sonar',
    looks='z',
    executable='sensor',
    topics=(
        SensorTopic('fan', 'sensor_msgs/msg/Image', _picture),
        SensorTopic('image', 'marine_acoustic_msgs/msg/ProjectedSonarImage', _projected_image),
    ),
)
