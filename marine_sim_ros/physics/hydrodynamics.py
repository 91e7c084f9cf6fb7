# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces on the triangles of a hull: friction, pressure, suction, slamming, air.

Arrays of triangles in, forces (..., 3) in N out, acting at the triangles' centres; normals point
out of the hull, velocities are those of the centres relative to the fluid. Source: the
hydrodynamics guide of the Unity ROS 2 robot simulator; defaults are the guide's. Its coefficients
C multiply a dimensionless speed, so they are pressures, in Pa.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.arrays import Array, namespace

__all__ = [
    'MIN_REYNOLDS', 'air_force', 'friction_coefficient', 'pressure_force', 'slamming_force',
    'suction_force', 'viscous_force',
]  # fmt: skip

MIN_REYNOLDS = 1e4
"""Floor of the Reynolds number: the friction line has a pole at 100 and means nothing near it."""


def friction_coefficient(reynolds: Array) -> Array:
    """Return C_f = 0.075/(log₁₀ Rn − 2)² (ITTC 1957) for Reynolds numbers (...), 10⁴ at least."""
    if isinstance(reynolds, int | float):
        return float(friction_coefficient(np.asarray(float(reynolds))))
    xp = namespace(reynolds)
    return 0.075 / (xp.log10(xp.maximum(reynolds * 1.0, MIN_REYNOLDS)) - 2) ** 2


def _speed(velocity: Array) -> Array:
    """Return |v| (...)."""
    xp = namespace(velocity)
    return xp.sqrt(xp.vecdot(velocity, velocity))


def _unit(vector: Array) -> Array:
    """Return vectors (..., 3) of length 1; zero stays zero."""
    xp = namespace(vector)
    length = _speed(vector)
    safe = xp.where(length > 0, length, xp.ones_like(length))
    return vector / safe[..., None]


def _cosine(normal: Array, velocity: Array) -> Array:
    """Return cos θ between normal and velocity (...), 0 where nothing moves."""
    return namespace(velocity).vecdot(normal, _unit(velocity))


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
    xp = namespace(velocity)
    tangent = velocity - xp.vecdot(velocity, normal)[..., None] * normal
    speed = _speed(velocity)
    # What is left of a purely normal velocity is rounding, not a direction.
    slides = _speed(tangent) > 1e-12 * speed
    size = 0.5 * water_density * speed**2 * area * friction_coefficient
    size = xp.where(slides, size, xp.zeros_like(size))
    return -size[..., None] * _unit(tangent)


def _normal_pressure(speed: Array, linear: float, quadratic: float, reference: float) -> Array:
    """Return C₁ s + C₂ s² (...) in Pa, s = |v|/v_ref."""
    share = speed / reference
    return linear * share + quadratic * share**2


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
    xp = namespace(velocity)
    facing = xp.maximum(_cosine(normal, velocity), 0.0) ** f_P
    pressure = _normal_pressure(_speed(velocity), C_PD1, C_PD2, velocity_reference)
    return -(pressure * area * facing)[..., None] * normal


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
    xp = namespace(velocity)
    averted = xp.maximum(-_cosine(normal, velocity), 0.0) ** f_S
    pressure = _normal_pressure(_speed(velocity), C_SD1, C_SD2, velocity_reference)
    return (pressure * area * averted)[..., None] * normal


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
    xp = namespace(velocity)
    surge = xp.minimum(xp.maximum(acceleration * 1.0 / max_acceleration, 0.0), 1.0) ** power
    facing = xp.maximum(_cosine(normal, velocity), 0.0)
    share = 2 * mass * multiplier * area / total_area
    return -(surge * facing * share)[..., None] * velocity


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
    size = 0.5 * air_density * coefficient * _speed(velocity) * area
    size = xp.where(_cosine(normal, velocity) >= 0, size, xp.zeros_like(size))
    return -size[..., None] * velocity
