# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where the links of an arm are."""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.physics.arm.payload import Load

__all__ = ['Poses', 'link_poses', 'load_place', 'points_at']


class Poses(NamedTuple):
    """Of n joint frames in the body frame: translation (..., n, 3) m, rotation (..., n, 3, 3).

    With the payload that the gripper holds at these poses, or None.
    """

    translation: Array
    rotation: Array
    load: Load | None = None


def link_poses(arm: Manipulator, position: Array) -> Poses:
    """Return the poses of all joint frames in the body frame at joint positions (..., n).

    Each joint turns by Rodrigues' formula E + sin q S(a) + (1 − cos q) S(a)², or slides.
    """
    xp = namespace(position)
    q = (position * constant(xp, 1 - arm.sliding))[..., None, None]
    turns = (
        constant(xp, arm.rotation)
        + xp.sin(q) * constant(xp, arm.rotation_by_sine)
        + (1 - xp.cos(q)) * constant(xp, arm.rotation_by_versine)
    )
    slides = (position * constant(xp, arm.sliding))[..., None] * constant(xp, arm.slide_axis)
    shifts = constant(xp, arm.translation) + slides
    places: list[Array] = []
    rotations: list[Array] = []
    for i, p in enumerate(arm.parent):
        if p < 0:
            places.append(shifts[..., i, :])
            rotations.append(turns[..., i, :, :])
        else:
            places.append(places[p] + matvec(rotations[p], shifts[..., i, :]))
            rotations.append(rotations[p] @ turns[..., i, :, :])
    return Poses(xp.stack(places, axis=-2), xp.stack(rotations, axis=-3))


def points_at(poses: Poses, points: Array) -> Array:
    """Return points (n, 3), one of each joint frame, in the body frame, (..., n, 3)."""
    return poses.translation + (poses.rotation @ points[..., None])[..., 0]


def load_place(load: Load, poses: Poses) -> Array:
    """Return the middle (3,) of a load in the body frame, m."""
    turned = matvec(poses.rotation[load.joint], load.position)
    return poses.translation[load.joint] + turned
