# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Randomisation: numbers of vehicle, water, faults, sensors and commands drawn for each episode.

A file of ``config/randomizations`` declares each number once: its path, distribution, and whether
it is drawn for each episode or for each step. Paths are those of sweeps, and besides them payload
(a body fixed to the vehicle), current, delay of commands, and numbers of sensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    numbers_of,
    replace_number,
    special,
    text,
    truth,
)
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.engine.stepper import MotionSetting
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault, SensorFault
from marine_sim_ros.faults.tables import fault_tables
from marine_sim_ros.model.added_mass import Buoyancy, Inertia, combined_buoyancy, combined_inertia
from marine_sim_ros.model.hydrodynamics import linear_flaw, quadratic_flaw
from marine_sim_ros.model.urdf import vehicle_from_urdf, with_number
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sweep.plan import SweepParameter, quantiles, read_parameters
from marine_sim_ros.sweep.runs import RunCase, change_case

__all__ = [
    'Randomization',
    'RandomNumber',
    'RandomPlan',
    'Variation',
    'load_randomization',
    'parse_randomization',
]

_SWEPT = ('vehicle.', 'environment.', 'urdf.', 'fault.')
_OWN = ('payload.', 'current.', 'action.', 'sensor.')
PAYLOAD = ('mass', 'volume', 'x', 'y', 'z')
"""Numbers of a payload: kg, m³, and its position in the body frame, m."""
MAX_DELAY = 2.0
"""Largest delay of commands, s."""


@declaration(frozen=True)
class RandomNumber(SweepParameter):
    """A number that is drawn at random."""

    each: bool = truth(False, 'whether each number along the first axis has a draw of its own')
    every: str = choice(('episode', 'step'), 'when it is drawn')

    def changed(self, old: Any, value: Any) -> Any:
        """Return the drawn numbers in place of old ones."""
        if np.size(value) > 1:
            value = np.reshape(value, (-1, *(1,) * (np.ndim(old) - 1)))
        return super().changed(old, value)


def _parameters(reader: YamlReader) -> tuple[RandomNumber, ...]:
    return read_parameters(reader, (*_SWEPT, *_OWN), RandomNumber)


@declaration(frozen=True)
class RandomPlan:
    """A file of randomised numbers."""

    parameters: tuple[RandomNumber, ...] = special(_parameters, REQUIRED, 'numbers by their path')
    description: str = text('one line')


RANDOMIZATIONS = ConfigFiles('randomizations', lambda root: root.read(RandomPlan))
load_randomization, parse_randomization = RANDOMIZATIONS.load, RANDOMIZATIONS.parse


class Variation(NamedTuple):
    """Drawn numbers of a vehicle.

    Attributes:
        setting: vehicle, environment and faults of its thrusters.
        current: (3,) m/s, map, in place of the task's; None: the task's.
        delay: of its commands, s.
        specs: numbers of its sensors by sensor and name.
        faults: faults of its sensors.
    """

    setting: MotionSetting
    current: np.ndarray | None = None
    delay: float = 0.0
    specs: dict[str, dict[str, float]] = {}  # noqa: RUF012, of which each variation has its own
    faults: tuple[Fault, ...] = ()


