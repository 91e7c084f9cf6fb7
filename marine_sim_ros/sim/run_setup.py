# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Setup of a run: namespace, environment, start pose, tethers and cameras of a fleet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model import xml
from marine_sim_ros.model.body_joints import SOLE_VEHICLE, has_jaws
from marine_sim_ros.model.library import parse_xacro_arguments, vehicle_of, vehicle_path
from marine_sim_ros.model.tether import Tether
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.scene.bathymetry import distance_outside
from marine_sim_ros.sensors import moving_parts
from marine_sim_ros.sensors.estimated_odometry import EstimatedOdometry
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'parts_seen_by_others',
    'check_anchor',
    'environment_from_options',
    'initial_pose_parameters',
    'jaw_owners',
    'owns_bodies',
    'namespace_of',
    'run_odometry',
    'description_warnings',
    'start_warnings',
    'undamped_motions',
    'unit_drag',
    'with_start_pose',
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
    """Return ``initial_position`` (m) and ``initial_rpy`` (rad) in map, if specified."""
    start: dict[str, list[float]] = {}
    if scenario is not None:
        start = {'initial_position': list(scenario.position), 'initial_rpy': list(scenario.rpy)}
    if options.initial_position is not None:
        start['initial_position'] = [float(x) for x in options.initial_position]
    if options.initial_rpy is not None:
        start['initial_rpy'] = [float(x) for x in options.initial_rpy]
    return start


def with_start_pose(scenario: Scenario, options: RunOptions) -> Scenario:
    """Return a scenario with the start pose of the options, if they have one."""
    changes: dict[str, Any] = {}
    if options.initial_position:
        changes |= {'position': options.initial_position, 'geographic': None}
    if options.initial_rpy:
        changes['rpy'] = options.initial_rpy
    return replace(scenario, **changes)


def environment_from_options(options: RunOptions) -> Environment:
    """Return the environment of a run.

    Raises:
        ParameterError: a missing or invalid environment.
    """
    environment = Environment()
    if options.environment or any(options.current) or options.water_density:
        from marine_sim_ros.environment.reader import run_environment  # few runs read a file

        environment = run_environment(
            options.environment, current=options.current, water_density=options.water_density
        )
    for name, description in jaw_owners(options).items():
        environment = environment.with_jaws(vehicle_of(description), name)
    if options.neighbours and (options.collisions or environment.free_bodies):
        environment = replace(environment, collisions=True)
    if not options.changes:
        return environment
    if options.engine == 'jax' and options.gazebo:
        raise ParameterError("changes: Gazebo's compiled system has none; expected no engine jax")
    from marine_sim_ros.environment.changes import load_changes

    return environment.with_changes(load_changes(options.changes))


def jaw_owners(options: RunOptions) -> dict[str, dict[str, Any]]:
    """Return the vehicles of a run whose grippers have jaws, by their names among the bodies.

    Each as ``vehicle`` and ``vehicle_arguments``, in the same order for every vehicle of a fleet.
    """
    own = options.named_vehicle()
    vehicles = {SOLE_VEHICLE: own} if options.vehicle else {}
    if options.neighbours:
        vehicles = {**options.neighbours, namespace_of(options): own}
    return {
        name: {'vehicle_arguments': [], **vehicles[name]}
        for name in sorted(vehicles)
        if has_jaws(vehicle_of(vehicles[name]))
    }


def run_odometry(
    options: RunOptions, vehicle: Vehicle, *, closed: bool
) -> EstimatedOdometry | None:
    """Return the estimate over which the controller of a run closes its loop; None: the truth.

    Args:
        closed: whether the run has a controller.

    Raises:
        ParameterError: an estimate without a controller or the sensors, or of a compiled engine.
    """
    if options.odometry != 'estimated':
        return None
    if not closed:
        raise ParameterError(
            'odometry estimated: the run has no controller; expected a scenario with set-points, '
            'or a controller'
        )
    if options.engine == 'jax':
        raise ParameterError('odometry estimated: the engine jax has no sensors; expected numpy')
    return EstimatedOdometry(vehicle, options.seed)


def owns_bodies(options: RunOptions) -> bool:
    """Whether the free bodies of a run are those of this vehicle: of a fleet, the first's."""
    return not options.neighbours or options.clock == 'publish'


# Tethers between vehicles of a fleet.


