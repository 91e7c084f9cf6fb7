# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links and joints in any order -> one tree with the body at its root."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.description import Joint, Link
from marine_sim_ros.importers.draft import Draft
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['add_moving', 'choose_base', 'grow_tree']


def add_moving(draft: Draft, joint: Joint, place: Pose, axis: np.ndarray, offset: Pose) -> None:
    """Add a joint that moves; one away from the child's origin gets a link of its own there.

    Args:
        draft: the vehicle.
        joint: the joint, with the pose of its child in its parent.
        place: frame of the joint in the parent.
        axis: (3,) in that frame.
        offset: frame of the joint in the child.
    """
    if joint.kind == 'continuous' or np.allclose(offset.translation, 0, atol=1e-9):
        along = rotation_matrix(offset.quaternion) @ axis
        draft.joints[joint.name] = replace(joint, axis=_three(along))
        return
    hinge = f'{joint.name}_frame'
    draft.links[hinge] = Link(hinge)
    draft.joints[joint.name] = replace(joint, child=hinge, pose=place, axis=_three(axis))
    name = f'{joint.name}_offset'
    back = offset.seen(IDENTITY)
    draft.joints[name] = Joint(name, 'fixed', hinge, joint.child, back, origin=joint.origin)


def _three(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z


def choose_base(draft: Draft, preferred: str = '') -> str:
    """Return the body's link: the wanted one, the format's own, a base_link, or the root.

    Raises:
        ModelError: the wanted link does not exist, or there are no links.
    """
    names = list(draft.links)
    wanted = draft.options.base_link
    if wanted and wanted not in names:
        raise ModelError(
            f'{draft.file}: has no link {wanted!r} (--base-link); found: {", ".join(names[:8])}'
        )
    if not names:
        raise ModelError(f'{draft.file}: {draft.name!r} has no links; expected a vehicle')
    children = {joint.child for joint in draft.joints.values()}
    roots = [name for name in names if name not in children]
    ends = [name for name in names if name.endswith('base_link')]
    for name in (wanted, preferred, *ends[:1], *roots[:1], names[0]):
        if name in names:
            return _massive(draft, name) if name not in (wanted, preferred) else name
    return names[0]


def _massive(draft: Draft, name: str) -> str:
    """Return the first link from a root on that is more than a frame."""
    for _ in draft.links:
        below = [j for j in draft.joints.values() if j.parent == name]
        link = draft.links[name]
        if link.inertial or link.collisions or link.visuals or len(below) != 1:
            return name
        if below[0].kind != 'fixed':
            return name
        name = below[0].child
    return name


def grow_tree(draft: Draft) -> None:
    """Let every joint lead away from the base; links that no joint reaches are dropped.

    A joint that leads towards the base is turned around where it does not move.
    """
    rest = dict(draft.joints)
    draft.joints = {}
    reached, queue = {draft.base}, [draft.base]
    while queue:
        at = queue.pop(0)
        for name, joint in list(rest.items()):
            if at not in (joint.parent, joint.child):
                continue
            del rest[name]
            turned = joint if joint.parent == at else _turned(joint, draft)
            if turned.child in reached:
                draft.drop(f'{joint.origin}: joint {name!r} closes a loop; our vehicles are trees')
                continue
            reached.add(turned.child)
            queue.append(turned.child)
            draft.joints[name] = turned
    for name in [n for n in draft.links if n not in reached]:
        draft.drop(f'link {name!r} hangs on no joint of {draft.base!r}; it is left out')
        del draft.links[name]


def _turned(joint: Joint, draft: Draft) -> Joint:
    back: Pose = joint.pose.seen(IDENTITY)
    if joint.kind not in ('fixed', 'continuous'):
        draft.drop(f'{joint.origin}: joint {joint.name!r} leads to the base; it is fixed at 0')
    return replace(joint, kind='fixed', parent=joint.child, child=joint.parent, pose=back)
