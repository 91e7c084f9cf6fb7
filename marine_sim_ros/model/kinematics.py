# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links and frames: base link, poses, fixed joints, mass of all links together."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.schema import declaration, nested, text
from marine_sim_ros.core.spatial import (
    quaternion_from_rpy,
    quaternion_product,
    reproducible_rpy,
    rotation_matrix,
    rotation_vector_quaternion,
)
from marine_sim_ros.model.added_mass import Inertia, combined_inertia
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Element, Reader

__all__ = [
    'AHEAD',
    'BASE_LINK',
    'IDENTITY',
    'MAX_PART_DISTANCE',
    'OriginElement',
    'PlacedElement',
    'Pose',
    'base_link_of',
    'base_name',
    'body_frame',
    'fix_locked_joints',
    'fixed_frames',
    'is_usable_pose',
    'link_inertias',
    'read_origin_pose',
    'reroot',
    'total_inertia',
    'urdf_pose',
]


# The base of a description: which link is the body, and the tree with that link at its root.

BASE_LINK = 'base_link'
"""Default name of the body's link (REP 105)."""


def _parents(robot: Element) -> dict[str, Element]:
    """Return the joint above each link; the first of several, which another check refuses."""
    result: dict[str, Element] = {}
    for joint in robot.findall('joint'):
        child = joint.find('child')
        if child is not None:
            result.setdefault(str(child.get('link')), joint)
    return result


def base_link_of(robot: Element, source: str, base_link: str) -> str:
    """Return the name of the body's link.

    The first of these that is there: the wanted one; ``base_link``; the only link whose name ends
    in ``/base_link`` or ``_base_link``; the root of the tree, passing over links without mass and
    shape that have a single fixed child, such as ``base_footprint``.

    Raises:
        ModelError: the wanted link does not exist, or there is no single root.
    """
    names = [str(link.get('name')) for link in robot.findall('link')]
    shown = ', '.join(names[:8]) or 'no links'
    if base_link:
        if base_link not in names:
            raise ModelError(f'{source}: has no link {base_link!r} (--base-link); found: {shown}')
        return base_link
    if BASE_LINK in names:
        return BASE_LINK
    prefixed = [name for name in names if name.endswith(('/' + BASE_LINK, '_' + BASE_LINK))]
    if len(prefixed) == 1:
        return prefixed[0]
    parents = _parents(robot)
    roots = [name for name in names if name not in parents]
    if len(roots) != 1:
        raise ModelError(
            f'{source}: has no link {BASE_LINK!r} and {len(roots)} roots '
            f'({", ".join(roots[:4]) or "a circle of joints"}); expected one tree, or '
            f'--base-link LINK; found: {shown}'
        )
    return _first_body(robot, roots[0])


def _first_body(robot: Element, root: str) -> str:
    """Return the first link from the root that has mass or shape."""
    links = {str(link.get('name')): link for link in robot.findall('link')}
    visited = set()
    while root not in visited:
        visited.add(root)
        link = links[root]
        below = [
            j
            for j in robot.findall('joint')
            if (parent := j.find('parent')) is not None and parent.get('link') == root
        ]
        child = below[0].find('child') if len(below) == 1 else None
        frame = all(link.find(tag) is None for tag in ('inertial', 'collision', 'visual'))
        if not frame or child is None or below[0].get('type') != 'fixed':
            return root
        if str(child.get('link')) not in links:
            return root
        root = str(child.get('link'))
    return root


AHEAD = np.array([1.0, 0.0, 0.0])
_BACK = np.array([-1.0, -1.0, -1.0, 1.0])


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return ' '.join(repr(float(v) + 0.0) for v in values)


