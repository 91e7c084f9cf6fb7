# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of sensors: errors, dropouts, freezes and delays of their readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from marine_sim_ros.core.random import gaussian, stamp_words
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.faults.fault_types import (
    BarometerDrift,
    BarometerDropout,
    BarometerSpikes,
    Fault,
    SensorBias,
    SensorDelay,
    SensorDropout,
    SensorFreeze,
    SensorSpikes,
    fault_key,
    uniform_draws,
)

__all__ = ['add_errors', 'added_latency', 'dropout_mask', 'freeze_mask', 'pressure_error']

StampArray = int | np.ndarray


def _acting_mask(fault: Fault, stamps: StampArray) -> np.ndarray:
    time = np.asarray(stamps) / NANOSECONDS
    return np.asarray((time >= fault.start) & (time < fault.end))


def _hit_mask(share: float, seed: int, name: str, stamps: StampArray) -> np.ndarray:
    drawn = uniform_draws(np, np.array(fault_key(seed, name)), stamp_words(np.asarray(stamps)))
    return np.asarray(drawn < share)


# Errors that faults add to a barometer's reading.


def _fault_error(fault: Fault, name: str, seed: int, stamps: np.ndarray) -> np.ndarray:
    if isinstance(fault, BarometerDrift):
        return fault.rate * (stamps / NANOSECONDS - fault.start)
    if not isinstance(fault, BarometerSpikes | BarometerDropout):
        return np.zeros(stamps.shape)
    hit = _hit_mask(fault.share, seed, name, stamps)
    if isinstance(fault, BarometerDropout):
        return np.where(hit, np.nan, 0.0)
    return np.where(hit, fault.size * gaussian(seed, name, stamps), 0.0)


def pressure_error(faults: Sequence[Fault], seed: int, stamps: StampArray) -> np.ndarray:
    """Return the error added to readings of stamps (...) in ns, Pa; NaN: no reading.

    Drift is rate (t − t₀); spikes are Bernoulli-Gaussian noise, size N(0, 1) in a share of the
    readings. What is drawn depends on the seed, the stamp, and the place in the list.
    """
    stamp_array = np.asarray(stamps)
    result = np.zeros(stamp_array.shape)
    for i, fault in enumerate(faults):
        error = _fault_error(fault, f'barometer fault {i}', seed, stamp_array)
        result = result + np.where(_acting_mask(fault, stamp_array), error, 0.0)
    return result


# Effects of sensor faults on readings.


def add_errors(
    faults: Sequence[Fault],
    name: str,
    readings: Mapping[str, np.ndarray],
    stamps: StampArray,
    seed: int,
) -> Mapping[str, np.ndarray]:
    """Return the readings of a sensor of a name with biases and spikes.

    Spikes are size N(0, 1) in a share of the readings. What is drawn depends on the seed, the
    stamp, the sensor's name and the fault's place in the list.

    Args:
        readings: arrays (...) or (..., k) by quantity.
        stamps: stamps (...), ns.
    """
    result = dict(readings)
    for i, fault in enumerate(faults):
        if not isinstance(fault, SensorBias | SensorSpikes) or fault.sensor != name:
            continue
        quantity = fault.quantity or next(iter(result))
        if quantity not in result:
            continue
        error = np.asarray(fault.size * _acting_mask(fault, stamps))
        if isinstance(fault, SensorSpikes):
            draw_name = f'{name} fault {i}'
            error = (
                error
                * gaussian(seed, draw_name, stamps)
                * _hit_mask(fault.share, seed, draw_name, stamps)
            )
        value = np.asarray(result[quantity])
        result[quantity] = value + error.reshape(error.shape + (1,) * (value.ndim - error.ndim))
    return result


def dropout_mask(faults: Sequence[Fault], name: str, stamps: StampArray, seed: int) -> np.ndarray:
    """Return a mask (...) of the readings of a sensor that are not sent."""
    result = np.zeros(np.shape(stamps), bool)
    for i, fault in enumerate(faults):
        if isinstance(fault, SensorDropout) and fault.sensor == name:
            hit = _hit_mask(fault.share, seed, f'{name} fault {i}', stamps)
            result = result | (_acting_mask(fault, stamps) & hit)
    return result


def freeze_mask(faults: Sequence[Fault], name: str, stamps: StampArray) -> np.ndarray:
    """Return a mask (...) of the readings of a sensor that repeat the one before."""
    result = np.zeros(np.shape(stamps), bool)
    for fault in faults:
        if isinstance(fault, SensorFreeze) and fault.sensor == name:
            result = result | _acting_mask(fault, stamps)
    return result


def added_latency(faults: Sequence[Fault], name: str, stamps: StampArray) -> np.ndarray:
    """Return the additional latency of readings (...), ns."""
    result = np.zeros(np.shape(stamps), np.int64)
    for fault in faults:
        if isinstance(fault, SensorDelay) and fault.sensor == name:
            result = result + round(fault.delay * NANOSECONDS) * _acting_mask(fault, stamps)
    return result
