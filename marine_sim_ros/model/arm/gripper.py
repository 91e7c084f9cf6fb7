# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Grippers: where a vehicle's arm takes hold of a payload, and what it can hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.model.xml import Reader

__all__ = ['GRIPPER', 'Gripper', 'read_gripper']

GRIPPER = 'gripper'
"""Name in joint_states, after the joints: its position is the number of the payload that is held,
counted from 1 in the order of the environment; 0: none."""


@dataclass(frozen=True, eq=False)
class Gripper:
    """A gripper on a joint of the arm.

    Attributes:
        joint: name of the joint that carries it.
        position: (3,) between its jaws, in the joint frame (that of the joint's child link), m.
        reach: largest distance from there to the middle of a payload that it takes, m.
        capacity: largest mass that it takes, kg.
    """

    joint: str
    position: np.ndarray
    reach: float
    capacity: float


def read_gripper(reader: Reader) -> Gripper:
    """Return the gripper of an element.

    ``<gripper joint="wrist_joint" xyz="0.12 0 0" reach="0.1" capacity="5"/>``

    Raises:
        ModelError: a value that cannot be used.
    """
    return Gripper(
        reader.attribute('joint'),
        reader.numbers({3}, reader.attribute('xyz', '0 0 0')),
        reader.attribute_number('reach', 0.1, 1e-3, 100.0),
        reader.attribute_number('capacity', 5.0, 1e-3, 1e6),
    )
