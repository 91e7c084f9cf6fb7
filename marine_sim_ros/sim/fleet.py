# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleets: several vehicles of any kinds in one run, described in ``config/fleets/*.yaml``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    nested,
    number,
    special,
    text,
    truth,
)
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.sensors.addresses import next_address, shift_addresses
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import environment_from_options, namespace_of
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
"""Options of a run that follow from a fleet's file or a vehicle's index in it."""
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
        seed: random seed of its noise and faults; None: the run's, plus its index in the fleet.
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
        collisions: whether the vehicles touch each other.
    """

    vehicles: tuple[FleetVehicle, ...]
    description: str = ''
    collisions: bool = False


@declaration(frozen=True, kw_only=True)
class StartPose:
    """Start pose of a vehicle, or of the first of a pattern; None: the scenario's."""

    position: Vector | None = number(None, -1e6, 1e6, 'm', 'position in map', size=3)
    rpy: Vector | None = special(YamlReader.angles, None, 'roll, pitch and yaw', unit='rad')


@declaration(frozen=True, kw_only=True)
class Pattern(StartPose):
    """Pattern of the start positions of vehicles without one."""

    shape: str = choice(SHAPES, 'line or grid', REQUIRED)
    spacing: float = number(REQUIRED, 1e-3, 1e5, 'm', 'distance between neighbours')
    columns: int | None = number(
        None, 1, MAX_VEHICLES, '', 'columns of a grid; by default it is square', whole=True
    )

    def poses(self, count: int) -> list[tuple[Vector | None, Vector | None]]:
        """Return start poses: x_i = x_0 − row s, y_i = y_0 + column s, z_i = z_0."""
        columns = self.columns or math.isqrt(max(count - 1, 0)) + 1
        if self.shape == 'line':
            columns = MAX_VEHICLES
        x, y, z = self.position or (0.0, 0.0, -0.5)
        s = self.spacing
        return [((x - i // columns * s, y + i % columns * s, z), self.rpy) for i in range(count)]


def _read_pattern(reader: YamlReader) -> Pattern:
    pattern = reader.read(Pattern)
    if pattern.shape == 'line' and pattern.columns is not None:
        raise reader.error(": a line has no 'columns'; expected shape: grid")
    return pattern


def _read_arguments(reader: YamlReader) -> tuple[str, ...]:
    if not isinstance(reader.value, dict):
        raise reader.error(f' is {reader.value!r}; expected a mapping of xacro arguments')
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in reader.value.items()}
    return tuple(f'{name}:={text}' for name, text in texts.items())


@declaration(frozen=True, kw_only=True)
class FleetEntry:
    """Vehicles of one entry of the list."""

    name: str = special(YamlReader.word, '', 'namespace; by default that of the vehicle')
    vehicle: str = text('shipped name, or URDF or xacro file', REQUIRED)
    count: int = number(1, 1, MAX_VEHICLES, '', 'number of such vehicles', whole=True)
    arguments: tuple[str, ...] = special(_read_arguments, (), 'xacro arguments')
    scenario: str = text("scenario that it plays; empty: the run's")
    controller: str = text("controller that closes its loop; empty: the run's")
    seed: int | None = number(
        None, 0, 2**53, '', "random seed; by default the run's plus its place in the fleet",
        whole=True,
    )  # fmt: skip
    initial: StartPose = nested(StartPose, 'pose at the start', default=StartPose())


def _read_vehicles(reader: YamlReader) -> list[FleetVehicle]:
    """Return the vehicles of one entry of the list; without a name ``name`` is empty."""
    entry = reader.read(FleetEntry)
    if entry.count > 1 and entry.initial.position is not None:
        raise reader.child('initial').error(
            f': {entry.count} vehicles cannot start at one position; expected a pattern'
        )
    vehicle = FleetVehicle(
        entry.name,
        entry.vehicle,
        arguments=entry.arguments,
        scenario=entry.scenario,
        controller=entry.controller,
        seed=entry.seed,
        position=entry.initial.position,
        rpy=entry.initial.rpy,
    )
    if entry.count == 1:
        return [vehicle]
    return [
        replace(vehicle, name=entry.name and f'{entry.name}_{i + 1}') for i in range(entry.count)
    ]


def _name_vehicles(vehicles: list[FleetVehicle], root: YamlReader) -> list[FleetVehicle]:
    """Return the vehicles with names: the model's, numbered if several have it."""
    bases = [Path(v.vehicle).name.split('.')[0] for v in vehicles]
    base_counts = Counter(base for v, base in zip(vehicles, bases, strict=True) if not v.name)
    numbers: Counter[str] = Counter()
    result = []
    for vehicle, base in zip(vehicles, bases, strict=True):
        numbers[base] += not vehicle.name
        numbered = f'{base}_{numbers[base]}' if base_counts[base] > 1 else base
        result.append(replace(vehicle, name=vehicle.name or numbered))
    for name, count in Counter(v.name for v in result).items():
        if count > 1:
            raise root.error(f': vehicles: {count} are named {name!r}; expected each name once')
    return result


@declaration(frozen=True, kw_only=True)
class _FleetElement:
    """Fleet file."""

    description: str = text('one line')
    collisions: bool = truth(
        False, 'the vehicles touch each other; where the environment has bodies they always do'
    )
    pattern: Pattern | None = special(_read_pattern, None, 'start positions of the others')
    vehicles: tuple[list[FleetVehicle], ...] = nested(
        FleetEntry, 'vehicles', default=REQUIRED, many=True, read=_read_vehicles
    )


def _read_fleet(root: YamlReader) -> Fleet:
    element = root.read(_FleetElement)
    vehicles = list(chain.from_iterable(element.vehicles))
    if not 1 <= len(vehicles) <= MAX_VEHICLES:
        raise root.child('vehicles').error(
            f' has {len(vehicles)} vehicles; expected 1 to {MAX_VEHICLES}'
        )
    vehicles = _name_vehicles(vehicles, root)
    without_position = [v.name for v in vehicles if v.position is None]
    poses = (
        element.pattern.poses(len(without_position))
        if element.pattern
        else [(None, None)] * len(without_position)
    )
    pattern_poses = dict(zip(without_position, poses, strict=True))
    for i, vehicle in enumerate(vehicles):
        position, rpy = pattern_poses.get(vehicle.name, (vehicle.position, None))
        vehicles[i] = replace(vehicle, position=position, rpy=vehicle.rpy or rpy)
    return Fleet(tuple(vehicles), element.description, element.collisions)


FLEETS = ConfigFiles('fleets', _read_fleet)
"""Shipped fleets and those of the user."""


def fleet_runs(
    fleet: Fleet, common: RunOptions, only: Sequence[str] = ()
) -> tuple[RunOptions, ...]:
    """Return the options of the run of each vehicle.

    The first publishes /clock, and the others follow it. All run for ``common.duration``, or for
    the longest scenario.

    Args:
        fleet: the vehicles.
        common: common options; scenario and controller apply to vehicles that name neither.
        only: names of the vehicles in this process or machine; empty: all.

    Raises:
        ParameterError: an option that only one vehicle can have, or a name that no vehicle has.
    """
    names = [vehicle.name for vehicle in fleet.vehicles]
    for name in only:
        if name not in names:
            raise ParameterError(
                f'only is {name!r}; expected vehicles of the fleet: {", ".join(names)}'
            )
    defaults = RunOptions()
    for name in _SINGLE_VEHICLE_OPTIONS:
        if getattr(common, name) != getattr(defaults, name):
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
            'seed': run.seed,
        }
        for run in runs
    }
    return tuple(
        replace(
            run,
            duration=duration,
            collisions=fleet.collisions,
            neighbours={n: v for n, v in described.items() if n != namespace_of(run)},
        )
        for run in runs
        if not only or run.namespace in only
    )


