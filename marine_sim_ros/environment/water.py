# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Density and viscosity of fresh and sea water over temperature, at atmospheric pressure."""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.errors import ParameterError

__all__ = ['OCEAN_SALINITY', 'WaterProperties', 'water_properties']

OCEAN_SALINITY = 35.0
"""g/kg, of the standard ocean."""


class WaterProperties(NamedTuple):
    """Density in kg/m³ and kinematic viscosity in m²/s."""

    density: float
    kinematic_viscosity: float


def _polynomial(x: float, *coefficients: float) -> float:
    result = 0.0
    for c in reversed(coefficients):
        result = result * x + c
    return result


def density(temperature: float, salinity: float) -> float:
    """Return ρ in kg/m³ at °C and g/kg: the equation of state EOS-80 at one atmosphere.

    Source: Millero and Poisson (1981), Deep-Sea Research 28A, 625-629.
    """
    t = temperature
    pure = _polynomial(
        t, 999.842594, 6.793952e-2, -9.095290e-3, 1.001685e-4, -1.120083e-6, 6.536332e-9
    )
    a = _polynomial(t, 8.24493e-1, -4.0899e-3, 7.6438e-5, -8.2467e-7, 5.3875e-9)
    b = _polynomial(t, -5.72466e-3, 1.0227e-4, -1.6546e-6)
    return pure + a * salinity + b * salinity**1.5 + 4.8314e-4 * salinity**2


def viscosity(temperature: float, salinity: float) -> float:
    """Return μ in Pa·s at °C and g/kg.

    Source: Sharqawy, Lienhard and Zubair (2010), Desalination and Water Treatment 16, 354-380,
    equations 22 and 23.
    """
    t, s = temperature, salinity / 1000
    pure = 4.2844e-5 + 1 / (0.157 * (t + 64.993) ** 2 - 91.296)
    a = _polynomial(t, 1.541, 1.998e-2, -9.52e-5)
    b = _polynomial(t, 7.974, -7.561e-2, 4.724e-4)
    return pure * (1 + a * s + b * s**2)


def water_properties(temperature: float, salinity: float) -> WaterProperties:
    """Return density and kinematic viscosity ν = μ/ρ of water at °C and g/kg.

    Raises:
        ParameterError: outside 0 to 40 °C or 0 to 42 g/kg.
    """
    if not 0 <= temperature <= 40:
        raise ParameterError(f'water temperature is {temperature}; expected 0 to 40 °C')
    if not 0 <= salinity <= 42:
        raise ParameterError(f'salinity is {salinity}; expected 0 to 42 g/kg')
    rho = density(temperature, salinity)
    return WaterProperties(rho, viscosity(temperature, salinity) / rho)
