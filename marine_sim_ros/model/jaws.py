# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Jaws of a gripper as free bodies: two pads on sliders of the gripper's link.

Both pads move alike, as by a gear, and each is driven with the same effort, so that they press on
what is between them with that force from both sides; friction holds it.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model.arm import Gripper, Jaws
from marine_sim_ros.model.body_joints import BodyJoint, JointDrive
from marine_sim_ros.model.free_bodies import FreeBody, body_description
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import solid_volume
from marine_sim_ros.scene.drawing import material_colour
from marine_sim_ros.scene.obstacles import Obstacle

__all__ = ['SOLE_VEHICLE', 'has_jaws', 'jaw_bodies']

SOLE_VEHICLE = '/vehicle'
"""Name, among the bodies of a world, of the vehicle of a run with one; no body has it."""
_DRAG_COEFFICIENT = 1.1


def has_jaws(vehicle: Vehicle) -> bool:
    """Whether a vehicle's gripper has jaws."""
    gripper: Gripper | None = vehicle.extensions.get('gripper')
    return gripper is not None and gripper.jaws is not None


def jaw_bodies(
    vehicle: Vehicle, density: float, parent: str = SOLE_VEHICLE
) -> tuple[tuple[FreeBody, ...], tuple[BodyJoint, ...]]:
    """Return the jaws of a vehicle and the joints that carry them; empty: it has none.

    The world places them at the vehicle's gripper, open, in its first tick.

    Args:
        density: of the water, kg/m³.
        parent: name of the vehicle among the bodies of the world.

    Raises:
        ParameterError: jaws that close along no axis.
    """
    gripper: Gripper | None = vehicle.extensions.get('gripper')
    arm = vehicle.manipulator
    if gripper is None or gripper.jaws is None or arm is None or gripper.joint not in arm.names:
        return (), ()
    jaws, link = gripper.jaws, arm.names.index(gripper.joint)
    length = float(np.linalg.norm(jaws.axis))
    if length < 1e-9:
        raise ParameterError('jaws: axis is 0 long; expected a direction')
    axis = jaws.axis / length
    prefix = '' if parent == SOLE_VEHICLE else parent.strip('/').replace('/', '_') + '_'
    names = [f'{prefix}jaw_{side}' for side in ('port', 'starboard')]
    away = (jaws.opening + float(np.abs(axis) @ jaws.size)) / 2
    bodies, joints = [], []
    for name, gear, direction in zip(names, ('', names[0]), (axis, -axis), strict=True):
        middle = gripper.position + away * direction
        description = _pad_description(name, jaws, density)
        level = np.array([0.0, 0.0, 0.0, 1.0])
        bodies.append(FreeBody(name, description, middle, level, np.zeros(6)))
        joints.append(
            BodyJoint(
                name,
                'prismatic',
                name,
                parent,
                middle,
                -direction,
                limits=(0.0, jaws.opening / 2),
                link=link,
                drive=JointDrive(jaws.speed, jaws.force),
                gear=gear,
            )
        )
    return tuple(bodies), tuple(joints)


def _pad_description(name: str, jaws: Jaws, density: float) -> str:
    """Return the URDF of a pad."""
    pad = Obstacle(name, 'box', jaws.size, np.zeros(3), material=jaws.material)
    return body_description(
        pad, jaws.mass, solid_volume(pad), _DRAG_COEFFICIENT, density, material_colour('black')
    )
