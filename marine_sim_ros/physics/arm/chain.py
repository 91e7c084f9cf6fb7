# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid-body dynamics of a vehicle with an arm: mass matrix, bias forces, energy gradient.

u = [ν; q̇] has 6 + n numbers. All links' twists V_i = ν + Σ_j s_j q̇_j are about the ``base_link``
origin in body axes, with the screws s_j of the joints that carry link i: V_i = J_i u. Then
𝓜 = Σ J_iᵀ I_i J_i with 6 × 6 inertias I_i, which may be anisotropic, as added mass is; and a link
exerts f_i = I_i (V̇_i − W_i × V_i) + V_i ×* I_i V_i, W_i = V_i − ν. Source: Featherstone
(2008) chapters 2 and 6, in the coordinates of a moving base; Kirchhoff's equations for the water.
"""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import cross, momentum_rate, skew
from marine_sim_ros.model.arm import Manipulator

__all__ = [
    'Chain',
    'bias_forces',
    'generalized_forces',
    'generalized_mass',
    'kinetic_energy_gradient',
    'link_twists',
    'make_chain',
]


# Equations of motion of a vehicle and its links as one chain: 𝓜(q) u̇ + 𝓑(q, u) = Q.


class Chain(NamedTuple):
    """Links of an arm at a pose, or at many, about the ``base_link`` origin in body axes.

    Attributes:
        screw: (..., n, 6) s of each joint.
        jacobian: (..., n, 6, n) q̇ -> twist of each link relative to the vehicle.
        to_joint: (..., n, 6, 6) twist about ``base_link`` -> of the joint frame in its axes.
        support_matrix: (n, n) 1 where joint j moves link i.
    """

    screw: Array
    jacobian: Array
    to_joint: Array
    support_matrix: Array


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
    support = constant(xp, arm.support_matrix)
    jacobian = xp.matrix_transpose(screw)[..., None, :, :] * support[:, None, :]
    back = xp.matrix_transpose(rotation)
    top = xp.concat([back, -back @ skew(translation)], axis=-1)
    below = xp.concat([xp.zeros_like(back), back], axis=-1)
    return Chain(screw, jacobian, xp.concat([top, below], axis=-2), support)


def _inertia_at_base(chain: Chain, inertia: Array) -> Array:
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
    inertia_at_base = _inertia_at_base(chain, inertia)
    jacobian_transposed = xp.matrix_transpose(chain.jacobian)
    momentum_by_rate = inertia_at_base @ chain.jacobian
    coupling = xp.sum(momentum_by_rate, axis=-3)
    top = xp.concat([base + xp.sum(inertia_at_base, axis=-3), coupling], axis=-1)
    below = xp.concat(
        [xp.matrix_transpose(coupling), xp.sum(jacobian_transposed @ momentum_by_rate, axis=-3)],
        axis=-1,
    )
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
    """Return 𝓑 (6 + n,): generalized Coriolis and centripetal forces.

    Args:
        chain: links at their pose.
        base: (6, 6) mass matrix of the vehicle without them, about ``base_link``.
        inertia: (n, 6, 6) of the links about and in their joint frames.
        velocity: ν (6,), relative to the water where the inertias are added mass.
        rate: q̇ (n,).
    """
    xp = namespace(velocity)
    inertia_at_base = _inertia_at_base(chain, inertia)
    relative = link_twists(chain, xp.zeros_like(velocity), rate)
    motion = velocity + relative
    screw_rate = _twist_cross(relative, chain.screw)
    acceleration_terms = chain.support_matrix @ (screw_rate * rate[:, None])
    acceleration_terms = acceleration_terms - _twist_cross(relative, velocity + 0 * relative)
    force = matvec(inertia_at_base, acceleration_terms) + momentum_rate(
        motion, matvec(inertia_at_base, motion)
    )
    base_force = momentum_rate(velocity, matvec(base, velocity))
    return xp.concat([base_force, xp.zeros_like(rate)]) + generalized_forces(chain, force)


def kinetic_energy_gradient(chain: Chain, inertia: Array, u: Array, other: Array) -> Array:
    """Return ½ u · ∂𝓜/∂q_k w (..., n): at w = u, how the kinetic energy grows with each joint.

    With V_k, W_k the twists of the link of joint k, and f_k, g_k the momenta of all links that it
    carries at u and at w, it is ½ ((V_k × s_k)·g_k + (W_k × s_k)·f_k).

    Args:
        chain: links at their poses.
        inertia: (n, 6, 6) of the links about and in their joint frames.
        u: [ν; q̇] (6 + n,).
        other: w (6 + n,).
    """
    xp = namespace(u)
    inertia_at_base, carried_by_joint = _inertia_at_base(chain, inertia), chain.support_matrix.T

    def twist_terms(velocities: Array) -> tuple[Array, Array]:
        motion = link_twists(chain, velocities[:6], velocities[6:])
        return _twist_cross(motion, chain.screw), carried_by_joint @ matvec(
            inertia_at_base, motion
        )

    (screw_change, momentum), (screw_change_other, momentum_other) = (
        twist_terms(u),
        twist_terms(other),
    )
    return (xp.vecdot(screw_change, momentum_other) + xp.vecdot(screw_change_other, momentum)) / 2


def generalized_forces(chain: Chain, force: Array) -> Array:
    """Return Q (6 + n,) of wrenches (n, 6) on the links, about ``base_link``: Σ J_iᵀ f_i."""
    xp = namespace(force)
    jacobian_transposed = xp.matrix_transpose(chain.jacobian)
    return xp.concat([xp.sum(force, axis=0), xp.sum(matvec(jacobian_transposed, force), axis=0)])
