# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads ``config/validation/*.yaml``: what is published of a vehicle, by whom, how exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from marine_sim_ros.core.config_files import ConfigFiles
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.validation.registry import MANOEUVRES, WHERE_MEASURED

__all__ = ['Published', 'Reference', 'load_published', 'parse_published']

_KEYS = {'arguments', 'compare', 'references'}
_REFERENCE = {'quantity', 'value', 'tolerance', 'margin', 'source', 'doubt'}


@dataclass(frozen=True)
class Reference:
    """A published value.

    Attributes:
        quantity: name of a manoeuvre of the registry.
        low: lowest value published, in the manoeuvre's unit.
        high: highest; the same where only one is published.
        tolerance: share of the value that may be missing or too much.
        margin: the same in the value's unit; the larger of both counts.
        source: document and place.
        doubt: reason not to rely on the value; empty: reliable. A doubtful value decides nothing.
    """

    quantity: str
    low: float
    high: float
    tolerance: float
    margin: float
    source: str
    doubt: str = ''

    @property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest value that reproduce it."""
        low, high = (max(self.margin, self.tolerance * abs(v)) for v in (self.low, self.high))
        return self.low - low, self.high + high


@dataclass(frozen=True)
class Published:
    """What is published of a vehicle.

    Attributes:
        arguments: xacro arguments that make the vehicle the published one.
        variants: xacro argument -> its values that are compared, the default first; at most one.
        references: references in the registry's order, then in that of the file.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()


def _published(root: YamlReader) -> Published:
    root.mapping(_KEYS, {'references'})
    arguments = _mapping(root.child('arguments', {}))
    compare = _mapping(root.child('compare', {}))
    if len(compare) > 1:
        raise root.child('compare').error(f' has {len(compare)} arguments; expected at most one')
    references, order = (
        [_reference(r) for r in root.child('references').items()],
        [*MANOEUVRES, *WHERE_MEASURED],
    )
    return Published(
        arguments={k: r.word() for k, r in arguments.items()},
        variants={k: tuple(i.word() for i in r.items()) for k, r in compare.items()},
        references=tuple(sorted(references, key=lambda r: order.index(r.quantity))),
    )


def _mapping(reader: YamlReader) -> dict[str, YamlReader]:
    if not isinstance(reader.value, dict) or not all(isinstance(k, str) for k in reader.value):
        raise reader.error(f' is {reader.value!r}; expected a mapping of xacro arguments')
    return {k: reader.child(k) for k in reader.value}


def _reference(item: YamlReader) -> Reference:
    item.mapping(_REFERENCE, {'quantity', 'value', 'source'})
    low, high = item.child('value').span()
    source = item.child('source').text()
    if not source.strip():
        raise item.child('source').error(' is empty; expected document and place')
    return Reference(
        quantity=item.child('quantity').choice((*MANOEUVRES, *WHERE_MEASURED)),
        low=low,
        high=high,
        tolerance=item.child('tolerance', 0.0).number(0.0, 1.0),
        margin=item.child('margin', 0.0).number(0.0),
        source=source,
        doubt=item.child('doubt', '').text(),
    )


PUBLISHED = ConfigFiles('validation', _published)
parse_published = PUBLISHED.parse


def load_published(vehicle: str) -> Published:
    """Return what is published of a shipped vehicle; nothing where there is no file.

    Raises:
        ParameterError: the file cannot be read or used.
    """
    return PUBLISHED.load(vehicle) if vehicle in PUBLISHED.names() else Published()
