# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Puts a number where a sweep's parameter points: into a vehicle, an environment, a scenario."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.settings import ControllerSettings
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import vehicle_beside
from marine_sim_ros.model.urdf_numbers import with_number
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import Scenario
from marine_sim_ros.sweep.fault_numbers import with_fault
from marine_sim_ros.sweep.plan import Parameter

__all__ = ['Case', 'changed', 'described']

_PART = re.compile(r'([a-z_A-Z0-9]+)(?:\[([0-9, ]+)\])?')
_PLACES = ('position', 'rpy')


class Case(NamedTuple):
    """What a run consists of."""

    vehicle: Vehicle
    environment: Environment
    scenario: Scenario
    controller: ControllerSettings | None = None


def _number(parameter: Parameter, old: Any, value: float) -> float:
    return float(old) * value if parameter.relative else value


def _inside(parameter: Parameter, record: Any, path: list[str], value: float) -> Any:
    """Return a record with the number at a path replaced."""
    match = _PART.fullmatch(path[0])
    named = dict(record) if isinstance(record, dict) else {}
    if is_dataclass(record):
        named = {f.name: getattr(record, f.name) for f in fields(record)}
    if match is None or match[1] not in named:
        raise ParameterError(
            f'sweep: {parameter.name}: {path[0]!r} is unknown; expected one of: '
            f'{", ".join(named) or "a number there"}'
        )
    name, index = match[1], match[2]
    old = named[name]
    if len(path) > 1:
        return _with(record, name, _inside(parameter, old, path[1:], value))
    if index is None:
        if not isinstance(old, float | int) or isinstance(old, bool):
            raise ParameterError(
                f'sweep: {parameter.name} is no single number; expected an index, as in '
                f'{parameter.name}[0]'
            )
        return _with(record, name, _number(parameter, old, value))
    place = tuple(int(i) for i in index.split(','))
    array = np.array(old, float)
    if len(place) != array.ndim or any(i >= n for i, n in zip(place, array.shape, strict=False)):
        raise ParameterError(
            f'sweep: {parameter.name} is outside of shape {array.shape}; expected an index in it'
        )
    array[place] = _number(parameter, array[place], value)
    return _with(record, name, tuple(array.tolist()) if isinstance(old, tuple) else array)


def _with(record: Any, name: str, value: Any) -> Any:
    """Return a record or a mapping with another value."""
    if isinstance(record, dict):
        return {**record, name: value}
    return replace(record, **{name: value})


def described(
    vehicle: Vehicle, source: str, numbers: Sequence[tuple[Parameter, float]]
) -> Vehicle:
    """Return a vehicle with other numbers in its URDF: ``urdf.PATH``.

    Args:
        vehicle: the vehicle of its file, unchanged.
        source: shipped name or path of that file.
        numbers: parameters and their values.

    Raises:
        ModelError: a path that leads to no number, or a URDF that cannot be used.
    """
    text = vehicle.urdf
    for parameter, value in numbers:
        path = parameter.name.removeprefix('urdf.')
        text = with_number(text, path, partial(_number, parameter, value=value))
    return vehicle_beside(source, text, vehicle.base_link) if numbers else vehicle


def changed(case: Case, parameter: Parameter, value: float) -> Case:
    """Return a case with a number of its own.

    ``vehicle.…`` and ``environment.…`` are attributes of :class:`Vehicle` and
    :class:`Environment`; ``initial.position[2]`` or ``initial.rpy[0]`` where the run starts;
    ``fault.…`` is of :func:`~marine_sim_ros.sweep.fault_numbers.with_fault`; ``controller.…``, as
    in ``controller.bandwidth.station[0]``, of the settings of a controller. Numbers of the URDF
    come before, see :func:`described`.

    Raises:
        ParameterError: it points nowhere.
    """
    kind, _, rest = parameter.name.partition('.')
    path = rest.split('.')
    if kind == 'fault':
        faults = with_fault(
            case.scenario.faults,
            rest,
            case.vehicle.thrusters.names,
            lambda old: _number(parameter, old, value),
        )
        return case._replace(scenario=replace(case.scenario, faults=faults))
    if kind == 'initial':
        if path[0].split('[')[0] not in _PLACES:
            raise ParameterError(
                f'sweep: {parameter.name} is unknown; expected initial.position[…] or '
                'initial.rpy[…]'
            )
        return case._replace(scenario=_inside(parameter, case.scenario, path, value))
    if kind == 'controller':
        return _controlled(case, parameter, path, value)
    if kind == 'environment':
        return case._replace(environment=_inside(parameter, case.environment, path, value))
    return case._replace(vehicle=_inside(parameter, case.vehicle, path, value))


def _controlled(case: Case, parameter: Parameter, path: list[str], value: float) -> Case:
    """Return a case with a number of its controller."""
    if case.controller is None:
        raise ParameterError(
            f'sweep: {parameter.name}: scenario {case.scenario.name} has no set-points; '
            'expected segments with control'
        )
    if value < 0:
        raise ParameterError(f'sweep: {parameter.name} is {value:g}; expected 0 or more')
    return case._replace(controller=_inside(parameter, case.controller, path, value))
