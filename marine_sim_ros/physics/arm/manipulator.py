# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Manipulator force: motion of an arm, its effect on mass and buoyancy, and its reaction.

Joints of a kinematic arm follow their commands exactly, and the vehicle gets the reaction. With P
= M(q) ν + h(q, q̇) the momentum of vehicle and arm, dP/dt is the wrench. A change of P by the arm
within a tick is taken from the vehicle in the next: errors do not accumulate, and are of first
order in the step while the arm moves. Drag and added mass of the arm are not included, those of a
payload in the gripper are. A payload joins without momentum: what it has, the vehicle gets as an
impulse from the bodies' simulation (:mod:`marine_sim_ros.sim.body_simulation`). It leaves with the
momentum of its link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.numerics import approach
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.core.spatial import cross, momentum_rate
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.added_mass import Buoyancy, Inertia, parallel_axis_tensor
from marine_sim_ros.model.arm import BANDWIDTH, GRIPPER, Gripper, Manipulator
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.arm.articulated import (
    ChainMemory,
    begin_chain_memory,
    chain_step,
    remove_load_momentum,
)
from marine_sim_ros.physics.arm.chain import Chain, make_chain
from marine_sim_ros.physics.arm.links import (
    HeldPayload,
    LinkPoses,
    arm_contact_points,
    gripper_joint,
    held_payload_wrench,
    is_released,
    link_poses,
    links_added_mass,
    payload_added_mass,
    payload_twist,
    points_on_links,
)
from marine_sim_ros.physics.force import ForceModel, actuator_step

__all__ = [
    'GRIPPER_ACTUATOR',
    'JOINTS',
    'JOINT_EFFORTS',
    'JOINT_RATES',
    'MANIPULATOR',
    'ArmMemory',
    'JointMotion',
    'arm_inertia',
    'arm_momentum',
    'arm_step',
    'has_articulated_arm',
    'internal_wrench',
    'joints_at_rest',
    'trimmed_targets',
    'move_joints',
    'pose_vehicle',
]


class JointMotion(NamedTuple):
    """Joint positions and rates (..., n), rad or m and per second."""

    position: Array
    rate: Array


def _follow_rate(arm: Manipulator, position: Array, target: Array, rate: Array, dt: Any) -> Array:
    """Return targets (..., n) ahead of the joints by as much as gives them their rates.

    In the steady state a drive of bandwidth ω lags behind a moving target by q̇/ω if it is
    articulated, and by (2/ω + Δt) q̇ in the implicit steps of :func:`move_joints`.

    Args:
        position: joint positions (..., n).
        target: commanded positions (..., n), where the rate is NaN.
        rate: commanded rates (..., n).
        dt: s.
    """
    xp = namespace(position)
    lag = 2 / BANDWIDTH + dt if arm.joint_dynamics is None else 1 / arm.joint_dynamics.bandwidth
    return xp.where(xp.isnan(rate), target, position + lag * rate)


def trimmed_targets(vehicle: Vehicle, target: Array, commands: Mapping[str, Array]) -> Array:
    """Return joint targets (..., n) with the commands of actuators that add to them."""
    for actuator in ACTUATORS.entries:
        trim = commands.get(actuator.name) if actuator.adds_to == JOINTS.name else None
        if trim is not None and vehicle.manipulator is not None:
            names = vehicle.manipulator.names
            rows = [names.index(name) for name in actuator.names(vehicle)]
            target = target + trim @ constant(namespace(target), np.eye(len(names))[rows])
    return target


class ArmMomentum(NamedTuple):
    """Memory of the reaction: mass matrix (..., 6, 6), the arm's relative momentum (..., 6).

    Both include the payload that the gripper held.
    """

    mass: Array
    relative: Array
    load: HeldPayload | None = None


ArmMemory: TypeAlias = ArmMomentum | ChainMemory
"""Memory of a kinematic arm, or of an articulated one."""


