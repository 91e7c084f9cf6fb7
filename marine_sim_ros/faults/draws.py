# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random numbers of faults, of a seed and a stamp: every array library draws them alike."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

from marine_sim_ros.core.arrays import Array, constant
from marine_sim_ros.core.random import key_bits, threefry

__all__ = ['key_of', 'share_of']


@lru_cache(maxsize=4096)
def key_of(seed: int, name: str) -> tuple[float, ...]:
    """Return four whole numbers below 2¹⁶ of a seed and a name: a float of any kind holds them."""
    bits = key_bits(seed, name)
    return tuple(float(bits >> (16 * i) & 0xFFFF) for i in range(4))


def share_of(xp: ModuleType, key: Array, stamp: Array) -> Array:
    """Return numbers (...) from 0 to below 1 of a key (4,) and the words (..., 2) of stamps.

    It has 24 bits, so that it is the same number in single precision.
    """
    halves, stamp = constant(xp, key), constant(xp, stamp)
    words = xp.asarray(halves, dtype=xp.uint32)
    x, _ = threefry(
        ((words[0:1] << 16) | words[1:2], (words[2:3] << 16) | words[3:4]),
        (stamp[..., 0:1], stamp[..., 1:2]),
    )
    return xp.asarray((x >> 8)[..., 0], dtype=halves.dtype) * 2.0**-24
