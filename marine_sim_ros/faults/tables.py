# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults as tables of numbers, read with the time of a tick: no branches, so they compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.faults.battery import Supply
from marine_sim_ros.faults.draws import key_of, share_of
from marine_sim_ros.faults.kinds import (
    Battery,
    Dead,
    Delayed,
    Fault,
    LostCommands,
    Reversed,
    Stuck,
    ThrusterFault,
    Weak,
    numbers_of,
)

__all__ = ['ActiveFaults', 'Rows', 'Tables', 'alike', 'tables_of']

NEVER = np.inf


class ActiveFaults(NamedTuple):
    """What is wrong at a tick; None: nothing of that kind can be. n thrusters.

    Attributes:
        dead: (n,) whether it stands still.
        share: (n,) of the thrust that is left.
        stuck: (n,) whether it keeps its pulse width.
        stuck_at: (n,) pulse width of a stuck thruster, µs; NaN: its last one.
        delay: (n,) of its commands, s.
        reverse: (n,) whether it turns the other way.
        lost: () whether the command of this tick does not arrive.
        battery: battery that supplies the thrusters.
        longest: longest possible delay, whole ns.
    """

    dead: Array | None = None
    share: Array | None = None
    stuck: Array | None = None
    stuck_at: Array | None = None
    delay: Array | None = None
    reverse: Array | None = None
    lost: Array | None = None
    battery: Supply | None = None
    longest: int = 0


@dataclass(frozen=True, eq=False)
class Rows:
    """The faults of one kind, r of them, in the order they are given.

    Attributes:
        start: (r,) s.
        end: (r,) s.
        where: (r, n) 1 at the thruster it is of; n is 1 where it is of none.
        numbers: (r, m) in the order of the kind's fields.
    """

    start: np.ndarray
    end: np.ndarray
    where: np.ndarray
    numbers: np.ndarray

    def on(self, xp: ModuleType, time: Array) -> list[Array]:
        """Return for each whether it acts at a time (s), and where: (n,)."""
        start, end = constant(xp, self.start), constant(xp, self.end)
        where = constant(xp, self.where)
        return [
            (where[i, ...] > 0.5) & ((time >= start[i]) & (time < end[i]))
            for i in range(len(self.start))
        ]

    def any(self, xp: ModuleType, time: Array) -> Array:
        """Return where any acts: (n,)."""
        first, *others = self.on(xp, time)
        for other in others:
            first = first | other
        return first

    def held(self, xp: ModuleType, time: Array, nothing: float) -> Array:
        """Return the first number of the last that acts, (n,), or what there is without."""
        return self._folded(xp, time, nothing, lambda _, number: number)

    def product(self, xp: ModuleType, time: Array) -> Array:
        """Return the product of the first numbers of all that act: (n,)."""
        return self._folded(xp, time, 1.0, lambda before, number: before * number)

    def _folded(
        self, xp: ModuleType, time: Array, start: float, fold: Callable[[Array, Array], Array]
    ) -> Array:
        """Return what the first numbers of all that act make of a start, in their order: (n,)."""
        numbers, result = constant(xp, self.numbers), constant(xp, self.where[0, ...]) * 0.0
        result = result + start
        for i, on in enumerate(self.on(xp, time)):
            result = xp.where(on, fold(result, numbers[i, 0]), result)
        return result


