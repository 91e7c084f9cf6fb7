# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Side-scan sonar: echoes over slant range to port and to starboard, a line for each ping.

Its frame is that of a multibeam echo sounder: z looks down, x is ahead and y to starboard.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

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
from marine_sim_ros.sensors.echo_profiles import SonarPing, fan_echoes, pulse_profiles
from marine_sim_ros.sensors.noise import add_lasting_errors
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_at_a_time,
    one_state_at_a_time,
)

__all__ = ['SIDE_SCAN', 'bin_ranges', 'scan_line']

_ALONG = 0.25 / math.sqrt(math.log(2))
"""Places ± of two planes of rays along the track, in widths of the beam: Gauss-Hermite quadrature
of the two-way pattern, exp(−φ²/(2 s²)) with s = w/(4 √ln 2)."""
_FLAT = 10.0
"""Greatest ground range of evenly spaced rays on a flat bottom, in altitudes."""
_STEEP = 1 / 8
"""Fraction of the rays that are above that."""
_UP = math.radians(120.0)
"""Greatest angle of a ray from straight down."""


@dataclass(frozen=True, eq=False)
class SideScan:
    """Parameters of a side-scan sonar."""

    bins: float = number(1000.0, 8.0, 16384.0, '', 'number of range bins of a side', whole=True)
    min_range: float = number(0.0, 0.0, 1e3, 'm', 'slant range of the first bin')
    max_range: float = number(50.0, 0.5, 1e4, 'm', 'slant range of the last bin')
    depression: float = number(
        30.0, 0.0, 90.0, 'deg', 'angle of the axes of the beams below the horizontal'
    )
    beam_along: float = number(
        1.0, 0.1, 20.0, 'deg', 'width of a beam along the track, at half power, one way'
    )
    beam_height: float = number(
        60.0, 1.0, 120.0, 'deg', 'height of a beam, at half power, one way'
    )
    frequency: float = number(450.0, 1.0, 1e4, 'kHz', 'frequency of the sound')
    pulse_length: float = number(
        50.0, 1.0, 1e5, 'µs', 'length of the pulse, after compression; it resolves c τ/2'
    )
    source_level: float = number(210.0, 100.0, 260.0, 'dB', 're 1 µPa at 1 m')
    scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of its intensities'
    )
    noise_level: float = number(60.0, -50.0, 200.0, 'dB', 're 1 µPa, in the band and the beam')
    rays: float = number(
        512.0, 16.0, 4096.0, '', 'number of rays of a side and plane, from below to above',
        whole=True,
    )  # fmt: skip
    multipath: float = number(
        0.0, 0.0, 1.0, '', '1: first echoes by the surface and the bottom too', whole=True
    )
    gain: float = number(15.0, -100.0, 200.0, 'dB', 'gain of the picture')
    dynamic_range: float = number(50.0, 1.0, 200.0, 'dB', 'from the pixel 0 to 255')


def _resolution(spec: SideScan) -> float:
    """Return the length of the pulse in range, c τ/2, m."""
    return 0.5e-6 * SOUND_SPEED * spec.pulse_length


@lru_cache(maxsize=8)
def bin_ranges(spec: SideScan) -> np.ndarray:
    """Return the slant ranges (bins,) of the middles of the bins, m."""
    count = int(spec.bins)
    width = (spec.max_range - spec.min_range) / count
    return np.asarray(spec.min_range + (np.arange(count) + 0.5) * width)


@lru_cache(maxsize=8)
def _rays(spec: SideScan) -> tuple[np.ndarray, np.ndarray]:
    """Return rays (2, 2, n, 3) of two sides and planes, and their weights (n,), sr.

    Rays are evenly spaced on a flat bottom up to ten altitudes away, and by angle above.
    """
    count = int(spec.rays)
    above = max(round(_STEEP * count), 2)
    axis, height = math.radians(90 - spec.depression), math.radians(spec.beam_height)
    flat, end = math.atan(_FLAT), min(axis + height, _UP)
    ground = np.linspace(0, _FLAT, count - above + 1)
    edges = np.concatenate([np.arctan(ground), np.linspace(flat, max(end, flat), above + 1)[1:]])
    angle, size = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    along = math.radians(spec.beam_along)
    azimuth = along * np.array([-_ALONG, _ALONG])[:, None]
    side = np.array([-1.0, 1.0])[:, None, None]
    level = np.cos(azimuth)
    rays = np.stack(
        np.broadcast_arrays(
            np.sin(azimuth) * np.ones_like(side * angle),
            side * level * np.sin(angle),
            level * np.cos(angle) * np.ones_like(side),
        ),
        axis=-1,
    )
    # Two ways through one transducer square the pattern.
    return rays, _width_along(spec) * beam_pattern(angle - axis, height) ** 2 * size


def _width_along(spec: SideScan) -> float:
    """Return the integral of the two-way pattern along the track, rad."""
    return equivalent_width(math.radians(spec.beam_along)) / math.sqrt(2)


