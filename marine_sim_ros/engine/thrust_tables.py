# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusters in compiled programs: allocation, pulse widths and curves as tables.

NumPy adds up all segments of a :class:`~marine_sim_ros.core.numerics.InterpolationTable`, which
is a few calls. Compiled, that is five operations for each segment of each thruster in every tick;
a look-up is a dozen for all of them, whatever their number. Both give the same but for rounding,
and both give exactly zero where a curve is zero.
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
from marine_sim_ros.control.controllability import ExtendedThrust
from marine_sim_ros.control.thrust_limits import PulseWidths, scale_groups
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.numerics import InterpolationTable
from marine_sim_ros.engine.components import Components, accept_arrays, components, join_components
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import PWM_MIN

__all__ = [
    'AllocationTables',
    'ThrusterCurves',
    'allocation_tables',
    'extend_allocation_tables',
    'with_thruster_curves',
]


# From a commanded wrench to pulse widths, traced: the allocator's plans as tables.

BLOCK = 28
"""Thrusts that a search compares at a time: about the root of how many there are."""


@dataclass(frozen=True, eq=False)
class PulseTables:
    """Pulse widths for thrusts, see :class:`~marine_sim_ros.control.thrust_limits.PulseWidths`.

    Attributes:
        between: (n, b, k) halfway from each thrust to the next, in blocks, N.
        levels: (n, m) thrusts, N.
        pulses: (n, m) the pulse width that stands for each, µs.
        lower: (n,) N.
        upper: (n,) N.
        whole: whether pulse widths are whole µs; else they follow the curve between them.
    """

    between: np.ndarray
    levels: np.ndarray
    pulses: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    whole: bool = True

    def quantize(self, thrust: Array) -> tuple[Array, Array]:
        """Return pulse widths (n,) in µs and the thrusts (n,) in N that they make."""
        if not self.levels.shape[0]:
            return thrust, thrust
        find = _whole_pulses if self.whole else _interpolate_pulses
        found = accept_arrays(find, thrust, self.between, self.levels, self.pulses)
        return found[0], found[1]