def select_fleet_runs(
    options: RunOptions, fleet: str = '', only: Sequence[str] = ()
) -> tuple[RunOptions, ...]:
    """Return the options of the run of each vehicle of a fleet, or of a single vehicle.

    Args:
        fleet: shipped name or YAML file; empty: one vehicle.
        only: as in :func:`fleet_runs`.

    Raises:
        MarineSimError: an invalid fleet, or ``only`` without a fleet.
    """
    if fleet:
        return fleet_runs(FLEETS.load(fleet), options, only)
    if only:
        raise ParameterError('only names vehicles of a fleet; expected the option fleet too')
    return (options,)


def split_runs(runs: Sequence[RunOptions], count: int) -> list[tuple[RunOptions, ...]]:
    """Return the runs of a fleet in ``count`` parts of equal size, in their order.

    Each of several parts records into its own folder, ``record``/1 and so on.

    Raises:
        ParameterError: more parts than vehicles, or none, or vehicles that touch each other.
    """
    if not 1 <= count <= len(runs):
        raise ParameterError(
            f'processes is {count}; expected 1 to {len(runs)}, the number of vehicles'
        )
    if count == 1:
        return [tuple(runs)]
    if environment_from_options(runs[0]).collisions:
        raise ParameterError(
            f'processes is {count}: vehicles that touch each other or bodies share one; expected 1'
        )
    bounds = [round(i * len(runs) / count) for i in range(count + 1)]
    return [
        tuple(replace(run, record=run.record and f'{run.record}/{i}') for run in runs[a:b])
        for i, (a, b) in enumerate(pairwise(bounds), start=1)
    ]


def remote_namespaces(runs: Sequence[RunOptions]) -> tuple[str, ...]:
    """Return the namespaces of those vehicles of a fleet that run in other processes."""
    local = {'/' + run.namespace.strip('/') for run in runs}
    return tuple(sorted({name for run in runs for name in run.neighbours} - local))


def _vehicle_run(index: int, vehicle: FleetVehicle, common: RunOptions) -> RunOptions:
    changes: dict[str, Any] = {}
    if vehicle.scenario or vehicle.controller:
        changes = {'scenario': vehicle.scenario, 'controller': vehicle.controller}
    if index:
        changes |= {'clock': 'follow', 'real_time_factor': 0.0}
    return replace(
        common,
        vehicle=vehicle.vehicle,
        vehicle_arguments=vehicle.arguments,
        namespace=vehicle.name,
        frame_prefix=f'{vehicle.name}/',
        initial_position=vehicle.position,
        initial_rpy=vehicle.rpy,
        seed=common.seed + index if vehicle.seed is None else vehicle.seed,
        autopilot_instance=common.autopilot_instance + index,
        console_port=common.console_port + index if common.console_port else 0,
        video=next_address(common.video, 10 * index) if common.video else '',
        blueos='' if index else common.blueos,  # one ground station hears all vehicles
        protocol=shift_addresses(common.protocol, index) if index else common.protocol,
        **changes,
    )
