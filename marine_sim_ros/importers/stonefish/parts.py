# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of Stonefish links: NED frames, shape, mass, volume, drag and added mass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_product, rotation_matrix
from marine_sim_ros.geometry import shapes
from marine_sim_ros.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.importers.builder import VehicleBuilder, origin_of
from marine_sim_ros.importers.description import (
    Hydrodynamics,
    ImportedShape,
    Inertial,
    Sourced,
    Volume,
)
from marine_sim_ros.importers.geometry import box_around, solid
from marine_sim_ros.model.added_mass import Inertia, combined_inertia, estimate_added_mass
from marine_sim_ros.model.kinematics import IDENTITY, MAX_PART_DISTANCE, Pose
from marine_sim_ros.model.xml import Reader

__all__ = [
    'Drag',
    'PartReader',
    'SIGNS',
    'StonefishPart',
    'find_mesh',
    'inertial_of',
    'lump',
    'mesh_pose_in_ned',
    'ned_pose',
]


# Poses of Stonefish in our axes; its frames are NED (x forward, y starboard, z down).

SIGNS = np.array([1.0, -1.0, -1.0])
"""NED <-> FLU of a vector."""
_TURNED = np.array([1.0, 0.0, 0.0, 0.0])
"""Half a turn about x: what a mesh of a NED frame needs in ours."""


def ned_pose(reader: Reader | None) -> Pose:
    """Return the pose of an element with xyz and rpy in NED, in our axes."""
    if reader is None:
        return IDENTITY
    xyz, turn = reader.pose()
    if np.any(np.abs(xyz) > MAX_PART_DISTANCE):
        raise reader.error(f'is beyond {MAX_PART_DISTANCE:g} m')
    return Pose(SIGNS * xyz, turn * np.array([1.0, -1.0, -1.0, 1.0]))


def mesh_pose_in_ned(pose: Pose) -> Pose:
    """Return the pose of a mesh whose own axes are those of a NED frame."""
    return Pose(pose.translation, np.asarray(quaternion_product(pose.quaternion, _TURNED)))


# Parts of a Stonefish link: shape, volume, mass, hydrodynamics.

_LEVELS = 5
"""Folders above that of a scenario in which the data of its program may be."""
_ABOUT_Y = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
"""Quarter turn about x: the z axis of a cylinder becomes −y."""
_NACA_AREA = 0.6809
"""Area of a NACA profile of four digits with a closed trailing edge, over thickness and chord."""


class StonefishPart(NamedTuple):
    """A part of a link: its shape and solid in the link's frame, what it displaces, its roles."""

    shape: ImportedShape
    solid: shapes.Shape
    volume: float
    mass: float
    buoyant: bool
    external: bool
    element: Reader


