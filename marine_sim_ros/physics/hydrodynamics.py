# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces on the triangles of a hull: friction, pressure, suction, slamming, air.

Arrays of triangles in, forces in N or their damping coefficients in kg/s out, acting at the
triangles' centres; normals n point out of the hull, velocities v are those of the centres relative
to the fluid, areas A in m². Source: the
hydrodynamics guide of the Unity ROS 2 robot simulator; defaults are the guide's. Its coefficients
C multiply a dimensionless speed, so they are pressures, in Pa.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace

__all__ = [
    'MIN_REYNOLDS',
    'Incidence',
    'air_damping_coefficient',
    'friction_coefficient',
    'incidence_of',
    'normal_push',
    'slamming_damping_coefficient',
    'viscous_damping_coefficient',
]

MIN_REYNOLDS = 1e4
"""Floor of the Reynolds number: the friction line has a pole at 100 and means nothing near it."""
GRAZING = 1e-6
"""cos θ below which a push is a line: a power below 1 has no slope at 0 and amplifies rounding."""
ABEAM = 1e-4
"""sin θ below which friction fades: along a face that is met head-on there is no flow."""


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


def incidence_of(square: Array, normal_velocity: Array) -> Incidence:
    """Return the incidence for v² (...) and v·n (...); cos θ is 0 where nothing moves."""
    xp = namespace(square)
    speed = xp.sqrt(square)
    moves = speed > 0
    return Incidence(speed, normal_velocity / xp.where(moves, speed, xp.ones_like(speed)))


def _power(base: Array, exponent: Array) -> Array:
    """Return base^exponent (...) of bases from 0 on, a line below ``GRAZING``."""
    xp = namespace(base)
    safe = xp.maximum(base, GRAZING * xp.ones_like(base))
    return safe**exponent * (base / safe)


def viscous_damping_coefficient(
    area: Array, flow: Incidence, *, friction_coefficient: Array, water_density: Array
) -> Array:
    """Return w (...) in kg/s of the viscous force −w (v − (v·n) n) = −½ ρ |v|² A C_f t̂."""
    xp = namespace(flow.cosine)
    # What is left of a purely normal velocity is rounding, not a direction.
    sine = xp.sqrt(xp.maximum(1 - flow.cosine**2, ABEAM**2 * xp.ones_like(flow.cosine)))
    return 0.5 * water_density * flow.speed * area * friction_coefficient / sine


def normal_push(
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
    return (linear + quadratic * share) * share * area * _power(facing, exponent)


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
