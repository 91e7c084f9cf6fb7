# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tides: level and current of the sea as sums of harmonic constituents.

η = z₀ + Σ f A cos(V + u + ω t − g) with the amplitude A and the phase lag g of a place. With a
date the astronomical argument V and the nodal corrections f and u are those of utide; without one
V and u are 0 and f is 1 at the start of the run, so that g is the lag behind the start. The tide
is the same everywhere: the surface rises and falls as a level plane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, nested, number

__all__ = ['CONSTITUENT_SPEEDS', 'Tide', 'TideElement', 'make_tide', 'parse_start']

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


@declaration(frozen=True)
class LevelElement:
    """Constituent of the level."""

    name: str = choice(tuple(CONSTITUENT_SPEEDS), 'name', REQUIRED)
    amplitude: float = number(REQUIRED, 0.0, 20.0, 'm', 'amplitude A')
    phase: float = number(0.0, -360.0, 360.0, '°', 'phase lag g, of Greenwich with a date')


@declaration(frozen=True)
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


@declaration(frozen=True)
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
