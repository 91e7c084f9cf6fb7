# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Places and attitudes of frames in other frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.spatial import quaternion_product, rotation_matrix
from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.xml import Reader

__all__ = ['IDENTITY', 'Pose', 'read_origin']

_BACK = np.array([-1.0, -1.0, -1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame in another one: translation (3,) in m and quaternion (4,) x, y, z, w."""

    translation: np.ndarray
    quaternion: np.ndarray

    def then(self, inner: Pose) -> Pose:
        """Return where a frame is that has a pose in this one."""
        moved = rotation_matrix(self.quaternion) @ inner.translation
        return Pose(
            self.translation + moved, quaternion_product(self.quaternion, inner.quaternion)
        )

    def seen(self, other: Pose) -> Pose:
        """Return the pose in this frame of one that is given in the same frame as this."""
        back = rotation_matrix(self.quaternion).T
        return Pose(
            back @ (other.translation - self.translation),
            quaternion_product(self.quaternion * _BACK, other.quaternion),
        )


IDENTITY = Pose(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))


def read_origin(parent: Reader) -> Pose:
    """Return what the <origin> of a URDF element says.

    Raises:
        ModelError: not finite, or too far away.
    """
    reader = parent.child('origin')
    if reader is None:
        return IDENTITY
    pose = Pose(*reader.pose())
    if np.any(np.abs(pose.translation) > FARTHEST):
        raise reader.error(f'is beyond {FARTHEST:g} m')
    return pose
