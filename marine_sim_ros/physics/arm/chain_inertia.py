# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inertias of a vehicle and of the links of its arm: rigid bodies, added mass, a held load."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.chain import Chain, generalized_mass
from marine_sim_ros.physics.arm.payload import Load

__all__ = ['ChainInertia', 'chain_inertia', 'links_added_mass']


class ChainInertia(NamedTuple):
    """Inertias of a vehicle and its links at a pose.

    Attributes:
        chain: the links there.
        rigid: of the vehicle (6, 6) about ``base_link``, and of the links (n, 6, 6) about and in
            their joint frames.
        added: added mass, likewise.
        mass: 𝓜 (6 + n, 6 + n) of both.
    """

    chain: Chain
    rigid: tuple[Array, Array]
    added: tuple[Array, Array]
    mass: Array

    @property
    def whole(self) -> tuple[Array, Array]:
        """Of the vehicle and of the links, added mass included."""
        return self.rigid[0] + self.added[0], self.rigid[1] + self.added[1]


def links_added_mass(arm: Manipulator, chain: Chain) -> Array:
    """Return the added mass (6, 6) of all links about ``base_link``, at their pose."""
    xp, turn = namespace(chain.arm), chain.arm
    assert arm.articulation is not None
    added = constant(xp, arm.articulation.added_mass)
    return xp.sum(xp.matrix_transpose(turn) @ added @ turn, axis=0)


def chain_inertia(vehicle: Vehicle, load: Load | None, chain: Chain) -> ChainInertia:
    """Return the inertias of a vehicle without its arm, and of the arm with its load."""
    arm = vehicle.manipulator
    assert arm is not None
    assert arm.articulation is not None
    xp = namespace(chain.screw)
    own, added = arm.link_mass, arm.articulation.added_mass
    if load is not None:
        own, added = load.arm.link_mass, added + _load_inertia(load, len(arm))
    rigid = constant(xp, arm.body.matrix), constant(xp, own)
    water = constant(xp, vehicle.added_mass), constant(xp, added)
    mass = generalized_mass(chain, rigid[0] + water[0], rigid[1] + water[1])
    return ChainInertia(chain, rigid, water, mass)


def _load_inertia(load: Load, count: int) -> np.ndarray:
    rows = transport(load.position)[:3]
    mass = load.payload.added_mass_coefficient * load.density * load.payload.volume
    here = (np.arange(count) == load.joint)[:, None, None]
    return here * (mass * (rows.T @ rows))
