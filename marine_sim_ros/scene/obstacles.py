# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Planes, obstacles and fiducial markers: exact signed distances, and edges of obstacles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, host_call, namespace, with_gradient
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.geometry.triangles import TriangleSurface

__all__ = [
    'Edges',
    'FAMILIES',
    'FREEBOARD',
    'Fiducial',
    'OBSTACLE_KINDS',
    'Obstacle',
    'Plane',
    'ROUND',
    'obstacle_surfaces',
    'plane_surfaces',
]


# Planes: a flat seabed, the floor and the walls of a pool.

FREEBOARD = 0.3
"""Height of the walls of a pool above the water, m."""


@dataclass(frozen=True, eq=False)
class Plane:
    """An endless flat surface, or a wall up to a rim.

    Attributes:
        name: name of the surface.
        point: (3,) any point of it, map, m.
        normal: (3,) unit vector into the water; any length but zero may be given.
        rim: m, z up to which rays meet it: what is solid behind it has a level top there. What
            touches it meets an endless surface.
    """

    name: str
    point: np.ndarray
    normal: np.ndarray
    material: str = 'default'
    rim: float = np.inf

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no plane."""
        point, normal = np.asarray(self.point, float), np.asarray(self.normal, float)
        if point.shape != (3,) or not np.all(np.isfinite(point)):
            raise ParameterError(f'{self.name}: point is {self.point}; expected three numbers, m')
        if normal.shape != (3,) or not 1e-6 < float(np.linalg.norm(normal)) < 1e12:
            raise ParameterError(
                f'{self.name}: normal is {self.normal}; expected three numbers, not all zero'
            )
        object.__setattr__(self, 'point', point)
        object.__setattr__(self, 'normal', normal / np.linalg.norm(normal))

    def height(self, x: float, y: float) -> float:
        """Return its z in m above a place; −inf for a wall or a ceiling."""
        if self.normal[2] < 1e-3:
            return -np.inf
        along = self.normal[:2] @ (np.array([x, y]) - self.point[:2])
        return float(self.point[2] - along / self.normal[2])


def plane_surfaces(planes: Sequence[Plane], points: Array) -> tuple[Array, Array]:
    """Return d = (p − b)·n (..., k, m) in m and n (..., k, m, 3) of points (..., m, 3)."""
    xp = namespace(points)
    normals = np.stack([p.normal for p in planes])
    offsets = np.array([p.normal @ p.point for p in planes])
    along = constant(xp, normals) @ xp.matrix_transpose(points)
    distance = along - constant(xp, offsets[:, None])
    normal = xp.zeros_like(points[..., None, :, :]) + constant(xp, normals[:, None, :])
    return distance, normal


# Fiducial markers: AprilTags on boxes, for cameras to find.

FAMILIES = {'tag16h5': 30, 'tag25h9': 35, 'tag36h10': 2320, 'tag36h11': 587}
"""Number of markers of each family (Olson 2011, doi 10.1109/ICRA.2011.5979561)."""


@dataclass(frozen=True)
class Fiducial:
    """An AprilTag in the middle of a box's face towards its x axis, z up.

    Attributes:
        family: family of AprilTags.
        id: number within the family.
        size: side of the black square, m.
    """

    family: str
    id: int
    size: float

    def __post_init__(self) -> None:
        """Raise ParameterError for a marker that does not exist."""
        if self.family not in FAMILIES:
            raise ParameterError(
                f'marker family is {self.family!r}; {expected_one_of(self.family, FAMILIES)}'
            )
        if not 0 <= self.id < FAMILIES[self.family]:
            raise ParameterError(
                f'marker id is {self.id}; {self.family} has 0 to {FAMILIES[self.family] - 1}'
            )
        if not self.size > 0:
            raise ParameterError(f'marker size is {self.size}; expected a length above 0, m')


# Obstacles: boxes, cylinders, spheres and meshes, with their exact signed distances.

OBSTACLE_KINDS = ('box', 'cylinder', 'sphere', 'mesh')


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A fixed solid body.

    Attributes:
        name: name of the obstacle.
        kind: ``box``, ``cylinder`` (along its z axis), ``sphere`` or ``mesh``.
        size: (3,) edges of the box around it in its own axes, m: a cylinder has its diameter
            twice and its length, a sphere its diameter three times.
        position: (3,) of its middle, map, m.
        orientation: (4,) unit quaternion x, y, z, w to map.
        fiducial: marker on a box, or None.
        mesh: of a mesh, what is seen of it, about the middle of its box; else None.
        collision: of a mesh, what is contact_surface in its place; None: the same.
    """

    name: str
    kind: str
    size: np.ndarray
    position: np.ndarray
    orientation: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    material: str = 'default'
    fiducial: Fiducial | None = None
    mesh: TriangleSurface | None = None
    collision: TriangleSurface | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no obstacle."""
        if self.kind not in OBSTACLE_KINDS:
            raise ParameterError(
                f'{self.name}: kind is {self.kind!r}; {expected_one_of(self.kind, OBSTACLE_KINDS)}'
            )
        size, position = np.asarray(self.size, float), np.asarray(self.position, float)
        if size.shape != (3,) or not np.all((size > 0) & np.isfinite(size)):
            raise ParameterError(
                f'{self.name}: size is {self.size}; expected three lengths above 0, m'
            )
        if (self.kind == 'mesh') != (self.mesh is not None):
            raise ParameterError(f'{self.name}: a mesh has triangles, and nothing else has')
        round_ = {'box': 0, 'cylinder': 2, 'sphere': 3, 'mesh': 0}[self.kind]
        if np.any(size[:round_] != size[0]):
            raise ParameterError(
                f'{self.name}: size is {size.tolist()}; expected its diameter {round_} times'
            )
        if position.shape != (3,) or not np.all(np.isfinite(position)):
            raise ParameterError(
                f'{self.name}: position is {self.position}; expected three numbers, m'
            )
        orientation = np.asarray(self.orientation, float)
        if orientation.shape != (4,) or not abs(float(np.linalg.norm(orientation)) - 1) < 1e-6:
            raise ParameterError(
                f'{self.name}: orientation is {self.orientation}; expected a unit quaternion'
            )
        if self.fiducial is not None and (
            self.kind != 'box' or np.any(size[1:] < self.fiducial.size)
        ):
            raise ParameterError(
                f'{self.name}: its marker has sides of {self.fiducial.size:g} m; expected a box '
                'whose edges along y and z are no shorter'
            )
        for name, value in (('size', size), ('position', position), ('orientation', orientation)):
            object.__setattr__(self, name, value)

    @cached_property
    def rotation(self) -> np.ndarray:
        """R (3, 3) from its axes to map."""
        rotation: np.ndarray = rotation_matrix(self.orientation)
        return rotation

    @property
    def contact_surface(self) -> TriangleSurface:
        """Surface of a mesh for contacts: its collision mesh, or the visible one."""
        surface = self.collision or self.mesh
        assert surface is not None
        return surface

    def half_extents(self, directions: np.ndarray) -> np.ndarray:
        """Return half of the extents (c,) along unit vectors (c, 3), m; of a mesh, its box's."""
        local = np.abs(directions @ rotation_matrix(self.orientation))
        half = self.size / 2
        if self.kind == 'sphere':
            return np.full(len(local), half[0])
        if self.kind == 'cylinder':
            local = np.stack([np.hypot(local[:, 0], local[:, 1]), local[:, 2]], axis=1)
            half = half[1:]
        return np.asarray(local @ half)