@dataclass(frozen=True, eq=False)
class Tables:
    """The faults of a run that thrusters and their supply feel, by kind; None: none of it.

    Attributes:
        key: (4,) of what is drawn, see :func:`~marine_sim_ros.faults.draws.key_of`.
        longest: longest delay, whole ns.
        dead, weak, stuck, delayed, reverse, lost, battery: rows of each kind.
    """

    key: np.ndarray
    longest: int = 0
    dead: Rows | None = None
    weak: Rows | None = None
    stuck: Rows | None = None
    delayed: Rows | None = None
    reverse: Rows | None = None
    lost: Rows | None = None
    battery: Rows | None = None

    @property
    def scalarisable(self) -> bool:
        """Whether a compiled program may write it out number by number."""
        return self.delayed is None and self.lost is None

    def at(self, xp: ModuleType, time: Array, stamp: Array | None = None) -> ActiveFaults:
        """Return what is wrong at a time, s.

        Args:
            xp: array namespace to compute with.
            time: s.
            stamp: (2,) words of it, for lost commands.
        """
        acting: dict[str, Any] = {'longest': self.longest}
        if self.dead is not None:
            acting['dead'] = self.dead.any(xp, time)
        if self.weak is not None:
            acting['share'] = self.weak.product(xp, time)
        if self.stuck is not None:
            acting['stuck'] = self.stuck.any(xp, time)
            acting['stuck_at'] = self.stuck.held(xp, time, np.nan)
        if self.delayed is not None:
            acting['delay'] = self.delayed.held(xp, time, 0.0)
        if self.reverse is not None:
            acting['reverse'] = self.reverse.any(xp, time)
        if self.lost is not None:
            arrives = self.lost.numbers * -1.0 + 1.0
            share = replace(self.lost, numbers=arrives).product(xp, time)[0]
            acting['lost'] = share_of(xp, self.key, stamp) >= share
        if self.battery is not None:
            acting['battery'] = _supply(xp, self.battery, time)
        return ActiveFaults(**acting)


def _supply(xp: ModuleType, rows: Rows, time: Array) -> Supply:
    numbers = constant(xp, rows.numbers)
    return Supply(rows.any(xp, time)[0], *(numbers[0, i] for i in range(rows.numbers.shape[1])))


_KINDS: dict[str, type[Fault]] = {
    'dead': Dead,
    'weak': Weak,
    'stuck': Stuck,
    'delayed': Delayed,
    'reverse': Reversed,
    'lost': LostCommands,
    'battery': Battery,
}


def _numbers(fault: Fault) -> list[float]:
    return [getattr(fault, name) for name in numbers_of(type(fault))]


def _rows(faults: Sequence[Fault], names: Sequence[str]) -> Rows:
    where = [
        [float(fault.thruster == name) for name in names]
        if isinstance(fault, ThrusterFault)
        else [1.0]
        for fault in faults
    ]
    return Rows(
        np.array([f.start for f in faults]),
        np.array([f.end for f in faults]),
        np.array(where),
        np.array([_numbers(f) for f in faults], float),
    )


def tables_of(faults: Sequence[Fault], names: Sequence[str], seed: int = 0) -> Tables | None:
    """Return the tables of some faults, or None where thrusters feel none of them.

    Args:
        faults: faults of a run.
        names: names of the vehicle's thrusters, in order.
        seed: random seed of the faults.
    """
    found: dict[str, Rows] = {}
    for name, kind in _KINDS.items():
        if some := [fault for fault in faults if type(fault) is kind]:
            found[name] = _rows(some, names)
    if not found:
        return None
    delays = [round(f.delay * NANOSECONDS) for f in faults if isinstance(f, Delayed)]
    return Tables(np.array(key_of(seed, 'lost commands')), max(delays, default=0), **found)


def alike(tables: Sequence[Tables | None]) -> list[Tables | None]:
    """Return tables of the same structure for all runs of a batch; what is added never starts."""
    some = [t for t in tables if t is not None]
    if not some:
        return list(tables)
    longest = max(t.longest for t in some)
    most = {
        name: max(
            (rows for t in some if (rows := getattr(t, name)) is not None),
            key=lambda rows: len(rows.start),
            default=None,
        )
        for name in _KINDS
    }

    def filled(table: Tables | None) -> Tables:
        table = Tables(some[0].key) if table is None else table
        rows: dict[str, Any] = {
            name: _as_many(getattr(table, name), wanted) for name, wanted in most.items()
        }
        return replace(table, longest=longest, **rows)

    return [filled(table) for table in tables]


def _as_many(rows: Rows | None, wanted: Rows | None) -> Rows | None:
    """Return as many rows as others are; those that are added are theirs, and never start."""
    if wanted is None:
        return None
    have = 0 if rows is None else len(rows.start)
    more = Rows(*(table[have:] for table in vars(wanted).values()))
    more = replace(more, start=np.full(len(more.start), NEVER))
    if rows is None:
        return more
    return Rows(
        *(
            np.concatenate(pair)
            for pair in zip(vars(rows).values(), vars(more).values(), strict=True)
        )
    )
