# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links of SDF and URDF: poses, masses, shapes, and one tree of links and joints."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.packages import package_folder
from marine_sim_ros.core.spatial import matrix_quaternion, quaternion_from_rpy, rotation_matrix
from marine_sim_ros.importers.builder import VehicleBuilder, origin_of, read_number, read_text
from marine_sim_ros.importers.description import (
    ImportedJoint,
    ImportedLink,
    ImportedShape,
    Inertial,
    Sourced,
)
from marine_sim_ros.model.kinematics import IDENTITY, MAX_PART_DISTANCE, Pose
from marine_sim_ros.model.xml import Reader

__all__ = [
    'add_with_axis',
    'choose_base',
    'grow_tree',
    'level_base',
    'level_turn',
    'read_inertial',
    'read_pose',
    'read_shape',
]

_TILT = 0.98
"""Cosine of the angle (11°) between a body's z axis and up, beyond which its axes are turned."""
_BASE_LINK = 'base_link'
"""Name by which a description finds its body."""
_HALF_TURN = np.array([1.0, 0.0, 0.0, 0.0])
"""Quaternion x, y, z, w of half a turn about x."""


# Poses, masses and shapes of SDF's links.


def read_pose(reader: Reader) -> tuple[Pose, str]:
    """Return the <pose> of an element, and the frame that it is relative to."""
    pose = reader.first('pose')
    if pose is None:
        return IDENTITY, ''
    element = pose.element
    relative = str(element.get('relative_to', element.get('frame', '')))
    if not (element.text or '').strip():
        return IDENTITY, relative
    if element.get('rotation_format') == 'quat_xyzw':
        values = pose.numbers({7})
        length = float(np.linalg.norm(values[3:]))
        if not length > 0:
            raise pose.error('has a quaternion of length 0')
        turn = values[3:] / length
    else:
        values = pose.numbers({6})
        degrees = str(element.get('degrees', '')).lower() in ('true', '1')
        turn = quaternion_from_rpy(*(np.radians(values[3:]) if degrees else values[3:]))
    if np.any(np.abs(values[:3]) > MAX_PART_DISTANCE):
        raise pose.error(f'is beyond {MAX_PART_DISTANCE:g} m')
    return Pose(values[:3], turn), relative


def read_inertial(reader: Reader, builder: VehicleBuilder) -> Inertial:
    """Return the <inertial> of a link; a link without one weighs 1 kg in SDF."""
    inertial = reader.first('inertial')
    label = f'link {reader.attribute("name")!r}'
    if inertial is None:
        rule = f'{label} has no <inertial>: 1 kg and 1 kg·m², the default of SDF'
        builder.assume(rule)
        return Inertial(Sourced(1.0, rule), IDENTITY, Sourced(np.eye(3), rule))
    mass = read_number(inertial, 'mass', 1.0, 0.0, 1e9)
    moments = inertial.first('inertia')
    values = dict.fromkeys(('ixx', 'iyy', 'izz'), 1.0) | dict.fromkeys(('ixy', 'ixz', 'iyz'), 0.0)
    origin = 'default of SDF: <inertia> is not given'
    if moments is not None:
        origin = origin_of(moments)
        for name in values:
            found = read_number(moments, name)
            values[name] = values[name] if found is None else found.value
    tensor = np.array(
        [
            [values['ixx'], values['ixy'], values['ixz']],
            [values['ixy'], values['iyy'], values['iyz']],
            [values['ixz'], values['iyz'], values['izz']],
        ]
    )
    return Inertial(mass, read_pose(inertial)[0], Sourced(tensor, origin))


def read_shape(reader: Reader, folder: Path, builder: VehicleBuilder) -> ImportedShape | None:
    """Return a visual or collision, or None with a note."""
    geometry = reader.element.find('geometry')
    inner = None if geometry is None else next((g for g in geometry), None)
    if inner is None or inner.tag == 'empty':
        return None
    shape = Reader(inner, reader.source)
    pose, origin = read_pose(reader)[0], origin_of(reader)
    colour = _colour(reader)
    if inner.tag == 'box':
        size = shape.value_of('size', lambda r: r.numbers({3}), np.ones(3))
        return ImportedShape('box', tuple(map(float, size)), pose, origin, colour=colour)
    if inner.tag in ('cylinder', 'capsule', 'sphere', 'ellipsoid'):
        return _round(shape, pose, origin, colour, builder)
    if inner.tag == 'mesh':
        scale = shape.value_of('scale', lambda r: r.numbers({1, 3}), np.ones(3))
        scale = np.ones(3) * scale
        uri = _mesh_uri(read_text(shape, 'uri'), folder)
        return ImportedShape('mesh', tuple(map(float, scale)), pose, origin, uri, colour)
    builder.drop(f'{origin}: a <{inner.tag}> is no shape of a vehicle here')
    return None


