# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equilibrium of a vehicle left alone: weight, buoyancy, attitude, draught."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, transport
from marine_sim_ros.core.state import State, rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.validation.held import DEPTH, STILL, wrench
from marine_sim_ros.validation.measurement import Measurement

__all__ = [
    'Balance',
    'balance',
    'draught',
    'floats',
    'mass',
    'net_buoyancy',
    'neutral_water',
    'trim_angle',
]

_RESERVE = 1.25
"""Buoyancy over weight above which a vehicle is one of the surface."""


class Balance(NamedTuple):
    """A vehicle left alone, at rest.

    Attributes:
        height: height of the ``base_link`` origin over the surface, m.
        roll: rad.
        pitch: rad.
    """

    height: float
    roll: float
    pitch: float

    def state(self) -> State:
        """Return the state at rest."""
        x, y, z, w = quaternion_from_rpy(self.roll, self.pitch, 0.0).tolist()
        return rest((0.0, 0.0, self.height), (x, y, z, w))


def _net(vehicle: Vehicle) -> tuple[float, float]:
    """Return weight and full buoyancy, N."""
    deep = rest((0.0, 0.0, -DEPTH))
    return vehicle.inertia.mass * STILL.gravity, float(buoyancy(vehicle, deep, STILL)[2])


def neutral_water(vehicle: Vehicle) -> Environment:
    """Return still water in which a submerged vehicle neither rises nor sinks."""
    down, up = _net(vehicle)
    return Environment(water_density=vehicle.buoyancy.fluid_density * down / up)


def floats(vehicle: Vehicle) -> bool:
    """Return whether a vehicle is one of the surface: a quarter more buoyancy than weight."""
    down, up = _net(vehicle)
    return up > _RESERVE * down


@lru_cache(maxsize=8)
def balance(vehicle: Vehicle) -> Balance | None:
    """Return how a vehicle lies without thrust; None where it never comes to rest.

    Under water the moment about the centre of mass vanishes, K = M = 0 (a net force only moves
    it). At the surface the vertical force vanishes too. Solved with MINPACK's hybrid method from
    the upright attitude.
    """
    at_surface = floats(vehicle)
    about = transport(-vehicle.inertia.center_of_mass).T

    def residual(x: np.ndarray) -> np.ndarray:
        state = Balance(float(x[2]) if at_surface else -DEPTH, float(x[0]), float(x[1])).state()
        found = about @ wrench(vehicle, state)
        if not at_surface:
            return found[3:5]
        up = (rotation_matrix(state.orientation) @ found[:3])[2]
        return np.array([found[3], found[4], up])

    root = require('scipy.optimize', 'balance of a vehicle').root
    solution = root(residual, np.zeros(3 if at_surface else 2), tol=1e-12)
    if np.max(np.abs(residual(solution.x))) > 1e-6 * vehicle.inertia.mass * STILL.gravity:
        return None
    roll, pitch = (math.remainder(float(a), math.tau) for a in solution.x[:2])
    return Balance(float(solution.x[2]) if at_surface else -DEPTH, roll, pitch)


def mass(vehicle: Vehicle) -> Measurement:
    """Return the mass of the whole vehicle in air."""
    return Measurement('mass in air', 'kg', vehicle.inertia.mass)


def net_buoyancy(vehicle: Vehicle) -> Measurement:
    """Return ρ g V − m g of the submerged vehicle: what it tends to do at depth."""
    down, up = _net(vehicle)
    force = up - down
    note = 'rises' if force > 0 else 'sinks' if force < 0 else 'stays'
    return Measurement('net buoyancy', 'N', force, note)


def trim_angle(vehicle: Vehicle, axis: str) -> Measurement:
    """Return roll or pitch of the vehicle left alone."""
    found = balance(vehicle)
    title = f'trim, {axis}'
    if found is None:
        return Measurement(title, 'deg', None, 'has no attitude of rest')
    angle = math.degrees(found.roll if axis == 'roll' else found.pitch)
    words = ('starboard down', 'port down') if axis == 'roll' else ('bow down', 'bow up')
    note = '' if abs(angle) < 0.005 else words[angle < 0]
    return Measurement(title, 'deg', angle, note)


def draught(vehicle: Vehicle) -> Measurement:
    """Return how deep the lowest point of a floating hull is."""
    found = balance(vehicle)
    if not floats(vehicle):
        return Measurement('draught', 'm', None, 'no surface vehicle')
    if found is None or vehicle.hull is None or vehicle.hull.panels is None:
        return Measurement('draught', 'm', None, 'has no hull')
    corners = np.reshape(vehicle.hull.panels.corners, (-1, 3))
    turned = corners @ rotation_matrix(found.state().orientation).T
    return Measurement('draught', 'm', float(-(turned[:, 2].min() + found.height)))
