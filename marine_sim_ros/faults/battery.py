# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A battery that sags: an open-circuit voltage behind a resistance."""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.arrays import Array, namespace

__all__ = ['LEAST', 'Supply', 'battery_voltage']

LEAST = 1.0
"""V; a battery gives no less, however much is drawn."""


class Supply(NamedTuple):
    """A battery's numbers at a tick, () each.

    Attributes:
        on: whether it is there; else the supply has its nominal voltage.
        voltage: open-circuit, full, V.
        empty: open-circuit, empty, V.
        capacity: A h; 0: it is never empty.
        charge: share of the capacity at the start.
        resistance: inside, ohm.
        nominal: of the thrust curves, V.
    """

    on: Array
    voltage: Array
    empty: Array
    capacity: Array
    charge: Array
    resistance: Array
    nominal: Array


def battery_voltage(battery: Supply, current: Array, used: Array) -> Array:
    """Return the voltage (...) at the terminals, V: U = E(q) − R I.

    E falls in a straight line from full to empty with the charge used; that it does is a
    simplification. Source of the circuit: He, Xiong and Fan (2011), "Evaluation of lithium-ion
    battery equivalent circuit models", section 2.1 (Rint model).

    Args:
        battery: its numbers.
        current: I (...), A.
        used: charge (...) since the start, A h.
    """
    xp = namespace(current)
    none = xp.zeros_like(current)
    endless = battery.capacity == 0
    spent = used / xp.where(endless, none + 1.0, none + battery.capacity)
    left = xp.clip(battery.charge - xp.where(endless, none, spent), 0.0, 1.0)
    source = battery.empty + (battery.voltage - battery.empty) * left
    voltage = xp.maximum(source - battery.resistance * current, none + LEAST)
    return xp.where(battery.on, voltage, none + battery.nominal)
