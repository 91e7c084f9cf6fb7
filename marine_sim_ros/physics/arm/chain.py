# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid-body dynamics of a vehicle with an arm, and the water's loads on the links.

u = [ν; q̇] has 6 + n numbers. All links' twists V_i = ν + Σ_j s_j q̇_j are about the ``base_link``
origin in body axes, with the screws s_j of the joints that carry link i: V_i = J_i u. Then
𝓜 = Σ J_iᵀ I_i J_i with 6 × 6 inertias I_i, which may be anisotropic, as added mass is; and a link
exerts f_i = I_i (V̇_i − W_i × V_i) + V_i ×* I_i V_i, W_i = V_i − ν. Source: Featherstone
(2008) chapters 2 and 6, in the coordinates of a moving base; Kirchhoff's equations for the water.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import cross, in_map, momentum_rate, skew, transport, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.arm import Manipulator
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.links import (
    Load,
    Poses,
    load_place,
    load_water_wrench,
    points_on_links,
)
from marine_sim_ros.physics.force import relative_velocity

__all__ = [
    'Chain',
    'ChainInertia',
    'bias_forces',
    'chain_inertia',
    'generalized_forces',
    'generalized_mass',
    'held_load_wrench',
    'kinetic_energy_gradient',
    'link_drag',
    'link_twists',
    'link_weight_and_buoyancy',
    'links_added_mass',
    'make_chain',
]


# Equations of motion of a vehicle and its links as one chain: 𝓜(q) u̇ + 𝓑(q, u) = Q.


class Chain(NamedTuple):
    """Links of an arm at a pose, or at many, about the ``base_link`` origin in body axes.

    Attributes:
        screw: (..., n, 6) s of each joint.
        jacobian: (..., n, 6, n) q̇ -> twist of each link relative to the vehicle.
        to_joint: (..., n, 6, 6) twist about ``base_link`` -> of the joint frame in its axes.
        carries: (n, n) 1 where joint j moves link i.
    """

    screw: Array
    jacobian: Array
    to_joint: Array
    carries: Array


def make_chain(arm: Manipulator, translation: Array, rotation: Array) -> Chain:
    """Return the chain of an arm.

    Args:
        translation: (..., n, 3) of the joint frames in the body frame, m.
        rotation: (..., n, 3, 3) from the joint frames to the body's.
    """
    xp = namespace(translation)
    axis = (rotation @ constant(xp, arm.axis)[..., None])[..., 0]
    slides = constant(xp, arm.sliding)[:, None]
    screw = xp.concat(
        [slides * axis + (1 - slides) * cross(translation, axis), (1 - slides) * axis], axis=-1
    )
    carries = constant(xp, arm.carries)
    jacobian = xp.matrix_transpose(screw)[..., None, :, :] * carries[:, None, :]
    back = xp.matrix_transpose(rotation)
    top = xp.concat([back, -back @ skew(translation)], axis=-1)
    below = xp.concat([xp.zeros_like(back), back], axis=-1)
    return Chain(screw, jacobian, xp.concat([top, below], axis=-2), carries)


def _base_tensors(chain: Chain, inertia: Array) -> Array:
    return (
        namespace(inertia, chain.to_joint).matrix_transpose(chain.to_joint)
        @ inertia
        @ chain.to_joint
    )


def generalized_mass(chain: Chain, base: Array, inertia: Array) -> Array:
    """Return 𝓜 (..., 6 + n, 6 + n).

    Args:
        chain: links at their pose.
        base: (6, 6) mass matrix of the vehicle without them, about ``base_link``.
        inertia: (n, 6, 6) of the links about and in their joint frames.
    """
    xp = namespace(chain.screw)
    own = _base_tensors(chain, inertia)
    turned = xp.matrix_transpose(chain.jacobian)
    moved = own @ chain.jacobian
    coupling = xp.sum(moved, axis=-3)
    top = xp.concat([base + xp.sum(own, axis=-3), coupling], axis=-1)
    below = xp.concat([xp.matrix_transpose(coupling), xp.sum(turned @ moved, axis=-3)], axis=-1)
    return xp.concat([top, below], axis=-2)


