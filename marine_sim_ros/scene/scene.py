# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scene of a run: solid surfaces with signed distances, and the law of thruster jets near them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    constant,
    is_numeric,
    known_vector,
    namespace,
    remember_vectors,
)
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.scene.obstacles import (
    OBSTACLE_KINDS,
    Edges,
    Obstacle,
    Plane,
    obstacle_edges,
    obstacle_surfaces,
    plane_surfaces,
)
from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['JET_MODES', 'JetInteraction', 'Scene']


# Law of thruster jets near a boundary.

JET_MODES = ('normal_only', 'documented')


@dataclass(frozen=True)
class JetInteraction:
    """Reaction of a jet of thrust T on a boundary at distance d; R is the rotor's radius.

    Attributes:
        mode: ``normal_only`` or ``documented``, see :mod:`marine_sim_ros.physics.boundary`.
        exponent: k of the ratio (1 + d/R)^−k, 1 to 2.
        suction: share of the ratio with which a jet that leaves a boundary draws the rotor to
            it, ``normal_only``; 1 is what the documented law has for a ceiling.
    """

    mode: str = 'normal_only'
    exponent: float = 1.5
    suction: float = 0.0

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no such law."""
        if self.mode not in JET_MODES:
            raise ParameterError(
                f'boundary mode is {self.mode!r}; {expected_one_of(self.mode, JET_MODES)}'
            )
        if not 1.0 <= self.exponent <= 2.0:
            raise ParameterError(f'boundary exponent is {self.exponent}; expected 1 to 2')
        if not 0.0 <= self.suction <= 1.0:
            raise ParameterError(f'boundary suction is {self.suction}; expected 0 to 1')


# Signed distances to the scene.

_ROUNDING = 1e-6
"""m; more than the rounding of a clearance."""


def _half_edges(obstacle: Obstacle) -> np.ndarray:
    """Return half the edges (3,) of the upright box around an obstacle's own box."""
    rotation: np.ndarray = rotation_matrix(obstacle.orientation)
    return np.abs(rotation) @ (obstacle.size / 2)


