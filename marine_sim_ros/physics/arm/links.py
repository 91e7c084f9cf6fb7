# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links of an arm and a held payload: poses, inertias, hydrodynamic forces, contact points.

The origin of a held payload is between the jaws, its axes are those of the gripper's joint. It is
part of that joint's body; the water acts on it as on a free body that moves with this link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import (
    cross,
    in_map,
    matrix_quaternion,
    quaternion_product,
    transport,
    up_in_body,
)
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.added_mass import Inertia, combined_inertia
from marine_sim_ros.model.arm import Gripper, Manipulator
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.free_bodies import FreeBody
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.chain import Chain, generalized_mass, link_twists, make_chain
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.force import relative_velocity

__all__ = [
    'HeldPayload',
    'links_added_mass',
    'link_weight_and_buoyancy',
    'link_drag',
    'held_payload_state',
    'held_payload_wrench',
    'is_released',
    'chain_inertia',
    'ChainInertia',
    'LinkPoses',
    'arm_contact_points',
    'gripper_joint',
    'make_held_payload',
    'link_poses',
    'payload_added_mass',
    'payload_twist',
    'held_payload_position',
    'points_on_links',
]


# A payload in a gripper: loaded arm, pose, added mass, buoyancy and drag.


@dataclass(frozen=True, eq=False)
class HeldPayload:
    """A free body held by a gripper.

    Attributes:
        name: name of the body.
        body: the body, in its own frame, whose axes are those of the joint.
        arm: arm of the vehicle with the body on the gripper's joint.
        joint: number of that joint.
        position: (3,) of the body's origin in the joint frame, m.
    """

    name: str
    body: Vehicle
    arm: Manipulator
    joint: int
    position: np.ndarray

    @cached_property
    def added_mass(self) -> np.ndarray:
        """(6, 6) added mass about and in the joint frame."""
        rows = transport(self.position)
        return np.asarray(rows.T @ self.body.added_mass @ rows)


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


def make_held_payload(vehicle: Vehicle, body: FreeBody) -> HeldPayload:
    """Return a free body as the load of a vehicle's gripper."""
    gripper_on_arm = gripper_joint(vehicle)
    assert gripper_on_arm is not None
    gripper, arm, joint = gripper_on_arm
    own = body.vehicle.inertia
    combined = combined_inertia(
        [
            Inertia(arm.mass[joint], arm.center_of_mass[joint], arm.tensor[joint]),
            Inertia(own.mass, gripper.position + own.center_of_mass, own.tensor),
        ]
    )
    mass, center, tensor = arm.mass.copy(), arm.center_of_mass.copy(), arm.tensor.copy()
    mass[joint], center[joint], tensor[joint] = (
        combined.mass,
        combined.center_of_mass,
        combined.tensor,
    )
    loaded = replace(arm, mass=mass, center_of_mass=center, tensor=tensor)
    return HeldPayload(body.name, body.vehicle, loaded, joint, gripper.position)


def is_released(before: HeldPayload | None, load: HeldPayload | None) -> bool:
    """Whether a gripper no longer holds a payload that it held before."""
    return before is not None and (load is None or load.name != before.name)


def payload_map(load: HeldPayload, poses: LinkPoses) -> np.ndarray:
    """Return H (6, 6): twist about ``base_link`` -> of the payload, about its origin, own axes."""
    back = np.asarray(poses.rotation[load.joint]).T
    turn = np.zeros((6, 6))
    turn[:3, :3] = turn[3:, 3:] = back
    return np.asarray(turn @ transport(np.asarray(held_payload_position(load, poses))))


def payload_added_mass(load: HeldPayload, poses: LinkPoses) -> np.ndarray:
    """Return the added mass (6, 6) of a payload about ``base_link``."""
    rows = payload_map(load, poses)
    return np.asarray(rows.T @ load.body.added_mass @ rows)


def payload_twist(load: HeldPayload, poses: LinkPoses) -> np.ndarray:
    """Return the twist (6,) of a payload relative to the vehicle, about ``base_link``."""
    if poses.rate is None:
        return np.zeros(6)
    chain = make_chain(load.arm, poses.translation, poses.rotation)
    return np.asarray(link_twists(chain, np.zeros(6), poses.rate)[load.joint])


def held_payload_state(load: HeldPayload, poses: LinkPoses, state: State) -> State:
    """Return the state of a held payload, which moves with its link.

    Args:
        poses: poses of the links, with the rates of the joints.
        state: state of the vehicle.
    """
    place = in_map(state.position, state.orientation, held_payload_position(load, poses)[None, :])
    attitude = matrix_quaternion(np.asarray(poses.rotation[load.joint]))
    return State(
        np.asarray(place[0]),
        quaternion_product(state.orientation, attitude),
        payload_map(load, poses) @ (state.velocity + payload_twist(load, poses)),
    )


