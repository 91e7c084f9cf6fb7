# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Batch simulation: many vehicles in one call, each with its parameters, scenario and seed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from marine_sim_ros.control.controller_model import ControllerSettings
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS, State, ticks_of
from marine_sim_ros.engine.compiled import ScenarioProgram, make_setting, make_trajectory
from marine_sim_ros.engine.loop import LoopSetting, record_everything, states
from marine_sim_ros.engine.script import extend_script
from marine_sim_ros.engine.trees import compute_cached_properties
from marine_sim_ros.environment.currents_and_waves import pad_gusts
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import LostCommands
from marine_sim_ros.faults.tables import equalise_tables
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import Scenario
from marine_sim_ros.sim.simulation import DEFAULT_STEP
from marine_sim_ros.sim.trajectory import Trajectory

__all__ = [
    'BLOCK',
    'Batch',
    'stack_initial_states',
    'run_in_blocks',
    'make_settings',
    'simulate_batch',
]

Item = TypeVar('Item')
BLOCK = 1024
"""Vehicles that a program advances at a time, so that their numbers stay in a core's cache."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Recorded states of N vehicles at t ticks.

    Attributes:
        stamp: (t,) ns.
        position: (t, N, 3) m, map.
        orientation: (t, N, 4) x, y, z, w.
        velocity: (t, N, 6) body, m/s and rad/s.
        compile_time: duration of compiling, s.
        trajectory: function that returns the trajectory of a vehicle by its number; needs all
            quantities.
        vehicles: the N vehicles.
        options: options of the run of each vehicle.
        dtype: precision of the program.
        every: one tick in so many is kept.
    """

    stamp: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    compile_time: float
    trajectory: Callable[[int], Trajectory]
    vehicles: Sequence[Vehicle]
    options: Sequence[RunOptions]
    dtype: str
    every: int

    @property
    def time(self) -> np.ndarray:
        """(t,) s."""
        return self.stamp / NANOSECONDS

    @property
    def state(self) -> np.ndarray:
        """(t, N, 13): position, orientation, velocity."""
        return np.concatenate([self.position, self.orientation, self.velocity], axis=-1)

    @property
    def finite(self) -> np.ndarray:
        """(N,) whether a vehicle's state stayed finite."""
        return np.asarray(np.isfinite(self.state).all(axis=(0, 2)))


def _per_vehicle(items: Item | Sequence[Item], count: int, what: str) -> list[Item]:
    """Return one item for each vehicle: all of a list, or the same for all.

    Raises:
        ParameterError: a list of another length.
    """
    if not isinstance(items, list | tuple | np.ndarray):
        return [items] * count  # type: ignore[list-item]
    if len(items) != count:
        raise ParameterError(f'batch: {len(items)} {what}; expected one, or {count} as the others')
    return list(items)


def make_settings(
    vehicles: Sequence[Vehicle],
    scenarios: Sequence[Scenario],
    environments: Sequence[Environment | None],
    seeds: Sequence[int],
    controllers: Sequence[ControllerSettings | None] | None,
) -> list[LoopSetting]:
    """Return the settings of a batch, with tables of equal length.

    Vehicles with the same objects share one setting, unless a random fault depends on the seed.

    Raises:
        MarineSimError: a scenario that does not fit its vehicle.
    """
    settings_by_key: dict[tuple[int, ...], LoopSetting] = {}
    keys = []
    controller_per_vehicle = [None] * len(vehicles) if controllers is None else controllers
    for parts in zip(
        vehicles, scenarios, environments, seeds, controller_per_vehicle, strict=True
    ):
        random = any(isinstance(fault, LostCommands) for fault in parts[1].faults)
        keys.append((*map(id, (*parts[:3], parts[4])), parts[3] if random else 0))
        if keys[-1] not in settings_by_key:
            settings_by_key[keys[-1]] = make_setting(*parts)
    padded = dict(zip(settings_by_key, _pad_settings(list(settings_by_key.values())), strict=True))
    return [padded[key] for key in keys]


def _pad_settings(settings: list[LoopSetting]) -> list[LoopSetting]:
    """Return settings whose tables of segments, faults and gusts have equal lengths."""
    longest = max(len(s.script.start) for s in settings)
    faults = equalise_tables([s.faults for s in settings])
    gusts = pad_gusts([s.environment.gusts for s in settings])
    return [
        replace(
            s,
            script=s.script
            if len(s.script.start) == longest
            else extend_script(s.script, longest),
            faults=fault_table,
            environment=s.environment
            if gust is s.environment.gusts
            else compute_cached_properties(replace(s.environment, gusts=gust)),
        )
        for s, fault_table, gust in zip(settings, faults, gusts, strict=True)
    ]