def reroot(robot: Element, source: str, base: str) -> bool:
    """Turn the fixed joints above a link around, so that it is the root; return whether any was.

    Raises:
        ModelError: a joint above the link moves.
    """
    parents = _parents(robot)
    above, name = [], base
    while name in parents and parents[name] not in above:
        joint = parents[name]
        above.append(joint)
        parent = joint.find('parent')
        name = '' if parent is None else str(parent.get('link'))
    for joint in above:
        reader = Reader(joint, source)
        if joint.get('type') != 'fixed':
            raise reader.error(
                f'is {joint.get("type")} and above {base!r}; expected fixed joints between the '
                'root and the body, or another --base-link'
            )
        _reverse_joint(joint, reader)
    return bool(above)


def _reverse_joint(joint: Element, reader: Reader) -> None:
    parent, child = joint.find('parent'), joint.find('child')
    if parent is None or child is None:
        return
    upper, lower = parent.get('link'), child.get('link')
    parent.set('link', str(lower))
    child.set('link', str(upper))
    origin = reader.child('origin')
    if origin is None:
        return
    xyz, quaternion = origin.pose()
    element: Element = origin.element
    element.set('xyz', _numbers(-rotation_matrix(quaternion).T @ xyz))
    element.set('rpy', _numbers(reproducible_rpy(quaternion * _BACK)))


def fix_locked_joints(robot: Element, source: str) -> tuple[str, ...]:
    """Make joints fixed that cannot move (lower = upper, or velocity 0); return warnings.

    A joint stays where its limits hold it: the rotation, or the way, is part of its origin.
    """
    warnings = []
    for joint in robot.findall('joint'):
        limit = joint.find('limit')
        if joint.get('type') not in ('revolute', 'prismatic') or limit is None:
            continue
        reader = Reader(limit, source)
        lower = reader.attribute_number('lower', 0.0)
        upper = reader.attribute_number('upper', 0.0)
        is_locked = limit.get('velocity') is not None and not reader.attribute_number(
            'velocity', 0.0
        )
        if lower != upper and not is_locked:
            continue
        why = f'lower = upper = {lower:g}' if lower == upper else 'velocity 0'
        warnings.append(Reader(joint, source).warning(f'has {why}; it is taken as fixed'))
        at = lower if lower == upper else 0.0
        if at:
            _move_origin(joint, source, at)
        joint.set('type', 'fixed')
    return tuple(warnings)


def _move_origin(joint: Element, source: str, position: float) -> None:
    """Put a position of a joint (rad or m) into its origin."""
    reader = Reader(joint, source)
    axis = reader.value_of('axis', lambda a: a.direction(a.attribute('xyz', '1 0 0')), AHEAD)
    origin = reader.child('origin')
    if origin is None:
        joint.append(joint.makeelement('origin'))
        origin = Reader(joint[-1], source)
    element = origin.element
    xyz, quaternion = origin.pose()
    if joint.get('type') == 'prismatic':
        xyz = xyz + rotation_matrix(quaternion) @ (position * axis)
    else:
        quaternion = quaternion_product(quaternion, rotation_vector_quaternion(position * axis))
    element.set('xyz', _numbers(xyz))
    element.set('rpy', _numbers(reproducible_rpy(quaternion)))


# Links and fixed joints: frames on the body, and combined mass.

MAX_PART_DISTANCE = 1e4
"""m; no part of a vehicle is farther away."""
MAX_MASS = 1e9
"""kg; twice the heaviest ship."""


def base_name(frames: Mapping[str, Frame]) -> str:
    """Return the name of the body's link, which is the first frame."""
    return next(iter(frames))


