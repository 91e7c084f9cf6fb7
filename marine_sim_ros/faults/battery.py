# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A battery that sags: an open-circuit voltage behind a resistance."""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.model.supply import POWER_EXPONENT

__all__ = ['Supply', 'battery_voltage']

_STEPS = 5
"""Of Newton's method; what is left is rounding, from no load to one that takes all."""


class Supply(NamedTuple):
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


def battery_voltage(battery: Supply, load: Array, used: Array) -> Array:
    """Return the voltage U (...) at the terminals, V: U = E(q) − R I with I = P₀ (U/U₀)^b / U.

    Newton's method starts from what a resistor would get that draws I at U = E. E falls in a
    straight line from full to empty with the charge used; that it does is a simplification.
    Source of the circuit: He, Xiong and Fan (2011), "Evaluation of lithium-ion battery equivalent
    circuit models", section 2.1 (Rint model).

    Args:
        battery: numbers of the battery.
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
    share = source / (1 + drop * source ** (power - 1))
    for _ in range(_STEPS):
        excess = share + drop * share**power - source
        share = share - excess / (1 + power * drop * share ** (power - 1))
    return xp.where(battery.on, share, none + 1.0) * battery.nominal
