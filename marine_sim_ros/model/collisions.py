# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Collisions of a description: shapes, materials, and the panels and voxels of a hull."""

from __future__ import annotations

import contextlib
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from marine_sim_ros.core.errors import ModelError, expected_one_of
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.geometry import shapes
from marine_sim_ros.geometry.meshes import default_size, load_mesh, voxelise
from marine_sim_ros.geometry.shapes import Shape, move_shape, refine_shape
from marine_sim_ros.model.added_mass import Inertia
from marine_sim_ros.model.elements import URDF_ELEMENTS
from marine_sim_ros.model.hull import Hull, PanelCoefficients, Panels, VoxelSet
from marine_sim_ros.model.hull_parameters import HULL_SCHEMA, HullSettings, read_hull_settings
from marine_sim_ros.model.hydrodynamics import MaterialElement
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE, is_usable_pose, urdf_pose
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Element, Reader

__all__ = [
    'Collision',
    'build_panels',
    'build_voxels',
    'displaced_volumes',
    'material_inertia',
    'read_collisions',
    'read_shapes',
    'standard_urdf',
]


# Collisions: shape on the body, material, hull parameters.


@dataclass(frozen=True, eq=False)
class Collision:
    """One collision of a link.

    Attributes:
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
        material = reader.read(MaterialElement)
        if material.name in result:
            raise reader.error('is defined twice; expected one definition of a name')
        if material.density is None:
            raise reader.error('has no <density value="..."/>')
        result[material.name] = material.density
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


def _read_positive(reader: Reader, what: str, values: Any, count: int) -> np.ndarray:
    try:
        numbers = np.array(values, float).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if len(numbers) != count or not np.all((numbers >= 1e-6) & (numbers <= MAX_PART_DISTANCE)):
        raise reader.error(
            f'{what} is {values}; expected {count} positive number(s), '
            f'0.000001 to {MAX_PART_DISTANCE:g} m'
        )
    return numbers


def _read_shape(reader: Reader, geometry: Any, base: Path | None, max_triangles: int) -> Shape:
    """Return the shape of a urdf_parser_py geometry."""
    kind = type(geometry).__name__
    if kind == 'Box':
        return shapes.box_shape(_read_positive(reader, 'box size', geometry.size, 3))
    if kind == 'Cylinder':
        radius = _read_positive(reader, 'cylinder radius', geometry.radius, 1)
        return shapes.cylinder_shape(
            float(radius[0]),
            float(_read_positive(reader, 'cylinder length', geometry.length, 1)[0]),
        )
    if kind == 'Sphere':
        return shapes.sphere_shape(
            float(_read_positive(reader, 'sphere radius', geometry.radius, 1)[0])
        )
    if kind == 'Mesh':
        scale = np.ones(3) if geometry.scale is None else np.array(geometry.scale, float)
        try:
            return load_mesh(
                str(geometry.filename or ''), scale, base=base, max_triangles=max_triangles
            )
        except ModelError as error:
            raise reader.error(str(error)) from None
    raise reader.error('has no geometry; expected <box>, <cylinder>, <sphere> or <mesh>')


def standard_urdf(root: Element, source: str) -> Any:
    """Return urdf_parser_py's robot of the standard elements."""
    import urdf_parser_py.urdf as urdf

    plain = deepcopy(root)
    for element in list(plain):
        if element.tag not in URDF_ELEMENTS or element.tag == 'gazebo':
            plain.remove(element)
    for collision in plain.iter('collision'):
        for element in list(collision):
            if element.tag not in ('origin', 'geometry'):
                collision.remove(element)
    try:
        # It reports unknown elements on stderr; they do not concern this package.
        with contextlib.redirect_stderr(io.StringIO()):
            return urdf.URDF.from_xml_string(etree.tostring(plain))
    except Exception as error:  # it raises AssertionError, ParseError, KeyError, ValueError ...
        text = ' '.join(str(error).split()).rpartition('Exception: ')[2]
        text = text.replace('ParseError in ', '')
        raise ModelError(
            f'{source}: not a valid URDF: {text or type(error).__name__}; '
            'expected links and joints as the URDF specification has them'
        ) from None


