# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Types of faults with their numbers, and random draws of a seed and a stamp.

A new type is a dataclass here, a line in ``FAULT_TYPES``, and the code that computes its effect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

from marine_sim_ros.core.arrays import Array, constant
from marine_sim_ros.core.random import key_bits, threefry
from marine_sim_ros.core.schema import number, text

__all__ = [
    'BarometerDrift',
    'BarometerDropout',
    'BarometerSpikes',
    'Battery',
    'Dead',
    'Delayed',
    'FAULT_TYPES',
    'Fault',
    'Gust',
    'LostCommands',
    'Reversed',
    'SensorBias',
    'SensorDelay',
    'SensorDropout',
    'SensorFault',
    'SensorFreeze',
    'SensorSpikes',
    'Stuck',
    'ThrusterFault',
    'Weak',
    'fault_key',
    'fault_type_name',
    'uniform_draws',
]


# Random draws of faults from a seed and a stamp, equal in every array library.


@lru_cache(maxsize=4096)
def fault_key(seed: int, name: str) -> tuple[float, ...]:
    """Return four whole numbers below 2¹⁶ of a seed and a name: a float of any kind holds them."""
    bits = key_bits(seed, name)
    return tuple(float(bits >> (16 * i) & 0xFFFF) for i in range(4))


def uniform_draws(xp: ModuleType, key: Array, stamp: Array) -> Array:
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


# Fault types and their numbers; other modules of the package compute their effects.


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong from a start to an end, s."""

    start: float = 0.0
    end: float = math.inf

    def acts(self, time: float) -> bool:
        """Return whether it is there at a time, s: from its start to before its end."""
        return self.start <= time < self.end


@dataclass(frozen=True, kw_only=True)
class ThrusterFault(Fault):
    """Something that goes wrong with a thruster of a name."""

    thruster: str


@dataclass(frozen=True, kw_only=True)
class Dead(ThrusterFault):
    """Thruster that stands still, whatever its command."""


@dataclass(frozen=True, kw_only=True)
class Weak(ThrusterFault):
    """Thruster with a damaged propeller: less thrust at the same speed and power."""

    share: float = number(0.5, 0.0, 1.0, '', 'remaining share of the thrust')


@dataclass(frozen=True, kw_only=True)
class Stuck(ThrusterFault):
    """Thruster that goes on with the pulse width it had, or with a given one."""

    pwm: float = number(
        math.nan, 1100.0, 1900.0, 'µs', 'pulse width; default: the last one before the fault'
    )


@dataclass(frozen=True, kw_only=True)
class Delayed(ThrusterFault):
    """Thruster whose commands come late."""

    delay: float = number(0.2, 0.0, 10.0, 's', 'delay of the commands')


@dataclass(frozen=True, kw_only=True)
class Reversed(ThrusterFault):
    """Thruster that turns the other way: two of its three wires are exchanged."""


@dataclass(frozen=True, kw_only=True)
class Battery(Fault):
    """Battery whose voltage falls with the current and the charge used, and thrust with it."""

    voltage: float = number(16.8, 1.0, 1000.0, 'V', 'open-circuit voltage of the full battery')
    empty: float = number(12.0, 1.0, 1000.0, 'V', 'open-circuit voltage of the empty battery')
    capacity: float = number(18.0, 0.0, 1e6, 'A h', 'charge when full; 0: it is never empty')
    charge: float = number(1.0, 0.0, 1.0, '', 'initial share of the capacity')
    resistance: float = number(0.05, 0.0, 10.0, 'ohm', 'internal resistance')
    nominal: float = number(
        16.0, 1.0, 1000.0, 'V', 'voltage at which the thrust curves were measured'
    )


@dataclass(frozen=True, kw_only=True)
class LostCommands(Fault):
    """Command messages that do not arrive."""

    share: float = number(1.0, 0.0, 1.0, '', 'share of lost messages')


@dataclass(frozen=True, kw_only=True)
class Gust(Fault):
    """Current of the water that swells and falls again; it ends by itself."""

    speed: float = number(0.5, 0.0, 20.0, 'm/s', 'speed at the peak')
    direction: float = number(0.0, -360.0, 360.0, 'deg', 'course of the flow; 0: east, 90: north')
    elevation: float = number(0.0, -90.0, 90.0, 'deg', 'upward angle of the flow')
    duration: float = number(5.0, 0.01, 1e6, 's', 'duration of the gust')


@dataclass(frozen=True, kw_only=True)
class _Dropout(Fault):
    """Share of the readings that are not sent."""

    share: float = number(1.0, 0.0, 1.0, '', 'share of missing readings')


@dataclass(frozen=True, kw_only=True)
class _Spikes(Fault):
    """Share of the readings that are far off."""

    share: float = number(0.01, 0.0, 1.0, '', 'share of wrong readings')


@dataclass(frozen=True, kw_only=True)
class BarometerDropout(_Dropout):
    """Readings of the barometer that are not sent."""


@dataclass(frozen=True, kw_only=True)
class BarometerDrift(Fault):
    """Readings of the barometer that leave the true pressure at a steady rate."""

    rate: float = number(10.0, -1e6, 1e6, 'Pa/s', 'rate of the error')


@dataclass(frozen=True, kw_only=True)
class BarometerSpikes(_Spikes):
    """Single readings of the barometer far off: Bernoulli-Gaussian noise."""

    size: float = number(5000.0, 0.0, 1e7, 'Pa', 'standard deviation of the wrong readings')


@dataclass(frozen=True, kw_only=True)
class SensorFault(Fault):
    """Something that goes wrong with a sensor of a name."""

    sensor: str


@dataclass(frozen=True, kw_only=True)
class SensorDropout(_Dropout, SensorFault):
    """Readings of a sensor that are not sent."""


@dataclass(frozen=True, kw_only=True)
class SensorFreeze(SensorFault):
    """Sensor that sends its last reading again and again."""


@dataclass(frozen=True, kw_only=True)
class _QuantityFault(SensorFault):
    """Something that goes wrong with one quantity of a sensor's readings; empty: the first."""

    quantity: str = text('quantity of its readings; default: the first')


