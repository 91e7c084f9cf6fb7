# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Irregular seas: wave spectra cut into components of equal energy, drawn from a seed."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.random import uniform
from marine_sim_ros.environment.waves import Waves

__all__ = ['irregular_waves', 'jonswap', 'spreading_angles']

_GRID = np.linspace(0.4, 6.0, 20_001)
"""ω/ω_p that spectra are integrated over; less than 1 % of the energy is beyond."""


def jonswap(ratio: np.ndarray, gamma: float) -> np.ndarray:
    """Return the shape (...) of the JONSWAP spectrum at ω/ω_p (...); γ = 1 is Pierson-Moskowitz.

    S ∝ (ω/ω_p)^−5 exp(−5/4 (ω/ω_p)^−4) γ^exp(−(ω/ω_p − 1)²/(2σ²)), σ = 0.07 up to the peak and
    0.09 beyond. Source: Hasselmann et al. (1973); DNV-RP-C205, 3.5.5.
    """
    sigma = np.where(ratio <= 1, 0.07, 0.09)
    peak = gamma ** np.exp(-((ratio - 1) ** 2) / (2 * sigma**2))
    return ratio**-5.0 * np.exp(-1.25 * ratio**-4.0) * peak


def spreading_angles(exponent: float, shares: np.ndarray) -> np.ndarray:
    """Return angles (n,) in rad whose distribution cos^2s(θ/2) has below them shares (n,).

    Source: Longuet-Higgins et al. (1963). An infinite exponent is a long-crested sea.
    """
    if math.isinf(exponent):
        return np.zeros_like(shares)
    theta = np.linspace(-np.pi, np.pi, 7201)
    density = np.cos(theta / 2) ** (2 * exponent)
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(shares, total / total[-1], theta)


def irregular_waves(
    significant_height: float,
    peak_period: float,
    *,
    gamma: float = 3.3,
    direction: float = 0.0,
    spreading: float = math.inf,
    components: int = 64,
    seed: int = 0,
    depth: float = math.inf,
    gravity: float = 9.8,
) -> Waves:
    """Return a sea of a JONSWAP spectrum (Pierson-Moskowitz for γ = 1).

    Every component has the same energy, so 4 √m₀ is the significant height exactly; its frequency
    is drawn within its share of the spectrum, so that the sea does not repeat.

    Args:
        significant_height: 4 √m₀, m.
        peak_period: s.
        gamma: peak enhancement.
        direction: towards which the sea travels, rad from east to north.
        spreading: s of cos^2s(θ/2).
        components: number of them.
        seed: random seed of frequencies, directions and phases.
        depth: depth of the water, m.
        gravity: m/s².
    """
    density = jonswap(_GRID, gamma)
    energy = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    draws = uniform(seed, 'waves', 3 * components).reshape(3, components)
    shares = (np.arange(components) + draws[0]) / components
    ratio = np.interp(shares, energy / energy[-1], _GRID)
    # Directions are dealt to the frequencies at random, one from every part of the spreading.
    order = np.argsort(draws[1])
    angles = spreading_angles(spreading, (order + 0.5) / components)
    amplitude = significant_height / 4 * math.sqrt(2 / components)
    return Waves(
        np.full(components, amplitude),
        2 * math.pi / peak_period * ratio,
        direction + angles,
        2 * math.pi * draws[2],
        depth,
        gravity,
    )
