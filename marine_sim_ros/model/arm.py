# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms: joints and links of a manipulator, its drives, its gripper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marine_sim_ros.core.schema import REQUIRED, nested, number, text
from marine_sim_ros.core.spatial import skew
from marine_sim_ros.model.added_mass import Buoyancy, Inertia

__all__ = ['JointDynamics', 'BANDWIDTH', 'GRIPPER', 'Gripper', 'Jaws', 'Manipulator']


# An arm: the movable joints of a vehicle, and their links.

BANDWIDTH = 5.0
"""rad/s of the joints' drives: critically damped, 90 % of a small step after 0.8 s."""


@dataclass(frozen=True, eq=False)
class JointDynamics:
    """Drives, friction and water loads of n joints that move by efforts; m links in water.

    Attributes:
        effort: (n,) maximum effort of each drive, N·m or N.
        damping: (n,) viscous damping of each gear, N·m·s/rad or N·s/m.
        friction: (n,) Coulomb friction of each gear, N·m or N.
        bandwidth: of the position control of the drives, rad/s.
        fixed: whether the vehicle is fixed in space, as on a test bench.
        added_mass: (n, 6, 6) of the links on each joint, about and in the joint frame.
        drag_joint: (m,) number of the joint that carries each link with drag.
        drag_arm: (m, 6, 6) velocity of the joint frame -> velocity of the link's centre of drag.
        linear: (m, 6) N·s/m and N·m·s/rad.
        quadratic: (m, 6) N·s²/m² and N·m·s²/rad².
    """

    effort: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    bandwidth: float
    fixed: bool
    added_mass: np.ndarray
    drag_joint: np.ndarray
    drag_arm: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


@dataclass(frozen=True, eq=False)
class Manipulator:
    """An arm of n joints, parents before children; joint frames are the child links' frames.

    Attributes:
        names: names of the joints.
        parent: for each joint the number of its parent joint, −1 for the vehicle itself.
        translation: (n, 3) of the joint frame in its parent's, m, at joint position 0.
        rotation: (n, 3, 3) from the joint frame to its parent's, at joint position 0.
        axis: (n, 3) unit vectors in the joint frame.
        sliding: (n,) 1 where the joint is prismatic, 0 where it turns.
        lower: (n,) least position, rad or m.
        upper: (n,) greatest position, rad or m.
        max_rate: (n,) rad/s or m/s.
        mass: (n,) of the links on each joint, up to the next joint, kg.
        center_of_mass: (n, 3) of those links in the joint frame, m.
        tensor: (n, 3, 3) of those links about their centre of mass, joint axes, kg·m².
        volume: (n,) displaced by those links, m³.
        center_of_volume: (n, 3) in the joint frame, m.
        body: mass of the vehicle without the arm.
        body_buoyancy: displaced volume of the vehicle without the arm.
        buoyancies: buoyancies of the links on each joint, in the body frame, joints at zero.
        carrier: number of the joint that carries each moving link.
        joint_dynamics: drives and water of an arm that moves by efforts; None: it is driven.
    """

    names: tuple[str, ...]
    parent: tuple[int, ...]
    translation: np.ndarray
    rotation: np.ndarray
    axis: np.ndarray
    sliding: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    max_rate: np.ndarray
    mass: np.ndarray
    center_of_mass: np.ndarray
    tensor: np.ndarray
    volume: np.ndarray
    center_of_volume: np.ndarray
    body: Inertia
    body_buoyancy: Buoyancy
    buoyancies: tuple[Buoyancy, ...]
    carrier: Mapping[str, int]
    joint_dynamics: JointDynamics | None = None

    @property
    def links(self) -> frozenset[str]:
        """Moving links."""
        return frozenset(self.carrier)

    @cached_property
    def support_matrix(self) -> np.ndarray:
        """(n, n) 1 where joint j moves the links of joint i, else 0."""
        result = np.eye(len(self))
        for i, p in enumerate(self.parent):
            if p >= 0:
                result[i] += result[p]
        return result

    @cached_property
    def link_mass(self) -> np.ndarray:
        """(n, 6, 6) rigid-body mass matrices about and in the joint frames."""
        parts = zip(self.mass, self.center_of_mass, self.tensor, strict=True)
        return np.array([Inertia(*part).matrix for part in parts])

    @cached_property
    def rotation_by_sine(self) -> np.ndarray:
        """(n, 3, 3) coefficient of sin q in a joint's rotation: R₀ S(a)."""
        return np.asarray(self.rotation @ np.array([skew(a) for a in self.axis]))

    @cached_property
    def rotation_by_versine(self) -> np.ndarray:
        """(n, 3, 3) coefficient of 1 − cos q in a joint's rotation: R₀ S(a)²."""
        cross = np.array([skew(a) for a in self.axis])
        return np.asarray(self.rotation @ cross @ cross)

    @cached_property
    def slide_axis(self) -> np.ndarray:
        """(n, 3) axes in the parents' frames."""
        return np.asarray((self.rotation @ self.axis[..., None])[..., 0])

    def __len__(self) -> int:
        """Return the number of joints."""
        return len(self.names)


# Grippers: position, reach and capacity.

GRIPPER = 'gripper'
"""Last name in joint_states; its position is the number of the gripped body, from 1 in the
order of the environment; 0: none. Of jaws: 1 while they close, 0 while they open."""


@dataclass(frozen=True, eq=False)
class Jaws:
    """<jaws> of a gripper: two pads that a drive closes along an axis.

    They are free bodies of the world, each on a slider of the gripper's link, and both move alike.
    """

    axis: np.ndarray = number(
        np.array([0.0, 1.0, 0.0]), -1.0, 1.0, '', 'axis of the closing, in the frame of the link',
        place='attribute',
    )  # fmt: skip
    opening: float = number(
        0.12, 1e-3, 10.0, 'm', 'between the pads of open jaws', place='attribute'
    )
    size: np.ndarray = number(
        np.array([0.08, 0.02, 0.05]), 1e-3, 10.0, 'm', 'edges of a pad, in the axes of the link',
        place='attribute',
    )  # fmt: skip
    force: float = number(
        60.0, 1e-3, 1e6, 'N', 'with which each pad presses at most', place='attribute'
    )
    speed: float = number(0.05, 1e-4, 10.0, 'm/s', 'of each pad', place='attribute')
    mass: float = number(0.2, 1e-3, 1e5, 'kg', 'of each pad', place='attribute')
    material: str = text('material of the pads', 'rubber', place='attribute')


@dataclass(frozen=True, eq=False)
class Gripper:
    """<gripper> on a joint of the arm."""

    joint: str = text('joint that carries it', REQUIRED, place='attribute')
    position: np.ndarray = number(
        np.zeros(3), -np.inf, np.inf, 'm', 'between its jaws, in the frame of the child link',
        name='xyz', place='attribute',
    )  # fmt: skip
    reach: float = number(
        0.1, 1e-3, 100.0, 'm', 'largest distance to the origin of a body', place='attribute'
    )
    capacity: float = number(5.0, 1e-3, 1e6, 'kg', 'largest mass that it takes', place='attribute')
    jaws: Jaws | None = nested(Jaws, 'pads that hold bodies by friction')