def read_collisions(
    robot: Any,
    root: Reader,
    frames: Mapping[str, Frame],
    defaults: HullSettings,
    *,
    base: Path | None,
    warnings: list[str],
) -> list[Collision]:
    """Return all collisions with their shapes; repairs are added to the warnings.

    Args:
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
                _read_collision(
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


def read_shapes(
    robot: Any, root: Reader, frames: Mapping[str, Frame], base: Path | None
) -> list[Collision]:
    """Return the shapes of all collisions, which may be in files.

    Raises:
        ModelError: a shape that cannot be read.
    """
    return read_collisions(robot, root, frames, HullSettings(), base=base, warnings=[])


def _read_collision(
    link: str,
    collision: Any,
    reader: Reader,
    frame: Frame,
    materials: Mapping[str, float],
    defaults: HullSettings,
    base: Path | None,
    warnings: list[str],
) -> Collision:
    element = reader.child('hydrodynamics')
    if element is not None:
        element.children(HULL_SCHEMA.children)
    settings = read_hull_settings(element, defaults, warnings)
    translation, quaternion = urdf_pose(collision.origin)
    if not is_usable_pose(translation, quaternion):
        raise reader.error(f'its <origin> is not finite, or beyond {MAX_PART_DISTANCE:g} m')
    link_rotation = rotation_matrix(frame.quaternion)
    shape = _read_shape(reader, collision.geometry, base, settings.max_triangles)
    warnings.extend(reader.warning(text) for text in shape.warnings)
    return Collision(
        link,
        reader,
        shape,
        link_rotation @ rotation_matrix(quaternion),
        frame.translation + link_rotation @ translation,
        settings,
        _relative_density(reader, materials),
    )


# Collisions -> hull: panels, voxels, and masses from materials.

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
"""Keys of HULL_PARAMETERS for fields of PanelCoefficients with another name."""


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
            shape = refine_shape(collision.shape, size)
        except ModelError as error:
            raise collision.reader.error(str(error)) from None
        shape = move_shape(shape, collision.rotation, collision.translation)
        corners_of_faces = _faces_with_area(shape)
        vertices.append(shape.vertices)
        faces.append(corners_of_faces + count)
        count += len(shape.vertices)
        values = [_coefficient(collision.settings, f.name) for f in fields(PanelCoefficients)]
        columns.append(np.tile(np.array(values)[:, None], (1, len(corners_of_faces))))
    if not faces:
        return None
    if sum(map(len, faces)) > MAX_PANELS:
        raise collisions[0].reader.error(f'the hull has more than {MAX_PANELS} panels in all')
    coefficients = PanelCoefficients(*np.concatenate(columns, axis=1))
    panels = Panels(np.concatenate(vertices), np.concatenate(faces), coefficients)
    hull = Hull(panels, None, 0.0)
    starts = np.cumsum([0, *map(len, faces)])
    for collision, start, end in zip(collisions, starts, starts[1:], strict=False):
        _switch_off(hull, coefficients, slice(start, end), collision.settings.forces)
    return panels


def _faces_with_area(shape: Shape) -> np.ndarray:
    """Return the faces (n, 3) without slivers, which have no normal."""
    a, b, c = np.moveaxis(shape.vertices[shape.faces], 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return shape.faces[area > 1e-12 * float(np.max(shape.extents)) ** 2]


def _switch_off(
    hull: Hull, coefficients: PanelCoefficients, where: slice, terms: tuple[str, ...]
) -> None:
    """Set the coefficients of disabled terms to zero, for some panels."""
    only = hull.with_terms(terms).panels
    assert only is not None
    for f in fields(PanelCoefficients):
        getattr(coefficients, f.name)[where] = getattr(only.coefficients, f.name)[where]


def _force_mode(collision: Collision) -> str:
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
        if c.relative_density is not None and _force_mode(c) == 'mass_density':
            weights[c.link] += c.shape.volume * c.relative_density
    result = []
    for c in collisions:
        if c.relative_density is None and c.link in weights:
            raise c.reader.error(
                f'has no <buoyancy_material> beside others of link {c.link!r} that have one; '
                'expected one for each, or for none'
            )
        if _force_mode(c) == 'geometry':
            result.append(c.shape.volume if masses.get(c.link, 0.0) > 0 else 0.0)
            continue
        if c.relative_density is None:
            raise c.reader.error(
                'buoyancy_mode is mass_density, but it has no <buoyancy_material name="..."/>'
            )
        fraction = c.shape.volume / weights[c.link]
        result.append(masses.get(c.link, 0.0) * fraction / water_density)
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
            parts.append((density, move_shape(c.shape, c.rotation, c.translation)))
    if not parts:
        return None
    mass = sum(density * shape.volume for density, shape in parts)
    center = sum(density * shape.volume * shape.center for density, shape in parts) / mass
    second = np.zeros((3, 3))
    for density, shape in parts:
        away = shape.center - center
        second = second + density * (shape.second_moment + shape.volume * np.outer(away, away))
    return Inertia(float(mass), np.asarray(center), np.trace(second) * np.eye(3) - second)
