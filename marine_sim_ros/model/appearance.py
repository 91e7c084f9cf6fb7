# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Appearance of a vehicle: visual shapes of its links, and their poses in the body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import normalize, rotation_matrix, rotation_vector_quaternion
from marine_sim_ros.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.arm_reader import MOVING_JOINT_TYPES
from marine_sim_ros.model.kinematics import IDENTITY, Pose, read_origin_pose
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader, parse
from marine_sim_ros.scene.bodies import VisiblePart

__all__ = ['Appearance', 'VisibleLink', 'Visual', 'read_colour', 'read_colours']

_GREY = np.array([0.6, 0.6, 0.62, 1.0])
_SIZES = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}
_MIN_ALPHA = 0.5
"""Minimum opacity of a shape in pictures."""


@dataclass(frozen=True, eq=False)
class Visual:
    """A visual shape of a link.

    Attributes:
        kind: ``box``, ``cylinder``, ``sphere`` or ``mesh``.
        size: numbers of the URDF, m; empty for a mesh.
        corners: (n, 3, 3) of the triangles of a mesh, m; empty for other kinds.
        pose: in its link.
        colour: (4,) red, green, blue, alpha.
    """

    kind: str
    size: tuple[float, ...]
    corners: np.ndarray
    pose: Pose
    colour: np.ndarray

    @cached_property
    def centred_corners(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners from the middle (3,) of a mesh's box, always the same array, and that, m."""
        middle = (self.corners.min(axis=(0, 1)) + self.corners.max(axis=(0, 1))) / 2
        return self.corners - middle, middle


@dataclass(frozen=True, eq=False)
class VisibleJoint:
    """Movable joint: its name, ``revolute`` or ``prismatic``, and its axis (3,)."""

    name: str
    kind: str
    axis: np.ndarray


@dataclass(frozen=True, eq=False)
class VisibleLink:
    """Link: name of its parent (empty: the body), pose in it, joint, and visuals."""

    name: str
    parent: str
    pose: Pose
    joint: VisibleJoint | None
    visuals: tuple[Visual, ...]


class Appearance:
    """Appearance of a vehicle; its meshes are read on demand."""

    def __init__(self, vehicle: Vehicle) -> None:
        """Prepare; the URDF and its meshes are read on demand."""
        self._vehicle, self._base = vehicle, vehicle.folder
        self._placed: tuple[dict[str, float], list[_Placed]] | None = None

    @property
    def links(self) -> tuple[VisibleLink, ...]:
        """All links, the body first, parents before children; raises ModelError."""
        return self._links_and_warnings[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages about visuals that cannot be shown; raises ModelError."""
        return self._links_and_warnings[1]

    @cached_property
    def _links_and_warnings(self) -> tuple[tuple[VisibleLink, ...], tuple[str, ...]]:
        warnings: list[str] = []
        root = Reader(parse(self._vehicle.urdf, self._vehicle.name), self._vehicle.name)
        return tuple(_links(root, self._vehicle.base_link, self._base, warnings)), tuple(warnings)

    def parts(self) -> tuple[VisiblePart, ...]:
        """Return the visible parts in the body's frame, joints at zero.

        Raises:
            ModelError: the URDF cannot be read.
        """
        return self.parts_at({})

    def parts_at(
        self, joints: Mapping[str, float], link_angles: Mapping[str, float] | None = None
    ) -> tuple[VisiblePart, ...]:
        """Return the visible parts in the body's frame with joints at positions, rad or m.

        Args:
            joints: positions by the names of the joints; others are at 0.
            link_angles: rad, by names of links that rotate about their z axes, with
                what they carry; None: none does.

        Raises:
            ModelError: the URDF cannot be read.
        """
        moved_links: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        parts_in_body: list[VisiblePart] = []
        for link, pose, parts in self._placed_links(joints):
            angle = 0.0 if link_angles is None else link_angles.get(link.name, 0.0)
            before = moved_links.get(link.parent)
            if not angle and before is None:
                parts_in_body += parts
                continue
            rotation, shift = _about_z(pose, angle)
            if before is not None:
                rotation, shift = before[0] @ rotation, before[0] @ shift + before[1]
            moved_links[link.name] = rotation, shift
            parts_in_body += [
                replace(p, position=rotation @ p.position + shift, rotation=rotation @ p.rotation)
                for p in parts
            ]
        return tuple(parts_in_body)

    def _placed_links(self, joints: Mapping[str, float]) -> list[_Placed]:
        """Return links, their poses in the body and their parts; the last result is cached."""
        positions = dict(joints)
        if self._placed is None or self._placed[0] != positions:
            poses: dict[str, Pose] = {}
            placed = []
            for link in self.links:
                pose = poses.get(link.parent, IDENTITY).then(link.pose)
                if link.joint is not None:
                    pose = pose.then(_joint_pose(link.joint, positions.get(link.joint.name, 0.0)))
                poses[link.name] = pose
                parts = [_part(v, pose.then(v.pose)) for v in link.visuals if _is_visible(v)]
                placed.append((link, pose, parts))
            self._placed = positions, placed
        return self._placed[1]


_Placed = tuple[VisibleLink, Pose, list[VisiblePart]]


def _about_z(pose: Pose, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Return R (3, 3) and s (3,), m: R p + s is the point p rotated about a frame's z axis."""
    axis = np.asarray(rotation_matrix(pose.quaternion))[:, 2]
    rotation = np.asarray(rotation_matrix(rotation_vector_quaternion(axis * angle)))
    return rotation, pose.translation - rotation @ pose.translation


def _is_visible(visual: Visual) -> bool:
    return bool(visual.colour[3] >= _MIN_ALPHA) and (
        visual.kind != 'mesh' or visual.corners.size > 0
    )


def _joint_pose(joint: VisibleJoint, position: float) -> Pose:
    along = np.asarray(normalize(joint.axis)) * position
    if joint.kind == 'prismatic':
        return Pose(along, IDENTITY.quaternion)
    return Pose(IDENTITY.translation, np.asarray(rotation_vector_quaternion(along)))


def _part(visual: Visual, pose: Pose) -> VisiblePart:
    rotation, corners, middle = (
        np.asarray(rotation_matrix(pose.quaternion)),
        visual.corners,
        np.zeros(3),
    )
    if visual.kind == 'mesh':
        corners, middle = visual.centred_corners
        size = 2 * corners.max(axis=(0, 1))
    elif visual.kind == 'box':
        size = np.array(visual.size)
    else:
        width = 2 * visual.size[0]
        size = np.array([width, width, visual.size[-1] if visual.kind == 'cylinder' else width])
    position = pose.translation + rotation @ middle
    return VisiblePart(visual.kind, size, position, rotation, visual.colour[:3], corners)


def _mesh(shape: Reader, base: Path | None) -> np.ndarray:
    """Return the corners (n, 3, 3) of a mesh, m."""
    mesh = read_mesh(mesh_path(shape.attribute('filename'), base))
    scale = shape.numbers({3}, shape.attribute('scale', '1 1 1'))
    corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)] * scale
    return corners[:, ::-1] if np.prod(scale) < 0 else corners


