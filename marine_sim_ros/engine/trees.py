# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Trees of numbers: dataclasses stacked for a batch, packed in a column, compared by value.

A record is a frozen dataclass. Its numbers are floats and arrays, including its cached properties,
so that no step derives them again. Numbers that all vehicles of a batch share stay constants,
which the compiler folds; numbers that differ become arguments of the compiled program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'Slot',
    'TreeLayout',
    'compute_cached_properties',
    'fill_slots',
    'have_same_values',
    'pack_tree',
    'slot_arguments',
    'stack_records',
    'tree_row',
]


# Trees of arrays, such as a vehicle's memory, as one column of numbers.


class TreeLayout:
    """Layout of a tree of numbers in one column.

    Attributes:
        size: length of the column.
        key: structure and shapes; equal keys mean equal layouts.
    """

    def __init__(self, tree: Any) -> None:
        """Take the shapes of a tree of arrays, without a batch."""
        leaves, self._structure = jax.tree.flatten(tree)
        self._parts: list[tuple[int, int, tuple[int, ...], bool]] = []
        self.size = 0
        for x in leaves:
            end = self.size + math.prod(x.shape)
            self._parts.append((self.size, end, tuple(x.shape), x.dtype == bool))
            self.size = end
        self._truths = [i for i, (*_, truth) in enumerate(self._parts) if truth]
        self.key = self._structure, tuple(self._parts)

    def unpack(self, column: Any) -> Any:
        """Return the tree of a column (size, *batch) of NumPy or JAX, the batch's axis last."""
        batch = column.shape[1:]
        leaves = [
            column[start:end] if len(shape) == 1 else column[start:end].reshape((*shape, *batch))
            for start, end, shape, _ in self._parts
        ]
        for i in self._truths:
            leaves[i] = leaves[i] > 0.5
        return jax.tree.unflatten(self._structure, leaves)


def pack_tree(tree: Any, batch: tuple[int, ...] = ()) -> jax.Array:
    """Return the numbers of a tree of arrays in one column (size, *batch)."""
    flat = [jnp.asarray(x).astype(float).reshape(-1, *batch) for x in jax.tree.leaves(tree)]
    return jnp.concatenate(flat)


def tree_row(tree: Any) -> np.ndarray:
    """Return the numbers of a tree of NumPy arrays in one row, in the order of its layout."""
    return np.concatenate([np.asarray(x, float).reshape(-1) for x in jax.tree.leaves(tree)])


# Vehicles, environments and scripts as trees of numbers: stacked for a batch, and traced.

Record = TypeVar('Record')

_OPTIONAL_PROPERTIES = {'contact', 'panel_mobility'}
"""Cached properties that only a scene or panels need; other records do not compute them."""
_UNANIMOUS_FLAGS = {'is_still'}
"""Flags that a batch has only if all vehicles have them; other flags need one vehicle."""


@dataclass(frozen=True, eq=False)
class Slot:
    """An array of which some numbers differ within a batch and come as an argument.

    Attributes:
        index: index of the argument, (k,) for one vehicle and (k, N) for a batch.
        base: array with the common numbers.
        varying: mask of the k varying numbers.
        over_hull: whether its last axis is over panels or voxels.
    """

    index: int
    base: np.ndarray
    varying: np.ndarray
    over_hull: bool = False


def _is_record(value: Any) -> bool:
    is_data = is_dataclass(value) and not isinstance(value, Slot | type)
    return is_data and hasattr(value, '__dict__')


def compute_cached_properties(record: Record) -> Record:
    """Compute the cached properties of a record and of all records within it; return it."""
    if _is_record(record):
        for name, value in vars(type(record)).items():
            if isinstance(value, cached_property) and name not in _OPTIONAL_PROPERTIES:
                getattr(record, name)
        if isinstance(record, Vehicle) and record.hull is not None and record.hull.panels:
            _ = record.panel_mobility
        for value in list(vars(record).values()):
            compute_cached_properties(value)
    elif isinstance(record, Mapping):
        for value in record.values():
            compute_cached_properties(value)
    return record


def _is_numeric(value: Any) -> bool:
    if isinstance(value, bool | np.bool_ | int):
        return False
    return isinstance(value, float | np.ndarray | Slot) or hasattr(value, 'aval')