class PartReader:
    """Reads the parts of one robot's links."""

    def __init__(
        self,
        builder: VehicleBuilder,
        path: Path,
        density: Sourced[float],
        materials: Mapping[str, float],
    ) -> None:
        """Read for a builder.

        Args:
            builder: what is told of parts that cannot be had.
            path: the scenario, around which meshes are looked for.
            density: of the water, kg/m³.
            materials: densities by name, kg/m³.
        """
        self.builder, self.path = builder, path
        self.density, self.materials = density, materials

    def read(self, reader: Reader, pose: Pose, *, internal: bool) -> StonefishPart | None:
        """Return a part at a pose in its link, or None for one that is left out."""
        shape = self.shape(reader, pose)
        if shape is None:
            return None
        missing = shape.kind == 'mesh' and not mesh_path(shape.uri, self.path.parent).is_file()
        if missing and not self.builder.options.skip_missing:
            raise reader.error(
                f'the mesh {shape.uri} is not there; expected it in a folder of the scenario or '
                'above, or --package-path FOLDER with its package; or --skip-missing, to leave '
                'out the part with its mass'
            )
        try:
            made = _solid(shape, self.path.parent, _thickness(reader))
        except ModelError as error:
            self.builder.drop(f'{shape.origin}: the part is left out: {error}')
            return None
        buoyant = reader.attribute('buoyant', 'true').lower() not in ('false', '0')
        parent: Any = reader.element.getparent() if 'part' in reader.element.tag else None
        owner = reader if parent is None else Reader(parent, reader.source)
        in_water = owner.attribute('physics', 'submerged') in ('submerged', 'floating')
        displaces = buoyant and in_water
        return StonefishPart(
            replace(shape, displaces=displaces),
            made,
            made.volume,
            self._mass(reader, made.volume),
            displaces,
            not internal and in_water,
            reader,
        )

    def visuals(self, reader: Reader) -> list[ImportedShape]:
        """Return the visuals of a link, if it has some."""
        visual = reader.child('visual')
        return [] if visual is None else [self._mesh(visual, IDENTITY, origin_of(visual))]

    def shape(self, reader: Reader, pose: Pose) -> ImportedShape | None:
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
            return ImportedShape('box', tuple(self._lengths(size, edges)), at, origin)
        if kind == 'cylinder':
            values = [size.attribute_number(tag, 0.0) for tag in ('radius', 'height')]
            return ImportedShape(
                'cylinder', tuple(self._lengths(size, np.array(values))), at, origin
            )
        if kind in ('torus', 'wing'):
            return self._special(size, kind, at, origin)
        if kind == 'sphere':
            radius = self._lengths(size, np.array([size.attribute_number('radius', 0.0)]))
            return ImportedShape('sphere', tuple(radius), at, origin)
        self.builder.drop(f'{origin}: a {kind!r} is no shape here')
        return None

    def _special(self, size: Reader, kind: str, at: Pose, origin: str) -> ImportedShape:
        """Return the box or cylinder of the volume of a wing or a torus."""

        def length(name: str) -> float:
            return self._lengths(size, np.array([size.attribute_number(name, 0.0)]))[0]

        self.builder.assume(f'{origin}: a {kind} is as large as its outline, of its volume here')
        if kind == 'torus':  # about y
            major, minor = length('major_radius'), length('minor_radius')
            outer = major + minor
            height = 2 * major * minor**2 / outer**2 * np.pi
            upright = at.then(Pose(np.zeros(3), _ABOUT_Y))
            return ImportedShape('cylinder', (outer, float(height)), upright, origin)
        code = size.attribute('naca')
        if not re.fullmatch(r'[0-9]{4}', code):
            raise size.error(f'naca is {code!r}; expected four digits')
        base, tip, span = length('base_chord'), length('tip_chord'), length('length')
        thickness = min(max(float(code[2:]), 1.0), 40.0) / 100
        volume = _NACA_AREA * thickness * span * (base**2 + base * tip + tip**2) / 3
        chord = (base + tip) / 2
        edges = (chord, span, volume / (chord * span))
        middle = at.then(Pose(SIGNS * np.array([0.0, span / 2, 0.0]), IDENTITY.quaternion))
        return ImportedShape('box', edges, middle, origin)

    @staticmethod
    def _lengths(reader: Reader, values: np.ndarray) -> list[float]:
        if np.any(values <= 0) or np.any(values > MAX_PART_DISTANCE):
            raise reader.error(f'has the size {values.tolist()}; expected positive lengths in m')
        return [float(v) for v in values]

    def _mesh(self, reader: Reader, pose: Pose, origin: str) -> ImportedShape:
        mesh = reader.child('mesh')
        if mesh is None:
            raise reader.error('has no <mesh filename="..."/>')
        scale = mesh.attribute_number('scale', 1.0, 1e-6, 1e6)
        at = mesh_pose_in_ned(pose.then(ned_pose(reader.child('origin'))))
        uri = find_mesh(mesh.attribute('filename'), self.path)
        return ImportedShape('mesh', (scale, scale, scale), at, origin, uri)

    def _mass(self, reader: Reader, volume: float) -> float:
        mass = reader.child('mass')
        if mass is not None:
            return mass.attribute_number('value', 0.0, 0.0, 1e9)
        material = reader.child('material')
        name = '' if material is None else material.attribute('name', '')
        if name not in self.materials:
            self.builder.assume(
                f'{origin_of(reader)}: material {name!r} is not in the file; neutral, '
                f'{self.density.value:g} kg/m³'
            )
        return self.materials.get(name, self.density.value) * volume


