# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The water and the gravity around a vehicle, the same for every node of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from marine_sim_ros.errors import ParameterError

__all__ = ['STANDARD_GRAVITY', 'Environment']

STANDARD_GRAVITY = 9.8
"""m/s²; Gazebo's default, so that the embedded and the Gazebo body weigh the same."""


@dataclass(frozen=True, eq=False)
class Environment:
    """Water at rest or in a steady current, mean surface at z = 0 of ``map``.

    Attributes:
        gravity: m/s².
        water_density: kg/m³; ``None`` takes the density the vehicle was trimmed for.
        current: (3,) velocity of the water in ``map``, m/s.
    """

    gravity: float = STANDARD_GRAVITY
    water_density: float | None = None
    current: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        """Raise ParameterError for values no water has."""
        if not 0.0 <= self.gravity < 100.0:
            raise ParameterError(f'gravity is {self.gravity}; expected 0 to 100 m/s²')
        density = self.water_density
        if density is not None and not 0.0 <= density < 2e4:
            raise ParameterError(f'water_density is {density}; expected 0 to 20000 kg/m³')
        current = np.asarray(self.current, float)
        if current.shape != (3,) or not np.all(np.isfinite(current)):
            raise ParameterError(f'current is {self.current}; expected three finite numbers, m/s')
        object.__setattr__(self, 'current', current)

    @cached_property
    def still(self) -> bool:
        """Whether the water does not move."""
        return not np.any(self.current)

    def density_for(self, fluid_density: float) -> float:
        """Return the water's density, or the given one where none is set, kg/m³."""
        return fluid_density if self.water_density is None else self.water_density