def _pattern(spec: SideScan, directions: np.ndarray) -> np.ndarray:
    """Return the sensitivity (...) of the beam of the side of directions (..., 3), one way."""
    x, y, z = np.moveaxis(directions, -1, 0)
    across = np.arctan2(np.abs(y), z) - math.radians(90 - spec.depression)
    along = np.arcsin(np.clip(x, -1.0, 1.0))
    return beam_pattern(across, math.radians(spec.beam_height)) * beam_pattern(
        along, math.radians(spec.beam_along)
    )


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the mean ``intensity`` (2, bins) of the echoes to port and starboard, µPa².

    Each bin has what the pulse covers: the mean over c τ/2.
    """
    del inputs
    spec = sensor.spec
    rays, weights = _rays(spec)
    beams = rays.reshape(-1, *rays.shape[2:])
    ping = SonarPing(
        sensor, state, environment, beams, spec.max_range, spec.frequency, echo_intensity
    )
    fan = fan_echoes(ping, partial(_pattern, spec), multipath=bool(spec.multipath))
    edges = (spec.min_range, spec.max_range)
    energy = pulse_profiles(fan, weights, edges, int(spec.bins), _resolution(spec))
    energy = energy.reshape(-1, *rays.shape[:2], energy.shape[-1]).sum(axis=0).mean(axis=1)
    return {'intensity': 10.0 ** (0.1 * spec.source_level) * energy}


@one_at_a_time
def _disturb(
    sensor: Sensor,
    readings: Readings,
    stamps: int | np.ndarray,
    seed: int,
    faults: Sequence[Fault],
) -> Readings:
    """Return intensities with noise and speckle: exponential, as of Rayleigh amplitudes."""
    del faults
    noise = 10.0 ** (0.1 * sensor.spec.noise_level)
    mean = np.abs(add_lasting_errors(sensor, '', readings['intensity'], stamps, seed))
    return {'intensity': add_speckle(mean, noise, seed, sensor.name, int(stamps))}


def scan_line(spec: SideScan, intensity: np.ndarray) -> np.ndarray:
    """Return the picture (..., 2 bins) of a ping, 0 to 255: far to port, near, far to starboard.

    The time-varied gain, r³ 10^(0.2 a r) over the source level, the width of the beam along the
    track and the length of the pulse, leaves the backscattering strength S_b of a level bottom far
    away, and the pattern of the beam across; 0 dB and ``gain`` are the pixel 255.

    Args:
        intensity: (..., 2, bins), µPa².
    """
    distance = bin_ranges(spec)
    gain = distance**3 * 10.0 ** (0.2 * absorption(spec.frequency) * distance)
    source = 10.0 ** (0.1 * spec.source_level) * _width_along(spec) * _resolution(spec)
    level = intensity * gain / source
    line = np.concatenate([level[..., 0, ::-1], level[..., 1, :]], axis=-1)
    return decibels(line, spec.gain, spec.dynamic_range)


def _scan(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return a picture of one row."""
    line = scan_line(sensor.spec, np.asarray(readings['intensity']))
    return {'height': 1, 'width': len(line), 'encoding': 'mono8', 'step': len(line), 'data': line}


def _raw(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    """Return the fields of a RawSonarImage: amplitudes in µPa, port and starboard."""
    spec = sensor.spec
    bins = (spec.max_range - spec.min_range) / int(spec.bins)
    amplitude = np.sqrt(np.asarray(readings['intensity'])).astype('<f4')
    axis, two = math.radians(90 - spec.depression), np.ones(2, np.float32)
    return {
        'ping_info': {
            'frequency': 1e3 * spec.frequency,
            'sound_speed': SOUND_SPEED,
            'tx_beamwidths': two * np.float32(math.radians(spec.beam_along)),
            'rx_beamwidths': two * np.float32(math.radians(spec.beam_height)),
        },
        'sample_rate': 0.5 * SOUND_SPEED / bins,
        'samples_per_beam': int(spec.bins),
        'sample0': round(spec.min_range / bins),
        'tx_delays': 0 * two,
        'tx_angles': 0 * two,
        'rx_angles': np.array([-axis, axis], np.float32),
        'image': {
            'is_bigendian': False,
            'dtype': 8,  # DTYPE_FLOAT32
            'beam_count': 2,
            'data': np.frombuffer(amplitude.tobytes(), np.uint8),
        },
    }


SIDE_SCAN = SensorModel(
    'side_scan',
    _measure,
    disturb=_disturb,
    spec=SideScan,
    rate=10.0,
    sees=True,
    label='Side-scan sonar',
    looks='z',
    down=True,
    executable='sensor',
    topics=(
        SensorTopic('scan', 'sensor_msgs/msg/Image', _scan),
        SensorTopic('image', 'marine_acoustic_msgs/msg/RawSonarImage', _raw),
    ),
)
