# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Collisions with what they are made of: shape on the body, material, hull parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.geometry import shapes
from marine_sim_ros.model.geometry.meshes import load_mesh
from marine_sim_ros.model.geometry.shapes import Shape
from marine_sim_ros.model.hull.settings import TAGS, HullSettings, read_hull_settings
from marine_sim_ros.model.kinematics import FARTHEST, origin, usable_pose
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Reader

__all__ = ['Collision', 'read_collisions', 'read_materials']

_LIGHTEST = 1e-4
"""Relative density; a tenth of that of air."""
_HEAVIEST = 25.0
"""Relative density; osmium, the densest element, has 22.6."""


@dataclass(frozen=True, eq=False)
class Collision:
    """One collision of a link.

    Attributes:
        link: name of its link.
        reader: reader of its element, for messages.
        shape: shape in its own frame.
        rotation: (3, 3) from the shape's frame to the body.
        translation: (3,) of the shape's frame in the body, m.
        settings: hull parameters.
        relative_density: relative density of its material, or None.
    """

    link: str
    reader: Reader
    shape: Shape
    rotation: np.ndarray
    translation: np.ndarray
    settings: HullSettings
    relative_density: float | None


def read_materials(root: Reader) -> dict[str, float]:
    """Return relative densities by the name of their <buoyancy_material>.

    Raises:
        ModelError: a material without a name, defined twice, or denser than any.
    """
    result: dict[str, float] = {}
    for element in root.element.findall('buoyancy_material'):
        reader = Reader(element, root.source)
        name = reader.attribute('name')
        if name in result:
            raise reader.error('is defined twice; expected one definition of a name')
        reader.children({'density'})
        density = reader.child('density')
        if density is None:
            raise reader.error('has no <density value="..."/>')
        value = density.number(text=density.attribute('value'))
        if not _LIGHTEST <= value <= _HEAVIEST:
            hint = f'; {value:g} kg/m³ is {value / 1000:g}' if value > _HEAVIEST else ''
            raise density.error(
                f'is {value:g}; expected the density relative to water, '
                f'{_LIGHTEST:g} to {_HEAVIEST:g}{hint}'
            )
        result[name] = value
    return result


def _relative_density(reader: Reader, materials: Mapping[str, float]) -> float | None:
    used = reader.child('buoyancy_material')
    if used is None:
        return None
    used.children(())
    name = used.attribute('name')
    if name not in materials:
        raise used.error(f'is not defined; {expected_one_of(name, sorted(materials))}')
    return materials[name]


def _positive(reader: Reader, what: str, values: Any, count: int) -> np.ndarray:
    try:
        numbers = np.array(values, float).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if len(numbers) != count or not np.all((numbers >= 1e-6) & (numbers <= FARTHEST)):
        raise reader.error(
            f'{what} is {values}; expected {count} positive number(s), 0.000001 to {FARTHEST:g} m'
        )
    return numbers


def _shape(reader: Reader, geometry: Any, base: Path | None, most: int) -> Shape:
    """Return the shape of a urdf_parser_py geometry."""
    kind = type(geometry).__name__
    if kind == 'Box':
        return shapes.box(_positive(reader, 'box size', geometry.size, 3))
    if kind == 'Cylinder':
        radius = _positive(reader, 'cylinder radius', geometry.radius, 1)
        return shapes.cylinder(
            float(radius[0]), float(_positive(reader, 'cylinder length', geometry.length, 1)[0])
        )
    if kind == 'Sphere':
        return shapes.sphere(float(_positive(reader, 'sphere radius', geometry.radius, 1)[0]))
    if kind == 'Mesh':
        scale = np.ones(3) if geometry.scale is None else np.array(geometry.scale, float)
        try:
            return load_mesh(str(geometry.filename or ''), scale, base=base, most=most)
        except ModelError as error:
            raise reader.error(str(error)) from None
    raise reader.error('has no geometry; expected <box>, <cylinder>, <sphere> or <mesh>')


def read_collisions(
    robot: Any,
    root: Reader,
    frames: Mapping[str, Frame],
    defaults: HullSettings,
    *,
    base: Path | None,
    warnings: list[str],
) -> list[Collision]:
    """Return all collisions with their shapes; what was repaired goes into the warnings.

    Args:
        robot: robot of urdf_parser_py.
        root: the <robot> element.
        frames: frames of all links.
        defaults: the robot-level hull parameters.
        base: folder that relative mesh names start from.
        warnings: list to which warnings are appended.

    Raises:
        ModelError: a shape, mesh, material or parameter that cannot be used.
    """
    materials = read_materials(root)
    result = []
    for link, element in zip(robot.links, root.element.findall('link'), strict=True):
        pairs = zip(link.collisions, element.findall('collision'), strict=True)
        for collision, child in pairs:
            reader = Reader(child, root.source)
            result.append(
                _collision(
                    link.name,
                    collision,
                    reader,
                    frames[link.name],
                    materials,
                    defaults,
                    base,
                    warnings,
                )
            )
    return result


def _collision(
    link: str,
    collision: Any,
    reader: Reader,
    frame: Frame,
    materials: Mapping[str, float],
    defaults: HullSettings,
    base: Path | None,
    warnings: list[str],
) -> Collision:
    own = reader.child('hydrodynamics')
    if own is not None:
        own.children(TAGS)
    settings = read_hull_settings(own, defaults, warnings)
    translation, quaternion = origin(collision.origin)
    if not usable_pose(translation, quaternion):
        raise reader.error(f'its <origin> is not finite, or beyond {FARTHEST:g} m')
    turned = rotation_matrix(frame.quaternion)
    shape = _shape(reader, collision.geometry, base, settings.max_triangles)
    warnings.extend(reader.warning(text) for text in shape.warnings)
    return Collision(
        link,
        reader,
        shape,
        turned @ rotation_matrix(quaternion),
        frame.translation + turned @ translation,
        settings,
        _relative_density(reader, materials),
    )
