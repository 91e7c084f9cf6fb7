# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of an arm's links, the payload that a gripper holds, and the contact points of both.

The payload's middle is between the jaws, its axes are those of the joint that carries the gripper.
It is a part of that joint's body. Its added mass is that of a point; its drag is that of its
middle as it moves with the vehicle: the joints' own speeds are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import in_map, transport, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.added_mass import Inertia, combined_inertia
from marine_sim_ros.model.arm import Gripper, Manipulator
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.contact_points import solid_points
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import relative_velocity
from marine_sim_ros.scene.bodies import Payload

__all__ = [
    'Load',
    'Poses',
    'arm_contact_points',
    'gripper_joint',
    'gripper_load',
    'link_poses',
    'load_added_mass',
    'load_place',
    'load_water_wrench',
    'payload_density',
    'points_on_links',
]


# A payload in a gripper: the arm that carries it, its added mass, and what the water does to it.


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


def gripper_load(vehicle: Vehicle, environment: Environment, index: int) -> Load:
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
    density = payload_density(payload, vehicle, environment)
    return Load(payload, loaded, joint, gripper.position, density)


def payload_density(payload: Payload, vehicle: Vehicle, environment: Environment) -> float:
    """Return the density of the water where a payload lies at the start, kg/m³."""
    position = np.asarray(payload.body.position)
    return float(np.ravel(environment.density(position, vehicle.buoyancy.fluid_density))[0])


def load_added_mass(load: Load, place: Array) -> Array:
    """Return the added mass (6, 6) of a load at a place (3,) of the body frame: Hᵀ C_a ρ V H."""
    payload = load.payload
    mass = payload.added_mass_coefficient * load.density * payload.volume
    rows = transport(place)[:3]
    return mass * (rows.T @ rows)


def load_water_wrench(
    load: Load, place: Array, rotation: Array, state: State, environment: Environment
) -> Wrench:
    """Return buoyancy and drag of a load (6,), body frame about ``base_link``.

    ρ g V upwards, and −½ ρ C_d A_i |w_i| w_i along each axis i of the payload with its speed w in
    the water; both in proportion to the share of its height that is below the surface.

    Args:
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


# Where the links of an arm are.


class Poses(NamedTuple):
    """Of n joint frames in the body frame: translation (..., n, 3) m, rotation (..., n, 3, 3).

    With the payload that the gripper holds at these poses, or None.
    """

    translation: Array
    rotation: Array
    load: Load | None = None


def link_poses(arm: Manipulator, position: Array) -> Poses:
    """Return the poses of all joint frames in the body frame at joint positions (..., n).

    Each joint turns by Rodrigues' formula E + sin q S(a) + (1 − cos q) S(a)², or slides.
    """
    xp = namespace(position)
    q = (position * constant(xp, 1 - arm.sliding))[..., None, None]
    turns = (
        constant(xp, arm.rotation)
        + xp.sin(q) * constant(xp, arm.rotation_by_sine)
        + (1 - xp.cos(q)) * constant(xp, arm.rotation_by_versine)
    )
    slides = (position * constant(xp, arm.sliding))[..., None] * constant(xp, arm.slide_axis)
    shifts = constant(xp, arm.translation) + slides
    places: list[Array] = []
    rotations: list[Array] = []
    for i, p in enumerate(arm.parent):
        if p < 0:
            places.append(shifts[..., i, :])
            rotations.append(turns[..., i, :, :])
        else:
            places.append(places[p] + matvec(rotations[p], shifts[..., i, :]))
            rotations.append(rotations[p] @ turns[..., i, :, :])
    return Poses(xp.stack(places, axis=-2), xp.stack(rotations, axis=-3))


def points_on_links(poses: Poses, points: Array) -> Array:
    """Return points (n, 3), one of each joint frame, in the body frame, (..., n, 3)."""
    return poses.translation + (poses.rotation @ points[..., None])[..., 0]


def load_place(load: Load, poses: Poses) -> Array:
    """Return the middle (3,) of a load in the body frame, m."""
    turned = matvec(poses.rotation[load.joint], load.position)
    return poses.translation[load.joint] + turned


# Contact points of an arm's links, and of what its gripper holds, where the joints are.


@lru_cache(maxsize=16)
def _add_load_points(own: ContactPoints, load: Load) -> ContactPoints:
    """Return points with those of a payload, which has its own material."""
    body, count = load.payload.body, len(own.materials)
    points, radius = solid_points(body.kind, body.size)
    local = points + load.position
    none = np.full(len(own), -1) if own.joint is None else own.joint
    alone = own.position if own.local is None else own.local
    # Straight on from the gripper's joint, however that is turned.
    links = np.linalg.norm(load.arm.translation, axis=1).sum()
    slides = np.abs([load.arm.lower, load.arm.upper]).max(axis=0) @ load.arm.sliding
    far = float(links + slides + np.linalg.norm(local, axis=1).max() + radius)
    ones = np.ones(len(points))
    edge = float(np.prod(body.size)) ** (1 / 3)
    return replace(
        own,
        position=np.concatenate([own.position, local]),
        radius=np.concatenate([own.radius, radius * ones]),
        edge=np.concatenate([own.edge, edge * ones]),
        shape=np.concatenate([own.shape, np.full(len(points), count)]),
        materials=(*own.materials, body.material),
        joint=np.concatenate([none, np.full(len(points), load.joint)]),
        local=np.concatenate([alone, local]),
        farthest=max(own.reach, far),
    )


def arm_contact_points(
    own: ContactPoints, translation: Array, rotation: Array, load: Load | None = None
) -> ContactPoints:
    """Return contact points with r = t + R p for those p that links carry.

    Args:
        own: points of a vehicle, joints at zero.
        translation: t (..., n, 3) of the joint frames in the body frame, m.
        rotation: R (..., n, 3, 3).
        load: payload that the gripper holds, or None.
    """
    own = own if load is None else _add_load_points(own, load)
    if own.joint is None or own.local is None:
        return own
    xp = namespace(translation)
    index = constant(xp, np.maximum(own.joint, 0))
    turned = matvec(xp.take(rotation, index, axis=-3), constant(xp, own.local))
    moved = xp.take(translation, index, axis=-2) + turned
    carried = constant(xp, own.joint >= 0)[:, None]
    position = xp.where(carried, moved, constant(xp, own.position))
    return replace(own, position=position, described=own)
