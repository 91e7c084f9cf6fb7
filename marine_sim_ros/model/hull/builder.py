# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Collisions -> hull: panels, voxels, and the mass of what is given by its material."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model.collisions import Collision
from marine_sim_ros.model.geometry.shapes import Shape, moved, refined
from marine_sim_ros.model.geometry.voxels import default_size, voxelise
from marine_sim_ros.model.hull.hull import Hull, PanelCoefficients, Panels, VoxelSet
from marine_sim_ros.model.hull.settings import HullSettings
from marine_sim_ros.model.vehicle import Inertia

__all__ = ['build_panels', 'build_voxels', 'displaced_volumes', 'material_inertia']

MAX_PANELS = 200_000
EDGES_ALONG_BODY = 3
"""Panels along a body by default: enough for the drag of a turning box
(docs/explanation/hydrodynamics.md)."""

_KEYS = {
    'C_PD1': 'pressure_drag/C_PD1',
    'C_PD2': 'pressure_drag/C_PD2',
    'f_P': 'pressure_drag/f_P',
    'C_SD1': 'suction_drag/C_SD1',
    'C_SD2': 'suction_drag/C_SD2',
    'f_S': 'suction_drag/f_S',
    'slamming_power': 'slamming/power',
    'max_acceleration': 'slamming/max_acceleration',
    'slamming_multiplier': 'slamming/multiplier',
    'air_coefficient': 'air_resistance/coefficient',
}
"""Where the fields of PanelCoefficients stand in the description; others have the same name."""


def _coefficient(settings: HullSettings, name: str) -> float:
    if name == 'viscous':
        return 1.0
    return settings.coefficient(_KEYS.get(name, name))


def build_panels(collisions: Sequence[Collision]) -> Panels | None:
    """Return the panels of all collisions in the body frame, or None where there are none.

    Raises:
        ModelError: more panels than can be simulated.
    """
    vertices, faces, columns = [], [], []
    count = 0
    for collision in collisions:
        size = collision.settings.panel_size
        if size is None:
            size = float(np.max(collision.shape.extents)) / EDGES_ALONG_BODY
        try:
            shape = refined(collision.shape, size)
        except ModelError as error:
            raise collision.reader.error(str(error)) from None
        shape = moved(shape, collision.rotation, collision.translation)
        kept = _with_area(shape)
        vertices.append(shape.vertices)
        faces.append(kept + count)
        count += len(shape.vertices)
        values = [_coefficient(collision.settings, f.name) for f in fields(PanelCoefficients)]
        columns.append(np.tile(np.array(values)[:, None], (1, len(kept))))
    if not faces:
        return None
    if sum(map(len, faces)) > MAX_PANELS:
        raise collisions[0].reader.error(f'the hull has more than {MAX_PANELS} panels in all')
    coefficients = PanelCoefficients(*np.concatenate(columns, axis=1))
    panels = Panels(np.concatenate(vertices), np.concatenate(faces), coefficients)
    hull = Hull(panels, None, 0.0)
    starts = np.cumsum([0, *map(len, faces)])
    for collision, start, end in zip(collisions, starts, starts[1:], strict=False):
        _switch(hull, coefficients, slice(start, end), collision.settings.forces)
    return panels


def _with_area(shape: Shape) -> np.ndarray:
    """Return the faces (n, 3) that have a direction: slivers without an area have none."""
    a, b, c = np.moveaxis(shape.vertices[shape.faces], 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return shape.faces[area > 1e-12 * float(np.max(shape.extents)) ** 2]


def _switch(
    hull: Hull, coefficients: PanelCoefficients, where: slice, terms: tuple[str, ...]
) -> None:
    """Set to zero, for some panels, what belongs to the terms that are off."""
    only = hull.with_terms(terms).panels
    assert only is not None
    for f in fields(PanelCoefficients):
        getattr(coefficients, f.name)[where] = getattr(only.coefficients, f.name)[where]


def _mode(collision: Collision) -> str:
    default = 'geometry' if collision.relative_density is None else 'mass_density'
    return collision.settings.buoyancy_mode or default


def displaced_volumes(
    collisions: Sequence[Collision], masses: Mapping[str, float], water_density: float
) -> np.ndarray:
    """Return the volume (n,) in m³ that every collision displaces under water.

    ``geometry``: that of its shape. ``mass_density``: m/(ρ d), with the mass m of the link
    shared among its collisions by volume times density. A link without any mass displaces
    nothing, unless it has a material that gives it mass. Source: the hydrodynamics guide.

    Args:
        collisions: collisions of the vehicle.
        masses: masses of the links, kg.
        water_density: ρ, kg/m³, of the water the densities d are relative to.

    Raises:
        ModelError: mass_density for a collision that has no material.
    """
    weights: dict[str, float] = defaultdict(float)
    for c in collisions:
        if c.relative_density is not None and _mode(c) == 'mass_density':
            weights[c.link] += c.shape.volume * c.relative_density
    result = []
    for c in collisions:
        if c.relative_density is None and c.link in weights:
            raise c.reader.error(
                f'has no <buoyancy_material> beside others of link {c.link!r} that have one; '
                'expected one for each, or for none'
            )
        if _mode(c) == 'geometry':
            result.append(c.shape.volume if masses.get(c.link, 0.0) > 0 else 0.0)
            continue
        if c.relative_density is None:
            raise c.reader.error(
                'buoyancy_mode is mass_density, but it has no <buoyancy_material name="..."/>'
            )
        share = c.shape.volume / weights[c.link]
        result.append(masses.get(c.link, 0.0) * share / water_density)
    return np.array(result)


def build_voxels(collisions: Sequence[Collision], volumes: np.ndarray) -> VoxelSet | None:
    """Return the voxels of all collisions in the body frame, displacing the given volumes (n,).

    Raises:
        ModelError: a shape that cannot be cut, or too many voxels.
    """
    boxes = sum(float(np.prod(c.shape.extents)) for c in collisions)
    centers, amounts, extents = [], [], []
    for c, volume in zip(collisions, volumes, strict=True):
        if volume <= 0:
            continue
        try:
            cells = voxelise(c.shape, c.settings.voxel_size or default_size(boxes))
        except ModelError as error:
            raise c.reader.error(str(error)) from None
        centers.append(cells.center @ c.rotation.T + c.translation)
        amounts.append(cells.volume * (volume / cells.volume.sum()))
        edges = np.maximum(cells.extent, 1e-9)[:, :, None] * np.eye(3)
        extents.append(edges @ c.rotation.T)
    if not amounts:
        return None
    return VoxelSet(np.concatenate(centers), np.concatenate(amounts), np.concatenate(extents))


def material_inertia(
    collisions: Sequence[Collision], link: str, water_density: float
) -> Inertia | None:
    """Return the inertia of a link from its materials, m = ρ d V of every collision, or None.

    For links without <inertial>; the body is taken as homogeneous within each shape.
    """
    parts: list[tuple[float, Shape]] = []
    for c in collisions:
        if c.link == link and c.relative_density is not None:
            density = c.relative_density * water_density
            parts.append((density, moved(c.shape, c.rotation, c.translation)))
    if not parts:
        return None
    mass = sum(density * shape.volume for density, shape in parts)
    center = sum(density * shape.volume * shape.center for density, shape in parts) / mass
    second = np.zeros((3, 3))
    for density, shape in parts:
        away = shape.center - center
        second = second + density * (shape.second_moment + shape.volume * np.outer(away, away))
    return Inertia(float(mass), np.asarray(center), np.trace(second) * np.eye(3) - second)