def _round(
    shape: Reader, pose: Pose, origin: str, colour: Any, builder: VehicleBuilder
) -> ImportedShape | None:
    radius = read_number(shape, 'radius', 0.5, 1e-6, MAX_PART_DISTANCE)
    if shape.element.tag == 'sphere':
        return ImportedShape('sphere', (radius.value,), pose, origin, colour=colour)
    if shape.element.tag == 'cylinder':
        length = read_number(shape, 'length', 1.0, 1e-6, MAX_PART_DISTANCE)
        return ImportedShape('cylinder', (radius.value, length.value), pose, origin, colour=colour)
    if shape.element.tag == 'capsule':
        length = read_number(shape, 'length', 1.0, 1e-6, MAX_PART_DISTANCE)
        same = length.value + 4 / 3 * radius.value
        builder.assume(f'{origin}: a capsule is a cylinder of the same radius and volume here')
        return ImportedShape('cylinder', (radius.value, same), pose, origin, colour=colour)
    radii = shape.value_of('radii', lambda r: r.numbers({3}), np.ones(3))
    edges = tuple(float(x) for x in 2 * radii * (np.pi / 6) ** (1 / 3))
    builder.assume(f'{origin}: an ellipsoid is a box of the same proportions and volume here')
    return ImportedShape('box', edges, pose, origin, colour=colour)


def _colour(reader: Reader) -> tuple[float, float, float, float] | None:
    element = reader.element.find('material/diffuse')
    if element is None:
        return None
    try:
        values = [float(word) for word in (element.text or '').split()]
    except ValueError:
        return None
    if len(values) not in (3, 4) or not all(0 <= v <= 1 for v in values):
        return None
    return (values[0], values[1], values[2], values[3] if len(values) == 4 else 1.0)


def _mesh_uri(uri: str, folder: Path) -> str:
    """Return a mesh's URI that our reader finds: of a file where it is there, else as it is."""
    if uri.startswith('file:///'):
        return uri
    name = uri.partition('://')[2] if '://' in uri else uri
    package, _, below = name.partition('/')
    places = [folder / name, *(parent / name for parent in folder.resolve().parents[:4])]
    with contextlib.suppress(ModelError):
        places.insert(0, package_folder(package, folder) / below)
    for place in places:
        if place.is_file():
            return place.resolve().as_uri()
    return uri if '://' not in uri else re.sub(r'^(model|file)://', 'package://', uri)


def level_turn(rotation: np.ndarray) -> tuple[np.ndarray, str] | None:
    """Return the turn of a body into axes whose z is up, and what they are; None where it is up.

    Axes that are upside down (FRD) turn about x, others into those of the world.

    Args:
        rotation: (3, 3) from the axes of the body to those of a world with z up.

    Returns:
        Quaternion x, y, z, w from the axes of the body to the new ones.
    """
    if rotation[2, 2] > _TILT:
        return None
    if rotation[2, 2] < -_TILT:
        return _HALF_TURN, 'its z axis is down; turned by half a turn about x'
    return matrix_quaternion(rotation), 'its z axis is not up; the axes of the world'


def level_base(builder: VehicleBuilder, rotation: np.ndarray, where: str) -> None:
    """Put a link with level axes above a body whose z axis is not up, and make it the base.

    Args:
        rotation: (3, 3) from the axes of the body to those of a world with z up.
        where: place of the body in the source.
    """
    found = level_turn(rotation)
    if found is None:
        return
    if _BASE_LINK in builder.links:
        builder.drop(f'{where}: the axes of {builder.base!r} stay: its z axis is not up')
        return
    builder.assume(f'{where}: {found[1]}')
    body, builder.base = builder.base, _BASE_LINK
    builder.links[builder.base] = ImportedLink(builder.base)
    pose = Pose(np.zeros(3), found[0])
    joint = ImportedJoint(f'{body}_turn', 'fixed', builder.base, body, pose, origin=where)
    builder.joints[joint.name] = joint