def link_twists(chain: Chain, velocity: Array, rate: Array) -> Array:
    """Return the twists (..., n, 6) of all links about ``base_link`` at ν (6,) and q̇ (n,)."""
    return velocity + chain.jacobian @ rate


def _twist_cross(a: Array, b: Array) -> Array:
    """Return a × b of twists (..., 6): [ω_a x v_b + v_a x ω_b; ω_a x ω_b]."""
    xp = namespace(a)
    spin = a[..., 3:]
    linear = cross(spin, b[..., :3]) + cross(a[..., :3], b[..., 3:])
    return xp.concat([linear, cross(spin, b[..., 3:])], axis=-1)


def bias_forces(chain: Chain, base: Array, inertia: Array, velocity: Array, rate: Array) -> Array:
    """Return 𝓑 (6 + n,): what the motion needs without any acceleration u̇.

    Args:
        chain: links at their pose.
        base: (6, 6) mass matrix of the vehicle without them, about ``base_link``.
        inertia: (n, 6, 6) of the links about and in their joint frames.
        velocity: ν (6,), relative to the water where the inertias are added mass.
        rate: q̇ (n,).
    """
    xp = namespace(velocity)
    own = _base_tensors(chain, inertia)
    relative = link_twists(chain, xp.zeros_like(velocity), rate)
    motion = velocity + relative
    turning = _twist_cross(relative, chain.screw)
    change = chain.carries @ (turning * rate[:, None])
    change = change - _twist_cross(relative, velocity + 0 * relative)
    force = matvec(own, change) + momentum_rate(motion, matvec(own, motion))
    alone = momentum_rate(velocity, matvec(base, velocity))
    return xp.concat([alone, xp.zeros_like(rate)]) + generalized_forces(chain, force)


def kinetic_energy_gradient(chain: Chain, inertia: Array, u: Array, other: Array) -> Array:
    """Return ½ u · ∂𝓜/∂q_k w (..., n): at w = u, how the kinetic energy grows with each joint.

    Joint k moves what it carries: with V_k, W_k the twists of its link, and f_k, g_k the momenta
    of all that it carries at u and at w, it is ½ ((V_k × s_k)·g_k + (W_k × s_k)·f_k).

    Args:
        chain: links at their poses.
        inertia: (n, 6, 6) of the links about and in their joint frames.
        u: [ν; q̇] (6 + n,).
        other: w (6 + n,).
    """
    xp = namespace(u)
    own, below = _base_tensors(chain, inertia), chain.carries.T

    def twist_terms(of: Array) -> tuple[Array, Array]:
        motion = link_twists(chain, of[:6], of[6:])
        return _twist_cross(motion, chain.screw), below @ matvec(own, motion)

    (turned, carried), (turned_other, carried_other) = twist_terms(u), twist_terms(other)
    return (xp.vecdot(turned, carried_other) + xp.vecdot(turned_other, carried)) / 2


def generalized_forces(chain: Chain, force: Array) -> Array:
    """Return Q (6 + n,) of wrenches (n, 6) on the links, about ``base_link``: Σ J_iᵀ f_i."""
    xp = namespace(force)
    turned = xp.matrix_transpose(chain.jacobian)
    return xp.concat([xp.sum(force, axis=0), xp.sum(matvec(turned, force), axis=0)])


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
        """Of the vehicle and of the links, added mass included."""
        return self.rigid[0] + self.added[0], self.rigid[1] + self.added[1]


def links_added_mass(arm: Manipulator, chain: Chain) -> Array:
    """Return the added mass (6, 6) of all links about ``base_link``, at their pose."""
    xp, turn = namespace(chain.to_joint), chain.to_joint
    assert arm.articulation is not None
    added = constant(xp, arm.articulation.added_mass)
    return xp.sum(xp.matrix_transpose(turn) @ added @ turn, axis=0)