def _map_records(function: Callable[..., Any], where: str, records: Sequence[Any]) -> Any:
    """Return the first record with its numbers replaced by a function of all records' numbers."""
    first = records[0]
    if len(records) > 1 and all(r is first for r in records):
        return first
    if _is_record(first):
        result: Any = object.__new__(type(first))
        # In the order of the fields, so that JAX's cache finds the same program again.
        for name in dict.fromkeys(name for r in records for name in vars(r)):
            values = [vars(r).get(name) for r in records]
            if name in _OPTIONAL_PROPERTIES and any(v is None for v in values):
                continue
            result.__dict__[name] = (
                all(values)
                if name in _UNANIMOUS_FLAGS
                else _map_records(function, f'{where}.{name}', values)
            )
        return result
    if isinstance(first, Mapping):
        return _map_mappings(function, where, records)
    if any(_is_numeric(r) for r in records):
        if not all(_is_numeric(r) for r in records):
            raise ParameterError(f'batch: some vehicles have {where} and some have not')
        return function(where, *records)
    if all(isinstance(r, bool | np.bool_) for r in records):
        return any(records)
    if any((r is None) != (first is None) for r in records):
        raise ParameterError(f'batch: some vehicles have {where} and some have not')
    return first


def _map_mappings(
    function: Callable[..., Any], where: str, mappings: Sequence[Any]
) -> dict[Any, Any]:
    """Return the first mapping with :func:`_map_records` applied to its values."""
    first = mappings[0]
    for other in mappings[1:]:
        keys = other.keys() if isinstance(other, Mapping) else set()
        if keys != first.keys():
            different = ', '.join(sorted(map(str, keys ^ first.keys())))
            raise ParameterError(
                f'batch: some vehicles have {where}.{different} and some have not'
            )
    return {n: _map_records(function, f'{where}.{n}', [m[n] for m in mappings]) for n in first}


def stack_records(records: Sequence[Record]) -> tuple[Record, list[np.ndarray]]:
    """Return one record for a batch, and the numbers that differ within it, batch axis last.

    Raises:
        ParameterError: records of different structure, such as another number of thrusters.
    """
    arguments: list[np.ndarray] = []

    def stack_values(where: str, *values: Any) -> Any:
        if all(v is values[0] for v in values):
            return values[0]
        arrays = [np.asarray(v) for v in values]
        if len({a.shape for a in arrays}) > 1:
            shapes = sorted({str(a.shape) for a in arrays})
            raise ParameterError(f'batch: {where} has shapes {" and ".join(shapes)}; expected one')
        rows = np.stack(arrays, axis=-1)
        same = (rows == rows[..., :1]) | (np.isnan(rows) & np.isnan(rows[..., :1]))
        varying = ~same.all(axis=-1)
        if not varying.any():
            return values[0]
        arguments.append(rows[varying].reshape(-1, rows.shape[-1]))
        over_hull = varying.ndim > 0 and ('.hull.' in where or where.endswith('.panel_mobility'))
        return Slot(len(arguments) - 1, np.asarray(arrays[0], float), varying, over_hull)

    name = type(records[0]).__name__.lower()
    return _map_records(stack_values, name, list(records)), arguments


def slot_arguments(template: Record, records: Sequence[Record]) -> list[np.ndarray]:
    """Return the values of other records for a template's slots, the batch's axis last.

    Raises:
        ParameterError: they differ from the template elsewhere.
    """
    arguments: dict[int, np.ndarray] = {}

    def collect(where: str, expected: Any, *values: Any) -> Any:
        base = expected.base if isinstance(expected, Slot) else np.asarray(expected)
        rows = np.stack([np.asarray(v) for v in values], axis=-1)
        same = (rows == base[..., None]) | (np.isnan(rows) & np.isnan(base[..., None]))
        if isinstance(expected, Slot):
            arguments[expected.index] = rows[expected.varying].reshape(-1, len(values))
            same = same | expected.varying[..., None]
        if not same.all():
            raise ParameterError(f'batch: {where} is not what the program was compiled for')
        return expected

    _map_records(collect, type(template).__name__.lower(), [template, *records])
    return [arguments[i] for i in range(len(arguments))]


def fill_slots(record: Record, convert: Callable[[Any], Any]) -> Record:
    """Return a record with ``convert`` applied to its slots and traced numbers."""

    def convert_traced(where: str, value: Any) -> Any:
        del where
        return value if isinstance(value, float | np.ndarray) else convert(value)

    return _map_records(convert_traced, '', [record])


# Records compared by value.


def have_same_values(a: Any, b: Any) -> bool:
    """Return whether two records or values are equal, arrays by their elements."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if is_dataclass(a):
        return all(have_same_values(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(have_same_values(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(have_same_values, a, b))
    return bool(a == b)
