# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Estimates added mass from the shape of a hull: the equivalent ellipsoid."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import transport

__all__ = ['ellipsoid_added_mass', 'estimate_added_mass']


def ellipsoid_added_mass(semi_axes: np.ndarray, water_density: float) -> np.ndarray:
    """Return the added mass (6,) of an ellipsoid along and about its axes, kg and kg·m².

    A₁₁ = ρV α₀/(2−α₀), A₄₄ = ρV/5 (b²−c²)²(γ₀−β₀)/(2(b²−c²) + (b²+c²)(β₀−γ₀)), and in turn, with
    α₀ = (2/3) abc R_D(b², c², a²). Source: Lamb, Hydrodynamics (1932), art. 114 and 115;
    Carlson's R_D for the integral.

    Args:
        semi_axes: a, b, c in m.
        water_density: ρ, kg/m³.
    """
    elliprd = require('scipy.special', 'added mass of a hull').elliprd

    a2, b2, c2 = (float(s) ** 2 for s in semi_axes)
    product = float(np.prod(semi_axes))
    mass = water_density * 4 / 3 * np.pi * product
    alpha, beta, gamma = (
        2 / 3 * product * float(elliprd(*others, own))
        for own, others in ((a2, (b2, c2)), (b2, (c2, a2)), (c2, (a2, b2)))
    )

    def turning(p: float, q: float, first: float, second: float) -> float:
        difference = p - q
        if abs(difference) < 1e-9 * (p + q):
            return 0.0  # a body of revolution about this axis moves no water
        below = 2 * difference + (p + q) * (first - second)
        return float(mass / 5 * difference**2 * (second - first) / below)

    straight = [mass * k / (2 - k) for k in (alpha, beta, gamma)]
    return np.array(
        [
            *straight,
            turning(b2, c2, beta, gamma),
            turning(c2, a2, gamma, alpha),
            turning(a2, b2, alpha, beta),
        ]
    )


def estimate_added_mass(
    volume: float, center: np.ndarray, second_moment: np.ndarray, water_density: float
) -> np.ndarray:
    """Return the added mass (6, 6) about the origin of the ellipsoid equivalent to a body.

    The ellipsoid has the body's volume, centre and principal axes, and semi-axes in the ratio of
    its radii of gyration. Deeply submerged, no free surface.

    Args:
        volume: m³.
        center: (3,) of the volume, m.
        second_moment: (3, 3) ∫ (r − c)(r − c)ᵀ dV, m⁵.
        water_density: kg/m³.
    """
    spread, axes = np.linalg.eigh(second_moment)
    radii = np.sqrt(np.maximum(spread, 1e-12 * spread.max()))
    scale = (volume / (4 / 3 * np.pi * np.prod(radii))) ** (1 / 3)
    own = ellipsoid_added_mass(radii * scale, water_density)
    turned = np.zeros((6, 6))
    turned[:3, :3] = axes @ np.diag(own[:3]) @ axes.T
    turned[3:, 3:] = axes @ np.diag(own[3:]) @ axes.T
    arm = transport(center)
    result = arm.T @ turned @ arm
    return (result + result.T) / 2