# One tree of links and joints from any order, with the body at its root.


def add_with_axis(
    builder: VehicleBuilder, joint: ImportedJoint, place: Pose, axis: np.ndarray, offset: Pose
) -> None:
    """Add a joint with an axis; one that moves away from the child's origin gets a link there.

    Args:
        joint: the joint, with the pose of its child in its parent.
        place: frame of the joint in the parent.
        axis: (3,) in that frame.
        offset: frame of the joint in the child.
    """
    if joint.kind in ('fixed', 'continuous') or np.allclose(offset.translation, 0, atol=1e-9):
        along = rotation_matrix(offset.quaternion) @ axis
        builder.joints[joint.name] = replace(joint, axis=_vector3(along))
        return
    hinge = f'{joint.name}_frame'
    builder.links[hinge] = ImportedLink(hinge)
    builder.joints[joint.name] = replace(joint, child=hinge, pose=place, axis=_vector3(axis))
    name = f'{joint.name}_offset'
    back = offset.relative(IDENTITY)
    builder.joints[name] = ImportedJoint(
        name, 'fixed', hinge, joint.child, back, origin=joint.origin
    )


def _vector3(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z


def choose_base(builder: VehicleBuilder, preferred: str = '') -> str:
    """Return the body's link: the wanted one, the format's own, a base_link, or the root.

    Raises:
        ModelError: the wanted link does not exist, or there are no links.
    """
    names = list(builder.links)
    requested = builder.options.base_link
    if requested and requested not in names:
        raise ModelError(
            f'{builder.file}: has no link {requested!r} (--base-link); found: '
            f'{", ".join(names[:8])}'
        )
    if not names:
        raise ModelError(f'{builder.file}: {builder.name!r} has no links; expected a vehicle')
    children = {joint.child for joint in builder.joints.values()}
    roots = [name for name in names if name not in children]
    ends = [name for name in names if name.endswith('base_link')]
    for name in (requested, preferred, *ends[:1], *roots[:1], names[0]):
        if name in names:
            return (
                _first_massive_link(builder, name) if name not in (requested, preferred) else name
            )
    return names[0]


def _first_massive_link(builder: VehicleBuilder, name: str) -> str:
    """Return the first link from a root on that is more than a frame."""
    for _ in builder.links:
        below = [j for j in builder.joints.values() if j.parent == name]
        link = builder.links[name]
        if link.inertial or link.collisions or link.visuals or len(below) != 1:
            return name
        if below[0].kind != 'fixed':
            return name
        name = below[0].child
    return name


def grow_tree(builder: VehicleBuilder) -> None:
    """Let every joint lead away from the base; links that no joint reaches are dropped.

    A joint that leads towards the base is turned around where it does not move.
    """
    remaining = dict(builder.joints)
    builder.joints = {}
    reached, queue = {builder.base}, [builder.base]
    while queue:
        at = queue.pop(0)
        for name, joint in list(remaining.items()):
            if at not in (joint.parent, joint.child):
                continue
            del remaining[name]
            joint_away = joint if joint.parent == at else _reverse_joint(joint, builder)
            if joint_away.child in reached:
                builder.drop(
                    f'{joint.origin}: joint {name!r} closes a loop; our vehicles are trees'
                )
                continue
            reached.add(joint_away.child)
            queue.append(joint_away.child)
            builder.joints[name] = joint_away
    for name in [n for n in builder.links if n not in reached]:
        builder.drop(f'link {name!r} hangs on no joint of {builder.base!r}; it is left out')
        del builder.links[name]


def _reverse_joint(joint: ImportedJoint, builder: VehicleBuilder) -> ImportedJoint:
    back: Pose = joint.pose.relative(IDENTITY)
    if joint.kind not in ('fixed', 'continuous'):
        builder.drop(f'{joint.origin}: joint {joint.name!r} leads to the base; it is fixed at 0')
    return replace(joint, kind='fixed', parent=joint.child, child=joint.parent, pose=back)
