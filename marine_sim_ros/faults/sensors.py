# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What faults of any sensor do to its readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from marine_sim_ros.core.random import gaussian, stamp_words
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.faults.draws import key_of, share_of
from marine_sim_ros.faults.kinds import (
    Fault,
    SensorBias,
    SensorDelay,
    SensorDropout,
    SensorFreeze,
    SensorSpikes,
)

__all__ = ['added_latency', 'dropped', 'frozen', 'with_errors']

Stamps = int | np.ndarray


def _acting(fault: Fault, stamps: Stamps) -> np.ndarray:
    time = np.asarray(stamps) / NANOSECONDS
    return np.asarray((time >= fault.start) & (time < fault.end))


def _hit(share: float, seed: int, name: str, stamps: Stamps) -> np.ndarray:
    drawn = share_of(np, np.array(key_of(seed, name)), stamp_words(np.asarray(stamps)))
    return np.asarray(drawn < share)


def with_errors(
    faults: Sequence[Fault],
    name: str,
    readings: Mapping[str, np.ndarray],
    stamps: Stamps,
    seed: int,
) -> Mapping[str, np.ndarray]:
    """Return the readings of a sensor of a name with biases and spikes.

    Spikes are size N(0, 1) in a share of the readings. What is drawn depends on the seed, the
    stamp, the sensor's name and the fault's place in the list.

    Args:
        faults: faults of the run.
        name: name of the sensor.
        readings: arrays (...) or (..., k) by quantity.
        stamps: stamps (...), ns.
        seed: random seed.
    """
    result = dict(readings)
    for i, fault in enumerate(faults):
        if not isinstance(fault, SensorBias | SensorSpikes) or fault.sensor != name:
            continue
        quantity = fault.quantity or next(iter(result))
        if quantity not in result:
            continue
        error = np.asarray(fault.size * _acting(fault, stamps))
        if isinstance(fault, SensorSpikes):
            own = f'{name} fault {i}'
            error = error * gaussian(seed, own, stamps) * _hit(fault.share, seed, own, stamps)
        value = np.asarray(result[quantity])
        result[quantity] = value + error.reshape(error.shape + (1,) * (value.ndim - error.ndim))
    return result


def dropped(faults: Sequence[Fault], name: str, stamps: Stamps, seed: int) -> np.ndarray:
    """Return which readings (...) of a sensor are not sent."""
    result = np.zeros(np.shape(stamps), bool)
    for i, fault in enumerate(faults):
        if isinstance(fault, SensorDropout) and fault.sensor == name:
            hit = _hit(fault.share, seed, f'{name} fault {i}', stamps)
            result = result | (_acting(fault, stamps) & hit)
    return result


def frozen(faults: Sequence[Fault], name: str, stamps: Stamps) -> np.ndarray:
    """Return which readings (...) of a sensor are the one before."""
    result = np.zeros(np.shape(stamps), bool)
    for fault in faults:
        if isinstance(fault, SensorFreeze) and fault.sensor == name:
            result = result | _acting(fault, stamps)
    return result


def added_latency(faults: Sequence[Fault], name: str, stamps: Stamps) -> np.ndarray:
    """Return what is added to the latency of readings (...), ns."""
    result = np.zeros(np.shape(stamps), np.int64)
    for fault in faults:
        if isinstance(fault, SensorDelay) and fault.sensor == name:
            result = result + round(fault.delay * NANOSECONDS) * _acting(fault, stamps)
    return result
