# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of the faults of thrusters and battery, evaluated at the time of a tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.schema import numbers_of
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.faults.fault_types import (
    Battery,
    Dead,
    Delayed,
    Fault,
    LostCommands,
    Reversed,
    Stuck,
    ThrusterFault,
    Weak,
    fault_key,
    uniform_draws,
)
from marine_sim_ros.model.propulsion import POWER_EXPONENT

__all__ = [
    'ActiveFaults',
    'BatteryNumbers',
    'FaultTables',
    'battery_voltage',
    'equalise_tables',
    'fault_tables',
]


# Battery sag: an open-circuit voltage behind a resistance.

_NEWTON_STEPS = 5
"""Steps of Newton's method, enough for convergence to rounding for all loads."""


class BatteryNumbers(NamedTuple):
    """A battery's numbers at a tick, () each.

    Attributes:
        on: whether it is there; else the supply has its nominal voltage.
        voltage: open-circuit, full, V.
        empty: open-circuit, empty, V.
        capacity: A h; 0: it is never empty.
        charge: share of the capacity at the start.
        resistance: inside, ohm.
        nominal: nominal voltage, that of the thrust curves, V.
    """

    on: Array
    voltage: Array
    empty: Array
    capacity: Array
    charge: Array
    resistance: Array
    nominal: Array


def battery_voltage(battery: BatteryNumbers, load: Array, used: Array) -> Array:
    """Return the voltage U (...) at the terminals, V: U = E(q) − R I with I = P₀ (U/U₀)^b / U.

    Newton's method starts from what a resistor would get that draws I at U = E. E falls in a
    straight line from full to empty with the charge used; that it does is a simplification.
    Source of the circuit: He, Xiong and Fan (2011), "Evaluation of lithium-ion battery equivalent
    circuit models", section 2.1 (Rint model).

    Args:
        load: P₀ (...), the power that would be drawn at the nominal voltage U₀, W.
        used: charge (...) since the start, A h.
    """
    xp = namespace(load)
    none = xp.zeros_like(load)
    endless = battery.capacity == 0
    spent = used / xp.where(endless, none + 1.0, none + battery.capacity)
    left = xp.clip(battery.charge - xp.where(endless, none, spent), 0.0, 1.0)
    source = (battery.empty + (battery.voltage - battery.empty) * left) / battery.nominal
    drop = battery.resistance * load / (battery.nominal * battery.nominal)
    power = POWER_EXPONENT - 1
    voltage_ratio = source / (1 + drop * source ** (power - 1))
    for _ in range(_NEWTON_STEPS):
        excess = voltage_ratio + drop * voltage_ratio**power - source
        voltage_ratio = voltage_ratio - excess / (1 + power * drop * voltage_ratio ** (power - 1))
    return xp.where(battery.on, voltage_ratio, none + 1.0) * battery.nominal


# Faults as tables of numbers over time; no branches, so they compile.

NEVER = np.inf


class ActiveFaults(NamedTuple):
    """Active faults at a tick, of n thrusters; None: no fault of that type in the run.

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
    battery: BatteryNumbers | None = None
    longest: int = 0


@dataclass(frozen=True, eq=False)
class FaultRows:
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

    def active(self, xp: ModuleType, time: Array) -> list[Array]:
        """Return for each fault a mask (n,) of the thrusters on which it acts at a time (s)."""
        start, end = constant(xp, self.start), constant(xp, self.end)
        where = constant(xp, self.where)
        return [
            (where[i, ...] > 0.5) & ((time >= start[i]) & (time < end[i]))
            for i in range(len(self.start))
        ]

    def any(self, xp: ModuleType, time: Array) -> Array:
        """Return a mask (n,) of thrusters with an active fault."""
        first, *remaining = self.active(xp, time)
        for mask in remaining:
            first = first | mask
        return first

    def last_value(self, xp: ModuleType, time: Array, nothing: float) -> Array:
        """Return the first number of the last that acts, (n,), or what there is without."""
        return self._fold_active(xp, time, nothing, lambda _, number: number)

    def product(self, xp: ModuleType, time: Array) -> Array:
        """Return the product (n,) of the first numbers of all active faults."""
        return self._fold_active(xp, time, 1.0, lambda before, number: before * number)

    def _fold_active(
        self, xp: ModuleType, time: Array, start: float, fold: Callable[[Array, Array], Array]
    ) -> Array:
        """Return the values (n,) after all active faults are applied to a start in order."""
        numbers, result = constant(xp, self.numbers), constant(xp, self.where[0, ...]) * 0.0
        result = result + start
        for i, on in enumerate(self.active(xp, time)):
            result = xp.where(on, fold(result, numbers[i, 0]), result)
        return result


@dataclass(frozen=True, eq=False)
class FaultTables:
    """The faults of a run that thrusters and their supply feel, by kind; None: none of it.

    Attributes:
        key: (4,) of what is drawn, see :func:`~marine_sim_ros.faults.fault_types.fault_key`.
        longest: longest delay, whole ns.
        dead, weak, stuck, delayed, reverse, lost, battery: rows of each kind.
    """

    key: np.ndarray
    longest: int = 0
    dead: FaultRows | None = None
    weak: FaultRows | None = None
    stuck: FaultRows | None = None
    delayed: FaultRows | None = None
    reverse: FaultRows | None = None
    lost: FaultRows | None = None
    battery: FaultRows | None = None

    @property
    def scalarisable(self) -> bool:
        """Whether a compiled program may write it out number by number."""
        return self.delayed is None and self.lost is None

    def at(self, xp: ModuleType, time: Array, stamp: Array | None = None) -> ActiveFaults:
        """Return the active faults at a time, s.

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
            acting['stuck_at'] = self.stuck.last_value(xp, time, np.nan)
        if self.delayed is not None:
            acting['delay'] = self.delayed.last_value(xp, time, 0.0)
        if self.reverse is not None:
            acting['reverse'] = self.reverse.any(xp, time)
        if self.lost is not None:
            arrives = self.lost.numbers * -1.0 + 1.0
            arrived_fraction = replace(self.lost, numbers=arrives).product(xp, time)[0]
            acting['lost'] = uniform_draws(xp, self.key, stamp) >= arrived_fraction
        if self.battery is not None:
            acting['battery'] = _battery_numbers(xp, self.battery, time)
        return ActiveFaults(**acting)


