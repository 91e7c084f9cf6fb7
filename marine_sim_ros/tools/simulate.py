# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a scenario in this process, without ROS: the same functions as in the node graph."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.stamps import ticks_of
from marine_sim_ros.core.user_cache import kept_programs
from marine_sim_ros.engine.availability import require_jax
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.safe_step import step_warnings
from marine_sim_ros.sim.scenario import SCENARIOS, load_scenario
from marine_sim_ros.sim.simulation import simulate, simulated_outcome
from marine_sim_ros.sim.start import start_warnings
from marine_sim_ros.sim.tick_record import TICK_BYTES
from marine_sim_ros.sim.trajectory import OUTCOME_BYTES, Outcome, Trajectory
from marine_sim_ros.tools.options import add_run_arguments, free_folder, run_options
from marine_sim_ros.tools.progress import bar, waiting
from marine_sim_ros.tools.reporting import print_warnings

__all__ = ['add_arguments', 'execute']

_ALWAYS_FREE = 1e8
"""Bytes; less is not worth a look at the memory."""
_WARNED = 0.5
"""Fraction of the free memory above which a run is warned of."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add_run_arguments(parser, fleet=True)
    parser.add_argument(
        '--precision',
        default='float64',
        choices=('float64', 'float32'),
        help='floating-point format of --engine jax (default float64)',
    )


def _simulated(
    options: argparse.Namespace, engine: str, *arguments: Any, **settings: Any
) -> tuple[Trajectory | Outcome, float, float]:
    """Return the run of the chosen engine, the seconds it took, and those of compiling.

    Raises:
        MarineSimError: of :func:`marine_sim_ros.sim.simulation.simulate`, or JAX is missing.
    """
    if engine == 'numpy':
        if options.precision != 'float64':
            raise ParameterError(
                f'--precision {options.precision}: the engine numpy computes in float64; '
                'expected --engine jax'
            )
        start = time.perf_counter()
        run = simulate if options.record else simulated_outcome
        return run(*arguments, **settings), time.perf_counter() - start, 0.0
    require_jax()
    from marine_sim_ros.engine.compiled import simulate_compiled

    start = time.perf_counter()
    with waiting('compiling'):
        done, compiling = simulate_compiled(*arguments, dtype=options.precision, **settings)
    return done, time.perf_counter() - start - compiling, compiling


def _fleet(options: argparse.Namespace, settings: RunOptions) -> int:
    """Simulate a fleet, and print the hash of each of its vehicles."""
    if settings.record or settings.engine != 'numpy':
        raise ParameterError(
            'simulate: a fleet is computed by the engine numpy and not recorded; expected '
            'marine_sim run --fleet, or no --record and no --engine'
        )
    begun = time.perf_counter()
    found = simulate_fleet(fleet_runs(FLEETS.load(options.fleet), settings))
    wall = time.perf_counter() - begun
    for name, trajectory in found.items():
        print(f'{name} {len(trajectory.stamp)} ticks, trajectory_sha256 {trajectory.sha256}')
    print(f'{len(found)} vehicles, {trajectory.time[-1]:g} s in {wall:.2f} s')
    return 0


def _check_memory(settings: RunOptions, duration: float) -> None:
    """Warn of a run that needs much of the free memory, and refuse one that needs all of it.

    Raises:
        ParameterError: it does not fit.
    """
    kept = TICK_BYTES if settings.record or settings.engine == 'jax' else OUTCOME_BYTES
    ticks = ticks_of(duration, settings.dt)
    if ticks * kept < _ALWAYS_FREE:
        return
    psutil = require('psutil', 'simulate of many ticks')
    free = int(psutil.virtual_memory().available)
    if ticks * kept < _WARNED * free:
        return
    said = (
        f'simulate: {ticks:.3g} ticks need about {ticks * kept / 1e9:.3g} GB of memory, and '
        f'{free / 1e9:.3g} GB are free'
    )
    shorter = 'expected a shorter --duration, a longer --dt, or marine_sim run'
    if ticks * kept >= free:
        raise ParameterError(f'{said}; {shorter}')
    print_warnings([f'{said}; if it does not suffice: {shorter.removeprefix("expected ")}'])


def execute(options: argparse.Namespace) -> int:
    """Run it; 1 when an expectation of the scenario does not hold."""
    settings = run_options(options)
    if bool(options.vehicle) == bool(options.fleet):
        raise ParameterError('simulate: expected either VEHICLE or --fleet FILE')
    if options.fleet:
        return _fleet(options, settings)
    if not settings.scenario:
        raise ParameterError(
            'simulate: --scenario is missing; expected a file or one of: '
            + ', '.join(SCENARIOS.names())
        )
    if settings.record:
        free_folder(settings.record, overwrite=options.overwrite)
    scenario = load_scenario(settings.scenario)
    with bar('building') as told:
        vehicle = vehicle_of(settings.named_vehicle(), told)
    environment = run_environment(settings.environment, current=settings.current)
    odd = start_warnings(environment, scenario.position)
    odd += step_warnings(vehicle, environment, settings.dt, settings.integrator)
    print_warnings((*vehicle.warnings, *odd))
    _check_memory(settings, settings.duration or scenario.duration)
    run, wall, compiling = _simulated(
        options,
        settings.engine,
        vehicle,
        scenario,
        environment=environment,
        dt=settings.dt,
        integrator=settings.integrator,
        seed=settings.seed,
        duration=settings.duration or None,
    )
    if isinstance(run, Trajectory) and settings.record:
        from marine_sim_ros.bags.trajectory_writer import write_recording

        more = {} if settings.engine == 'numpy' else {'precision': options.precision}
        write_recording(Path(settings.record), vehicle, settings, run, **more)
    seconds = run.time
    verdicts = scenario.verdicts(seconds, run.z)
    for ok, text in verdicts:
        print(('holds:         ' if ok else 'does not hold: ') + text)
    span = seconds[-1] - seconds[0]
    print(f'{len(seconds)} ticks, {span:g} s in {wall:.2f} s ({span / wall:.1f} x)')
    if settings.engine == 'jax':
        print(f'compiled in {compiling:.2f} s; {kept_programs()}')
    print(f'trajectory_sha256 {run.sha256}')
    return 0 if all(ok for ok, _ in verdicts) else 1
