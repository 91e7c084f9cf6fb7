# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of a sweep: numbers put into vehicle, environment, scenario and faults, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.controller_model import ControllerSettings, load_controller
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import numbers_of, replace_number
from marine_sim_ros.core.state import NANOSECONDS, State, step_nanoseconds, ticks_of
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.faults.fault_types import FAULT_TYPES, Fault, SensorFault, ThrusterFault
from marine_sim_ros.model.library import load_vehicle, vehicle_of_text
from marine_sim_ros.model.urdf import with_number
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import Scenario, load_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.sim.trajectory import Trajectory
from marine_sim_ros.sweep.plan import SweepParameter, SweepPlan, design_runs, state_metrics

__all__ = [
    'ReportBlock',
    'RunCase',
    'block_count',
    'case_of',
    'run_block',
    'seed_of',
    'simulate_case',
]


# Numbers of faults by name: ``weak.thruster_3.share``, ``gust.speed``.

_TIMES = {'at': 'start', 'until': 'end'}


def _parts(
    name: str, thrusters: Sequence[str], sensors: Sequence[str]
) -> tuple[type[Fault], dict[str, Any], str]:
    """Return the kind, whose it is, and which number.

    Raises:
        ParameterError: there is no such kind, thruster, sensor or number.
    """
    first, _, rest = (f'dead.{name}.at' if name in thrusters else name).partition('.')
    target, _, last = rest.rpartition('.')
    kind = FAULT_TYPES.get(first)
    if kind is None:
        raise ParameterError(
            f'sweep: fault.{name}: {first!r} is unknown; expected one of: '
            f'{", ".join(FAULT_TYPES)}, or of: {", ".join(thrusters)}'
        )
    of: dict[str, Any] = {}
    for word, owned, names in (
        ('thruster', ThrusterFault, thrusters),
        ('sensor', SensorFault, sensors),
    ):
        if issubclass(kind, owned):
            of[word] = target
            if target not in names:
                raise ParameterError(
                    f'sweep: fault.{name}: {target!r} is unknown; expected '
                    f'fault.{first}.{word.upper()}.NUMBER with one of: {", ".join(names)}'
                )
    known = [*numbers_of(kind), *_TIMES]
    if last not in known or (target and not of):
        raise ParameterError(
            f'sweep: fault.{name} is unknown; expected at its end one of: {", ".join(known)}'
        )
    return kind, of, last


def with_fault(
    faults: Sequence[Fault],
    name: str,
    thrusters: Sequence[str],
    change: Callable[[float], float],
    sensors: Sequence[str] = (),
) -> tuple[Fault, ...]:
    """Return faults with a number of one of them changed; it is added where it is not there.

    Args:
        name: ``KIND.NUMBER``, ``KIND.THRUSTER.NUMBER``, ``KIND.SENSOR.NUMBER``, or ``THRUSTER``
            for when it dies.
        thrusters: names of the vehicle's.
        change: function from the old number to the new one.
        sensors: names of the vehicle's.

    Raises:
        ParameterError: there is no such fault or number, or it is out of its range.
    """
    kind, of, number = _parts(name, thrusters, sensors)
    same = [
        i
        for i, fault in enumerate(faults)
        if type(fault) is kind and all(getattr(fault, k) == v for k, v in of.items())
    ]
    if len(same) > 1:
        raise ParameterError(
            f'sweep: fault.{name}: the scenario has {len(same)} of them; expected one at most'
        )
    fault = faults[same[0]] if same else kind(**of)
    field = _TIMES.get(number, number)
    value = change(getattr(fault, field))
    known = numbers_of(kind).get(number)
    if known is not None and not known.low <= value <= known.high:
        raise ParameterError(
            f'sweep: fault.{name} is {value:g}; expected {known.low:g} to {known.high:g}'
        )
    changes: dict[str, Any] = {field: value}
    changed = replace(fault, **changes)
    if not same:
        return (*faults, changed)
    return tuple(changed if i in same else f for i, f in enumerate(faults))


# Substitution of a sweep's numbers into a vehicle, an environment or a scenario.

_POSE_FIELDS = ('position', 'rpy')


class RunCase(NamedTuple):
    """Parts of a run."""

    vehicle: Vehicle
    environment: Environment
    scenario: Scenario
    controller: ControllerSettings | None = None


def _replace_at(parameter: SweepParameter, record: Any, path: str, value: float) -> Any:
    """Return a record with the number at a path replaced."""
    name = f'sweep: {parameter.name}'
    return replace_number(record, path, partial(parameter.changed, value=value), name=name)


