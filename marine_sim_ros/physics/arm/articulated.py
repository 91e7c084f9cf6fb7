# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An arm that moves by efforts: joints and vehicle are solved together, and the vehicle is told.

A tick knows the state, the joints, and what the other wrenches do (:mod:`.observed`). One
semi-implicit step of 𝓜 u̇ + 𝓑 = Q gives the joint rates after it, drives, gears and stops
implicit; q goes on with them. The vehicle's velocity after it is that at which the momentum of
both, in space, has changed by the impulse of the others alone; the wrench is what takes the
vehicle there, M (ν⁺ − ν*)/dt. So momentum stays to rounding with the default integrator, and the
energy to first order in the step.

With the conserving integrator the chain's free motion comes first, and keeps energy too
(:mod:`.chain_motion`); drives, water and the others change the velocity that it leads to. A joint
moves by its mean rate as far as its motion is free, and by the last where forces change it.

Where the others did something else than before, the vehicle is faster or slower than was foreseen.
That impulse is taken to have acted on all bodies alike, as contact computes it: if it acted on the
vehicle alone, the joints would recoil from a push at a link, into what pushed it.
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
    ChainInertia,
    bias_forces,
    chain_inertia,
    generalized_forces,
    generalized_mass,
    held_load_wrench,
    link_drag,
    link_weight_and_buoyancy,
    make_chain,
)
from marine_sim_ros.physics.arm.chain_solvers import JointLaw, solve_free_motion, solve_joint_rates
from marine_sim_ros.physics.arm.links import Load, Poses, link_poses
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
"""Each gains a factor of about dt |ν|."""
_SPEED_ERROR_FRACTION = 0.05
"""Share of its greatest speed that a drive is too slow by where it gives its greatest effort."""


class ChainMemory(NamedTuple):
    """What an articulated arm remembers of the tick before.

    Attributes:
        state: state then.
        wrench: (6,) that it answered.
        terms: what followed from the state alone.
        mass: (6, 6) of the vehicle as it was posed, added mass included.
        momentum: (6 + n,) 𝓜 u that is foreseen for this tick.
        foreseen: ν (6,) that is foreseen for this tick.
        position: (n,) of the joints at this tick.
        rate: (n,) that is foreseen for this tick.
        poses: where they are, without a load.
        chain: the links there.
    """

    state: State
    wrench: Wrench
    terms: StateTerms
    mass: Array
    momentum: Array
    foreseen: Array
    position: Array
    rate: Array
    poses: Poses
    chain: Chain


def _joint_law(
    arm: Manipulator, position: Array, target: Array, effort: Array, dt: float
) -> JointLaw:
    """Return the law of the joints: a speed of ω (q_c − q) is wanted, or an effort."""
    xp, own = namespace(position), arm.articulation
    assert own is not None
    wanted = xp.clip(target, constant(xp, arm.lower), constant(xp, arm.upper))
    most = constant(xp, arm.max_rate)
    speed = xp.clip(own.bandwidth * (wanted - position), -most, most)
    by_effort = ~xp.isnan(effort)
    return JointLaw(
        xp.where(by_effort, effort, xp.zeros_like(effort)),
        xp.where(by_effort, -most, speed),
        xp.where(by_effort, most, speed),
        constant(xp, own.effort / (_SPEED_ERROR_FRACTION * arm.max_rate)),
        constant(xp, own.effort),
        constant(xp, own.damping),
        constant(xp, own.friction),
        (constant(xp, arm.lower) - position) / dt,
        (constant(xp, arm.upper) - position) / dt,
    )


def begin_chain_memory(
    vehicle: Vehicle,
    body: Vehicle,
    state: State,
    environment: Environment,
    poses: Poses,
    chain: Chain,
    joints: tuple[Array, Array],
    conserving: float | None,
) -> ChainMemory:
    """Return the memory of a first tick, which answers nothing and moves no joint.

    Args:
        body: as it is posed.
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
    )


def remove_load_momentum(vehicle: Vehicle, memory: ChainMemory) -> ChainMemory:
    """Return a memory without the momentum of a load that is let go and takes its own along."""
    u = namespace(memory.rate).concat([memory.foreseen, memory.rate])
    return memory._replace(momentum=matvec(chain_inertia(vehicle, None, memory.chain).mass, u))


def _bias_in_water(
    inertia: ChainInertia, u: Array, state: State, environment: Environment
) -> Array:
    """Return 𝓑 (6 + n,) of links and vehicle in water that moves."""
    velocity, rate = u[:6], u[6:]
    result = bias_forces(inertia.chain, *inertia.rigid, velocity, rate)
    water = state.velocity - relative_velocity(state, environment)
    result = result + bias_forces(inertia.chain, *inertia.added, velocity - water, rate)
    if environment.still:
        return result
    added = generalized_mass(inertia.chain, *inertia.added)
    return result - matvec(added[:, :6], water_acceleration(state, environment))


def _transport_semi_implicit(momentum: Array, velocity: Array, dt: float) -> Array:
    """Return a momentum in space (6,) in the axes after a semi-implicit step at ν⁺."""
    xp = namespace(momentum)
    p, h = momentum[:3], momentum[3:]
    back = rotation_matrix(rotation_vector_quaternion(dt * velocity[3:])).T
    return xp.concat([back @ p, back @ (h - cross(dt * velocity[:3], p))])


class _ChainTick(NamedTuple):
    """What the stages of a step share.

    Attributes:
        body: vehicle as it is posed.
        state: state of this tick.
        environment: environment at its time.
        memory: memory of the tick before.
        inertia: inertias of this tick, load included.
        terms: what follows from the state alone.
        step: where the other wrenches lead the vehicle without the arm's.
        u: [ν; q̇] (6 + n,) of this tick.
        pushed: (6 + n,) force of the water on links and load.
        dt: time since the tick before, s; the step to come is taken to be as long.
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
    pushed: Array
    dt: float
    conserving: float | None


