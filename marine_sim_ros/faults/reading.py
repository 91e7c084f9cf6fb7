# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of faults in YAML, checks against the vehicle, and gusts of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import yaml

from marine_sim_ros.core.errors import ParameterError, did_you_mean
from marine_sim_ros.core.schema import numbers_of
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml, short_text
from marine_sim_ros.environment.currents_and_waves import Gusts
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import (
    FAULT_TYPES,
    BarometerDrift,
    BarometerDropout,
    BarometerSpikes,
    Battery,
    Fault,
    Gust,
    SensorFault,
    ThrusterFault,
    fault_type_name,
)
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['fault_text', 'parse_faults', 'read_fault', 'unsuited_fault', 'with_gusts']


# Checks that a fault can happen to a vehicle.

BAROMETER_FAULTS = (BarometerDropout, BarometerDrift, BarometerSpikes)


def unsuited_fault(faults: Sequence[Fault], vehicle: Vehicle) -> str:
    """Return a sentence about the first fault that a vehicle cannot have, or nothing."""
    known = vehicle.thrusters.names
    for fault in faults:
        if isinstance(fault, ThrusterFault) and fault.thruster not in known:
            return (
                f'thruster {fault.thruster!r} is unknown; {did_you_mean(fault.thruster, known)}'
                f'expected one of those of {vehicle.name}: {", ".join(known) or "none"}'
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
    values: dict[str, Any] = {n: item.field(known) for n, known in numbers.items()}
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
