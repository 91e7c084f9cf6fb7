# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles, environments and scripts as trees of numbers: stacked for a batch, and traced.

A record is a frozen dataclass; its numbers are floats and arrays, those of cached properties too,
so that nothing is derived again in every step. What all vehicles of a batch share stays a
constant, which the compiler folds; what differs becomes an argument of the compiled program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from marine_sim_ros.errors import ParameterError
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['Slot', 'arguments_for', 'derived', 'filled', 'stacked']

Record = TypeVar('Record')

_LATER = {'contact', 'panel_mobility'}
"""Properties that only a scene or panels have a use for."""
_ALL = {'still'}
"""Truths that a batch has only where each of its vehicles has it; for others any is enough."""


@dataclass(frozen=True)
class Slot:
    """A place for numbers that come as an argument.

    Attributes:
        index: of the argument.
        axes: number of its first axes that are one vehicle's; the batch is after them.
    """

    index: int
    axes: int


def derived(record: Record) -> Record:
    """Have a record and all within it compute their cached properties, and return it."""
    if is_dataclass(record):
        for name, value in vars(type(record)).items():
            if isinstance(value, cached_property) and name not in _LATER:
                getattr(record, name)
        if isinstance(record, Vehicle) and record.hull is not None and record.hull.panels:
            _ = record.panel_mobility
        for value in list(vars(record).values()):
            derived(value)
    return record


def _numeric(value: Any) -> bool:
    if isinstance(value, bool | np.bool_ | int):
        return False
    return isinstance(value, float | np.ndarray | Slot) or hasattr(value, 'aval')


def _mapped(function: Callable[..., Any], where: str, records: Sequence[Any]) -> Any:
    """Return the first record with its numbers replaced by a function of all records' numbers."""
    first = records[0]
    if is_dataclass(first) and not isinstance(first, Slot):
        result: Any = object.__new__(type(first))
        names = set().union(*(vars(r) for r in records))
        for name in names:
            values = [vars(r).get(name) for r in records]
            result.__dict__[name] = (
                all(values) if name in _ALL else _mapped(function, f'{where}.{name}', values)
            )
        return result
    if any(_numeric(r) for r in records):
        if not all(_numeric(r) for r in records):
            raise ParameterError(f'batch: some vehicles have {where} and some have not')
        return function(where, *records)
    if all(isinstance(r, bool | np.bool_) for r in records):
        return any(records)
    if any((r is None) != (first is None) for r in records):
        raise ParameterError(f'batch: some vehicles have {where} and some have not')
    return first


def stacked(records: Sequence[Record]) -> tuple[Record, list[np.ndarray]]:
    """Return one record for a batch, and what differs within it, the batch's axis last.

    Raises:
        ParameterError: records of different structure, such as another number of thrusters.
    """
    found: list[np.ndarray] = []

    def together(where: str, *values: Any) -> Any:
        arrays = [np.asarray(v) for v in values]
        if len({a.shape for a in arrays}) > 1:
            shapes = sorted({str(a.shape) for a in arrays})
            raise ParameterError(f'batch: {where} has shapes {" and ".join(shapes)}; expected one')
        if all(np.array_equal(a, arrays[0], equal_nan=a.dtype.kind == 'f') for a in arrays[1:]):
            return values[0]
        found.append(np.stack(arrays, axis=-1))
        return Slot(len(found) - 1, arrays[0].ndim)

    name = type(records[0]).__name__.lower()
    return _mapped(together, name, list(records)), found


def arguments_for(template: Record, records: Sequence[Record]) -> list[np.ndarray]:
    """Return what other records of a batch have in a template's slots, the batch's axis last.

    Raises:
        ParameterError: they differ from the template elsewhere.
    """
    found: dict[int, np.ndarray] = {}

    def place(where: str, wanted: Any, *values: Any) -> Any:
        if isinstance(wanted, Slot):
            found[wanted.index] = np.stack([np.asarray(v) for v in values], axis=-1)
        elif not all(np.array_equal(v, wanted, equal_nan=True) for v in values):
            raise ParameterError(f'batch: {where} is not what the program was compiled for')
        return wanted

    _mapped(place, type(template).__name__.lower(), [template, *records])
    return [found[i] for i in range(len(found))]


def filled(record: Record, convert: Callable[[Any], Any]) -> Record:
    """Return a record with a function applied to its slots and traced numbers."""

    def one(where: str, value: Any) -> Any:
        del where
        return value if isinstance(value, float | np.ndarray) else convert(value)

    return _mapped(one, '', [record])
