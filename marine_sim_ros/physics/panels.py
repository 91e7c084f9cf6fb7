# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hull panels: the cut at the water surface; coefficients of friction, pressure, slamming, air.

Arrays over panels have the panel last, (..., 3, n) for vectors: sums over few components of many
panels are fast that way.

Functions take arrays of triangles and return forces in N or damping coefficients in kg/s, acting
at the triangles' centres. Normals n point out of the hull, velocities v are those of the centres
relative to the fluid, areas A are in m². Source: the hydrodynamics guide of the Unity ROS 2 robot
simulator; defaults are the guide's. Its coefficients C multiply a dimensionless speed, so they are
pressures, in Pa.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace

__all__ = [
    'Incidence',
    'air_damping_coefficient',
    'cut_panels',
    'dry_remainder',
    'flow_incidence',
    'friction_coefficient',
    'interpolate_cut',
    'normal_pressure_force',
    'panel_wrenches',
    'slamming_damping_coefficient',
    'total_wrench',
    'viscous_damping_coefficient',
]


# Cut of hull panels at the water surface into a wet and a dry part.


class PanelCut(NamedTuple):
    """Wet parts of triangles as weights w of their corners.

    The sum of the weights is the wet fraction of the triangle's area. The mean of a linear field
    over the wet part is Σ w · corner value / fraction. The dry part has the weights 1/3 − w.

    Attributes:
        wet: three arrays (...), one per corner.
    """

    wet: tuple[Array, Array, Array]

    @property
    def wet_fraction(self) -> Array:
        """(...) 0 to 1."""
        return self.wet[0] + self.wet[1] + self.wet[2]


def cut_panels(heights: Array) -> PanelCut:
    """Cut triangles where the height of their corners above the water changes sign.

    An edge from a to b is cut at t_ab = h_a/(h_a − h_b). One corner is on the other side than the
    two others; the cut edges from it form a tip triangle with the fraction t_ab t_ac of the area.
    Exact for a surface that is plane across the triangle; a corner on it counts as wet.

    Args:
        heights: (..., 3, n) of the corners above the water, m: corner, triangle.
    """
    xp = namespace(heights)

    def roll(values: Array, by: int) -> Array:
        """Return the values of the next corners, or for 2 of the previous ones."""
        return xp.concat([values[..., by:, :], values[..., :by, :]], axis=-2)

    wet, other = heights <= 0, roll(heights, 1)
    cut = wet != (other <= 0)
    one = xp.ones_like(heights)
    t = heights / xp.where(cut, heights - other, one)
    t_next = xp.where(cut, t, 0 * one)  # t of the edges to the next and to the previous corner
    t_previous = roll(xp.where(cut, 1 - t, 0 * one), 2)
    tip = t_next * t_previous / 3  # all but one are 0
    next_weight, previous_weight = tip * t_next, tip * t_previous  # of the next corners
    own = 3 * tip - next_weight - previous_weight
    weight = own + roll(next_weight, 2) + roll(previous_weight, 1)
    pairs = wet & roll(wet, 1)
    mostly_wet = pairs[..., :1, :] | pairs[..., 1:2, :] | pairs[..., 2:, :]
    weight = xp.where(mostly_wet, 1 / 3 - weight, weight)
    return PanelCut((weight[..., 0, :], weight[..., 1, :], weight[..., 2, :]))


_EMPTY_FRACTION = 1e-12
"""Area fraction below which a part counts as empty."""


def interpolate_cut(weights: tuple[Array, Array, Array], fraction: Array, values: Array) -> Array:
    """Return the mean (..., k, n) over each part of a field at the corners (..., 3, k, n).

    For an empty part it is the mean of the corners, so that the result stays finite.
    """
    xp = namespace(fraction)
    empty = fraction < _EMPTY_FRACTION
    third = xp.ones_like(fraction) / 3
    w0, w1, w2 = (xp.where(empty, third, w)[..., None, :] for w in weights)
    total = w0 * values[..., 0, :, :] + w1 * values[..., 1, :, :] + w2 * values[..., 2, :, :]
    return total / xp.where(empty, xp.ones_like(fraction), fraction)[..., None, :]


def dry_remainder(middle: Array, wet_fraction: Array, center: Array) -> tuple[Array, Array]:
    """Return the fraction (..., n) and the centre (..., 3, n) of the complement of a part.

    The centre of an empty complement is that of the triangle.

    Args:
        middle: (..., 3, n) centres of the triangles.
        wet_fraction: (..., n) of the part.
        center: (..., 3, n) of the part.
    """
    xp = namespace(wet_fraction)
    dry_fraction = 1 - wet_fraction
    empty = (dry_fraction < _EMPTY_FRACTION)[..., None, :]
    dry_moment = xp.where(empty, middle, middle - wet_fraction[..., None, :] * center)
    return dry_fraction, dry_moment / xp.where(
        empty, xp.ones_like(dry_moment), dry_fraction[..., None, :]
    )


def panel_wrenches(points: Array, vectors: Array) -> Array:
    """Return [v; r × v] (..., 6, n) of vectors (..., 3, n) at points (..., 3, n)."""
    xp = namespace(vectors)
    x, y, z = points[..., 0, :], points[..., 1, :], points[..., 2, :]
    u, v, w = vectors[..., 0, :], vectors[..., 1, :], vectors[..., 2, :]
    moment = xp.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-2)
    return xp.concat([vectors + xp.zeros_like(moment), moment], axis=-2)


