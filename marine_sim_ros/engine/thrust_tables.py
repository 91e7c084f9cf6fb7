# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thruster tables for compiled programs: allocation, pulse widths, thrust and power curves.

NumPy adds up all segments of an :class:`~marine_sim_ros.core.numerics.InterpolationTable` in a few
calls. Compiled, this takes five operations per segment and thruster in every tick; a look-up takes
a dozen in all. Both agree except for rounding, and both give exactly zero where a curve is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.control.allocator import (
    Allocation,
    Allocator,
    complete_allocation,
    group_demands,
)
from marine_sim_ros.control.effectors import ExtendedThrust, PulseWidths, scale_groups
from marine_sim_ros.core.arrays import Array, constant, is_numeric, namespace
from marine_sim_ros.core.numerics import InterpolationTable
from marine_sim_ros.engine.components import Components, accept_arrays, components, join_components
from marine_sim_ros.engine.trees import compute_cached_properties
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import PWM_MIN
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'AllocationTables',
    'ThrusterCurves',
    'allocation_tables',
    'extend_allocation_tables',
    'prepare_vehicle',
    'with_thruster_curves',
]


# From a commanded wrench to pulse widths: the allocator's plans as tables.

BLOCK = 28
"""Thrusts that a search compares at a time: about the square root of 801, the pulse widths from
1100 to 1900 µs."""


@dataclass(frozen=True, eq=False)
class PulseTables:
    """Pulse widths by thrust, see :class:`~marine_sim_ros.control.effectors.PulseWidths`.

    Attributes:
        between: (n, b, k) means of neighbouring thrusts, in blocks, N.
        levels: (n, m) thrusts, N.
        pulses: (n, m) pulse width of each thrust, µs.
        lower: (n,) N.
        upper: (n,) N.
        whole: whether pulse widths are rounded to whole µs; else they are interpolated.
    """

    between: np.ndarray
    levels: np.ndarray
    pulses: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    whole: bool = True

    def quantize(self, thrust: Array) -> tuple[Array, Array]:
        """Return pulse widths (n,) in µs and the thrusts (n,) in N that they produce."""
        if not self.levels.shape[0]:
            return thrust, thrust
        find = _whole_pulses if self.whole else _interpolate_pulses
        pulses_and_thrusts = accept_arrays(find, thrust, self.between, self.levels, self.pulses)
        return pulses_and_thrusts[0], pulses_and_thrusts[1]