def find_mesh(name: str, path: Path) -> str:
    """Return the URI of a mesh, looked for around the scenario."""
    folder = path.resolve().parent
    if name.startswith('/'):
        return Path(name).as_uri()
    for parent in (folder, *folder.parents[:_LEVELS]):
        for place in (
            parent / name,
            parent / 'data' / name,
            parent / 'Data' / name,
            parent / 'resources' / name,
        ):
            if place.is_file():
                return place.as_uri()
    return name


def inertial_of(parts: Sequence[StonefishPart]) -> Inertial:
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
    total_area = float(areas.sum())
    if not total_area > 0:
        raise ModelError('the mesh has no area')
    center = areas @ corners.mean(axis=1) / total_area
    about = corners - center
    total = about.sum(axis=1)
    second = np.einsum('n,nki,nkj->ij', areas, about, about)
    second = (second + np.einsum('n,ni,nj->ij', areas, total, total)) / 12
    return replace(
        made,
        volume=total_area * thickness,
        center=center,
        second_moment=second * thickness,
        is_box=False,
        cells=None,
    )


def _solid(shape: ImportedShape, folder: Path, thickness: float) -> shapes.Shape:
    """Return the solid of a shape in its link; a mesh as Stonefish takes it, not repaired."""
    if shape.kind != 'mesh':
        made = solid(shape, folder, [])
        return made if not thickness else _wall(made, thickness)
    mesh = read_mesh(mesh_path(shape.uri, folder))
    if not len(mesh.faces):
        raise ModelError(f'{shape.uri}: the mesh has no triangles')
    vertices = np.array(mesh.vertices, float) * np.array(shape.size)
    if not np.all(np.abs(vertices) < MAX_PART_DISTANCE):
        raise ModelError(f'{shape.uri}: the mesh has vertices beyond {MAX_PART_DISTANCE:g} m')
    faces = np.array(mesh.faces)
    made = shapes.shape_of(vertices, faces, about=np.zeros(3))  # as Stonefish, of open ones too
    if made.volume < 0:
        made = shapes.shape_of(vertices, faces[:, ::-1], about=np.zeros(3))
    if thickness:
        made = _wall(made, thickness)
    if not made.volume > 0:
        raise ModelError(f'{shape.uri}: the mesh encloses no volume')
    turn = rotation_matrix(shape.pose.quaternion)
    return shapes.move_shape(made, turn, shape.pose.translation)


def _tensor(made: shapes.Shape, mass: float) -> np.ndarray:
    """Return the inertia (3, 3) of a homogeneous solid about its centre."""
    if made.volume <= 0:
        return np.zeros((3, 3))
    second = made.second_moment * (mass / made.volume)
    return np.asarray(np.trace(second) * np.eye(3) - second)


# Hydrodynamics of a Stonefish robot, lumped once from its panels.


class Drag(NamedTuple):
    """Drag coefficients of a link along its axes, and where they stand (empty: an estimate)."""

    cd: np.ndarray
    cf: np.ndarray
    origin: str


class _Skin(NamedTuple):
    """Outer panels in the base, the rotation of their link, and its C_d and C_f along its axes."""

    solid: shapes.Shape
    turn: np.ndarray
    cd: np.ndarray
    cf: np.ndarray


