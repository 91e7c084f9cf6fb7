# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a vehicle touches what is solid: points, spheres, and the flats between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from marine_sim_ros.model.contact.material import Material

__all__ = ['ContactPoints', 'Solids', 'no_contact', 'no_solids']


@dataclass(frozen=True, eq=False)
class Solids:
    """Convex bodies a·p ≤ b that a vehicle's contact points span, n of them, in the body frame.

    Attributes:
        normal: (n, h, 3) unit vectors a outwards; rows that are no face are 0.
        offset: (n, h) b in m; huge in rows that are no face.
        shape: (n,) which of the vehicle's shapes a body is.
    """

    normal: np.ndarray
    offset: np.ndarray
    shape: np.ndarray

    def __len__(self) -> int:
        """Return n."""
        return len(self.shape)

    @cached_property
    def columns(self) -> np.ndarray:
        """(3, n h) the normals side by side."""
        return np.ascontiguousarray(self.normal.reshape(-1, 3).T)


def no_solids() -> Solids:
    """Return no bodies."""
    return Solids(np.zeros((0, 1, 3)), np.zeros((0, 1)), np.zeros(0, int))


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
        solids: what an obstacle's edge may get into between the points; none of a sphere, none of
            links that move.
        joint: (m,) number of the joint that carries a point, −1: the body; None: no link moves.
        local: (m, 3) places in the joints' frames, m.
        farthest: no point gets farther from the body's origin, m; None: as they are.
        described: the points before their links were posed; None: these.
    """

    position: np.ndarray
    radius: np.ndarray
    edge: np.ndarray
    shape: np.ndarray
    materials: tuple[str | Material, ...]
    solids: Solids = field(default_factory=no_solids)
    joint: np.ndarray | None = None
    local: np.ndarray | None = None
    farthest: float | None = None
    described: ContactPoints | None = None

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.radius)

    @cached_property
    def reach(self) -> float:
        """m; nothing of the vehicle is farther from the body's origin."""
        if not len(self):
            return 0.0
        if self.farthest is not None:
            return self.farthest
        return float(np.max(np.linalg.norm(self.position, axis=1) + self.radius))

    @cached_property
    def round(self) -> bool:
        """Whether some points are spheres."""
        return bool(np.any(self.radius))

    @cached_property
    def level(self) -> int:
        """Most points that can lie in a plane: those of each shape's largest face, or all."""
        count, solids = np.bincount(self.shape, minlength=len(self.materials)), self.solids
        for shape, normal, offset in zip(solids.shape, solids.normal, solids.offset, strict=True):
            on_face = np.abs(self.position[self.shape == shape] @ normal.T - offset) < 1e-6
            count[shape] = on_face.sum(axis=0).max()
        return int(count.sum())

    @cached_property
    def depth(self) -> np.ndarray:
        """(s,) ``edge`` of each shape, m."""
        first = [int(np.argmax(self.shape == i)) for i in range(len(self.materials))]
        return np.asarray(self.edge[first])


def no_contact() -> ContactPoints:
    """Return the contact points of a vehicle that touches nothing."""
    none = np.zeros(0)
    return ContactPoints(np.zeros((0, 3)), none, none, np.zeros(0, int), ())