def _split_blocks(rows: np.ndarray) -> np.ndarray:
    """Return rows (n, m) in blocks (n, b, k), filled up with infinity."""
    count = -(-rows.shape[1] // BLOCK)
    filled = np.full((len(rows), count * BLOCK), np.inf)
    filled[:, : rows.shape[1]] = rows
    return filled.reshape(len(rows), count, BLOCK)


def pulse_tables(widths: PulseWidths, *, whole_microseconds: bool) -> PulseTables:
    """Return the tables of the thrusters' pulse widths."""
    rows = widths.between if whole_microseconds else widths.levels[:, 1:-1]
    return PulseTables(
        _split_blocks(rows),
        widths.levels,
        widths.pulses,
        widths.lower,
        widths.upper,
        whole_microseconds,
    )


def _count_below(thrust: jax.Array, blocks: jax.Array) -> jax.Array:
    """Count the numbers of each ascending row, in blocks (n, b, k), that are below (n,)."""
    block = jnp.sum(blocks[:, :, -1] < thrust[:, None], axis=1)
    rows = jnp.take_along_axis(blocks, block[:, None, None], axis=1)[:, 0]
    return block * blocks.shape[2] + jnp.sum(rows < thrust[:, None], axis=1)


def _take_at(table: jax.Array, index: jax.Array) -> jax.Array:
    return jnp.take_along_axis(table, index[:, None], axis=1)[:, 0]


def _whole_pulses(
    thrust: jax.Array, blocks: jax.Array, levels: jax.Array, pulses: jax.Array
) -> tuple[jax.Array, jax.Array]:
    index = _count_below(thrust, blocks)
    return _take_at(pulses, index), _take_at(levels, index)


def _interpolate_pulses(
    thrust: jax.Array, blocks: jax.Array, levels: jax.Array, pulses: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return interpolated pulse widths, and the thrusts within the limits, which they produce."""
    del pulses
    index = _count_below(jax.lax.stop_gradient(thrust), blocks)
    low, high = _take_at(levels, index), _take_at(levels, index + 1)
    rises = high > low
    clipped = jnp.clip(thrust, levels[:, 0], levels[:, -1])
    fraction = (clipped - low) / jnp.where(rises, high - low, 1.0)
    return PWM_MIN + index + jnp.where(rises, fraction, 0.0), clipped


def _scaled_demands(
    wrench: jax.Array,
    groups: jax.Array,
    gain: jax.Array,
    unit: jax.Array,
    free: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    concession: float,
    fits: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Return thrusts (n,) of a wrench beyond the limits, in units, and the scales (g,).

    Scales reduce the groups of axes until the thrusts are within their limits.
    """
    demand, cut = group_demands(wrench, groups)
    patterns = (gain @ demand) / unit[:, None]
    fractions, scale = scale_groups(patterns, free, lower, upper, concession, fits < 0.5)
    return fractions, scale * cut


@dataclass(frozen=True, eq=False)
class AllocationTables:
    """Allocation plans (s, ...), one for each segment.

    Each is an :class:`~marine_sim_ros.control.allocator.AllocationPlan` of all thrusters; one that
    is left out has limits of zero. With azimuth thrusters, n is the number of equivalent fixed
    thrusters (:class:`~marine_sim_ros.control.effectors.ExtendedThrust`), except in
    ``left_out`` and ``pulses``.

    Attributes:
        matrix: (s, 6, n).
        gain: (s, n, 6).
        groups: (s, 6, g).
        unit: (s, n).
        lower: (s, n) limits, in units.
        upper: (s, n) limits, in units.
        free: (s, n, d) null space, padded with zeros.
        left_out: (s, n) 1.0 for thrusters that get 1500 µs.
        concession: concession of the allocator.
        pulses: pulse widths of the thrusters.
        min_thrust: (n,) N.
        max_thrust: (n,) N.
        extended: extended thrust of the azimuth thrusters, or None.
    """

    matrix: np.ndarray
    gain: np.ndarray
    groups: np.ndarray
    unit: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    free: np.ndarray
    left_out: np.ndarray
    concession: float
    pulses: PulseTables
    min_thrust: np.ndarray
    max_thrust: np.ndarray
    extended: ExtendedThrust | None = None

    @property
    def tables(self) -> dict[str, Any]:
        """Arrays with a row for each segment, by name."""
        common = ('concession', 'pulses', 'min_thrust', 'max_thrust', 'extended')
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in common}

    def allocate(
        self, wrench: Array, residual: Array, previous: Mapping[str, Array], dt: Any
    ) -> Allocation:
        """Return the commands for a wrench (6,) and a thrust residual (n,), in one segment.

        The tables have no axis of segments here. The result is that of
        :meth:`marine_sim_ros.control.allocator.Allocator.allocate`.
        """
        xp = namespace(wrench)
        lower, upper = constant(xp, self.min_thrust), constant(xp, self.max_thrust)
        unscaled = self.gain @ wrench
        fits = xp.all((lower <= unscaled) & (unscaled <= upper))
        scaled, scale = accept_arrays(
            _scaled_demands,
            wrench,
            self.groups,
            self.gain,
            self.unit,
            self.free,
            self.lower,
            self.upper,
            self.concession,
            fits,
            needed=~fits,
        )
        return complete_allocation(
            wrench,
            xp.where(fits, unscaled, xp.clip(scaled * self.unit, lower, upper)),
            saturated=~fits & xp.any(scale < 1.0),
            matrix=self.matrix,
            pulses=self.pulses,
            left_out=self.left_out > 0.5,
            residual=residual,
            extended=self.extended,
            previous=previous,
            dt=dt,
        )


def allocation_tables(
    allocator: Allocator, failed: Sequence[np.ndarray], *, whole_microseconds: bool
) -> AllocationTables:
    """Return the tables of an allocator for masks (n,) of failed thrusters, one per segment."""
    plans = [allocator.plan(mask) for mask in failed]
    count = len(allocator.lower)
    width = max(plan.free.shape[1] for plan in plans)

    def place_working(values: np.ndarray, working: np.ndarray, rest: float) -> np.ndarray:
        full = np.full((count, *values.shape[1:]), rest)
        full[working] = values
        return full

    def pad(free: np.ndarray) -> np.ndarray:
        return np.pad(free, ((0, 0), (0, width - free.shape[1])))

    return AllocationTables(
        matrix=np.stack([p.matrix for p in plans]),
        gain=np.stack([p.gain for p in plans]),
        groups=np.stack([p.groups for p in plans]),
        unit=np.stack([place_working(p.unit, p.working, 1.0) for p in plans]),
        lower=np.stack([place_working(p.lower, p.working, 0.0) for p in plans]),
        upper=np.stack([place_working(p.upper, p.working, 0.0) for p in plans]),
        free=np.stack([place_working(pad(p.free), p.working, 0.0) for p in plans]),
        left_out=np.stack([np.asarray(mask, float) for mask in failed]),
        concession=allocator.concession,
        pulses=pulse_tables(allocator.pulses, whole_microseconds=whole_microseconds),
        min_thrust=allocator.lower,
        max_thrust=allocator.upper,
        extended=allocator.extended,
    )


def extend_allocation_tables(allocation: AllocationTables, segments: int) -> AllocationTables:
    """Return tables with more segments at their end, copies of the last one."""
    rows: dict[str, Any] = {
        name: np.concatenate([table, np.repeat(table[-1:], segments, axis=0)])
        for name, table in allocation.tables.items()
    }
    return replace(allocation, **rows)


# Piecewise linear curves of thrusters, read by look-up of the segment.


@dataclass(frozen=True, eq=False)
class ThrusterCurves(InterpolationTable):
    """Table of n piecewise linear functions of m segments: y = y_a + slope (x − anchor)."""

    @cached_property
    def begins(self) -> np.ndarray:
        """(n, m − 1) first x of all segments but the first; infinite where a row has fewer."""
        start = self.anchor + self.lower
        return np.where(self.upper > self.lower, start, np.inf)[:, 1:]

    @cached_property
    def ends(self) -> np.ndarray:
        """(n, 2) smallest and largest x of the table; y is constant outside them."""
        real = self.upper > self.lower
        smallest = np.min(np.where(real, self.anchor + self.lower, np.inf), axis=1)
        largest = np.max(np.where(real, self.anchor + self.upper, -np.inf), axis=1)
        return np.stack([smallest, largest], axis=1)

    @cached_property
    def level(self) -> np.ndarray:
        """(n, m) y at the anchors."""
        return np.stack([InterpolationTable.__call__(self, x) for x in self.anchor.T], axis=1)

    def __call__(self, x: Array) -> Array:
        """Return y (..., n) of x (..., n): by look-up where x is traced and the table is not."""
        numbers = (self.slope, self.anchor, self.begins, self.ends, self.level)
        if isinstance(x, np.ndarray) or not all(isinstance(v, np.ndarray) for v in numbers):
            return super().__call__(x)
        if not isinstance(x, Components):
            return jnp.moveaxis(self._look_up(jnp.moveaxis(x, -1, 0)), 0, -1)
        traced = [v for v in x.data.flat if not is_numeric(v)]
        if x.ndim != 1 or not traced:
            return super().__call__(x)
        batch = jnp.broadcast_shapes(*(v.shape for v in traced))
        return components(self._look_up(join_components(x, batch, traced[0].dtype)), 1)

    def _look_up(self, x: jax.Array) -> jax.Array:
        """Return y (n, ...) of x (n, ...)."""

        def as_column(table: np.ndarray) -> np.ndarray:
            return table.reshape(-1, *(1,) * (x.ndim - 1))

        first = as_column(np.arange(len(self.slope)) * self.slope.shape[1])
        segment = sum(
            ((x >= as_column(column)).astype(jnp.int32) for column in self.begins.T),
            start=jnp.zeros(x.shape, jnp.int32),
        ) + first.astype(np.int32)

        def select(table: np.ndarray) -> jax.Array:
            flat = jnp.asarray(table.reshape(-1), x.dtype)
            return flat.at[segment].get(mode='promise_in_bounds')

        inside = jnp.clip(x, as_column(self.ends[:, 0]), as_column(self.ends[:, 1]))
        return select(self.level) + select(self.slope) * (inside - select(self.anchor))


def _tabulate_curves(table: InterpolationTable) -> InterpolationTable:
    numbers = vars(table).values()
    if isinstance(table, ThrusterCurves) or not all(isinstance(v, np.ndarray) for v in numbers):
        return table  # converted already, or traced: then the sum of all segments is needed
    return ThrusterCurves(table.base, table.slope, table.anchor, table.lower, table.upper)


def with_thruster_curves(vehicle: Vehicle) -> Vehicle:
    """Return a vehicle whose thrusters' curves are looked up when they are traced."""
    thrusters = vehicle.thrusters
    propellers = thrusters.propellers
    if propellers is not None:
        propellers = replace(
            propellers,
            thrust_of_angle=_tabulate_curves(propellers.thrust_of_angle),
            torque_of_angle=_tabulate_curves(propellers.torque_of_angle),
        )
    return replace(
        vehicle,
        thrusters=replace(
            thrusters,
            thrust_of_pwm=_tabulate_curves(thrusters.thrust_of_pwm),
            speed_of_thrust=_tabulate_curves(thrusters.speed_of_thrust),
            power_of_thrust=_tabulate_curves(thrusters.power_of_thrust),
            propellers=propellers,
        ),
    )


def prepare_vehicle(vehicle: Vehicle, environment: Environment) -> Vehicle:
    """Return a vehicle with curves to trace, its constants and its look-up tables computed."""
    prepared = compute_cached_properties(with_thruster_curves(vehicle))
    if environment.scene is not None and len(environment.scene):
        _ = prepared.contact  # a cached property that only a scene has a use for
    return prepared
