# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of a sweep, block by block; a block is a function of the plan and its number alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.control.settings import load_controller
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS, step_nanoseconds, ticks_of
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.sim.trajectory import Trajectory
from marine_sim_ros.sweep.change import Case, changed, described
from marine_sim_ros.sweep.design import design
from marine_sim_ros.sweep.metrics import metrics
from marine_sim_ros.sweep.plan import Plan

__all__ = ['blocks', 'case_of', 'run_block', 'seed_of', 'simulated']


@lru_cache(maxsize=2)
def _base(plan: Plan) -> Case:
    """Return what the runs of a plan have in common."""
    arguments: dict[str, Any] = dict(plan.arguments)
    vehicle = load_vehicle(plan.vehicle, **arguments)
    environment = run_environment(plan.environment)
    scenario = load_scenario(plan.scenario)
    duration = plan.duration or scenario.duration
    controller = load_controller(scenario.controller) if scenario.closed_loop else None
    scenario = replace(scenario, duration=duration)
    return Case(vehicle, environment or Environment(), scenario, controller)


@lru_cache(maxsize=2)
def _design(plan: Plan) -> np.ndarray:
    return design(plan)


def case_of(plan: Plan, run: int) -> Case:
    """Return the vehicle, environment and scenario of a run.

    Raises:
        MarineSimError: there is no such run, a parameter points nowhere, or a number is out of
            range.
    """
    rows = _design(plan)
    if not 0 <= run < len(rows):
        raise ParameterError(f'sweep: run {run} does not exist; expected 0 to {len(rows) - 1}')
    return _case(plan, rows[run])


def _case(plan: Plan, numbers: Sequence[float]) -> Case:
    """Return a case with its numbers.

    Raises:
        MarineSimError: a parameter points nowhere, or a number is out of range.
    """
    case, given = _base(plan), list(zip(plan.parameters, map(float, numbers), strict=True))
    urdf = [(p, value) for p, value in given if p.name.startswith('urdf.')]
    case = case._replace(vehicle=described(case.vehicle, plan.vehicle, urdf))
    for parameter, value in given:
        if (parameter, value) not in urdf:
            case = changed(case, parameter, value)
    return case


def seed_of(plan: Plan, run: int) -> int:
    """Return the seed of everything random in a run."""
    return plan.seed + run


def blocks(plan: Plan) -> int:
    """Return how many blocks of runs there are."""
    return -(-len(_design(plan)) // plan.block)


def _extremes(plan: Plan) -> list[Case]:
    """Return cases that differ wherever those of a plan may differ."""
    rows = _design(plan)
    middle = rows[len(rows) // 2]
    result = [_case(plan, middle)]
    for i in range(rows.shape[1]):
        for value in (rows[:, i].min(), rows[:, i].max()):
            result.append(_case(plan, [*middle[:i], value, *middle[i + 1 :]]))
    return result


@lru_cache(maxsize=2)
def _program(plan: Plan) -> Any:
    """Return the compiled program of all blocks of a plan."""
    cases = _extremes(plan)
    return _compiled(plan, cases, range(plan.seed, plan.seed + len(cases)))


def _compiled(plan: Plan, cases: list[Case], seeds: Sequence[int]) -> Any:
    """Return a program for runs that differ where these cases do."""
    from marine_sim_ros.engine.batch import settings_of
    from marine_sim_ros.engine.compiled import Program
    from marine_sim_ros.engine.loop import states

    vehicles, environments, scenarios, controllers = zip(*cases, strict=True)
    ticks = (ticks_of(cases[0].scenario.duration, plan.dt) - 1) // plan.every * plan.every + 1
    settings = settings_of(vehicles, scenarios, environments, seeds, controllers)
    return Program(
        settings, ticks=ticks, dt=plan.dt, every=plan.every, keep=states, size=plan.block
    )


def _with_jax(plan: Plan, cases: list[Case], runs: Sequence[int]) -> tuple[np.ndarray, State]:
    from marine_sim_ros.engine.batch import first_states, run_in_blocks, settings_of

    vehicles, environments, scenarios, controllers = zip(*cases, strict=True)
    seeds = [seed_of(plan, run) for run in runs]
    settings = settings_of(vehicles, scenarios, environments, seeds, controllers)
    try:
        program = _program(plan)
        arguments = program.arguments_of(settings)
    except ParameterError:
        # Together, parameters changed what none of them changes alone.
        others = _extremes(plan)
        program = _compiled(plan, [*cases, *others], [*seeds, *range(len(others))])
        arguments = [a[..., : len(cases)] for a in program.arguments]
    start = first_states(None, scenarios)
    kept = run_in_blocks(program, start, len(cases), size=plan.block, arguments=arguments)
    return program.kept / 1e9, State(*(np.moveaxis(kept[n], -1, 1) for n in State._fields))


def simulated(plan: Plan, run: int, case: Case) -> Trajectory:
    """Return the trajectory of a run of a case, by NumPy, as long as it is finite."""
    return simulate(
        case.vehicle,
        case.scenario,
        environment=case.environment,
        dt=plan.dt,
        seed=seed_of(plan, run),
        controller=case.controller,
        partly=True,
    )


def _with_numpy(plan: Plan, cases: list[Case], runs: Sequence[int]) -> tuple[np.ndarray, State]:
    found = [simulated(plan, run, case) for run, case in zip(runs, cases, strict=True)]
    ticks = ticks_of(cases[0].scenario.duration, plan.dt)

    def whole(rows: np.ndarray) -> np.ndarray:
        missing = np.full((ticks - len(rows), rows.shape[1]), np.nan)
        return np.concatenate([rows, missing])[:: plan.every]

    states = (np.stack([whole(getattr(t, name)) for t in found], axis=1) for name in State._fields)
    time = np.arange(0, ticks, plan.every) * step_nanoseconds(plan.dt) / NANOSECONDS
    return time, State(*states)


def run_block(plan: Plan, number: int) -> dict[str, np.ndarray]:
    """Return the columns of a block: run, seed, the run's numbers, its metrics.

    Raises:
        MarineSimError: a run that cannot be set up.
    """
    rows = _design(plan)
    runs = np.arange(number * plan.block, min((number + 1) * plan.block, len(rows)))
    if not len(runs):
        raise ParameterError(f'sweep: block {number} has no runs; there are {blocks(plan)}')
    cases = [_case(plan, rows[i]) for i in runs]
    if plan.engine == 'jax':
        time, states = _with_jax(plan, cases, runs.tolist())
    else:
        time, states = _with_numpy(plan, cases, runs.tolist())
    numbers = {p.name: rows[runs, i] for i, p in enumerate(plan.parameters)}
    seeds = np.array([seed_of(plan, i) for i in runs.tolist()])
    return {'run': runs, 'seed': seeds, **numbers, **metrics(time, states, _base(plan).scenario)}