class _ChainMotion(NamedTuple):
    """The chain before forces and drives change its velocities.

    Attributes:
        mass: 𝓜 (6 + n, 6 + n).
        base: (6, 6) of the vehicle in it, with implicit drag.
        u: [ν; q̇] (6 + n,).
        others: (6,) impulse of the other wrenches.
        impulse: (6 + n,) of the water on the links, and of −𝓑 where the motion is without it.
    """

    mass: Array
    base: Array
    u: Array
    others: Array
    impulse: Array


def _default_motion(tick: _ChainTick) -> _ChainMotion:
    """Return the chain as it moves now; 𝓑 acts with the forces."""
    state, environment, step, dt = tick.state, tick.environment, tick.step, tick.dt
    own = net_wrench(tick.body, state, environment, 0 * state.velocity)
    others = matvec(step.mass, step.free - state.velocity) - dt * own
    impulse = dt * (tick.pushed - _bias_in_water(tick.inertia, tick.u, state, environment))
    return _ChainMotion(tick.inertia.mass, step.mass, tick.u, others, impulse)


def _conserving_motion(tick: _ChainTick) -> _ChainMotion:
    """Return the chain after its free motion; of 𝓑 only what moving water does is left."""
    state, environment, inertia, u, dt = (
        tick.state,
        tick.environment,
        tick.inertia,
        tick.u,
        tick.dt,
    )
    others = matvec(tick.step.mass, tick.step.free - tick.terms.free)
    impulse = dt * tick.pushed
    if not environment.still:
        calm = bias_forces(inertia.chain, *inertia.total, u[:6], u[6:])
        impulse = dt * (tick.pushed + calm - _bias_in_water(inertia, u, state, environment))
    free = solve_free_motion(tick.arm, inertia.total, inertia.mass, u, tick.memory.position, dt)
    base = free.mass[:6, :6] + dt * tick.terms.damping
    return _ChainMotion(free.mass, base, free.u, others, impulse)


def _solve_velocities(
    tick: _ChainTick, motion: _ChainMotion, law: JointLaw, lifted: Array
) -> tuple[Array, Array]:
    """Return ν (6,) and q̇ (n,) at the end of the step, drives, gears and stops implicit.

    Args:
        motion: the chain before.
        law: what acts at the joints.
        lifted: (n,) of weight and buoyancy of links and load at the joints.
    """
    mass, velocity, rate = motion.mass, motion.u[:6], motion.u[6:]
    at_base = motion.others + motion.impulse[:6]
    at_joints = motion.impulse[6:] + tick.dt * lifted
    coupling = mass[:6, 6:]
    xp = namespace(mass)
    give = xp.zeros_like(motion.base) if _has_fixed_base(tick.arm) else matrix_inverse(motion.base)
    felt = mass[6:, 6:] - coupling.T @ give @ coupling
    wanted = matvec(felt, rate) + at_joints - coupling.T @ (give @ at_base)
    after = solve_joint_rates(law, felt, wanted, rate, tick.dt)
    return velocity + give @ (at_base - coupling @ (after - rate)), after


def _next_positions(tick: _ChainTick, motion: _ChainMotion, after: Array) -> Array:
    """Return the joint positions (n,) at the end of the step."""
    xp, arm = namespace(after), tick.arm
    position = tick.memory.position + tick.dt * after
    if tick.conserving is not None:  # by the mean where the motion is free; what is held stays
        before = tick.u[6:]
        gain = motion.u[6:] - before
        low, high = xp.minimum(gain, 0 * gain), xp.maximum(gain, 0 * gain)
        position = position - tick.dt * xp.clip(after - before, low, high) / 2
    return xp.clip(position, constant(xp, arm.lower), constant(xp, arm.upper))