def simulate_batch(
    vehicles: Vehicle | Sequence[Vehicle],
    scenarios: Scenario | Sequence[Scenario],
    *,
    environments: Environment | Sequence[Environment | None] | None = None,
    controllers: ControllerSettings | Sequence[ControllerSettings | None] | None = None,
    initial: State | None = None,
    seeds: int | Sequence[int] = 0,
    dt: float = DEFAULT_STEP,
    integrator: str = 'auto',
    implicit_drag: bool = True,
    duration: float | None = None,
    every: int = 20,
    dtype: str = 'float64',
    all_quantities: bool = False,
) -> Batch:
    """Run many vehicles, and return one tick in ``every`` of each.

    Vehicles must have the same structure: as many thrusters, a hull or none, and so on. All lists
    have the same length; a single value holds for all vehicles. Except for rounding, the result
    of a vehicle does not depend on the others in the batch.

    Args:
        vehicles: one or a list.
        scenarios: one or a list; all run for the longest duration.
        environments: one or a list.
        controllers: one or a list, instead of those that the scenarios name.
        initial: state (N, 3), (N, 4), (N, 6); None: the scenarios'.
        seeds: seeds of the barometers' noise and of faults.
        dt: step, s.
        integrator: ``semi_implicit`` or ``rk4``.
        implicit_drag: treat the drag as linearly implicit (``semi_implicit`` only).
        duration: s.
        every: one tick in so many is kept, beginning with the first.
        dtype: ``float64`` or ``float32``.
        all_quantities: keep what a :class:`~marine_sim_ros.sim.trajectory.Trajectory` needs.

    Raises:
        MarineSimError: an argument out of range, or vehicles that cannot share a batch.
    """
    listable = (vehicles, scenarios, environments, controllers, seeds)
    lengths = [len(x) for x in listable if isinstance(x, list | tuple | np.ndarray)]
    count = lengths[0] if lengths else 1 if initial is None else len(initial.position)
    if count < 1:
        raise ParameterError('batch: no vehicles; expected at least one')
    environment_per_vehicle = _per_vehicle(environments, count, 'environments')
    scenario_per_vehicle = [
        scenario.located(environment)
        for scenario, environment in zip(
            _per_vehicle(scenarios, count, 'scenarios'), environment_per_vehicle, strict=True
        )
    ]
    seed_per_vehicle = _per_vehicle(seeds, count, 'seeds')
    settings = make_settings(
        _per_vehicle(vehicles, count, 'vehicles'),
        scenario_per_vehicle,
        environment_per_vehicle,
        seed_per_vehicle,
        _per_vehicle(controllers, count, 'controllers'),
    )
    longest = max(s.duration for s in scenario_per_vehicle) if duration is None else duration
    ticks = (ticks_of(longest, dt) - 1) // every * every + 1
    program = ScenarioProgram(
        settings,
        ticks=ticks,
        dt=dt,
        integrator=integrator,
        implicit_drag=implicit_drag,
        dtype=dtype,
        every=every,
        keep=record_everything if all_quantities else states,
        size=min(count, BLOCK),
    )
    recorded = run_in_blocks(program, stack_initial_states(initial, scenario_per_vehicle), count)

    def trajectory(i: int) -> Trajectory:
        if not all_quantities:
            raise ParameterError('batch: only states were kept; expected all_quantities=True')
        quantities = {name: values[..., i] for name, values in recorded.items()}
        return make_trajectory(settings[i], quantities, program.kept, seed_per_vehicle[i])

    state = State(*(np.moveaxis(recorded[name], -1, 1) for name in State._fields))
    options = [
        RunOptions(
            vehicle=setting.vehicle.name,
            scenario=scenario_per_vehicle[i].name,
            dt=dt,
            seed=seed_per_vehicle[i],
            environment=setting.environment.name,
            integrator=integrator,
        )
        for i, setting in enumerate(settings)
    ]
    return Batch(
        program.kept,
        state.position,
        state.orientation,
        state.velocity,
        program.compile_time,
        trajectory,
        [setting.vehicle for setting in settings],
        options,
        dtype,
        every,
    )


def stack_initial_states(initial: State | None, scenarios: Sequence[Scenario]) -> State:
    """Return the initial states, the batch's axis last."""
    if initial is None:
        state_by_scenario = {id(s): s.initial_state() for s in scenarios}
        rows = [state_by_scenario[id(s)] for s in scenarios]
        return State(*(np.stack(x, axis=-1) for x in zip(*rows, strict=True)))
    return State(*(np.moveaxis(np.asarray(x, float), 0, -1) for x in initial))


def run_in_blocks(
    program: ScenarioProgram,
    initial: State,
    count: int,
    *,
    size: int | None = None,
    arguments: Sequence[np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Run blocks of vehicles in parallel threads.

    The program has a fixed size; a shorter last block is filled up with repeated vehicles.

    Args:
        program: program for vehicles of the same structure.
        initial: state, the batch's axis last.
        count: number of vehicles.
        size: batch size of the program; None: ``BLOCK``, or all if they are fewer.
        arguments: arguments from ``program.arguments_of``; None: those of the program's own
            setting.
    """
    size = min(count, BLOCK) if size is None else size
    columns = program.arguments if arguments is None else arguments
    rows = [np.arange(i, min(i + size, count)) for i in range(0, count, size)]

    def block(indices: np.ndarray) -> dict[str, np.ndarray]:
        padded = np.resize(indices, size)
        recorded = program.run(
            State(*(x[..., padded] for x in initial)), [a[..., padded] for a in columns]
        )
        return {name: values[..., : len(indices)] for name, values in recorded.items()}

    with ThreadPoolExecutor(max(os.cpu_count() or 1, 1)) as pool:
        results = list(pool.map(block, rows))
    return {name: np.concatenate([d[name] for d in results], axis=-1) for name in results[0]}