# Forward kinematics.


class LinkPoses(NamedTuple):
    """Poses of n joint frames in the body frame, and the held payload or None.

    Translations are (..., n, 3) m, rotations (..., n, 3, 3), joint rates (n,).
    """

    translation: Array
    rotation: Array
    load: HeldPayload | None = None
    rate: Array | None = None


def link_poses(arm: Manipulator, position: Array) -> LinkPoses:
    """Return the poses of all joint frames in the body frame at joint positions (..., n).

    A revolute joint rotates by Rodrigues' formula E + sin q S(a) + (1 − cos q) S(a)².
    """
    xp = namespace(position)
    q = (position * constant(xp, 1 - arm.sliding))[..., None, None]
    rotation_of_joint = (
        constant(xp, arm.rotation)
        + xp.sin(q) * constant(xp, arm.rotation_by_sine)
        + (1 - xp.cos(q)) * constant(xp, arm.rotation_by_versine)
    )
    slide_vector = (position * constant(xp, arm.sliding))[..., None] * constant(xp, arm.slide_axis)
    offsets = constant(xp, arm.translation) + slide_vector
    translations: list[Array] = []
    rotations: list[Array] = []
    for i, p in enumerate(arm.parent):
        offset, rotation = offsets[..., i, :], rotation_of_joint[..., i, :, :]
        if p >= 0:
            offset = translations[p] + matvec(rotations[p], offset)
            rotation = rotations[p] @ rotation
        translations.append(offset)
        rotations.append(rotation)
    return LinkPoses(xp.stack(translations, axis=-2), xp.stack(rotations, axis=-3))


def points_on_links(poses: LinkPoses, points: Array) -> Array:
    """Return points (n, 3), one of each joint frame, in the body frame, (..., n, 3)."""
    return poses.translation + (poses.rotation @ points[..., None])[..., 0]


def held_payload_position(load: HeldPayload, poses: LinkPoses) -> Array:
    """Return the centre (3,) of a held payload in the body frame, m."""
    offset = matvec(poses.rotation[load.joint], load.position)
    return poses.translation[load.joint] + offset


# Inertias of a vehicle and of the links of its arm: rigid bodies, added mass, a held load.


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
    def total(self) -> tuple[Array, Array]:
        """Inertias of the vehicle and of the links, added mass included."""
        return self.rigid[0] + self.added[0], self.rigid[1] + self.added[1]


def links_added_mass(arm: Manipulator, chain: Chain) -> Array:
    """Return the added mass (6, 6) of all links about ``base_link``, at their pose."""
    xp, to_joint = namespace(chain.to_joint), chain.to_joint
    assert arm.joint_dynamics is not None
    added = constant(xp, arm.joint_dynamics.added_mass)
    return xp.sum(xp.matrix_transpose(to_joint) @ added @ to_joint, axis=0)


def chain_inertia(vehicle: Vehicle, load: HeldPayload | None, chain: Chain) -> ChainInertia:
    """Return the inertias of a vehicle without its arm, and of the arm with its load."""
    arm = vehicle.manipulator
    assert arm is not None
    assert arm.joint_dynamics is not None
    xp = namespace(chain.screw)
    link_mass, added = arm.link_mass, arm.joint_dynamics.added_mass
    if load is not None:
        is_load_joint = (np.arange(len(arm)) == load.joint)[:, None, None]
        link_mass, added = load.arm.link_mass, added + is_load_joint * load.added_mass
    rigid = constant(xp, arm.body.matrix), constant(xp, link_mass)
    water = constant(xp, vehicle.added_mass), constant(xp, added)
    mass = generalized_mass(chain, rigid[0] + water[0], rigid[1] + water[1])
    return ChainInertia(chain, rigid, water, mass)


# Weight, buoyancy and drag of an arm's links, as wrenches on each about ``base_link``.


def link_drag(
    arm: Manipulator, chain: Chain, u: Array, state: State, environment: Environment
) -> Array:
    """Return the drag −(d₁ + d₂ |w|) w on each link (n, 6), w its velocity relative to the water.

    The six components are independent, in the axes of the drag's frame. The water's velocity is
    that at the vehicle.

    Args:
        chain: its links at their pose.
        u: [ν; q̇] (6 + n,).
        state: state of the vehicle.
        environment: environment at its time.
    """
    xp, joint_dynamics = namespace(u), arm.joint_dynamics
    assert joint_dynamics is not None
    water = state.velocity - relative_velocity(state, environment)
    motion = link_twists(chain, u[:6] - water, u[6:])
    if not len(joint_dynamics.drag_joint):
        return 0 * motion
    joint_index = constant(xp, joint_dynamics.drag_joint)
    to_drag_frame = constant(xp, joint_dynamics.drag_arm) @ xp.take(
        chain.to_joint, joint_index, axis=0
    )
    w = matvec(to_drag_frame, xp.take(motion, joint_index, axis=0))
    resistance = constant(xp, joint_dynamics.linear) + constant(
        xp, joint_dynamics.quadratic
    ) * xp.abs(w)
    force = matvec(xp.matrix_transpose(to_drag_frame), -resistance * w)
    is_on_link = constant(
        xp, (np.arange(len(arm))[:, None] == joint_dynamics.drag_joint).astype(float)
    )
    return is_on_link @ force


