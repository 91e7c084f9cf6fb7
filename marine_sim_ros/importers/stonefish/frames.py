# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of Stonefish in our axes: its frames are NED (x forward, y starboard, z down)."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.spatial import quaternion_product
from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['SIGNS', 'in_ned', 'ned_pose']

SIGNS = np.array([1.0, -1.0, -1.0])
"""NED <-> FLU of a vector."""
_TURNED = np.array([1.0, 0.0, 0.0, 0.0])
"""Half a turn about x: what a mesh of a NED frame needs in ours."""


def ned_pose(reader: Reader | None) -> Pose:
    """Return the pose of an element with xyz and rpy in NED, in our axes."""
    if reader is None:
        return IDENTITY
    xyz, turn = reader.pose()
    if np.any(np.abs(xyz) > FARTHEST):
        raise reader.error(f'is beyond {FARTHEST:g} m')
    return Pose(SIGNS * xyz, turn * np.array([1.0, -1.0, -1.0, 1.0]))


def in_ned(pose: Pose) -> Pose:
    """Return the pose of a mesh whose own axes are those of a NED frame."""
    return Pose(pose.translation, np.asarray(quaternion_product(pose.quaternion, _TURNED)))
