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

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.linear import inverse, linear_solve
from marine_sim_ros.core.spatial import (
    cross,
    rotation_matrix,
    rotation_vector_quaternion,
    transport,
)
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.arm.manipulator import Manipulator
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.chain import Chain, bias, chain_of, generalized_mass, link_forces
from marine_sim_ros.physics.arm.chain_motion import unforced_chain
from marine_sim_ros.physics.arm.joint_drive import JointLaw, joint_rates
from marine_sim_ros.physics.arm.link_water import link_drag, link_load, load_water
from marine_sim_ros.physics.arm.payload import Load
from marine_sim_ros.physics.arm.poses import Poses, link_poses
from marine_sim_ros.physics.current import relative_velocity, water_acceleration
from marine_sim_ros.physics.integration import carried
from marine_sim_ros.physics.observed import Terms, terms_of, unanswered_step
from marine_sim_ros.physics.rigid_body import net_wrench

__all__ = ['ChainMemory', 'chain_memory', 'chain_step', 'links_added_mass', 'without_load']

_ITERATIONS = 5
"""Each gains a factor of about dt |ν|."""
_SLIP = 0.05
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
    terms: Terms
    mass: Array
    momentum: Array
    foreseen: Array
    position: Array
    rate: Array
    poses: Poses
    chain: Chain


class _Links(NamedTuple):
    """Links at a pose: rigid and added inertias, and 𝓜 of both."""

    chain: Chain
    rigid: tuple[Array, Array]
    added: tuple[Array, Array]
    mass: Array


def links_added_mass(arm: Manipulator, chain: Chain) -> Array:
    """Return the added mass (6, 6) of all links about ``base_link``, at their pose."""
    xp, turn = namespace(chain.arm), chain.arm
    assert arm.articulation is not None
    added = constant(xp, arm.articulation.added_mass)
    return xp.sum(xp.matrix_transpose(turn) @ added @ turn, axis=0)


def _links(vehicle: Vehicle, load: Load | None, chain: Chain) -> _Links:
    arm = vehicle.manipulator
    assert arm is not None
    assert arm.articulation is not None
    xp = namespace(chain.screw)
    own, added = arm.link_mass, arm.articulation.added_mass
    if load is not None:
        own, added = load.arm.link_mass, added + _of_load(load, len(arm))
    rigid = constant(xp, arm.body.matrix), constant(xp, own)
    water = constant(xp, vehicle.added_mass), constant(xp, added)
    mass = generalized_mass(chain, rigid[0] + water[0], rigid[1] + water[1])
    return _Links(chain, rigid, water, mass)


def _of_load(load: Load, count: int) -> np.ndarray:
    rows = transport(load.position)[:3]
    mass = load.payload.added_mass_coefficient * load.density * load.payload.volume
    here = (np.arange(count) == load.joint)[:, None, None]
    return here * (mass * (rows.T @ rows))


def _law(arm: Manipulator, position: Array, target: Array, effort: Array, dt: float) -> JointLaw:
    """Return what acts at the joints: a speed of ω (q_c − q) is wanted, or an effort."""
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
        constant(xp, own.effort / (_SLIP * arm.max_rate)),
        constant(xp, own.effort),
        constant(xp, own.damping),
        constant(xp, own.friction),
        (constant(xp, arm.lower) - position) / dt,
        (constant(xp, arm.upper) - position) / dt,
    )


def chain_memory(
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
        vehicle: the vehicle.
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
        terms_of(body, state, environment, conserving),
        constant(xp, body.mass_matrix),
        matvec(_links(vehicle, poses.load, chain).mass, u),
        state.velocity,
        *joints,
        poses._replace(load=None),
        chain,
    )


def without_load(vehicle: Vehicle, memory: ChainMemory) -> ChainMemory:
    """Return a memory without the momentum of a load that is let go and takes its own along."""
    u = namespace(memory.rate).concat([memory.foreseen, memory.rate])
    return memory._replace(momentum=matvec(_links(vehicle, None, memory.chain).mass, u))


def _bias(links: _Links, u: Array, state: State, environment: Environment) -> Array:
    """Return 𝓑 (6 + n,) of links and vehicle in water that moves."""
    velocity, rate = u[:6], u[6:]
    result = bias(links.chain, *links.rigid, velocity, rate)
    water = state.velocity - relative_velocity(state, environment)
    result = result + bias(links.chain, *links.added, velocity - water, rate)
    if environment.still:
        return result
    added = generalized_mass(links.chain, *links.added)
    return result - matvec(added[:, :6], water_acceleration(state, environment))


