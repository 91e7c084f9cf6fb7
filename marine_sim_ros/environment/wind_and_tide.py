# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wind over the sea (NORSOK N-003: mean profile, gusts by the Frøya spectrum), and tide.

Waves do not depend on the wind: a sea and a wind of the same weather are two entries of a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.random import uniform
from marine_sim_ros.core.schema import REQUIRED, check_ranges, choice, nested, number

__all__ = [
    'CONSTITUENT_SPEEDS',
    'Tide',
    'TideElement',
    'Wind',
    'band_edges',
    'make_tide',
    'norsok_spectrum',
    'parse_start',
]


# Wind over the sea: mean profile and gusts of NORSOK N-003 (the Frøya spectrum).

NORSOK = 'norsok'
LOWEST_HEIGHT = 0.1
"""Height, m, below which the wind is that of this height."""
_REFERENCE = 10.0
"""Height and speed of the standard's formulas, m and m/s."""
_EXPONENT = 0.468
_BAND = (1 / 600, 0.5)
"""Frequencies that the standard covers, Hz."""
_LINEAR = 0.03
"""Frequency up to which parts of the band are about as wide as each other, Hz."""


def norsok_spectrum(frequency: Array, speed: float, height: float) -> Array:
    """Spectral density S(f) (...) of the wind speed, m²/s, at frequencies (...) in Hz.

    S = 320 (U/10)² (z/10)^0.45 / (1 + x^n)^(5/(3n)), x = 172 f (z/10)^(2/3) (U/10)^(−3/4),
    n = 0.468, with the hourly mean U at 10 m, m/s, and the height z, m; from 1/600 to 0.5 Hz.

    Source: NORSOK N-003, wind spectrum; DNV-RP-C205, 2.3.4 (Frøya model).
    """
    relative = height / _REFERENCE
    x = 172 * frequency * relative ** (2 / 3) * (speed / _REFERENCE) ** -0.75
    level = 320 * (speed / _REFERENCE) ** 2 * relative**0.45
    return level / (1 + x**_EXPONENT) ** (5 / (3 * _EXPONENT))


def band_edges(count: int) -> np.ndarray:
    """Return the ends (n + 1,) of n parts of the band, Hz: equal ratios of f + 0.03 Hz."""
    low, high = _BAND
    return np.geomspace(low + _LINEAR, high + _LINEAR, count + 1) - _LINEAR


@dataclass(frozen=True)
class Wind:
    """A wind of constant direction whose speed grows with height and fluctuates over time.

    U(z) = U (1 + 0.0573 √(1 + 0.15 U) ln(z/10)) for the hourly mean U at 10 m (NORSOK N-003), and
    gusts along it: a sum of harmonics of :func:`norsok_spectrum`, so that they have a value for
    every time without a history, the same in every node. They are the same everywhere at a height.
    Below 10 m the standard's formulas are extrapolated.

    Attributes:
        yaw: direction that the wind blows to, rad from the x axis of map.
    """

    speed: float = number(REQUIRED, 0.0, 60.0, 'm/s', 'hourly mean speed 10 m above the surface')
    from_direction: float = number(
        REQUIRED, -360.0, 360.0, '°',
        'compass bearing that the wind blows from, clockwise from true north',
    )  # fmt: skip
    gusts: str = choice(
        ('none', NORSOK), 'gusts of the spectrum of NORSOK N-003 (Frøya), or a steady wind'
    )
    components: int = number(80, 1, 5000, '', 'harmonics of the gusts', whole=True)
    seed: int = number(0, 0, 2**53, '', 'random seed of their frequencies and phases', whole=True)
    air_density: float = number(1.225, 0.01, 10.0, 'kg/m³', 'density of the air')
    yaw: float = 0.0

    def __post_init__(self) -> None:
        """Raise ParameterError for values no wind has."""
        check_ranges(self)

    @cached_property
    def _shear(self) -> float:
        return 0.0573 * math.sqrt(1 + 0.15 * self.speed)

    @cached_property
    def _towards(self) -> np.ndarray:
        return np.array([math.cos(self.yaw), math.sin(self.yaw), 0.0])

    @cached_property
    def _harmonics(self) -> np.ndarray:
        """(4, n): frequency, rad/s; phase; x and amplitude, m/s, of the spectrum at z = 10 m.

        Each has the energy of its part of the band; its frequency is drawn in the middle half of
        the part, so that an hour tells neighbours apart.
        """
        count = self.components
        draws = uniform(self.seed, 'wind', 2 * count).reshape(2, count)
        edges = band_edges(count)
        middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        frequency = middle + (draws[0] - 0.5) / 2 * width
        x = 172 * middle * max(self.speed / _REFERENCE, 1e-9) ** -0.75
        amplitude = np.sqrt(2 * 320 * width) * self.speed / _REFERENCE
        return np.stack([2 * math.pi * frequency, 2 * math.pi * draws[1], x, amplitude])

    def speed_at(self, height: Array, time: Any) -> Array:
        """Speed (...) at heights (...) above the surface, m, and a time, s: m/s."""
        xp = namespace(height)
        relative = xp.maximum(height, 0.0 * height + LOWEST_HEIGHT) / _REFERENCE
        mean = self.speed * (1 + self._shear * xp.log(relative))
        if self.gusts != NORSOK:
            return mean
        frequency, phase, x, amplitude = constant(xp, self._harmonics)
        x = x * relative[..., None] ** (2 / 3)
        fade = (1 + x**_EXPONENT) ** (-5 / (6 * _EXPONENT))
        swing = xp.sum(amplitude * fade * xp.cos(frequency * time + phase), axis=-1)
        return mean + relative**0.225 * swing

    def velocity(self, height: Array, time: Any) -> Array:
        """Velocity (..., 3) in map at heights (...), m, and a time, s: m/s."""
        towards = constant(namespace(height), self._towards)
        return self.speed_at(height, time)[..., None] * towards


