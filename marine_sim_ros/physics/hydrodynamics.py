# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces on the triangles of a hull: friction, pressure, suction, slamming, air.

Arrays of triangles in, forces (..., 3) in N out, acting at the triangles' centres; normals point
out of the hull, velocities are those of the centres relative to the fluid. Source: the
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
    'air_force',
    'friction_coefficient',
    'incidence_of',
    'normal_push',
    'pressure_force',
    'slamming_damping_coefficient',
    'slamming_force',
    'suction_force',
    'viscous_damping_coefficient',
    'viscous_force',
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


def _incidence(normal: Array, velocity: Array) -> Incidence:
    xp = namespace(velocity)
    return incidence_of(xp.vecdot(velocity, velocity), xp.vecdot(normal, velocity))


def _power(base: Array, exponent: Array) -> Array:
    """Return base^exponent (...) of bases from 0 on, a line below ``GRAZING``."""
    xp = namespace(base)
    safe = xp.maximum(base, GRAZING * xp.ones_like(base))
    return safe**exponent * (base / safe)


def viscous_damping_coefficient(
    area: Array, flow: Incidence, *, friction_coefficient: Array, water_density: Array
) -> Array:
    """Return w (...) in kg/s of the viscous force −w (v − (v·n) n)."""
    xp = namespace(flow.cosine)
    # What is left of a purely normal velocity is rounding, not a direction.
    sine = xp.sqrt(xp.maximum(1 - flow.cosine**2, ABEAM**2 * xp.ones_like(flow.cosine)))
    return 0.5 * water_density * flow.speed * area * friction_coefficient / sine


def normal_push(
    area: Array, speed: Array, facing: Array, *,
    reference: Array, linear: Array, quadratic: Array, exponent: Array,
) -> Array:  # fmt: skip
    """Return (C₁ s + C₂ s²) A facing^f (...) in N, s = |v|/v_ref, facing = |cos θ|."""
    share = speed / reference
    return (linear + quadratic * share) * share * area * _power(facing, exponent)


def slamming_damping_coefficient(
    area: Array, total_area: float, flow: Incidence, acceleration: Array, *,
    mass: float, power: Array, max_acceleration: Array, multiplier: Array,
) -> Array:  # fmt: skip
    """Return w (...) in kg/s of the slamming force −w v."""
    xp = namespace(acceleration, flow.cosine)
    share = xp.maximum(acceleration / max_acceleration, xp.zeros_like(acceleration))
    surge = xp.minimum(share, xp.ones_like(share)) ** power
    facing = xp.maximum(flow.cosine, xp.zeros_like(flow.cosine))
    return surge * facing * area * multiplier * (2 * mass / total_area)


def air_damping_coefficient(
    area: Array, speed: Array, normal_velocity: Array, *, air_density: Array, coefficient: Array
) -> Array:
    """Return w (...) in kg/s of the air's force −w v, for |v| (...) and v·n (...)."""
    xp = namespace(normal_velocity, speed)
    weight = 0.5 * air_density * coefficient * speed * area
    return xp.where(normal_velocity >= 0, weight, xp.zeros_like(weight))


def viscous_force(
    area: Array,
    normal: Array,
    velocity: Array,
    *,
    friction_coefficient: Array,
    water_density: float = 1027.0,
) -> Array:
    """Return −½ ρ |v|² A C_f t̂, with t̂ along the tangential part of v; 0 where there is none.

    Args:
        area: A (...), m².
        normal: n (..., 3), unit, outward.
        velocity: v (..., 3), m/s.
        friction_coefficient: C_f (...) or one number.
        water_density: ρ, kg/m³.
    """
    weight = viscous_damping_coefficient(
        area, _incidence(normal, velocity),
        friction_coefficient=friction_coefficient, water_density=water_density,
    )  # fmt: skip
    tangent = velocity - namespace(velocity).vecdot(velocity, normal)[..., None] * normal
    return -weight[..., None] * tangent


