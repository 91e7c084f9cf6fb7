# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The water, the solid and the gravity around a vehicle, the same for every node of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.currents import CurrentProfile, GaussMarkov
from marine_sim_ros.environment.gusts import Gusts
from marine_sim_ros.environment.optics import WaterOptics
from marine_sim_ros.environment.origin import Origin
from marine_sim_ros.environment.waves import Waves
from marine_sim_ros.model.materials import Materials
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.scene.parts import Part
from marine_sim_ros.scene.payloads import Payload
from marine_sim_ros.scene.scene import Scene

__all__ = ['STANDARD_GRAVITY', 'Environment']

STANDARD_GRAVITY = 9.8
"""m/s²; Gazebo's default, so that the embedded and the Gazebo body weigh the same."""


@dataclass(frozen=True, eq=False)
class Environment:
    """Water with waves and currents, mean surface at z = 0 of ``map``, at a time.

    Everything is a function of place and time: two nodes that ask for the same stamp get the
    same water, whatever they requested before. Points are (..., 3) in map, m.

    Attributes:
        gravity: m/s².
        water_density: kg/m³; ``None`` takes the density the vehicle was trimmed for.
        kinematic_viscosity: m²/s; the hydrodynamics guide's by default (water of 20 °C).
        current: (3,) steady velocity of the water in ``map``, m/s.
        profile: current profile over depth, added to ``current``, or None.
        fluctuation: fluctuation of the current over time, added to ``current``, or None.
        waves: or None.
        scene: seabed, walls and obstacles, or None.
        materials: materials of shapes and surfaces; None takes the shipped ones.
        time: s.
        name: name of its file, or empty.
        gusts: gusts, added to ``current``, or None.
        origin: where map is on the Earth.
        optics: how the water colours what cameras see.
        payloads: loose bodies that a gripper can take.
        bodies: other vehicles at the time, which rays meet and nothing else feels.
        looks: returns the visible parts of the vehicle itself, in its frame; cameras alone ask.
    """

    gravity: float = STANDARD_GRAVITY
    water_density: float | None = None
    current: np.ndarray = field(default_factory=lambda: np.zeros(3))
    kinematic_viscosity: float = 1e-6
    profile: CurrentProfile | None = None
    fluctuation: GaussMarkov | None = None
    waves: Waves | None = None
    scene: Scene | None = None
    materials: Materials | None = None
    time: float = 0.0
    name: str = ''
    gusts: Gusts | None = None
    origin: Origin = field(default_factory=Origin)
    optics: WaterOptics = field(default_factory=WaterOptics)
    payloads: tuple[Payload, ...] = ()
    bodies: tuple[Body, ...] = ()
    looks: Callable[[], tuple[Part, ...]] = tuple

    def __post_init__(self) -> None:
        """Raise ParameterError for values no water has."""
        if not 0.0 <= self.gravity < 100.0:
            raise ParameterError(f'gravity is {self.gravity}; expected 0 to 100 m/s²')
        density = self.water_density
        if density is not None and not 0.0 <= density < 2e4:
            raise ParameterError(f'water_density is {density}; expected 0 to 20000 kg/m³')
        if not 0.0 < self.kinematic_viscosity < 1.0:
            raise ParameterError(
                f'kinematic_viscosity is {self.kinematic_viscosity}; expected more than 0 and '
                'less than 1 m²/s'
            )
        current = np.asarray(self.current, float)
        if current.shape != (3,) or not np.all(np.isfinite(current)):
            raise ParameterError(f'current is {self.current}; expected three finite numbers, m/s')
        object.__setattr__(self, 'current', current)

    def at(self, time: float) -> Environment:
        """Return the environment at a time in s."""
        # Cheaper than replace() and copy(): nothing is to be checked again.
        result = object.__new__(type(self))
        vars(result).update(vars(self), time=time)
        return result

    @property
    def steady(self) -> bool:
        """Whether the water is the same at all times."""
        return self.waves is None and self.fluctuation is None and self.gusts is None

    @cached_property
    def still(self) -> bool:
        """Whether the water does not move."""
        moves = (self.profile, self.fluctuation, self.gusts, self.waves)
        return not np.any(self.current) and all(m is None for m in moves)

    @property
    def flat(self) -> bool:
        """Whether there are no waves."""
        return self.waves is None

    def density_for(self, fluid_density: float) -> float:
        """Return the water's density, or the given one where none is set, kg/m³."""
        return fluid_density if self.water_density is None else self.water_density

    @property
    def crest(self) -> Any:
        """Bound of the elevation of the surface, m."""
        return 0.0 if self.waves is None else self.waves.crest

    def elevation(self, points: Array) -> Array:
        """Return the height η (...) of the surface above or below points (..., 2 or 3), m."""
        xp = namespace(points)
        if self.waves is None:
            return xp.zeros_like(points[..., 0])
        return self.waves.elevation(points, self.time)

    def velocity(self, points: Array) -> Array:
        """Return the velocity (..., 3) of the water: currents and orbital motion, m/s."""
        xp = namespace(points)
        result = xp.zeros_like(points) + constant(xp, self.current)
        if self.profile is not None:
            result = result + self.profile.velocity(points)
        if self.fluctuation is not None:
            result = result + self.fluctuation.velocity(xp, self.time)
        if self.gusts is not None:
            result = result + self.gusts.at(xp, self.time)
        if self.waves is not None:
            result = result + self.waves.velocity(points, self.time)
        return result

    def acceleration(self, points: Array) -> Array:
        """Return ∂u/∂t (..., 3) of the waves' orbital motion, m/s²; that of currents is left out.

        It is what linear wave theory has for −∇p/ρ − g ẑ.
        """
        if self.waves is None:
            return namespace(points).zeros_like(points)
        return self.waves.acceleration(points, self.time)

    def dynamic_head(self, points: Array) -> Array:
        """Return the waves' pressure over ρ g at points (..., 3), m: (...)."""
        if self.waves is None:
            return namespace(points).zeros_like(points[..., 0])
        return self.waves.dynamic_head(points, self.time)