def vehicle_with_numbers(
    vehicle: Vehicle, source: str, numbers: Sequence[tuple[SweepParameter, float]]
) -> Vehicle:
    """Return a vehicle with other numbers in its URDF: ``urdf.PATH``.

    Args:
        vehicle: the vehicle of its file, unchanged.
        source: shipped name or path of that file.
        numbers: parameters and their values.

    Raises:
        ModelError: a path that leads to no number, or a URDF that cannot be used.
    """
    text = vehicle.urdf
    for parameter, value in numbers:
        path = parameter.name.removeprefix('urdf.')
        text = with_number(text, path, partial(parameter.changed, value=value))
    return vehicle_of_text(source, text, vehicle.base_link) if numbers else vehicle


def change_case(case: RunCase, parameter: SweepParameter, value: float) -> RunCase:
    """Return a case with a number of its own.

    ``vehicle.…`` and ``environment.…`` are attributes of :class:`Vehicle` and
    :class:`Environment`; ``initial.position[2]`` or ``initial.rpy[0]`` where the run starts;
    ``fault.…`` is of :func:`~marine_sim_ros.sweep.runs.with_fault`; ``controller.…``, as
    in ``controller.bandwidth.station[0]``, of the settings of a controller. Numbers of the URDF
    come before, see :func:`vehicle_with_numbers`.

    Raises:
        ParameterError: it points nowhere.
    """
    kind, _, rest = parameter.name.partition('.')
    if kind == 'fault':
        faults = with_fault(
            case.scenario.faults,
            rest,
            case.vehicle.thrusters.names,
            partial(parameter.changed, value=value),
            [sensor.name for sensor in case.vehicle.sensors],
        )
        return case._replace(scenario=replace(case.scenario, faults=faults))
    if kind == 'initial':
        if rest.split('[')[0] not in _POSE_FIELDS:
            raise ParameterError(
                f'sweep: {parameter.name} is unknown; expected initial.position[…] or '
                'initial.rpy[…]'
            )
        return case._replace(scenario=_replace_at(parameter, case.scenario, rest, value))
    if kind == 'controller':
        return _change_controller(case, parameter, rest, value)
    if kind == 'environment':
        return case._replace(environment=_replace_at(parameter, case.environment, rest, value))
    return case._replace(vehicle=_replace_at(parameter, case.vehicle, rest, value))


def _change_controller(
    case: RunCase, parameter: SweepParameter, path: str, value: float
) -> RunCase:
    """Return a case with a number of its controller."""
    if case.controller is None:
        raise ParameterError(
            f'sweep: {parameter.name}: scenario {case.scenario.name} has no set-points; '
            'expected segments with control'
        )
    if value < 0:
        raise ParameterError(f'sweep: {parameter.name} is {value:g}; expected 0 or more')
    return case._replace(controller=_replace_at(parameter, case.controller, path, value))


# Runs of a sweep, block by block; a block depends on the plan and its number alone.

ReportBlock = Callable[[float, str], object]
"""Function of the completed share of a block, 0 to 1, and what is being done."""


def _no_report(share: float, stage: str) -> None:
    """Ignore it."""


@lru_cache(maxsize=2)
def _base(plan: SweepPlan) -> RunCase:
    """Return the common parts of a plan's runs."""
    arguments: dict[str, Any] = dict(plan.arguments)
    vehicle = load_vehicle(plan.vehicle, **arguments)
    environment = run_environment(plan.environment)
    scenario = load_scenario(plan.scenario).located(environment)
    duration = plan.duration or scenario.duration
    controller = load_controller(scenario.controller) if scenario.closed_loop else None
    scenario = replace(scenario, duration=duration)
    return RunCase(vehicle, environment or Environment(), scenario, controller)


@lru_cache(maxsize=2)
def _design(plan: SweepPlan) -> np.ndarray:
    return design_runs(plan)


def case_of(plan: SweepPlan, run: int) -> RunCase:
    """Return the vehicle, environment and scenario of a run.

    Raises:
        MarineSimError: there is no such run, a parameter points nowhere, or a number is out of
            range.
    """
    rows = _design(plan)
    if not 0 <= run < len(rows):
        raise ParameterError(f'sweep: run {run} does not exist; expected 0 to {len(rows) - 1}')
    return _case(plan, rows[run])


def _case(plan: SweepPlan, numbers: Sequence[float]) -> RunCase:
    """Return a case with its numbers.

    Raises:
        MarineSimError: a parameter points nowhere, or a number is out of range.
    """
    case, given = _base(plan), list(zip(plan.parameters, map(float, numbers), strict=True))
    urdf = [(p, value) for p, value in given if p.name.startswith('urdf.')]
    case = case._replace(vehicle=vehicle_with_numbers(case.vehicle, plan.vehicle, urdf))
    for parameter, value in given:
        if (parameter, value) not in urdf:
            case = change_case(case, parameter, value)
    return case


def seed_of(plan: SweepPlan, run: int) -> int:
    """Return the seed of everything random in a run."""
    return plan.seed + run


