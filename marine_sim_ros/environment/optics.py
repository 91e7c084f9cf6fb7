# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Light in water: attenuation of red, green and blue by water type, veiling light, daylight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ParameterError

__all__ = ['PURE', 'WATER_TYPES', 'WaterOptics']

PURE = 'pure'
WATER_TYPES: dict[str, tuple[float, float, float]] = {
    PURE: (0.2224, 0.0417, 0.0114),
    'I': (0.235, 0.043, 0.018),
    'IA': (0.24, 0.048, 0.025),
    'IB': (0.245, 0.054, 0.033),
    'II': (0.26, 0.076, 0.062),
    'III': (0.295, 0.116, 0.116),
    '1C': (0.30, 0.13, 0.17),
    '3C': (0.33, 0.20, 0.29),
    '5C': (0.40, 0.31, 0.43),
    '7C': (0.48, 0.49, 0.71),
    '9C': (0.60, 0.78, 1.23),
}
"""Diffuse attenuation K of downward irradiance at 600, 525 and 475 nm (red, green, blue), 1/m.

Jerlov (1976), Marine Optics, table XXVII; of pure water its absorption, Pope and Fry (1997),
Applied Optics 36, 8710-8723, table 3. The wavelengths are those of Berman, Treibitz and Avidan
(2017), "Diving into haze-lines", section 3.
"""
_SCATTERED = 0.2
"""Scattering b over K at 525 nm, without turbidity: an assumption."""


@dataclass(frozen=True)
class WaterOptics:
    """How water colours what is seen through it.

    An image is I = J exp(−c z) + B (1 − exp(−c z)) over the range z, for each of red, green and
    blue, with c = K + turbidity. J is the light that a surface sends off, B = E b/(K + b) the
    veiling light, E = exp(−K d) the daylight at the depth d, relative to that below the surface,
    and b = 0.2 K(525 nm) + turbidity.

    Attributes:
        water_type: one of :data:`WATER_TYPES`.
        turbidity: attenuation that particles add, the same for all colours, 1/m.
        sun: share of daylight that comes straight from the sun, through ripples: caustics.
        particles: suspended ones that a camera sees one by one, 1/m³.
    """

    water_type: str = 'II'
    turbidity: float = 0.0
    sun: float = 0.0
    particles: float = 0.0

    def __post_init__(self) -> None:
        """Raise ParameterError for values no water has."""
        if self.water_type not in WATER_TYPES:
            raise ParameterError(
                f'water_type is {self.water_type!r}; '
                f'{expected_one_of(self.water_type, WATER_TYPES)}'
            )
        if not 0.0 <= self.turbidity <= 100.0:
            raise ParameterError(f'turbidity is {self.turbidity}; expected 0 to 100 1/m')
        if not 0.0 <= self.sun <= 1.0:
            raise ParameterError(f'sun is {self.sun}; expected 0 to 1')
        if not 0.0 <= self.particles <= 1e4:
            raise ParameterError(f'particles is {self.particles}; expected 0 to 10000 1/m³')

    @property
    def diffuse(self) -> np.ndarray:
        """(3,) K, 1/m: the attenuation of daylight with depth."""
        return np.array(WATER_TYPES[self.water_type])

    @property
    def attenuation(self) -> np.ndarray:
        """(3,) c, 1/m: the attenuation along a ray of sight."""
        return self.diffuse + self.turbidity

    def daylight(self, depth: float) -> np.ndarray:
        """Return E (3,) at a depth in m, relative to that below the surface; above it 1."""
        return np.exp(-self.diffuse * max(depth, 0.0))

    def veil(self, depth: float) -> np.ndarray:
        """Return B (3,): what is seen at a depth in m where there is nothing but water."""
        scattering = _SCATTERED * self.diffuse[1] + self.turbidity
        return np.asarray(self.daylight(depth) * scattering / (self.diffuse + scattering))