def _carried(momentum: Array, velocity: Array, dt: float) -> Array:
    """Return a momentum in space (6,) in the axes after a semi-implicit step at ν⁺."""
    xp = namespace(momentum)
    p, h = momentum[:3], momentum[3:]
    back = rotation_matrix(rotation_vector_quaternion(dt * velocity[3:])).T
    return xp.concat([back @ p, back @ (h - cross(dt * velocity[:3], p))])


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
        vehicle: the vehicle.
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
    assert arm.articulation is not None
    links = _links(vehicle, load, memory.chain)
    poses = memory.poses._replace(load=load)
    now = terms_of(body, state, environment, conserving)
    rigid = constant(xp, body.mass_matrix)
    step = unanswered_step(rigid, state, now, memory[:2], memory.terms, dt, memory.mass)
    rest = xp.zeros_like(state.velocity)
    momentum = memory.momentum + matvec(links.mass[:, :6], state.velocity - memory.foreseen)
    fixed = arm.articulation.fixed
    u = linear_solve(links.mass, momentum)
    u = xp.concat([rest, memory.rate]) if fixed else u
    velocity, rate = u[:6], u[6:]

    pushed = link_forces(links.chain, link_drag(arm, links.chain, u, state, environment))
    lifted = link_forces(links.chain, link_load(vehicle, poses, state, environment))
    if load is not None:
        pushed = pushed + link_forces(links.chain, _on_load(poses, state, environment))
    impulse = dt * pushed
    if conserving is None:
        others = matvec(step.mass, step.free - state.velocity) - dt * net_wrench(
            body, state, environment, 0 * state.velocity
        )
        impulse = dt * (pushed - _bias(links, u, state, environment))
        mass, met = links.mass, step.mass
    else:
        others = matvec(step.mass, step.free - now.free)
        inertia = links.rigid[0] + links.added[0], links.rigid[1] + links.added[1]
        if not environment.still:
            calm = bias(links.chain, *inertia, velocity, rate)
            impulse = dt * (pushed + calm - _bias(links, u, state, environment))
        free = unforced_chain(arm, inertia, links.mass, u, memory.position, dt)
        mass, velocity, rate = free.mass, free.u[:6], free.u[6:]
        met = mass[:6, :6] + dt * now.damping
    at_base, at_joints = others + impulse[:6], impulse[6:] + dt * lifted[6:]
    coupling = mass[:6, 6:]
    give = xp.zeros_like(met) if fixed else inverse(met)
    felt = mass[6:, 6:] - coupling.T @ give @ coupling
    law = _law(arm, memory.position, target, effort, dt)
    after = joint_rates(
        law, felt, matvec(felt, rate) + at_joints - coupling.T @ (give @ at_base), rate, dt
    )
    moved = velocity + give @ (at_base - coupling @ (after - rate))
    position = memory.position + dt * after
    if conserving is not None:  # by the mean where the motion is free; what is held stays
        gain = rate - u[6:]
        low, high = xp.minimum(gain, 0 * gain), xp.maximum(gain, 0 * gain)
        position = position - dt * xp.clip(after - u[6:], low, high) / 2
    position = xp.clip(position, constant(xp, arm.lower), constant(xp, arm.upper))
    there = link_poses(arm, position)
    chain = chain_of(arm, there.translation, there.rotation)
    later = _links(vehicle, load, chain)
    if environment.still and not fixed:
        mass = later.mass[:6, :6] + dt * now.damping
        external = others + dt * pushed[:6] + dt * (now.damping @ velocity)
        external = external - later.mass[:6, 6:] @ after
        for _ in range(_ITERATIONS):
            if conserving is None:
                brought = _carried(momentum[:6], moved, dt)
            else:  # along the twist of that integrator, which knows what of it the arm does
                twist = dt * (state.velocity + moved + step.free - now.free) / 2
                brought = carried(momentum[:6], twist)
            moved = linear_solve(mass, brought + external)
    wrench = step.mass @ (moved - step.free) / dt
    foreseen = matvec(later.mass, xp.concat([moved, after]))
    remembered = (rigid, foreseen, moved, position, after, there, chain)
    return u[6:], wrench, ChainMemory(state, wrench, now, *remembered)


def _on_load(poses: Poses, state: State, environment: Environment) -> Array:
    """Return the water's wrench on the payload, as one on its link: (n, 6)."""
    xp, load = namespace(state.velocity), poses.load
    assert load is not None
    wrench = load_water(load, poses, state, environment)
    return (xp.arange(poses.rotation.shape[0]) == load.joint)[:, None] * wrench