def block_count(plan: SweepPlan) -> int:
    """Return the number of blocks of runs."""
    return -(-len(_design(plan)) // plan.block)


def _extremes(plan: SweepPlan) -> list[RunCase]:
    """Return cases that differ wherever those of a plan may differ."""
    rows = _design(plan)
    middle = rows[len(rows) // 2]
    result = [_case(plan, middle)]
    for i in range(rows.shape[1]):
        for value in (rows[:, i].min(), rows[:, i].max()):
            result.append(_case(plan, [*middle[:i], value, *middle[i + 1 :]]))
    return result


@lru_cache(maxsize=2)
def _program(plan: SweepPlan) -> Any:
    """Return the compiled program of all blocks of a plan."""
    cases = _extremes(plan)
    return _compile_program(plan, cases, range(plan.seed, plan.seed + len(cases)))


def _batch_size(plan: SweepPlan) -> int:
    """Return the number of vehicles of the compiled program."""
    return min(plan.block, len(_design(plan)))


def _compile_program(plan: SweepPlan, cases: list[RunCase], seeds: Sequence[int]) -> Any:
    """Return a program for runs that differ where these cases do."""
    from marine_sim_ros.engine.batch import make_settings
    from marine_sim_ros.engine.compiled import ScenarioProgram
    from marine_sim_ros.engine.loop import states

    vehicles, environments, scenarios, controllers = zip(*cases, strict=True)
    ticks = (ticks_of(cases[0].scenario.duration, plan.dt) - 1) // plan.every * plan.every + 1
    settings = make_settings(vehicles, scenarios, environments, seeds, controllers)
    return ScenarioProgram(
        settings, ticks=ticks, dt=plan.dt, every=plan.every, keep=states, size=_batch_size(plan)
    )


def _with_jax(
    plan: SweepPlan, cases: list[RunCase], runs: Sequence[int], report: ReportBlock
) -> tuple[np.ndarray, State]:
    from marine_sim_ros.engine.batch import make_settings, run_in_blocks, stack_initial_states

    vehicles, environments, scenarios, controllers = zip(*cases, strict=True)
    seeds = [seed_of(plan, run) for run in runs]
    settings = make_settings(vehicles, scenarios, environments, seeds, controllers)
    report(0.0, 'compiling')  # once in each worker
    try:
        program = _program(plan)
        arguments = program.arguments_of(settings)
    except ParameterError:
        # Together, parameters changed what none of them changes alone.
        others = _extremes(plan)
        program = _compile_program(plan, [*cases, *others], [*seeds, *range(len(others))])
        arguments = [a[..., : len(cases)] for a in program.arguments]
    report(0.0, 'simulating')
    start = stack_initial_states(None, scenarios)
    size = _batch_size(plan)
    kept = run_in_blocks(program, start, len(cases), size=size, arguments=arguments)
    return program.kept / 1e9, State(*(np.moveaxis(kept[n], -1, 1) for n in State._fields))


def simulate_case(plan: SweepPlan, run: int, case: RunCase) -> Trajectory:
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


def _with_numpy(
    plan: SweepPlan, cases: list[RunCase], runs: Sequence[int], report: ReportBlock
) -> tuple[np.ndarray, State]:
    found: list[Trajectory] = []
    for run, case in zip(runs, cases, strict=True):
        report(len(found) / len(cases), 'simulating')
        found.append(simulate_case(plan, run, case))
    ticks = ticks_of(cases[0].scenario.duration, plan.dt)

    def pad(rows: np.ndarray) -> np.ndarray:
        missing = np.full((ticks - len(rows), rows.shape[1]), np.nan)
        return np.concatenate([rows, missing])[:: plan.every]

    states = (np.stack([pad(getattr(t, name)) for t in found], axis=1) for name in State._fields)
    time = np.arange(0, ticks, plan.every) * step_nanoseconds(plan.dt) / NANOSECONDS
    return time, State(*states)


def run_block(
    plan: SweepPlan, number: int, report: ReportBlock = _no_report
) -> dict[str, np.ndarray]:
    """Return the columns of a block: run, seed, the run's numbers, its metrics.

    Args:
        number: of the block.
        report: function that is called with the completed share and what is being done.

    Raises:
        MarineSimError: a run that cannot be set up.
    """
    rows = _design(plan)
    runs = np.arange(number * plan.block, min((number + 1) * plan.block, len(rows)))
    if not len(runs):
        raise ParameterError(f'sweep: block {number} has no runs; there are {block_count(plan)}')
    report(0.0, 'setting up runs')
    cases = [_case(plan, rows[i]) for i in runs]
    simulate_cases = _with_jax if plan.engine == 'jax' else _with_numpy
    time, states = simulate_cases(plan, cases, runs.tolist(), report)
    numbers = {p.name: rows[runs, i] for i, p in enumerate(plan.parameters)}
    seeds = np.array([seed_of(plan, i) for i in runs.tolist()])
    return {
        'run': runs,
        'seed': seeds,
        **numbers,
        **state_metrics(time, states, _base(plan).scenario),
    }
