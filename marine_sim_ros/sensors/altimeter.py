# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Altimeter: range by a single wide beam, with a confidence.

It points along the x axis of its frame, as in sensor_msgs/Range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.random import gaussian
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import (
    beam_hits,
    echo_strength,
    local_absorption,
    two_way_beam_pattern,
)
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.sensor_model import (
    ReadingComparison,
    Readings,
    SensorChart,
    SensorInputs,
    SensorModel,
    SensorTopic,
)
from marine_sim_ros.sensors.sonar_messages import confidence_message, range_message

__all__ = ['ALTIMETER', 'cone']

_RINGS = (0.0, 0.25, 0.5, 0.75, 1.0)
_AROUND = 8
_STRONG = 0.5
"""Share of the strongest echo that another one must have to be taken for the target."""


@dataclass(frozen=True, eq=False)
class Altimeter:
    """Parameters of an altimeter."""

    beam_width: float = number(30.0, 0.1, 120.0, 'deg', 'width between the points of half power')
    min_range: float = number(0.5, 0.0, 1e3, 'm', 'least range')
    max_range: float = number(30.0, 0.1, 1e4, 'm', 'greatest range')
    frequency: float = number(115.0, 1.0, 1e4, 'kHz', 'of the sound')
    resolution: float = number(0.005, 0.0, 1.0, '', 'step of the range, its share')
    range_noise: float = number(
        0.002, 0.0, 1.0, '', 'standard deviation of a range, a fraction of it'
    )
    bias: float = number(0.0, 0.0, 100.0, 'm', 'standard deviation of the constant bias')
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale, as of the speed of sound'
    )
    signal: float = number(
        30.0, -100.0, 300.0, 'dB', 'signal to noise of a perfect reflector at the greatest range'
    )


@lru_cache(maxsize=32)
def cone(width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rays (n, 3) of a beam about x, width in degrees, and their weights (n,)."""
    directions = [
        (ring * math.radians(width) / 2, 2 * math.pi * i / count)
        for ring in _RINGS
        for count in [_AROUND if ring else 1]
        for i in range(count)
    ]
    tilt, azimuth = np.array(directions).T
    rays = [np.cos(tilt), np.sin(tilt) * np.cos(azimuth), np.sin(tilt) * np.sin(azimuth)]
    return np.stack(rays, axis=-1), two_way_beam_pattern(tilt, math.radians(width))


def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the ideal range: the nearest of the echoes that are about as strong as the strongest.

    The confidence is the strongest echo's share of signal in signal and noise, %, with the
    spherical spreading of a wide beam, r⁻².
    """
    del inputs
    spec = sensor.spec
    rays, weights = cone(spec.beam_width)
    hits, directions = beam_hits(sensor, state, environment, rays, spec.max_range)
    loss = local_absorption(environment, state, spec.frequency)
    strength = weights * echo_strength(environment, hits, directions, spec.frequency, loss)
    strongest = np.max(strength, axis=-1)
    strong = (strength >= _STRONG * strongest[..., None]) & (strength > 0)
    nearest = np.min(np.where(strong, hits.distance, np.inf), axis=-1)
    spread = (spec.max_range / np.maximum(nearest, spec.min_range)) ** 2
    level = 10.0 ** (spec.signal / 10) * strongest * spread
    too_near = nearest < spec.min_range
    return {
        'range': np.where(too_near, -np.inf, nearest),
        'confidence': np.where(np.isfinite(nearest) & ~too_near, 100 * level / (1 + level), 0.0),
    }


def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return readings with noise and the errors of the run, in steps of the resolution."""
    del faults
    spec, ideal = sensor.spec, np.asarray(readings['range'])
    is_hit = np.isfinite(ideal)
    distance = np.where(is_hit, ideal, 1.0)
    distance = np.maximum(add_lasting_errors(sensor, '', distance, stamps, seed), 0.0)
    noisy = distance * (1 + spec.range_noise * gaussian(seed, sensor.name, stamps))
    step = spec.resolution * distance
    stepped = np.round(noisy / np.where(step > 0, step, 1.0)) * step if spec.resolution else noisy
    confidence = np.floor(np.asarray(readings['confidence']))
    return {'range': np.where(is_hit, stepped, ideal), 'confidence': confidence}


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    spec, truth = sensor.spec, ideal['range'][:, None]
    relative = math.sqrt(spec.range_noise**2 + spec.resolution**2 / 12)
    return ReadingComparison(numbers, truth, relative * truth)


ALTIMETER = SensorModel(
    'altimeter',
    _measure,
    disturb=_disturb,
    spec=Altimeter,
    rate=10.0,
    sees=True,
    label='Altimeter',
    looks='x',
    down=True,
    topics=(
        SensorTopic('range', 'sensor_msgs/msg/Range', range_message),
        SensorTopic('confidence', 'std_msgs/msg/Float32', confidence_message, unit='%'),
    ),
    charts=(
        SensorChart(
            'range', 'range', 'm', message_numbers('sensor_msgs/msg/Range', 'range'), _compare
        ),
    ),
)
