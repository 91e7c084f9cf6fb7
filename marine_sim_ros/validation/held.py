# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The forces on a vehicle that is held in an attitude: what a towing tank measures."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from marine_sim_ros.control.allocation import AXES, PilotMixer
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.physics.thrusters import ThrusterOutput, thrusters

__all__ = ['DEPTH', 'STILL', 'reachable', 'steady_thrust', 'stick', 'wrench']

STILL = Environment()
"""Still water without walls, of the density the vehicle is trimmed for."""
DEPTH = 500.0
"""m; so deep that nothing feels the surface."""
_LONG = 1e6


@lru_cache(maxsize=4)
def _mixer(vehicle: Vehicle) -> PilotMixer:
    return PilotMixer(vehicle.thrusters)


def reachable(vehicle: Vehicle, axis: str) -> bool:
    """Return whether a stick of this axis does anything."""
    return axis in _mixer(vehicle).reachable


def stick(vehicle: Vehicle, axis: str, effort: float) -> np.ndarray:
    """Return pulse widths (n,) in µs of one stick at an effort of −1 to 1, the others at 0."""
    return _mixer(vehicle).pwm(effort * (np.array(AXES) == axis))


def steady_thrust(vehicle: Vehicle, state: State, pwm: np.ndarray) -> ThrusterOutput:
    """Return what the thrusters do when the rotors have come to their speeds."""
    none = np.zeros(len(vehicle.thrusters))
    return thrusters(vehicle, state, STILL, none, pwm=pwm, dt=_LONG)[0]


def wrench(
    vehicle: Vehicle,
    state: State,
    pwm: np.ndarray | None = None,
    *,
    environment: Environment = STILL,
) -> Wrench:
    """Return all forces (6,) on a vehicle in still water: thrust, buoyancy, drag, weight.

    The Coriolis terms are not in it; along one axis of motion they have no component.
    """
    total = weight(vehicle, state, environment)
    for force in acting_forces(vehicle, environment):
        total = total + force.wrench(vehicle, state, environment)
    return total if pwm is None else total + steady_thrust(vehicle, state, pwm).wrench
