# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes of links in SDF: visuals with colours, collisions with surfaces, files of their meshes.

Gazebo knows surfaces, not pairs of materials. DART makes a pair of two surfaces: friction is the
lesser of both, restitution their product, slip compliance their sum. So e = √(1 − v) and the
surface viscosity of a material are exact, its roughness only for a pair of equal materials; where
the other material is known, a surface can be chosen that makes the pair exact.
"""

from __future__ import annotations

import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.geometry.mesh_files import mesh_path
from marine_sim_ros.model.appearance import read_colour
from marine_sim_ros.model.contact import Material
from marine_sim_ros.model.kinematics import Pose, read_origin_pose
from marine_sim_ros.model.materials import Materials
from marine_sim_ros.model.xml import Element, Reader
from marine_sim_ros.sdf.xml_writer import add_element, add_pose

__all__ = [
    'MESH_MODES',
    'Meshes',
    'Surface',
    'add_collision',
    'add_colour',
    'add_surface',
    'add_visual',
    'dart_surface',
    'dart_surface_on_ground',
]


# Shapes: a URDF <geometry> as an SDF one.

MESH_MODES = ('uri', 'copy')


@dataclass(eq=False)
class Meshes:
    """Mesh names in an SDF file, and the files to copy beside it.

    Attributes:
        mode: ``uri``: package:// becomes model://, which Gazebo looks for in
            GZ_SIM_RESOURCE_PATH, and paths become file://; ``copy``: all are in ``folder``.
        base: folder that relative names start from.
        folder: folder of the copies, within that of the SDF file.
        files: source of each copied file, by its name within the folder of the SDF file.
    """

    mode: str = 'uri'
    base: Path | None = None
    folder: str = 'meshes'
    files: dict[str, Path] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        """Return the URI in the SDF file of a mesh of the URDF.

        Raises:
            ModelError: a name that stands for no file.
        """
        path = mesh_path(name, self.base)
        if self.mode == 'uri':
            if name.startswith('package://'):
                return 'model://' + name.removeprefix('package://')
            return path.resolve().as_uri()
        if not path.is_file():
            raise ModelError(f'mesh {name!r}: {path} is no file; it cannot be copied')
        inside = f'{self.folder}/{path.name}'
        number = 2
        while self.files.get(inside, path) != path:
            inside = f'{self.folder}/{path.stem}_{number}{path.suffix}'
            number += 1
        self.files[inside] = path
        return inside

    def copy_to(self, folder: Path) -> None:
        """Copy what is to be copied into the folder of the SDF file.

        Raises:
            ModelError: it cannot be written.
        """
        for inside, path in self.files.items():
            target = folder / inside
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                if not (target.exists() and target.samefile(path)):
                    shutil.copyfile(path, target)
            except OSError as error:
                raise ModelError(f'{target}: cannot be written: {error.strerror}') from None


def add_geometry(parent: Element, reader: Reader, meshes: Meshes) -> None:
    """Add the <geometry> of a URDF <collision> or <visual>.

    Raises:
        ModelError: a shape that URDF does not have, or one without its sizes.
    """
    geometry = reader.child('geometry')
    shapes = [] if geometry is None else geometry.children({'box', 'cylinder', 'sphere', 'mesh'})
    if len(shapes) != 1:
        raise reader.error('has no geometry; expected <box>, <cylinder>, <sphere> or <mesh>')
    shape = shapes[0]
    kind = str(shape.element.tag)
    element = add_element(add_element(parent, 'geometry'), kind)
    if kind == 'mesh':
        scale = shape.numbers({3}, shape.attribute('scale', '1 1 1'))
        add_element(element, 'uri', meshes.uri(shape.attribute('filename')))
        if any(scale != 1):
            add_element(element, 'scale', scale)
        return
    sizes = {'box': {'size': 3}, 'cylinder': {'radius': 1, 'length': 1}, 'sphere': {'radius': 1}}
    for name, count in sizes[kind].items():
        numbers = shape.numbers({count}, shape.attribute(name))
        if not all(numbers > 0):
            raise shape.error(f'{name} is {shape.attribute(name)!r}; expected more than 0 m')
        add_element(element, name, numbers)


# Visuals of a vehicle as SDF: shapes with colours.

_SPECULAR = 0.2
"""Fraction of light that every surface mirrors."""


def add_colour(parent: Element, rgba: np.ndarray) -> None:
    """Add a <material> of one colour, and what makes it transparent."""
    if rgba[3] < 1:
        add_element(parent, 'transparency', round(1 - float(rgba[3]), 12))
    rgb = [*rgba[:3], 1]  # Gazebo multiplies alpha and transparency
    material = add_element(parent, 'material')
    add_element(material, 'ambient', rgb)
    add_element(material, 'diffuse', rgb)
    add_element(material, 'specular', [_SPECULAR, _SPECULAR, _SPECULAR, 1])


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
        visual: element of the URDF visual.
        frame: frame of its URDF link in the SDF link.
        warnings: list to which warnings are appended.
    """
    element = add_element(link, 'visual', name=name)
    add_pose(element, frame.then(read_origin_pose(visual)))
    add_geometry(element, visual, meshes)
    material = visual.child('material')
    if material is None:
        return
    if material.child('texture') is not None:
        warnings.append(material.warning('textures are not written, only colours'))
    colour = read_colour(material)
    if colour is None:
        colour = colours.get(material.attribute('name', ''))
    if colour is not None:
        add_colour(element, colour)