def joints_at_rest(arm: Manipulator) -> JointMotion:
    """Return all joints at 0, at rest."""
    return JointMotion(np.zeros(len(arm)), np.zeros(len(arm)))


def move_joints(arm: Manipulator, joints: JointMotion, target: Array, dt: float) -> JointMotion:
    """Return the joints after dt seconds of motion to a target (..., n), within their limits.

    Critically damped at ``BANDWIDTH``, no faster than each joint's ``max_rate``.
    """
    xp = namespace(joints.position)
    lower, upper = constant(xp, arm.lower), constant(xp, arm.upper)
    limited_target = xp.clip(target, lower, upper)
    rate, _ = approach(
        limited_target - joints.position,
        joints.rate,
        bandwidth=BANDWIDTH,
        max_rate=constant(xp, arm.max_rate),
        dt=dt,
    )
    position = joints.position + dt * rate
    bounded = xp.clip(position, lower, upper)
    return JointMotion(bounded, xp.where(bounded == position, rate, xp.zeros_like(rate)))


def arm_inertia(arm: Manipulator, poses: LinkPoses) -> tuple[Inertia, Buoyancy]:
    """Return mass and displaced volume of vehicle and arm at joint poses.

    M = Σ m_i, G = Σ m_i r_i / M, I = Σ (R_i I_i R_iᵀ + m_i (|d_i|² E − d_i d_iᵀ)) about G, over
    the vehicle itself and every link; the same for the volume. Source: thesis "Real-Time ROV
    Motion Simulator", equations 3-2, 3-4, 3-6; the shift is applied to the vehicle's own inertia
    too.
    """
    xp = namespace(poses.translation)
    body = arm.body
    masses = constant(xp, arm.mass)
    total = body.mass + float(np.sum(arm.mass))
    centers = points_on_links(poses, constant(xp, arm.center_of_mass))
    body_center = constant(xp, body.center_of_mass)
    center = (body.mass * body_center + xp.sum(masses[:, None] * centers, axis=-2)) / total
    rotated = poses.rotation @ constant(xp, arm.tensor) @ xp.matrix_transpose(poses.rotation)
    tensor = (
        constant(xp, body.tensor)
        + body.mass * parallel_axis_tensor(body_center - center)
        + xp.sum(
            rotated + masses[:, None, None] * parallel_axis_tensor(centers - center[..., None, :]),
            axis=-3,
        )
    )
    return Inertia(total, center, tensor), _arm_buoyancy(arm, poses)


def _arm_buoyancy(arm: Manipulator, poses: LinkPoses) -> Buoyancy:
    xp = namespace(poses.translation)
    body = arm.body_buoyancy
    volume = body.volume + float(np.sum(arm.volume))
    centers = points_on_links(poses, constant(xp, arm.center_of_volume))
    moment = body.volume * constant(xp, body.center_of_volume) + xp.sum(
        constant(xp, arm.volume)[:, None] * centers, axis=-2
    )
    return replace(body, volume=volume, center_of_volume=moment / volume if volume else moment)


def pose_vehicle(vehicle: Vehicle, poses: LinkPoses | None, chain: Chain | None = None) -> Vehicle:
    """Return a vehicle with mass, lumped buoyancy and contact points of its arm's poses.

    A payload in the gripper adds to mass, inertia and added mass; the water's forces on it are in
    the manipulator's wrench.

    Without an arm or without poses the vehicle is returned unchanged. ``chain`` is that of an
    articulated arm at the poses; None: it is computed.
    """
    if vehicle.manipulator is None or poses is None:
        return vehicle
    arm, load = vehicle.manipulator, poses.load
    inertia, buoyancy = arm_inertia(arm if load is None else load.arm, poses)
    if load is not None:
        added = payload_added_mass(load, poses)
        vehicle = replace(vehicle, added_mass=vehicle.added_mass + added)
    if arm.joint_dynamics is not None:
        if chain is None:
            chain = make_chain(arm, poses.translation, poses.rotation)
        added = links_added_mass(arm, chain)
        vehicle = replace(vehicle, added_mass=vehicle.added_mass + added)
    points = partial(_posed_contact_points, vehicle, poses)
    if vehicle.hull is not None and vehicle.hull.voxels is not None:
        return replace(vehicle, inertia=inertia, find_contact=points)
    return replace(vehicle, inertia=inertia, buoyancy=buoyancy, find_contact=points)


