# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of a Stonefish link: shape, volume, mass, and what the water does to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.description import Inertial, Shape, Sourced
from marine_sim_ros.importers.draft import Draft, origin_of
from marine_sim_ros.importers.geometry import solid
from marine_sim_ros.importers.stonefish.frames import SIGNS, in_ned, ned_pose
from marine_sim_ros.model.geometry import shapes
from marine_sim_ros.model.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.inertia import Inertia, combined_inertia
from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['Part', 'PartReader', 'find_mesh', 'inertial_of']


_ABOUT_Y = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
"""Quarter turn about x: the z axis of a cylinder becomes −y."""
_NACA_AREA = 0.6809
"""Area of a NACA profile of four digits with a closed trailing edge, over thickness and chord."""


class Part(NamedTuple):
    """A part of a link: its shape and solid in the link's frame, what it displaces, its roles."""

    shape: Shape
    solid: shapes.Shape
    volume: float
    mass: float
    buoyant: bool
    external: bool
    element: Reader


class PartReader:
    """Reads the parts of one robot's links."""

    def __init__(
        self, draft: Draft, path: Path, density: Sourced[float], materials: Mapping[str, float]
    ) -> None:
        """Read for a draft.

        Args:
            draft: what is told of parts that cannot be had.
            path: the scenario, around which meshes are looked for.
            density: of the water, kg/m³.
            materials: densities by name, kg/m³.
        """
        self.draft, self.path = draft, path
        self.density, self.materials = density, materials

    def read(self, reader: Reader, pose: Pose, *, internal: bool) -> Part | None:
        """Return a part at a pose in its link, or None for one that is left out."""
        shape = self._shape(reader, pose)
        if shape is None:
            return None
        try:
            made = _solid(shape, self.path.parent, _thickness(reader))
        except ModelError as error:
            self.draft.drop(f'{shape.origin}: the part is left out: {error}')
            return None
        buoyant = reader.attribute('buoyant', 'true').lower() not in ('false', '0')
        whole: Any = reader.element.getparent() if 'part' in reader.element.tag else None
        owner = reader if whole is None else Reader(whole, reader.source)
        in_water = owner.attribute('physics', 'submerged') in ('submerged', 'floating')
        displaces = buoyant and in_water
        return Part(
            replace(shape, displaces=displaces),
            made,
            made.volume,
            self._mass(reader, made.volume),
            displaces,
            not internal and in_water,
            reader,
        )

    def visuals(self, reader: Reader) -> list[Shape]:
        """Return how a link looks, where it says so."""
        visual = reader.child('visual')
        return [] if visual is None else [self._mesh(visual, IDENTITY, origin_of(visual))]

    def _shape(self, reader: Reader, pose: Pose) -> Shape | None:
        """Return the physical shape of a part in its link."""
        kind, origin = reader.attribute('type'), origin_of(reader)
        size = reader.child('dimensions')
        at = pose.then(ned_pose(reader.child('origin')))
        if kind == 'model':
            physical = reader.child('physical')
            if physical is None:
                raise reader.error('has no <physical>')
            return self._mesh(physical, pose, origin)
        if size is None:
            raise reader.error('has no <dimensions>')
        if kind == 'box':
            edges = size.numbers({3}, size.attribute('xyz'))
            return Shape('box', tuple(self._lengths(size, edges)), at, origin)
        if kind == 'cylinder':
            values = [size.attribute_number(tag, 0.0) for tag in ('radius', 'height')]
            return Shape('cylinder', tuple(self._lengths(size, np.array(values))), at, origin)
        if kind in ('torus', 'wing'):
            return self._special(size, kind, at, origin)
        if kind == 'sphere':
            radius = self._lengths(size, np.array([size.attribute_number('radius', 0.0)]))
            return Shape('sphere', tuple(radius), at, origin)
        self.draft.drop(f'{origin}: a {kind!r} is no shape of a vehicle here')
        return None

    def _special(self, size: Reader, kind: str, at: Pose, origin: str) -> Shape:
        """Return the box or cylinder of the volume of a wing or a torus."""

        def length(name: str) -> float:
            return self._lengths(size, np.array([size.attribute_number(name, 0.0)]))[0]

        self.draft.assume(f'{origin}: a {kind} is as large as its outline, of its volume here')
        if kind == 'torus':  # about y
            major, minor = length('major_radius'), length('minor_radius')
            outer = major + minor
            height = 2 * major * minor**2 / outer**2 * np.pi
            turned = at.then(Pose(np.zeros(3), _ABOUT_Y))
            return Shape('cylinder', (outer, float(height)), turned, origin)
        code = size.attribute('naca')
        if not re.fullmatch(r'[0-9]{4}', code):
            raise size.error(f'naca is {code!r}; expected four digits')
        base, tip, span = length('base_chord'), length('tip_chord'), length('length')
        thickness = min(max(float(code[2:]), 1.0), 40.0) / 100
        volume = _NACA_AREA * thickness * span * (base**2 + base * tip + tip**2) / 3
        chord = (base + tip) / 2
        edges = (chord, span, volume / (chord * span))
        middle = at.then(Pose(SIGNS * np.array([0.0, span / 2, 0.0]), IDENTITY.quaternion))
        return Shape('box', edges, middle, origin)

    @staticmethod
    def _lengths(reader: Reader, values: np.ndarray) -> list[float]:
        if np.any(values <= 0) or np.any(values > FARTHEST):
            raise reader.error(f'has the size {values.tolist()}; expected positive lengths in m')
        return [float(v) for v in values]

    def _mesh(self, reader: Reader, pose: Pose, origin: str) -> Shape:
        mesh = reader.child('mesh')
        if mesh is None:
            raise reader.error('has no <mesh filename="..."/>')
        scale = mesh.attribute_number('scale', 1.0, 1e-6, 1e6)
        at = in_ned(pose.then(ned_pose(reader.child('origin'))))
        uri = find_mesh(mesh.attribute('filename'), self.path)
        return Shape('mesh', (scale, scale, scale), at, origin, uri)

    def _mass(self, reader: Reader, volume: float) -> float:
        mass = reader.child('mass')
        if mass is not None:
            return mass.attribute_number('value', 0.0, 0.0, 1e9)
        material = reader.child('material')
        name = '' if material is None else material.attribute('name', '')
        if name not in self.materials:
            self.draft.assume(
                f'{origin_of(reader)}: material {name!r} is not in the file; neutral, '
                f'{self.density.value:g} kg/m³'
            )
        return self.materials.get(name, self.density.value) * volume


