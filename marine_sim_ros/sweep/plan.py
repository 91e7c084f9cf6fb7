# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a sweep file says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from marine_sim_ros.core.config_files import ConfigFiles
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.sweep.metrics import METRICS

__all__ = ['METHODS', 'Parameter', 'Plan', 'load_plan', 'parse_plan']

METHODS = ('grid', 'latin_hypercube', 'monte_carlo')
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
class Parameter:
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
class Plan:
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
    parameters: tuple[Parameter, ...]
    description: str = ''

    def text(self) -> str:
        """Return the plan as JSON, the same text for the same plan."""
        return json.dumps(asdict(self), indent=2)


def _choices(reader: YamlReader) -> tuple[float, ...]:
    values = tuple(r.number() for r in reader.items())
    if not values:
        raise reader.error(' is empty; expected numbers')
    return values


def _parameter(name: str, reader: YamlReader) -> Parameter:
    if not name.startswith(_KINDS):
        kinds = ', '.join(f'{kind}…' for kind in _KINDS)
        raise reader.error(f': unknown parameter {name!r}; expected one of: {kinds}')
    known = {'values', 'low', 'high', 'mean', 'deviation', 'relative'}
    given = set(reader.mapping(known)) - {'relative'}
    relative = reader.child('relative', False).truth()
    if given == {'values'}:
        return Parameter(name, _choices(reader.child('values')), relative=relative)
    if given == {'low', 'high'}:
        low, high = reader.child('low').number(), reader.child('high').number()
        if high < low:
            raise reader.error(f': low is {low:g} and high is {high:g}; expected low up to high')
        return Parameter(name, low=low, high=high, relative=relative)
    if given == {'mean', 'deviation'}:
        return Parameter(
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


def _checked(plan: Plan, root: YamlReader) -> Plan:
    """Raise ParameterError for what does not fit together."""
    for parameter in plan.parameters:
        if plan.method == 'grid' and not parameter.values:
            raise root.error(f': a grid needs values of {parameter.name}')
        if plan.method == 'latin_hypercube' and parameter.values:
            raise root.error(f': a Latin hypercube needs a distribution of {parameter.name}')
    if plan.method != 'grid' and plan.runs < 1:
        raise root.error(f": 'runs' is missing; expected how many for {plan.method}")
    return plan


def _plan(root: YamlReader) -> Plan:
    root.mapping(_KEYS, {'vehicle', 'scenario', 'parameters'})
    parameters = root.child('parameters', {})
    if not isinstance(parameters.value, Mapping) or not parameters.value:
        raise parameters.error(f' is {parameters.value!r}; expected a mapping of parameters')
    return _checked(
        Plan(
            vehicle=root.child('vehicle', '').text(),
            arguments=_arguments(root.child('arguments', {})),
            environment=root.child('environment', '').text(),
            scenario=root.child('scenario', '').text(),
            duration=root.child('duration', 0.0).number(0.0),
            dt=root.child('dt', 0.005).number(1e-6, 1.0),
            engine=root.child('engine', 'jax').choice(('jax', 'numpy')),
            method=root.child('method', 'latin_hypercube').choice(METHODS),
            runs=root.child('runs', 0).whole(0, 10_000_000),
            block=root.child('block', 256).whole(1, 100_000),
            seed=root.child('seed', 0).whole(0, 2**31),
            every=root.child('every', 20).whole(1, 100_000),
            worst=root.child('worst', 'max_depth').choice(METRICS),
            parameters=tuple(_parameter(str(n), parameters.child(n)) for n in parameters.value),
            description=root.child('description', '').text(),
        ),
        root,
    )


SWEEPS = ConfigFiles('sweeps', _plan)
load_plan, parse_plan = SWEEPS.load, SWEEPS.parse
