# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coefficients of each pair of surface and contact point: friction, stiffness, damping."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace, remember_vectors
from marine_sim_ros.core.spatial import rotation_matrix, to_body
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactMaterial, ContactPoints
from marine_sim_ros.model.materials import Materials, shipped_materials
from marine_sim_ros.model.vehicle import Frame, Vehicle
from marine_sim_ros.physics.contact.detection import pair_layout
from marine_sim_ros.scene.scene import Scene

__all__ = [
    'MIN_INDENTATION',
    'PairCatalog',
    'PairCoefficients',
    'PairTable',
    'hertz_force',
    'linear_stiffness',
    'pair_table',
]

MIN_INDENTATION = 1e-6
"""Smallest indentation for a sphere's stiffness, m; at 0 it would be infinitely soft."""


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


class PairCoefficients(NamedTuple):
    """Coefficients of contacts, (c,).

    Attributes:
        column: stiffness E A/ℓ, N/m.
        effective_modulus: Hertz's E*, Pa.
        restitution: 0 to 1.
        spook_damping: τ, s.
        adhesion_force: adhesion force of the shape, N.
        adhesive_overlap: m.
        joint: 1 where friction is bounded in every direction alike (cone).
        in_map: 1 where the primary direction is fixed in map, 0 in the body.
        group: number of the surface and the shape together.
        lagged: 1 where friction's bound is from the normal force of the step before (box);
            None: nowhere.
        radius: radius of the point, m; None: all 0.
        friction: (2, c) along the primary direction and across it.
        viscosity: (2, c) of the surface, along and across, m/(s N).
        primary: (c, 3) primary direction; None: arbitrary for all pairs.
    """

    column: Array
    effective_modulus: Array
    restitution: Array
    spook_damping: Array
    adhesion_force: Array
    adhesive_overlap: Array
    joint: Array
    in_map: Array
    group: Array
    lagged: Array | None
    radius: Array | None
    friction: Array
    viscosity: Array
    primary: Array | None

    def stiffness(self, gap: Array) -> Array:
        """Return F/δ (c,) at gaps (c,), N/m: Hertz of spheres, else E A/ℓ."""
        if self.radius is None:
            return self.column
        xp = namespace(gap)
        depth = xp.maximum(-gap, xp.full_like(gap, MIN_INDENTATION))
        sphere = hertz_force(depth, modulus=self.effective_modulus, radius=self.radius) / depth
        return xp.where(self.radius > 0, sphere, self.column)

    def primary_in_body(self, orientation: Array) -> Array | None:
        """Return the primary directions (c, 3) in the body frame; None: arbitrary."""
        if self.primary is None:
            return None
        rotated = to_body(orientation[None, :], self.primary)
        return namespace(rotated).where(self.in_map[:, None] > 0, rotated, self.primary)


@dataclass(frozen=True, eq=False)
class PairTable:
    """Coefficients of all c pairs of a layout.

    Attributes:
        columns: (18, c), in the order of :class:`PairCoefficients`.
        sticky: whether some adhere.
        absent: fields of :class:`PairCoefficients` that none of the pairs needs.
    """

    columns: np.ndarray
    sticky: bool
    absent: tuple[str, ...]

    def select(self, index: Array) -> PairCoefficients:
        """Return the coefficients of some pairs (n,)."""
        return _pick_coefficients(index, self)


_SCALAR_COUNT = PairCoefficients._fields.index('friction')
_GROUP = PairCoefficients._fields.index('group')


@remember_vectors
def _pick_coefficients(index: Array, table: PairTable) -> PairCoefficients:
    """Return the coefficients of pairs; cached: a resting body has the same in every tick."""
    xp = namespace(index)
    values = xp.take(constant(xp, table.columns), index, axis=1)
    singles = (values[i, :] for i in range(_SCALAR_COUNT))
    friction, viscosity = values[_SCALAR_COUNT:-5, :], values[-5:-3, :]
    primary = xp.matrix_transpose(values[-3:, :])
    pairs = PairCoefficients._make((*singles, friction, viscosity, primary))
    return pairs._replace(**dict.fromkeys(table.absent))


