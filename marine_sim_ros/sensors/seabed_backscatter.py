# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Backscatter of sea beds by grazing angle, frequency and sediment: the APL-UW model.

σ = σ_r + σ_v: roughness by the Kirchhoff approximation near the vertical, by composite roughness
elsewhere and by an empirical law where it is large, and the volume of the sediment. Source: APL-UW
(1994), "High-frequency ocean environmental acoustic models handbook", TR 9407, section IV.C,
equations 2 to 10 and 34 to 66, and table 2, as the open program uacpy (github.com/ErVuL/uacpy,
uacpy/sonar/bottom_scattering.py) has them; the report itself was not read. The stated errors are
3 dB (sand) to 10 dB (rock).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

__all__ = ['SEABEDS', 'Seabed', 'seabed_backscatter']


class Seabed(NamedTuple):
    """Parameters of the model (TR 9407, table 1); the exponent of the relief's spectrum is 3.25.

    Attributes:
        density: ρ, of the sediment over that of the water.
        speed: ν, of sound in the sediment over that in the water.
        loss: δ, imaginary over real part of the wavenumber in the sediment.
        volume: σ₂, cross section of the volume over the absorption in the sediment.
        roughness: w₂, spectrum of the relief at 1 cm⁻¹, cm⁴.
    """

    density: float
    speed: float
    loss: float
    volume: float
    roughness: float


SEABEDS = {
    'sand': Seabed(1.845, 1.1782, 0.01624, 0.002, 0.004446),
    'rock': Seabed(2.5, 2.5, 0.01374, 0.002, 0.01862),
    'gravel': Seabed(2.5, 1.8, 0.01374, 0.002, 0.0156),
    'coarse_sand': Seabed(2.231, 1.2503, 0.01638, 0.002, 0.006957),
    'fine_sand': Seabed(1.451, 1.1073, 0.01602, 0.002, 0.002715),
    'silt': Seabed(1.149, 0.9873, 0.00386, 0.001, 0.000518),
    'clay': Seabed(1.145, 0.9800, 0.00148, 0.001, 0.000518),
}
"""Bottoms of TR 9407, table 2: medium sand, rock, cobble or gravel, coarse sand, fine sand, silt
and clay; sediments by the mean size of their grains, M_z = 1.5, 0.5, 2.5, 6 and 9 φ (equations 2
to 10). w₂ of gravel is 0.0186 in print, and 0.0156 by table 3 and uacpy."""

_EXPONENT = 3.25
_ALPHA = _EXPONENT / 2 - 1
_BAND = (10.0, 100.0)
"""Frequencies that the model is stated for, kHz."""
_WATER_SPEED = 1528.0
"""Of the report's tables, m/s."""
_MIN_GRAZING = math.radians(0.001)
_NODES = ((0.295410, 1.224745), (1.181636, 0.0), (0.295410, -1.224745))
"""Weights and abscissae of the mean over slopes (equations 46 to 48)."""
_erf = np.vectorize(math.erf, otypes=[float])


def seabed_backscatter(seabed: Seabed, grazing: np.ndarray, frequency: float) -> np.ndarray:
    """Return the cross section σ (...) of backscatter per area and solid angle, 1/sr.

    S_b = 10 log₁₀ σ. Frequencies outside 10 to 100 kHz are taken as the nearest of these.

    Args:
        grazing: θ (...) between sound and sea bed, 0 to π/2 rad.
        frequency: kHz.
    """
    angle = np.maximum(np.asarray(grazing, dtype=float), _MIN_GRAZING)
    wavenumber = 2 * math.pi * float(np.clip(frequency, *_BAND)) * 10.0 / _WATER_SPEED  # 1/cm
    slope = _rms_slope(seabed, wavenumber)
    shadow = _shadowing(angle, slope)
    index = (1 + 1j * seabed.loss) / seabed.speed

    def mean_over_slopes(section: np.ndarray) -> np.ndarray:
        weights = np.array([weight for weight, _ in _NODES]) / math.sqrt(math.pi)
        return np.asarray(shadow * (section @ weights))

    tilted = np.stack([np.clip(angle - node * slope, 0.0, math.pi / 2) for _, node in _NODES], -1)
    composite = mean_over_slopes(_perturbation(seabed, index, tilted, wavenumber))
    volume = mean_over_slopes(_volume(seabed, index, tilted))
    facing = float(np.abs(_reflection(seabed, index, np.array(math.pi / 2))) ** 2)
    kirchhoff, edge = _kirchhoff(seabed, angle, wavenumber, facing)
    near = _logistic((np.cos(angle) - edge) / 0.0125)
    moderate = near * kirchhoff + (1 - near) * composite
    smooth = _logistic((math.degrees(math.atan(slope)) - 7.0) / 0.5)
    rough = _large_roughness(seabed, angle, slope, facing)
    return np.asarray(smooth * moderate + (1 - smooth) * rough + volume)


def _logistic(x: np.ndarray | float) -> np.ndarray:
    """Return the weight that joins two laws (equation 57)."""
    return np.asarray(1 / (1 + np.exp(np.clip(x, -40.0, 40.0))))


