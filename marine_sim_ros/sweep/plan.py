# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sweep file: varied parameters, design of the runs, and metrics of a run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import product
from typing import Any, TypeVar

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.random import uniform
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    fields_of,
    number,
    special,
    text,
    truth,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'METRICS',
    'SweepParameter',
    'SweepPlan',
    'design_runs',
    'latin_hypercube',
    'load_plan',
    'parse_plan',
    'quantiles',
    'read_parameters',
    'state_metrics',
]


# Metrics of a run.

METRICS = (
    'finite',
    'as_expected',
    'end_x',
    'end_y',
    'end_z',
    'min_depth',
    'max_depth',
    'path_length',
    'max_speed',
    'max_tilt',
)
"""Columns of the dataset; m, m/s and rad."""


def state_metrics(time: np.ndarray, states: State, scenario: Scenario) -> dict[str, np.ndarray]:
    """Return the METRICS (N,) of states (t, N, ...) at times (t,) in s.

    The tilt is the angle between the body's and the map's upward direction. What a run that is
    not finite ended with is NaN.
    """
    position, orientation, velocity = states
    finite = np.isfinite(np.sum(position, axis=(0, 2)) + np.sum(velocity, axis=(0, 2)))
    x, y = orientation[..., 0], orientation[..., 1]
    upright = np.clip(1 - 2 * (x * x + y * y), -1.0, 1.0)
    held = [all(ok for ok, _ in scenario.verdicts(time, z)) for z in position[..., 2].T]
    found = {
        'end_x': position[-1, :, 0],
        'end_y': position[-1, :, 1],
        'end_z': position[-1, :, 2],
        'min_depth': -position[..., 2].max(axis=0),
        'max_depth': -position[..., 2].min(axis=0),
        'path_length': np.linalg.norm(np.diff(position, axis=0), axis=-1).sum(axis=0),
        'max_speed': np.linalg.norm(velocity[..., :3], axis=-1).max(axis=0),
        'max_tilt': np.arccos(upright).max(axis=0),
    }
    numbers = {name: np.where(finite, values, np.nan) for name, values in found.items()}
    return {'finite': finite, 'as_expected': np.array(held) & finite, **numbers}


# Contents of a sweep file.

SWEEP_METHODS = ('grid', 'latin_hypercube', 'monte_carlo')
_TARGETS = ('vehicle.', 'environment.', 'initial.', 'fault.', 'urdf.', 'controller.')


Varied = TypeVar('Varied', bound='SweepParameter')
_DISTRIBUTIONS = ({'values'}, {'low', 'high'}, {'mean', 'deviation'})
_NUMBER_BOUND = 1e9
"""Bound of numbers of any unit."""


def _choices(reader: YamlReader) -> tuple[float, ...]:
    values = tuple(r.number() for r in reader.items())
    if not values:
        raise reader.error(' is empty; expected numbers')
    return values


@declaration(frozen=True)
class SweepParameter:
    """A number that differs from run to run.

    Attributes:
        name: path of the number, such as ``vehicle.damping.quadratic[0,0]``.
    """

    name: str
    values: tuple[float, ...] = special(_choices, (), 'values to choose from')
    low: float = number(
        0.0, -_NUMBER_BOUND, _NUMBER_BOUND, '', 'lower bound of a uniform distribution'
    )
    high: float = number(
        0.0, -_NUMBER_BOUND, _NUMBER_BOUND, '', 'upper bound of a uniform distribution'
    )
    mean: float | None = number(
        None, -_NUMBER_BOUND, _NUMBER_BOUND, '', 'mean of a normal distribution'
    )
    deviation: float = number(
        0.0, 0.0, _NUMBER_BOUND, '', 'standard deviation of that distribution'
    )
    relative: bool = truth(
        False, 'whether the number multiplies that of the vehicle or environment'
    )

    def changed(self, old: Any, value: float) -> Any:
        """Return the number of a run in place of an old one."""
        return old * value if self.relative else value


def _parameter(
    name: str, reader: YamlReader, targets: tuple[str, ...], kind: type[Varied]
) -> Varied:
    if not name.startswith(targets):
        kinds = ', '.join(f'{target}…' for target in targets)
        raise reader.error(f': unknown parameter {name!r}; expected one of: {kinds}')
    declared: type = kind
    given = set(reader.mapping(fields_of(declared).keys())) & set().union(*_DISTRIBUTIONS)
    if given not in _DISTRIBUTIONS:
        raise reader.error(': expected values, or low and high, or mean and deviation')
    own = kind(name, **reader.values(kind))
    if own.high < own.low:
        raise reader.error(
            f': low is {own.low:g} and high is {own.high:g}; expected low up to high'
        )
    return own


