# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Visuals of a vehicle as SDF: shapes with colours."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.elements import add, add_pose
from marine_sim_ros.sdf.geometry import Meshes, add_geometry
from marine_sim_ros.sdf.poses import Pose, read_origin

__all__ = ['add_colour', 'add_visual', 'read_colours']

_SHINE = 0.2
"""Share of light that every surface mirrors."""


def read_colours(root: Reader) -> dict[str, np.ndarray]:
    """Return red, green, blue, alpha (4,) by the name of their material; the last one counts.

    URDF readers differ in whether a material may be named before it is defined; here it may.

    Raises:
        ModelError: a colour that is not four numbers of 0 to 1.
    """
    colours = {}
    for element in root.element.iter('material'):
        colour = _colour(Reader(element, root.source))
        name = element.get('name')
        if name and colour is not None:
            colours[name] = colour
    return colours


def _colour(material: Reader) -> np.ndarray | None:
    color = material.child('color')
    if color is None:
        return None
    rgba = color.numbers({4}, color.attribute('rgba'))
    if not np.all((rgba >= 0) & (rgba <= 1)):
        raise color.error(f'rgba is {color.attribute("rgba")!r}; expected numbers of 0 to 1')
    return rgba


def add_colour(parent: Element, rgba: np.ndarray) -> None:
    """Add a <material> of one colour, and what makes it transparent."""
    if rgba[3] < 1:
        add(parent, 'transparency', round(1 - float(rgba[3]), 12))
    rgb = [*rgba[:3], 1]  # Gazebo multiplies alpha and transparency
    material = add(parent, 'material')
    add(material, 'ambient', rgb)
    add(material, 'diffuse', rgb)
    add(material, 'specular', [_SHINE, _SHINE, _SHINE, 1])


def add_visual(
    link: Element,
    name: str,
    visual: Reader,
    frame: Pose,
    meshes: Meshes,
    colours: dict[str, np.ndarray],
    warnings: list[str],
) -> None:
    """Add a URDF <visual> to an SDF link.

    Args:
        link: SDF link to which the element is added.
        name: name of the visual.
        visual: element of the URDF visual.
        frame: frame of its URDF link in the SDF link.
        meshes: naming of the meshes.
        colours: colours of all materials.
        warnings: list to which warnings are appended.
    """
    element = add(link, 'visual', name=name)
    add_pose(element, frame.then(read_origin(visual)))
    add_geometry(element, visual, meshes)
    material = visual.child('material')
    if material is None:
        return
    if material.child('texture') is not None:
        warnings.append(material.warning('textures are not written, only colours'))
    colour = _colour(material)
    if colour is None:
        colour = colours.get(material.attribute('name', ''))
    if colour is not None:
        add_colour(element, colour)