def _reflection(seabed: Seabed, index: complex, angle: np.ndarray) -> np.ndarray:
    """Return Rayleigh's coefficient of reflection (...), complex (equations 30 to 33)."""
    ratio = seabed.density * np.sin(angle) / np.sqrt(index**2 - np.cos(angle) ** 2)
    return np.asarray((ratio - 1) / (ratio + 1))


def _rms_slope(seabed: Seabed, k: float) -> float:
    """Return the slope of the large-scale relief (equation 46)."""
    relief = (2 * math.pi * seabed.roughness) ** (1 / _ALPHA) / (2 * (1 - _ALPHA))
    return math.sqrt(relief * (k * k / _ALPHA) ** ((1 - _ALPHA) / _ALPHA))


def _shadowing(angle: np.ndarray, slope: float) -> np.ndarray:
    """Return the fraction (...) of a rough bottom that sound reaches (equations 43 to 45)."""
    t = np.minimum(np.tan(angle) / slope, 2.0)
    hidden = (np.exp(-t * t) / math.sqrt(math.pi) - t * (1 - _erf(t))) / (4 * t)
    lit = (1 - np.exp(-2 * hidden)) / (2 * hidden)
    return np.where(np.tan(angle) > 2 * slope, 1.0, lit)


def _perturbation(seabed: Seabed, index: complex, angle: np.ndarray, k: float) -> np.ndarray:
    """Return the cross section (...) of small roughness (equations 50 to 52, and 7)."""
    sine, cosine = np.sin(angle), np.cos(angle)
    top = (seabed.density - 1) ** 2 * cosine**2 + seabed.density**2 - index**2
    factor = top / (seabed.density * sine + np.sqrt(index**2 - cosine**2)) ** 2
    spectrum = seabed.roughness * (k * np.sqrt(4 * cosine**2 + 0.01)) ** -_EXPONENT
    return np.asarray(4 * k**4 * sine**4 * np.abs(factor) ** 2 * spectrum)


def _volume(seabed: Seabed, index: complex, angle: np.ndarray) -> np.ndarray:
    """Return the cross section (...) of the sediment's volume (equation 66)."""
    vertical = np.sqrt(index**2 - np.cos(angle) ** 2)
    passed = np.abs(1 - _reflection(seabed, index, angle) ** 2) ** 2 * np.sin(angle) ** 2
    scale = 5 * seabed.loss * seabed.volume / (seabed.speed * math.log(10))
    return np.asarray(scale * passed / (np.abs(vertical) ** 2 * vertical.imag))


def _kirchhoff(
    seabed: Seabed, angle: np.ndarray, k: float, facing: float
) -> tuple[np.ndarray, float]:
    """Return the cross section (...) near the vertical and the cosine of its edge (35-40, 58-63).

    The table of the report (table 3) lies 2^(2 (1 − α)/α), or 3.6 dB, above its printed equations,
    by uacpy's comparison and ours; the table is followed.
    """
    a, gamma = _ALPHA, math.gamma
    structure = 2 * math.pi * seabed.roughness * gamma(2 - a) * 4.0**-a
    structure /= a * (1 - a) * gamma(1 + a)
    q = structure * 2 ** (1 - 2 * a) * k ** (2 * (1 - a))
    half = 1 / (2 * a)
    shape = 8 * a * a * gamma(half + 0.5) / (gamma(0.5) * gamma(1 / a) * gamma(half))
    shape = shape ** (2 * a)
    level = 2 ** (2 * (1 - a) / a) * shape ** (0.5 - half) * gamma(1 / a) * half
    width = (np.cos(angle) ** (4 * a) + shape * q * q * np.sin(angle) ** 4) ** ((1 + a) * half)
    section = np.where(angle >= math.radians(40), level * q * facing / (8 * math.pi * width), 0.0)
    fall = 1000 ** (1 / (1 + a)) * (shape * q * q) ** (1 / a)
    return section, (1 / fall + 4) ** -0.25


def _large_roughness(seabed: Seabed, angle: np.ndarray, slope: float, facing: float) -> np.ndarray:
    """Return the cross section (...) of gravel and rock (equations 53 to 56, in degrees)."""
    grazing, tilt = np.degrees(angle), math.degrees(slope)
    fast = seabed.speed >= 1.001
    critical = math.degrees(math.acos(1 / seabed.speed)) if fast else 2.5613
    spread = 1 + 0.81 * (critical / grazing) ** 2
    impedance = ((1 - 2 / seabed.density) * seabed.speed**-2 + 1) ** 2
    level = 0.04682 * slope**1.25 * seabed.speed**3.25 * impedance / (1 + 3.54 * tilt / critical)
    diffuse = level * np.sin(math.pi / spread) ** (0.7263 * slope ** (-1 / 3))
    lobe = (1 + (grazing - 90) ** 2 / (2.6 * tilt**2)) ** 1.9
    return np.asarray(diffuse + 0.0260 * facing / (slope**2 * lobe * spread))
