# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins in the allocation: they take what they can of a moment, thrusters get the rest.

At a surge speed u a deflection δ makes ½ ρ u |u| A a δ across its chord (a the lift slope), so
the moment is linear in δ, and δ = E⁺ τ / (½ ρ u |u|) makes it (daisy chaining: Durham,
Bordignon & Beck 2017, "Aircraft Control Allocation"). Below SLOWEST = u₀ fins are worth little:
there they take (u/u₀)⁴ of the moment, and at rest they let go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.fins import fins_of

__all__ = ['FinAllocation', 'make_fin_allocation']

MIN_SPEED = 0.3
"""m/s ahead below which fins take less than the whole moment."""
FIN_COUPLING_LIMIT = 0.1
"""Share of a moment that fins have to make apart from the others, or they leave it alone."""
LOOKAHEAD = 5.0
"""m ahead at which a vehicle that dives by its pitch is to be at its depth."""
MAX_DIVE_PITCH = 0.4
"""rad that it pitches for a depth."""


@dataclass(frozen=True, eq=False)
class FinAllocation:
    """From a moment to deflections (m,) at a speed: a stage of the allocation.

    Attributes:
        effect: (6, m) wrench about the allocation's point per ½ ρ u |u| and radian.
        gain: (m, 6) radians per that of a wrench.
        lower: (m,) rad.
        upper: (m,) rad.
        density: kg/m³.
        dives: whether depth is held by pitch: no thruster heaves, and fins pitch.
    """

    effect: np.ndarray
    gain: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    density: float
    dives: bool

    @property
    def axes(self) -> np.ndarray:
        """(6,) of the wrench that fins make at speed."""
        return np.any(self.gain != 0, axis=0)

    def share(self, wrench: Array, speed: Array) -> tuple[Array, Array]:
        """Return deflections (m,) in rad for a wrench (6,) at a surge speed, and what they make.

        Args:
            wrench: about the allocation's point, body frame.
            speed: () ahead, m/s.
        """
        xp = namespace(wrench)
        half = 0.5 * self.density
        flow = speed * xp.abs(speed)
        square = xp.maximum(speed * speed, MIN_SPEED**2 + 0.0 * speed)
        wanted = (constant(xp, self.gain) @ wrench) * (flow / (half * square * square))
        lower, upper = constant(xp, self.lower), constant(xp, self.upper)
        angles = xp.minimum(xp.maximum(wanted, lower), upper)
        return angles, (constant(xp, self.effect) @ angles) * (half * flow)

    def guide(self, wanted: Array, height: Array) -> Array:
        """Return set-points (12,) with a pitch in place of a depth, where the vehicle dives so.

        Line of sight in the vertical plane: θ = −atan((z_d − z)/Δ), nose down positive, within
        STEEPEST (Fossen 2011, section 10.3, line-of-sight steering).

        Args:
            wanted: set-points, NaN where free.
            height: z of the vehicle in map, m.
        """
        if not self.dives:
            return wanted
        xp = namespace(wanted)
        free = xp.isnan(wanted[2:3])
        error = xp.where(free, 0.0 * height, wanted[2:3] - height)
        pitch = xp.clip(-xp.atan2(error, LOOKAHEAD + 0.0 * error), -MAX_DIVE_PITCH, MAX_DIVE_PITCH)
        pitch = xp.where(free, wanted[4:5], pitch)
        none = 0.0 * height + math.nan
        return xp.concat([wanted[:2], none, wanted[3:4], pitch, wanted[5:]])


def _independent_rows(rows: np.ndarray) -> list[int]:
    """Return the rows of yaw, pitch, roll (2, 1, 0) that fins make apart from the others."""
    kept: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    for axis in (2, 1, 0):
        row = rows[axis]
        rest = row - basis.T @ (basis @ row)
        size = float(np.linalg.norm(rest))
        if size > FIN_COUPLING_LIMIT * np.linalg.norm(row) and size > 1e-9:
            kept.append(axis)
            basis = np.vstack([basis, rest / size])
    return kept


def make_fin_allocation(vehicle: Vehicle) -> FinAllocation:
    """Return the allocation to a vehicle's fins, of wrenches about its centre of mass."""
    fins = fins_of(vehicle)
    assert fins is not None
    about = vehicle.inertia.center_of_mass
    ahead = fins.chordwise[:, 0] * np.abs(fins.chordwise[:, 0])
    force = fins.normal_to_chord.T * (fins.area * fins.lift_slope * ahead)
    effect = np.asarray(transport(-about).T @ force)
    unit = np.minimum(fins.upper, -fins.lower)
    unit = np.where(unit > 0, unit, np.maximum(fins.upper, -fins.lower))
    kept = _independent_rows(effect[3:] * unit)
    gain = np.zeros((len(fins), 6))
    if kept:
        columns = [3 + axis for axis in kept]
        gain[:, columns] = unit[:, None] * np.linalg.pinv(effect[columns] * unit)
    lost = controllability(vehicle.thrusters, about).unreachable
    return FinAllocation(
        effect,
        gain,
        fins.lower,
        fins.upper,
        float(vehicle.buoyancy.fluid_density),
        'heave' in lost and 1 in kept,
    )
