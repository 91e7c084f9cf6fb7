# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sweep file: varied parameters, design of the runs, and metrics of a run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.random import uniform
from marine_sim_ros.core.state import State
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.sim.scenario import Scenario

__all__ = [
    'METRICS',
    'MOST',
    'SweepParameter',
    'SweepPlan',
    'design_runs',
    'load_plan',
    'parse_plan',
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
_KEYS = {
    'description',
    'vehicle',
    'arguments',
    'environment',
    'scenario',
    'duration',
    'dt',
    'engine',
    'method',
    'runs',
    'block',
    'seed',
    'every',
    'worst',
    'parameters',
}
_KINDS = ('vehicle.', 'environment.', 'initial.', 'fault.', 'urdf.', 'controller.')


@dataclass(frozen=True)
class SweepParameter:
    """A number that differs from run to run.

    Attributes:
        name: path of the number, such as ``vehicle.damping.quadratic[0,0]``.
        values: values to choose from, or none.
        low: lower bound of a uniform distribution.
        high: upper bound of a uniform distribution.
        mean: mean of a normal distribution, or None for a uniform one.
        deviation: standard deviation of a normal distribution.
        relative: whether it multiplies what the vehicle or environment has.
    """

    name: str
    values: tuple[float, ...] = ()
    low: float = 0.0
    high: float = 0.0
    mean: float | None = None
    deviation: float = 0.0
    relative: bool = False


@dataclass(frozen=True)
class SweepPlan:
    """A sweep.

    Attributes:
        vehicle: shipped name or path.
        arguments: arguments of its xacro file.
        environment: shipped name or path; empty: still water.
        scenario: shipped name or path.
        duration: s; 0: the scenario's.
        dt: step, s.
        engine: jax or numpy.
        method: one of METHODS.
        runs: number of runs; 0 for a grid, which has one per combination.
        block: number of runs that are computed and written at a time.
        seed: random seed of noise, sea and faults.
        every: one tick in so many counts for the metrics.
        worst: metric of which the highest values are the worst runs.
        parameters: parameters that vary.
        description: one line.
    """

    vehicle: str
    arguments: tuple[tuple[str, str], ...]
    environment: str
    scenario: str
    duration: float
    dt: float
    engine: str
    method: str
    runs: int
    block: int
    seed: int
    every: int
    worst: str
    parameters: tuple[SweepParameter, ...]
    description: str = ''

    def text(self) -> str:
        """Return the plan as JSON, the same text for the same plan."""
        return json.dumps(asdict(self), indent=2)


def _choices(reader: YamlReader) -> tuple[float, ...]:
    values = tuple(r.number() for r in reader.items())
    if not values:
        raise reader.error(' is empty; expected numbers')
    return values


def _parameter(name: str, reader: YamlReader) -> SweepParameter:
    if not name.startswith(_KINDS):
        kinds = ', '.join(f'{kind}…' for kind in _KINDS)
        raise reader.error(f': unknown parameter {name!r}; expected one of: {kinds}')
    known = {'values', 'low', 'high', 'mean', 'deviation', 'relative'}
    given = set(reader.mapping(known)) - {'relative'}
    relative = reader.child('relative', False).truth()
    if given == {'values'}:
        return SweepParameter(name, _choices(reader.child('values')), relative=relative)
    if given == {'low', 'high'}:
        low, high = reader.child('low').number(), reader.child('high').number()
        if high < low:
            raise reader.error(f': low is {low:g} and high is {high:g}; expected low up to high')
        return SweepParameter(name, low=low, high=high, relative=relative)
    if given == {'mean', 'deviation'}:
        return SweepParameter(
            name,
            mean=reader.child('mean').number(),
            relative=relative,
            deviation=reader.child('deviation').number(0.0),
        )
    raise reader.error(': expected values, or low and high, or mean and deviation')


def _arguments(reader: YamlReader) -> tuple[tuple[str, str], ...]:
    if not isinstance(reader.value, dict):
        raise reader.error(f' is {reader.value!r}; expected a mapping of xacro arguments')
    return tuple(sorted((str(k), str(v)) for k, v in reader.value.items()))


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
    root.mapping(_KEYS, {'vehicle', 'scenario', 'parameters'})
    parameters = root.child('parameters', {})
    if not isinstance(parameters.value, Mapping) or not parameters.value:
        raise parameters.error(f' is {parameters.value!r}; expected a mapping of parameters')
    return _check_plan(
        SweepPlan(
            vehicle=root.child('vehicle', '').text(),
            arguments=_arguments(root.child('arguments', {})),
            environment=root.child('environment', '').text(),
            scenario=root.child('scenario', '').text(),
            duration=root.child('duration', 0.0).number(0.0),
            dt=root.child('dt', 0.005).number(1e-6, 1.0),
            engine=root.child('engine', 'jax').choice(('jax', 'numpy')),
            method=root.child('method', 'latin_hypercube').choice(SWEEP_METHODS),
            runs=root.child('runs', 0).integer(0, 10_000_000),
            block=root.child('block', 256).integer(1, 100_000),
            seed=root.child('seed', 0).integer(0, 2**31),
            every=root.child('every', 20).integer(1, 100_000),
            worst=root.child('worst', 'max_depth').choice(METRICS),
            parameters=tuple(_parameter(str(n), parameters.child(n)) for n in parameters.value),
            description=root.child('description', '').text(),
        ),
        root,
    )


SWEEPS = ConfigFiles('sweeps', _plan)
load_plan, parse_plan = SWEEPS.load, SWEEPS.parse


# Numbers of every run of a sweep, a function of the plan and its seed.

MOST = 10_000_000
"""Runs of a sweep."""


def _quantiles(parameter: SweepParameter, shares: np.ndarray) -> np.ndarray:
    """Return the values (n,) below which lie shares (n,) of a distribution."""
    if parameter.values:
        index = np.minimum((shares * len(parameter.values)).astype(int), len(parameter.values) - 1)
        return np.array(parameter.values)[index]
    if parameter.mean is not None:
        ndtri = require('scipy.special', 'sweep over a normal distribution').ndtri
        return np.asarray(parameter.mean + parameter.deviation * ndtri(shares))
    return parameter.low + (parameter.high - parameter.low) * shares


def _latin_hypercube(seed: int, runs: int, columns: int) -> np.ndarray:
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
        ParameterError: a grid of more than MOST runs.
    """
    names = plan.parameters
    if plan.method == 'grid':
        count = math.prod(len(p.values) for p in names)  # of whole numbers of any size
        if count > MOST:
            raise ParameterError(f'sweep: the grid has {count:,} runs; expected up to {MOST:,}')
        return np.array(list(product(*(p.values for p in names))), float)
    if plan.method == 'latin_hypercube':
        shares = _latin_hypercube(plan.seed, plan.runs, len(names))
    else:
        shares = uniform(plan.seed, 'sweep', plan.runs * len(names)).reshape(plan.runs, -1)
    return np.stack([_quantiles(p, shares[:, i]) for i, p in enumerate(names)], axis=1)