def _battery_numbers(xp: ModuleType, rows: FaultRows, time: Array) -> BatteryNumbers:
    numbers = constant(xp, rows.numbers)
    return BatteryNumbers(
        rows.any(xp, time)[0], *(numbers[0, i] for i in range(rows.numbers.shape[1]))
    )


_TABLE_TYPES: dict[str, type[Fault]] = {
    'dead': Dead,
    'weak': Weak,
    'stuck': Stuck,
    'delayed': Delayed,
    'reverse': Reversed,
    'lost': LostCommands,
    'battery': Battery,
}


def _fault_numbers(fault: Fault) -> list[float]:
    return [getattr(fault, name) for name in numbers_of(type(fault))]


def _fault_rows(faults: Sequence[Fault], names: Sequence[str]) -> FaultRows:
    where = [
        [float(fault.thruster == name) for name in names]
        if isinstance(fault, ThrusterFault)
        else [1.0]
        for fault in faults
    ]
    return FaultRows(
        np.array([f.start for f in faults]),
        np.array([f.end for f in faults]),
        np.array(where),
        np.array([_fault_numbers(f) for f in faults], float),
    )


def fault_tables(
    faults: Sequence[Fault], names: Sequence[str], seed: int = 0
) -> FaultTables | None:
    """Return the tables of some faults, or None where thrusters feel none of them.

    Args:
        names: names of the vehicle's thrusters, in order.
        seed: random seed of the faults.
    """
    rows_by_kind: dict[str, FaultRows] = {}
    for name, kind in _TABLE_TYPES.items():
        if some := [fault for fault in faults if type(fault) is kind]:
            rows_by_kind[name] = _fault_rows(some, names)
    if not rows_by_kind:
        return None
    delays = [round(f.delay * NANOSECONDS) for f in faults if isinstance(f, Delayed)]
    return FaultTables(
        np.array(fault_key(seed, 'lost commands')), max(delays, default=0), **rows_by_kind
    )


def equalise_tables(tables: Sequence[FaultTables | None]) -> list[FaultTables | None]:
    """Return tables of the same structure for all runs of a batch; what is added never starts."""
    some = [t for t in tables if t is not None]
    if not some:
        return list(tables)
    longest = max(t.longest for t in some)
    longest_rows = {
        name: max(
            (rows for t in some if (rows := getattr(t, name)) is not None),
            key=lambda rows: len(rows.start),
            default=None,
        )
        for name in _TABLE_TYPES
    }

    def pad_table(table: FaultTables | None) -> FaultTables:
        table = FaultTables(some[0].key) if table is None else table
        rows: dict[str, Any] = {
            name: _pad_rows(getattr(table, name), wanted) for name, wanted in longest_rows.items()
        }
        return replace(table, longest=longest, **rows)

    return [pad_table(table) for table in tables]


def _pad_rows(rows: FaultRows | None, longest: FaultRows | None) -> FaultRows | None:
    """Return rows padded to the length of others; the added rows never start."""
    if longest is None:
        return None
    have = 0 if rows is None else len(rows.start)
    padding = FaultRows(*(table[have:] for table in vars(longest).values()))
    padding = replace(padding, start=np.full(len(padding.start), NEVER))
    if rows is None:
        return padding
    return FaultRows(
        *(
            np.concatenate(pair)
            for pair in zip(vars(rows).values(), vars(padding).values(), strict=True)
        )
    )
