# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random numbers of a seed and a stamp that every array library draws alike.

:mod:`marine_sim_ros.noise` asks NumPy for its numbers, which a compiled program cannot. These
come from whole numbers of 32 bits alone: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and
Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3").
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

import numpy as np

from marine_sim_ros.arrays import Array, constant
from marine_sim_ros.noise import key_bits

__all__ = ['key_of', 'share_of', 'stamp_words', 'threefry']

_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(key: tuple[Array, Array], counter: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return two random words of two words of a key and two of a counter, each uint32 (m,)."""
    keys = (*key, key[0] ^ key[1] ^ _PARITY)
    x, y = counter[0] + keys[0], counter[1] + keys[1]
    for i in range(5):
        for turn in _TURNS[i % 2]:
            x = x + y
            y = ((y << turn) | (y >> (32 - turn))) ^ x
        x, y = x + keys[(i + 1) % 3], y + keys[(i + 2) % 3] + (i + 1)
    return x, y


@lru_cache(maxsize=4096)
def key_of(seed: int, name: str) -> tuple[float, ...]:
    """Return four whole numbers below 2¹⁶ of a seed and a name: a float of any kind holds them."""
    bits = key_bits(seed, name)
    return tuple(float(bits >> (16 * i) & 0xFFFF) for i in range(4))


def stamp_words(stamps: np.ndarray) -> np.ndarray:
    """Return the high and low words (..., 2), uint32, of stamps (...), ns."""
    whole = np.asarray(stamps, np.int64)
    return np.stack([whole >> 32, whole & 0xFFFFFFFF], axis=-1).astype(np.uint32)


def share_of(xp: ModuleType, key: Array, stamp: Array) -> Array:
    """Return a number () from 0 to below 1 of a key (4,) and the words (2,) of a stamp.

    It has 24 bits, so that it is the same number in single precision.
    """
    halves, stamp = constant(xp, key), constant(xp, stamp)
    words = xp.asarray(halves, dtype=xp.uint32)
    x, _ = threefry(
        ((words[0:1] << 16) | words[1:2], (words[2:3] << 16) | words[3:4]),
        (stamp[0:1], stamp[1:2]),
    )
    return xp.asarray((x >> 8)[0], dtype=halves.dtype) * 2.0**-24
