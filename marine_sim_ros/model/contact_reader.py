# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of <contact_material>: of the robot, of a link, of a collision; the innermost counts.

``name`` is that of a material file, or ``useLinkInfo`` with the material's parameters as further
attributes. In a link, ``mass_type="density"`` takes the link's mass, centre of mass and inertia
from its shapes and the material's density, or from ``density`` where that is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.collisions import Collision, material_inertia
from marine_sim_ros.model.contact import Material
from marine_sim_ros.model.elements import CONTACT_MATERIAL
from marine_sim_ros.model.materials import MATERIAL_RANGES, Materials
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Reader

__all__ = ['read_contact_tags', 'set_mass_from_density']


IN_PLACE = 'useLinkInfo'
_PARENTS = ('robot', 'link', 'collision')
_OF_LINK = ('mass_type', 'massType')


def _camel(name: str) -> str:
    first, *rest_of_words = name.split('_')
    return first + ''.join(part.capitalize() for part in rest_of_words)


_PARAMETERS = {spelling: name for name in MATERIAL_RANGES for spelling in (name, _camel(name))}


@dataclass(frozen=True)
class ContactTags:
    """Contact settings of a description.

    Attributes:
        collisions: material of every collision, in the order of the description.
        densities: densities of links with mass from density: kg/m³, or None for that of the
            material; by name.
        warnings: parameters that nobody reads.
    """

    collisions: tuple[str | Material, ...]
    densities: dict[str, float | None]
    warnings: tuple[str, ...] = ()


def read_contact_tags(root: Reader) -> ContactTags:
    """Return the contact materials of a <robot>.

    Raises:
        ModelError: a tag where nobody reads it, an unknown attribute, a number out of range.
    """
    warnings: list[str] = []
    for element in root.element.iter(CONTACT_MATERIAL):
        parent: Any = element.getparent()
        if parent.tag not in _PARENTS:
            raise Reader(element, root.source).error(
                f'stands in <{parent.tag}>; expected in <robot>, <link> or <collision>'
            )
    default = _read_tag(root, '', warnings)
    collisions: list[str | Material] = []
    densities: dict[str, float | None] = {}
    for link in root.element.findall('link'):
        of_link = Reader(link, root.source)
        material = _read_tag(of_link, default, warnings)
        densities |= _link_density(of_link)
        for child in link.findall('collision'):
            collisions.append(_read_tag(Reader(child, root.source), material, warnings))
    return ContactTags(tuple(collisions), densities, tuple(warnings))


def _read_tag(parent: Reader, default: str | Material, warnings: list[str]) -> str | Material:
    """Return the material that an element has, or the default."""
    reader = parent.child(CONTACT_MATERIAL)
    if reader is None:
        return default
    reader.children(())
    of_link = _OF_LINK if parent.element.tag == 'link' else ()
    values: dict[str, float] = {}
    for spelling in map(str, reader.element.keys()):
        if spelling in _PARAMETERS:
            name = _PARAMETERS[spelling]
            low, high = MATERIAL_RANGES[name]
            values[name] = reader.attribute_number(spelling, 0.0, low, high)
        elif spelling not in ('name', *of_link):
            names = ', '.join(('name', *of_link[:1], *MATERIAL_RANGES))
            raise reader.error(f'unknown attribute {spelling!r}; expected any of: {names}')
    material = reader.attribute('name', default if isinstance(default, str) else '')
    if material == IN_PLACE:
        return Material(name=IN_PLACE, **values)
    unread = sorted(set(values) - ({'density'} if of_link else set()))
    if unread:
        warnings.append(reader.warning(f'{", ".join(unread)}: only read with name="{IN_PLACE}"'))
    return material


def _link_density(link: Reader) -> dict[str, float | None]:
    """Return the link's name with its density where its mass is to come from one."""
    reader = link.child(CONTACT_MATERIAL)
    if reader is None:
        return {}
    kind = reader.attribute('mass_type', reader.attribute('massType', 'mass'))
    if kind not in ('mass', 'density'):
        raise reader.error(f'mass_type is {kind!r}; expected mass or density')
    low, high = MATERIAL_RANGES['density']
    is_given = reader.element.get('density') is not None
    value = reader.attribute_number('density', 0.0, low, high) if is_given else None
    return {link.attribute('name', ''): value} if kind == 'density' else {}


def set_mass_from_density(
    robot: Any,
    root: Reader,
    frames: dict[str, Frame],
    collisions: Sequence[Collision],
    tags: ContactTags,
    materials: Materials,
) -> None:
    """Give links their <inertial> from shapes and density: m = Σ ρ V, homogeneous shapes.

    Args:
        robot: robot of urdf_parser_py; it is changed.
        root: the <robot> element, for messages.
        frames: frames of all links.
        collisions: collisions of all links, in the order of the description.
        tags: contact tags of the same description.
        materials: materials with their densities.

    Raises:
        ModelError: such a link without a <collision>.
    """
    import urdf_parser_py.urdf as urdf

    parts = []
    for collision, name in zip(collisions, tags.collisions, strict=True):
        density = tags.densities.get(collision.link)
        material = materials.material(name) if isinstance(name, str) else name
        parts.append(replace(collision, relative_density=density or material.density))
    for link in robot.links:
        if link.name not in tags.densities:
            continue
        inertia = material_inertia(parts, link.name, 1.0)
        if inertia is None:
            raise root.error(
                f'link {link.name!r} has mass_type="density" but no <collision> to take it from'
            )
        frame = frames[link.name]
        rotation = rotation_matrix(frame.quaternion)
        center = rotation.T @ (inertia.center_of_mass - frame.translation)
        (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = np.asarray(
            rotation.T @ inertia.tensor @ rotation
        ).tolist()
        link.inertial = urdf.Inertial(
            inertia.mass, urdf.Inertia(ixx, ixy, ixz, iyy, iyz, izz), urdf.Pose(center.tolist())
        )