def check_anchor(vehicle: Vehicle, namespace: str, others: Mapping[str, Any]) -> None:
    """Check that the anchor of a vehicle's tether is another vehicle of the run.

    Args:
        vehicle: the vehicle with the tether, if it has one.
        namespace: its namespace, such as ``/scout_1``.
        others: the other vehicles of the run by their namespaces.

    Raises:
        ParameterError: the anchor is the vehicle itself, or is not in the run.
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
    """Return the sorted namespaces of the vehicles whose tethers are anchored at one.

    Args:
        namespace: its namespace, such as ``/scout_1``.
        others: ``vehicle`` and ``vehicle_arguments`` of the others by their namespaces.

    Raises:
        MarineSimError: a description that cannot be read.
    """
    vehicle_name = namespace.strip('/')
    ends = {
        name: _tether_end(str(description['vehicle']), tuple(description['vehicle_arguments']))
        for name, description in others.items()
    }
    return tuple(sorted(name for name, end in ends.items() if end == vehicle_name))


@lru_cache(maxsize=128)
def _tether_end(vehicle: str, arguments: tuple[str, ...]) -> str:
    """Return the anchor vehicle of a vehicle's tether, or '', without loading the vehicle."""
    from marine_sim_ros.model.xacro_expansion import expand_description

    xacro_values = {k: str(v) for k, v in parse_xacro_arguments(arguments).items()}
    description = expand_description(vehicle_path(vehicle), xacro_values)
    element = xml.parse(description.text, description.source).find('tether')
    return '' if element is None else element.get('vehicle', '').strip('/')


def parts_seen_by_others(options: RunOptions, vehicle: Vehicle) -> set[str]:
    """Return the parts of a vehicle that cameras of other vehicles need in each tick.

    They are ``tether``, if it has one.
    """
    parts = moving_parts(vehicle) & {'tether'}
    if not parts:
        return parts  # the other vehicles need not be loaded
    needs = {
        need
        for other in options.neighbours.values()
        for sensor in vehicle_of(other).sensors
        for need in SENSORS[sensor.kind].needs
    }
    return parts & needs


# Warnings about the description and the start position.


def unit_drag(vehicle: Vehicle) -> list[float]:
    """Return the drag at 1 m/s and 1 rad/s on each axis, deep and level, N and N m."""
    rest, water = state_at_rest((0.0, 0.0, -100.0)), Environment()
    return [
        -float(np.asarray(drag(vehicle, rest._replace(velocity=unit), water)) @ unit)
        for unit in np.eye(6)
    ]


def undamped_motions(vehicle: Vehicle) -> list[str]:
    """Return the axes along and about which nothing drags."""
    return [axis for axis, pull in zip(BODY_AXES, unit_drag(vehicle), strict=True) if pull <= 0]


def description_warnings(vehicle: Vehicle) -> list[str]:
    """Return a warning about a vehicle whose motion is not that of a body in water."""
    free = ', '.join(axis for axis in undamped_motions(vehicle) if axis in BODY_AXES[:3])
    flaws = [f'nothing damps its {free}, so its speed has no bound'] if free else []
    if vehicle.buoyancy.volume <= 0:
        flaws.insert(0, 'it displaces no water, so it falls')
    return [f'{vehicle.name}: {flaw}; marine_sim doctor says what to add' for flaw in flaws]


AIRBORNE_HEIGHT = 1.0
"""Height above the surface from which a start gives a warning, m."""


def start_warnings(environment: Environment, position: Sequence[float] | np.ndarray) -> list[str]:
    """Return warnings about a start in the air, below the ground, or outside the terrain.

    Args:
        environment: its scene has the ground.
        position: (3,) of the origin in map, m.
    """
    east, north, up = (float(value) for value in position)
    if up > AIRBORNE_HEIGHT:
        return [
            f'the vehicle starts {up:g} m above the surface and falls, for z points up; expected '
            f'z {-up:g} for that depth'
        ]
    if environment.scene is None:
        return []
    ground = environment.scene.ground(east, north)
    name = environment.name or 'without a name'
    terrain, result = environment.scene.terrain, []
    if terrain is not None and distance_outside(terrain, np.asarray(position)[:2]) > 1:
        (west, south), (far_east, far_north) = terrain.extent
        result.append(
            f'the vehicle starts at x {east:g}, y {north:g} m, farther from the terrain of '
            f'environment {name} than that is wide (x {west:g} to {far_east:g}, y {south:g} to '
            f'{far_north:g} m); expected a start on it: beyond, the heights of its edge go on'
        )
    if up >= ground:
        return result
    return [
        *result,
        f'the vehicle starts {ground - up:.2f} m below the ground of environment '
        f'{name}, at {up:g} m; expected above {ground:.2f} m: '
        'contact will push it out',
    ]
