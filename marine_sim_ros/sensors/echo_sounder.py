# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Echo sounder and profiling sonar: a round beam, its echo over range, and a target's range.

An echo sounder looks along the x axis of its frame, as sensor_msgs/Range has it. The beam of a
profiling sonar turns about the z axis from x towards y, as sensor_msgs/LaserScan counts angles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from marine_sim_ros.core.messages import message_numbers
from marine_sim_ros.core.schema import number
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.faults.fault_types import Fault
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.acoustics import (
    absorption,
    add_speckle,
    beam_pattern,
    decibels,
    echo_intensity,
    equivalent_width,
)
from marine_sim_ros.sensors.echo_profiles import Fan, SonarPing, fan_echoes, pulse_profiles
from marine_sim_ros.sensors.scanning_sonar import bearing
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
from marine_sim_ros.sensors.sonar_messages import (
    confidence_message,
    detect_echoes,
    disturb_detections,
    range_message,
    scan_of_one_angle,
)

__all__ = ['ECHO_SOUNDER', 'PROFILER', 'echo_ranges', 'profile_line']

_PLANES = 6
"""Planes of rays through the axis of the beam, evenly about it."""
_REACH = 1.2
"""Greatest angle of a ray from the axis, in widths: 2⁻¹¹·⁵ of the sensitivity there, both ways."""


@dataclass(frozen=True, eq=False)
class EchoSounder:
    """Parameters of an echo sounder."""

    bins: float = number(200.0, 8.0, 16384.0, '', 'number of bins of the profile', whole=True)
    min_range: float = number(0.3, 0.0, 1e3, 'm', 'range of the first bin, and least range')
    max_range: float = number(50.0, 0.5, 1e4, 'm', 'range of the last bin, and greatest range')
    beam_width: float = number(25.0, 0.1, 120.0, 'deg', 'width between the points of half power')
    frequency: float = number(115.0, 1.0, 1e4, 'kHz', 'frequency of the sound')
    pulse_length: float = number(
        100.0, 1.0, 1e5, 'µs', 'length of the pulse, after compression; it resolves c τ/2'
    )
    source_level: float = number(190.0, 100.0, 260.0, 'dB', 're 1 µPa at 1 m')
    noise_level: float = number(70.0, -50.0, 200.0, 'dB', 're 1 µPa, in the band and the beam')
    threshold: float = number(10.0, -20.0, 60.0, 'dB', 'least signal-to-noise ratio of a target')
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of its ranges'
    )
    rays: float = number(64.0, 8.0, 4096.0, '', 'number of rays of a plane', whole=True)
    multipath: float = number(
        0.0, 0.0, 1.0, '', '1: first echoes by the surface and the bottom too', whole=True
    )
    gain: float = number(15.0, -100.0, 200.0, 'dB', 'gain of the picture')
    dynamic_range: float = number(60.0, 1.0, 200.0, 'dB', 'from the pixel 0 to 255')

    heads: ClassVar[tuple[float, ...] | None] = (0.0,)
    """Bearings of its pings, rad: always straight ahead."""
    is_centred: ClassVar[bool] = False
    """Whether the target is the centre of its echo; else where this begins."""

    @property
    def sample(self) -> float:
        """Distance of the bins in range, m."""
        return (self.max_range - self.min_range) / int(self.bins)


@dataclass(frozen=True, eq=False)
class Profiler(EchoSounder):
    """Parameters of a profiling sonar: a narrow beam that turns."""

    max_range: float = number(10.0, 0.5, 1e4, 'm', 'range of the last bin, and greatest range')
    beam_width: float = number(1.4, 0.1, 120.0, 'deg', 'width between the points of half power')
    frequency: float = number(1000.0, 1.0, 1e4, 'kHz', 'frequency of the sound')
    pulse_length: float = number(
        20.0, 1.0, 1e5, 'µs', 'length of the pulse, after compression; it resolves c τ/2'
    )
    step: float = number(0.9, 0.01, 90.0, 'deg', 'turn from one ping to the next')
    sector: float = number(180.0, 1.0, 360.0, 'deg', 'width of the scan, about x')

    heads: ClassVar[tuple[float, ...] | None] = None
    is_centred: ClassVar[bool] = True