# Tides: level and current of the sea as sums of harmonic constituents.
#
# η = z₀ + Σ f A cos(V + u + ω t − g) with the amplitude A and the phase lag g of a place. With a
# date the astronomical argument V and the nodal corrections f and u are those of utide; without
# one V and u are 0 and f is 1 at the start of the run, so that g is the lag behind the start.
# The tide is the same everywhere: the surface rises and falls as a level plane.

CONSTITUENT_SPEEDS = {
    'SA': 0.0410686, 'SSA': 0.0821373, 'MM': 0.5443747, 'MSF': 1.0158958, 'MF': 1.0980331,
    '2Q1': 12.8542862, 'Q1': 13.3986609, 'O1': 13.9430356, 'P1': 14.9589314, 'S1': 15.0,
    'K1': 15.0410686, 'J1': 15.5854433, 'OO1': 16.1391017,
    '2N2': 27.8953548, 'MU2': 27.9682084, 'N2': 28.4397295, 'NU2': 28.5125831,
    'M2': 28.9841042, 'L2': 29.5284789, 'T2': 29.9589333, 'S2': 30.0, 'K2': 30.0821373,
    'M3': 43.4761563, 'MN4': 57.4238337, 'M4': 57.9682084, 'MS4': 58.9841042, 'S4': 60.0,
    'M6': 86.9523127, '2MS6': 87.9682084, 'M8': 115.9364166,
}  # fmt: skip
"""Speeds ω of the constituents, °/h (Schureman 1958; IHO standard list)."""
_FIRST_DAY = datetime(1, 1, 1, tzinfo=timezone.utc)
_SPAN = 30.0
"""Days over which f and u are linear in time: within 1e-4 of f, and 1e-4 rad of u."""


@dataclass(frozen=True)
class LevelElement:
    """Constituent of the level."""

    name: str = choice(tuple(CONSTITUENT_SPEEDS), 'name', REQUIRED)
    amplitude: float = number(REQUIRED, 0.0, 20.0, 'm', 'amplitude A')
    phase: float = number(0.0, -360.0, 360.0, '°', 'phase lag g, of Greenwich with a date')


@dataclass(frozen=True)
class TidalCurrentElement:
    """Constituent of the current: an ellipse."""

    name: str = choice(tuple(CONSTITUENT_SPEEDS), 'name', REQUIRED)
    major: float = number(REQUIRED, 0.0, 20.0, 'm/s', 'semi-major axis')
    minor: float = number(
        0.0, -20.0, 20.0, 'm/s', 'semi-minor axis, negative where it turns clockwise'
    )
    inclination: float = number(
        0.0, -360.0, 360.0, '°', 'of the major axis, anticlockwise from east'
    )
    phase: float = number(0.0, -360.0, 360.0, '°', 'phase lag g of the flow along it')


@dataclass(frozen=True)
class TideElement:
    """Tide of an environment."""

    mean: float = number(0.0, -20.0, 20.0, 'm', 'mean level z₀ above z = 0 of map')
    constituents: tuple[LevelElement, ...] = nested(
        LevelElement, 'constituents of the level', many=True
    )
    currents: tuple[TidalCurrentElement, ...] = nested(
        TidalCurrentElement, 'constituents of the current', many=True
    )