def find_mesh(name: str, path: Path) -> str:
    """Return the URI of a mesh, looked for around the scenario."""
    folder = path.resolve().parent
    if name.startswith('/'):
        return Path(name).as_uri()
    for parent in (folder, *folder.parents[:3]):
        for place in (
            parent / name,
            parent / 'data' / name,
            parent / 'Data' / name,
            parent / 'resources' / name,
        ):
            if place.is_file():
                return place.as_uri()
    return name


def inertial_of(parts: Sequence[Part]) -> Inertial:
    """Return mass and inertia of a link, summed over its parts."""
    total = combined_inertia(
        [Inertia(p.mass, p.solid.center, _tensor(p.solid, p.mass)) for p in parts]
    )
    origin = f'{parts[0].shape.origin}: masses and shapes of {len(parts)} part(s)'
    return Inertial(
        Sourced(total.mass, origin),
        Pose(total.center_of_mass, IDENTITY.quaternion),
        Sourced(total.tensor, origin),
    )


def _thickness(reader: Reader) -> float:
    """Return the thickness of a part's wall, m; 0: it is solid."""
    for path in ('physical/thickness', 'thickness'):
        found = reader.first(path)
        if found is not None:
            return found.attribute_number('value', 0.0, 0.0, 1e3)
    return 0.0


def _wall(made: shapes.Shape, thickness: float) -> shapes.Shape:
    """Return a shape with volume, centre and second moment of its wall.

    V = A t and c = ∫ r dA/A, with ∫ (r − c)(r − c)ᵀ dA of a triangle of area a and corners v_i
    about c = a/12 (Σ v_i v_iᵀ + s sᵀ), s = Σ v_i: Stonefish counts area times thickness.
    """
    corners = made.vertices[made.faces]
    a, b, c = np.moveaxis(corners, 1, 0)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    whole = float(areas.sum())
    if not whole > 0:
        raise ModelError('the mesh has no area')
    center = areas @ corners.mean(axis=1) / whole
    about = corners - center
    total = about.sum(axis=1)
    second = np.einsum('n,nki,nkj->ij', areas, about, about)
    second = (second + np.einsum('n,ni,nj->ij', areas, total, total)) / 12
    return replace(
        made,
        volume=whole * thickness,
        center=center,
        second_moment=second * thickness,
        is_box=False,
        cells=None,
    )


def _solid(shape: Shape, folder: Path, thickness: float) -> shapes.Shape:
    """Return the solid of a shape in its link; a mesh as Stonefish takes it, not repaired."""
    if shape.kind != 'mesh':
        made = solid(shape, folder, [])
        return made if not thickness else _wall(made, thickness)
    mesh = read_mesh(mesh_path(shape.uri, folder))
    if not len(mesh.faces):
        raise ModelError(f'{shape.uri}: the mesh has no triangles')
    vertices = np.array(mesh.vertices, float) * np.array(shape.size)
    if not np.all(np.abs(vertices) < FARTHEST):
        raise ModelError(f'{shape.uri}: the mesh has vertices beyond {FARTHEST:g} m')
    made = shapes.shape_of(vertices, np.array(mesh.faces))
    if made.volume < 0:
        made = shapes.shape_of(vertices, np.array(mesh.faces)[:, ::-1])
    if thickness:
        made = _wall(made, thickness)
    if not made.volume > 0:
        raise ModelError(f'{shape.uri}: the mesh encloses no volume')
    turn = rotation_matrix(shape.pose.quaternion)
    return shapes.moved(made, turn, shape.pose.translation)


def _tensor(made: shapes.Shape, mass: float) -> np.ndarray:
    """Return the inertia (3, 3) of a homogeneous solid about its centre."""
    if made.volume <= 0:
        return np.zeros((3, 3))
    second = made.second_moment * (mass / made.volume)
    return np.asarray(np.trace(second) * np.eye(3) - second)
