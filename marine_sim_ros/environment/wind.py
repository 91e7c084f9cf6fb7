# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wind over the sea: mean profile and gusts of NORSOK N-003 (the Frøya spectrum).

Waves do not depend on the wind: a sea and a wind of the same weather are two entries of a file.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.random import uniform
from marine_sim_ros.core.schema import REQUIRED, check_ranges, choice, declaration, number

__all__ = ['Wind', 'band_edges', 'norsok_spectrum']

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


@declaration(frozen=True)
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
