# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Articulated arm: joint and vehicle accelerations are solved simultaneously.

A tick has the state, the joints, and the observed effect of the other wrenches
(physics/wrench_observer.py). One semi-implicit step of 𝓜 u̇ + 𝓑 = Q gives the joint rates, with
drives, gears and stops implicit, and the joint positions. The vehicle's velocity after the step is
that at which the momentum of both, in space, has changed only by the impulse of the other
wrenches; the wrench of the arm is M (ν⁺ − ν*)/dt. So momentum is conserved to rounding with the
default integrator, and energy to first order in the step.

With the conserving integrator the chain's free motion comes first, and conserves energy too
(:mod:`.chain_solvers`); then drives, water and other wrenches change its velocity. A joint moves
by its mean rate for the free motion, and by the final rate for changes by forces.

If the other wrenches differ from those of the step before, the vehicle's velocity is not the
predicted one. This impulse is assumed to have acted on all bodies alike, as contact computes it:
if it acted on the vehicle only, the joints would recoil from a push at a link, into the obstacle.
"""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.numerics import linear_solve, matrix_inverse
from marine_sim_ros.core.spatial import cross, rotation_matrix, rotation_vector_quaternion
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.arm import Manipulator
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.chain import (
    Chain,
    bias_forces,
    generalized_forces,
    generalized_mass,
    make_chain,
)
from marine_sim_ros.physics.arm.chain_solvers import JointLaw, solve_free_motion, solve_joint_rates
from marine_sim_ros.physics.arm.links import (
    ChainInertia,
    HeldPayload,
    LinkPoses,
    chain_inertia,
    held_payload_wrench,
    link_drag,
    link_poses,
    link_weight_and_buoyancy,
)
from marine_sim_ros.physics.force import relative_velocity, water_acceleration
from marine_sim_ros.physics.rigid_body import net_wrench, transport_momentum
from marine_sim_ros.physics.wrench_observer import (
    StateTerms,
    StepPrediction,
    predict_step,
    state_terms,
)

__all__ = ['ChainMemory', 'begin_chain_memory', 'chain_step', 'remove_load_momentum']

_VELOCITY_ITERATIONS = 5
"""Iterations of the momentum balance; each reduces the error by a factor of about dt |ν|."""
_SPEED_ERROR_FRACTION = 0.05
"""Speed error at full effort, as a fraction of maximum speed."""


class ChainMemory(NamedTuple):
    """Memory of an articulated arm from the previous tick.

    Attributes:
        state: state then.
        wrench: (6,) wrench of the arm.
        terms: terms that depend on the state only.
        mass: (6, 6) of the vehicle with the arm's pose, added mass included.
        momentum: (6 + n,) 𝓜 u predicted for this tick.
        predicted_velocity: ν (6,) predicted for this tick.
        position: (n,) joint positions at this tick.
        rate: (n,) joint rates predicted for this tick.
        poses: poses of the links at this tick, without a load.
        chain: the links at these poses.
        load: payload that the gripper held, whose momentum is included.
    """

    state: State
    wrench: Wrench
    terms: StateTerms
    mass: Array
    momentum: Array
    predicted_velocity: Array
    position: Array
    rate: Array
    poses: LinkPoses
    chain: Chain
    load: HeldPayload | None = None


def _joint_law(
    arm: Manipulator, position: Array, target: Array, effort: Array, dt: float
) -> JointLaw:
    """Return the law of the joints: a commanded speed ω (q_c − q), or an effort."""
    xp, joint_dynamics = namespace(position), arm.joint_dynamics
    assert joint_dynamics is not None
    limited_target = xp.clip(target, constant(xp, arm.lower), constant(xp, arm.upper))
    max_rate = constant(xp, arm.max_rate)
    speed = xp.clip(joint_dynamics.bandwidth * (limited_target - position), -max_rate, max_rate)
    by_effort = ~xp.isnan(effort)
    return JointLaw(
        xp.where(by_effort, effort, xp.zeros_like(effort)),
        xp.where(by_effort, -max_rate, speed),
        xp.where(by_effort, max_rate, speed),
        constant(xp, joint_dynamics.effort / (_SPEED_ERROR_FRACTION * arm.max_rate)),
        constant(xp, joint_dynamics.effort),
        constant(xp, joint_dynamics.damping),
        constant(xp, joint_dynamics.friction),
        (constant(xp, arm.lower) - position) / dt,
        (constant(xp, arm.upper) - position) / dt,
    )


def begin_chain_memory(
    vehicle: Vehicle,
    body: Vehicle,
    state: State,
    environment: Environment,
    poses: LinkPoses,
    chain: Chain,
    joints: tuple[Array, Array],
    conserving: float | None,
) -> ChainMemory:
    """Return the memory of the first tick, with zero wrench and unmoved joints.

    Args:
        body: the vehicle with the arm's pose.
        state: state of the tick.
        environment: environment at its time.
        poses: poses of the joints, with the load.
        chain: the links there.
        joints: their positions and rates.
        conserving: step of the conserving integrator, s; None: the default one.
    """
    xp = namespace(state.velocity)
    u = xp.concat([state.velocity, joints[1]])
    return ChainMemory(
        state,
        0 * state.velocity,
        state_terms(body, state, environment, conserving),
        constant(xp, body.mass_matrix),
        matvec(chain_inertia(vehicle, poses.load, chain).mass, u),
        state.velocity,
        *joints,
        poses._replace(load=None),
        chain,
        poses.load,
    )


def remove_load_momentum(vehicle: Vehicle, memory: ChainMemory) -> ChainMemory:
    """Return a memory without the momentum of a released load."""
    u = namespace(memory.rate).concat([memory.predicted_velocity, memory.rate])
    momentum = matvec(chain_inertia(vehicle, None, memory.chain).mass, u)
    return memory._replace(momentum=momentum, load=None)


def _bias_in_water(
    inertia: ChainInertia, u: Array, state: State, environment: Environment
) -> Array:
    """Return 𝓑 (6 + n,) of links and vehicle in moving water."""
    velocity, rate = u[:6], u[6:]
    result = bias_forces(inertia.chain, *inertia.rigid, velocity, rate)
    water = state.velocity - relative_velocity(state, environment)
    result = result + bias_forces(inertia.chain, *inertia.added, velocity - water, rate)
    if environment.is_still:
        return result
    added = generalized_mass(inertia.chain, *inertia.added)
    return result - matvec(added[:, :6], water_acceleration(state, environment))


def _transport_semi_implicit(momentum: Array, velocity: Array, dt: float) -> Array:
    """Return a momentum in space (6,) in the axes after a semi-implicit step at ν⁺."""
    xp = namespace(momentum)
    p, h = momentum[:3], momentum[3:]
    to_new_axes = rotation_matrix(rotation_vector_quaternion(dt * velocity[3:])).T
    return xp.concat([to_new_axes @ p, to_new_axes @ (h - cross(dt * velocity[:3], p))])


class _ChainTick(NamedTuple):
    """Inputs of the stages of a step.

    Attributes:
        arm: manipulator of the vehicle.
        body: vehicle with the arm's pose.
        state: state of this tick.
        environment: environment at its time.
        memory: memory of the tick before.
        inertia: inertias of this tick, load included.
        terms: terms that depend on the state only.
        step: predicted step of the vehicle without the arm's wrench.
        u: [ν; q̇] (6 + n,) of this tick.
        water_force: (6 + n,) generalized force of the water on links and load.
        dt: time since the previous tick, s; the next step is assumed to be as long.
        conserving: step of the conserving integrator, s; None: the default one.
    """

    arm: Manipulator
    body: Vehicle
    state: State
    environment: Environment
    memory: ChainMemory
    inertia: ChainInertia
    terms: StateTerms
    step: StepPrediction
    u: Array
    water_force: Array
    dt: float
    conserving: float | None


class _ChainMotion(NamedTuple):
    """The chain before forces and drives change its velocities.

    Attributes:
        mass: 𝓜 (6 + n, 6 + n).
        base: (6, 6) of the vehicle in it, with implicit drag.
        u: [ν; q̇] (6 + n,).
        external_impulse: (6,) impulse of the other wrenches.
        impulse: (6 + n,) impulse of the water on the links, and of −𝓑 unless the motion includes
            it.
    """

    mass: Array
    base: Array
    u: Array
    external_impulse: Array
    impulse: Array


def _default_motion(tick: _ChainTick) -> _ChainMotion:
    """Return the chain at the start of the step; 𝓑 is part of the impulse."""
    state, environment, step, dt = tick.state, tick.environment, tick.step, tick.dt
    own_wrench = net_wrench(tick.body, state, environment, 0 * state.velocity)
    external_impulse = matvec(step.mass, step.free - state.velocity) - dt * own_wrench
    impulse = dt * (tick.water_force - _bias_in_water(tick.inertia, tick.u, state, environment))
    return _ChainMotion(tick.inertia.mass, step.mass, tick.u, external_impulse, impulse)


def _conserving_motion(tick: _ChainTick) -> _ChainMotion:
    """Return the chain after its free motion; of 𝓑 only the effect of moving water remains."""
    state, environment, inertia, u, dt = (
        tick.state,
        tick.environment,
        tick.inertia,
        tick.u,
        tick.dt,
    )
    external_impulse = matvec(tick.step.mass, tick.step.free - tick.terms.free)
    impulse = dt * tick.water_force
    if not environment.is_still:
        still_water_bias = bias_forces(inertia.chain, *inertia.total, u[:6], u[6:])
        impulse = dt * (
            tick.water_force + still_water_bias - _bias_in_water(inertia, u, state, environment)
        )
    free = solve_free_motion(tick.arm, inertia.total, inertia.mass, u, tick.memory.position, dt)
    base = free.mass[:6, :6] + dt * tick.terms.damping
    return _ChainMotion(free.mass, base, free.u, external_impulse, impulse)


def _solve_velocities(
    tick: _ChainTick, motion: _ChainMotion, law: JointLaw, joint_loads: Array
) -> tuple[Array, Array]:
    """Return ν (6,) and q̇ (n,) at the end of the step, drives, gears and stops implicit.

    Args:
        motion: the chain before.
        law: efforts of the joints.
        joint_loads: (n,) generalized forces of weight and buoyancy at the joints.
    """
    mass, velocity, rate = motion.mass, motion.u[:6], motion.u[6:]
    at_base = motion.external_impulse + motion.impulse[:6]
    at_joints = motion.impulse[6:] + tick.dt * joint_loads
    coupling = mass[:6, 6:]
    xp = namespace(mass)
    base_mobility = (
        xp.zeros_like(motion.base) if _has_fixed_base(tick.arm) else matrix_inverse(motion.base)
    )
    joint_mass = mass[6:, 6:] - coupling.T @ base_mobility @ coupling
    target_momentum = matvec(joint_mass, rate) + at_joints - coupling.T @ (base_mobility @ at_base)
    new_rate = solve_joint_rates(law, joint_mass, target_momentum, rate, tick.dt)
    return velocity + base_mobility @ (at_base - coupling @ (new_rate - rate)), new_rate


def _next_positions(tick: _ChainTick, motion: _ChainMotion, new_rate: Array) -> Array:
    """Return the joint positions (n,) at the end of the step."""
    xp, arm = namespace(new_rate), tick.arm
    position = tick.memory.position + tick.dt * new_rate
    if tick.conserving is not None:  # by the mean rate for the free motion
        old_rate = tick.u[6:]
        free_change = motion.u[6:] - old_rate
        low, high = (
            xp.minimum(free_change, 0 * free_change),
            xp.maximum(free_change, 0 * free_change),
        )
        position = position - tick.dt * xp.clip(new_rate - old_rate, low, high) / 2
    return xp.clip(position, constant(xp, arm.lower), constant(xp, arm.upper))


def _match_momentum(
    tick: _ChainTick,
    motion: _ChainMotion,
    momentum: Array,
    velocity: Array,
    new_rate: Array,
    new_mass: Array,
) -> Array:
    """Return ν (6,) at which the momentum in space has changed by external impulses only.

    Args:
        motion: the chain before forces and drives.
        momentum: (6,) of all bodies at the start.
        velocity: ν (6,), initial value.
        new_rate: q̇ (n,) at the end.
        new_mass: 𝓜 (6 + n, 6 + n) at the end.
    """
    step, dt = tick.step, tick.dt
    damping = tick.terms.damping
    mass = new_mass[:6, :6] + dt * damping
    external = motion.external_impulse + dt * tick.water_force[:6] + dt * (damping @ motion.u[:6])
    external = external - new_mass[:6, 6:] @ new_rate
    for _ in range(_VELOCITY_ITERATIONS):
        if tick.conserving is None:
            transported = _transport_semi_implicit(momentum, velocity, dt)
        else:  # along the twist of the conserving integrator, which includes the arm's wrench
            mean = tick.state.velocity + velocity + step.free - tick.terms.free
            transported = transport_momentum(momentum, dt * mean / 2)
        velocity = linear_solve(mass, transported + external)
    return velocity


def chain_step(
    vehicle: Vehicle,
    body: Vehicle,
    state: State,
    environment: Environment,
    load: HeldPayload | None,
    memory: ChainMemory,
    *,
    target: Array,
    effort: Array,
    dt: float,
    conserving: float | None,
) -> tuple[Array, Wrench, ChainMemory]:
    """Return the joint rates (n,) of this tick, the wrench (6,) and the next memory.

    Args:
        vehicle: the vehicle, with its arm.
        body: the vehicle with the mass, weight and buoyancy of the arm's pose.
        state: state of this tick.
        environment: environment at its time.
        load: payload that the gripper holds, or None.
        memory: memory of the tick before.
        target: (n,) commanded positions, rad or m.
        effort: (n,) commanded efforts, N·m or N; NaN: by position.
        dt: time since then, s; the next step is assumed to be as long.
        conserving: step of the conserving integrator, s; None: the default one.
    """
    xp, arm = namespace(state.velocity), vehicle.manipulator
    assert arm is not None
    inertia = chain_inertia(vehicle, load, memory.chain)
    poses = memory.poses._replace(load=load)
    terms = state_terms(body, state, environment, conserving)
    mass_matrix = constant(xp, body.mass_matrix)
    step = predict_step(mass_matrix, state, terms, memory[:2], memory.terms, dt, memory.mass)
    momentum = memory.momentum + matvec(
        inertia.mass[:, :6], state.velocity - memory.predicted_velocity
    )
    if _has_fixed_base(arm):
        u = xp.concat([xp.zeros_like(state.velocity), memory.rate])
    else:
        u = linear_solve(inertia.mass, momentum)
    water_force = generalized_forces(
        inertia.chain, link_drag(arm, inertia.chain, u, state, environment)
    )
    static_force = generalized_forces(
        inertia.chain, link_weight_and_buoyancy(vehicle, poses, state, environment)
    )
    if load is not None:
        poses = poses._replace(rate=u[6:])
        water_force = water_force + generalized_forces(
            inertia.chain, _load_wrenches(poses, state, environment)
        )
    tick = _ChainTick(
        arm, body, state, environment, memory, inertia, terms, step, u, water_force, dt, conserving
    )
    motion = _default_motion(tick) if conserving is None else _conserving_motion(tick)
    law = _joint_law(arm, memory.position, target, effort, dt)
    velocity, rate = _solve_velocities(tick, motion, law, static_force[6:])
    position = _next_positions(tick, motion, rate)
    new_poses = link_poses(arm, position)
    chain = make_chain(arm, new_poses.translation, new_poses.rotation)
    new_mass = chain_inertia(vehicle, load, chain).mass
    if environment.is_still and not _has_fixed_base(arm):
        velocity = _match_momentum(tick, motion, momentum[:6], velocity, rate, new_mass)
    wrench = step.mass @ (velocity - step.free) / dt
    predicted_momentum = matvec(new_mass, xp.concat([velocity, rate]))
    next_memory = (
        mass_matrix, predicted_momentum, velocity, position, rate, new_poses, chain, load
    )  # fmt: skip
    return u[6:], wrench, ChainMemory(state, wrench, terms, *next_memory)


def _has_fixed_base(arm: Manipulator) -> bool:
    """Return whether the vehicle is fixed, so that only the joints move."""
    assert arm.joint_dynamics is not None
    return arm.joint_dynamics.fixed


def _load_wrenches(poses: LinkPoses, state: State, environment: Environment) -> Array:
    """Return the water's wrench on the payload as wrenches on the links (n, 6)."""
    xp, load = namespace(state.velocity), poses.load
    assert load is not None
    wrench = held_payload_wrench(load, poses, state, environment)
    return (xp.arange(poses.rotation.shape[0]) == load.joint)[:, None] * wrench
