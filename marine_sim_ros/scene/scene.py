# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Distances to everything solid around the water."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.scene.edges import Edges, obstacle_edges
from marine_sim_ros.scene.jet_law import JetLaw
from marine_sim_ros.scene.obstacles import KINDS, Obstacle, obstacle_surfaces
from marine_sim_ros.scene.planes import Plane, plane_surfaces
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['Scene']


def _half_edges(obstacle: Obstacle) -> np.ndarray:
    """Return half the edges (3,) of the upright box around an obstacle's own box."""
    turn: np.ndarray = rotation_matrix(obstacle.orientation)
    return np.abs(turn) @ (obstacle.size / 2)


@dataclass(frozen=True, eq=False)
class Scene:
    """Solid surfaces in map, k of them: planes, then the terrain, then obstacles by their kind.

    Attributes:
        planes: seabed, floor, walls.
        terrain: or None.
        obstacles: obstacles in the order boxes, cylinders, spheres.
        water_surface: whether jets of thrusters feel the water's surface as a boundary too; it
            is not solid, so it is none of the k surfaces.
        jets: law of the thrusters' jets near surfaces.
    """

    planes: tuple[Plane, ...] = ()
    terrain: HeightMap | None = None
    obstacles: tuple[Obstacle, ...] = ()
    water_surface: bool = False
    jets: JetLaw = field(default_factory=JetLaw)

    def __post_init__(self) -> None:
        """Bring the obstacles in order."""
        ordered = tuple(o for kind in KINDS for o in self.obstacles if o.kind == kind)
        object.__setattr__(self, 'obstacles', ordered)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The k names of the surfaces."""
        terrain = () if self.terrain is None else ('terrain',)
        return (*(p.name for p in self.planes), *terrain, *(o.name for o in self.obstacles))

    @cached_property
    def materials(self) -> tuple[str, ...]:
        """The k materials of the surfaces."""
        terrain = () if self.terrain is None else (self.terrain.material,)
        planes = (p.material for p in self.planes)
        return (*planes, *terrain, *(o.material for o in self.obstacles))

    @cached_property
    def _by_kind(self) -> dict[str, tuple[Obstacle, ...]]:
        groups = {k: tuple(o for o in self.obstacles if o.kind == k) for k in KINDS}
        return {kind: group for kind, group in groups.items() if group}

    def __len__(self) -> int:
        """Return k."""
        return len(self.names)

    def surfaces(self, points: Array) -> tuple[Array, Array]:
        """Return how far points are from each surface, and where each surface faces.

        Args:
            points: (..., m, 3), map, m.

        Returns:
            Signed distance (..., k, m) in m, positive in the water, and the surface's unit
            normal (..., k, m, 3) into the water there, map: the distance's gradient.
        """
        xp = namespace(points)
        found = []
        if self.planes:
            found.append(plane_surfaces(self.planes, points))
        if self.terrain is not None:
            found.append(self.terrain.surfaces(points))
        for kind, group in self._by_kind.items():
            found.append(obstacle_surfaces(kind, group, points))
        if not found:
            none = points[..., None, :, :][..., :0, :, :]
            return none[..., 0], none
        if len(found) == 1:
            return found[0]
        distances, normals = zip(*found, strict=True)
        return xp.concat(distances, axis=-2), xp.concat(normals, axis=-3)

    @cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Half-spaces a·p ≤ b and upright boxes (middle, half edges) that hold everything solid.

        The terrain's half-space is scaled by its least n_z, because its distance is.
        """
        normals = [p.normal for p in self.planes]
        offsets = [float(p.normal @ p.point) for p in self.planes]
        if self.terrain is not None:
            steep = 1 / np.sqrt(1 + self.terrain.steepest**2)
            normals.append(np.array([0.0, 0.0, steep]))
            offsets.append(steep * float(self.terrain.heights.max()))
        return (
            np.array(normals).reshape(-1, 3),
            np.array(offsets),
            np.array([o.position for o in self.obstacles]).reshape(-1, 3),
            np.array([_half_edges(o) for o in self.obstacles]).reshape(-1, 3),
        )

    def clearances(self, position: Array) -> Array:
        """Return distances (k,) in m that the surfaces have at least from a point (3,), map.

        Cheap, for who may leave surfaces alone that are far. Not above 0 it says nothing: the
        point may be within something or not.
        """
        xp = namespace(position)
        normals, offsets, centers, edges = (constant(xp, values) for values in self._bounds)
        gap = xp.maximum(xp.abs(centers - position) - edges, 0.0)
        apart = xp.sqrt(xp.vecdot(gap, gap))
        return xp.concat([normals @ position - offsets, apart])

    def near(self, position: np.ndarray, distance: float) -> tuple[int, ...]:
        """Return which surfaces may be within a distance (m) of a point (3,), map."""
        return tuple((self.clearances(position) <= distance).nonzero()[0].tolist())

    def part(self, surfaces: tuple[int, ...]) -> Scene:
        """Return a scene of some of the surfaces, in their order."""
        return self if len(surfaces) == len(self) else _part(self, surfaces)

    @cached_property
    def edges(self) -> Edges:
        """Edges and spheres of the obstacles, numbered as surfaces."""
        found, before = obstacle_edges(self.obstacles), len(self) - len(self.obstacles)
        return replace(found, surface=found.surface + before, ball=found.ball + before)

    def ground(self, x: float, y: float) -> float:
        """Return the z in m of the highest seabed at a place, obstacles aside; −inf for none."""
        heights = [p.height(x, y) for p in self.planes]
        if self.terrain is not None:
            heights.append(float(self.terrain.height(np.array(x), np.array(y))))
        return max(heights, default=-np.inf)


@lru_cache(maxsize=256)
def _part(scene: Scene, surfaces: tuple[int, ...]) -> Scene:
    planes, chosen = len(scene.planes), set(surfaces)
    solid = len(scene) - len(scene.obstacles)
    return Scene(
        tuple(p for i, p in enumerate(scene.planes) if i in chosen),
        scene.terrain if planes < solid and planes in chosen else None,
        tuple(o for i, o in enumerate(scene.obstacles, solid) if i in chosen),
        scene.water_surface,
        scene.jets,
    )
