# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The base of a description: which link is the body, and the tree with that link at its root."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import (
    quaternion_product,
    rotation_matrix,
    rotation_vector_quaternion,
    written_rpy,
)
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['AHEAD', 'BASE_LINK', 'base_link_of', 'fix_locked_joints', 'reroot']

BASE_LINK = 'base_link'
"""The body's name where nothing else is said (REP 105)."""


def _parents(robot: Element) -> dict[str, Element]:
    """Return the joint above each link; the first of several, which another check refuses."""
    result: dict[str, Element] = {}
    for joint in robot.findall('joint'):
        child = joint.find('child')
        if child is not None:
            result.setdefault(str(child.get('link')), joint)
    return result


def base_link_of(robot: Element, source: str, wanted: str) -> str:
    """Return the name of the link that is the body.

    The first of these that is there: the wanted one; ``base_link``; the only link whose name ends
    in ``/base_link`` or ``_base_link``; the root of the tree, passing over links without mass and
    shape that have a single fixed child, such as ``base_footprint``.

    Raises:
        ModelError: the wanted link does not exist, or there is no single root.
    """
    names = [str(link.get('name')) for link in robot.findall('link')]
    shown = ', '.join(names[:8]) or 'no links'
    if wanted:
        if wanted not in names:
            raise ModelError(f'{source}: has no link {wanted!r} (--base-link); found: {shown}')
        return wanted
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
    """Return the first link from the root on that is more than a frame."""
    links = {str(link.get('name')): link for link in robot.findall('link')}
    seen = set()
    while root not in seen:
        seen.add(root)
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
        _turn_around(joint, reader)
    return bool(above)


def _turn_around(joint: Element, reader: Reader) -> None:
    parent, child = joint.find('parent'), joint.find('child')
    if parent is None or child is None:
        return
    upper, lower = parent.get('link'), child.get('link')
    parent.set('link', str(lower))
    child.set('link', str(upper))
    origin = reader.child('origin')
    if origin is None:
        return
    xyz, turn = origin.pose()
    element: Element = origin.element
    element.set('xyz', _numbers(-rotation_matrix(turn).T @ xyz))
    element.set('rpy', _numbers(written_rpy(turn * _BACK)))


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
        still = limit.get('velocity') is not None and not reader.attribute_number('velocity', 0.0)
        if lower != upper and not still:
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
    xyz, turn = origin.pose()
    if joint.get('type') == 'prismatic':
        xyz = xyz + rotation_matrix(turn) @ (position * axis)
    else:
        turn = quaternion_product(turn, rotation_vector_quaternion(position * axis))
    element.set('xyz', _numbers(xyz))
    element.set('rpy', _numbers(written_rpy(turn)))
