# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints of an arm."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.model.xml import Element
from marine_sim_ros.sdf.bodies import Joint
from marine_sim_ros.sdf.elements import add, add_pose
from marine_sim_ros.sdf.poses import read_origin

__all__ = ['add_joint', 'effort_of']


def effort_of(joint: Joint) -> float:
    """Return the greatest effort of a joint, N·m or N; inf where it is not given."""
    given = joint.reader.child('limit')
    if given is None or not given.element.get('effort'):
        return float('inf')
    return given.attribute_number('effort', 0.0, 0.0)


def add_joint(
    model: Element,
    name: str,
    ends: tuple[str, str],
    joint: Joint,
    frame: str,
    arm: Manipulator,
    warnings: list[str],
    *,
    fixed: bool,
) -> None:
    """Add a joint of the arm: its frame is that of the body it moves, at joint position 0.

    Args:
        model: SDF model to which the joint is added.
        name: name of the joint.
        ends: the link that carries it and the link that it moves.
        joint: the URDF joint.
        frame: name of the URDF link of its <origin>.
        arm: whose axes and limits are written.
        warnings: list to which warnings are appended.
        fixed: write a joint that stays at 0.
    """
    i, reader = joint.number, joint.reader
    kind = 'fixed' if fixed else 'prismatic' if arm.sliding[i] else 'revolute'
    element = add(model, 'joint', name=name, type=kind)
    add_pose(element, read_origin(reader), frame)
    add(element, 'parent', ends[0])
    add(element, 'child', ends[1])
    if fixed:
        return
    axis = add(element, 'axis')
    add(axis, 'xyz', arm.axis[i])
    limit = add(axis, 'limit')
    add(limit, 'lower', arm.lower[i])
    add(limit, 'upper', arm.upper[i])
    if np.isfinite(effort := effort_of(joint)):
        add(limit, 'effort', effort)
    add(limit, 'velocity', arm.max_rate[i])
    dynamics = reader.child('dynamics')
    if dynamics is not None:
        losses = add(axis, 'dynamics')
        add(losses, 'damping', dynamics.attribute_number('damping', 0.0, 0.0))
        add(losses, 'friction', dynamics.attribute_number('friction', 0.0, 0.0))
    for tag in ('mimic', 'calibration', 'safety_controller'):
        if reader.child(tag) is not None:
            warnings.append(reader.warning(f'<{tag}> is not written'))
