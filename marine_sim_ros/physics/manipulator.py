# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A moving arm: where its links are, what that does to the mass, and how the vehicle feels it.

The joints are driven: they follow their commands whatever the water does, and the vehicle takes
the reaction. With P = M(q) ν + h(q, q̇) the momentum of vehicle and arm, dP/dt is the wrench; what
the arm changes of P within a tick, the vehicle loses in the next. So momentum is kept to the bit
of rounding, whatever the step. The arm's drag and added mass are not in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marine_sim_ros.arrays import Array, constant, matvec, namespace
from marine_sim_ros.model.manipulator import Manipulator
from marine_sim_ros.model.vehicle import Buoyancy, Inertia, Vehicle
from marine_sim_ros.spatial import (
    cross,
    momentum_rate,
    rotation_matrix,
    rotation_vector_quaternion,
)
from marine_sim_ros.state import State, Wrench
from marine_sim_ros.tracking import approach

__all__ = [
    'ArmMomentum', 'JointMotion', 'Pose', 'arm_inertia', 'arm_momentum', 'arm_reaction',
    'joints_at_rest', 'link_poses', 'move_joints', 'posed',
]  # fmt: skip

BANDWIDTH = 5.0
"""rad/s of the joints' drives: critically damped, 90 % of a small step after 0.8 s."""


class JointMotion(NamedTuple):
    """Joint positions and rates (..., n), rad or m and per second."""

    position: Array
    rate: Array


class Pose(NamedTuple):
    """Of a joint frame in the body frame: translation (..., 3) m, rotation (..., 3, 3)."""

    translation: Array
    rotation: Array


class ArmMomentum(NamedTuple):
    """What the reaction remembers: mass matrix (..., 6, 6) and the arm's own momentum (..., 6)."""

    mass: Array
    relative: Array


def joints_at_rest(arm: Manipulator) -> JointMotion:
    """Return all joints at 0, at rest."""
    return JointMotion(np.zeros(len(arm)), np.zeros(len(arm)))


def move_joints(arm: Manipulator, joints: JointMotion, target: Array, dt: float) -> JointMotion:
    """Return the joints after dt seconds on their way to a target (..., n), within their limits.

    Critically damped at ``BANDWIDTH``, no faster than each joint's ``max_rate``.
    """
    xp = namespace(joints.position)
    lower, upper = constant(xp, arm.lower), constant(xp, arm.upper)
    wanted = xp.clip(target, lower, upper)
    rate, _ = approach(
        wanted - joints.position, joints.rate,
        bandwidth=BANDWIDTH, max_rate=constant(xp, arm.max_rate), dt=dt,
    )  # fmt: skip
    position = joints.position + dt * rate
    bounded = xp.clip(position, lower, upper)
    return JointMotion(bounded, xp.where(bounded == position, rate, xp.zeros_like(rate)))


def link_poses(arm: Manipulator, position: Array) -> list[Pose]:
    """Return the pose of every joint frame in the body frame at joint positions (..., n)."""
    xp = namespace(position)
    poses: list[Pose] = []
    for i, p in enumerate(arm.parent):
        axis = constant(xp, arm.axis[i])
        q = position[..., i : i + 1]
        turn = constant(xp, arm.rotation[i]) @ rotation_matrix(
            rotation_vector_quaternion(axis * (q * (1 - arm.sliding[i])))
        )
        shift = constant(xp, arm.rotation[i] @ arm.axis[i]) * (q * arm.sliding[i])
        offset = constant(xp, arm.translation[i]) + shift
        if p < 0:
            poses.append(Pose(offset, turn))
        else:
            carrier = poses[p]
            there = carrier.translation + matvec(carrier.rotation, offset)
            poses.append(Pose(there, carrier.rotation @ turn))
    return poses


def _spread(mass: Array, offset: Array) -> Array:
    """Return m (|d|² E − d dᵀ) (..., 3, 3): what a mass adds to the inertia at an offset."""
    xp = namespace(offset)
    square = xp.vecdot(offset, offset)[..., None, None]
    eye = constant(xp, np.eye(3))
    return mass * (square * eye - offset[..., :, None] * offset[..., None, :])


