# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Echoes over range, of rays that fan out from a beam's lower to its upper side.

Between two neighbouring rays on one surface the echo is spread evenly over the ranges between
them; otherwise each ray's half of the angle echoes at its own range. So a few rays give an even
picture, and shadows keep their edges.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.environment.rays import first_hits, hit_materials
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.rays import Hits
from marine_sim_ros.sensors.acoustics import (
    beam_hits,
    echo_strength,
    local_absorption,
    reflectivity,
)

__all__ = [
    'Fan',
    'Reflections',
    'SonarPing',
    'fan_echoes',
    'fan_hits',
    'profiles',
    'pulse_profiles',
    'reflected_echoes',
]

Strength: TypeAlias = Callable[[Environment, Hits, Array, float, float], Array]
"""Function of hits, their rays, frequency, kHz, and absorption, dB/m: strengths of echoes."""


class SonarPing(NamedTuple):
    """A ping of a sonar: where and how its beams are sent.

    Attributes:
        sensor: the sonar, where the rays begin.
        state: state of the vehicle.
        rays: (b, n, 3) unit vectors of the rays of b beams, frame of the sensor.
        max_range: range of the beams, m.
        frequency: kHz.
        strength: strengths of the echoes of hits.
    """

    sensor: Sensor
    state: State
    environment: Environment
    rays: np.ndarray
    max_range: float
    frequency: float
    strength: Strength = echo_strength


class Fan(NamedTuple):
    """Hits of the rays (b, n) of b beams.

    Attributes:
        range: (b, n) m; infinite for nothing.
        strength: (b, n) intensity per solid angle, 1 from a perfect reflector.
        joined: (b, n − 1) whether a ray and the next meet one surface without a step.
    """

    range: np.ndarray
    strength: np.ndarray
    joined: np.ndarray


def fan_hits(ping: SonarPing) -> Fan:
    """Return the hits of the rays of a ping, up to twice its range.

    Hits beyond the range let the last ray within it be joined to the next.
    """
    sensor, state, environment, rays, max_range, frequency, strength = ping
    shape = rays.shape[:-1]
    hits, directions = beam_hits(sensor, state, environment, rays.reshape(-1, 3), 2 * max_range)
    loss = local_absorption(environment, state, frequency)
    found_strength = strength(environment, hits, directions, frequency, loss).reshape(shape)
    joined = _joined(
        hits.distance.reshape(shape),
        hits.surface.reshape(shape),
        hits.normal.reshape(*shape, 3),
        directions.reshape(*shape, 3),
    )
    return Fan(hits.distance.reshape(shape), found_strength, joined)


def _joined(
    ranges: np.ndarray, surface: np.ndarray, normal: np.ndarray, along: np.ndarray
) -> np.ndarray:
    """Return whether rays (b, n) and the next meet one surface without a step (b, n − 1)."""
    left, right = np.s_[:, :-1], np.s_[:, 1:]
    same = (surface[left] == surface[right]) & (surface[left] >= 0)
    near = np.where(np.isfinite(ranges), ranges, 0.0)
    step = np.abs(near[right] - near[left])

    def expected(at: tuple[slice, slice], to: tuple[slice, slice]) -> np.ndarray:
        """Return the distance between the hits of two rays on the tangent plane at one hit."""
        facing = np.sum(normal[at] * along[at], axis=-1)
        beside = np.sum(normal[at] * along[to], axis=-1)
        is_facing = beside < 0
        ratio = facing / np.where(is_facing, beside, -1.0)
        return np.where(is_facing, near[at] * np.abs(ratio - 1), np.inf)

    steps = np.stack([expected(left, right), expected(right, left)])
    max_step = 2 * np.max(np.where(np.isfinite(steps), steps, 0.0), axis=0)
    return np.asarray(same & (step <= max_step + 0.01 * near[left]))


_OFF = 1e-6
"""Distance from a surface at which a reflected ray begins, m."""


class Reflections(NamedTuple):
    """First echoes of rays (n,) by one reflection at the surface or the bottom.

    Attributes:
        hits: targets; distances are (L₀ + L₁)/2 by the time of travel, infinite for none.
        strength: (n,) intensity per solid angle.
        back: (n, 3) directions straight from the sonar to the target, map.
        onward: (n, 3) directions of the reflected rays, map.
        straight: (n,) L₀, m.
        reflected: (n,) L₁, m.
        path: (n,) number of the mirror and the target, −1 for none.
    """

    hits: Hits
    strength: np.ndarray
    back: np.ndarray
    onward: np.ndarray
    straight: np.ndarray
    reflected: np.ndarray
    path: np.ndarray


