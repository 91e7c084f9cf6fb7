# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Types of faults with their numbers, and random draws of a seed and a stamp.

A new type is a dataclass here, a line in ``FAULT_TYPES``, and the code that computes its effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import yaml

from marine_sim_ros.core.arrays import Array, constant
from marine_sim_ros.core.errors import ParameterError, did_you_mean
from marine_sim_ros.core.random import key_bits, threefry
from marine_sim_ros.core.schema import declaration, number, numbers_of, text
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml, short_text
from marine_sim_ros.environment.currents_and_waves import Gusts
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'BarometerDrift',
    'BarometerDropout',
    'BarometerSpikes',
    'Battery',
    'CamerasDark',
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
    'fault_text',
    'fault_type_name',
    'parse_faults',
    'read_fault',
    'uniform_draws',
    'unsuited_fault',
    'with_gusts',
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


@declaration(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong from a start to an end, s."""

    start: float = 0.0
    end: float = math.inf

    def acts(self, time: float) -> bool:
        """Return whether the fault is active at a time, s: from its start to before its end."""
        return self.start <= time < self.end


@declaration(frozen=True, kw_only=True)
class ThrusterFault(Fault):
    """Something that goes wrong with a thruster of a name."""

    thruster: str


@declaration(frozen=True, kw_only=True)
class Dead(ThrusterFault):
    """Thruster that stands still, whatever its command."""


@declaration(frozen=True, kw_only=True)
class Weak(ThrusterFault):
    """Thruster with a damaged propeller: less thrust at the same speed and power."""

    share: float = number(0.5, 0.0, 1.0, '', 'remaining share of the thrust')


@declaration(frozen=True, kw_only=True)
class Stuck(ThrusterFault):
    """Thruster that goes on with the pulse width it had, or with a given one."""

    pwm: float = number(
        math.nan, 1100.0, 1900.0, 'µs', 'pulse width; default: the last one before the fault'
    )


@declaration(frozen=True, kw_only=True)
class Delayed(ThrusterFault):
    """Thruster whose commands come late."""

    delay: float = number(0.2, 0.0, 10.0, 's', 'delay of the commands')


@declaration(frozen=True, kw_only=True)
class Reversed(ThrusterFault):
    """Thruster that turns the other way: two of its three wires are exchanged."""


@declaration(frozen=True, kw_only=True)
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


@declaration(frozen=True, kw_only=True)
class LostCommands(Fault):
    """Command messages that do not arrive."""

    share: float = number(1.0, 0.0, 1.0, '', 'share of lost messages')


@declaration(frozen=True, kw_only=True)
class Gust(Fault):
    """Current of the water that swells and falls again; it ends by itself."""

    speed: float = number(0.5, 0.0, 20.0, 'm/s', 'speed at the peak')
    direction: float = number(0.0, -360.0, 360.0, 'deg', 'course of the flow; 0: east, 90: north')
    elevation: float = number(0.0, -90.0, 90.0, 'deg', 'upward angle of the flow')
    duration: float = number(5.0, 0.01, 1e6, 's', 'duration of the gust')


@declaration(frozen=True, kw_only=True)
class _Dropout(Fault):
    """Share of the readings that are not sent."""

    share: float = number(1.0, 0.0, 1.0, '', 'share of missing readings')


@declaration(frozen=True, kw_only=True)
class _Spikes(Fault):
    """Share of the readings that are far off."""

    share: float = number(0.01, 0.0, 1.0, '', 'share of wrong readings')


@declaration(frozen=True, kw_only=True)
class BarometerDropout(_Dropout):
    """Readings of the barometer that are not sent."""


@declaration(frozen=True, kw_only=True)
class BarometerDrift(Fault):
    """Readings of the barometer that leave the true pressure at a steady rate."""

    rate: float = number(10.0, -1e6, 1e6, 'Pa/s', 'rate of the error')


@declaration(frozen=True, kw_only=True)
class BarometerSpikes(_Spikes):
    """Single readings of the barometer far off: Bernoulli-Gaussian noise."""

    size: float = number(5000.0, 0.0, 1e7, 'Pa', 'standard deviation of the wrong readings')


@declaration(frozen=True, kw_only=True)
class CamerasDark(Fault):
    """Cameras of the vehicle that show nothing: no picture is sent, nor drawn for the pilot."""


@declaration(frozen=True, kw_only=True)
class SensorFault(Fault):
    """Something that goes wrong with a sensor of a name."""

    sensor: str


@declaration(frozen=True, kw_only=True)
class SensorDropout(_Dropout, SensorFault):
    """Readings of a sensor that are not sent."""


@declaration(frozen=True, kw_only=True)
class SensorFreeze(SensorFault):
    """Sensor that sends its last reading again and again."""


@declaration(frozen=True, kw_only=True)
class _QuantityFault(SensorFault):
    """Something that goes wrong with one quantity of a sensor's readings; empty: the first."""

    quantity: str = text('quantity of its readings; default: the first')


@declaration(frozen=True, kw_only=True)
class SensorBias(_QuantityFault):
    """Readings of a sensor off by a constant, in each component."""

    size: float = number(1.0, -1e9, 1e9, 'of the quantity', 'error')


@declaration(frozen=True, kw_only=True)
class SensorSpikes(_Spikes, _QuantityFault):
    """Single readings of a sensor far off: Bernoulli-Gaussian noise."""

    size: float = number(
        1.0, 0.0, 1e9, 'of the quantity', 'standard deviation of the wrong readings'
    )


@declaration(frozen=True, kw_only=True)
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
    'cameras_dark': CamerasDark,
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


# Checks that a fault can happen to a vehicle.

BAROMETER_FAULTS = (BarometerDropout, BarometerDrift, BarometerSpikes)


def unsuited_fault(faults: Sequence[Fault], vehicle: Vehicle) -> str:
    """Return an error message about the first fault that a vehicle cannot have, or ''."""
    thruster_names = vehicle.thrusters.names
    for fault in faults:
        if isinstance(fault, ThrusterFault) and fault.thruster not in thruster_names:
            return (
                f'thruster {fault.thruster!r} is unknown; '
                f'{did_you_mean(fault.thruster, thruster_names)}'
                f'expected one of those of {vehicle.name}: {", ".join(thruster_names) or "none"}'
            )
        if isinstance(fault, BAROMETER_FAULTS) and vehicle.barometer is None:
            return f'{fault_type_name(fault)}: {vehicle.name} has no barometer'
        names = [sensor.name for sensor in vehicle.sensors]
        if isinstance(fault, SensorFault) and fault.sensor not in names:
            return (
                f'sensor {fault.sensor!r} is unknown; {did_you_mean(fault.sensor, names)}'
                f'expected one of those of {vehicle.name}: {", ".join(names) or "none"}'
            )
    batteries = sum(isinstance(fault, Battery) for fault in faults)
    if batteries > 1:
        return 'has two batteries; expected one'
    if batteries and vehicle.thrusters.voltage is not None:
        return (
            f'battery: the supply is held at {vehicle.thrusters.voltage:g} V; expected either '
            'the fault or the option voltage'
        )
    return ''


# Faults as a YAML list, of a scenario's file or of a live parameter.

MAX_TIME = 1e9
"""s"""


def _name_fields(kind: type[Fault]) -> tuple[str, ...]:
    """Return the fields of a kind that are names: whose it is first, then what may be left out."""
    if issubclass(kind, ThrusterFault):
        return ('thruster',)
    if not issubclass(kind, SensorFault):
        return ()
    return ('sensor', 'quantity') if hasattr(kind, 'quantity') else ('sensor',)


def _read_end(item: YamlReader, start: float) -> float:
    if 'until' not in item.value:
        return math.inf
    end = item.child('until').number(0.0, MAX_TIME)
    if end <= start:
        raise item.error(f': until is {end:g} and it begins at {start:g}; expected a later end')
    return end


def read_fault(item: YamlReader, now: float = 0.0) -> Fault:
    """Return a fault of a mapping; it begins now, in s, where it does not say when.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    if not isinstance(item.value, dict):
        raise item.error(
            f' is {short_text(item.value)}; expected a mapping with kind, at and until'
        )
    kind = FAULT_TYPES[item.child('kind', 'dead').choice(tuple(FAULT_TYPES))]
    numbers = numbers_of(kind)
    names = _name_fields(kind)
    ends = set() if kind is Gust else {'until'}
    item.mapping({'kind', 'at'} | ends | set(names) | set(numbers), set(names[:1]))
    start = item.child('at', now).number(0.0, MAX_TIME)
    values: dict[str, Any] = {n: item.field(declared) for n, declared in numbers.items()}
    values |= {name: str(item.value[name]) for name in names if name in item.value}
    return kind(start=start, end=_read_end(item, start), **values)


def parse_faults(text: str, now: float = 0.0) -> tuple[Fault, ...]:
    """Return the faults of a YAML text; an empty one has none.

    Args:
        text: a list of mappings.
        now: start of faults that give none, s.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    content = parse_yaml(text, 'faults', ParameterError)
    items = YamlReader('faults', [] if content is None else content, ParameterError).items()
    return tuple(read_fault(item, now) for item in items)


def fault_text(faults: Sequence[Fault]) -> str:
    """Return faults as one line of YAML that :func:`parse_faults` reads."""
    if not faults:
        return ''
    mappings = [_fault_mapping(fault) for fault in faults]
    return yaml.safe_dump(mappings, default_flow_style=True, sort_keys=False, width=10**9).strip()


def _fault_mapping(fault: Fault) -> dict[str, Any]:
    result: dict[str, Any] = {'kind': fault_type_name(fault), 'at': fault.start}
    if fault.end < math.inf:
        result['until'] = fault.end
    names = {name: getattr(fault, name) for name in _name_fields(type(fault))}
    result |= {name: text for name, text in names.items() if text}
    numbers = {name: getattr(fault, name) for name in numbers_of(type(fault))}
    return result | {n: value for n, value in numbers.items() if not math.isnan(value)}


# Gust faults in the water of a run.


def _gust_velocity(gust: Gust) -> tuple[float, float, float]:
    direction, elevation = math.radians(gust.direction), math.radians(gust.elevation)
    level = gust.speed * math.cos(elevation)
    return (
        level * math.cos(direction),
        level * math.sin(direction),
        gust.speed * math.sin(elevation),
    )


def with_gusts(environment: Environment, faults: Sequence[Fault]) -> Environment:
    """Return an environment with the gusts among some faults."""
    gusts = [fault for fault in faults if isinstance(fault, Gust)]
    if not gusts:
        return environment
    return replace(
        environment,
        gusts=Gusts(
            np.array([g.start for g in gusts]),
            np.array([g.duration for g in gusts]),
            environment.origin.in_map(np.array([_gust_velocity(g) for g in gusts])),
        ),
    )
