# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random numbers that depend on a seed, a name and a stamp, never on the order of calls."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ['gaussian']


def gaussian(seed: int, name: str, stamp: int, count: int = 1) -> np.ndarray:
    """Return ``count`` standard normal numbers for a stamp in ns.

    A counter-based generator (Philox, Salmon et al. 2011) keyed by seed and name, its counter
    set by the stamp: the same in every process and after a restart.
    """
    key = int.from_bytes(
        hashlib.blake2b(f'{seed}/{name}'.encode(), digest_size=16).digest(), 'big'
    )
    generator = np.random.Generator(np.random.Philox(key=key, counter=stamp << 64))
    return generator.standard_normal(count)