def link_weight_and_buoyancy(
    vehicle: Vehicle, poses: LinkPoses, state: State, environment: Environment
) -> Array:
    """Return weight and buoyancy of each link (n, 6).

    The weight of a held payload is included; its buoyancy is in :func:`held_payload_wrench`.
    """
    arm = vehicle.manipulator if poses.load is None else poses.load.arm
    assert arm is not None
    xp = namespace(poses.translation)
    up = up_in_body(state.orientation)

    buoyancy_points = points_on_links(poses, constant(xp, arm.center_of_volume))
    position = in_map(state.position, state.orientation, buoyancy_points)
    height = constant(xp, np.array([max(b.height, 1e-6) for b in arm.buoyancies]))
    submerged = xp.clip(
        0.5 - (position[..., 2] - environment.elevation(position)) / height, 0.0, 1.0
    )
    density = environment.density(state.position, vehicle.buoyancy.fluid_density)
    weight = -environment.gravity * constant(xp, arm.mass)
    buoyancy = submerged * (density * environment.gravity) * constant(xp, arm.volume)

    def wrench(magnitude: Array, points: Array) -> Array:
        force = magnitude[:, None] * up
        return xp.concat([force, cross(points, force)], axis=-1)

    return wrench(weight, points_on_links(poses, constant(xp, arm.center_of_mass))) + wrench(
        buoyancy, buoyancy_points
    )


def held_payload_wrench(
    load: HeldPayload, poses: LinkPoses, state: State, environment: Environment
) -> Wrench:
    """Return buoyancy and drag (6,) of a held payload, about ``base_link``."""
    own = held_payload_state(load, poses, state)
    wrench = buoyancy(load.body, own, environment) + drag(load.body, own, environment)
    return payload_map(load, poses).T @ wrench


# Contact points of an arm's links and its load at a pose.


@lru_cache(maxsize=16)
def _add_payload_points(points: ContactPoints, load: HeldPayload) -> ContactPoints:
    """Return points with those of a payload, which has its own materials."""
    own, count = load.body.contact, len(points.materials)
    local = own.position + load.position
    joint_of_point = np.full(len(points), -1) if points.joint is None else points.joint
    local_position = points.position if points.local is None else points.local
    # Upper bound: the arm stretched out, in any orientation of the gripper.
    links = np.linalg.norm(load.arm.translation, axis=1).sum()
    slide_length = np.abs([load.arm.lower, load.arm.upper]).max(axis=0) @ load.arm.sliding
    max_reach = float(links + slide_length + np.linalg.norm(load.position) + own.reach)
    return replace(
        points,
        position=np.concatenate([points.position, local]),
        radius=np.concatenate([points.radius, own.radius]),
        edge=np.concatenate([points.edge, own.edge]),
        shape=np.concatenate([points.shape, count + own.shape]),
        materials=(*points.materials, *own.materials),
        joint=np.concatenate([joint_of_point, np.full(len(own), load.joint)]),
        local=np.concatenate([local_position, local]),
        farthest=max(points.reach, max_reach),
    )


def arm_contact_points(
    points: ContactPoints, translation: Array, rotation: Array, load: HeldPayload | None = None
) -> ContactPoints:
    """Return contact points with r = t + R p for those p on links.

    Args:
        points: points of a vehicle, joints at zero.
        translation: t (..., n, 3) of the joint frames in the body frame, m.
        rotation: R (..., n, 3, 3).
        load: payload that the gripper holds, or None.
    """
    points = points if load is None else _add_payload_points(points, load)
    if points.joint is None or points.local is None:
        return points
    xp = namespace(translation)
    index = constant(xp, np.maximum(points.joint, 0))
    rotated = matvec(xp.take(rotation, index, axis=-3), constant(xp, points.local))
    position_on_link = xp.take(translation, index, axis=-2) + rotated
    is_on_link = constant(xp, points.joint >= 0)[:, None]
    position = xp.where(is_on_link, position_on_link, constant(xp, points.position))
    return replace(points, position=position, described=points)