def lump(
    builder: VehicleBuilder,
    parts_of: Mapping[str, Sequence[StonefishPart]],
    drags: Mapping[str, Drag],
    water: Sourced[float],
) -> None:
    """Lump volumes, drag and added mass of a robot.

    Volume: of the buoyant parts of each link, its centre their centroid. Drag: what
    Stonefish computes of the outer panels under water for motion along and about one axis
    through the centre of mass at a time. Added mass: of the ellipsoid as large and as long.

    Args:
        builder: what takes them.
        drags: drag coefficients of each link.
        water: density of the water, kg/m³.
    """
    builder.water_density = water
    outer = []
    for name, parts in parts_of.items():
        if name not in builder.links:
            continue
        _displace(builder, name, [p for p in parts if p.buoyant])
        pose = builder.pose_of(name)
        turn = rotation_matrix(pose.quaternion)
        cd, cf, origin = drags[name]
        if not origin and any(p.external for p in parts):
            words = ' '.join(f'{c:.3g}' for c in cd)
            builder.assume(f'link {name!r}: C_d {words} of an ellipsoid, C_f a tenth of it')
        outer += [
            _Skin(shapes.move_shape(p.solid, turn, pose.translation), turn, cd, cf)
            for p in parts
            if p.external
        ]
    if not outer:
        return
    origin = drags.get(builder.base, next(iter(drags.values()))).origin
    density = water.value
    center = builder.center_of_mass()
    linear, quadratic = _drag(outer, density, center)
    solids = [skin.solid for skin in outer]
    volume = sum(s.volume for s in solids)
    amid = sum(s.volume * s.center for s in solids) / volume
    second = sum(
        s.second_moment + s.volume * np.outer(s.center - amid, s.center - amid) for s in solids
    )
    added = estimate_added_mass(float(volume), np.asarray(amid), np.asarray(second), density)
    builder.assume('added mass: of the ellipsoid as large and as long as the outer parts')
    rule = f'{origin or "C_d, C_f"}: drag of Stonefish under water, one axis at a time'
    builder.assume(f'drag: {rule}')
    builder.hydrodynamics = Hydrodynamics(
        water,
        Sourced(added, 'ellipsoid as large and as long as the outer parts', True),
        Sourced(np.diag(linear), rule, not origin),
        Sourced(np.diag(quadratic), rule, not origin),
        center=Sourced(center, 'centre of mass, about which Stonefish reckons'),
    )


def _displace(builder: VehicleBuilder, link: str, parts: list[StonefishPart]) -> None:
    volume = sum(p.volume for p in parts)
    if volume <= 0:
        return
    center = sum(p.volume * p.solid.center for p in parts) / volume
    low, high = box_around([p.solid for p in parts])
    origin = f'{parts[0].shape.origin}: volume of {len(parts)} buoyant part(s)'
    builder.volumes.append(
        Volume(
            link,
            Sourced(float(volume), origin),
            Sourced(np.asarray(center), origin),
            Sourced(float(high[2] - low[2]), 'height of the buoyant parts'),
        )
    )


def _drag(skins: list[_Skin], density: float, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear (6,) and quadratic (6,) damping of panels about a point (3,).

    With the velocity w of a panel against the water, its area A and outward normal n:
    F_q = −½ ρ C_d w |w| (w·n) A where w·n > 0, F_f = −ρ C_f (w − (w·n) n) A; C is Σ C_i |e_i|
    with the direction e of the force, or of the moment, of a link.
    """
    linear, quadratic = np.zeros(6), np.zeros(6)
    for skin in skins:
        corners = skin.solid.vertices[skin.solid.faces] - center
        a, b, c = np.moveaxis(corners, 1, 0)
        vector = np.cross(b - a, c - a) / 2
        area = np.linalg.norm(vector, axis=1)
        normal = vector / np.maximum(area, 1e-300)[:, None]
        arm = corners.mean(axis=1)
        for axis in range(6):
            unit = np.eye(3)[axis % 3]
            moved = np.tile(unit, (len(arm), 1)) if axis < 3 else np.cross(unit, arm)
            ahead = np.einsum('ni,ni->n', moved, normal)
            speed = np.linalg.norm(moved, axis=1)
            pressure = moved * (speed * np.maximum(ahead, 0.0) * area)[:, None]
            friction = (moved - ahead[:, None] * normal) * area[:, None]
            for result, force, factors, scale in (
                (quadratic, pressure, skin.cd, 0.5),
                (linear, friction, skin.cf, 1.0),
            ):
                total = (force if axis < 3 else np.cross(arm, force)).sum(axis=0)
                size = float(np.linalg.norm(total))
                if size > 0:
                    direction = np.abs(skin.turn.T @ total) / size
                    result[axis] += scale * density * float(factors @ direction * (total @ unit))
    return np.maximum(linear, 0.0), np.maximum(quadratic, 0.0)