def pressure_force(
    area: Array,
    normal: Array,
    velocity: Array,
    *,
    velocity_reference: float = 1.0,
    C_PD1: float = 10.0,
    C_PD2: float = 10.0,
    f_P: float = 0.5,
) -> Array:
    """Return −(C_PD1 s + C_PD2 s²) A cos^f_P θ n where a triangle faces the flow, else 0.

    Args:
        area: A (...), m².
        normal: n (..., 3), unit, outward.
        velocity: v (..., 3), m/s.
        velocity_reference: v_ref of s = |v|/v_ref, m/s.
        C_PD1: linear coefficient, Pa.
        C_PD2: quadratic coefficient, Pa.
        f_P: exponent of the angle, 0.1 to 1.
    """
    speed, cosine = _incidence(normal, velocity)
    xp = namespace(cosine)
    push = normal_push(
        area, speed, xp.maximum(cosine, xp.zeros_like(cosine)),
        reference=velocity_reference, linear=C_PD1, quadratic=C_PD2, exponent=f_P,
    )  # fmt: skip
    return -push[..., None] * normal


def suction_force(
    area: Array,
    normal: Array,
    velocity: Array,
    *,
    velocity_reference: float = 1.0,
    C_SD1: float = 10.0,
    C_SD2: float = 10.0,
    f_S: float = 0.5,
) -> Array:
    """Return +(C_SD1 s + C_SD2 s²) A |cos θ|^f_S n where a triangle looks back, else 0.

    It pulls outwards at the lee side and so opposes the motion, as the pressure at the luff side
    does: a thin plate feels both. Arguments as for :func:`pressure_force`.
    """
    speed, cosine = _incidence(normal, velocity)
    xp = namespace(cosine)
    pull = normal_push(
        area, speed, xp.maximum(-cosine, xp.zeros_like(cosine)),
        reference=velocity_reference, linear=C_SD1, quadratic=C_SD2, exponent=f_S,
    )  # fmt: skip
    return pull[..., None] * normal


def slamming_force(
    area: Array,
    total_area: float,
    normal: Array,
    velocity: Array,
    acceleration: Array,
    *,
    mass: float,
    power: float = 2.0,
    max_acceleration: float = 10.0,
    multiplier: float = 1.0,
) -> Array:
    """Return −clamp(a/a_max, 0, 1)^p cos θ (2 m v A/A_total) k where a triangle faces the flow.

    The guide's stopping force m v 2A/A_total is a momentum; it is taken over one second.

    Args:
        area: A (...) of the wet part, m².
        total_area: A_total of the hull, m².
        normal: n (..., 3), unit, outward.
        velocity: v (..., 3), m/s.
        acceleration: a (...) of the water swept by the triangle, m/s².
        mass: m of the body, kg.
        power: p, 2 or more.
        max_acceleration: a_max, m/s².
        multiplier: k.
    """
    weight = slamming_damping_coefficient(
        area, total_area, _incidence(normal, velocity), acceleration,
        mass=mass, power=power, max_acceleration=max_acceleration, multiplier=multiplier,
    )  # fmt: skip
    return -weight[..., None] * velocity


def air_force(
    area: Array,
    normal: Array,
    velocity: Array,
    *,
    air_density: float = 1.225,
    coefficient: float = 0.1,
) -> Array:
    """Return −½ ρ_air |v| v A C where a dry triangle faces the air, else 0.

    The whole area counts, not its projection.

    Args:
        area: A (...), m².
        normal: n (..., 3), unit, outward.
        velocity: v (..., 3) relative to the air, m/s.
        air_density: kg/m³.
        coefficient: C, 0 to 2.
    """
    xp = namespace(velocity)
    weight = air_damping_coefficient(
        area, xp.sqrt(xp.vecdot(velocity, velocity)), xp.vecdot(normal, velocity),
        air_density=air_density, coefficient=coefficient,
    )  # fmt: skip
    return -weight[..., None] * velocity
