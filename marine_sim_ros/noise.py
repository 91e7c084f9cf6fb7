# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random numbers that depend on a seed, a name and a stamp, never on the order of calls."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np

__all__ = ['gaussian', 'key_bits', 'uniform']


@lru_cache(maxsize=64)
def key_bits(seed: int, name: str) -> int:
    """Return 128 bits of a seed and a name."""
    return int.from_bytes(
        hashlib.blake2b(f'{seed}/{name}'.encode(), digest_size=16).digest(), 'big'
    )


def gaussian(seed: int, name: str, stamp: int, count: int = 1) -> np.ndarray:
    """Return ``count`` standard normal numbers for a stamp in ns.

    A counter-based generator (Philox, Salmon et al. 2011) keyed by seed and name, its counter
    set by the stamp: the same in every process and after a restart.
    """
    philox = np.random.Philox(key=key_bits(seed, name), counter=stamp << 64)
    generator = np.random.Generator(philox)
    return generator.standard_normal(count)


def uniform(seed: int, name: str, count: int) -> np.ndarray:
    """Return ``count`` numbers between 0 and 1 that depend on a seed and a name alone."""
    return np.random.Generator(np.random.Philox(key=key_bits(seed, name))).random(count)
