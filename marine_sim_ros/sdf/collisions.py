# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Collisions of a vehicle as SDF."""

from __future__ import annotations

from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.elements import add, add_pose
from marine_sim_ros.sdf.geometry import Meshes, add_geometry
from marine_sim_ros.sdf.poses import Pose, read_origin
from marine_sim_ros.sdf.surfaces import Surface, add_surface

__all__ = ['add_collision']


def add_collision(
    link: Element, name: str, collision: Reader, frame: Pose, meshes: Meshes, surface: Surface
) -> None:
    """Add a URDF <collision> to an SDF link.

    Args:
        link: SDF link to which the element is added.
        name: name of the collision.
        collision: element of the URDF collision.
        frame: frame of its URDF link in the SDF link.
        meshes: naming of the meshes.
        surface: surface of its material.
    """
    element = add(link, 'collision', name=name)
    add_pose(element, frame.then(read_origin(collision)))
    add_geometry(element, collision, meshes)
    add_surface(element, surface)