def _corner_distance(excess: Array) -> tuple[Array, Array]:
    """Return the distance (...) from a corner of half-spaces and its gradient (..., n).

    excess (..., n) is how far a point is beyond each; inside all, the nearest one counts.
    """
    xp = namespace(excess)
    outward = xp.maximum(excess, xp.zeros_like(excess))
    square = xp.sum(outward * outward, axis=-1, keepdims=True)
    outside = square > 0
    length = xp.sqrt(xp.where(outside, square, xp.ones_like(square)))
    nearest = xp.max(excess, axis=-1, keepdims=True)
    ones = xp.ones_like(excess)
    face = xp.where(excess == nearest, ones, xp.zeros_like(excess))
    face = face / xp.sqrt(xp.sum(face, axis=-1, keepdims=True))
    distance = xp.where(outside, length, nearest)
    return distance[..., 0], xp.where(outside, outward / length, face)


def _side(values: Array) -> Array:
    """Return −1 for negative values, else 1."""
    xp = namespace(values)
    return xp.where(values < 0, -xp.ones_like(values), xp.ones_like(values))


def _radial(across: Array) -> tuple[Array, Array]:
    """Return the length (..., 1) of vectors and their direction (..., n); any one for zero."""
    xp = namespace(across)
    square = xp.sum(across * across, axis=-1, keepdims=True)
    away = square > 0
    length = xp.sqrt(xp.where(away, square, xp.ones_like(square)))
    any_one = xp.ones_like(across) / across.shape[-1] ** 0.5
    radius = xp.where(away, length, xp.zeros_like(length))
    return radius, xp.where(away, across / length, any_one)


def _box(local: Array, half: Array) -> tuple[Array, Array]:
    distance, normal = _corner_distance(namespace(local).abs(local) - half)
    return distance, normal * _side(local)


def _cylinder(local: Array, half: Array) -> tuple[Array, Array]:
    xp = namespace(local)
    radius, direction = _radial(local[..., :2])
    along = local[..., 2:]
    excess = xp.concat([radius, xp.abs(along)], axis=-1) - half[..., 1:]
    distance, weight = _corner_distance(excess)
    return distance, xp.concat(
        [weight[..., :1] * direction, weight[..., 1:] * _side(along)], axis=-1
    )


def _sphere(local: Array, half: Array) -> tuple[Array, Array]:
    radius, direction = _radial(local)
    return (radius - half[..., :1])[..., 0], direction


