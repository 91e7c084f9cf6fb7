# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers and names as fields of dataclasses, each with its meaning, stated once."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, NamedTuple

__all__ = ['Number', 'number', 'numbers_of', 'text', 'texts_of']


class Number(NamedTuple):
    """What a number of a fault or a sensor may be.

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
