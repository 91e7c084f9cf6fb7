# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleets: several vehicles of any kinds in one run, described in ``config/fleets/*.yaml``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.sensors.camera.video_address import next_address
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import namespace_of
from marine_sim_ros.sim.scenario import load_scenario

__all__ = [
    'FLEETS',
    'Fleet',
    'FleetVehicle',
    'select_fleet_runs',
    'remote_namespaces',
    'fleet_runs',
    'split_runs',
]

MAX_VEHICLES = 100
SHAPES = ('line', 'grid')
_SINGLE_VEHICLE_OPTIONS = (
    'vehicle_arguments',
    'namespace',
    'frame_prefix',
    'clock',
    'initial_position',
    'initial_rpy',
)
"""Options of a run that a fleet's file or place among its vehicles decides."""
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class FleetVehicle:
    """One vehicle of a fleet.

    Attributes:
        name: namespace of its topics, and prefix of its frames.
        vehicle: shipped name, or URDF or xacro file.
        arguments: xacro arguments, ``name:=value``.
        scenario: scenario that it plays; empty: the run's.
        controller: controller that closes its loop; empty: the run's.
        seed: random seed of its noise and faults; None: the run's, plus its place in the fleet.
        position: start in map, m; None: the scenario's, or 0 0 -0.5.
        rpy: roll, pitch and yaw at the start, rad; None: the scenario's, or 0 0 0.
    """

    name: str
    vehicle: str
    arguments: tuple[str, ...] = ()
    scenario: str = ''
    controller: str = ''
    seed: int | None = None
    position: Vector | None = None
    rpy: Vector | None = None


@dataclass(frozen=True)
class Fleet:
    """Vehicles of one run.

    Attributes:
        vehicles: the vehicles; the first publishes /clock.
        description: one line.
    """

    vehicles: tuple[FleetVehicle, ...]
    description: str = ''


def _read_triple(reader: YamlReader, limit: float) -> Vector | None:
    if reader.value is None:
        return None
    x, y, z = reader.vector(-limit, limit).tolist()
    return x, y, z


def _read_angles(reader: YamlReader) -> Vector | None:
    return None if reader.value is None else reader.angles()


def _read_pose(reader: YamlReader) -> tuple[Vector | None, Vector | None]:
    """Return position and roll, pitch and yaw, None where they are not given."""
    return _read_triple(reader.child('position'), 1e6), _read_angles(reader.child('rpy'))


