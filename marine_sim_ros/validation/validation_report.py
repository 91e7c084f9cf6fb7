# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cards: every manoeuvre of a vehicle beside what is published, and which variant fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from marine_sim_ros.model.library import load_vehicle, vehicle_path
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.validation.measurement import Measurement
from marine_sim_ros.validation.references import Published, Reference, load_published
from marine_sim_ros.validation.registry import MANOEUVRES, WHERE_MEASURED

__all__ = [
    'VERDICTS',
    'Finding',
    'Validation',
    'ValidationReport',
    'findings',
    'make_validation_report',
    'to_dict',
    'validate',
    'verdict',
]

VERDICTS = ('pass', 'fail', 'no published value')
Progress = Callable[[float], None]


@dataclass(frozen=True)
class ValidationReport:
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
        vehicle: name of the vehicle.
        cards: the default variant first, where variants are compared.
        references: published values.
    """

    vehicle: str
    cards: tuple[ValidationReport, ...]
    references: tuple[Reference, ...]

    def of(self, quantity: str) -> tuple[Reference, ...]:
        """Return the published values of a quantity."""
        return tuple(r for r in self.references if r.quantity == quantity)

    @property
    def good(self) -> bool:
        """Whether the first card reproduces every published value that is not doubtful."""
        return all(
            r.doubt or verdict(self.cards[0].measured[r.quantity], r) == 'pass'
            for r in self.references
        )


@dataclass(frozen=True)
class Finding:
    """A published value, and who reproduces it.

    Attributes:
        reference: the published value.
        reproduced: names of the cards within its limits.
        nearest: the card nearest to it, by ratio; None where none has a value.
        errors: errors by report, (ours − nearest published)/published; None without a value.
    """

    reference: Reference
    reproduced: tuple[str, ...]
    nearest: str | None
    errors: Mapping[str, float | None]


def verdict(measurement: Measurement, reference: Reference | None) -> str:
    """Return one of VERDICTS; a value that could not be computed fails."""
    if reference is None:
        return VERDICTS[2]
    low, high = reference.limits
    value = measurement.value
    return VERDICTS[0 if value is not None and low <= value <= high else 1]


def make_validation_report(
    vehicle: Vehicle, name: str, arguments: Mapping[str, str], measured: Collection[str] = ()
) -> ValidationReport:
    """Return a vehicle's card: all manoeuvres are run, and those that somebody has measured."""
    more = {k: run for k, run in WHERE_MEASURED.items() if k in measured}
    runs = {**MANOEUVRES, **more}
    return ValidationReport(name, arguments, {k: run(vehicle) for k, run in runs.items()})


def _silent(share: float) -> None:
    del share


def _variants(
    published: Published, arguments: Mapping[str, str]
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


def validate(
    name_or_path: str, arguments: Mapping[str, str] | None = None, *, progress: Progress = _silent
) -> Validation:
    """Run the card of manoeuvres for a vehicle, or for each of its variants.

    Args:
        name_or_path: shipped name, or a URDF or xacro file; only shipped ones have published
            values.
        arguments: xacro arguments; the one that is compared chooses one variant.
        progress: function that is called with the completed share, 0 to 1.

    Raises:
        MarineSimError: the vehicle or its published values cannot be read.
    """
    path = vehicle_path(name_or_path)
    name = path.name.split('.')[0]
    shipped = name_or_path == name
    published = load_published(name) if shipped else Published()
    variants = list(_variants(published, arguments or {}))
    measured = {reference.quantity for reference in published.references}
    cards = []
    for i, (variant, settings) in enumerate(variants):
        options: dict[str, Any] = dict(settings)
        vehicle = load_vehicle(name_or_path, **options)
        cards.append(make_validation_report(vehicle, variant or name, settings, measured))
        progress((i + 1) / len(variants))
    return Validation(name, tuple(cards), published.references)


def _error(value: float | None, reference: Reference) -> float | None:
    """Return how far a value is from the nearest published one, as a share of it."""
    if value is None:
        return None
    nearest = min(max(value, reference.low), reference.high)
    return (value - nearest) / abs(nearest) if nearest else math.copysign(math.inf, value)


def findings(validation: Validation) -> tuple[Finding, ...]:
    """Return, for each published value, which cards reproduce it and which is nearest."""
    result = []
    for reference in validation.references:
        values = {c.name: c.measured[reference.quantity] for c in validation.cards}
        errors = {name: _error(m.value, reference) for name, m in values.items()}
        known = {name: abs(e) for name, e in errors.items() if e is not None}
        result.append(
            Finding(
                reference,
                tuple(n for n, m in values.items() if verdict(m, reference) == 'pass'),
                min(known, key=lambda n: known[n]) if known else None,
                errors,
            )
        )
    return tuple(result)


def to_dict(validation: Validation) -> dict[str, Any]:
    """Return all of it as JSON has it."""

    def rows(card: ValidationReport) -> list[dict[str, Any]]:
        return [
            {
                'quantity': name,
                **asdict(m),
                'published': [
                    {**asdict(r), 'limits': list(r.limits), 'verdict': verdict(m, r)}
                    for r in validation.of(name)
                ],
                'verdict': _overall(m, validation.of(name)),
            }
            for name, m in card.measured.items()
        ]

    return {
        'vehicle': validation.vehicle,
        'good': validation.good,
        'cards': [
            {'name': c.name, 'arguments': dict(c.arguments), 'rows': rows(c)}
            for c in validation.cards
        ],
        'findings': [
            {
                'quantity': f.reference.quantity,
                'published': [f.reference.low, f.reference.high],
                'doubtful': bool(f.reference.doubt),
                'reproduced_by': list(f.reproduced),
                'nearest': f.nearest,
            }
            for f in findings(validation)
        ],
    }


def _overall(measurement: Measurement, references: Sequence[Reference]) -> str:
    """Return the verdict of a quantity: over the values that are not doubtful."""
    firm = [r for r in references if not r.doubt]
    if not firm:
        return VERDICTS[2]
    return VERDICTS[any(verdict(measurement, r) == 'fail' for r in firm)]
