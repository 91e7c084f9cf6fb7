# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Active sonar equation: levels in dB re 1 µPa of echoes, noise and bottom detections.

EL = SL − 2 TL + S_b + 10 log₁₀ A (Urick 1983, "Principles of underwater sound", sections 2.1 and
8.2) is summed over rays: a ray with the solid angle dΩ meets the area r² dΩ/cos α.
"""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.random import stamp_generator
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.rays import WATER_SURFACE, hit_materials
from marine_sim_ros.scene.rays import Hits
from marine_sim_ros.sensors.acoustics import reflectivity

__all__ = [
    'beam_pattern',
    'echo_intensity',
    'equivalent_width',
    'lambert_coefficient',
    'normal_draws',
    'sounding_deviation',
    'transmission_loss',
]


def transmission_loss(distance: np.ndarray, loss: float) -> np.ndarray:
    """Return TL = 20 log₁₀ r + a r (...) of one way, dB re 1 m: spherical spreading, absorption.

    Args:
        distance: r (...), m.
        loss: a, dB/m.
    """
    return np.asarray(20 * np.log10(distance) + loss * distance)


_WATER_SURFACE = 1e-3
"""1/sr, −30 dB: an assumption. The surface reflects nearly all, hardly any of it back."""


def lambert_coefficient(material: str) -> float:
    """Return μ of Lambert's law S_b = 10 log₁₀(μ sin² θ) at the grazing angle θ, 1/sr.

    μ = R²/π: a surface that scatters all that it reflects, R² of its intensity, by Lambert's law
    (Urick 1983, section 8.5), with R of the impedances of :mod:`.acoustics`. That is the bound of
    a rough surface; deep-sea sediment has 10 log₁₀ μ = −27 dB (Mackenzie 1961, J. Acoust. Soc.
    Am. 33(11)). The water's surface has −30 dB.
    """
    if material == WATER_SURFACE:
        return _WATER_SURFACE
    return reflectivity(material) / math.pi


def echo_intensity(environment: Environment, hits: Hits, rays: Array, loss: float) -> Array:
    """Return echoes (...) per solid angle, over the intensity of the source at 1 m, 1/sr.

    10^((S_b − 2 TL)/10) r²/cos α = μ cos α r⁻² 10^(−0.2 a r), with the angle of incidence α.

    Args:
        hits: what the rays meet.
        rays: (..., 3) their directions, map.
        loss: a, dB/m.
    """
    xp = namespace(rays)
    coefficients = np.array([lambert_coefficient(name) for name in hit_materials(environment)])
    coefficient = constant(xp, coefficients)[xp.astype(hits.surface, xp.int32)]
    zero = xp.zeros_like(coefficient)
    cosine = xp.maximum(-xp.sum(hits.normal * rays, axis=-1), zero)
    is_hit = (hits.surface >= 0) & (hits.distance > 0)
    distance = xp.where(is_hit, hits.distance, zero + 1.0)
    intensity = coefficient * cosine * 10.0 ** (-0.2 * loss * distance) / (distance * distance)
    return xp.where(is_hit, intensity, zero)


def beam_pattern(angle: np.ndarray, width: float) -> np.ndarray:
    """Return the sensitivity (...) of a Gaussian beam in intensity, one way: 2^(−(2 φ/w)²).

    Args:
        angle: φ (...) from the axis, rad.
        width: w between the points of half power (−3 dB), rad.
    """
    return np.asarray(2.0 ** -((2 * np.asarray(angle) / width) ** 2))


def equivalent_width(width: float) -> float:
    """Return the integral of :func:`beam_pattern` over the angle, rad: w/2 √(π/ln 2)."""
    return 0.5 * width * math.sqrt(math.pi / math.log(2))


_AMPLITUDE, _PHASE = 1 / 12, 0.2


def sounding_deviation(
    extent: np.ndarray, ratio: np.ndarray, resolution: float, sample: float
) -> np.ndarray:
    """Return the standard deviation (...) of the range of a bottom detection, m.

    σ² = (Δ/2)² + (δ/2)² + (k L)² + (L/π)² (1 − γ²)/(2 n γ²), with the sampling distance Δ, the
    length of the pulse in range δ = c τ/2, and the extent L of the echo in range: L = r ψ tan α
    for a beam of the width ψ. k is 1/12 for a detection by amplitude, and 0.2/√n by phase with
    n = L/δ samples; the better of both is taken. Source: Hare (1995), "Depth and position error
    budgets for multibeam echosounding", Int. Hydrographic Review 72(2). The last term is the
    Cramér-Rao bound of the phase of two half arrays in noise, of coherence γ = q/(1 + q) at the
    signal-to-noise ratio q: Seymour and Cumming (1994), "Maximum likelihood estimation for SAR
    interferometry".

    Args:
        extent: L (...), m.
        ratio: q (...), in intensity.
        resolution: δ, m.
        sample: Δ, m.
    """
    count = np.maximum(extent / resolution, 1.0)
    angle = np.minimum(_AMPLITUDE, _PHASE / np.sqrt(count)) * extent
    coherence = np.maximum(ratio, 1e-12) / (1 + np.maximum(ratio, 1e-12))
    phase = (1 - coherence**2) / (2 * count * coherence**2)
    square = (sample / 2) ** 2 + (resolution / 2) ** 2 + angle**2 + (extent / math.pi) ** 2 * phase
    return np.asarray(np.sqrt(square))


def normal_draws(seed: int, name: str, stamp: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return standard normal numbers √(−2 ln u) cos 2πv (Box and Muller 1958) of a stamp, ns."""
    drawn = stamp_generator(seed, name, stamp).random((2, *shape))
    return np.asarray(np.sqrt(-2 * np.log1p(-drawn[0])) * np.cos(2 * math.pi * drawn[1]))