def _split_blocks(rows: np.ndarray) -> np.ndarray:
    """Return rows (n, m) in blocks (n, b, k), filled up with infinity."""
    count = -(-rows.shape[1] // BLOCK)
    filled = np.full((len(rows), count * BLOCK), np.inf)
    filled[:, : rows.shape[1]] = rows
    return filled.reshape(len(rows), count, BLOCK)


def pulse_tables(widths: PulseWidths, *, whole: bool) -> PulseTables:
    """Return the tables of a vehicle's pulse widths."""
    rows = widths.between if whole else widths.levels[:, 1:-1]
    return PulseTables(
        _split_blocks(rows), widths.levels, widths.pulses, widths.lower, widths.upper, whole
    )


def _count_below(thrust: jax.Array, blocks: jax.Array) -> jax.Array:
    """Count the numbers of each row's blocks (n, b, k), which rise, that are below (n,)."""
    block = jnp.sum(blocks[:, :, -1] < thrust[:, None], axis=1)
    rows = jnp.take_along_axis(blocks, block[:, None, None], axis=1)[:, 0]
    return block * blocks.shape[2] + jnp.sum(rows < thrust[:, None], axis=1)


def _take_at(table: jax.Array, place: jax.Array) -> jax.Array:
    return jnp.take_along_axis(table, place[:, None], axis=1)[:, 0]


def _whole_pulses(
    thrust: jax.Array, blocks: jax.Array, levels: jax.Array, pulses: jax.Array
) -> tuple[jax.Array, jax.Array]:
    place = _count_below(thrust, blocks)
    return _take_at(pulses, place), _take_at(levels, place)


def _interpolate_pulses(
    thrust: jax.Array, blocks: jax.Array, levels: jax.Array, pulses: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return pulse widths on the line from one thrust to the next; they make what is wanted."""
    del pulses
    place = _count_below(jax.lax.stop_gradient(thrust), blocks)
    low, high = _take_at(levels, place), _take_at(levels, place + 1)
    rises = high > low
    wanted = jnp.clip(thrust, levels[:, 0], levels[:, -1])
    share = (wanted - low) / jnp.where(rises, high - low, 1.0)
    return PWM_MIN + place + jnp.where(rises, share, 0.0), wanted


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
    """Return the thrusts (n,) of a wrench that does not fit, of the limits, and scales (g,)."""
    demand, cut = group_demands(wrench, groups)
    patterns = (gain @ demand) / unit[:, None]
    shares, scale = scale_groups(patterns, free, lower, upper, concession, fits < 0.5)
    return shares, scale * cut


@dataclass(frozen=True, eq=False)
class AllocationTables:
    """Plans of the allocation, (s, ...), one for each segment.

    Each is an :class:`~marine_sim_ros.control.allocator.AllocationPlan`.
    All thrusters are in them; one that is left out has limits of zero. With k that turn n counts
    the ``fixed_equivalent_thrusters`` of :mod:`~marine_sim_ros.control.controllability`, but in
    ``left_out`` and ``pulses``.

    Attributes:
        matrix: (s, 6, n).
        gain: (s, n, 6).
        groups: (s, 6, g).
        unit: (s, n).
        lower: (s, n) shares.
        upper: (s, n) shares.
        free: (s, n, d), filled up with zeros.
        left_out: (s, n) 1.0 for thrusters that get 1500 µs.
        concession: concession of the allocator.
        pulses: pulse widths of the thrusters.
        least: (n,) N.
        most: (n,) N.
        extended: of the thrusters that turn, or None.
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
    least: np.ndarray
    most: np.ndarray
    extended: ExtendedThrust | None = None

    @property
    def tables(self) -> dict[str, Any]:
        """What differs from segment to segment, by name."""
        rest = ('concession', 'pulses', 'least', 'most', 'extended')
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in rest}

    def share(
        self, wrench: Array, residual: Array, before: Mapping[str, Array], dt: Any
    ) -> Allocation:
        """Return the commands for a wrench (6,) and thrusts (n,) that are owed, in one segment.

        It is what :meth:`marine_sim_ros.control.allocator.Allocator.allocate` returns, of plans
        without the axis of segments.
        """
        xp = namespace(wrench)
        lower, upper = constant(xp, self.least), constant(xp, self.most)
        plain = self.gain @ wrench
        fits = xp.all((lower <= plain) & (plain <= upper))
        found, scale = accept_arrays(
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
            xp.where(fits, plain, xp.clip(found * self.unit, lower, upper)),
            saturated=~fits & xp.any(scale < 1.0),
            matrix=self.matrix,
            pulses=self.pulses,
            left_out=self.left_out > 0.5,
            residual=residual,
            extended=self.extended,
            before=before,
            dt=dt,
        )


def allocation_tables(
    allocator: Allocator, failed: Sequence[np.ndarray], *, whole: bool
) -> AllocationTables:
    """Return the tables of an allocator for masks (n,) of failed thrusters, one per segment."""
    plans = [allocator.plan(mask) for mask in failed]
    count = len(allocator.lower)
    width = max(plan.free.shape[1] for plan in plans)

    def spread(values: np.ndarray, working: np.ndarray, rest: float) -> np.ndarray:
        full = np.full((count, *values.shape[1:]), rest)
        full[working] = values
        return full

    def pad(free: np.ndarray) -> np.ndarray:
        return np.pad(free, ((0, 0), (0, width - free.shape[1])))

    return AllocationTables(
        matrix=np.stack([p.matrix for p in plans]),
        gain=np.stack([p.gain for p in plans]),
        groups=np.stack([p.groups for p in plans]),
        unit=np.stack([spread(p.unit, p.working, 1.0) for p in plans]),
        lower=np.stack([spread(p.lower, p.working, 0.0) for p in plans]),
        upper=np.stack([spread(p.upper, p.working, 0.0) for p in plans]),
        free=np.stack([spread(pad(p.free), p.working, 0.0) for p in plans]),
        left_out=np.stack([np.asarray(mask, float) for mask in failed]),
        concession=allocator.concession,
        pulses=pulse_tables(allocator.pulses, whole=whole),
        least=allocator.lower,
        most=allocator.upper,
        extended=allocator.extended,
    )


def extend_allocation_tables(allocation: AllocationTables, segments: int) -> AllocationTables:
    """Return tables with more segments at their end, all as the last one."""
    rows: dict[str, Any] = {
        name: np.concatenate([table, np.repeat(table[-1:], segments, axis=0)])
        for name, table in allocation.tables.items()
    }
    return replace(allocation, **rows)


# Curves of thrusters in compiled programs: the one segment that counts is looked up.


@dataclass(frozen=True, eq=False)
class ThrusterCurves(InterpolationTable):
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
        return np.stack([InterpolationTable.__call__(self, x) for x in self.anchor.T], axis=1)

    def __call__(self, x: Array) -> Array:
        """Return y (..., n) of x (..., n)."""
        numbers = (self.slope, self.anchor, self.begins, self.ends, self.level)
        if isinstance(x, np.ndarray) or not all(isinstance(v, np.ndarray) for v in numbers):
            return super().__call__(x)
        if not isinstance(x, Components):
            return jnp.moveaxis(self._look_up(jnp.moveaxis(x, -1, 0)), 0, -1)
        traced = [v for v in x.data.flat if isinstance(v, jax.Array)]
        if x.ndim != 1 or not traced:
            return super().__call__(x)
        batch = jnp.broadcast_shapes(*(v.shape for v in traced))
        return components(self._look_up(join_components(x, batch, traced[0].dtype)), 1)

    def _look_up(self, x: jax.Array) -> jax.Array:
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


def _tabulate_curves(table: InterpolationTable) -> InterpolationTable:
    numbers = vars(table).values()
    if isinstance(table, ThrusterCurves) or not all(isinstance(v, np.ndarray) for v in numbers):
        return table  # there already, or traced: then every segment may count
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