def body_frame(name: str = BASE_LINK) -> Frame:
    """Return the frame of the body's link in itself."""
    return Frame(name, '', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


def urdf_pose(pose: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return translation (3,) and quaternion (4,) of a urdf_parser_py pose or None."""
    if pose is None:
        return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    xyz = np.array(pose.xyz if pose.xyz is not None else (0, 0, 0), float)
    rpy = pose.rpy if pose.rpy is not None else (0, 0, 0)
    return xyz, quaternion_from_rpy(*(float(a) for a in rpy))


def is_usable_pose(translation: np.ndarray, quaternion: np.ndarray) -> bool:
    """Return whether a pose is finite and within FARTHEST of its parent."""
    return bool(
        np.all(np.abs(translation) <= MAX_PART_DISTANCE) and np.all(np.isfinite(quaternion))
    )


def fixed_frames(robot: Any, source: str, base: str = BASE_LINK) -> dict[str, Frame]:
    """Return every link's frame in the body, the body's link first; joints at zero.

    Raises:
        ModelError: no such link, a joint that names no link, or no single tree.
    """
    names = Counter(link.name for link in robot.links)
    if base not in names:
        raise ModelError(
            f'{source}: has no link {base!r}; found: {", ".join([*names][:8]) or "no links"}'
        )
    for name, count in names.items():
        if count > 1:
            raise ModelError(f'{source}: two links are named {name!r}; expected unique names')
    children = _joints_by_parent(robot, names, source, base)
    frames = {base: body_frame(base)}
    queue = deque([base])
    while queue:
        parent = frames[queue.popleft()]
        for joint in children.get(parent.name, ()):
            if not is_usable_pose(*urdf_pose(joint.origin)):
                raise ModelError(
                    f'{source}: the origin of joint {joint.name!r} is not finite, or beyond '
                    f'{MAX_PART_DISTANCE:g} m'
                )
            frames[joint.child] = _child_frame(parent, joint)
            queue.append(joint.child)
    unconnected = [name for name in names if name not in frames]
    if unconnected:
        raise ModelError(
            f'{source}: link {unconnected[0]!r} does not hang on {base!r}; '
            f'expected one tree with {base!r} at its root'
        )
    return frames


def _joints_by_parent(
    robot: Any, names: Collection[str], source: str, base: str
) -> dict[str, list[Any]]:
    """Return the joints below each link; no link has two parents and the base has none."""
    children: dict[str, list[Any]] = {}
    visited = {base}
    for joint in robot.joints:
        for end in (joint.parent, joint.child):
            if end not in names:
                raise ModelError(f'{source}: joint {joint.name!r} names no link: {end!r}')
        if joint.child in visited:
            raise ModelError(
                f'{source}: link {joint.child!r} has two parents, or is {base!r}; '
                f'expected one tree with {base!r} at its root'
            )
        visited.add(joint.child)
        children.setdefault(joint.parent, []).append(joint)
    return children


def _child_frame(parent: Frame, joint: Any) -> Frame:
    translation, quaternion = urdf_pose(joint.origin)
    rotation = rotation_matrix(parent.quaternion)
    return Frame(
        joint.child,
        parent.name,
        parent.translation + rotation @ translation,
        quaternion_product(parent.quaternion, quaternion),
    )


def link_inertias(
    robot: Any, frames: dict[str, Frame], source: str, of_material: Mapping[str, Inertia] | None
) -> dict[str, Inertia]:
    """Return the inertia of every link that has one, in the body frame, joints at zero.

    Args:
        frames: frames of its links.
        source: source of the description, for messages.
        of_material: inertia in the body frame of links that have no <inertial>.

    Raises:
        ModelError: a negative or not finite mass, or an inertia no body can have.
    """
    result = {
        link.name: _link_inertia(link, frames[link.name], source)
        for link in robot.links
        if link.inertial is not None and link.name in frames
    }
    return {**result, **(of_material or {})}


def total_inertia(inertias: Collection[Inertia], source: str) -> Inertia:
    """Return the inertia of all links together.

    Raises:
        ModelError: no mass, or not positive definite.
    """
    result = combined_inertia(inertias)
    if result.mass <= 0:
        raise ModelError(f'{source}: the vehicle has no mass; expected <inertial><mass value>')
    if not np.any(result.tensor):
        raise ModelError(
            f'{source}: no link has moments of inertia; expected <inertia ixx="…" iyy="…" '
            'izz="…" ixy="0" ixz="0" iyz="0"/> beside <mass> in <inertial> (of a solid box '
            'm (b² + c²)/12 about the axis of its side a)'
        )
    if np.min(np.linalg.eigvalsh(result.tensor)) <= 0:
        raise ModelError(
            f'{source}: the inertia of the whole vehicle is not positive definite; '
            'expected positive principal moments'
        )
    return result


def _link_inertia(link: Any, frame: Frame, source: str) -> Inertia:
    where = f'{source}: link {link.name!r}'
    mass = float(link.inertial.mass or 0.0)
    if not 0 <= mass <= MAX_MASS:
        raise ModelError(f'{where}: mass is {mass:g}; expected 0 to {MAX_MASS:g} kg')
    if mass == 0 and link.collision is not None:
        raise ModelError(
            f'{where}: a body with a <collision> and a mass of 0; expected <mass value> above 0, '
            'or no <inertial> where its mass is part of another link'
        )
    entries = link.inertial.inertia
    tensor = np.array(entries.to_matrix(), float) if entries is not None else np.zeros((3, 3))
    if not np.all(np.abs(tensor) <= MAX_MASS * MAX_PART_DISTANCE**2):
        raise ModelError(f'{where}: inertia is not finite, or larger than any vehicle has')
    if np.min(np.linalg.eigvalsh(tensor)) < -1e-9 * max(1.0, float(np.trace(tensor))):
        raise ModelError(
            f'{where}: inertia is not positive definite; expected positive principal moments '
            '(check the signs of ixy, ixz, iyz)'
        )
    translation, quaternion = urdf_pose(link.inertial.origin)
    if not is_usable_pose(translation, quaternion):
        raise ModelError(
            f'{where}: the origin of its <inertial> is not finite, or beyond '
            f'{MAX_PART_DISTANCE:g} m'
        )
    rotation = rotation_matrix(frame.quaternion)
    link_rotation = rotation @ rotation_matrix(quaternion)
    return Inertia(
        mass, frame.translation + rotation @ translation, link_rotation @ tensor @ link_rotation.T
    )


# Places and attitudes of frames in other frames.


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame in another one: translation (3,) in m and quaternion (4,) x, y, z, w."""

    translation: np.ndarray
    quaternion: np.ndarray

    def then(self, inner: Pose) -> Pose:
        """Compose poses: ``inner`` is given in this frame."""
        translation = rotation_matrix(self.quaternion) @ inner.translation
        return Pose(
            self.translation + translation, quaternion_product(self.quaternion, inner.quaternion)
        )

    def relative(self, other: Pose) -> Pose:
        """Return the pose in this frame of a pose that is given in this one's parent frame."""
        back = rotation_matrix(self.quaternion).T
        return Pose(
            back @ (other.translation - self.translation),
            quaternion_product(self.quaternion * _BACK, other.quaternion),
        )


IDENTITY = Pose(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


@declaration(frozen=True, kw_only=True)
class OriginElement:
    """<origin> of an element of this package."""

    xyz: str = text('position, m', '0 0 0', place='attribute')
    rpy: str = text('roll, pitch and yaw, rad', '0 0 0', place='attribute')


def _read_origin(reader: Reader) -> Pose:
    pose = Pose(*reader.pose())
    if not is_usable_pose(pose.translation, pose.quaternion):
        raise reader.error(f'is beyond {MAX_PART_DISTANCE:g} m; expected a place on the vehicle')
    return pose


@declaration(frozen=True, kw_only=True)
class PlacedElement:
    """An element with an <origin>."""

    origin: Pose = nested(
        OriginElement, 'position on the vehicle', default=IDENTITY, read=_read_origin
    )


def read_origin_pose(parent: Reader) -> Pose:
    """Return the pose that the <origin> of an element describes; without one the identity.

    Raises:
        ModelError: not finite, or too far away.
    """
    pose: Pose = parent.values(PlacedElement)['origin']
    return pose
