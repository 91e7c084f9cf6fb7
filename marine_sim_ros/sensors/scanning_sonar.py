# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scanning sonar: one beam that rotates step by step, and its echo over range.

It turns about the z axis of its frame from x towards y, as sensor_msgs/LaserScan counts angles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.core.schema import number
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import (
    add_speckle,
    beam_pattern,
    decibels,
    two_way_beam_pattern,
)
from marine_sim_ros.sensors.echo_profiles import Fan, SonarPing, fan_echoes, profiles
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
from marine_sim_ros.sensors.sonar_messages import scan_of_one_angle

__all__ = ['SCANNING_SONAR', 'bearing']

_ACROSS = (-0.5, 0.0, 0.5)
"""Places of fans of rays across the beam, in widths."""
_RARE = 1e-3
"""Probability of a return below which none is expected."""


@dataclass(frozen=True, eq=False)
class ScanningSonar:
    """Parameters of a scanning sonar.

    Attributes:
        heads: bearings of successive pings, rad, that a driver has commanded; None: it scans
            ``sector`` in steps.
    """

    max_range: float = number(20.0, 0.5, 1e3, 'm', 'range of the scan')
    min_range: float = number(0.75, 0.0, 1e3, 'm', 'least range of the first return')
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of its ranges'
    )
    step: float = number(0.9, 0.01, 90.0, 'deg', 'turn from one ping to the next')
    sector: float = number(360.0, 1.0, 360.0, 'deg', 'width of the scan, about x')
    beam_width: float = number(2.0, 0.1, 60.0, 'deg', 'across, between the points of half power')
    beam_height: float = number(25.0, 0.1, 120.0, 'deg', 'between the points of half power')
    frequency: float = number(750.0, 1.0, 1e4, 'kHz', 'of the sound')
    samples: float = number(1200.0, 8.0, 1e5, '', 'number of samples of an echo')
    rays: float = number(24.0, 2.0, 500.0, '', 'number of rays from below to above')
    dynamic_range: float = number(60.0, 1.0, 200.0, 'dB', 'from the sample 0 to 255')
    gain: float = number(15.0, -100.0, 200.0, 'dB', 'of the receiver')
    noise: float = number(-65.0, -200.0, 0.0, 'dB', 'mean noise, beside a perfect reflector')
    threshold: float = number(160.0, 1.0, 255.0, '', 'least sample that is a return')
    multipath: float = number(
        0.0, 0.0, 1.0, '', '1: first echoes by the surface and the bottom too', whole=True
    )
    heads: tuple[float, ...] | None = None


@lru_cache(maxsize=8)
def _rays(spec: ScanningSonar) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rays (3, n, 3) ahead of the beam, weights of the fans (3,) and of their rays (n,)."""
    height, width = math.radians(spec.beam_height), math.radians(spec.beam_width)
    count = int(spec.rays)
    up = height * ((np.arange(count) + 0.5) / count - 0.5)
    offset = width * np.array(_ACROSS)[:, None]
    rays = [np.cos(up) * np.cos(offset), np.cos(up) * np.sin(offset), np.sin(up) + 0 * offset]
    across = two_way_beam_pattern(offset[:, 0], width)
    return np.stack(rays, axis=-1), across / across.sum(), two_way_beam_pattern(up, height)


def bearing(sensor: Sensor, time: float) -> float:
    """Return the angle in rad of the ping at a time in s: one step per reading, from −sector/2.

    A full circle goes round; a sector is scanned to and fro.
    """
    spec = sensor.spec
    ping = 0 if not sensor.period else round(time * NANOSECONDS) // sensor.period
    if spec.heads is not None:
        return float(spec.heads[ping % len(spec.heads)])
    count = max(round(spec.sector / spec.step), 1)
    if spec.sector >= 360:
        step_index = ping % count
    else:
        step_index = ping % (2 * count)
        step_index = min(step_index, 2 * count - step_index)
    return math.radians(step_index * spec.step - spec.sector / 2)


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the hits of the rays of a ping."""
    rays, *_ = _rays(sensor.spec)
    angle = bearing(sensor, float(inputs.time))
    cosine, sine = math.cos(angle), math.sin(angle)
    rotation = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    spec = sensor.spec
    height = math.radians(spec.beam_height)

    def pattern(directions: np.ndarray) -> np.ndarray:
        return beam_pattern(np.arcsin(np.clip(directions[..., 2], -1.0, 1.0)), height)

    ping = SonarPing(sensor, state, environment, rays @ rotation.T, spec.max_range, spec.frequency)
    fan = fan_echoes(ping, pattern, multipath=bool(spec.multipath))
    return {'bearing': np.array(angle), **fan._asdict()}


