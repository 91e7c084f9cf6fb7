# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What vehicles of one kind share: the programs that were compiled for the first of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['Kinds', 'same']

Shared = TypeVar('Shared')
_KEPT = 16


class Kinds(Generic[Shared]):
    """What was made for the last kinds: the same vehicle with others of the same values."""

    def __init__(self) -> None:
        """Begin with none."""
        self._made: list[tuple[Vehicle, tuple[Any, ...], Shared]] = []

    def shared(
        self, vehicle: Vehicle, others: tuple[Any, ...], make: Callable[[], Shared]
    ) -> Shared:
        """Return what was made for such a kind, or is made now."""
        for known, with_, made in self._made:
            if known is vehicle and same(with_, others):
                return made
        self._made.append((vehicle, others, make()))
        del self._made[:-_KEPT]
        return self._made[-1][2]


def same(a: Any, b: Any) -> bool:
    """Return whether two records, or what is in them, have the same values."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
