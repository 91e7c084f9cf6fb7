# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Six degrees of freedom of a rigid body with added mass, and its time steps.

(M_RB + M_A) ν̇ + C_RB(ν) ν + C_A(ν_r) ν_r − M_A ν̇_c = τ  (Fossen 2011, eq. 8.3), everything in
the body frame about the ``base_link`` origin. Damping, restoring forces and thrust are in τ.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import momentum_rate, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.current import relative_velocity, water_acceleration
from marine_sim_ros.physics.drag import damping_matrix
from marine_sim_ros.physics.integration import (
    advance_pose,
    carried,
    displaced,
    implicit_change,
    rk4,
)

__all__ = ['INTEGRATORS', 'kinetic_energy', 'net_wrench', 'step', 'weight']

_MIDPOINTS = 20
"""Iterations at most; each gains a factor of about dt |ω|/2."""
_SETTLED = 1e-15


def weight(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Return the wrench of m g, downwards at the centre of mass."""
    xp = namespace(state.position)
    force = -vehicle.inertia.mass * environment.gravity
    down = up_in_body(state.orientation) * force
    return matvec(constant(xp, vehicle.inertia.lever), down)


def net_wrench(vehicle: Vehicle, state: State, environment: Environment, wrench: Wrench) -> Wrench:
    """Return M ν̇: the wrench τ less the Coriolis and centripetal terms, (..., 6).

    In steady water ν̇_c = −S(ω) ν_c: a body that drifts with it while it turns feels no force.
    In waves the water's own acceleration is added.
    """
    xp = namespace(state.velocity)
    nu = state.velocity
    if environment.still:
        return wrench - momentum_rate(nu, matvec(constant(xp, vehicle.mass_matrix), nu))
    added = constant(xp, vehicle.added_mass)
    nu_r = relative_velocity(state, environment)
    nu_c_rate = water_acceleration(state, environment)
    rigid = momentum_rate(nu, matvec(constant(xp, vehicle.rigid_body_mass), nu))
    return wrench - rigid - momentum_rate(nu_r, matvec(added, nu_r)) + matvec(added, nu_c_rate)


def _semi_implicit(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    implicit_drag: bool,
) -> State:
    """Step velocity first, then the pose with the new velocity.

    With ``implicit_drag`` the drag within ``wrench`` counts as −D(|ν|) ν⁺ (linearly implicit):
    (M + dt D) Δν = dt (τ − C ν), stable for any coefficient and step.
    """
    xp = namespace(state.velocity)
    force = net_wrench(vehicle, state, environment, wrench)
    if implicit_drag:
        arm = constant(xp, vehicle.damping.lever_arm)
        velocity = matvec(arm, relative_velocity(state, environment))
        damping = arm.T @ damping_matrix(vehicle, velocity) @ arm
        change = implicit_change(constant(xp, vehicle.mass_matrix), damping, force, dt)
    else:
        change = dt * matvec(constant(xp, vehicle.inverse_mass_matrix), force)
    return advance_pose(state, state.velocity + change, dt)


def _rk4(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    implicit_drag: bool,
) -> State:
    """Classical Runge-Kutta of the motion with the wrench held over the step."""
    del implicit_drag
    xp = namespace(state.velocity)
    inverse = constant(xp, vehicle.inverse_mass_matrix)

    def acceleration(at: State) -> Array:
        return matvec(inverse, net_wrench(vehicle, at, environment, wrench))

    return rk4(state, acceleration, dt)


def _conserving(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    implicit_drag: bool,
) -> State:
    """Step by exp of the mean twist, so that without forces energy and momentum in space stay.

    P_c = Ad*(exp(dt (ν + ν_c)/2)) P with P = M ν and P_c = M ν_c, by iteration. The momentum in
    space is that of before, and so is ½ νᵀ M ν, because (ν + ν_c)·(P_c − P) = 0. Forces change
    ν_c by (M + dt D)⁻¹ dt τ, and the pose moves with what they changed, as in the semi-implicit
    step. Source: Simo & Wong (1991), the conserving midpoint rule for rotations; here for
    Kirchhoff's equations.
    """
    xp = namespace(state.velocity)
    free = _unforced(vehicle, state, environment, dt)
    if implicit_drag:
        arm = constant(xp, vehicle.damping.lever_arm)
        damping = (
            arm.T
            @ damping_matrix(vehicle, matvec(arm, relative_velocity(state, environment)))
            @ arm
        )
        change = implicit_change(constant(xp, vehicle.mass_matrix), damping, wrench, dt)
    else:
        change = dt * matvec(constant(xp, vehicle.inverse_mass_matrix), wrench)
    twist = dt * ((state.velocity + free) / 2 + change)
    return displaced(state, twist, free + change)


def _unforced(vehicle: Vehicle, state: State, environment: Environment, dt: float) -> Array:
    """Return ν_c (..., 6), the velocity after a step without forces."""
    xp = namespace(state.velocity)
    nu, inverse = state.velocity, constant(xp, vehicle.inverse_mass_matrix)
    if environment.still:
        parts = [(matvec(constant(xp, vehicle.mass_matrix), nu), xp.zeros_like(nu))]
        pushed = xp.zeros_like(nu)
    else:
        added, nu_r = constant(xp, vehicle.added_mass), relative_velocity(state, environment)
        own = matvec(constant(xp, vehicle.rigid_body_mass), nu)
        parts = [(own, xp.zeros_like(nu)), (matvec(added, nu_r), nu - nu_r)]
        pushed = dt * matvec(added, water_acceleration(state, environment))
    free = nu
    for _ in range(_MIDPOINTS):
        mean = (nu + free) / 2
        change = pushed
        for momentum, water in parts:
            change = change + carried(momentum, dt * (mean - water)) - momentum
        before, free = free, nu + matvec(inverse, change)
        if xp is NUMPY and np.max(np.abs(free - before)) <= _SETTLED * np.max(np.abs(free)):
            break
    return free


INTEGRATORS = {'semi_implicit': _semi_implicit, 'rk4': _rk4, 'conserving': _conserving}


def step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    *,
    integrator: str = 'semi_implicit',
    implicit_drag: bool = True,
) -> State:
    """Return the state after dt seconds under a total wrench (weight included) at the start."""
    return INTEGRATORS[integrator](vehicle, state, environment, wrench, dt, implicit_drag)


def kinetic_energy(vehicle: Vehicle, state: State) -> Array:
    """Return ½ νᵀ M ν (...), J, added mass included."""
    xp = namespace(state.velocity)
    momentum = matvec(constant(xp, vehicle.mass_matrix), state.velocity)
    return xp.vecdot(state.velocity, momentum) / 2