@lru_cache(maxsize=16)
def echo_ranges(spec: EchoSounder) -> np.ndarray:
    """Return the ranges (bins,) of the middles of the bins, m."""
    return np.asarray(spec.min_range + (np.arange(int(spec.bins)) + 0.5) * spec.sample)


def _resolution(spec: EchoSounder) -> float:
    """Return the length of the pulse in range, c τ/2, m."""
    return 0.5e-6 * SOUND_SPEED * spec.pulse_length


@lru_cache(maxsize=16)
def _rays(spec: EchoSounder) -> tuple[np.ndarray, np.ndarray]:
    """Return rays (p, n, 3) about x in planes through it, and their weights (n,), sr.

    A ray at the angle φ from the axis stands for |sin φ| dφ π/p.
    """
    width, count = math.radians(spec.beam_width), int(spec.rays)
    limit = min(_REACH * width, math.pi / 2)
    step = 2 * limit / count
    angle = step * (np.arange(count) + 0.5) - limit
    around = (np.arange(_PLANES) * math.pi / _PLANES)[:, None]
    rays = [np.cos(angle) + 0 * around, np.sin(angle) * np.cos(around)]
    rays.append(np.sin(angle) * np.sin(around))
    solid = np.abs(np.sin(angle)) * step * math.pi / _PLANES
    return np.stack(rays, axis=-1), solid * beam_pattern(angle, width) ** 2


