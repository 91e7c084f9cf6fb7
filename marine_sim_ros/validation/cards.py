# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Validation cards: manoeuvres of a vehicle compared with published values.

Published values are read from ``config/validation/*.yaml``; a value is reproduced where it is
within their tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    fields_of,
    number,
    special,
    text,
)
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.model.library import load_vehicle, vehicle_path
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.validation import propulsion, rest
from marine_sim_ros.validation.propulsion import STICK_MANOEUVRES
from marine_sim_ros.validation.rest import DIRECTIONS, Measurement
from marine_sim_ros.validation.steering import (
    STEERED_QUANTITIES,
    VESSEL_MANOEUVRES,
    SteeredCommand,
    read_steered_command,
)

__all__ = [
    'MANOEUVRES',
    'PublishedValue',
    'VERDICTS',
    'Validation',
    'ONLY_WHERE_PUBLISHED',
    'findings',
    'load_published',
    'make_card',
    'parse_published',
    'validate',
    'validation_dict',
    'verdict',
]


# Manoeuvres by name; a new one is one line here.

Manoeuvre = Callable[[Vehicle], Measurement]


def _both_directions(
    name: str, function: Callable[..., Measurement], axes: tuple[str, ...]
) -> Iterator[tuple[str, Manoeuvre]]:
    for axis in axes:
        for sense, direction in zip((1.0, -1.0), DIRECTIONS[axis], strict=True):
            yield f'{name}_{axis}_{direction}', partial(function, axis=axis, sense=sense)


MANOEUVRES: dict[str, Manoeuvre] = {
    'mass': rest.mass,
    'net_buoyancy': rest.net_buoyancy,
    'trim_roll': partial(rest.trim_angle, axis='roll'),
    'trim_pitch': partial(rest.trim_angle, axis='pitch'),
    'draught': rest.draught,
    'thruster_forward': partial(propulsion.single_thrust, sense=1.0),
    'thruster_reverse': partial(propulsion.single_thrust, sense=-1.0),
    **dict(_both_directions('bollard', propulsion.bollard_thrust, BODY_AXES)),
    **dict(_both_directions('speed', propulsion.steady_speed, ('surge', 'sway', 'heave'))),
    'largest_tilt': propulsion.largest_tilt,
    'terminal_speed': propulsion.vertical_terminal_speed,
    'roll_period': partial(rest.period, axis='roll'),
    'roll_decrement': partial(rest.logarithmic_decrement, axis='roll'),
    'pitch_period': partial(rest.period, axis='pitch'),
    'pitch_decrement': partial(rest.logarithmic_decrement, axis='pitch'),
    **dict(_both_directions('turning_rate', propulsion.steady_speed, ('yaw',))),
    **dict(_both_directions('power', propulsion.bollard_power, ('surge', 'heave'))),
}
"""Name -> measurement of a vehicle; names are those of config/validation."""

ONLY_WHERE_PUBLISHED: dict[str, Manoeuvre] = {
    'pitch_period_from_48': partial(rest.period_from_angle, axis='pitch', degrees=48.0),
    'pitch_undershoot_from_48': partial(rest.undershoot_from_angle, axis='pitch', degrees=48.0),
    **STICK_MANOEUVRES,
    **VESSEL_MANOEUVRES,
}
"""The same, of manoeuvres that are run only for a vehicle with a published value of them."""


# Reader of ``config/validation/*.yaml``: published values, sources, accuracy.

_KEYS = {'arguments', 'compare', 'references'}


def _source(reader: YamlReader) -> str:
    if not reader.text().strip():
        raise reader.error(' is empty; expected document and place')
    return reader.text()


@declaration(frozen=True, kw_only=True)
class PublishedValue:
    """A published value.

    Attributes:
        low: lowest value published, in the manoeuvre's unit.
        high: highest; the same where only one is published.
    """

    low: float
    high: float
    quantity: str = choice(
        (*MANOEUVRES, *ONLY_WHERE_PUBLISHED, *STEERED_QUANTITIES), 'name of a manoeuvre', REQUIRED
    )
    tolerance: float = number(0.0, 0.0, 1.0, '', 'allowed deviation as a fraction of the value')
    margin: float = number(
        0.0, 0.0, 1e9, '', "the same in the value's unit; the larger of both counts"
    )
    command: SteeredCommand | None = special(
        read_steered_command, None, 'constant command of a steered quantity'
    )
    source: str = special(_source, REQUIRED, 'document and place')
    doubt: str = text('reason not to rely on the value: it decides nothing; empty: reliable')

    @property
    def key(self) -> str:
        """Name of the measured value."""
        return self.quantity if self.command is None else f'{self.quantity} {self.command.label}'

    @property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest value that reproduce it."""
        low, high = (max(self.margin, self.tolerance * abs(v)) for v in (self.low, self.high))
        return self.low - low, self.high + high


@dataclass(frozen=True)
class PublishedVehicle:
    """Published values of a vehicle.

    Attributes:
        arguments: xacro arguments that make the vehicle the published one.
        variants: xacro argument -> its values that are compared, the default first; at most one.
        references: references in the registry's order, then in that of the file.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    references: tuple[PublishedValue, ...] = ()


def _read_published(root: YamlReader) -> PublishedVehicle:
    root.mapping(_KEYS, {'references'})
    arguments = _mapping(root.child('arguments', {}))
    compare = _mapping(root.child('compare', {}))
    if len(compare) > 1:
        raise root.child('compare').error(f' has {len(compare)} arguments; expected at most one')
    references, order = (
        [_read_value(r) for r in root.child('references').items()],
        [*MANOEUVRES, *ONLY_WHERE_PUBLISHED, *STEERED_QUANTITIES],
    )
    return PublishedVehicle(
        arguments={k: r.word() for k, r in arguments.items()},
        variants={k: tuple(i.word() for i in r.items()) for k, r in compare.items()},
        references=tuple(sorted(references, key=lambda r: order.index(r.quantity))),
    )


def _mapping(reader: YamlReader) -> dict[str, YamlReader]:
    if not isinstance(reader.value, dict) or not all(isinstance(k, str) for k in reader.value):
        raise reader.error(f' is {reader.value!r}; expected a mapping of xacro arguments')
    return {k: reader.child(k) for k in reader.value}


def _read_value(item: YamlReader) -> PublishedValue:
    item.mapping({'value', *fields_of(PublishedValue)}, {'quantity', 'value', 'source'})
    low, high = item.child('value').span()
    value = PublishedValue(low=low, high=high, **item.values(PublishedValue))
    if (value.command is None) == (value.quantity in STEERED_QUANTITIES):
        raise item.error(
            f': {value.quantity} has {"no" if value.command is None else "a"} command; expected '
            f'one with {", ".join(STEERED_QUANTITIES)} only'
        )
    return value


PUBLISHED = ConfigFiles('validation', _read_published)
parse_published = PUBLISHED.parse


def load_published(vehicle: str) -> PublishedVehicle:
    """Return the published values of a shipped vehicle; none where there is no file.

    Raises:
        ParameterError: the file cannot be read or used.
    """
    return PUBLISHED.load(vehicle) if vehicle in PUBLISHED.names() else PublishedVehicle()


# Cards: every manoeuvre of a vehicle with its published values and the best variant.

VERDICTS = ('pass', 'fail', 'no published value')


@dataclass(frozen=True)
class ValidationCard:
    """One variant of a vehicle.

    Attributes:
        name: name of the variant, such as ``wu2018``, or of the vehicle where there is only one.
        arguments: xacro arguments it was made with.
        measured: measured values by name, in the registry's order.
    """

    name: str
    arguments: Mapping[str, str]
    measured: Mapping[str, Measurement]


@dataclass(frozen=True)
class Validation:
    """A vehicle's cards side by side.

    Attributes:
        cards: the default variant first, where variants are compared.
    """

    vehicle: str
    cards: tuple[ValidationCard, ...]
    references: tuple[PublishedValue, ...]

    def values_of(self, quantity: str) -> tuple[PublishedValue, ...]:
        """Return the published values of a quantity."""
        return tuple(r for r in self.references if r.key == quantity)

    @property
    def is_reproduced(self) -> bool:
        """Whether the first card reproduces every published value that is not doubtful."""
        return all(
            r.doubt or verdict(self.cards[0].measured[r.key], r) == 'pass' for r in self.references
        )


@dataclass(frozen=True)
class Finding:
    """A published value, and who reproduces it.

    Attributes:
        reproduced: names of the cards within its limits.
        nearest: the card nearest to it, by ratio; None where none has a value.
        errors: errors by card, (ours − nearest published)/published; None without a value.
    """

    reference: PublishedValue
    reproduced: tuple[str, ...]
    nearest: str | None
    errors: Mapping[str, float | None]


def verdict(measurement: Measurement, reference: PublishedValue | None) -> str:
    """Return one of VERDICTS; a value that could not be computed fails."""
    if reference is None:
        return VERDICTS[2]
    low, high = reference.limits
    value = measurement.value
    return VERDICTS[0 if value is not None and low <= value <= high else 1]


def make_card(
    vehicle: Vehicle,
    name: str,
    arguments: Mapping[str, str],
    published: Collection[PublishedValue] = (),
    progress: ReportProgress = no_progress,
    *,
    more: Collection[str] = (),
) -> ValidationCard:
    """Return a vehicle's card: all manoeuvres are run, and those with a published value.

    Args:
        name: name of the card.
        arguments: xacro arguments of the vehicle.
        more: quantities of ``ONLY_WHERE_PUBLISHED`` that are run without one.
        progress: function that is called with the completed fraction.
    """
    wanted = {*more, *(value.quantity for value in published)}
    optional = {k: run for k, run in ONLY_WHERE_PUBLISHED.items() if k in wanted}
    runs: dict[str, Manoeuvre] = {**MANOEUVRES, **optional}
    for value in published:
        if value.command is not None:
            steered: Callable[..., Measurement] = STEERED_QUANTITIES[value.quantity]
            runs[value.key] = partial(steered, command=value.command)
    measured = {}
    for i, (key, run) in enumerate(runs.items(), 1):
        measured[key] = run(vehicle)
        progress(i / len(runs))
    return ValidationCard(name, arguments, measured)


def _variants(
    published: PublishedVehicle, arguments: Mapping[str, str]
) -> Iterator[tuple[str | None, Mapping[str, str]]]:
    """Yield names and arguments of what is compared; an argument that is given is not."""
    base = {**published.arguments, **arguments}
    for argument, values in published.variants.items():
        if argument not in arguments:
            for value in values:
                yield value, {**base, argument: value}
            return
        yield arguments[argument], base
        return
    yield None, base


def _report_progress(progress: ReportProgress, number: int, count: int, fraction: float) -> None:
    """Report the completed fraction of all cards, from that of one."""
    progress((number + fraction) / count)


def validate(
    name_or_path: str,
    arguments: Mapping[str, str] | None = None,
    *,
    progress: ReportProgress = no_progress,
) -> Validation:
    """Run the card of manoeuvres for a vehicle, or for each of its variants.

    Args:
        name_or_path: shipped name, or a URDF or xacro file; only shipped ones have published
            values.
        arguments: xacro arguments; the one that is compared chooses one variant.
        progress: function that is called with the completed fraction, 0 to 1.

    Raises:
        MarineSimError: the vehicle or its published values cannot be read.
    """
    path = vehicle_path(name_or_path)
    name = path.name.split('.')[0]
    shipped = name_or_path == name
    published = load_published(name) if shipped else PublishedVehicle()
    variants = list(_variants(published, arguments or {}))
    cards = []
    for i, (variant, settings) in enumerate(variants):
        options: dict[str, Any] = dict(settings)
        vehicle = load_vehicle(name_or_path, **options)
        cards.append(
            make_card(
                vehicle,
                variant or name,
                settings,
                published.references,
                partial(_report_progress, progress, i, len(variants)),
                more=() if shipped else VESSEL_MANOEUVRES,
            )
        )
    return Validation(name, tuple(cards), published.references)


def _relative_error(value: float | None, reference: PublishedValue) -> float | None:
    """Return the relative difference of a value from the nearest published one."""
    if value is None:
        return None
    nearest = min(max(value, reference.low), reference.high)
    if value == nearest:
        return 0.0
    return (value - nearest) / abs(nearest) if nearest else math.copysign(math.inf, value)


def findings(validation: Validation) -> tuple[Finding, ...]:
    """Return, for each published value, which cards reproduce it and which is nearest."""
    result = []
    for reference in validation.references:
        values = {c.name: c.measured[reference.key] for c in validation.cards}
        errors = {name: _relative_error(m.value, reference) for name, m in values.items()}
        sizes = {name: abs(e) for name, e in errors.items() if e is not None}
        result.append(
            Finding(
                reference,
                tuple(n for n, m in values.items() if verdict(m, reference) == 'pass'),
                min(sizes, key=lambda n: sizes[n]) if sizes else None,
                errors,
            )
        )
    return tuple(result)


def validation_dict(validation: Validation) -> dict[str, Any]:
    """Return all of it as JSON has it."""

    def rows(card: ValidationCard) -> list[dict[str, Any]]:
        return [
            {
                'quantity': name,
                **asdict(m),
                'published': [
                    {**asdict(r), 'limits': list(r.limits), 'verdict': verdict(m, r)}
                    for r in validation.values_of(name)
                ],
                'verdict': _overall(m, validation.values_of(name)),
            }
            for name, m in card.measured.items()
        ]

    return {
        'vehicle': validation.vehicle,
        'good': validation.is_reproduced,
        'cards': [
            {'name': c.name, 'arguments': dict(c.arguments), 'rows': rows(c)}
            for c in validation.cards
        ],
        'findings': [
            {
                'quantity': f.reference.key,
                'published': [f.reference.low, f.reference.high],
                'doubtful': bool(f.reference.doubt),
                'reproduced_by': list(f.reproduced),
                'nearest': f.nearest,
            }
            for f in findings(validation)
        ],
    }


def _overall(measurement: Measurement, references: Sequence[PublishedValue]) -> str:
    """Return the verdict of a quantity: over the values that are not doubtful."""
    firm = [r for r in references if not r.doubt]
    if not firm:
        return VERDICTS[2]
    return VERDICTS[any(verdict(measurement, r) == 'fail' for r in firm)]