@dataclass(frozen=True, eq=False)
class Scene:
    """Solid surfaces in map, k of them: planes, then the terrain, then obstacles by their kind.

    Attributes:
        planes: seabed, floor, walls.
        obstacles: obstacles in the order boxes, cylinders, spheres, meshes.
        water_surface: whether jets of thrusters feel the water's surface as a boundary too; it
            is not solid, so it is none of the k surfaces.
        jets: law of the thrusters' jets near surfaces.
    """

    planes: tuple[Plane, ...] = ()
    terrain: HeightMap | None = None
    obstacles: tuple[Obstacle, ...] = ()
    water_surface: bool = False
    jets: JetInteraction = field(default_factory=JetInteraction)
    _measured: list[tuple[tuple[float, ...], float]] = field(
        default_factory=lambda: [((0.0, 0.0, 0.0), -math.inf)], init=False, repr=False
    )

    def __post_init__(self) -> None:
        """Sort the obstacles by kind."""
        ordered = tuple(o for kind in OBSTACLE_KINDS for o in self.obstacles if o.kind == kind)
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
        groups = {k: tuple(o for o in self.obstacles if o.kind == k) for k in OBSTACLE_KINDS}
        return {kind: group for kind, group in groups.items() if group}

    def __len__(self) -> int:
        """Return k."""
        return len(self.names)

    def surfaces(self, points: Array, within: Array = np.inf) -> tuple[Array, Array]:
        """Return distances of points from each surface, and the surfaces' normals.

        Args:
            points: (..., m, 3), map, m.
            within: m; a mesh that is farther may be said to be nearer, but not nearer than
                that: the less it is, the less is looked at.

        Returns:
            Signed distance (..., k, m) in m, positive in the water, and the surface's unit
            normal (..., k, m, 3) into the water there, map: the distance's gradient.
        """
        xp = namespace(points)
        results = []
        if self.planes:
            results.append(plane_surfaces(self.planes, points))
        if self.terrain is not None:
            results.append(self.terrain.surfaces(points))
        for kind, group in self._by_kind.items():
            results.append(obstacle_surfaces(kind, group, points, within))
        if not results:
            none = points[..., None, :, :][..., :0, :, :]
            return none[..., 0], none
        if len(results) == 1:
            return results[0]
        distances, normals = zip(*results, strict=True)
        return xp.concat(distances, axis=-2), xp.concat(normals, axis=-3)

    @cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Bounds of the surfaces: half-spaces a·p ≤ b and axis-aligned boxes (centre, half edges).

        The terrain's half-space is scaled by its least n_z, because its distance is.
        """
        normals = [p.normal for p in self.planes]
        offsets = [float(p.normal @ p.point) for p in self.planes]
        if self.terrain is not None:
            steep = 1 / np.sqrt(1 + self.terrain.max_slope**2)
            normals.append(np.array([0.0, 0.0, steep]))
            offsets.append(steep * self.terrain.highest)
        return (
            np.array(normals).reshape(-1, 3),
            np.array(offsets),
            np.array([o.position for o in self.obstacles]).reshape(-1, 3),
            np.array([_half_edges(o) for o in self.obstacles]).reshape(-1, 3),
        )

    def clearances(self, position: Array) -> Array:
        """Return lower bounds (k,) of the distances of the surfaces from a point (3,), map, m.

        Cheap, for who may leave surfaces alone that are far. Not above 0 it says nothing: the
        point may be within something or not.
        """
        return _clearances(position, self)

    def is_far(self, position: np.ndarray, distance: float) -> bool:
        """Return whether every surface is farther than a distance (m) from a point (3,), map.

        False may also mean that it is not known. The clearance changes by no more than the way
        from the place where it was computed last.
        """
        return self._near(position, distance) is None

    def _near(self, position: np.ndarray, distance: float) -> np.ndarray | None:
        """Return a mask (k,) of the surfaces that may be near a point; None: all are far."""
        point = tuple(position.tolist())
        place, clearance = self._measured[0]
        if math.dist(point, place) + distance < clearance:
            return None
        clearances = self.clearances(position)
        clearance = float(clearances.min()) if len(clearances) else math.inf
        self._measured[0] = point, clearance - _ROUNDING
        return None if distance < clearance else clearances <= distance

    def may_be_near(self, position: Array, distance: Array) -> Array:
        """Return whether a surface may be within a distance (m) of a point (3,), map."""
        if is_numeric(position) and is_numeric(distance):
            return not self.is_far(position, float(distance))
        return namespace(position).any(self.clearances(position) <= distance)

    def surfaces_near(self, points: Array, distance: float) -> tuple[int, ...]:
        """Return the surfaces that may be within a distance (m) of points (..., 3), map.

        All are returned for points in several places, and for traced ones.
        """
        single_point = known_vector(points)
        if single_point is None:
            return tuple(range(len(self)))
        near = self._near(single_point, distance)
        return () if near is None else tuple(near.nonzero()[0].tolist())

    def part(self, surfaces: tuple[int, ...]) -> Scene:
        """Return a scene of some of the surfaces, in their order."""
        return self if len(surfaces) == len(self) else _part(self, surfaces)

    @cached_property
    def edges(self) -> Edges:
        """Edges and spheres of the obstacles, numbered as surfaces."""
        edges_of_obstacles, offset = (
            obstacle_edges(self.obstacles),
            len(self) - len(self.obstacles),
        )
        return replace(
            edges_of_obstacles,
            surface=edges_of_obstacles.surface + offset,
            ball=edges_of_obstacles.ball + offset,
        )

    @cached_property
    def meshes(self) -> tuple[tuple[int, Obstacle], ...]:
        """The obstacles that are meshes, with their numbers as surfaces."""
        first = len(self) - len(self.obstacles)
        return tuple((n, o) for n, o in enumerate(self.obstacles, first) if o.kind == 'mesh')

    def ground(self, x: float, y: float) -> float:
        """Return the z in m of the highest seabed at a place, obstacles aside; −inf for none."""
        heights = [p.height(x, y) for p in self.planes]
        if self.terrain is not None:
            heights.append(float(self.terrain.height(np.array(x), np.array(y))))
        return max(heights, default=-np.inf)


@partial(remember_vectors, shared=True)
def _clearances(position: Array, scene: Scene) -> Array:
    xp = namespace(position)
    normals, offsets, centers, edges = scene._bounds
    distances = []
    if len(normals):
        distances.append(constant(xp, normals) @ position - constant(xp, offsets))
    if len(centers):
        gap = xp.maximum(xp.abs(constant(xp, centers) - position) - constant(xp, edges), 0.0)
        distances.append(xp.sqrt(xp.vecdot(gap, gap)))
    return xp.concat(distances) if distances else xp.zeros_like(position[:0])


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