class Randomization:
    """Draws variations of a vehicle in an environment.

    Attributes:
        plan: the numbers.
        stepwise: whether some are drawn for each step.
        delays: whether commands are delayed.
    """

    def __init__(self, plan: RandomPlan, vehicle: Vehicle, environment: Environment) -> None:
        """Check that every number exists and is possible over its whole range.

        Raises:
            MarineSimError: a path that leads to no number, or a number out of its range.
        """
        self.plan = plan
        scenario = parse_scenario('duration: 1\nsegments: [{at: 0.0}]\n', 'randomization')
        self._base = RunCase(vehicle, environment, scenario)
        self._counts = [self._count(parameter) for parameter in plan.parameters]
        self.stepwise = any(parameter.every == 'step' for parameter in plan.parameters)
        self.delays = any(parameter.name == 'action.delay' for parameter in plan.parameters)
        for variation in self.extremes():
            _check_physical(variation.setting.vehicle)

    def _count(self, parameter: RandomNumber) -> int:
        """Return how many draws a parameter has."""
        if not parameter.each:
            return 1
        if not parameter.name.startswith(('vehicle.', 'environment.')):
            raise ParameterError(
                f'randomization: {parameter.name}: each is true; expected it of an array of '
                'vehicle.… or environment.…'
            )
        shapes: list[int] = []

        def note(old: Any) -> Any:
            shapes.append(len(np.atleast_1d(old)))
            return old

        kind, _, path = parameter.name.partition('.')
        replace_number(getattr(self._base, kind), path, note, name=parameter.name)
        return shapes[0]

    def draw(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw the shares (n,) of all parameters' distributions."""
        return [rng.uniform(size=count) for count in self._counts]

    def redraw(self, shares: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
        """Return shares with those of the parameters of a step drawn anew."""
        return [
            rng.uniform(size=len(old)) if parameter.every == 'step' else old
            for parameter, old in zip(self.plan.parameters, shares, strict=True)
        ]

    def extremes(self) -> list[Variation]:
        """Return variations that differ wherever others may, at the ends of all distributions."""
        middle = [np.full(count, 0.5) for count in self._counts]
        rows = [middle]
        for i, count in enumerate(self._counts):
            for share in (0.01, 0.99):
                spread = np.full(count, share) if count == 1 else np.linspace(share, 0.5, count)
                rows.append([*middle[:i], spread, *middle[i + 1 :]])
        rng = np.random.default_rng(0)
        return [self.variation(row) for row in [*rows, *(self.draw(rng) for _ in range(4))]]

    def variation(self, shares: Sequence[np.ndarray]) -> Variation:
        """Return the variation of shares (n,) of each parameter's distribution.

        Raises:
            MarineSimError: a number out of its range.
        """
        values: list[tuple[RandomNumber, Any]] = [
            (parameter, drawn if parameter.each else float(drawn[0]))
            for parameter, share in zip(self.plan.parameters, shares, strict=True)
            for drawn in [quantiles(parameter, share)]
        ]
        case = self._base
        texts = [(p, v) for p, v in values if p.name.startswith('urdf.')]
        if texts:
            case = case._replace(vehicle=_with_urdf_numbers(case.vehicle, texts))
        own: dict[str, float] = {}
        for parameter, value in values:
            if parameter.name.startswith(_OWN):
                own[parameter.name] = value
            elif not parameter.name.startswith('urdf.'):
                case = change_case(case, parameter, value)
        return _with_own_numbers(case, own, self.plan)


def _with_urdf_numbers(vehicle: Vehicle, numbers: Sequence[tuple[RandomNumber, Any]]) -> Vehicle:
    """Return the vehicle of its URDF with other numbers."""
    text = vehicle.urdf
    for parameter, value in numbers:
        path = parameter.name.removeprefix('urdf.')
        text = with_number(text, path, partial(parameter.changed, value=value))
    return vehicle_from_urdf(
        text, source=vehicle.name, base=vehicle.folder, base_link=vehicle.base_link
    )


def _with_own_numbers(case: RunCase, numbers: dict[str, float], plan: RandomPlan) -> Variation:
    """Return the variation of a case with payload, current, delay and numbers of sensors."""
    relative = {parameter.name for parameter in plan.parameters if parameter.relative}
    payload = dict.fromkeys(PAYLOAD, 0.0)
    current: dict[str, float] = {}
    specs: dict[str, dict[str, float]] = {}
    delay = 0.0
    for name, value in numbers.items():
        kind, _, rest = name.partition('.')
        if kind == 'sensor':
            sensor, field, old = _sensor_number(case.vehicle, name)
            specs.setdefault(sensor, {})[field] = old * value if name in relative else value
            continue
        known = {'payload': PAYLOAD, 'current': ('speed', 'direction'), 'action': ('delay',)}[kind]
        if rest not in known or name in relative:
            word = 'is relative' if rest in known else 'is unknown'
            raise ParameterError(
                f'randomization: {name} {word}; expected absolute numbers of {kind}: '
                f'{", ".join(known)}'
            )
        if kind == 'payload':
            payload[rest] = value
        elif kind == 'current':
            current[rest] = value
        else:
            delay = value
    if not 0 <= delay <= MAX_DELAY:
        raise ParameterError(
            f'randomization: action.delay is {delay:g}; expected 0 to {MAX_DELAY:g} s'
        )
    faults = case.scenario.faults
    tables = fault_tables(faults, case.vehicle.thrusters.names)
    if tables is not None and not tables.scalarisable:
        raise ParameterError(
            'randomization: delayed and lost_commands are no faults of a policy; expected '
            'action.delay'
        )
    setting = MotionSetting(_with_payload(case.vehicle, payload), case.environment, tables)
    sensor_faults = tuple(fault for fault in faults if isinstance(fault, SensorFault))
    return Variation(setting, _current(current), delay, specs, sensor_faults)


def _sensor_number(vehicle: Vehicle, name: str) -> tuple[str, str, float]:
    """Return sensor, field and value of ``sensor.NAME.FIELD``."""
    sensor, _, field = name.removeprefix('sensor.').rpartition('.')
    specs = {s.name: s.spec for s in vehicle.sensors}
    if sensor not in specs:
        raise ParameterError(f'randomization: {name}: {expected_one_of(sensor, specs)}')
    known = numbers_of(type(specs[sensor]))
    if field not in known:
        raise ParameterError(f'randomization: {name}: {expected_one_of(field, known)}')
    return sensor, field, float(getattr(specs[sensor], field))


def _with_payload(vehicle: Vehicle, payload: dict[str, float]) -> Vehicle:
    """Return a vehicle with a point mass and a volume at a position."""
    mass, volume, *place = (payload[name] for name in PAYLOAD)
    if mass < 0 or volume < 0:
        raise ParameterError(
            f'randomization: the payload has {mass:g} kg and {volume:g} m³; expected 0 or more'
        )
    if not mass and not volume:
        return vehicle
    position, water = np.array(place), vehicle.buoyancy
    return replace(
        vehicle,
        inertia=combined_inertia([vehicle.inertia, Inertia(mass, position, np.zeros((3, 3)))]),
        buoyancy=combined_buoyancy(
            [water, Buoyancy(volume, position, water.height, water.fluid_density)]
        ),
    )


def _current(numbers: dict[str, float]) -> np.ndarray | None:
    """Return the current (3,) of a speed, m/s, and a direction, degrees from east to north."""
    if not numbers:
        return None
    angle = np.radians(numbers.get('direction', 0.0))
    return numbers.get('speed', 0.0) * np.array([np.cos(angle), np.sin(angle), 0.0])


def _check_physical(vehicle: Vehicle) -> None:
    """Refuse a mass matrix that is not positive, and damping that adds energy."""
    flaws = []
    for name, matrix in (('inertia', vehicle.inertia.matrix), ('mass', vehicle.mass_matrix)):
        if np.min(np.linalg.eigvalsh((matrix + matrix.T) / 2)) <= 0:
            flaws.append(f'its {name} matrix is not positive definite')
    flaws += [
        f'its linear damping {flaw}' for flaw in [linear_flaw(vehicle.damping.linear)] if flaw
    ]
    quadratic = quadratic_flaw(vehicle.damping.quadratic)
    flaws += [f'its quadratic damping {quadratic}'] if quadratic else []
    negative = [f.name for f in fields(Buoyancy) if np.any(getattr(vehicle.buoyancy, f.name) < 0)]
    flaws += [f'its {name} is negative' for name in negative if name != 'center_of_volume']
    if flaws:
        raise ParameterError(
            f'randomization: a vehicle at the end of a range is not physical: {flaws[0]}; '
            'expected narrower ranges'
        )
