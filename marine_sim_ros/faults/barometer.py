# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What faults add to a barometer's reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marine_sim_ros.core.random import gaussian, stamp_words
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.faults.draws import key_of, share_of
from marine_sim_ros.faults.kinds import BarometerDrift, BarometerDropout, BarometerSpikes, Fault

__all__ = ['pressure_error']


def _drawn(seed: int, name: str, stamps: np.ndarray) -> np.ndarray:
    return np.asarray(share_of(np, np.array(key_of(seed, name)), stamp_words(stamps)))


def _error(fault: Fault, name: str, seed: int, stamps: np.ndarray) -> np.ndarray:
    if isinstance(fault, BarometerDrift):
        return fault.rate * (stamps / NANOSECONDS - fault.start)
    if not isinstance(fault, BarometerSpikes | BarometerDropout):
        return np.zeros(stamps.shape)
    hit = _drawn(seed, name, stamps) < fault.share
    if isinstance(fault, BarometerDropout):
        return np.where(hit, np.nan, 0.0)
    return np.where(hit, fault.size * gaussian(seed, name, stamps), 0.0)


def pressure_error(faults: Sequence[Fault], seed: int, stamps: int | np.ndarray) -> np.ndarray:
    """Return what is added to readings of stamps (...) in ns, Pa; NaN: there is none.

    Drift is rate (t − t₀); spikes are Bernoulli-Gaussian noise, size N(0, 1) in a share of the
    readings. What is drawn depends on the seed, the stamp, and the place in the list.
    """
    given = np.asarray(stamps)
    result, time = np.zeros(given.shape), given / NANOSECONDS
    for i, fault in enumerate(faults):
        acts = (time >= fault.start) & (time < fault.end)
        error = _error(fault, f'barometer fault {i}', seed, given)
        result = result + np.where(acts, error, 0.0)
    return result