def _posed_contact_points(vehicle: Vehicle, poses: LinkPoses) -> ContactPoints:
    return arm_contact_points(vehicle.contact, poses.translation, poses.rotation, poses.load)


def arm_momentum(arm: Manipulator, rate: Array, poses: LinkPoses) -> Array:
    """Return the momentum (..., 6) of the arm's motion relative to the vehicle, about base_link.

    h = Σ [m_i v_i; c_i x m_i v_i + R_i I_i R_iᵀ ω_i], body axes.

    Args:
        arm: manipulator of the vehicle.
        rate: joint rates (..., n).
        poses: poses of the joints.
    """
    xp = namespace(rate)
    axes = (poses.rotation @ constant(xp, arm.axis)[..., None])[..., 0] * rate[..., None]
    sliding = constant(xp, arm.sliding)[:, None]
    slide_velocity, turn_velocity = axes * sliding, axes * (1 - sliding)
    spins: list[Array] = []
    speeds: list[Array] = []
    for i, p in enumerate(arm.parent):
        spin, speed = turn_velocity[..., i, :], slide_velocity[..., i, :]
        if p >= 0:
            lever = poses.translation[..., i, :] - poses.translation[..., p, :]
            spin = spins[p] + spin
            speed = speeds[p] + cross(spins[p], lever) + speed
        spins.append(spin)
        speeds.append(speed)
    spin = xp.stack(spins, axis=-2)
    offset = (poses.rotation @ constant(xp, arm.center_of_mass)[..., None])[..., 0]
    momentum = constant(xp, arm.mass)[:, None] * (xp.stack(speeds, axis=-2) + cross(spin, offset))
    tensor = poses.rotation @ constant(xp, arm.tensor) @ xp.matrix_transpose(poses.rotation)
    moment = cross(poses.translation + offset, momentum) + (tensor @ spin[..., None])[..., 0]
    return xp.concat([xp.sum(momentum, axis=-2), xp.sum(moment, axis=-2)], axis=-1)


def _posed_momentum(
    vehicle: Vehicle, joints: JointMotion, load: HeldPayload | None
) -> tuple[Vehicle, LinkPoses, ArmMomentum]:
    """Return the vehicle with the pose of a kinematic arm, the poses, and the momentum."""
    arm = vehicle.manipulator
    assert arm is not None
    poses = link_poses(arm, joints.position)._replace(load=load, rate=joints.rate)
    body = pose_vehicle(vehicle, poses)
    if load is None:
        relative = arm_momentum(arm, joints.rate, poses)
        return body, poses, ArmMomentum(body.rigid_body_mass, relative)
    added = body.added_mass - vehicle.added_mass
    relative = arm_momentum(load.arm, joints.rate, poses) + added @ payload_twist(load, poses)
    return body, poses, ArmMomentum(body.rigid_body_mass + added, relative, load)


def arm_reaction(
    momentum: ArmMomentum, state: State, memory: ArmMomentum | None, *, dt: Any
) -> Wrench:
    """Return the wrench of the arm's motion on the vehicle.

    τ = −((M_k − M_{k−1}) ν_k + h_k − h_{k−1}) / dt − C(h_k) ν_k.

    Args:
        momentum: rigid-body mass matrix (..., 6, 6) of this tick, the arm included, and momentum
            (..., 6) of the arm's own motion, of :func:`arm_momentum`.
        state: state of this tick.
        memory: memory of the previous tick; None in the first.
        dt: since the tick before, s; 0 in the first.
    """
    mass, relative, _ = momentum
    wrench = -momentum_rate(state.velocity, relative)
    if memory is not None and not (isinstance(dt, int | float) and dt <= 0):
        change = matvec(mass - memory.mass, state.velocity) + relative - memory.relative
        wrench = wrench - _rate_of_change(change, dt)
    return wrench


