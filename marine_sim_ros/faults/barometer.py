# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What faults add to a barometer's reading."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from marine_sim_ros.faults.draws import key_of, share_of, stamp_words
from marine_sim_ros.faults.kinds import BarometerDrift, BarometerDropout, BarometerSpikes, Fault
from marine_sim_ros.noise import gaussian
from marine_sim_ros.trajectory import NANOSECONDS

__all__ = ['pressure_error']


def _drawn(seed: int, name: str, stamp: int) -> float:
    return float(share_of(np, np.array(key_of(seed, name)), stamp_words(np.array(stamp))))


def _error(fault: Fault, name: str, seed: int, stamp: int) -> float:
    if isinstance(fault, BarometerDrift):
        return fault.rate * (stamp / NANOSECONDS - fault.start)
    if not isinstance(fault, BarometerSpikes | BarometerDropout):
        return 0.0
    if _drawn(seed, name, stamp) >= fault.share:
        return 0.0
    if isinstance(fault, BarometerDropout):
        return math.nan
    return fault.size * float(gaussian(seed, name, stamp)[0])


def pressure_error(faults: Sequence[Fault], seed: int, stamp: int) -> float:
    """Return what is added to a reading of a stamp (ns), Pa; NaN: there is none.

    Drift is rate (t − t₀); spikes are Bernoulli-Gaussian noise, size N(0, 1) in a share of the
    readings. What is drawn depends on the seed, the stamp, and the place in the list.
    """
    return sum(
        _error(fault, f'barometer fault {i}', seed, stamp)
        for i, fault in enumerate(faults)
        if fault.acts(stamp / NANOSECONDS)
    )