def fan_echoes(
    ping: SonarPing,
    pattern: Callable[[np.ndarray], np.ndarray],
    *,
    multipath: bool,
    both_ways: bool = True,
) -> Fan:
    """Return the hits of the rays of a ping and, with ``multipath``, by one reflection too (2 b).

    Args:
        ping: rays and sonar.
        pattern: as of :func:`reflected_echoes`.
        multipath: whether the second half of the fan, of the reflections, is wanted.
        both_ways: as of :func:`reflected_echoes`.
    """
    direct = fan_hits(ping)
    if not multipath:
        return direct
    shape = ping.rays.shape[:-1]
    found = reflected_echoes(ping, pattern, both_ways=both_ways)
    joined = _joined(
        np.where(found.path >= 0, found.straight, np.inf).reshape(shape),
        found.path.reshape(shape),
        found.hits.normal.reshape(*shape, 3),
        found.back.reshape(*shape, 3),
    )
    mirrored = Fan(found.hits.distance.reshape(shape), found.strength.reshape(shape), joined)
    return Fan(*(np.concatenate(pair) for pair in zip(direct, mirrored, strict=True)))


def reflected_echoes(
    ping: SonarPing, pattern: Callable[[np.ndarray], np.ndarray], *, both_ways: bool = True
) -> Reflections:
    """Return the echoes of the rays of a ping by one reflection at the surface or the bottom.

    Sound goes by the surface or the bottom, which reflect it as mirrors, to a target and straight
    back, or the same way the other way round. Of the lengths L₁ by the reflection and L₀ straight,
    the echo has the range (L₀ + L₁)/2 and the intensity per solid angle

        2 R² b(back)/b(ray) √(σ₀ σ₁)/cos α₁ 10^(−a (L₀ + L₁)/10)/L₀²,

    with the incidence α₀ and the pattern b of the way straight back, the area L₁² dΩ/cos α₁, and
    the geometric mean of the :func:`.backscatter` of both ways, an assumption that Lambert's law
    μ cos α₀ cos α₁ fulfils. R² is :func:`.reflectivity`. Echoes are summed in
    intensity. Such sound goes straight in stratified water. Source: mirror images, Kinsler et al.
    (2000), section 15.8; bistatic law of Lambert, Urick (1983), section 8.5.

    Args:
        ping: rays and sonar.
        pattern: function of directions (..., 3) in the frame of the sensor that returns the
            sensitivity (...) of its beams in intensity, one way.
        both_ways: whether sound goes round in both directions; else it is sent straight, by a
            transmitter of this pattern, and comes back by the reflection along the ray, without
            the 2.
    """
    sensor, state, environment, rays, max_range, frequency, strength = ping
    turn = rotation_matrix(state.orientation) @ sensor.rotation
    origin = in_map(state.position, state.orientation, sensor.position[None, :])[0]
    along = rays.reshape(-1, 3) @ turn.T
    first = first_hits(environment, origin, along, 2 * max_range)
    materials = hit_materials(environment)
    factor = np.array([reflectivity(name) for name in materials])[first.surface.astype(int)]
    scene = environment.scene
    solid = 0 if scene is None else len(scene)
    level = solid - (0 if scene is None else len(scene.obstacles))
    is_mirror = ((first.surface >= 0) & (first.surface < level)) | (first.surface == solid)
    is_mirror &= first.distance > 0
    reach = np.where(is_mirror, first.distance, 0.0)
    cosine = np.sum(first.normal * along, axis=-1, keepdims=True)
    onward = along - 2 * cosine * first.normal
    begin = origin + reach[:, None] * along + _OFF * first.normal
    second = first_hits(environment, begin, onward, 2 * max_range)
    is_hit = is_mirror & (second.surface >= 0) & (second.distance > 0)
    leg = np.where(is_hit, second.distance, 0.0)
    point = begin + leg[:, None] * onward
    away = point - origin
    straight = np.maximum(np.linalg.norm(away, axis=-1), 1e-6)
    back = away / straight[:, None]
    seen = first_hits(environment, origin, back, 2 * max_range)
    is_hit &= np.abs(seen.distance - straight) <= 1e-3 + 1e-4 * straight
    apparent = 0.5 * (straight + reach + leg)
    if environment.fields is not None:
        speed = environment.mean_sound_speed(origin + 0.0 * point, point)
        apparent = apparent * (SOUND_SPEED / speed)
    hits = Hits(np.where(is_hit, apparent, np.inf), second.normal, second.surface)
    hits = hits._replace(surface=np.where(is_hit, hits.surface, -1.0))
    ways = (2.0 if both_ways else 1.0) * factor * (apparent / straight) ** 2
    ways = ways * pattern(back @ turn) / np.maximum(pattern(rays.reshape(-1, 3)), 1e-30)
    loss = local_absorption(environment, state, frequency)
    both = [strength(environment, hits, way, frequency, loss) for way in (back, onward)]
    facing = [np.maximum(-np.sum(hits.normal * way, axis=-1), 1e-6) for way in (back, onward)]
    mean = np.sqrt(both[0] * both[1] * facing[0] / facing[1])
    return Reflections(
        hits,
        np.where(is_hit, ways * mean, 0.0),
        back,
        onward,
        straight,
        reach + leg,
        np.where(is_hit, hits.surface + len(materials) * first.surface, -1.0),
    )


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
    is_hit = np.isfinite(fan.range)
    bin_position = (np.where(is_hit, fan.range, edges[0]) - edges[0]) / width
    energy = np.where(is_hit, fan.strength, 0.0) * (weights / weights.sum())
    half = 0.5 * energy
    # Halves on both sides of each ray; where it is joined, they are spread on the way between.
    beside = np.zeros_like(energy)
    beside[:, 0], beside[:, -1] = half[:, 0], half[:, -1]
    loose = ~fan.joined
    beside[:, :-1] += half[:, :-1] * loose
    beside[:, 1:] += half[:, 1:] * loose
    between = (half[:, :-1] + half[:, 1:]) * fan.joined
    begin = np.concatenate(
        [bin_position - 0.5, np.minimum(bin_position[:, :-1], bin_position[:, 1:])], axis=1
    )
    end = np.concatenate(
        [bin_position + 0.5, np.maximum(bin_position[:, :-1], bin_position[:, 1:])], axis=1
    )
    middle, long = 0.5 * (begin + end), np.maximum(end - begin, 1.0)
    amount = np.concatenate([beside, between], axis=1) / long
    return _sum_into_bins(middle - 0.5 * long, middle + 0.5 * long, amount, count, bins)