@dataclass(frozen=True, kw_only=True)
class SensorBias(_QuantityFault):
    """Readings of a sensor off by a constant, in each component."""

    size: float = number(1.0, -1e9, 1e9, 'of the quantity', 'error')


@dataclass(frozen=True, kw_only=True)
class SensorSpikes(_Spikes, _QuantityFault):
    """Single readings of a sensor far off: Bernoulli-Gaussian noise."""

    size: float = number(
        1.0, 0.0, 1e9, 'of the quantity', 'standard deviation of the wrong readings'
    )


@dataclass(frozen=True, kw_only=True)
class SensorDelay(SensorFault):
    """Readings of a sensor that come later than its latency."""

    delay: float = number(0.2, 0.0, 60.0, 's', 'added latency')


FAULT_TYPES: dict[str, type[Fault]] = {
    'dead': Dead,
    'weak': Weak,
    'stuck': Stuck,
    'delayed': Delayed,
    'reversed': Reversed,
    'battery': Battery,
    'lost_commands': LostCommands,
    'gust': Gust,
    'barometer_dropout': BarometerDropout,
    'barometer_drift': BarometerDrift,
    'barometer_spikes': BarometerSpikes,
    'sensor_dropout': SensorDropout,
    'sensor_freeze': SensorFreeze,
    'sensor_bias': SensorBias,
    'sensor_spikes': SensorSpikes,
    'sensor_delay': SensorDelay,
}
"""Every kind by the name that files and parameters have for it."""


def fault_type_name(fault: Fault) -> str:
    """Return the name of a fault's kind."""
    return next(name for name, kind in FAULT_TYPES.items() if type(fault) is kind)
