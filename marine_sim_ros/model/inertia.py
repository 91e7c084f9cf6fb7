# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How much there is and where: mass and displaced volume, of one body or of several together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import skew, transport

__all__ = ['Buoyancy', 'Inertia', 'combined_buoyancy', 'combined_inertia']


def _lever(offset: Array) -> Array:
    """Return (6, 3) that turns a force at an offset into a wrench: [E; S(r)]."""
    xp = namespace(offset)
    return xp.concat([constant(xp, np.eye(3)), skew(offset)])


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass of the whole vehicle.

    Attributes:
        mass: kg.
        center_of_mass: (3,) m.
        tensor: (3, 3) about the centre of mass, body axes, kg·m².
    """

    mass: float
    center_of_mass: np.ndarray
    tensor: np.ndarray

    @cached_property
    def lever(self) -> np.ndarray:
        """(6, 3): force at the centre of mass -> wrench."""
        return _lever(self.center_of_mass)

    @cached_property
    def matrix(self) -> np.ndarray:
        """(6, 6) rigid-body mass matrix about ``base_link`` (Fossen 2011, eq. 3.44)."""
        mass = self.mass * np.eye(3)
        xp = namespace(mass + self.tensor)
        tensor = constant(xp, self.tensor)
        none = xp.zeros_like(tensor)
        at_com = xp.concat([xp.concat([mass, none], axis=1), xp.concat([none, tensor], axis=1)])
        h = transport(self.center_of_mass)
        return h.T @ at_com @ h


@dataclass(frozen=True, eq=False)
class Buoyancy:
    """A displaced volume.

    Attributes:
        volume: m³.
        center_of_volume: (3,) m.
        height: over which buoyancy is lost at the surface, m.
        fluid_density: water density for which the vehicle is trimmed, kg/m³.
    """

    volume: float
    center_of_volume: np.ndarray
    height: float
    fluid_density: float

    @cached_property
    def lever(self) -> np.ndarray:
        """(6, 3): force at the centre of volume -> wrench."""
        return _lever(self.center_of_volume)


def combined_inertia(parts: Collection[Inertia]) -> Inertia:
    """Return mass, centre of mass and inertia of several bodies together (parallel axes)."""
    total = float(sum(part.mass for part in parts))
    if total <= 0:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    com = sum(part.mass * part.center_of_mass for part in parts) / total
    tensor = sum(
        part.tensor
        + part.mass * skew(part.center_of_mass - com).T @ skew(part.center_of_mass - com)
        for part in parts
    )
    return Inertia(total, np.asarray(com), np.asarray(tensor))


def combined_buoyancy(parts: Sequence[Buoyancy]) -> Buoyancy:
    """Return the volume of several parts together; height and water are the first one's."""
    volume = float(sum(part.volume for part in parts))
    if volume <= 0:
        return parts[0]
    center = sum(part.volume * part.center_of_volume for part in parts) / volume
    return Buoyancy(volume, np.asarray(center), parts[0].height, parts[0].fluid_density)
