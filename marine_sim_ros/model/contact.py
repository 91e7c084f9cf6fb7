# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a vehicle touches what is solid: points, and spheres."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marine_sim_ros.model.contact_material import Material

__all__ = ['ContactPoints', 'no_contact']


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Contact points of s shapes, m in all, in the body frame.

    Attributes:
        position: (m, 3) m; of a sphere, its centre.
        radius: (m,) m; 0 but for spheres.
        edge: (m,) edge of a cube of the shape's volume, m: how far the material behind a point
            reaches. Linear stiffness is E edge/4, that of a quarter of the cube's section.
        shape: (m,) which shape a point is of, 0 to s − 1.
        materials: s names, or materials given in place.
    """

    position: np.ndarray
    radius: np.ndarray
    edge: np.ndarray
    shape: np.ndarray
    materials: tuple[str | Material, ...]

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.radius)

    @cached_property
    def reach(self) -> float:
        """m; nothing of the vehicle is farther from the body's origin."""
        if not len(self):
            return 0.0
        return float(np.max(np.linalg.norm(self.position, axis=1) + self.radius))

    @cached_property
    def membership(self) -> np.ndarray:
        """(m, s) 1 where a point is of a shape."""
        return np.equal.outer(self.shape, np.arange(len(self.materials))).astype(float)


def no_contact() -> ContactPoints:
    """Return the contact points of a vehicle that touches nothing."""
    none = np.zeros(0)
    return ContactPoints(np.zeros((0, 3)), none, none, np.zeros(0, int), ())
