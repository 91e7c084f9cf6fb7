# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sediment of a soft bed: threshold of motion, pick-up by a jet, settling, optical effect.

With D* = d (g (s − 1)/ν²)^⅓ the threshold of motion is θ_c = 0.30/(1 + 1.2 D*) +
0.055 (1 − exp(−0.020 D*)), τ_c = θ_c (ρ_s − ρ) g d, and grains settle at
w = ν/d ((10.36² + 1.049 D*³)^½ − 10.36). Source: Soulsby (1997), Dynamics of Marine Sands, as in
the toolboxes fvcom-toolbox (ST_taucr.m) and HybridSBM (SettlingV.m).

A jet of thrust T along the normal of a bed at the distance H has the largest shear stress
τ_m = 0.2 T/H² at r₀ = 0.12 H from its axis, and 1/r² of it beyond: Rajaratnam and Mazurek (2005),
Journal of Hydraulic Research 43, 689 (abstract); the factor 0.2, of a smooth bed, is assumed. A
bed gives off M (τ/τ_c − 1) per area where τ > τ_c, so that the integral over the bed is

    π M r₀² q ln q,  q = τ_m/τ_c,

with the stress of r₀ taken within r₀.
"""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.core.schema import declaration, number

__all__ = ['Sediment', 'jet_pick_up']

_JET_STRESS = 0.2
"""τ_m H²/T."""
_PEAK_RADIUS = 0.12
"""r₀/H."""
_GRAVITY = 9.81
"""m/s²; of settling, whatever the run's."""


@declaration(frozen=True)
class Sediment:
    """Soft bed; the seabed has it everywhere, obstacles do not."""

    diameter: float = number(3e-5, 1e-6, 1e-3, 'm', 'diameter of the grains')
    density: float = number(2650.0, 1100.0, 8000.0, 'kg/m³', 'density of the grains')
    erodibility: float = number(
        3e-3, 1e-7, 1.0, 'kg/(m² s)', 'pick-up per area at twice the stress at which grains move'
    )
    diffusivity: float = number(
        2e-3, 0.0, 10.0, 'm²/s', 'eddy diffusivity of clouds: their variance grows by twice of it'
    )

    def _grain_size(self, density: float, viscosity: float) -> float:
        """Return D*."""
        ratio = max(self.density / density - 1.0, 0.0)
        return self.diameter * float(np.cbrt(_GRAVITY * ratio / viscosity**2))

    def settling_speed(self, density: float, viscosity: float) -> float:
        """Return w, m/s, in water of a density, kg/m³, and a kinematic viscosity, m²/s."""
        size = self._grain_size(density, viscosity)
        return viscosity / self.diameter * (math.sqrt(10.36**2 + 1.049 * size**3) - 10.36)

    def critical_stress(self, density: float, viscosity: float) -> float:
        """Return τ_c, Pa."""
        size = self._grain_size(density, viscosity)
        shields = 0.30 / (1 + 1.2 * size) + 0.055 * (1 - math.exp(-0.020 * size))
        return max(shields * (self.density - density) * _GRAVITY * self.diameter, 1e-6)

    @property
    def attenuation(self) -> float:
        """Attenuation of light per concentration, m²/kg: 3/(ρ_s d).

        Grains block twice their area, the limit of large spheres.
        """
        return 3.0 / (self.density * self.diameter)


def jet_pick_up(
    sediment: Sediment, critical_stress: float, thrust: np.ndarray, distance: np.ndarray
) -> np.ndarray:
    """Return the mass per time (...), kg/s, that jets pick up; see the module.

    Args:
        sediment: of the bed.
        critical_stress: τ_c, Pa.
        thrust: (...) of the jets towards the bed, N; 0 or less: none.
        distance: (...) of the thrusters from the bed, m, above 0.
    """
    ratio = _JET_STRESS * np.maximum(thrust, 0.0) / (distance**2 * critical_stress)
    ratio = np.maximum(ratio, 1.0)
    area = math.pi * (_PEAK_RADIUS * distance) ** 2
    return np.asarray(sediment.erodibility * area * ratio * np.log(ratio))
