# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coefficients of every pair of a scene's surface and a vehicle's contact point; stiffness."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import rotation_matrix, to_body
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.contact_material import ContactMaterial
from marine_sim_ros.model.materials import Materials, shipped_materials
from marine_sim_ros.model.vehicle import Frame, Vehicle
from marine_sim_ros.physics.contact_touch import layout
from marine_sim_ros.scene.scene import Scene

__all__ = ['PairTable', 'hertz_force', 'linear_stiffness', 'pair_table']

_LEAST_INDENTATION = 1e-6
"""m; a sphere that only just touches is as stiff as here, not infinitely soft."""


def hertz_force(indentation: Array, *, modulus: Array, radius: Array) -> Array:
    """Return F = 4/3 E* √R δ^1.5 (...), N, of a sphere on a flat (Johnson 1985, eq. 4.23).

    Args:
        indentation: δ (...), m; nothing pulls below 0.
        modulus: E*, Pa.
        radius: R, m.
    """
    xp = namespace(indentation)
    depth = xp.maximum(indentation, xp.zeros_like(indentation))
    return 4 / 3 * modulus * radius**0.5 * depth**1.5


def linear_stiffness(modulus: Array, area: Array, length: Array) -> Array:
    """Return E A/ℓ (...), N/m, of a column of a section (m²) and a length (m)."""
    return modulus * area / length


@dataclass(frozen=True, eq=False)
class PairTable:
    """Coefficients of contacts, (c,): of all pairs of a layout, or of those picked out.

    Attributes:
        youngs_modulus: Young's modulus of the pair, Pa.
        effective_modulus: Hertz's E*, Pa.
        restitution: 0 to 1.
        spook_damping: τ, s.
        friction: along the primary direction.
        cross_friction: across it.
        surface_viscosity: along, m/(s N).
        cross_viscosity: across, m/(s N).
        adhesion_force: adhesion force of the shape, N.
        adhesive_overlap: m.
        joint: 1 where friction is bounded in every direction alike (cone).
        lagged: 1 where its bound is from the normal force of the step before (box).
        in_map: 1 where the primary direction turns with map, 0 with the body.
        primary: (..., 3) primary direction; zero: any.
        radius: radius of the point, m.
        edge: edge length of the material behind the point, m.
        group: number of the surface and the shape together.
    """

    youngs_modulus: np.ndarray
    effective_modulus: np.ndarray
    restitution: np.ndarray
    spook_damping: np.ndarray
    friction: np.ndarray
    cross_friction: np.ndarray
    surface_viscosity: np.ndarray
    cross_viscosity: np.ndarray
    adhesion_force: np.ndarray
    adhesive_overlap: np.ndarray
    joint: np.ndarray
    lagged: np.ndarray
    in_map: np.ndarray
    primary: np.ndarray
    radius: np.ndarray
    edge: np.ndarray
    group: np.ndarray

    def picked(self, index: Array) -> PairTable:
        """Return some pairs of a table, in the namespace of their numbers (k,)."""
        xp = namespace(index)
        columns = (constant(xp, getattr(self, f.name)) for f in fields(self))
        return PairTable(*(xp.take(column, index, axis=0) for column in columns))

    def stiffness(self, gap: Array) -> Array:
        """Return F/δ (..., c) at gaps (..., c), N/m: Hertz of spheres, else E A/ℓ."""
        xp = namespace(gap)
        depth = xp.maximum(-gap, xp.full_like(gap, _LEAST_INDENTATION))
        modulus, radius = constant(xp, self.effective_modulus), constant(xp, self.radius)
        sphere = hertz_force(depth, modulus=modulus, radius=radius) / depth
        edge = constant(xp, self.edge)
        column = linear_stiffness(constant(xp, self.youngs_modulus), edge**2 / 4, edge)
        return xp.where(radius > 0, sphere, column + xp.zeros_like(gap))

    def primary_in_body(self, orientation: Array) -> Array:
        """Return the primary directions (..., c, 3) in the body frame."""
        xp = namespace(orientation)
        primary = constant(xp, self.primary)
        turned = to_body(orientation[..., None, :], primary)
        return xp.where(constant(xp, self.in_map)[:, None] > 0, turned, primary)


def _primary(
    name: str, frames: tuple[Frame, ...], material: ContactMaterial
) -> tuple[np.ndarray, bool]:
    """Return the primary direction, and whether it is in map, not on the body."""
    direction = np.array(material.primary_direction)
    if material.friction_model != 'orientedBox':
        return np.zeros(3), False
    for frame in frames:
        if frame.name == material.reference_link_name:
            return matvec(rotation_matrix(frame.quaternion), direction), False
    own = material.reference_link_name == 'base_link'
    return direction, not (own or material.reference_body_name == name)


def _row(
    name: str, frames: tuple[Frame, ...], material: ContactMaterial
) -> list[float | np.ndarray]:
    """Return the coefficients of a pair in the order of PairTable's, up to ``primary``."""
    oriented = material.friction_model == 'orientedBox' and material.secondary_friction >= 0
    viscous = oriented and material.secondary_surface_viscosity >= 0
    primary, in_map = _primary(name, frames, material)
    return [
        material.youngs_modulus,
        material.effective_modulus,
        material.restitution,
        material.spook_damping,
        material.friction,
        material.secondary_friction if oriented else material.friction,
        material.surface_viscosity,
        material.secondary_surface_viscosity if viscous else material.surface_viscosity,
        material.adhesion_force,
        material.adhesive_overlap,
        float(material.friction_model in ('default', 'cone')),
        float(material.friction_model == 'box'),
        float(in_map),
        primary,
    ]


@lru_cache(maxsize=16)
def _table(
    name: str, frames: tuple[Frame, ...], own: ContactPoints, scene: Scene, materials: Materials
) -> PairTable:
    shapes, pairs = own.materials, layout(own, scene)
    rows = [
        [_row(name, frames, materials.contact(shape, surface)) for shape in shapes]
        for surface in scene.materials
    ]
    columns = [
        np.array([[pair[i] for pair in surface] for surface in rows], float)[
            pairs.surface, pairs.shape
        ]
        for i in range(len(rows[0][0]))
    ]
    group = pairs.surface * len(shapes) + pairs.shape
    rest = [pairs.radius, pairs.depth, group]
    return PairTable(*columns, *rest)


def pair_table(vehicle: Vehicle, environment: Environment) -> PairTable:
    """Return the coefficients of all pairs of a vehicle and a scene."""
    assert environment.scene is not None
    materials = environment.materials or shipped_materials()
    return _table(vehicle.name, vehicle.frames, vehicle.contact, environment.scene, materials)
