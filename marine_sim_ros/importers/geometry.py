# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Solids of imported shapes: volumes, extents and areas, in the frame of their link."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.description import Link, Shape
from marine_sim_ros.importers.draft import Draft
from marine_sim_ros.model.geometry import shapes
from marine_sim_ros.model.geometry.meshes import load_mesh
from marine_sim_ros.model.kinematics import FARTHEST

__all__ = ['box_around', 'gazebo_volume', 'solid', 'usable_collisions']

_DOT = 1e-4
"""m; a smaller shape is a placeholder."""


def solid(shape: Shape, folder: Path, told: list[str]) -> shapes.Shape:
    """Return the solid of a shape in the frame of its link.

    Raises:
        ModelError: a mesh that cannot be read, or a shape without a size.
    """
    made = _own_frame(shape, folder, told)
    return shapes.moved(made, rotation_matrix(shape.pose.quaternion), shape.pose.translation)


def _own_frame(shape: Shape, folder: Path, told: list[str]) -> shapes.Shape:
    if shape.kind != 'mesh' and not all(_DOT <= edge <= FARTHEST for edge in shape.size):
        sizes = ' x '.join(f'{edge:g}' for edge in shape.size)
        raise ModelError(f'its size is {sizes} m; expected {_DOT:g} to {FARTHEST:g} m')
    if shape.kind == 'box':
        return shapes.box(np.array(shape.size))
    if shape.kind == 'cylinder':
        return shapes.cylinder(*shape.size)
    if shape.kind == 'sphere':
        return shapes.sphere(*shape.size)
    made = load_mesh(shape.uri, np.array(shape.size), base=folder)
    told.extend(made.warnings)
    return made


def usable_collisions(
    draft: Draft, link: Link, told: list[str]
) -> list[tuple[Shape, shapes.Shape]]:
    """Return the collisions of a link with their solids; one without a solid is noted."""
    usable = []
    for shape in link.collisions:
        try:
            usable.append((shape, solid(shape, draft.folder, told)))
        except ModelError as error:
            draft.drop(f'{shape.origin}: the collision is left out: {error}')
    return usable


def gazebo_volume(shape: Shape, folder: Path, told: list[str]) -> tuple[float, np.ndarray]:
    """Return volume (m³) and centre (3,) as gz::sim::systems::Buoyancy counts a collision.

    It takes the origin of a collision for the centre of its volume, of meshes too, and the volume
    of a mesh without its <scale>.
    """
    whole = replace(shape, size=(1.0, 1.0, 1.0)) if shape.kind == 'mesh' else shape
    return abs(solid(whole, folder, told).volume), shape.pose.translation


def box_around(solids: list[shapes.Shape]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest corner (3,) of solids."""
    low = np.min([s.vertices.min(axis=0) for s in solids], axis=0)
    high = np.max([s.vertices.max(axis=0) for s in solids], axis=0)
    return low, high
