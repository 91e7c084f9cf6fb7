# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Noise of sensors as functions of seed, name and stamp: white, and slow with a memory.

Slow noise is drawn every quarter of a second and linear between, so that it is the same for every
reader, stamp and order of calls.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.random import draw_ahead, key_bits, stamp_words, threefry
from marine_sim_ros.core.spatial import rotation_matrix, rotation_vector_quaternion
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.faults.fault_types import fault_key, uniform_draws
from marine_sim_ros.model.vehicle import Sensor

__all__ = [
    'add_lasting_errors',
    'constant_bias',
    'mounting_error',
    'quantize',
    'random_events',
    'slow_noise',
    'white_noise',
]

_STEP = NANOSECONDS // 4
"""ns between the numbers of slow noise."""
_BLOCK = 256
"""Steps of slow noise that are computed at a time."""
_OCTAVES = 15
"""Of flicker noise: periods of 1/4 s to 4096 s."""
_LEVELS = 31
"""Of a random walk: it is drawn over 2³¹ steps, 17 years."""
_WORD = 0xFFFFFFFF


def gaussians(seed: int, name: str, high: np.ndarray | int, low: np.ndarray | int) -> np.ndarray:
    """Return standard normal numbers (...) of counters of two words (...), below 2³² each.

    It is :func:`marine_sim_ros.core.random.gaussian` of other counters than stamps.
    """
    bits = key_bits(seed, name) >> 64
    key = tuple(np.full(1, k, np.uint32) for k in (bits >> 32, bits & _WORD))
    counters = np.broadcast_arrays(np.atleast_1d(high), np.atleast_1d(low))
    x, y = threefry(
        (key[0], key[1]), (counters[0].astype(np.uint32), counters[1].astype(np.uint32))
    )
    u, v = (np.asarray(x, float) + 1.0) * 2.0**-32, np.asarray(y, float) * 2.0**-32
    return np.asarray(np.sqrt(-2.0 * np.log(u)) * np.cos(2 * np.pi * v))


@draw_ahead
def _normal(seed: int, name: str, stamps: int | np.ndarray) -> np.ndarray:
    """Return three independent standard normal numbers (..., 3) for stamps (...), ns."""
    bits = key_bits(seed, name) >> 64
    keys = [((bits >> 32) ^ axis, bits & _WORD) for axis in range(3)]
    if isinstance(stamps, int):
        counter = (stamps >> 32 & _WORD, stamps & _WORD)
        drawn = [threefry(key, counter) for key in keys]
        x, y = (np.array([pair[i] for pair in drawn], float) for i in range(2))
    else:
        integers = np.asarray(stamps, np.int64)
        counters = ((integers >> 32).astype(np.uint32), (integers & _WORD).astype(np.uint32))
        arrays = [tuple(np.full(1, k, np.uint32) for k in key) for key in keys]
        pairs = [threefry((high, low), counters) for high, low in arrays]
        x, y = (np.stack([np.asarray(p[i], float) for p in pairs], axis=-1) for i in range(2))
    u, v = (x + 1.0) * 2.0**-32, y * 2.0**-32
    return np.asarray(np.sqrt(-2.0 * np.log(u)) * np.cos(2 * np.pi * v))


def white_noise(
    seed: int, name: str, stamps: int | np.ndarray, deviation: float | np.ndarray
) -> np.ndarray:
    """Return white noise (..., 3) of a standard deviation, independent at each stamp and axis."""
    if not np.any(deviation):
        return np.zeros((*np.shape(stamps), 3))
    return deviation * _normal(seed, name, stamps)