def total_wrench(points: Array, forces: Array) -> Array:
    """Return Σ [f; r × f] (..., 6) of forces (..., 3, n) at points (..., 3, n)."""
    dot = namespace(forces).vecdot
    x, y, z = points[..., 0, :], points[..., 1, :], points[..., 2, :]
    u, v, w = forces[..., 0, :], forces[..., 1, :], forces[..., 2, :]
    xp = namespace(forces)
    torque = (dot(y, w) - dot(z, v), dot(z, u) - dot(x, w), dot(x, v) - dot(y, u))
    return xp.concat([xp.sum(forces, axis=-1), xp.stack(torque, axis=-1)], axis=-1)


# Forces on the triangles of a hull: friction, pressure, suction, slamming, air.

MIN_REYNOLDS = 1e4
"""Floor of the Reynolds number: the friction line has a pole at 100 and is invalid near it."""
GRAZING_COSINE = 1e-6
"""cos θ below which pressure is linear: a power below 1 has an infinite slope at 0."""
HEAD_ON_SINE = 1e-4
"""sin θ below which friction fades: a face normal to the flow has no tangential flow."""


def friction_coefficient(reynolds: Array) -> Array:
    """Return C_f = 0.075/(log₁₀ Rn − 2)² (ITTC 1957) for Reynolds numbers (...), 10⁴ at least."""
    if isinstance(reynolds, int | float):
        return float(friction_coefficient(np.asarray(float(reynolds))))
    xp = namespace(reynolds)
    return 0.075 / (xp.log10(xp.maximum(reynolds * 1.0, MIN_REYNOLDS)) - 2) ** 2


class Incidence(NamedTuple):
    """How the flow meets triangles: |v| (...) in m/s and cos θ (...) between normal and v."""

    speed: Array
    cosine: Array


def flow_incidence(square: Array, normal_velocity: Array) -> Incidence:
    """Return the incidence for v² (...) and v·n (...); cos θ is 0 where nothing moves."""
    xp = namespace(square)
    speed = xp.sqrt(square)
    moves = speed > 0
    return Incidence(speed, normal_velocity / xp.where(moves, speed, xp.ones_like(speed)))


def _smooth_power(base: Array, exponent: Array) -> Array:
    """Return base^exponent (...) of bases from 0 on, a line below ``GRAZING``."""
    xp = namespace(base)
    safe = xp.maximum(base, GRAZING_COSINE * xp.ones_like(base))
    return safe**exponent * (base / safe)


def viscous_damping_coefficient(
    area: Array, flow: Incidence, *, friction_coefficient: Array, water_density: Array
) -> Array:
    """Return w (...) in kg/s of the viscous force −w (v − (v·n) n) = −½ ρ |v|² A C_f t̂."""
    xp = namespace(flow.cosine)
    # What is left of a purely normal velocity is rounding, not a direction.
    sine = xp.sqrt(xp.maximum(1 - flow.cosine**2, HEAD_ON_SINE**2 * xp.ones_like(flow.cosine)))
    return 0.5 * water_density * flow.speed * area * friction_coefficient / sine


def normal_pressure_force(
    area: Array,
    speed: Array,
    facing: Array,
    *,
    reference: Array,
    linear: Array,
    quadratic: Array,
    exponent: Array,
) -> Array:
    """Return (C₁ s + C₂ s²) A facing^f (...) in N, s = |v|/v_ref, facing = |cos θ|.

    The pressure is that along −n where a triangle faces the flow (cos θ > 0); the suction along +n
    where it looks back: it opposes the motion too, so that a thin plate feels both.
    """
    share = speed / reference
    return (linear + quadratic * share) * share * area * _smooth_power(facing, exponent)


def slamming_damping_coefficient(
    area: Array,
    total_area: float,
    flow: Incidence,
    acceleration: Array,
    *,
    mass: float,
    power: Array,
    max_acceleration: Array,
    multiplier: Array,
) -> Array:
    """Return w = clamp(a/a_max, 0, 1)^p cos θ (2 m A/A_total) k (...) in kg/s of the force −w v.

    It is 0 where a triangle looks back. a is the acceleration (...) of the water that it sweeps,
    m/s². The guide's stopping force m v 2A/A_total is a momentum; it is taken over one second.
    """
    xp = namespace(acceleration, flow.cosine)
    share = xp.maximum(acceleration / max_acceleration, xp.zeros_like(acceleration))
    surge = xp.minimum(share, xp.ones_like(share)) ** power
    facing = xp.maximum(flow.cosine, xp.zeros_like(flow.cosine))
    return surge * facing * area * multiplier * (2 * mass / total_area)


def air_damping_coefficient(
    area: Array, speed: Array, normal_velocity: Array, *, air_density: Array, coefficient: Array
) -> Array:
    """Return w = ½ ρ |v| A C (...) in kg/s of the air's force −w v, for |v| (...) and v·n (...).

    It is 0 where a triangle looks back; the whole area counts, not its projection.
    """
    xp = namespace(normal_velocity, speed)
    weight = 0.5 * air_density * coefficient * speed * area
    return xp.where(normal_velocity >= 0, weight, xp.zeros_like(weight))
