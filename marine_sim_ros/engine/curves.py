# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Curves of thrusters in compiled programs: the one segment that counts is looked up.

NumPy adds up all segments of a :class:`~marine_sim_ros.core.interpolation.Table`, which is a few
calls. Compiled, that is five operations for each segment of each thruster in every tick; a look-up
is a dozen for all of them, whatever their number. Both give the same but for rounding, and both
give exactly zero where a curve is zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.interpolation import Table
from marine_sim_ros.engine.components import Components, components, joined
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['Curves', 'with_curves']


@dataclass(frozen=True, eq=False)
class Curves(Table):
    """A table of n functions in m segments each: y = y_a + slope (x − anchor), of one of them."""

    @cached_property
    def begins(self) -> np.ndarray:
        """(n, m − 1) where all segments but the first begin; infinite where a row has fewer."""
        start = self.anchor + self.lower
        return np.where(self.upper > self.lower, start, np.inf)[:, 1:]

    @cached_property
    def ends(self) -> np.ndarray:
        """(n, 2) least and largest x; beyond them y stays as it is."""
        real = self.upper > self.lower
        least = np.min(np.where(real, self.anchor + self.lower, np.inf), axis=1)
        most = np.max(np.where(real, self.anchor + self.upper, -np.inf), axis=1)
        return np.stack([least, most], axis=1)

    @cached_property
    def level(self) -> np.ndarray:
        """(n, m) y at the anchors."""
        return np.stack([Table.__call__(self, x) for x in self.anchor.T], axis=1)

    def __call__(self, x: Array) -> Array:
        """Return y (..., n) of x (..., n)."""
        numbers = (self.slope, self.anchor, self.begins, self.ends, self.level)
        if isinstance(x, np.ndarray) or not all(isinstance(v, np.ndarray) for v in numbers):
            return super().__call__(x)
        if not isinstance(x, Components):
            return jnp.moveaxis(self._found(jnp.moveaxis(x, -1, 0)), 0, -1)
        traced = [v for v in x.data.flat if isinstance(v, jax.Array)]
        if x.ndim != 1 or not traced:
            return super().__call__(x)
        batch = jnp.broadcast_shapes(*(v.shape for v in traced))
        return components(self._found(joined(x, batch, traced[0].dtype)), 1)

    def _found(self, x: jax.Array) -> jax.Array:
        """Return y (n, ...) of x (n, ...)."""

        def rows(table: np.ndarray) -> np.ndarray:
            return table.reshape(-1, *(1,) * (x.ndim - 1))

        first = rows(np.arange(len(self.slope)) * self.slope.shape[1])
        place = sum(
            ((x >= rows(column)).astype(jnp.int32) for column in self.begins.T),
            start=jnp.zeros(x.shape, jnp.int32),
        ) + first.astype(np.int32)

        def at(table: np.ndarray) -> jax.Array:
            flat = jnp.asarray(table.reshape(-1), x.dtype)
            return flat.at[place].get(mode='promise_in_bounds')

        inside = jnp.clip(x, rows(self.ends[:, 0]), rows(self.ends[:, 1]))
        return at(self.level) + at(self.slope) * (inside - at(self.anchor))


def _curves_of(table: Table) -> Table:
    numbers = vars(table).values()
    if isinstance(table, Curves) or not all(isinstance(v, np.ndarray) for v in numbers):
        return table  # there already, or traced: then every segment may count
    return Curves(table.base, table.slope, table.anchor, table.lower, table.upper)


def with_curves(vehicle: Vehicle) -> Vehicle:
    """Return a vehicle whose thrusters' curves are looked up when they are traced."""
    thrusters = vehicle.thrusters
    return replace(
        vehicle,
        thrusters=replace(
            thrusters,
            thrust_of_pwm=_curves_of(thrusters.thrust_of_pwm),
            speed_of_thrust=_curves_of(thrusters.speed_of_thrust),
            power_of_thrust=_curves_of(thrusters.power_of_thrust),
        ),
    )