def _middles(spec: ScanningSonar) -> np.ndarray:
    """Return the ranges (samples,) of the samples' middles, m."""
    count = int(spec.samples)
    return (np.arange(count) + 0.5) * (spec.max_range / count)


def _echo_energy(spec: ScanningSonar, fan: Fan) -> np.ndarray:
    """Return the mean energy (samples,) of a ping."""
    _, across, weights = _rays(spec)
    energy = profiles(fan, weights, (0.0, spec.max_range), int(spec.samples))
    return np.asarray(np.tile(across, len(energy) // len(across)) @ energy)


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return the echo (samples,) with speckle and noise, 0 to 255, and the first return, m."""
    del faults
    spec = sensor.spec
    fan = Fan(*(readings[name] for name in Fan._fields))
    fan = fan._replace(range=add_lasting_errors(sensor, '', fan.range, stamps, seed))
    energy = _echo_energy(spec, fan)
    drawn = add_speckle(energy, 10.0 ** (spec.noise / 10), seed, sensor.name, int(stamps))
    echo = decibels(drawn, spec.gain, spec.dynamic_range)
    middle = _middles(spec)
    returns = (echo >= spec.threshold) & (middle >= spec.min_range)
    first = middle[np.argmax(returns)] if returns.any() else np.inf
    return {'range': np.array(first), 'bearing': readings['bearing'], 'echo': echo}


def _scan(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the first return as a scan of one angle."""
    return scan_of_one_angle(sensor, readings, np.max(readings['echo']))


def _echo(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the raw echo as a picture of one row, from the sonar outwards."""
    del sensor
    echo = np.asarray(readings['echo'], np.uint8)
    return {'height': 1, 'width': len(echo), 'encoding': 'mono8', 'step': len(echo), 'data': echo}


def _first_return(spec: ScanningSonar, fan: Fan) -> tuple[float, float]:
    """Return the expected first return and its standard deviation, m; NaN where there is none.

    A sample of the mean energy E, noise included, is an exponential number of this mean, and so it
    reaches the energy T of the threshold with the probability p = exp(−T/E); the first one is
    sample i with the probability pᵢ Π (1 − pⱼ) over the samples j before it. The deviation has
    the rounding to whole samples too.
    """
    energy = _echo_energy(spec, fan)
    mean = energy + 10.0 ** (spec.noise / 10)
    # Samples are rounded: half a step below the threshold is enough.
    level = spec.dynamic_range * ((spec.threshold - 0.5) / 255 - 1) - spec.gain
    middle = _middles(spec)
    reached = np.exp(-(10.0 ** (level / 10)) / mean) * (middle >= spec.min_range)
    missed = np.cumprod(1 - reached)
    first = reached * np.concatenate([[1.0], missed[:-1]])
    if first.sum() < _RARE:
        return math.nan, math.nan
    share = first / first.sum()
    expected = float(share @ middle)
    rounding = (spec.max_range / int(spec.samples)) ** 2 / 12
    return expected, math.sqrt(float(share @ (middle - expected) ** 2) + rounding)


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del state
    fans = (Fan(*(ideal[name][i] for name in Fan._fields)) for i in range(len(numbers)))
    returns = np.array([_first_return(sensor.spec, fan) for fan in fans])
    return ReadingComparison(numbers, returns[:, :1], returns[:, 1:])


SCANNING_SONAR = SensorModel(
    'scanning_sonar',
    _measure,
    disturb=_disturb,
    spec=ScanningSonar,
    rate=21.0,
    sees=True,
    label='Scanning sonar',
    topics=(
        SensorTopic('scan', 'sensor_msgs/msg/LaserScan', _scan),
        SensorTopic('echo', 'sensor_msgs/msg/Image', _echo),
    ),
    charts=(SensorChart('scan', 'first return', 'm', lambda m: (float(m.ranges[0]),), _compare),),
)