def _rate_of_change(change: Array, dt: Any) -> Array:
    """Return a change (..., n) divided by a time, s; a traced time may be 0, and gives 0."""
    if isinstance(dt, int | float):
        return change / dt
    xp = namespace(change)
    return xp.where(dt > 0, change / xp.where(dt > 0, dt, 1.0), xp.zeros_like(change))


def arm_step(
    vehicle: Vehicle,
    state: State,
    joints: JointMotion,
    memory: ArmMemory | None,
    *,
    target: Array,
    dt: float,
    load: HeldPayload | None = None,
    environment: Environment | None = None,
    effort: Array | None = None,
    rate: Array | None = None,
    conserving: float | None = None,
) -> tuple[JointMotion, Vehicle, Wrench, ArmMemory]:
    """Return the joints of this tick, the vehicle posed by them, its reaction, and the memory.

    Args:
        vehicle: a vehicle with a manipulator.
        state: state of this tick.
        joints: joint motion of the previous tick.
        memory: memory of the previous tick; None in the first.
        target: commanded joint positions (..., n).
        dt: since the tick before, s; 0 in the first.
        load: payload that the gripper holds from this tick on, or None.
        environment: environment at this tick's time; needed with a load or an articulated arm.
        effort: commanded efforts (..., n) of an articulated arm; NaN: by position or rate.
        rate: commanded rates (..., n), rad/s or m/s, instead of positions; NaN: by position.
        conserving: step of the conserving integrator, s; None: the default one moves the vehicle.
    """
    arm = vehicle.manipulator
    assert arm is not None
    if rate is not None:
        position = memory.position if isinstance(memory, ChainMemory) else joints.position
        target = _follow_rate(arm, position, target, rate, dt)
    if arm.joint_dynamics is not None:
        assert environment is not None
        assert not isinstance(memory, ArmMomentum)
        joint_effort = np.full(len(arm), np.nan) if effort is None else effort
        return _articulated_step(
            vehicle, state, joints, memory, target, joint_effort, dt, load, environment, conserving
        )
    assert not isinstance(memory, ChainMemory)
    if memory is not None and is_released(memory.load, load):  # with its momentum
        memory = _posed_momentum(vehicle, joints, None)[2]
    joints = move_joints(arm, joints, target, dt)
    body, poses, momentum = _posed_momentum(vehicle, joints, load)
    wrench = arm_reaction(momentum, state, memory, dt=dt)
    if load is not None and environment is not None:
        wrench = wrench + held_payload_wrench(load, poses, state, environment)
    return joints, body, wrench, momentum


def _articulated_step(
    vehicle: Vehicle,
    state: State,
    joints: JointMotion,
    memory: ChainMemory | None,
    target: Array,
    effort: Array,
    dt: float,
    load: HeldPayload | None,
    environment: Environment,
    conserving: float | None,
) -> tuple[JointMotion, Vehicle, Wrench, ChainMemory]:
    """Step of an articulated arm, see :func:`arm_step`."""
    arm = vehicle.manipulator
    assert arm is not None
    if memory is None or dt <= 0:
        poses = link_poses(arm, joints.position)._replace(load=load)
        chain = make_chain(arm, poses.translation, poses.rotation)
        body = pose_vehicle(vehicle, poses, chain)
        memory = begin_chain_memory(
            vehicle, body, state, environment, poses, chain, joints, conserving
        )
        return joints, body, memory.wrench, memory
    if is_released(memory.load, load):
        memory = remove_load_momentum(vehicle, memory)
    body = pose_vehicle(vehicle, memory.poses._replace(load=load), memory.chain)
    rate, wrench, next_memory = chain_step(
        vehicle,
        body,
        state,
        environment,
        load,
        memory,
        target=target,
        effort=effort,
        dt=dt,
        conserving=conserving,
    )
    return JointMotion(memory.position, rate), body, wrench, next_memory


