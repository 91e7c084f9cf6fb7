# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Echoes over range: of beams as rays fan out from their lower to their upper side.

Between two neighbouring rays that meet one surface the sound comes back from all of the way
between them, evenly; else each ray's half of the angle comes back at its own range. So a few rays
give an even picture, and shadows keep their edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.random import key_bits
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.sonar.acoustics import beam_hits, echo_strength

__all__ = ['Fan', 'decibels', 'fan_hits', 'profiles', 'speckled']


class Fan(NamedTuple):
    """What the rays (b, n) of b beams meet.

    Attributes:
        range: (b, n) m; infinite for nothing.
        strength: (b, n) intensity per solid angle, 1 from a perfect reflector.
        joined: (b, n − 1) whether a ray and the next meet one surface without a step.
    """

    range: np.ndarray
    strength: np.ndarray
    joined: np.ndarray


def fan_hits(
    sensor: Sensor,
    state: State,
    environment: Environment,
    rays: np.ndarray,
    maximum: float,
    loss: float,
) -> Fan:
    """Return what the rays of beams meet, up to twice their range.

    What is farther than the range lets the last ray within it be joined to the next.

    Args:
        sensor: where they begin.
        state: of the vehicle.
        environment: around it.
        rays: (b, n, 3) unit vectors, frame of the sensor.
        maximum: range of the beams, m.
        loss: absorption, dB/m.
    """
    shape = rays.shape[:-1]
    hits, directions = beam_hits(sensor, state, environment, rays.reshape(-1, 3), 2 * maximum)
    strength = echo_strength(environment, hits, directions, loss).reshape(shape)
    found, surface = hits.distance.reshape(shape), hits.surface.reshape(shape)
    normal, along = hits.normal.reshape(*shape, 3), directions.reshape(*shape, 3)
    one, other = np.s_[:, :-1], np.s_[:, 1:]
    same = (surface[one] == surface[other]) & (surface[one] >= 0)
    near = np.where(np.isfinite(found), found, 0.0)
    apart = np.abs(near[other] - near[one])

    def expected(at: tuple[slice, slice], to: tuple[slice, slice]) -> np.ndarray:
        """Return how far apart two rays meet the plane that touches the surface at one."""
        facing = np.sum(normal[at] * along[at], axis=-1)
        beside = np.sum(normal[at] * along[to], axis=-1)
        meets = beside < 0
        ratio = facing / np.where(meets, beside, -1.0)
        return np.where(meets, near[at] * np.abs(ratio - 1), np.inf)

    steps = np.stack([expected(one, other), expected(other, one)])
    most = 2 * np.max(np.where(np.isfinite(steps), steps, 0.0), axis=0)
    return Fan(found, strength, same & (apart <= most + 0.01 * near[one]))


def profiles(fan: Fan, weights: np.ndarray, edges: tuple[float, float], bins: int) -> np.ndarray:
    """Return the energy (b, bins) of beams over range, 1 for a perfect reflector across all.

    Args:
        fan: what their rays meet.
        weights: (n,) of the rays, evenly apart.
        edges: range of the first bin's near and the last one's far side, m.
        bins: number of bins, all of one width.
    """
    count = fan.range.shape[0]
    width = (edges[1] - edges[0]) / bins
    met = np.isfinite(fan.range)
    place = (np.where(met, fan.range, edges[0]) - edges[0]) / width
    energy = np.where(met, fan.strength, 0.0) * (weights / weights.sum())
    half = 0.5 * energy
    # Halves on both sides of each ray; where it is joined, they are spread on the way between.
    beside = np.zeros_like(energy)
    beside[:, 0], beside[:, -1] = half[:, 0], half[:, -1]
    loose = ~fan.joined
    beside[:, :-1] += half[:, :-1] * loose
    beside[:, 1:] += half[:, 1:] * loose
    between = (half[:, :-1] + half[:, 1:]) * fan.joined
    begin = np.concatenate([place - 0.5, np.minimum(place[:, :-1], place[:, 1:])], axis=1)
    end = np.concatenate([place + 0.5, np.maximum(place[:, :-1], place[:, 1:])], axis=1)
    middle, long = 0.5 * (begin + end), np.maximum(end - begin, 1.0)
    amount = np.concatenate([beside, between], axis=1) / long
    return _spread(middle - 0.5 * long, middle + 0.5 * long, amount, count, bins)


def _spread(
    begin: np.ndarray, end: np.ndarray, rate: np.ndarray, count: int, bins: int
) -> np.ndarray:
    """Return the sums (count, bins) of intervals (count, m) with an even rate per bin.

    The sum up to a place is one of ramps; the second differences of a ramp at whole places are two
    numbers, so that it takes one sum over the bins, whatever the lengths of the intervals.
    """
    row = np.arange(count)[:, None] * (bins + 3)
    total = np.zeros(count * (bins + 3))
    for place, change in ((begin, rate), (end, -rate)):
        # What is beyond the ends goes where it is cut off.
        inside = np.clip(place, -1.0, float(bins))
        whole = np.floor(inside)
        share = inside - whole
        index = (row + whole.astype(int) + 1).reshape(-1)
        for shift, part in ((0, change * (1 - share)), (1, change * share)):
            total += np.bincount(index + shift, part.reshape(-1), len(total))
    sums = np.cumsum(total.reshape(count, bins + 3), axis=1)
    return np.maximum(sums[:, 1 : bins + 1], 0.0)


def speckled(energy: np.ndarray, noise: float, seed: int, name: str, stamp: int) -> np.ndarray:
    """Return energies with speckle and noise: exponential, as of Rayleigh amplitudes.

    Args:
        energy: (b, bins).
        noise: mean energy of the noise.
        seed: random seed.
        name: name of what is drawn.
        stamp: ns.
    """
    stream = np.random.Philox(key=key_bits(seed, name), counter=stamp << 128)
    draw = np.random.Generator(stream).random(energy.shape)
    return np.asarray(-np.log1p(-draw) * (energy + noise))


def decibels(energy: np.ndarray, gain: float, dynamic_range: float) -> np.ndarray:
    """Return energies with a gain in dB as numbers 0 to 255: from −dynamic_range to 0 dB."""
    level = 10 * np.log10(np.maximum(energy, 1e-30)) + gain
    return np.clip(np.round(255 * (1 + level / dynamic_range)), 0, 255).astype(np.uint8)
