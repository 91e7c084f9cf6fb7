# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact of a vehicle: material pairs, points, spheres and flats.

Names, defaults and rules are those of the physical materials of Choreonoid's AGX Dynamics plugin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.schema import declaration

__all__ = [
    'ContactMaterial',
    'ContactPoints',
    'FRICTION_MODELS',
    'Material',
    'Outline',
    'SOLVERS',
    'Solids',
    'derive_contact',
    'no_contact',
    'pair_modulus',
]


# Contact parameters of a material, and of a pair of materials.

FRICTION_MODELS = ('default', 'cone', 'box', 'scaledBox', 'orientedBox')
SOLVERS = ('default', 'split', 'direct', 'iterative', 'iterativeAndDirect', 'directAndIterative')
"""The documentation names the fifth, the plugin's source the sixth."""


@declaration(frozen=True)
class Material:
    """One material.

    Attributes:
        name: empty for the default material.
        density: kg/m³, for the mass of a link that says so.
        youngs_modulus: Pa.
        poisson_ratio: 1.
        viscosity: surface viscosity: 0 bounces fully, 1 not at all. Its documentation says 0.0,
            its source 1.0; 1.0 here, for two defaults are documented not to bounce.
        spook_damping: time in which a penetration relaxes, s.
        roughness: 1.
        surface_viscosity: m/(s N), see :class:`ContactMaterial`.
        adhesion_force: N.
        adhesive_overlap: m.
    """

    name: str = ''
    density: float = 1000.0
    youngs_modulus: float = 4e8
    poisson_ratio: float = 0.3
    viscosity: float = 1.0
    spook_damping: float = 0.075
    roughness: float = 0.5
    surface_viscosity: float = 5e-9
    adhesion_force: float = 0.0
    adhesive_overlap: float = 0.0


@declaration(frozen=True)
class ContactMaterial:
    """A pair of materials where they touch.

    Attributes:
        youngs_modulus: combined Young's modulus of both materials, Pa.
        restitution: speed after over speed before an impact, 0 to 1.
        spook_damping: τ of the penetration's decay δ̇ = −δ/τ, s.
        friction: Coulomb's coefficient, static and kinetic.
        secondary_friction: across the primary direction (orientedBox); below 0: as ``friction``.
        surface_viscosity: creep under a tangential force, m/(s N).
        secondary_surface_viscosity: across the primary direction; below 0: as the other.
        adhesion_force: pulls each touching shape to the surface, N.
        adhesive_overlap: penetration beyond which it does, m.
        friction_model: one of :data:`FRICTION_MODELS`.
        solver: one of :data:`SOLVERS`.
        contact_reduction_mode: default, reduceGeometry, reduceALL or reduceNone.
        contact_reduction_bin_resolution: 0 to 255.
        primary_direction: primary direction of orientedBox, in the reference frame.
        reference_body_name: the vehicle's name, or anything else for map.
        elastic_modulus: Hertz's E*, Pa; None: that of ``youngs_modulus`` with ν = 0.3.
    """

    youngs_modulus: float = 2e8
    restitution: float = 0.0
    spook_damping: float = 0.075
    friction: float = 0.5
    secondary_friction: float = -1.0
    surface_viscosity: float = 1e-8
    secondary_surface_viscosity: float = -1.0
    adhesion_force: float = 0.0
    adhesive_overlap: float = 0.0
    friction_model: str = 'default'
    solver: str = 'default'
    contact_reduction_mode: str = 'default'
    contact_reduction_bin_resolution: int = 0
    primary_direction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reference_body_name: str = ''
    reference_link_name: str = ''
    elastic_modulus: float | None = None

    @property
    def effective_modulus(self) -> float:
        """Hertz's E* in Pa."""
        if self.elastic_modulus is not None:
            return self.elastic_modulus
        return self.youngs_modulus / (1 - Material.poisson_ratio**2)


def pair_modulus(a: Material, b: Material) -> float:
    """Return Hertz's E* in Pa: 1/E* = (1 − ν₁²)/E₁ + (1 − ν₂²)/E₂ (Johnson 1985, eq. 4.5)."""
    softness = sum((1 - m.poisson_ratio**2) / m.youngs_modulus for m in (a, b))
    return 1 / softness