def _pattern_poses(reader: YamlReader, count: int) -> list[tuple[Vector | None, Vector | None]]:
    """Return the start poses of a pattern: x_i = x_0 − row s, y_i = y_0 + column s, z_i = z_0."""
    if reader.value is None:
        return [(None, None)] * count
    reader.mapping({'shape', 'spacing', 'columns', 'position', 'rpy'}, {'shape', 'spacing'})
    shape = reader.child('shape').choice(SHAPES)
    spacing = reader.child('spacing').number(1e-3, 1e5)
    square = math.isqrt(max(count - 1, 0)) + 1
    columns = reader.child('columns', square).integer(1, MAX_VEHICLES)
    if shape == 'line':
        if 'columns' in reader.value:
            raise reader.error(": a line has no 'columns'; expected shape: grid")
        columns = MAX_VEHICLES
    position, rpy = _read_pose(reader)
    x, y, z = position or (0.0, 0.0, -0.5)
    return [
        ((x - i // columns * spacing, y + i % columns * spacing, z), rpy) for i in range(count)
    ]


def _read_arguments(reader: YamlReader) -> tuple[str, ...]:
    if not isinstance(reader.value, dict):
        raise reader.error(f' is {reader.value!r}; expected a mapping of xacro arguments')
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in reader.value.items()}
    return tuple(f'{name}:={text}' for name, text in texts.items())


_KEYS = {'name', 'vehicle', 'count', 'arguments', 'scenario', 'controller', 'seed', 'initial'}


def _read_vehicles(reader: YamlReader) -> list[FleetVehicle]:
    """Return the vehicles of one entry of the list; ``name`` is empty where it is not given."""
    reader.mapping(_KEYS, {'vehicle'})
    count = reader.child('count', 1).integer(1, MAX_VEHICLES)
    initial = reader.child('initial', {})
    initial.mapping({'position', 'rpy'})
    position, rpy = _read_pose(initial)
    if count > 1 and position is not None:
        raise initial.error(f': {count} vehicles cannot start at one position; expected a pattern')
    seed = reader.child('seed')
    name = reader.child('name').word() if 'name' in reader.value else ''
    one = FleetVehicle(
        name,
        reader.child('vehicle').text(),
        arguments=_read_arguments(reader.child('arguments', {})),
        scenario=reader.child('scenario', '').text(),
        controller=reader.child('controller', '').text(),
        seed=None if seed.value is None else seed.integer(0, 2**53),
        position=position,
        rpy=rpy,
    )
    if count == 1:
        return [one]
    return [replace(one, name=name and f'{name}_{i + 1}') for i in range(count)]


def _name_vehicles(vehicles: list[FleetVehicle], root: YamlReader) -> list[FleetVehicle]:
    """Return the vehicles with names: the vehicle's, with a number where several have it."""
    bases = [Path(v.vehicle).name.split('.')[0] for v in vehicles]
    several = Counter(base for v, base in zip(vehicles, bases, strict=True) if not v.name)
    seen: Counter[str] = Counter()
    result = []
    for vehicle, base in zip(vehicles, bases, strict=True):
        seen[base] += not vehicle.name
        numbered = f'{base}_{seen[base]}' if several[base] > 1 else base
        result.append(replace(vehicle, name=vehicle.name or numbered))
    for name, count in Counter(v.name for v in result).items():
        if count > 1:
            raise root.error(f': vehicles: {count} are named {name!r}; expected each name once')
    return result


def _read_fleet(root: YamlReader) -> Fleet:
    root.mapping({'description', 'pattern', 'vehicles'}, {'vehicles'})
    listed = root.child('vehicles')
    vehicles = [vehicle for entry in listed.items() for vehicle in _read_vehicles(entry)]
    if not 1 <= len(vehicles) <= MAX_VEHICLES:
        raise listed.error(f' has {len(vehicles)} vehicles; expected 1 to {MAX_VEHICLES}')
    vehicles = _name_vehicles(vehicles, root)
    free = [v.name for v in vehicles if v.position is None]
    places = dict(zip(free, _pattern_poses(root.child('pattern'), len(free)), strict=True))
    for i, vehicle in enumerate(vehicles):
        position, rpy = places.get(vehicle.name, (vehicle.position, None))
        vehicles[i] = replace(vehicle, position=position, rpy=vehicle.rpy or rpy)
    return Fleet(tuple(vehicles), root.child('description', '').text())


FLEETS = ConfigFiles('fleets', _read_fleet)
"""The fleets that are shipped, and the user's own."""


def fleet_runs(
    fleet: Fleet, common: RunOptions, only: Sequence[str] = ()
) -> tuple[RunOptions, ...]:
    """Return the options of the run of each vehicle.

    The first publishes /clock, and the others follow. All run for the same time: the given one,
    or that of the longest scenario.

    Args:
        fleet: the vehicles.
        common: options that all have; scenario and controller are those of vehicles that name
            neither.
        only: names of the vehicles that run here, while others run elsewhere; empty: all.

    Raises:
        ParameterError: an option that only one vehicle can have, or a name that no vehicle has.
    """
    names = [vehicle.name for vehicle in fleet.vehicles]
    for name in only:
        if name not in names:
            raise ParameterError(
                f'only is {name!r}; expected vehicles of the fleet: {", ".join(names)}'
            )
    plain = RunOptions()
    for name in _SINGLE_VEHICLE_OPTIONS:
        if getattr(common, name) != getattr(plain, name):
            raise ParameterError(
                f'{name} belongs to one vehicle; expected it in the file of the fleet'
            )
    if common.recorder == 'ros2_bag' and common.record:
        raise ParameterError('recorder is ros2_bag; a fleet is recorded by: suite')
    runs = [_vehicle_run(i, vehicle, common) for i, vehicle in enumerate(fleet.vehicles)]
    duration = common.duration or max(
        (load_scenario(run.scenario).duration for run in runs if run.scenario), default=0.0
    )
    described = {
        namespace_of(run): {
            'vehicle': run.vehicle,
            'vehicle_arguments': list(run.vehicle_arguments),
        }
        for run in runs
    }
    return tuple(
        replace(
            run,
            duration=duration,
            neighbours={n: v for n, v in described.items() if n != namespace_of(run)},
        )
        for run in runs
        if not only or run.namespace in only
    )


def select_fleet_runs(
    options: RunOptions, fleet: str = '', only: Sequence[str] = ()
) -> tuple[RunOptions, ...]:
    """Return the options of the run of each vehicle: of a fleet, or of the one that they name.

    Args:
        options: options of the run.
        fleet: shipped name or YAML file; empty: one vehicle.
        only: as of :func:`fleet_runs`.

    Raises:
        MarineSimError: a fleet that cannot be used, or vehicles chosen of none.
    """
    if fleet:
        return fleet_runs(FLEETS.load(fleet), options, only)
    if only:
        raise ParameterError('only names vehicles of a fleet; expected the option fleet too')
    return (options,)


def split_runs(runs: Sequence[RunOptions], count: int) -> list[tuple[RunOptions, ...]]:
    """Return the runs of a fleet in so many parts of equal size, in their order.

    Each of several parts records into a folder of its own, ``record``/1 and so on.

    Raises:
        ParameterError: more parts than vehicles, or none.
    """
    if not 1 <= count <= len(runs):
        raise ParameterError(
            f'processes is {count}; expected 1 to {len(runs)}, the number of vehicles'
        )
    if count == 1:
        return [tuple(runs)]
    bounds = [round(i * len(runs) / count) for i in range(count + 1)]
    return [
        tuple(replace(run, record=run.record and f'{run.record}/{i}') for run in runs[a:b])
        for i, (a, b) in enumerate(pairwise(bounds), start=1)
    ]


def remote_namespaces(runs: Sequence[RunOptions]) -> tuple[str, ...]:
    """Return the namespaces of those vehicles of a fleet that run in other processes."""
    here = {'/' + run.namespace.strip('/') for run in runs}
    return tuple(sorted({name for run in runs for name in run.neighbours} - here))


def _vehicle_run(place: int, vehicle: FleetVehicle, common: RunOptions) -> RunOptions:
    own: dict[str, Any] = {}
    if vehicle.scenario or vehicle.controller:
        own = {'scenario': vehicle.scenario, 'controller': vehicle.controller}
    if place:
        own |= {'clock': 'follow', 'real_time_factor': 0.0}
    return replace(
        common,
        vehicle=vehicle.vehicle,
        vehicle_arguments=vehicle.arguments,
        namespace=vehicle.name,
        frame_prefix=f'{vehicle.name}/',
        initial_position=vehicle.position,
        initial_rpy=vehicle.rpy,
        seed=common.seed + place if vehicle.seed is None else vehicle.seed,
        autopilot_instance=common.autopilot_instance + place,
        console_port=common.console_port + place if common.console_port else 0,
        video=next_address(common.video, 10 * place) if common.video else '',
        **own,
    )