def arm_inertia(arm: Manipulator, position: Array) -> tuple[Inertia, Buoyancy]:
    """Return mass and displaced volume of vehicle and arm at joint positions (..., n).

    M = Σ m_i, G = Σ m_i r_i / M, I = Σ (R_i I_i R_iᵀ + m_i (|d_i|² E − d_i d_iᵀ)) about G, over
    the vehicle itself and every link; the same for the volume. Source: thesis "Real-Time ROV
    Motion Simulator", equations 3-2, 3-4, 3-6; the shift is applied to the vehicle's own inertia
    too.
    """
    xp = namespace(position)
    poses = link_poses(arm, position)
    masses = [arm.body.mass, *arm.mass.tolist()]
    centers = [constant(xp, arm.body.center_of_mass)] + [
        pose.translation + matvec(pose.rotation, constant(xp, arm.center_of_mass[i]))
        for i, pose in enumerate(poses)
    ]
    tensors = [constant(xp, arm.body.tensor)] + [
        pose.rotation @ constant(xp, arm.tensor[i]) @ xp.matrix_transpose(pose.rotation)
        for i, pose in enumerate(poses)
    ]
    total = sum(masses)
    center = sum(m * c for m, c in zip(masses, centers, strict=True)) / total
    tensor = sum(
        t + _spread(m, c - center) for m, c, t in zip(masses, centers, tensors, strict=True)
    )
    return Inertia(total, center, tensor), _arm_buoyancy(arm, poses)


def _arm_buoyancy(arm: Manipulator, poses: list[Pose]) -> Buoyancy:
    xp = namespace(poses[0].translation)
    body = arm.body_buoyancy
    volume = body.volume + float(np.sum(arm.volume))
    moment = body.volume * constant(xp, body.center_of_volume)
    for i, pose in enumerate(poses):
        center = pose.translation + matvec(pose.rotation, constant(xp, arm.center_of_volume[i]))
        moment = moment + float(arm.volume[i]) * center
    return replace(body, volume=volume, center_of_volume=moment / volume if volume else moment)


def posed(vehicle: Vehicle, position: np.ndarray | None) -> Vehicle:
    """Return a vehicle with its arm at joint positions (n,): mass, inertia and lumped buoyancy.

    Without an arm, or where the position is None, the vehicle itself.
    """
    if vehicle.manipulator is None or position is None:
        return vehicle
    inertia, buoyancy = arm_inertia(vehicle.manipulator, position)
    if vehicle.hull is not None and vehicle.hull.voxels is not None:
        return replace(vehicle, inertia=inertia)
    return replace(vehicle, inertia=inertia, buoyancy=buoyancy)


def arm_momentum(arm: Manipulator, joints: JointMotion) -> Array:
    """Return the momentum (..., 6) of the arm's motion relative to the vehicle, about base_link.

    h = Σ [m_i v_i; c_i x m_i v_i + R_i I_i R_iᵀ ω_i], body axes.
    """
    xp = namespace(joints.position)
    poses = link_poses(arm, joints.position)
    spins: list[Array] = []
    speeds: list[Array] = []
    linear = angular = xp.zeros_like(poses[0].translation)
    for i, (p, pose) in enumerate(zip(arm.parent, poses, strict=True)):
        along = matvec(pose.rotation, constant(xp, arm.axis[i])) * joints.rate[..., i : i + 1]
        slide, spin = along * arm.sliding[i], along * (1 - arm.sliding[i])
        if p < 0:
            spins.append(spin)
            speeds.append(slide)
        else:
            lever = pose.translation - poses[p].translation
            spins.append(spins[p] + spin)
            speeds.append(speeds[p] + cross(spins[p], lever) + slide)
        reach = matvec(pose.rotation, constant(xp, arm.center_of_mass[i]))
        push = float(arm.mass[i]) * (speeds[i] + cross(spins[i], reach))
        turning = matvec(xp.matrix_transpose(pose.rotation), spins[i])
        own = matvec(pose.rotation, matvec(constant(xp, arm.tensor[i]), turning))
        linear = linear + push
        angular = angular + cross(pose.translation + reach, push) + own
    return xp.concat([linear, angular], axis=-1)


def arm_reaction(
    vehicle: Vehicle,
    state: State,
    joints: JointMotion,
    memory: ArmMomentum | None,
    *,
    dt: float,
) -> tuple[Wrench, ArmMomentum]:
    """Return what the vehicle feels of its arm's motion, and what to remember.

    τ = −((M_k − M_{k−1}) ν_k + h_k − h_{k−1}) / dt − C(h_k) ν_k.

    Args:
        vehicle: with a manipulator.
        state: of this tick.
        joints: of this tick.
        memory: of the tick before, or None.
        dt: since the tick before, s; 0 in the first.
    """
    assert vehicle.manipulator is not None
    mass = posed(vehicle, joints.position).rigid_body_mass
    relative = arm_momentum(vehicle.manipulator, joints)
    wrench = -momentum_rate(state.velocity, relative)
    if memory is not None and dt > 0:
        change = matvec(mass - memory.mass, state.velocity) + relative - memory.relative
        wrench = wrench - change / dt
    return wrench, ArmMomentum(mass, relative)
