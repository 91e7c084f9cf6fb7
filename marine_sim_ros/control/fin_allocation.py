# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fin allocation: deflections for a commanded moment; thrusters get the remainder.

At a surge speed u a deflection δ makes a lift ½ ρ u |u| A a δ (a: lift slope), so the moment is
linear in δ, and δ = E⁺ τ / (½ ρ u |u|) (daisy chaining: Durham,
Bordignon & Beck 2017, "Aircraft Control Allocation"). Below u₀ = MIN_SPEED fins are ineffective:
their moment is reduced by (u/u₀)⁴, to 0 at rest.
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

__all__ = ['make_fin_allocation']

MIN_SPEED = 0.3
"""Surge speed u₀ below which fins produce less than the commanded moment, m/s."""
FIN_COUPLING_LIMIT = 0.1
"""Fraction of a moment that fins must produce independently of other moments, or they are not
used for it."""
LOOKAHEAD = 5.0
"""Look-ahead distance Δ of depth control by pitch, m."""
MAX_DIVE_PITCH = 0.4
"""Largest pitch of depth control, rad."""


@dataclass(frozen=True, eq=False)
class FinAllocation:
    """Allocation stage of m fins: deflections for a moment at a speed.

    Attributes:
        effect: (6, m) wrench about the allocation's point per ½ ρ u |u| and radian.
        gain: (m, 6) radians per wrench divided by ½ ρ u |u|.
        lower: (m,) rad.
        upper: (m,) rad.
        density: of the water, kg/m³.
        dives: whether depth is controlled by pitch: without heave thrusters, with fins that pitch.
    """

    effect: np.ndarray
    gain: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    density: float
    dives: bool

    @property
    def axes(self) -> np.ndarray:
        """(6,) axes of the wrench that fins command at speed."""
        return np.any(self.gain != 0, axis=0)

    def allocate(self, wrench: Array, speed: Array) -> tuple[Array, Array]:
        """Return deflections (m,) in rad for a wrench (6,) at a surge speed, and their wrench.

        Args:
            wrench: about the allocation's point, body frame.
            speed: () ahead, m/s.
        """
        xp = namespace(wrench)
        half_density = 0.5 * self.density
        flow = speed * xp.abs(speed)
        speed_squared = xp.maximum(speed * speed, MIN_SPEED**2 + 0.0 * speed)
        unlimited = (constant(xp, self.gain) @ wrench) * (
            flow / (half_density * speed_squared * speed_squared)
        )
        lower, upper = constant(xp, self.lower), constant(xp, self.upper)
        angles = xp.minimum(xp.maximum(unlimited, lower), upper)
        return angles, (constant(xp, self.effect) @ angles) * (half_density * flow)

    def guide(self, setpoint: Array, height: Array) -> Array:
        """Return set-points (12,) with a pitch in place of a depth, if the vehicle dives by pitch.

        Line of sight in the vertical plane: θ = −atan((z_d − z)/Δ), nose down positive, within
            MAX_DIVE_PITCH (Fossen 2011, section 10.3, line-of-sight steering).

        Args:
            setpoint: set-points, NaN where free.
            height: z of the vehicle in map, m.
        """
        if not self.dives:
            return setpoint
        xp = namespace(setpoint)
        free = xp.isnan(setpoint[2:3])
        error = xp.where(free, 0.0 * height, setpoint[2:3] - height)
        pitch = xp.clip(-xp.atan2(error, LOOKAHEAD + 0.0 * error), -MAX_DIVE_PITCH, MAX_DIVE_PITCH)
        pitch = xp.where(free, setpoint[4:5], pitch)
        free_height = 0.0 * height + math.nan
        return xp.concat([setpoint[:2], free_height, setpoint[3:4], pitch, setpoint[5:]])


def _independent_rows(rows: np.ndarray) -> list[int]:
    """Return the rows, in the order yaw, pitch, roll, that fins command independently."""
    independent: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    for axis in (2, 1, 0):
        row = rows[axis]
        remainder = row - basis.T @ (basis @ row)
        size = float(np.linalg.norm(remainder))
        if size > FIN_COUPLING_LIMIT * np.linalg.norm(row) and size > 1e-9:
            independent.append(axis)
            basis = np.vstack([basis, remainder / size])
    return independent


def make_fin_allocation(vehicle: Vehicle) -> FinAllocation:
    """Return the allocation to a vehicle's fins, of wrenches about its centre of mass."""
    fins = fins_of(vehicle)
    assert fins is not None
    center_of_mass = vehicle.inertia.center_of_mass
    ahead = fins.chordwise[:, 0] * np.abs(fins.chordwise[:, 0])
    force = fins.normal_to_chord.T * (fins.area * fins.lift_slope * ahead)
    effect = np.asarray(transport(-center_of_mass).T @ force)
    unit = np.minimum(fins.upper, -fins.lower)
    unit = np.where(unit > 0, unit, np.maximum(fins.upper, -fins.lower))
    independent = _independent_rows(effect[3:] * unit)
    gain = np.zeros((len(fins), 6))
    if independent:
        columns = [3 + axis for axis in independent]
        gain[:, columns] = unit[:, None] * np.linalg.pinv(effect[columns] * unit)
    unreachable = controllability(vehicle.thrusters, center_of_mass).unreachable
    return FinAllocation(
        effect,
        gain,
        fins.lower,
        fins.upper,
        float(vehicle.buoyancy.fluid_density),
        'heave' in unreachable and 1 in independent,
    )