def _visual(visual: Reader, colours: dict[str, np.ndarray], base: Path | None) -> Visual:
    geometry = visual.child('geometry')
    shapes = [] if geometry is None else geometry.children({*_SIZES, 'mesh'})
    if len(shapes) != 1:
        raise visual.error('has no geometry; expected <box>, <cylinder>, <sphere> or <mesh>')
    shape, kind = shapes[0], str(shapes[0].element.tag)
    size: list[float] = []
    corners = np.zeros((0, 3, 3))
    if kind == 'mesh':
        corners = _mesh(shape, base)
    else:
        count = {3} if kind == 'box' else {1}
        for name in _SIZES[kind]:
            size += shape.numbers(count, shape.attribute(name)).tolist()
    return Visual(kind, tuple(size), corners, read_origin_pose(visual), _colour(visual, colours))


def read_colours(root: Reader) -> dict[str, np.ndarray]:
    """Return red, green, blue, alpha (4,) by the name of their material; the last one counts.

    URDF readers differ in whether a material may be named before it is defined; here it may.

    Raises:
        ModelError: a colour that is not four numbers of 0 to 1.
    """
    colours = {}
    for element in root.element.iter('material'):
        colour = read_colour(Reader(element, root.source))
        name = element.get('name')
        if name and colour is not None:
            colours[name] = colour
    return colours


def read_colour(material: Reader) -> np.ndarray | None:
    """Return red, green, blue and alpha (4,) of a <material>; None where it has no <color>.

    Raises:
        ModelError: a colour that is not four numbers of 0 to 1.
    """
    color = material.child('color')
    if color is None:
        return None
    rgba = color.numbers({4}, color.attribute('rgba'))
    if not np.all((rgba >= 0) & (rgba <= 1)):
        raise color.error(f'rgba is {color.attribute("rgba")!r}; expected numbers of 0 to 1')
    return rgba


def _colour(visual: Reader, colours: dict[str, np.ndarray]) -> np.ndarray:
    material = visual.child('material')
    if material is None:
        return _GREY
    name = material.attribute('name', '')
    return read_colours(material).get(name, colours.get(name, _GREY))


def _visuals(
    link: Reader, colours: dict[str, np.ndarray], base: Path | None, warnings: list[str]
) -> tuple[Visual, ...]:
    visuals = []
    for element in link.element.findall('visual'):
        try:
            visuals.append(_visual(Reader(element, link.source), colours, base))
        except MarineSimError as error:  # one lost mesh does not take the whole view away
            warnings.append(str(error))
    return tuple(visuals)


def _links(root: Reader, body: str, base: Path | None, warnings: list[str]) -> list[VisibleLink]:
    colours = read_colours(root)
    links = {e.get('name', ''): Reader(e, root.source) for e in root.element.findall('link')}
    children: dict[str, list[Reader]] = {}
    for element in root.element.findall('joint'):
        joint = Reader(element, root.source)
        parent = joint.child('parent')
        if parent is not None:
            children.setdefault(parent.attribute('link'), []).append(joint)
    result: list[VisibleLink] = []
    queue: list[tuple[str, str, Reader | None]] = [(body, '', None)]
    while queue:
        name, parent_name, by = queue.pop(0)
        pose = IDENTITY if by is None else read_origin_pose(by)
        visuals = _visuals(links[name], colours, base, warnings) if name in links else ()
        result.append(
            VisibleLink(name, parent_name, pose, None if by is None else _joint(by), visuals)
        )
        for joint in children.get(name, ()):
            child = joint.child('child')
            if child is not None:
                queue.append((child.attribute('link'), name, joint))
    return result


def _joint(reader: Reader) -> VisibleJoint | None:
    kind = reader.attribute('type')
    if kind not in MOVING_JOINT_TYPES:
        return None
    axis, along = reader.child('axis'), np.array([1.0, 0.0, 0.0])
    if axis is not None:
        along = axis.numbers({3}, axis.attribute('xyz'))
    return VisibleJoint(reader.attribute('name'), kind, along)
