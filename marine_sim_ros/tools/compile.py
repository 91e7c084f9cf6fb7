# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compile the programs of ``run`` and ``simulate`` with ``--engine jax`` ahead, and keep them."""

from __future__ import annotations

import argparse
import time

from marine_sim_ros.control.controller_model import load_controller
from marine_sim_ros.core.files import program_folder
from marine_sim_ros.core.state import NANOSECONDS, state_at_rest, step_nanoseconds
from marine_sim_ros.engine.availability import require_jax
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import environment_from_options
from marine_sim_ros.sim.safe_step import step_warnings
from marine_sim_ros.sim.scenario import Scenario, load_scenario
from marine_sim_ros.sim.step import Stepping
from marine_sim_ros.tools.command_line import print_warnings, show_waiting
from marine_sim_ros.tools.options import add_option, read_run_options

__all__ = ['add_arguments', 'execute']

DEPTH = 5.0
"""m; programs do not depend on where a vehicle starts."""
OPTIONS = (
    'vehicle_arguments',
    'hull_forces',
    'voltage',
    'scenario',
    'controller',
    'environment',
    'current',
    'dt',
    'duration',
    'seed',
    'integrator',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options: what a program depends on."""
    add_option(parser, 'vehicle', positional=True)
    for name in OPTIONS:
        add_option(parser, name)


def _compile_tick(vehicle: Vehicle, environment: Environment, options: RunOptions) -> float:
    """Compile a tick of ``run --engine jax``; return how long it took, s."""
    from marine_sim_ros.engine.compiled_vehicle import CompiledVehicle

    start = state_at_rest((0.0, 0.0, -DEPTH))
    stepping = Stepping(step_nanoseconds(options.dt) / NANOSECONDS, options.integrator)
    return CompiledVehicle(vehicle, environment, start, stepping).compile_time


def _controller_of(scenario: Scenario | None) -> str:
    """Return the controller that a scenario with set-points names; else nothing."""
    return scenario.controller if scenario is not None and scenario.closed_loop else ''


def _compile_controller(vehicle: Vehicle, name: str, options: RunOptions) -> float:
    """Compile a controller of ``run --engine jax``; return how long it took, s."""
    from marine_sim_ros.engine.compiled_controller import select_closed_loop

    begun = time.perf_counter()
    step = step_nanoseconds(options.dt) / NANOSECONDS
    select_closed_loop(vehicle, load_controller(name), dt=step)
    return time.perf_counter() - begun


def _compile_scenario(
    vehicle: Vehicle, environment: Environment, options: RunOptions, scenario: Scenario
) -> float:
    """Compile a scenario of ``simulate --engine jax``, which runs; return how long it took, s."""
    from marine_sim_ros.engine.compiled import simulate_compiled

    _, compiling = simulate_compiled(
        vehicle,
        scenario,
        environment=environment,
        dt=options.dt,
        integrator=options.integrator,
        seed=options.seed,
        duration=options.duration or None,
    )
    return compiling


def execute(options: argparse.Namespace) -> int:
    """Compile; tell each program and the seconds that it took."""
    settings = read_run_options(options)
    require_jax()
    vehicle = vehicle_of(settings.named_vehicle())
    environment = environment_from_options(settings)
    scenario = None
    if settings.scenario:
        scenario = load_scenario(settings.scenario).located(environment)
    print_warnings(step_warnings(vehicle, environment, settings.dt, settings.integrator))
    begun = time.perf_counter()
    with show_waiting('compiling'):
        spent = _compile_tick(vehicle, environment, settings)
    print(f'run {vehicle.name}: {spent:.1f} s')
    if controller := settings.controller or _controller_of(scenario):
        with show_waiting('compiling'):
            spent = _compile_controller(vehicle, controller, settings)
        print(f'run {vehicle.name}, its controller: {spent:.1f} s')
    if scenario:
        with show_waiting('compiling'):
            spent = _compile_scenario(vehicle, environment, settings, scenario)
        print(f'simulate {vehicle.name}, {settings.scenario}: {spent:.1f} s')
    print(f'{program_folder()}, after {time.perf_counter() - begun:.1f} s')
    return 0