def slow_noise(
    seed: int,
    name: str,
    stamps: int | np.ndarray,
    *,
    instability: float = 0.0,
    random_walk: float = 0.0,
) -> np.ndarray:
    """Return slow noise (..., 3) at stamps (...) in ns: bias instability and random walk.

    Bias instability B has the spectral density B²/(2π f), two-sided, between 1/4096 Hz and 4 Hz:
    a sum of fifteen processes, one for each octave, that are linear between independent normal
    numbers at multiples of their periods T, 1/4 s to 4096 s, with a phase of their own. Such a
    process of variance a² at its nodes has the density a² T sinc⁴(f T); their sum has
    a²/(3 ln 2 f), so a² = 3 ln 2 B²/(2π). The Allan deviation of its plateau is √(2 ln 2/π) B,
    0.664 B.

    The random walk K is a Wiener process of variance K² t from 0 at t = 0, by halving intervals
    (Lévy's construction), of which each midpoint is drawn; the Allan deviation is K √(τ/3).

    Source of the terms: IEEE Std 952-1997, annex C; of flicker noise from processes of all
    octaves: Voss and Clarke (1978), "1/f noise in music".

    Args:
        stamps: ns, from 0 to 17 years.
        instability: B, in the quantity's unit.
        random_walk: K, in the unit per √s.
    """
    if not instability and not random_walk:
        return np.zeros((*np.shape(stamps), 3))
    if isinstance(stamps, int):
        step, remainder = divmod(max(stamps, 0), _STEP)
        table = _block(seed, name, step // _BLOCK, instability, random_walk)
        values = table[step % _BLOCK]
        return np.asarray(values + (table[step % _BLOCK + 1] - values) * (remainder / _STEP))
    times = np.maximum(np.asarray(stamps, np.int64), 0)
    steps, fraction = times // _STEP, (times % _STEP / _STEP)[..., None]
    blocks, block_index = np.unique(steps // _BLOCK, return_inverse=True)
    tables = np.stack([_block(seed, name, b, instability, random_walk) for b in blocks.tolist()])
    row, block_index = steps % _BLOCK, block_index.reshape(steps.shape)
    left = tables[block_index, row]
    return np.asarray(left + (tables[block_index, row + 1] - left) * fraction)


@lru_cache(maxsize=4096)
def _block(seed: int, name: str, block: int, instability: float, walk: float) -> np.ndarray:
    """Return slow noise (257, 3) at the steps of a block and at the first of the next."""
    steps = block * _BLOCK + np.arange(_BLOCK + 1)
    axes = []
    for axis in 'xyz':
        value = np.zeros(len(steps))
        if instability:
            scale = instability * math.sqrt(3 * math.log(2) / (2 * math.pi))
            value = value + scale * _flicker(seed, f'{name}/{axis}/flicker', steps)
        if walk:
            scale = walk * math.sqrt(_STEP / NANOSECONDS)
            value = value + scale * _wiener(seed, f'{name}/{axis}/walk', steps)
        axes.append(value)
    return np.stack(axes, axis=-1)


def _flicker(seed: int, name: str, steps: np.ndarray) -> np.ndarray:
    """Return the sum (n,) of processes of all octaves at some steps, each of variance 1."""
    octave = np.arange(_OCTAVES)[:, None]
    period = 2**octave
    phase = key_bits(seed, name) % 2**_OCTAVES % period
    node, remainder = np.divmod(steps + phase, period)
    fraction = remainder / period
    left, right = gaussians(seed, name, octave, node), gaussians(seed, name, octave, node + 1)
    return np.asarray(np.sum(left + (right - left) * fraction, axis=0))


def _wiener(seed: int, name: str, steps: np.ndarray) -> np.ndarray:
    """Return a Wiener process (n,) of variance n at steps n from 0 to 2³¹."""
    steps = np.minimum(steps, 2**_LEVELS - 1)
    left = np.zeros(len(steps))
    right = left + gaussians(seed, name, _LEVELS, 0) * 2.0 ** (_LEVELS / 2)
    levels = np.arange(_LEVELS)[::-1, None]
    drawn = gaussians(seed, name, levels, steps >> (levels + 1))
    for level, row in zip(levels.ravel().tolist(), drawn, strict=True):
        # Of an interval of 2 h, the midpoint has the variance h/2 about the mean of the ends.
        middle = (left + right) / 2 + math.sqrt(2**level / 2) * row
        above = (steps >> level) % 2 == 1
        left, right = np.where(above, middle, left), np.where(above, right, middle)
    return left


@lru_cache(maxsize=4096)
def constant_bias(seed: int, name: str, deviation: float) -> np.ndarray:
    """Return a bias (3,) of a run that has the standard deviation."""
    if not deviation:
        return np.zeros(3)
    return deviation * gaussians(seed, f'{name}/bias', np.arange(3), 0)


@lru_cache(maxsize=4096)
def mounting_error(seed: int, name: str, deviation: float) -> np.ndarray:
    """Return the rotation (3, 3) from the axes of a sensor as it is mounted to those described.

    Args:
        deviation: standard deviation of the angle about each axis, rad; constant in a run.
    """
    quaternion = rotation_vector_quaternion(constant_bias(seed, f'{name}/mounting', deviation))
    return np.asarray(rotation_matrix(quaternion))


def add_lasting_errors(
    sensor: Sensor, part: str, values: np.ndarray, stamps: int | np.ndarray, seed: int
) -> np.ndarray:
    """Add the errors of a run to a quantity (...): (1 + s) x + b + d t.

    The standard deviations of s, b and d are ``scale_error``, ``bias`` and ``drift`` (per hour) of
    the sensor's parameters; those that it does not have are 0.

    Args:
        part: the quantity of a sensor of several, before the names of its parameters, as
            ``voltage`` for ``voltage_bias``; empty: the sensor has one.
        stamps: (...) ns, since the start.
    """
    prefix = f'{part}_' if part else ''

    def draw(what: str) -> float:
        deviation = getattr(sensor.spec, prefix + what, 0.0)
        return float(constant_bias(seed, f'{sensor.name}/{prefix}{what}', deviation)[0])

    scale, bias, drift = draw('scale_error'), draw('bias'), draw('drift')
    if scale:
        values = values * (1 + scale)
    if bias or drift:
        values = values + (bias + drift * (np.asarray(stamps) / (3600 * NANOSECONDS)))
    return values


def random_events(
    seed: int, name: str, stamps: int | np.ndarray, probability: float
) -> np.ndarray:
    """Return whether something of a probability is so at stamps (...), ns."""
    drawn = uniform_draws(np, np.array(fault_key(seed, name)), stamp_words(np.asarray(stamps)))
    return np.asarray(drawn < probability)


def quantize(values: np.ndarray, span: float, resolution: float) -> np.ndarray:
    """Return values as a converter gives them: in whole steps, up to the ends of its range.

    Args:
        values: (...).
        span: greatest reading; 0: no limit.
        resolution: step; 0: none.
    """
    if resolution:
        values = np.round(values / resolution) * resolution
    return np.clip(values, -span, span) if span else values
