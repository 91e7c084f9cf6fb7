# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links and fixed joints: where everything sits on the body, and its mass together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, quaternion_product, rotation_matrix
from marine_sim_ros.model.base import BASE_LINK
from marine_sim_ros.model.inertia import Inertia, combined_inertia
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Reader

__all__ = [
    'FARTHEST',
    'HEAVIEST',
    'usable_pose',
    'base_name',
    'body_frame',
    'fixed_frames',
    'link_inertias',
    'origin',
    'read_place',
    'total_inertia',
]

FARTHEST = 1e4
"""m; no part of a vehicle is farther away."""
HEAVIEST = 1e9
"""kg; twice the heaviest ship."""


def base_name(frames: Mapping[str, Frame]) -> str:
    """Return the name of the body's link, which is the first frame."""
    return next(iter(frames))


def body_frame(name: str = BASE_LINK) -> Frame:
    """Return the frame of the body's link in itself."""
    return Frame(name, '', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


def origin(pose: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return translation (3,) and quaternion (4,) of a urdf_parser_py pose or None."""
    if pose is None:
        return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    xyz = np.array(pose.xyz if pose.xyz is not None else (0, 0, 0), float)
    rpy = pose.rpy if pose.rpy is not None else (0, 0, 0)
    return xyz, quaternion_from_rpy(*(float(a) for a in rpy))


def usable_pose(translation: np.ndarray, quaternion: np.ndarray) -> bool:
    """Return whether a pose is finite and within FARTHEST of its parent."""
    return bool(np.all(np.abs(translation) <= FARTHEST) and np.all(np.isfinite(quaternion)))


def read_place(reader: Reader) -> tuple[np.ndarray, np.ndarray]:
    """Return translation (3,) and quaternion (4,) of the <origin> of an element of ours.

    Raises:
        ModelError: not finite, or too far away.
    """
    found = reader.child('origin')
    if found is None:
        return origin(None)
    pose = found.pose()
    if not usable_pose(*pose):
        raise found.error(f'is beyond {FARTHEST:g} m; expected a place on the vehicle')
    return pose


def fixed_frames(robot: Any, source: str, base: str = BASE_LINK) -> dict[str, Frame]:
    """Return every link's frame relative to the body's link, which comes first; joints at zero.

    Raises:
        ModelError: no such link, a joint that names no link, or no single tree.
    """
    names = [link.name for link in robot.links]
    if base not in names:
        raise ModelError(
            f'{source}: has no link {base!r}; found: {", ".join(names[:8]) or "no links"}'
        )
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f'{source}: two links are named {name!r}; expected unique names')
    children = _joints_by_parent(robot, names, source, base)
    frames = {base: body_frame(base)}
    queue = [base]
    while queue:
        parent = frames[queue.pop(0)]
        for joint in children.get(parent.name, ()):
            if not usable_pose(*origin(joint.origin)):
                raise ModelError(
                    f'{source}: the origin of joint {joint.name!r} is not finite, or beyond '
                    f'{FARTHEST:g} m'
                )
            frames[joint.child] = _attached(parent, joint)
            queue.append(joint.child)
    lost = [name for name in names if name not in frames]
    if lost:
        raise ModelError(
            f'{source}: link {lost[0]!r} does not hang on {base!r}; '
            f'expected one tree with {base!r} at its root'
        )
    return frames


def _joints_by_parent(
    robot: Any, names: list[str], source: str, base: str
) -> dict[str, list[Any]]:
    """Return the joints below each link; no link has two parents and the base has none."""
    children: dict[str, list[Any]] = {}
    seen = {base}
    for joint in robot.joints:
        for end in (joint.parent, joint.child):
            if end not in names:
                raise ModelError(f'{source}: joint {joint.name!r} names no link: {end!r}')
        if joint.child in seen:
            raise ModelError(
                f'{source}: link {joint.child!r} has two parents, or is {base!r}; '
                f'expected one tree with {base!r} at its root'
            )
        seen.add(joint.child)
        children.setdefault(joint.parent, []).append(joint)
    return children


def _attached(parent: Frame, joint: Any) -> Frame:
    translation, quaternion = origin(joint.origin)
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
        robot: robot of urdf_parser_py.
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
    if np.min(np.linalg.eigvalsh(result.tensor)) <= 0:
        raise ModelError(
            f'{source}: the inertia of the whole vehicle is not positive definite; '
            'expected positive principal moments'
        )
    return result


def _link_inertia(link: Any, frame: Frame, source: str) -> Inertia:
    where = f'{source}: link {link.name!r}'
    mass = float(link.inertial.mass or 0.0)
    if not 0 <= mass <= HEAVIEST:
        raise ModelError(f'{where}: mass is {mass:g}; expected 0 to {HEAVIEST:g} kg')
    entries = link.inertial.inertia
    tensor = np.array(entries.to_matrix(), float) if entries is not None else np.zeros((3, 3))
    if not np.all(np.abs(tensor) <= HEAVIEST * FARTHEST**2):
        raise ModelError(f'{where}: inertia is not finite, or larger than any vehicle has')
    if np.min(np.linalg.eigvalsh(tensor)) < -1e-9 * max(1.0, float(np.trace(tensor))):
        raise ModelError(
            f'{where}: inertia is not positive definite; expected positive principal moments '
            '(check the signs of ixy, ixz, iyz)'
        )
    translation, quaternion = origin(link.inertial.origin)
    if not usable_pose(translation, quaternion):
        raise ModelError(
            f'{where}: the origin of its <inertial> is not finite, or beyond {FARTHEST:g} m'
        )
    rotation = rotation_matrix(frame.quaternion)
    turned = rotation @ rotation_matrix(quaternion)
    return Inertia(mass, frame.translation + rotation @ translation, turned @ tensor @ turned.T)