class TideState(NamedTuple):
    """Level () in m and velocity (3,) of the water in map, m/s."""

    level: Array
    current: Array


@dataclass(frozen=True, eq=False)
class Tide:
    """Sum of n harmonics f (c cos θ + s sin θ), θ = φ + ω t, f = 1 at first and with a rate.

    Attributes:
        mean: z₀, m.
        phase: (n,) φ = V + u at the start, rad.
        frequency: (n,) ω with the rate of u, rad/s.
        factor: (n,) f at the start.
        factor_rate: (n,) 1/s.
        cosine: (4, n) c of the level, m, and of the current in map, m/s.
        sine: (4, n) s of these.
    """

    mean: float
    phase: np.ndarray
    frequency: np.ndarray
    factor: np.ndarray
    factor_rate: np.ndarray
    cosine: np.ndarray
    sine: np.ndarray

    @property
    def moves(self) -> bool:
        """Whether there is a current."""
        return bool(np.any(self.cosine[1:]) or np.any(self.sine[1:]))

    def at(self, time: Any) -> TideState:
        """Return level and current at a time since the start, s."""
        xp = namespace(time)
        angle = constant(xp, self.phase) + constant(xp, self.frequency) * time
        factor = constant(xp, self.factor) + constant(xp, self.factor_rate) * time
        values = constant(xp, self.cosine) @ (factor * xp.cos(angle))
        values = values + constant(xp, self.sine) @ (factor * xp.sin(angle))
        return TideState(self.mean + values[0], values[1:])


def parse_start(text: Any) -> datetime:
    """Return a date of ISO 8601 in UTC, such as 2026-11-28T12:00:00Z.

    Raises:
        ValueError: it is none, or has another offset than UTC.
    """
    date = (
        text
        if isinstance(text, datetime)
        else datetime.fromisoformat(str(text).replace('Z', '+00:00'))
    )
    if date.tzinfo is None or date.utcoffset() or not 1900 <= date.year < 2100:
        raise ValueError('not in UTC, or another century')
    return date.astimezone(timezone.utc)


def make_tide(element: TideElement, start: datetime | None, origin: Origin) -> Tide:
    """Return the tide of a place at ``origin``, from a date on.

    Raises:
        MissingPackageError: a date, and utide is not installed.
    """
    levels, currents = element.constituents, element.currents
    constituents: tuple[Any, ...] = (*levels, *currents)
    names = [part.name for part in constituents]
    count = len(levels)
    lag = np.radians([part.phase for part in constituents])
    along, across = np.zeros((4, len(names))), np.zeros((4, len(names)))
    along[0, :count] = [part.amplitude for part in levels]
    tilt = np.radians([part.inclination for part in currents])
    axes = np.stack([np.cos(tilt), np.sin(tilt), 0 * tilt])
    minor = np.stack([-np.sin(tilt), np.cos(tilt), 0 * tilt])
    along[1:, count:] = origin.in_map((axes * [part.major for part in currents]).T).T
    across[1:, count:] = origin.in_map((minor * [part.minor for part in currents]).T).T
    # cos(θ − g) and sin(θ − g) by cos θ and sin θ.
    cosine = along * np.cos(lag) - across * np.sin(lag)
    sine = along * np.sin(lag) + across * np.cos(lag)
    return Tide(element.mean, *_arguments(names, start, origin.latitude), cosine, sine)


def _arguments(
    names: Sequence[str], start: datetime | None, latitude: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return V + u, rad, and their rate, rad/s, f and its rate, 1/s, at a date, (n,) each."""
    if start is None:
        speed = np.radians([CONSTITUENT_SPEEDS[name] for name in names]) / 3600
        return np.zeros(len(names)), speed, np.ones(len(names)), np.zeros(len(names))
    utide = require('utide', 'a tide with a date')
    harmonics = require('utide.harmonics', 'a tide with a date')
    index = [utide.constit_index_dict[name] for name in names]
    day = (start - _FIRST_DAY).total_seconds() / 86400 + 1.0  # as utide counts
    days = np.array([day, day + _SPAN])
    f, u, v = harmonics.FUV(days, day, np.array(index), latitude, [0, 0, 0, 0])
    speed = 2 * math.pi * harmonics.linearized_freqs(days.mean(keepdims=True))[index] / 3600
    seconds = 86400 * _SPAN
    drift = np.angle(np.exp(2j * math.pi * (u[1] - u[0]))) / seconds
    return 2 * math.pi * (v[0] + u[0]), speed + drift, f[0], (f[1] - f[0]) / seconds
