# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Namespaces, start poses, and what the vehicles of one run need of each other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model import xml
from marine_sim_ros.model.library import parse_xacro_arguments, vehicle_of, vehicle_path
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors import moving_parts
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'camera_parts',
    'check_anchor',
    'environment_of',
    'namespace_of',
    'initial_pose_parameters',
    'started_scenario',
    'towing_namespaces',
]

_NAMESPACE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


def namespace_of(options: RunOptions, vehicle_name: str = '') -> str:
    """Return the namespace of a run's topics, such as ``/bluerov2``.

    Raises:
        ParameterError: a name that ROS cannot use.
    """
    name = (options.namespace or vehicle_name).strip('/')
    if not _NAMESPACE.fullmatch(name):
        raise ParameterError(
            f'namespace is {name!r}; expected letters, digits and underscores, as in "bluerov2"'
        )
    return '/' + name


def initial_pose_parameters(
    options: RunOptions, scenario: Scenario | None
) -> dict[str, list[float]]:
    """Return ``initial_position`` (m) and ``initial_rpy`` (rad) in map, where they are given."""
    start: dict[str, list[float]] = {}
    if scenario is not None:
        start = {'initial_position': list(scenario.position), 'initial_rpy': list(scenario.rpy)}
    if options.initial_position is not None:
        start['initial_position'] = [float(x) for x in options.initial_position]
    if options.initial_rpy is not None:
        start['initial_rpy'] = [float(x) for x in options.initial_rpy]
    return start


def started_scenario(scenario: Scenario, options: RunOptions) -> Scenario:
    """Return a scenario that begins where the options say, as far as they do."""
    return replace(
        scenario,
        position=options.initial_position or scenario.position,
        rpy=options.initial_rpy or scenario.rpy,
    )


def environment_of(options: RunOptions) -> Environment:
    """Return the environment of a run.

    Raises:
        ParameterError: it cannot be found, read or used.
    """
    return run_environment(
        options.environment, current=options.current, water_density=options.water_density
    )


# Tethers join vehicles of a fleet: where one ends, and which ends meet a vehicle.


def check_anchor(vehicle: Vehicle, namespace: str, others: Mapping[str, Any]) -> None:
    """Check that a tether that ends at a vehicle ends at another one of the run.

    Args:
        vehicle: the vehicle with the tether, if it has one.
        namespace: its namespace, such as ``/scout_1``.
        others: the other vehicles of the run by their namespaces.

    Raises:
        ParameterError: it ends at itself, or at none of the run.
    """
    tether: Tether | None = vehicle.extensions.get('tether')
    if tether is None or not tether.vehicle:
        return
    names = ', '.join(other.strip('/') for other in others) or '(a fleet with it, --fleet)'
    if tether.vehicle == namespace.strip('/'):
        raise ParameterError(
            f'tether of {tether.vehicle}: its anchor is the vehicle itself; expected one of: '
            f'{names}'
        )
    if '/' + tether.vehicle not in others:
        raise ParameterError(
            f'tether of {namespace.strip("/")}: its anchor is vehicle {tether.vehicle!r}, which '
            f'is not in this run; expected one of: {names}'
        )


def towing_namespaces(namespace: str, others: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the namespaces of the vehicles whose tethers end at one, sorted.

    Args:
        namespace: its namespace, such as ``/scout_1``.
        others: ``vehicle`` and ``vehicle_arguments`` of the others by their namespaces.

    Raises:
        MarineSimError: a description that cannot be read.
    """
    wanted = namespace.strip('/')
    ends = {
        name: _tether_end(str(told['vehicle']), tuple(told['vehicle_arguments']))
        for name, told in others.items()
    }
    return tuple(sorted(name for name, end in ends.items() if end == wanted))


@lru_cache(maxsize=128)
def _tether_end(vehicle: str, arguments: tuple[str, ...]) -> str:
    """Return the vehicle at which the tether of one ends, or nothing: without loading it."""
    from marine_sim_ros.model.xacro_expansion import expand_description

    given = {k: str(v) for k, v in parse_xacro_arguments(arguments).items()}
    description = expand_description(vehicle_path(vehicle), given)
    element = xml.parse(description.text, description.source).find('tether')
    return '' if element is None else element.get('vehicle', '').strip('/')


def camera_parts(options: RunOptions, vehicle: Vehicle) -> set[str]:
    """Return what cameras of other vehicles of a fleet see of one besides what it always tells.

    ``payloads`` that its gripper moves, and its ``tether``.
    """
    parts = moving_parts(vehicle) & {'payloads', 'tether'}
    if not parts:
        return parts  # and the others need not be read
    needs = {
        need
        for other in options.neighbours.values()
        for sensor in vehicle_of(other).sensors
        for need in SENSORS[sensor.kind].needs
    }
    return parts & needs