def _sum_into_bins(
    begin: np.ndarray, end: np.ndarray, rate: np.ndarray, count: int, bins: int
) -> np.ndarray:
    """Return the sums (count, bins) of intervals (count, m) with an even rate per bin.

    The sum up to a place is one of ramps; the second differences of a ramp at whole places are two
    numbers, so that it takes one sum over the bins, whatever the lengths of the intervals.
    """
    row = np.arange(count)[:, None] * (bins + 3)
    total = np.zeros(count * (bins + 3))
    for positions, change in ((begin, rate), (end, -rate)):
        # What is beyond the ends goes where it is cut off.
        inside = np.clip(positions, -1.0, float(bins))
        lower = np.floor(inside)
        fraction = inside - lower
        index = (row + lower.astype(int) + 1).reshape(-1)
        for shift, part in ((0, change * (1 - fraction)), (1, change * fraction)):
            total += np.bincount(index + shift, part.reshape(-1), len(total))
    sums = np.cumsum(total.reshape(count, bins + 3), axis=1)
    return np.maximum(sums[:, 1 : bins + 1], 0.0)


def pulse_profiles(
    fan: Fan, weights: np.ndarray, edges: tuple[float, float], bins: int, resolution: float
) -> np.ndarray:
    """Return the energy (b, bins) of beams over range that a pulse covers at a time.

    Each bin has the mean over the length of the pulse in range, times this length over the bin's.

    Args:
        fan: what their rays meet; strengths per solid angle.
        weights: (n,) solid angles of the rays, sr.
        edges: range of the first bin's near and the last one's far side, m.
        bins: number of bins, all of one width.
        resolution: length of the pulse in range, c τ/2, m.
    """
    width = (edges[1] - edges[0]) / bins
    energy = profiles(fan, weights, edges, bins) * weights.sum()
    return _spread(energy, max(round(resolution / width), 1)) * (resolution / width)


def _spread(energy: np.ndarray, count: int) -> np.ndarray:
    """Return the running means (..., bins) over an odd number of bins, count or the next."""
    if count < 2:
        return energy
    half = count // 2
    padded = np.pad(energy, [(0, 0)] * (energy.ndim - 1) + [(half + 1, half)])
    total = np.cumsum(padded, axis=-1)
    width = 2 * half + 1
    return np.maximum((total[..., width:] - total[..., :-width]) / width, 0.0)
