# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Net: the drag of a net that the vehicle tows, which follows the vehicle's motion with a lag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.spatial import cross
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics import ForceInputs, ForceModel
from marine_sim_ros.physics.force import relative_velocity

__all__ = ['NET', 'Net', 'net_force']


@dataclass(frozen=True, eq=False)
class Net:
    """A net on a line.

    Attributes:
        position: (3,) of the point where the line is fixed, body frame, m.
        area: frontal area, m².
        drag_coefficient: of that area.
        time_constant: with which the net takes up a new velocity, s.
    """

    position: np.ndarray
    area: float
    drag_coefficient: float
    time_constant: float


def read_net(reader: Reader) -> Net:
    """Return the net of an element <net xyz="" area="" drag_coefficient="" time_constant=""/>."""
    return Net(
        reader.numbers({3}, reader.attribute('xyz', '0 0 0')),
        reader.attribute_number('area', 0.5, 0.0, 1e3),
        reader.attribute_number('drag_coefficient', 1.2, 0.0, 10.0),
        reader.attribute_number('time_constant', 0.5, 1e-3, 100.0),
    )


def net_force(net: Net, velocity: Array, density: float) -> Array:
    """Return −½ ρ C_d A |v| v (..., 3) of a net that moves with v (..., 3) through the water."""
    xp = namespace(velocity)
    speed = xp.sqrt(xp.sum(velocity * velocity, axis=-1, keepdims=True))
    return -0.5 * density * net.drag_coefficient * net.area * speed * velocity


def _has_net(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return 'net' in vehicle.extensions


def _begin(vehicle: Vehicle, state: State) -> Array:
    """Return the net's velocity (..., 3) at the start: at rest in the water."""
    del vehicle
    return state.velocity[..., :3] * 0.0


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Array,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Array]:
    """Return the wrench of the net, whose velocity follows v̇ = (u − v)/τ, an implicit step."""
    del inputs
    net: Net = vehicle.extensions['net']
    wanted = relative_velocity(state, environment)[..., :3]
    velocity = (memory + wanted * (dt / net.time_constant)) / (1 + dt / net.time_constant)
    density = environment.density(state.position, vehicle.buoyancy.fluid_density)
    force = net_force(net, velocity, density)
    xp = namespace(force)
    arm = constant(xp, net.position) + xp.zeros_like(force)
    return xp.concat([force, cross(arm, force)], axis=-1), velocity


NET = ForceModel(
    'net',
    _step,
    begin=_begin,
    applies=_has_net,
    label='Net',
    colour='#3d7a5a',
    element='net',
    read=read_net,
)