def _mesh(obstacle: Obstacle, points: Array, within: Array) -> tuple[Array, Array]:
    """Return distances (..., m) and normals (..., m, 3) of a mesh, map."""
    surface, rotation = obstacle.contact_surface, obstacle.rotation

    def find(points: np.ndarray, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return surface.distances(points, float(np.max(within, initial=0.0)))

    xp = namespace(points)
    local = (points - constant(xp, obstacle.position)) @ constant(xp, rotation)
    shapes = points.shape[:-1], points.shape
    distance, normal = host_call(
        find, shapes, local, within, machine_code=lambda: surface.machine_code.get('distances')
    )
    normal = normal @ constant(xp, rotation.T)
    return with_gradient(distance, normal, points), normal  # as of a plane


_SHAPES = {'box': _box, 'cylinder': _cylinder, 'sphere': _sphere}


def obstacle_surfaces(
    kind: str, obstacles: Sequence[Obstacle], points: Array, within: Array = np.inf
) -> tuple[Array, Array]:
    """Return signed distances (..., k, m) in m and outward normals (..., k, m, 3), map.

    Args:
        kind: kind of all these obstacles.
        obstacles: k of them.
        points: (..., m, 3), map, m.
        within: () or (...), m; of a mesh, what is farther may be said to be nearer, but not
            nearer than that.
    """
    xp = namespace(points)
    if kind == 'mesh':
        results = [_mesh(o, points, within) for o in obstacles]
        if len(results) == 1:
            return results[0][0][..., None, :], results[0][1][..., None, :, :]
        return xp.stack([d for d, _ in results], axis=-2), xp.stack(
            [n for _, n in results], axis=-3
        )
    half = constant(xp, np.stack([o.size for o in obstacles])[:, None, :] / 2)
    middle = constant(xp, np.stack([o.position for o in obstacles])[:, None, :])
    rotation = constant(xp, rotation_matrix(np.stack([o.orientation for o in obstacles])))
    local = (points[..., None, :, :] - middle) @ rotation
    distance, normal = _SHAPES[kind](local, half)
    return distance, normal @ xp.matrix_transpose(rotation)


# Edges of obstacles, which touch the flat sides of a vehicle first.

ROUND = 24
"""Sides of the prism whose edges stand for those of a cylinder: its flats are within
r (1 − cos(π/24)) = 0.0086 r of the cylinder."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Straight edges of obstacles, and spheres, in map.

    Attributes:
        start: (e, 3) m.
        along: (e, 3) from the start to the end, m.
        surface: (e,) which obstacle an edge is of.
        center: (b, 3) of spheres, m.
        radius: (b,) m.
        ball: (b,) which obstacle a sphere is.
    """

    start: np.ndarray
    along: np.ndarray
    surface: np.ndarray
    center: np.ndarray
    radius: np.ndarray
    ball: np.ndarray


def _box_edges() -> np.ndarray:
    """Return the twelve edges (12, 2, 3) of a cube of half edges 1."""
    edges = []
    for axis in range(3):
        for signs in product((-1.0, 1.0), repeat=2):
            ends = [np.insert(np.array(signs), axis, end) for end in (-1.0, 1.0)]
            edges.append(np.stack(ends))
    return np.stack(edges)


def _prism_edges() -> np.ndarray:
    """Return edges (72, 2, 3) of a prism in a cylinder of radius and half length 1."""
    angle = 2 * math.pi * np.arange(ROUND) / ROUND
    low = np.stack([np.cos(angle), np.sin(angle), -np.ones(ROUND)], axis=-1)
    high = low * np.array([1.0, 1.0, -1.0])
    rims = [np.stack([rim, np.roll(rim, -1, axis=0)], axis=1) for rim in (low, high)]
    return np.concatenate([*rims, np.stack([low, high], axis=1)])


_UNIT = {'box': _box_edges(), 'cylinder': _prism_edges()}


def obstacle_edges(obstacles: Sequence[Obstacle]) -> Edges:
    """Return the edges of boxes and cylinders, and the spheres, of some obstacles.

    Those of meshes are looked for where a vehicle is: there may be millions.
    """
    edges, owners, balls = [np.zeros((0, 2, 3))], [np.zeros(0, int)], []
    for index, obstacle in enumerate(obstacles):
        if obstacle.kind == 'sphere':
            balls.append(index)
        if obstacle.kind not in _UNIT:
            continue
        local = _UNIT[obstacle.kind] * (obstacle.size / 2)
        rotation = rotation_matrix(obstacle.orientation)
        edges.append(local @ rotation.T + obstacle.position)
        owners.append(np.full(len(local), index))
    ends = np.concatenate(edges)
    return Edges(
        ends[:, 0],
        ends[:, 1] - ends[:, 0],
        np.concatenate(owners),
        np.array([obstacles[i].position for i in balls]).reshape(-1, 3),
        np.array([obstacles[i].size[0] / 2 for i in balls]),
        np.array(balls, int),
    )
