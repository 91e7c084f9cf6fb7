# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers and settings with unit, default and range, for dataclasses and users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

__all__ = [
    'Number',
    'Setting',
    'number',
    'numbers_of',
    'text',
    'texts_of',
    'typed_number',
    'typed_text',
]


# Dataclass fields for numbers and names, with description, unit and range.


class Number(NamedTuple):
    """Specification of a number: range, unit and description.

    Attributes:
        default: default value, or a tuple of them; NaN: no default.
        low: least.
        high: greatest.
        unit: empty for a share.
        about: description of the number.
    """

    default: Any
    low: float
    high: float
    unit: str
    about: str


def number(default: Any, low: float, high: float, unit: str, about: str) -> Any:
    """Return a field of a dataclass that is a number, or a tuple of numbers."""
    return field(default=default, metadata={'number': Number(default, low, high, unit, about)})


def numbers_of(kind: type) -> dict[str, Number]:
    """Return the fields of a dataclass that are numbers, by name."""
    return {f.name: f.metadata['number'] for f in fields(kind) if 'number' in f.metadata}


def text(about: str) -> Any:
    """Return a field of a dataclass that is a name; by default it is empty."""
    return field(default='', metadata={'text': about})


def texts_of(kind: type) -> dict[str, str]:
    """Return the fields of a dataclass that are names, and their meanings."""
    return {f.name: f.metadata['text'] for f in fields(kind) if 'text' in f.metadata}


# Setting of a user: description, unit, default and range.


def typed_number(value: float) -> str:
    """Return a number as a user would type it: ``0.000001`` and ``1e9``."""
    if isinstance(value, int):
        return str(value)
    if value == 0 or 1e-6 <= abs(value) < 1e6:
        return f'{value:.6f}'.rstrip('0').rstrip('.')
    return f'{value:g}'.replace('e+0', 'e')


@dataclass(frozen=True)
class Setting:
    """A value that a user may set, on a command line, in a launch file or on a node.

    Attributes:
        name: the name, in snake_case.
        default: the value where the user gives none.
        help: effect of the setting, without unit, default and range.
        low: the least value; of each element where the value is a list.
        high: the greatest value, likewise.
        choices: the values that are possible, likewise; empty: any.
        unit: the unit; empty: none.
        empty: what an empty text or list means, or 0 where the value is a number; empty: nothing
            of its own.
    """

    name: str
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ''
    empty: str = ''

    @property
    def nothing(self) -> str:
        """The value for which ``empty`` holds: ``0``, ``0 0 0``, ``empty`` or ``default``."""
        parts = self.default if isinstance(self.default, list | tuple) else (self.default,)
        numbers = [part for part in parts if isinstance(part, int | float)]
        return ' '.join('0' for _ in numbers) or ('empty' if self.default_text else 'default')

    @property
    def text(self) -> str:
        """Description of the setting, with unit and meaning of an empty value."""
        unit = f', {self.unit}' if self.unit else ''
        return f'{self.help}{unit}' + (f'; {self.nothing}: {self.empty}' if self.empty else '')

    @property
    def range(self) -> str:
        """The values that are possible, in words; empty where there is no bound."""
        if self.choices:
            return 'one of: ' + ', '.join(self.choices)
        if self.low is None or self.high is None:
            return ''
        return f'{typed_number(self.low)} to {typed_number(self.high)}'

    @property
    def default_text(self) -> str:
        """The default as a user would type it; empty where there is none."""
        return typed_text(self.default)

    def refusal(self, value: Any) -> str:
        """Return the reason to refuse a value, as ``is 2; expected 0 to 1 s``, or nothing.

        Empty texts in a list are passed over: an empty list of ROS has no type.
        """
        parts: Iterable[Any] = value if isinstance(value, list | tuple) else (value,)
        for part in parts:
            if self.choices and part not in self.choices and (part or part is value):
                return f'is {part!r}; expected {self.range}'
            if not isinstance(part, int | float) or self.low is None or self.high is None:
                continue
            if not self.low <= part <= self.high:
                unit = f' {self.unit}' if self.unit else ''
                return f'is {part:g}; expected {self.range}{unit}'
        return ''


def typed_text(value: Any) -> str:
    """Return a value as it is typed: numbers without exponents, lists with spaces between."""
    if value is None:
        return ''
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ' '.join(filter(None, map(typed_text, value)))
    return typed_number(value) if isinstance(value, int | float) else str(value)
