# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Solids of imported shapes, and estimates of drag and added mass from their box."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix, transport
from marine_sim_ros.geometry import shapes
from marine_sim_ros.geometry.meshes import load_mesh
from marine_sim_ros.importers.builder import VehicleBuilder
from marine_sim_ros.importers.description import (
    Hydrodynamics,
    ImportedLink,
    ImportedShape,
    Sourced,
)
from marine_sim_ros.model.added_mass import ellipsoid_added_mass
from marine_sim_ros.model.free_bodies import CREEP, box_drag
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE

__all__ = ['box_around', 'estimate_missing', 'gazebo_volume', 'solid', 'usable_collisions']

_HELD = 0.9
"""Least fraction of the displaced volume that the box of a hull holds."""


# Solids of imported shapes: volumes, extents and areas, in the frame of their link.

_DOT = 1e-4
"""m; a smaller shape is a placeholder."""


def solid(shape: ImportedShape, folder: Path, messages: list[str]) -> shapes.Shape:
    """Return the solid of a shape in the frame of its link.

    Raises:
        ModelError: a mesh that cannot be read, or a shape without a size.
    """
    made = _own_frame(shape, folder, messages)
    return shapes.move_shape(made, rotation_matrix(shape.pose.quaternion), shape.pose.translation)


def _own_frame(shape: ImportedShape, folder: Path, messages: list[str]) -> shapes.Shape:
    if shape.kind != 'mesh' and not all(_DOT <= edge <= MAX_PART_DISTANCE for edge in shape.size):
        sizes = ' x '.join(f'{edge:g}' for edge in shape.size)
        raise ModelError(f'its size is {sizes} m; expected {_DOT:g} to {MAX_PART_DISTANCE:g} m')
    if shape.kind == 'box':
        return shapes.box_shape(np.array(shape.size))
    if shape.kind == 'cylinder':
        return shapes.cylinder_shape(*shape.size)
    if shape.kind == 'sphere':
        return shapes.sphere_shape(*shape.size)
    made = load_mesh(shape.uri, np.array(shape.size), base=folder)
    messages.extend(made.warnings)
    return made


def usable_collisions(
    builder: VehicleBuilder, link: ImportedLink, messages: list[str]
) -> list[tuple[ImportedShape, shapes.Shape]]:
    """Return the collisions of a link with their solids; one without a solid is noted."""
    usable = []
    for shape in link.collisions:
        try:
            usable.append((shape, solid(shape, builder.folder, messages)))
        except ModelError as error:
            builder.drop(f'{shape.origin}: the collision is left out: {error}')
    return usable


def gazebo_volume(
    shape: ImportedShape, folder: Path, messages: list[str]
) -> tuple[float, np.ndarray]:
    """Return volume (m³) and centre (3,) as gz::sim::systems::Buoyancy counts a collision.

    It takes the origin of a collision for the centre of its volume, of meshes too, and the volume
    of a mesh without its <scale>.
    """
    unscaled = replace(shape, size=(1.0, 1.0, 1.0)) if shape.kind == 'mesh' else shape
    return abs(solid(unscaled, folder, messages).volume), shape.pose.translation


def box_around(solids: list[shapes.Shape]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest corner (3,) of solids."""
    low = np.min([s.vertices.min(axis=0) for s in solids], axis=0)
    high = np.max([s.vertices.max(axis=0) for s in solids], axis=0)
    return low, high


# Estimated drag and added mass, from the box around the shapes.


_CUBE = 'a cube of its volume'


def estimate_missing(builder: VehicleBuilder) -> None:
    """Fill in damping and added mass where the source has no damping at all, and say so."""
    assert builder.water_density is not None
    terms = builder.hydrodynamics
    damped = terms is not None and any(
        matrix is not None and np.any(matrix.value)
        for matrix in (terms.linear, terms.quadratic, terms.modulus)
    )
    if damped:
        return
    low, high, which = _box(builder)
    builder.shapeless = which == _CUBE
    edges, center = high - low, (low + high) / 2
    density = builder.water_density.value
    rule = f'no damping in the source: drag of the box of {which}, C_d 1'
    quadratic = Sourced(np.diag(box_drag(edges, density)), rule, True)
    linear = Sourced(CREEP * quadratic.value, rule, True)
    added = None if terms is None or not np.any(terms.added_mass.value) else terms.added_mass
    if added is None:
        own = _ellipsoid(builder, edges, density)
        arm = transport(center)
        added = Sourced(
            arm.T @ np.diag(own) @ arm, f'none in the source: ellipsoid as long as {which}', True
        )
        rule += '; added mass of the ellipsoid in it'
    builder.estimated = f'{rule}: {" x ".join(f"{e:.3g}" for e in edges)} m'
    builder.assume(builder.estimated)
    at = Sourced(center, f'centre of the box of {which}', True) if np.any(center) else None
    builder.hydrodynamics = Hydrodynamics(
        builder.water_density, added, linear, quadratic, None, at
    )


def _ellipsoid(builder: VehicleBuilder, edges: np.ndarray, density: float) -> np.ndarray:
    """Return the added mass (6,) of the ellipsoid of the vehicle's displacement in a box.

    The box may hold arms and antennas: the ellipsoid keeps its proportions, and displaces what
    the vehicle weighs where that is less.
    """
    axes = edges / 2
    volume = 4 / 3 * np.pi * float(np.prod(axes))
    ratio = min(1.0, builder.mass / (density * volume))
    return ellipsoid_added_mass(axes * ratio ** (1 / 3), density)


def _box(builder: VehicleBuilder) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the corners (3,) of the box of collisions, else visuals, else of the volume.

    A box that holds less than the vehicle displaces is of its small parts alone.
    """
    assert builder.water_density is not None
    volume = (
        sum(v.volume.value for v in builder.volumes) or builder.mass / builder.water_density.value
    )
    for kind in ('collisions', 'visuals'):
        found = [s for link in builder.links.values() for s in _solids(builder, link, kind)]
        if found:
            low, high = box_around(found)
            edge = 0.05 * float(np.max(high - low))  # a sheet has a thickness
            pad = np.maximum(edge - (high - low), 0.0) / 2
            if float(np.prod(high - low + 2 * pad)) >= _HELD * volume:
                return low - pad, high + pad, f'its {kind}'
    edge = volume ** (1 / 3)
    center = builder.center_of_mass()
    return center - edge / 2, center + edge / 2, _CUBE


def _solids(builder: VehicleBuilder, link: ImportedLink, kind: str) -> list[shapes.Shape]:
    """Return the solids of a link's collisions or visuals, in the base."""
    try:
        pose = builder.pose_of(link.name)
    except ModelError:
        return []
    found = []
    for shape in getattr(link, kind):
        try:
            made = solid(replace(shape, material=''), builder.folder, [])
        except ModelError:
            continue
        found.append(shapes.move_shape(made, rotation_matrix(pose.quaternion), pose.translation))
    return found
