# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A payload in a gripper: the arm that carries it, its added mass, and what the water does to it.

The payload's middle is between the jaws, its axes are those of the joint that carries the gripper.
It is a part of that joint's body. Its added mass is that of a point; its drag is that of its
middle as it moves with the vehicle: the joints' own speeds are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import in_map, transport, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.arm.gripper import Gripper
from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.model.inertia import Inertia, combined_inertia
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.current import relative_velocity
from marine_sim_ros.scene.payloads import Payload

__all__ = ['Load', 'added_mass_of', 'gripper_joint', 'load_of', 'water_wrench']


@dataclass(frozen=True, eq=False)
class Load:
    """A payload that is held.

    Attributes:
        payload: what is held.
        arm: arm of the vehicle with the payload on the gripper's joint.
        joint: number of that joint.
        position: (3,) of the payload in the joint frame, m.
        density: of the water, kg/m³.
    """

    payload: Payload
    arm: Manipulator
    joint: int
    position: np.ndarray
    density: float


def gripper_joint(vehicle: Vehicle) -> tuple[Gripper, Manipulator, int] | None:
    """Return the gripper, the arm and the number of the gripper's joint; None without a gripper.

    Raises:
        ParameterError: the arm has no such joint.
    """
    gripper: Gripper | None = vehicle.extensions.get('gripper')
    if gripper is None:
        return None
    arm = vehicle.manipulator
    names = () if arm is None else arm.names
    if arm is None or gripper.joint not in names:
        raise ParameterError(
            f'gripper: joint {gripper.joint!r} is unknown; expected one that moves of '
            f'{vehicle.name}: {", ".join(names) or "none"}'
        )
    return gripper, arm, names.index(gripper.joint)


def load_of(vehicle: Vehicle, environment: Environment, index: int) -> Load:
    """Return a payload of an environment as the load of a vehicle's gripper."""
    found = gripper_joint(vehicle)
    assert found is not None
    gripper, arm, joint = found
    payload = environment.payloads[index]
    own = Inertia(arm.mass[joint], arm.center_of_mass[joint], arm.tensor[joint])
    both = combined_inertia([own, Inertia(payload.mass, gripper.position, payload.tensor)])
    mass, center, tensor = arm.mass.copy(), arm.center_of_mass.copy(), arm.tensor.copy()
    mass[joint], center[joint], tensor[joint] = both.mass, both.center_of_mass, both.tensor
    loaded = replace(arm, mass=mass, center_of_mass=center, tensor=tensor)
    density = environment.density_for(vehicle.buoyancy.fluid_density)
    return Load(payload, loaded, joint, gripper.position, density)


def added_mass_of(load: Load, place: Array) -> Array:
    """Return the added mass (6, 6) of a load at a place (3,) of the body frame: Hᵀ C_a ρ V H."""
    payload = load.payload
    mass = payload.added_mass_coefficient * load.density * payload.volume
    rows = transport(place)[:3]
    return mass * (rows.T @ rows)


def water_wrench(
    load: Load, place: Array, rotation: Array, state: State, environment: Environment
) -> Wrench:
    """Return buoyancy and drag of a load (6,), body frame about ``base_link``.

    ρ g V upwards, and −½ ρ C_d A_i |w_i| w_i along each axis i of the payload with its speed w in
    the water; both in proportion to the share of its height that is below the surface.

    Args:
        load: the load.
        place: (3,) of its middle, body frame, m.
        rotation: (3, 3) from its axes to the body's.
        state: state of the vehicle.
        environment: environment at this time.
    """
    payload = load.payload
    point = in_map(state.position, state.orientation, place[None, :])[0]
    above = point[2] - environment.elevation(point)
    share = np.clip(0.5 - above / payload.body.size[2], 0.0, 1.0)
    force = up_in_body(state.orientation) * (load.density * environment.gravity * payload.volume)
    rows = transport(place)[:3]
    speed = rotation.T @ (rows @ relative_velocity(state, environment))
    half = 0.5 * load.density * payload.drag_coefficient
    drag = -half * payload.areas * np.abs(speed) * speed
    return rows.T @ (share * (force + rotation @ drag))