def _pattern(spec: EchoSounder, axis: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the sensitivity (...) of the beam about an axis (3,), one way."""
    angle = np.arccos(np.clip(directions @ axis, -1.0, 1.0))
    return beam_pattern(angle, math.radians(spec.beam_width))


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the mean ``profile`` (bins,) of the echo, µPa², and the target without noise.

    The range of the target is where its echo begins, for an echo sounder, or the centre of the
    echo, for a profiling sonar. Other quantities are those of :func:`.detect_echoes`.
    """
    spec = sensor.spec
    angle = bearing(sensor, float(inputs.time))
    cosine, sine = math.cos(angle), math.sin(angle)
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    rays, weights = _rays(spec)
    ping = SonarPing(
        sensor, state, environment, rays @ turn.T, spec.max_range, spec.frequency, echo_intensity
    )
    pattern = partial(_pattern, spec, turn[:, 0])
    fan = fan_echoes(ping, pattern, multipath=bool(spec.multipath))
    edges = (spec.min_range, spec.max_range)
    energy = pulse_profiles(fan, weights, edges, int(spec.bins), _resolution(spec)).sum(axis=0)
    profile = 10.0 ** (0.1 * spec.source_level) * energy
    distance, extent = _target(spec, fan, weights)
    # A profile has what the pulse covers at a time, and the whole echo is wanted.
    pulses = max(extent * equivalent_width(1.0) / _resolution(spec), 1.0)
    found = detect_echoes(spec, np.array(distance), pulses * energy.max(), np.array(extent))
    ratio = 10.0 ** (0.1 * (np.nan_to_num(found['level'], nan=-300.0) - spec.noise_level))
    return {
        **found,
        'confidence': np.floor(100 * ratio / (1 + ratio)),
        'bearing': np.array(angle),
        'profile': profile,
    }


def _target(spec: EchoSounder, fan: Fan, weights: np.ndarray) -> tuple[float, float]:
    """Return the range of the target, m, and the length of its echo in range, m.

    Its rays are those whose echo is at least half as strong as the strongest, by solid angle.
    Where an echo begins does not depend on its length, which is then 0.
    """
    inside = fan.range <= spec.max_range
    echo = np.where(inside, fan.strength * weights, 0.0)
    axial = weights / np.maximum(np.abs(np.linspace(-1.0, 1.0, len(weights))), 1e-12)
    strength = np.where(inside, fan.strength * axial, 0.0)
    if not strength.any():
        return math.inf, 0.0
    strong = strength >= 0.5 * strength.max()
    ranges = fan.range[strong]
    if not spec.is_centred:
        return float(ranges.min()), 0.0
    return float(ranges @ echo[strong] / echo[strong].sum()), float(np.ptp(ranges))


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return the range with the noise of its detection, and a profile with speckle and noise."""
    noise = 10.0 ** (0.1 * sensor.spec.noise_level)
    name = f'{sensor.name}/profile'
    profile = add_speckle(readings['profile'], noise, seed, name, int(stamps))
    targets = disturb_detections(sensor, readings, stamps, seed, faults)
    kept = {key: readings[key] for key in ('confidence', 'bearing')}
    return {**targets, **kept, 'profile': profile}


def profile_line(spec: EchoSounder, profile: np.ndarray) -> np.ndarray:
    """Return the picture (..., bins) of a profile, 0 to 255, from the sonar outwards.

    The time-varied gain r² 10^(0.2 a r) over the source level leaves the echo of a level bottom
    across the beam equal at all ranges but for the length of the pulse; 0 dB and ``gain`` are 255.

    Args:
        profile: (..., bins), µPa².
    """
    distance = echo_ranges(spec)
    gain = distance**2 * 10.0 ** (0.2 * absorption(spec.frequency) * distance)
    level = profile * gain / 10.0 ** (0.1 * spec.source_level)
    return decibels(level, spec.gain, spec.dynamic_range)


def _profile(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the profile as a picture of one row."""
    line = profile_line(sensor.spec, np.asarray(readings['profile']))
    return {'height': 1, 'width': len(line), 'encoding': 'mono8', 'step': len(line), 'data': line}


def _raw(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the fields of a RawSonarImage of one beam: amplitudes in µPa."""
    spec, one = sensor.spec, np.ones(1, np.float32)
    width = one * np.float32(math.radians(spec.beam_width))
    amplitude = np.sqrt(np.asarray(readings['profile'])).astype('<f4')
    angle = one * np.float32(readings['bearing'])
    return {
        'ping_info': {
            'frequency': 1e3 * spec.frequency,
            'sound_speed': SOUND_SPEED,
            'tx_beamwidths': width,
            'rx_beamwidths': width,
        },
        'sample_rate': 0.5 * SOUND_SPEED / spec.sample,
        'samples_per_beam': int(spec.bins),
        'sample0': round(spec.min_range / spec.sample),
        'tx_delays': 0 * one,
        'tx_angles': angle,
        'rx_angles': angle,
        'image': {
            'is_bigendian': False,
            'dtype': 8,  # DTYPE_FLOAT32
            'beam_count': 1,
            'data': np.frombuffer(amplitude.tobytes(), np.uint8),
        },
    }


def _scan(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the target as a scan of one angle."""
    return scan_of_one_angle(sensor, readings, np.nan_to_num(readings['level']))


def _compare(
    sensor: Sensor, numbers: np.ndarray, ideal: Readings, state: State
) -> ReadingComparison:
    del sensor, state
    return ReadingComparison(numbers, ideal['range'][:, None], ideal['deviation'][:, None])


_RANGE = 'sensor_msgs/msg/Range'
_PICTURES = (
    SensorTopic('profile', 'sensor_msgs/msg/Image', _profile),
    SensorTopic('image', 'marine_acoustic_msgs/msg/RawSonarImage', _raw),
)

ECHO_SOUNDER = SensorModel(
    'echo_sounder',
    _measure,
    disturb=_disturb,
    spec=EchoSounder,
    rate=10.0,
    sees=True,
    label='Echo sounder',
    looks='x',
    down=True,
    topics=(
        SensorTopic('range', _RANGE, range_message),
        SensorTopic('confidence', 'std_msgs/msg/Float32', confidence_message, unit='%'),
        *_PICTURES,
    ),
    charts=(SensorChart('range', 'range', 'm', message_numbers(_RANGE, 'range'), _compare),),
)

PROFILER = SensorModel(
    'profiler',
    _measure,
    disturb=_disturb,
    spec=Profiler,
    rate=20.0,
    sees=True,
    label='Profiling sonar',
    topics=(SensorTopic('scan', 'sensor_msgs/msg/LaserScan', _scan), *_PICTURES),
    charts=(SensorChart('scan', 'range', 'm', lambda m: (float(m.ranges[0]),), _compare),),
)