def _primary_direction(
    name: str, frames: tuple[Frame, ...], material: ContactMaterial
) -> tuple[np.ndarray, bool]:
    """Return the primary direction, and whether it is fixed in map instead of the body."""
    direction = np.array(material.primary_direction)
    if material.friction_model != 'orientedBox':
        return np.zeros(3), False
    for frame in frames:
        if frame.name == material.reference_link_name:
            return matvec(rotation_matrix(frame.quaternion), direction), False
    is_base_link = material.reference_link_name == 'base_link'
    return direction, not (is_base_link or material.reference_body_name == name)


def _material_row(name: str, frames: tuple[Frame, ...], material: ContactMaterial) -> list[float]:
    """Return the columns of PairTable that depend on the material; E in place of the stiffness."""
    oriented = material.friction_model == 'orientedBox' and material.secondary_friction >= 0
    viscous = oriented and material.secondary_surface_viscosity >= 0
    primary, in_map = _primary_direction(name, frames, material)
    return [
        material.youngs_modulus,
        material.effective_modulus,
        material.restitution,
        material.spook_damping,
        material.adhesion_force,
        material.adhesive_overlap,
        float(material.friction_model in ('default', 'cone')),
        float(in_map),
        float(material.friction_model == 'box'),
        material.friction,
        material.secondary_friction if oriented else material.friction,
        material.surface_viscosity,
        material.secondary_surface_viscosity if viscous else material.surface_viscosity,
        *primary.tolist(),
    ]


@lru_cache(maxsize=16)
def _build_pair_table(
    name: str,
    frames: tuple[Frame, ...],
    contact_points: ContactPoints,
    scene: Scene,
    materials: Materials,
) -> PairTable:
    shapes, pairs = contact_points.materials, pair_layout(contact_points, scene)
    rows = np.array(
        [
            [_material_row(name, frames, materials.contact(shape, surface)) for shape in shapes]
            for surface in scene.materials
        ]
    )[pairs.surface, pairs.shape]
    rows[:, 0] = linear_stiffness(rows[:, 0], pairs.depth**2 / 4, pairs.depth)
    group = pairs.surface * len(shapes) + pairs.shape
    table = np.column_stack([rows[:, :8], group, rows[:, 8], pairs.radius, rows[:, 9:]])
    present = {'lagged': rows[:, 8], 'radius': pairs.radius, 'primary': rows[:, -3:]}
    absent = tuple(name for name, values in present.items() if not np.any(values))
    return PairTable(np.ascontiguousarray(table.T), bool(np.any(rows[:, 4])), absent)


def pair_table(vehicle: Vehicle, environment: Environment) -> PairTable:
    """Return the coefficients of all pairs of a vehicle and a scene."""
    assert environment.scene is not None
    materials = environment.materials or shipped_materials()
    contact_points = vehicle.contact.unposed
    return _build_pair_table(
        vehicle.name, vehicle.frames, contact_points, environment.scene, materials
    )


class PairCatalog:
    """Coefficients of the pairs of several bodies, looked up as they come near each other."""

    def __init__(self) -> None:
        """Start without pairs."""
        self._entries: dict[tuple[str, str], tuple[tuple[Any, ...], int]] = {}
        self._columns = np.zeros((_SCALAR_COUNT + 7, 0))

    def first_row(self, key: tuple[str, str], vehicle: Vehicle, environment: Environment) -> int:
        """Return the first row of the pairs of a body and a scene; key: the names of the two."""
        contact_points = vehicle.contact.unposed
        parts = contact_points, environment.scene, environment.materials
        entry = self._entries.get(key)
        if entry is not None and all(a is b for a, b in zip(entry[0], parts, strict=True)):
            return entry[1]
        columns, first = pair_table(vehicle, environment).columns.copy(), self._columns.shape[1]
        columns[_GROUP] += 1e6 * len(self._entries)  # none is that of another pair
        self._columns = np.concatenate([self._columns, columns], axis=1)
        self._entries[key] = parts, first
        return first

    def select(self, row: np.ndarray) -> np.ndarray:
        """Return the columns (18, n) of some pairs by their rows, as of ``PairTable``."""
        return self._columns.take(row, axis=1)