def derive_contact(a: Material, b: Material) -> ContactMaterial:
    """Return the contact of two materials for which none is defined.

    E = E₁E₂/(E₁ + E₂), e = √((1 − v₁)(1 − v₂)), τ = max(τ₁, τ₂), μ = √(r₁ r₂); surface viscosity
    and adhesion are sums. Source: Choreonoid's documentation of AGX materials; it has no rule for
    the adhesive overlap, for which the larger one counts here.
    """
    return ContactMaterial(
        youngs_modulus=a.youngs_modulus * b.youngs_modulus / (a.youngs_modulus + b.youngs_modulus),
        restitution=math.sqrt((1 - a.viscosity) * (1 - b.viscosity)),
        spook_damping=max(a.spook_damping, b.spook_damping),
        friction=math.sqrt(a.roughness * b.roughness),
        surface_viscosity=a.surface_viscosity + b.surface_viscosity,
        adhesion_force=a.adhesion_force + b.adhesion_force,
        adhesive_overlap=max(a.adhesive_overlap, b.adhesive_overlap),
        elastic_modulus=pair_modulus(a, b),
    )


# Contact geometry of a vehicle: points, spheres, and the edges and faces between them.


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


_NO_FACE_OFFSET = 1e6
"""m; offset of a padding face."""


def _faces(points: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return normals (h, 3) and offsets (h,) of the hull of points; None where it is flat."""
    spatial = require('scipy.spatial', 'contact of a hull')
    try:
        equations = spatial.ConvexHull(points).equations
    except (spatial.QhullError, ValueError):
        return None
    # Triangles of one face have the same plane up to rounding.
    _, first = np.unique(np.round(equations, 9), axis=0, return_index=True)
    faces = equations[np.sort(first)]
    return faces[:, :3], -faces[:, 3]


def _solids(hulls: Sequence[tuple[int, np.ndarray]]) -> Solids:
    """Return the convex bodies of shapes by their number and their points (n, 3)."""
    faces_by_index = [(index, faces) for index, p in hulls if (faces := _faces(p)) is not None]
    if not faces_by_index:
        return Solids(np.zeros((0, 1, 3)), np.zeros((0, 1)), np.zeros(0, int))
    rows = max(len(offset) for _, (_, offset) in faces_by_index)
    return Solids(
        np.stack([np.pad(a, ((0, rows - len(a)), (0, 0))) for _, (a, _) in faces_by_index]),
        np.stack(
            [
                np.pad(b, (0, rows - len(b)), constant_values=_NO_FACE_OFFSET)
                for _, (_, b) in faces_by_index
            ]
        ),
        np.array([index for index, _ in faces_by_index]),
    )


class Outline(NamedTuple):
    """What a shape is, in the body frame.

    Attributes:
        kind: ``box``, ``cylinder`` along z, ``sphere``, or ``mesh``: the hull of its points.
        size: (3,) edges of its bounding box, m.
        position: (3,) of the middle of that box, m.
        rotation: (3, 3) v_body = R v_shape.
    """

    kind: str
    size: np.ndarray
    position: np.ndarray
    rotation: np.ndarray


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
        hulls: number and points (n, 3) in m of each shape that an obstacle's edge may get into;
            no sphere, no link that moves.
        joint: (m,) number of the joint that carries a point, −1: the body; None: no link moves.
        local: (m, 3) places in the joints' frames, m.
        farthest: no point gets farther from the body's origin, m; None: as they are.
        described: the points before their links were posed; None: these.
        outlines: (s,) what the shapes are, for others that touch them; None: a link that moves.
    """

    position: np.ndarray
    radius: np.ndarray
    edge: np.ndarray
    shape: np.ndarray
    materials: tuple[str | Material, ...]
    hulls: tuple[tuple[int, np.ndarray], ...] = ()
    joint: np.ndarray | None = None
    local: np.ndarray | None = None
    farthest: float | None = None
    described: ContactPoints | None = None
    outlines: tuple[Outline | None, ...] = ()

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.radius)

    @property
    def unposed(self) -> ContactPoints:
        """The points before their links were posed: one object in all ticks."""
        return self if self.described is None else self.described

    @cached_property
    def solids(self) -> Solids:
        """What an obstacle's edge may get into between the points: the convex hulls."""
        return _solids(self.hulls) if self.described is None else self.described.solids

    @cached_property
    def reach(self) -> float:
        """m; bound of the distance of the vehicle's points from the body's origin."""
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
    """Return the empty contact points of a vehicle without contact."""
    none = np.zeros(0)
    return ContactPoints(np.zeros((0, 3)), none, none, np.zeros(0, int), ())
