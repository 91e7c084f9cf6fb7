# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a scenario in this process, without ROS: the same functions as in the node graph."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import program_folder
from marine_sim_ros.core.state import ticks_of
from marine_sim_ros.engine.availability import require_jax
from marine_sim_ros.model.library import vehicle_of, vehicle_path
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors.estimated_odometry import EstimatedOdometry
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.player import scripted_commands
from marine_sim_ros.sim.run_setup import (
    description_warnings,
    environment_from_options,
    run_odometry,
    start_warnings,
    with_start_pose,
)
from marine_sim_ros.sim.safe_step import step_warnings
from marine_sim_ros.sim.scenario import Scenario, load_scenario
from marine_sim_ros.sim.simulation import simulate_blocks, simulate_outcome
from marine_sim_ros.sim.step import TICK_BYTES
from marine_sim_ros.sim.trajectory import Outcome, Trajectory, motion_text
from marine_sim_ros.tools.command_line import print_warnings, progress_bar, show_waiting
from marine_sim_ros.tools.options import (
    add_map_argument,
    add_run_arguments,
    prepare_recording_folder,
    read_run_options,
)

__all__ = ['add_arguments', 'execute']

_ALWAYS_FREE = 1e8
"""Bytes; less is not worth a look at the memory."""
_WARNED = 0.5
"""Fraction of the free memory or disk above which a run is warned of."""
RECORDED_BYTES = 2500
"""Size of a tick in a recording, about, with six thrusters and the sensors of a BlueROV2."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    add_run_arguments(parser, fleet=True)
    parser.add_argument(
        '--replay',
        default='',
        metavar='BAG',
        help='repeat the commands of a bag or of a log of ArduSub, in place of --scenario',
    )
    add_map_argument(parser)
    parser.add_argument(
        '--precision',
        default='float64',
        choices=('float64', 'float32'),
        help='floating-point format of --engine jax (default float64)',
    )


def _run_numpy(
    options: argparse.Namespace, settings: RunOptions, vehicle: Vehicle, scenario: Scenario,
    **more: Any,
) -> tuple[Outcome, float]:  # fmt: skip
    """Run with NumPy, recorded where that is asked for; return the outcome and s of computing.

    Raises:
        MarineSimError: of :func:`marine_sim_ros.sim.simulation.simulate`, or of the recording.
    """
    if options.precision != 'float64':
        raise ParameterError(
            f'--precision {options.precision}: the engine numpy computes in float64; '
            'expected --engine jax'
        )
    begun = time.perf_counter()
    if not settings.record:
        return simulate_outcome(vehicle, scenario, **more), time.perf_counter() - begun
    from marine_sim_ros.bags.trajectory_writer import write_parts

    outcome, wall = Outcome(scenario, more['environment']), 0.0

    def parts() -> Iterator[Trajectory]:
        nonlocal begun, wall
        for part in simulate_blocks(vehicle, scenario, **more):
            wall += time.perf_counter() - begun
            outcome.add(part.stamp, part.states)
            yield part
            begun = time.perf_counter()

    noted = {'replay_of': options.replay, 'commands': scripted_commands(scenario, vehicle)}
    write_parts(Path(settings.record), vehicle, settings, parts(), **noted)
    return outcome, wall


def _run_compiled(
    options: argparse.Namespace, settings: RunOptions, vehicle: Vehicle, scenario: Scenario,
    **more: Any,
) -> tuple[Outcome, float, float]:  # fmt: skip
    """Run with JAX; return the outcome, the seconds of computing, and those of compiling.

    Raises:
        MarineSimError: of :func:`marine_sim_ros.sim.simulation.simulate`, or JAX is missing.
    """
    require_jax()
    from marine_sim_ros.engine.compiled import simulate_compiled

    environment = more['environment']

    begun = time.perf_counter()
    with show_waiting('compiling'):
        run, compiling = simulate_compiled(vehicle, scenario, dtype=options.precision, **more)
    wall = time.perf_counter() - begun - compiling
    if settings.record:
        from marine_sim_ros.bags.trajectory_writer import write_recording

        folder = Path(settings.record)
        more = {
            'precision': options.precision,
            'replay_of': options.replay,
            'commands': scripted_commands(scenario, vehicle),
        }
        write_recording(folder, vehicle, settings, run, **more)
    outcome = Outcome(scenario, environment)
    outcome.add(run.stamp, run.states)
    return outcome, wall, compiling


def _fleet(options: argparse.Namespace, settings: RunOptions) -> int:
    """Simulate a fleet, and print the hash of each of its vehicles."""
    if settings.record or settings.engine != 'numpy':
        raise ParameterError(
            'simulate: a fleet is computed by the engine numpy and not recorded; expected '
            'marine_sim run --fleet, or no --record and no --engine'
        )
    runs = fleet_runs(FLEETS.load(options.fleet), settings)
    environment = environment_from_options(settings)
    vehicles = [vehicle_of(run.named_vehicle()) for run in runs]
    told = [
        description_warnings(v) + step_warnings(v, environment, settings.dt, settings.integrator)
        for v in vehicles
    ]
    print_warnings(tuple(dict.fromkeys(chain.from_iterable(told))))
    begun = time.perf_counter()
    with progress_bar('simulating') as report:
        found = simulate_fleet(runs, report)
    wall = time.perf_counter() - begun
    for name, trajectory in found.items():
        print(f'{name} {len(trajectory.stamp)} ticks, trajectory_sha256 {trajectory.sha256}')
    print(f'{len(found)} vehicles, {trajectory.time[-1]:g} s in {wall:.2f} s')
    return 0


def _replay_scenario(
    options: argparse.Namespace, settings: RunOptions, vehicle: Vehicle
) -> Scenario:
    """Return the scenario of the commands of a bag; print what is not replayed.

    Raises:
        MarineSimError: the bag cannot be read, or has none.
    """
    from marine_sim_ros.bags.description import manifest_parameters
    from marine_sim_ros.bags.reading import bag_path
    from marine_sim_ros.bags.vehicle_record import suggest_topics
    from marine_sim_ros.identification.recording import read_collectors, recorded_scenario

    with progress_bar('reading') as told:
        bag, collectors = read_collectors(options.replay, options.maps, told)
    with_pulses = (n for n, c in collectors.items() if c.get('thrusters/pwm') is not None)
    name = settings.namespace.strip('/') or next(with_pulses, next(iter(collectors)))
    if name not in collectors:
        raise ParameterError(
            f'--namespace {name}: {bag.label} has none; expected one of: {", ".join(collectors)}'
        )
    could = suggest_topics({topic: kind for topic, kind, _ in bag.topics})
    _, recorded = manifest_parameters(bag_path(options.replay), name, alone=True)
    scenario, notes = recorded_scenario(
        collectors[name], bag.label, vehicle, could, script=recorded.get('commands')
    )
    if len(bag.vehicles) > 1:
        others = ', '.join(f'/{other}' for other in bag.vehicles)
        notes.append(f'/{name} is replayed, of {others}; --namespace chooses, --map joins topics')
    for note in (*bag.notes, *notes):
        print(f'{bag.label}: {note}')
    return scenario


def _in_recorded_water(options: argparse.Namespace, settings: RunOptions) -> RunOptions:
    """Return the options with the water of the recording, unless some is given.

    Raises:
        MarineSimError: the recorded environment is no shipped one.
    """
    from marine_sim_ros.bags.description import described_environment, manifest_parameters
    from marine_sim_ros.bags.reading import bag_path

    name = settings.namespace.strip('/')
    folder, recorded = manifest_parameters(bag_path(options.replay), name, alone=True)
    if period := recorded.get('record_period'):
        print(f'{options.replay}: has one step in {period:g} s; the motion will differ')
    given = settings.environment, any(settings.current), settings.water_density
    if not recorded or any(given):
        return settings
    environment = described_environment(recorded)
    changes = settings.changes
    if environment.changes and not changes:
        changes = str(folder)
    label = recorded.get('environment') or 'still water'
    print(f'{options.replay}: in its environment, {label}; --environment takes another')
    return replace(
        settings,
        environment=environment.name,
        current=tuple(recorded.get('current', settings.current)),
        water_density=float(recorded.get('water_density') or 0.0),
        changes=changes,
    )


def _check_room(settings: RunOptions, duration: float) -> None:
    """Warn of a run that needs much of the free memory or disk; refuse one that needs all of it.

    Raises:
        ParameterError: it does not fit.
    """
    ticks = ticks_of(duration, settings.dt)
    if settings.engine == 'jax' and ticks * TICK_BYTES >= _ALWAYS_FREE:  # all is kept at once
        psutil = require('psutil', 'simulate of many ticks')
        free = int(psutil.virtual_memory().available)
        _check(ticks, ticks * TICK_BYTES, free, 'of memory', 'no --engine jax')
    recorded = ticks / max(settings.record_period / settings.dt, 1.0)
    if settings.record and recorded * RECORDED_BYTES >= _ALWAYS_FREE:
        free = shutil.disk_usage(settings.record)[2]
        where = f'on the disk of {settings.record}'
        _check(ticks, recorded * RECORDED_BYTES, free, where, 'a longer --record-period')


def _check(ticks: int, needed: float, free: float, where: str, otherwise: str) -> None:
    """Warn of bytes that are much of the free ones, or raise where they are all.

    Raises:
        ParameterError: they do not fit.
    """
    if needed < _WARNED * free:
        return
    said = (
        f'simulate: {ticks:.3g} ticks need about {needed / 1e9:.3g} GB {where}, and '
        f'{free / 1e9:.3g} GB are free'
    )
    shorter = f'a shorter --duration, a longer --dt, or {otherwise}'
    if needed >= free:
        raise ParameterError(f'{said}; expected {shorter}')
    print_warnings([f'{said}; if it does not suffice: {shorter}'])


def _print_estimate(odometry: EstimatedOdometry | None) -> None:
    """Print the error of an estimated position."""
    if odometry is not None:
        last, largest = odometry.last_error, odometry.largest_error
        print(f'estimated position: {last:.2f} m off at the end, at most {largest:.2f} m')


def execute(options: argparse.Namespace) -> int:
    """Run it; 1 when an expectation of the scenario does not hold."""
    settings = read_run_options(options)
    if bool(options.vehicle) == bool(options.fleet):
        raise ParameterError('simulate: expected either VEHICLE or --fleet FILE')
    if options.fleet:
        return _fleet(options, settings)
    vehicle_path(options.vehicle)  # a misspelt name is reported before a missing option
    if bool(settings.scenario) == bool(options.replay):
        raise ParameterError(
            'simulate: expected either --scenario, a file or a name of '
            '`marine_sim list scenarios`, or --replay BAG'
        )
    scenario = load_scenario(settings.scenario) if settings.scenario else None
    if settings.record:
        prepare_recording_folder(settings.record, overwrite=options.overwrite)
    with progress_bar('building') as told:
        vehicle = vehicle_of(settings.named_vehicle(), told)
    if scenario is None:
        settings = _in_recorded_water(options, settings)
        scenario = _replay_scenario(options, settings, vehicle)
    environment = environment_from_options(settings)
    scenario = with_start_pose(scenario, settings).located(environment)
    odd = description_warnings(vehicle) + start_warnings(environment, scenario.position)
    odd += step_warnings(vehicle, environment, settings.dt, settings.integrator)
    print_warnings((*vehicle.warnings, *scenario.warnings, *odd))
    _check_room(settings, settings.duration or scenario.duration)
    arguments = options, settings, vehicle, scenario
    odometry = run_odometry(settings, vehicle, closed=scenario.closed_loop)
    more: dict[str, Any] = {
        'environment': environment,
        'dt': settings.dt,
        'integrator': settings.integrator,
        'seed': settings.seed,
        'duration': settings.duration or None,
    }
    compiling = 0.0
    if settings.engine == 'jax':
        outcome, wall, compiling = _run_compiled(*arguments, **more)
    else:
        with progress_bar('simulating') as told:
            outcome, wall = _run_numpy(*arguments, **more, odometry=odometry, progress=told)
    print_warnings([outcome.beyond_data] if outcome.beyond_data else [])
    for ok, text in outcome.verdicts:
        print(('holds:         ' if ok else 'does not hold: ') + text)
    speed = outcome.span / wall
    print(f'{outcome.ticks} ticks, {outcome.span:g} s in {wall:.2f} s ({speed:.1f} x)')
    print(motion_text(outcome.motion.content()))
    _print_estimate(odometry)
    if settings.engine == 'jax':
        print(f'compiled in {compiling:.2f} s; {program_folder()}')
    print(f'trajectory_sha256 {outcome.sha256}')
    if options.replay and settings.record:
        both = f'{options.replay} {settings.record}'
        print(f'side by side: marine_sim analyze {both} -o {settings.record}_report')
    return 0 if all(ok for ok, _ in outcome.verdicts) else 1
