# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a scenario in this process, without ROS; same functions, same result."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from marine_sim_ros.environment_file import run_environment
from marine_sim_ros.errors import ParameterError
from marine_sim_ros.model.library import load_vehicle, xacro_arguments
from marine_sim_ros.scenario import load_scenario
from marine_sim_ros.simulation import simulate
from marine_sim_ros.tools.options import add_run_arguments, free_folder, run_options
from marine_sim_ros.tools.progress import bar

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add_run_arguments(parser)


def execute(options: argparse.Namespace) -> int:
    """Run it; 1 when an expectation of the scenario does not hold."""
    settings = run_options(options)
    if not settings.scenario:
        raise ParameterError('simulate: --scenario is missing; expected a shipped name or a file')
    if settings.record:
        free_folder(settings.record, overwrite=options.overwrite)
    scenario = load_scenario(settings.scenario)
    arguments = xacro_arguments(settings.vehicle_arguments)
    with bar('building') as told:
        vehicle = load_vehicle(
            settings.vehicle,
            hull_forces=settings.hull_forces or None,
            progress=told,
            **arguments,
        )
    environment = run_environment(settings.environment, current=settings.current)
    start = time.perf_counter()
    trajectory = simulate(
        vehicle, scenario, environment=environment, dt=settings.dt,
        integrator=settings.integrator, seed=settings.seed,
        duration=settings.duration or None,
    )  # fmt: skip
    wall = time.perf_counter() - start
    if settings.record:
        from marine_sim_ros.tools.recorded import write_recording

        write_recording(Path(settings.record), vehicle, settings, trajectory)
    verdicts = scenario.verdicts(trajectory.time, trajectory.position[:, 2])
    for ok, text in verdicts:
        print(('holds:         ' if ok else 'does not hold: ') + text)
    span = trajectory.time[-1] - trajectory.time[0]
    print(f'{len(trajectory.stamp)} ticks, {span:g} s in {wall:.2f} s ({span / wall:.1f} x)')
    print(f'trajectory_sha256 {trajectory.sha256}')
    return 0 if all(ok for ok, _ in verdicts) else 1
