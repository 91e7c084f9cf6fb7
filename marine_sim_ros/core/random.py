# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random numbers that depend on a seed, a name and a stamp, never on the order of calls.

They are computed from integers of 32 bits, Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror
and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): the same in every process and after
a restart, one by one or many at once, and compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array

__all__ = [
    'draw_ahead',
    'gaussian',
    'key_bits',
    'stamp_generator',
    'stamp_words',
    'threefry',
    'uniform',
]

try:  # as Python's own random does: hashlib loads OpenSSL for it, 4 MB of every node
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b


_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = 0xFFFFFFFF


def threefry(key: tuple[Array, Array], counter: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return two random words of two words of a key and two of a counter.

    All are uint32 (...), or all are Python's whole numbers: one number is had quicker so.
    """
    if isinstance(counter[0], int):
        return _threefry_of_numbers(key, counter)
    keys = (*key, key[0] ^ key[1] ^ _PARITY)
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for i in range(5):
        for rotation in _TURNS[i % 2]:
            x = x + y
            y = (y << rotation | y >> (32 - rotation)) ^ x
        x, y = x + keys[(i + 1) % 3], y + keys[(i + 2) % 3] + (i + 1)
    return x, y


def _threefry_of_numbers(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Return :func:`threefry` for Python integers, masked to 32 bits."""
    keys = (*key, key[0] ^ key[1] ^ _PARITY)
    x, y = (counter[0] + keys[0]) & _WORD, (counter[1] + keys[1]) & _WORD
    for i in range(5):
        for rotation in _TURNS[i % 2]:
            x = (x + y) & _WORD
            y = ((y << rotation) & _WORD | y >> (32 - rotation)) ^ x
        x, y = (x + keys[(i + 1) % 3]) & _WORD, (y + keys[(i + 2) % 3] + i + 1) & _WORD
    return x, y


@lru_cache(maxsize=4096)
def key_bits(seed: int, name: str) -> int:
    """Return 128 bits of a seed and a name."""
    return int.from_bytes(blake2b(f'{seed}/{name}'.encode(), digest_size=16).digest(), 'big')


def stamp_words(stamps: np.ndarray) -> np.ndarray:
    """Return the high and low words (..., 2), uint32, of stamps (...), ns."""
    integers = np.asarray(stamps, np.int64)
    return np.stack([integers >> 32, integers & _WORD], axis=-1).astype(np.uint32)


Draw = Callable[[int, str, 'int | np.ndarray'], np.ndarray]


class _Block(NamedTuple):
    """Numbers of the stamps start, start + step, ...; None where only one stamp was asked for."""

    start: int
    step: int
    values: np.ndarray | None


_AHEAD = 64
"""Numbers per drawn block."""
_MAX_CACHED_BLOCKS = 8192
"""Cached blocks."""


def draw_ahead(draw: Draw) -> Draw:
    """Return a function of seed, name and stamps (ns) that draws the next ones of a series ahead.

    The numbers are those of ``draw``, which depend on nothing else. A node that asks for one stamp
    after the other pays for one call in so many.
    """
    blocks: dict[tuple[int, str], _Block] = {}

    @wraps(draw)
    def draw_cached(seed: int, name: str, stamps: int | np.ndarray) -> np.ndarray:
        if not isinstance(stamps, int):
            return draw(seed, name, stamps)
        start, step, values = blocks.get((seed, name), (stamps, 0, None))
        if values is None:
            step = stamps - start
            series = step > 0
        else:
            index, remainder = divmod(stamps - start, step)
            if not remainder and 0 <= index < _AHEAD:
                return values[index, ...]
            series = not remainder and index == _AHEAD
        if len(blocks) >= _MAX_CACHED_BLOCKS:
            blocks.clear()
        if not series:
            blocks[seed, name] = _Block(stamps, 0, None)
            return draw(seed, name, stamps)
        values = draw(seed, name, stamps + step * np.arange(_AHEAD))
        values.flags.writeable = False
        blocks[seed, name] = _Block(stamps, step, values)
        return values[0, ...]

    return draw_cached


@draw_ahead
def gaussian(seed: int, name: str, stamps: int | np.ndarray) -> np.ndarray:
    """Return standard normal numbers (...) for stamps (...) in ns.

    z = √(−2 ln u) cos 2πv (Box and Muller 1958) of u = (x + 1)/2³² and v = y/2³², with the two
    words x, y that a key of seed and name gives the stamp; |z| is 6.7 at most.
    """
    bits = key_bits(seed, name) >> 64  # the other half is that of faults
    key = (bits >> 32, bits & _WORD)
    if isinstance(stamps, int):
        x, y = threefry(key, (stamps >> 32 & _WORD, stamps & _WORD))
    else:
        stamp_pairs = stamp_words(stamps)
        high, low = (np.full(1, k, np.uint32) for k in key)
        x, y = threefry((high, low), (stamp_pairs[..., 0], stamp_pairs[..., 1]))
    u, v = (np.asarray(x, float) + 1.0) * 2.0**-32, np.asarray(y, float) * 2.0**-32
    z = np.sqrt(-2.0 * np.log(u)) * np.cos(2 * np.pi * v)
    return z.reshape(np.shape(stamps))


def stamp_generator(seed: int, name: str, stamp: int = 0) -> np.random.Generator:
    """Return a generator of many numbers that depend on a seed, a name and a stamp, ns."""
    return np.random.Generator(np.random.Philox(key=key_bits(seed, name), counter=stamp << 128))


def uniform(seed: int, name: str, count: int) -> np.ndarray:
    """Return ``count`` numbers between 0 and 1 that depend on a seed and a name alone."""
    return stamp_generator(seed, name).random(count)
