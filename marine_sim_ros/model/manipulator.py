# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An arm: the joints of a vehicle that move, and what moves with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marine_sim_ros.core.spatial import skew
from marine_sim_ros.model.inertia import Buoyancy, Inertia

__all__ = ['BANDWIDTH', 'Manipulator']

BANDWIDTH = 5.0
"""rad/s of the joints' drives: critically damped, 90 % of a small step after 0.8 s."""


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
        mass: (n,) of what hangs on each joint up to the next, kg.
        center_of_mass: (n, 3) of that in the joint frame, m.
        tensor: (n, 3, 3) of that about its centre of mass, joint axes, kg·m².
        volume: (n,) that it displaces, m³.
        center_of_volume: (n, 3) in the joint frame, m.
        body: mass of the vehicle without the arm.
        body_buoyancy: displaced volume of the vehicle without the arm.
        buoyancies: buoyancies of the links on each joint, in the body frame, joints at zero.
        carrier: number of the joint that carries each moving link.
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

    @property
    def links(self) -> frozenset[str]:
        """Moving links."""
        return frozenset(self.carrier)

    @cached_property
    def rotation_by_sine(self) -> np.ndarray:
        """(n, 3, 3) what sin q of a joint adds to its rotation: R₀ S(a)."""
        return np.asarray(self.rotation @ np.array([skew(a) for a in self.axis]))

    @cached_property
    def rotation_by_versine(self) -> np.ndarray:
        """(n, 3, 3) what 1 − cos q of a joint adds to its rotation: R₀ S(a)²."""
        turn = np.array([skew(a) for a in self.axis])
        return np.asarray(self.rotation @ turn @ turn)

    @cached_property
    def slide_axis(self) -> np.ndarray:
        """(n, 3) axes in the parents' frames."""
        return np.asarray((self.rotation @ self.axis[..., None])[..., 0])

    def __len__(self) -> int:
        """Return the number of joints."""
        return len(self.names)