def chain_inertia(vehicle: Vehicle, load: Load | None, chain: Chain) -> ChainInertia:
    """Return the inertias of a vehicle without its arm, and of the arm with its load."""
    arm = vehicle.manipulator
    assert arm is not None
    assert arm.articulation is not None
    xp = namespace(chain.screw)
    own, added = arm.link_mass, arm.articulation.added_mass
    if load is not None:
        own, added = load.arm.link_mass, added + _load_inertia(load, len(arm))
    rigid = constant(xp, arm.body.matrix), constant(xp, own)
    water = constant(xp, vehicle.added_mass), constant(xp, added)
    mass = generalized_mass(chain, rigid[0] + water[0], rigid[1] + water[1])
    return ChainInertia(chain, rigid, water, mass)


def _load_inertia(load: Load, count: int) -> np.ndarray:
    rows = transport(load.position)[:3]
    mass = load.payload.added_mass_coefficient * load.density * load.payload.volume
    here = (np.arange(count) == load.joint)[:, None, None]
    return here * (mass * (rows.T @ rows))


# Weight, buoyancy and drag of an arm's links, as wrenches on each about ``base_link``.


def link_drag(
    arm: Manipulator, chain: Chain, u: Array, state: State, environment: Environment
) -> Array:
    """Return −(d₁ + d₂ |w|) w on each link (n, 6), w its velocity in the water where the drag is.

    Each of the six components for itself, in the axes of the drag. The water's velocity is that at
    the vehicle.

    Args:
        chain: its links at their pose.
        u: [ν; q̇] (6 + n,).
        state: state of the vehicle.
        environment: environment at its time.
    """
    xp, own = namespace(u), arm.articulation
    assert own is not None
    water = state.velocity - relative_velocity(state, environment)
    motion = link_twists(chain, u[:6] - water, u[6:])
    if not len(own.drag_joint):
        return 0 * motion
    here = constant(xp, own.drag_joint)
    turn = constant(xp, own.drag_arm) @ xp.take(chain.to_joint, here, axis=0)
    w = matvec(turn, xp.take(motion, here, axis=0))
    size = constant(xp, own.linear) + constant(xp, own.quadratic) * xp.abs(w)
    force = matvec(xp.matrix_transpose(turn), -size * w)
    on = constant(xp, (np.arange(len(arm))[:, None] == own.drag_joint).astype(float))
    return on @ force


def link_weight_and_buoyancy(
    vehicle: Vehicle, poses: Poses, state: State, environment: Environment
) -> Array:
    """Return weight and buoyancy of each link (n, 6); a load weighs, and floats elsewhere."""
    arm = vehicle.manipulator if poses.load is None else poses.load.arm
    assert arm is not None
    xp = namespace(poses.translation)
    up = up_in_body(state.orientation)

    floats = points_on_links(poses, constant(xp, arm.center_of_volume))
    place = in_map(state.position, state.orientation, floats)
    height = constant(xp, np.array([max(b.height, 1e-6) for b in arm.buoyancies]))
    share = xp.clip(0.5 - (place[..., 2] - environment.elevation(place)) / height, 0.0, 1.0)
    density = environment.density(state.position, vehicle.buoyancy.fluid_density)
    weighs = -environment.gravity * constant(xp, arm.mass)
    carries = share * (density * environment.gravity) * constant(xp, arm.volume)

    def wrench(size: Array, points: Array) -> Array:
        force = size[:, None] * up
        return xp.concat([force, cross(points, force)], axis=-1)

    return wrench(weighs, points_on_links(poses, constant(xp, arm.center_of_mass))) + wrench(
        carries, floats
    )


def held_load_wrench(load: Load, poses: Poses, state: State, environment: Environment) -> Wrench:
    """Return the water's wrench (6,) on a payload that is held, about ``base_link``."""
    place, rotation = load_place(load, poses), poses.rotation[load.joint]
    return load_water_wrench(load, place, rotation, state, environment)