def read_parameters(
    reader: YamlReader,
    targets: tuple[str, ...] = _TARGETS,
    kind: type[Varied] = SweepParameter,  # type: ignore[assignment]
) -> tuple[Varied, ...]:
    """Return the parameters of a mapping, whose names start with one of some targets.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    if not isinstance(reader.value, dict) or not reader.value:
        raise reader.error(f' is {reader.value!r}; expected a mapping of parameters')
    return tuple(_parameter(str(name), reader.child(name), targets, kind) for name in reader.value)


def _arguments(reader: YamlReader) -> tuple[tuple[str, str], ...]:
    if not isinstance(reader.value, dict):
        raise reader.error(f' is {reader.value!r}; expected a mapping of xacro arguments')
    return tuple(sorted((str(k), str(v)) for k, v in reader.value.items()))


MAX_RUNS = 10_000_000
"""Runs of a sweep."""


@declaration(frozen=True, kw_only=True)
class SweepPlan:
    """A sweep."""

    vehicle: str = text('shipped name or path', REQUIRED)
    arguments: tuple[tuple[str, str], ...] = special(_arguments, (), 'xacro arguments')
    environment: str = text('shipped name or path; empty: still water')
    scenario: str = text('shipped name or path', REQUIRED)
    duration: float = number(
        0.0, 0.0, _NUMBER_BOUND, 's', 'duration of a run; 0: that of the scenario'
    )
    dt: float = number(0.005, 1e-6, 1.0, 's', 'step')
    engine: str = choice(('jax', 'numpy'), 'engine')
    method: str = choice(SWEEP_METHODS, 'design of the runs', 'latin_hypercube')
    runs: int = number(
        0, 0, MAX_RUNS, '', 'number of runs; a grid has one for each combination', whole=True
    )
    block: int = number(256, 1, 100_000, '', 'runs that are computed at a time', whole=True)
    seed: int = number(0, 0, 2**31, '', 'random seed of noise, sea and faults', whole=True)
    every: int = number(20, 1, 100_000, '', 'ticks between those that metrics use', whole=True)
    worst: str = choice(METRICS, 'metric whose highest values are the worst runs', 'max_depth')
    parameters: tuple[SweepParameter, ...] = special(
        read_parameters, REQUIRED, 'numbers that vary, by path'
    )
    description: str = text('one line')

    def to_json(self) -> str:
        """Return the plan as JSON, the same text for the same plan."""
        return json.dumps(asdict(self), indent=2)


def _check_plan(plan: SweepPlan, root: YamlReader) -> SweepPlan:
    """Raise ParameterError for what does not fit together."""
    for parameter in plan.parameters:
        if plan.method == 'grid' and not parameter.values:
            raise root.error(f': a grid needs values of {parameter.name}')
        if plan.method == 'latin_hypercube' and parameter.values:
            raise root.error(f': a Latin hypercube needs a distribution of {parameter.name}')
    if plan.method != 'grid' and plan.runs < 1:
        raise root.error(f": 'runs' is missing; expected how many for {plan.method}")
    return plan


def _plan(root: YamlReader) -> SweepPlan:
    return _check_plan(root.read(SweepPlan), root)


SWEEPS = ConfigFiles('sweeps', _plan)
load_plan, parse_plan = SWEEPS.load, SWEEPS.parse


# Numbers of every run of a sweep, a function of the plan and its seed.


def quantiles(parameter: SweepParameter, shares: np.ndarray) -> np.ndarray:
    """Return the values (n,) below which lie shares (n,) of a distribution."""
    if parameter.values:
        index = np.minimum((shares * len(parameter.values)).astype(int), len(parameter.values) - 1)
        return np.array(parameter.values)[index]
    if parameter.mean is not None:
        ndtri = require('scipy.special', 'sweep over a normal distribution').ndtri
        below_one = np.minimum(shares, np.nextafter(1.0, 0.0))  # of 1 the quantile is infinite
        return np.asarray(parameter.mean + parameter.deviation * ndtri(below_one))
    return parameter.low + (parameter.high - parameter.low) * shares


def latin_hypercube(seed: int, runs: int, columns: int) -> np.ndarray:
    """Return shares (runs, columns) in (0, 1], one in each of as many slices of every column.

    The draws are in the order of SciPy's LatinHypercube, whose keyword for the seed has changed.
    """
    generator = np.random.default_rng(seed).spawn(1)[0]
    within = generator.uniform(size=(runs, columns))
    slices = np.tile(np.arange(1, runs + 1), (columns, 1))
    for column in slices:
        generator.shuffle(column)
    return np.asarray((slices.T - within) / runs)


def design_runs(plan: SweepPlan) -> np.ndarray:
    """Return the numbers (runs, parameters) of all runs.

    A grid has every combination, the last parameter changing fastest; a Latin hypercube one run
    in each of as many slices of every parameter (McKay, Beckman and Conover 1979); Monte Carlo
    draws each run by itself.

    Raises:
        ParameterError: a grid of more than MAX_RUNS runs.
    """
    names = plan.parameters
    if plan.method == 'grid':
        count = math.prod(len(p.values) for p in names)  # of whole numbers of any size
        if count > MAX_RUNS:
            raise ParameterError(
                f'sweep: the grid has {count:,} runs; expected up to {MAX_RUNS:,}'
            )
        return np.array(list(product(*(p.values for p in names))), float)
    if plan.method == 'latin_hypercube':
        shares = latin_hypercube(plan.seed, plan.runs, len(names))
    else:
        shares = uniform(plan.seed, 'sweep', plan.runs * len(names)).reshape(plan.runs, -1)
    return np.stack([quantiles(p, shares[:, i]) for i, p in enumerate(names)], axis=1)