# Contact materials as the <surface> of a collision, for DART.


@dataclass(frozen=True)
class Surface:
    """Surface parameters of DART.

    Attributes:
        friction: friction coefficient; of a pair, the lesser one counts.
        restitution: restitution coefficient; of a pair, the product counts.
        slip: m/(s N), of a pair, the sum counts, times the number of contact points.
    """

    friction: float
    restitution: float
    slip: float


def dart_surface(material: Material) -> Surface:
    """Return a material's surface: μ = r, e = √(1 − v)."""
    return Surface(
        material.roughness, math.sqrt(1 - material.viscosity), material.surface_viscosity
    )


def dart_surface_on_ground(
    material: str | Material, ground: str, materials: Materials
) -> tuple[Surface, tuple[str, ...]]:
    """Return the surface with which a material is right on the ground, and what is not.

    Args:
        material: material of the vehicle.
        ground: name of the other, which has the surface of its own material.
        materials: both and their pair.
    """
    pair = materials.contact(material, ground)
    other = dart_surface(materials.material(ground))
    name = material if isinstance(material, str) else material.name
    label = f'{name or "default"} on {ground}'
    warnings = []
    if pair.friction > other.friction:
        warnings.append(
            f'friction of {label} is {pair.friction:g}; Gazebo takes the lesser of two, '
            f'{other.friction:g} of the ground'
        )
    if pair.restitution > other.restitution:
        warnings.append(
            f'restitution of {label} is {pair.restitution:g}; Gazebo takes the product of two, '
            f'at most {other.restitution:g} of the ground'
        )
    if pair.secondary_friction >= 0:
        warnings.append(
            f'secondary friction of {label} is not written; all directions are the same'
        )
    if pair.adhesion_force > 0:
        warnings.append(f'adhesion of {label} is not written; SDF has none')
    bounce = min(1.0, pair.restitution / other.restitution) if other.restitution > 0 else 0.0
    slip = max(0.0, pair.surface_viscosity - other.slip)
    return Surface(pair.friction, bounce, slip), tuple(warnings)


def add_surface(collision: Element, surface: Surface) -> None:
    """Add a <surface>.

    The threshold is for engines that have one: its default stops all bounces.
    """
    element = add_element(collision, 'surface')
    friction = add_element(add_element(element, 'friction'), 'ode')
    add_element(friction, 'mu', surface.friction)
    add_element(friction, 'mu2', surface.friction)
    add_element(friction, 'slip1', surface.slip)
    add_element(friction, 'slip2', surface.slip)
    bounce = add_element(element, 'bounce')
    add_element(bounce, 'restitution_coefficient', round(surface.restitution, 12))
    add_element(bounce, 'threshold', 0)


# Collisions of a vehicle as SDF.


def add_collision(
    link: Element, name: str, collision: Reader, frame: Pose, meshes: Meshes, surface: Surface
) -> None:
    """Add a URDF <collision> to an SDF link.

    Args:
        link: SDF link to which the element is added.
        collision: element of the URDF collision.
        frame: frame of its URDF link in the SDF link.
    """
    element = add_element(link, 'collision', name=name)
    add_pose(element, frame.then(read_origin_pose(collision)))
    add_geometry(element, collision, meshes)
    add_surface(element, surface)