def internal_wrench(vehicle: Vehicle, sources: Mapping[str, Wrench]) -> Wrench | None:
    """Return the wrench of an articulated arm on its vehicle among wrenches by name, or None."""
    return sources.get('manipulator') if has_articulated_arm(vehicle) else None


def has_articulated_arm(vehicle: Vehicle) -> bool:
    """Return whether a vehicle has an articulated arm, whose joints move by efforts."""
    return vehicle.manipulator is not None and vehicle.manipulator.joint_dynamics is not None


def _has_arm(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return vehicle.manipulator is not None


def _check_gripper(vehicle: Vehicle, state: State, environment: Environment) -> None:
    """Raise ParameterError for a gripper on a joint that the arm does not have."""
    del state, environment
    gripper_joint(vehicle)


MANIPULATOR = ForceModel(
    'manipulator',
    actuator_step('manipulator', __name__),
    applies=_has_arm,
    check=_check_gripper,
    element='gripper',
    read=lambda reader: reader.read(Gripper),
    parts=Gripper,
    impulsive=True,
    label='Manipulator',
    colour='#8c5980',
    executable='manipulator',
    scalar=True,
)


def _joint_names(vehicle: Vehicle) -> tuple[str, ...]:
    return () if vehicle.manipulator is None else vehicle.manipulator.names


def _effort_names(vehicle: Vehicle) -> tuple[str, ...]:
    return _joint_names(vehicle) if has_articulated_arm(vehicle) else ()


def _gripper_names(vehicle: Vehicle) -> tuple[str, ...]:
    return (GRIPPER,) if GRIPPER in vehicle.extensions else ()


def _read_jaws(item: YamlReader) -> dict[str, float]:
    return {GRIPPER: float(item.choice(('close', 'open')) == 'close')}


JOINTS = Actuator(
    'joints',
    _joint_names,
    text='positions of the joints of an arm, rad or m',
    unit='rad, m',
    part='joint',
    state=lambda memory: memory.joints.position,
    source='manipulator',
    state_topic='joint_states',
    command_topic='joint_commands',
)
GRIPPER_ACTUATOR = Actuator(
    GRIPPER,
    _gripper_names,
    text='jaws of a gripper: 1 closed, 0 open; state: number of the held payload, 0 for none',
    unit='',
    read=_read_jaws,
    missing='{vehicle} has no gripper; expected a vehicle with a <gripper>, such as '
    'bluerov2_heavy with arm:=true',
    source='manipulator',
    compiled=False,
    state_topic='joint_states',
)
JOINT_EFFORTS = Actuator(
    'joint_efforts',
    _effort_names,
    text='efforts of the joints of an articulated arm, N·m or N, until a position follows',
    unit='N·m, N',
    limit=1e6,
    part='joint',
    missing='joints of {vehicle} take no efforts; expected <manipulator dynamics="articulated">, '
    'such as bluerov2_heavy with arm:=true and arm_dynamics:=articulated',
    rest=np.nan,
    source='manipulator',
    yields_to='joints',
    command_topic='joint_commands',
    command_field='effort',
)
JOINT_RATES = Actuator(
    'joint_rates',
    _joint_names,
    text='rates of the joints of an arm, rad/s or m/s, until a position follows',
    unit='rad/s, m/s',
    part='joint',
    missing='{vehicle} has no joint that moves; expected a vehicle with an arm or a moving mass, '
    'such as glider',
    rest=np.nan,
    source='manipulator',
    yields_to='joints',
    command_topic='joint_commands',
    command_field='velocity',
)