def _match_momentum(
    tick: _ChainTick,
    motion: _ChainMotion,
    momentum: Array,
    velocity: Array,
    after: Array,
    later: Array,
) -> Array:
    """Return ν (6,) at which the momentum in space has changed by the others' impulse alone.

    Args:
        motion: the chain before forces and drives.
        momentum: (6,) of all bodies at the start.
        velocity: ν (6,) to begin with.
        after: q̇ (n,) at the end.
        later: 𝓜 (6 + n, 6 + n) at the end.
    """
    step, dt = tick.step, tick.dt
    damping = tick.terms.damping
    mass = later[:6, :6] + dt * damping
    external = motion.others + dt * tick.pushed[:6] + dt * (damping @ motion.u[:6])
    external = external - later[:6, 6:] @ after
    for _ in range(_VELOCITY_ITERATIONS):
        if tick.conserving is None:
            kept = _transport_semi_implicit(momentum, velocity, dt)
        else:  # along the twist of that integrator, which knows what of it the arm does
            mean = tick.state.velocity + velocity + step.free - tick.terms.free
            kept = transport_momentum(momentum, dt * mean / 2)
        velocity = linear_solve(mass, kept + external)
    return velocity


def chain_step(
    vehicle: Vehicle,
    body: Vehicle,
    state: State,
    environment: Environment,
    load: Load | None,
    memory: ChainMemory,
    *,
    target: Array,
    effort: Array,
    dt: float,
    conserving: float | None,
) -> tuple[Array, Wrench, ChainMemory]:
    """Return the joint rates (n,) of this tick, the wrench (6,) and what to remember.

    Args:
        body: as it is posed: mass, weight, buoyancy.
        state: state of this tick.
        environment: environment at its time.
        load: payload that the gripper holds, or None.
        memory: memory of the tick before.
        target: (n,) positions that are wanted, rad or m.
        effort: (n,) efforts that are wanted instead, N·m or N; NaN: by position.
        dt: time since then, s; the step to come is taken to be as long.
        conserving: step of the conserving integrator, s; None: the default one.
    """
    xp, arm = namespace(state.velocity), vehicle.manipulator
    assert arm is not None
    inertia = chain_inertia(vehicle, load, memory.chain)
    poses = memory.poses._replace(load=load)
    terms = state_terms(body, state, environment, conserving)
    rigid = constant(xp, body.mass_matrix)
    step = predict_step(rigid, state, terms, memory[:2], memory.terms, dt, memory.mass)
    momentum = memory.momentum + matvec(inertia.mass[:, :6], state.velocity - memory.foreseen)
    if _has_fixed_base(arm):
        u = xp.concat([xp.zeros_like(state.velocity), memory.rate])
    else:
        u = linear_solve(inertia.mass, momentum)
    pushed = generalized_forces(
        inertia.chain, link_drag(arm, inertia.chain, u, state, environment)
    )
    lifted = generalized_forces(
        inertia.chain, link_weight_and_buoyancy(vehicle, poses, state, environment)
    )
    if load is not None:
        pushed = pushed + generalized_forces(
            inertia.chain, _load_wrenches(poses, state, environment)
        )
    tick = _ChainTick(
        arm, body, state, environment, memory, inertia, terms, step, u, pushed, dt, conserving
    )
    motion = _default_motion(tick) if conserving is None else _conserving_motion(tick)
    law = _joint_law(arm, memory.position, target, effort, dt)
    velocity, rate = _solve_velocities(tick, motion, law, lifted[6:])
    position = _next_positions(tick, motion, rate)
    there = link_poses(arm, position)
    chain = make_chain(arm, there.translation, there.rotation)
    later = chain_inertia(vehicle, load, chain).mass
    if environment.still and not _has_fixed_base(arm):
        velocity = _match_momentum(tick, motion, momentum[:6], velocity, rate, later)
    wrench = step.mass @ (velocity - step.free) / dt
    foreseen = matvec(later, xp.concat([velocity, rate]))
    remembered = (rigid, foreseen, velocity, position, rate, there, chain)
    return u[6:], wrench, ChainMemory(state, wrench, terms, *remembered)


def _has_fixed_base(arm: Manipulator) -> bool:
    """Return whether the vehicle is held, so that only the joints move."""
    assert arm.articulation is not None
    return arm.articulation.fixed


def _load_wrenches(poses: Poses, state: State, environment: Environment) -> Array:
    """Return the water's wrench on the payload, as one on its link: (n, 6)."""
    xp, load = namespace(state.velocity), poses.load
    assert load is not None
    wrench = held_load_wrench(load, poses, state, environment)
    return (xp.arange(poses.rotation.shape[0]) == load.joint)[:, None] * wrench
