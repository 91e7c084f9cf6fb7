# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Six degrees of freedom of a rigid body with added mass, and its time steps.

(M_RB + M_A) ν̇ + C_RB(ν) ν + C_A(ν_r) ν_r − M_A ν̇_c = τ  (Fossen 2011, eq. 8.3), everything in
the body frame about the ``base_link`` origin. Damping, restoring forces and thrust are in τ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import traced, while_loop
from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.spatial import momentum_rate, up_in_body
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State, Wrench, rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.current import relative_velocity, water_acceleration
from marine_sim_ros.physics.drag import damping_about_base
from marine_sim_ros.physics.integration import (
    advance_pose,
    carried,
    displaced,
    implicit_change,
    rk4,
)

__all__ = [
    'AUTO',
    'CHOICES',
    'INTEGRATORS',
    'SETTLED',
    'check_settled',
    'integrator_of',
    'kinetic_energy',
    'net_wrench',
    'step',
    'unforced',
    'unsettled',
    'weight',
]

_MIDPOINTS = 20
"""Iterations at most; each gains a factor of about dt |ω|/2."""
_SETTLED = 1e-15
SETTLED = 1e-6
"""Largest change of the last iteration, as a fraction of the velocity."""
_UNROLLED = 10
"""Iterations where each is compiled for itself, which takes its time: enough at dt |ω| < 0.06."""


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
    inner: Wrench | None,
) -> State:
    """Step velocity first, then the pose with the new velocity.

    With ``implicit_drag`` the drag within ``wrench`` counts as −D(|ν|) ν⁺ (linearly implicit):
    (M + dt D) Δν = dt (τ − C ν), stable for any coefficient and step.
    """
    del inner
    xp = namespace(state.velocity)
    force = net_wrench(vehicle, state, environment, wrench)
    if implicit_drag:
        damping = damping_about_base(vehicle, state, environment)
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
    inner: Wrench | None,
) -> State:
    """Classical Runge-Kutta of the motion with the wrench held over the step."""
    del implicit_drag, inner
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
    inner: Wrench | None,
) -> State:
    """Step by exp of the mean twist, so that without forces energy and momentum in space stay.

    P_c = Ad*(exp(dt (ν + ν_c)/2)) P with P = M ν and P_c = M ν_c, by iteration. The momentum in
    space is that of before, and so is ½ νᵀ M ν, because (ν + ν_c)·(P_c − P) = 0. Forces change
    ν_c by (M + dt D)⁻¹ dt τ, and the pose moves with what they changed, as in the semi-implicit
    step. What parts of the body itself do to it, ``inner`` within τ, is its free motion too: the
    pose moves by the mean of before and after (:mod:`.chain_motion`).

    Source: Simo & Wong (1991), the conserving midpoint rule for rotations; here for Kirchhoff's
    equations.
    """
    xp = namespace(state.velocity)
    free = unforced(vehicle, state, environment, dt)
    damping = damping_about_base(vehicle, state, environment) if implicit_drag else None

    def change_by(force: Wrench) -> Array:
        if damping is None:
            return dt * matvec(constant(xp, vehicle.inverse_mass_matrix), force)
        return implicit_change(constant(xp, vehicle.mass_matrix), damping, force, dt)

    change = change_by(wrench)
    twist = dt * ((state.velocity + free) / 2 + change)
    if inner is not None:
        twist = twist - dt * change_by(inner) / 2
    return displaced(state, twist, free + change)


def unforced(vehicle: Vehicle, state: State, environment: Environment, dt: float) -> Array:
    """Return ν_c (..., 6), the velocity after a step without forces.

    Raises:
        RunError: the iterations do not settle, with NumPy; see :func:`unsettled` for JAX.
    """
    xp = namespace(state.velocity)
    improved = _midpoint(vehicle, state, environment, dt)

    def unfinished(search: tuple[Array, Array, int]) -> Array:
        free, before, count = search
        settled = xp.max(xp.abs(free - before)) <= _SETTLED * xp.max(xp.abs(free))
        return (count < _MIDPOINTS) & ~settled

    nu = state.velocity
    free = improved(nu)
    if xp is NUMPY or traced(xp):
        start = free, nu, 1
        free, before, count = while_loop(
            xp, unfinished, lambda s: (improved(s[0]), s[0], s[2] + 1), start
        )
        if xp is NUMPY and count == _MIDPOINTS and np.any(_last_change(free, before) > SETTLED):
            raise _not_converging(vehicle, nu, dt)
        return free
    for _ in range(1, _UNROLLED):
        free = improved(free)
    return free


def unsettled(vehicle: Vehicle, velocity: np.ndarray, dt: float) -> np.ndarray:
    """Return by how much (...) the last iteration of a compiled step changes ν_c, as a fraction.

    Args:
        vehicle: the vehicle, in still water.
        velocity: (..., 6) before the step.
        dt: step, s.
    """
    still = rest()
    improved = _midpoint(vehicle, still._replace(velocity=velocity), Environment(), dt)
    free, before = improved(velocity), velocity
    for _ in range(1, _UNROLLED):
        free, before = improved(free), free
    return _last_change(free, before)


def check_settled(
    vehicle: Vehicle, velocity: np.ndarray, stamps: np.ndarray, dt: float, integrator: str
) -> None:
    """Check a run (n ticks) for steps of ``conserving`` whose iterations did not settle.

    Args:
        vehicle: the vehicle.
        velocity: (n, 6) before each step.
        stamps: (n,) ns.
        dt: step, s.
        integrator: one of ``CHOICES``; with another one nothing iterates.

    Raises:
        RunError: the iterations of a step did not settle.
    """
    if 'conserving' not in (integrator, integrator == AUTO and integrator_of(vehicle)):
        return
    wrong = np.flatnonzero(unsettled(vehicle, velocity, dt) > SETTLED)
    if len(wrong):
        error = _not_converging(vehicle, velocity[wrong[0]], dt)
        raise RunError(f'{error}, after {stamps[wrong[0]] / NANOSECONDS:g} s')


def _last_change(free: np.ndarray, before: np.ndarray) -> np.ndarray:
    size = np.maximum(np.max(np.abs(free), axis=-1), np.finfo(float).tiny)
    return np.asarray(np.max(np.abs(free - before), axis=-1) / size)


def _not_converging(vehicle: Vehicle, velocity: np.ndarray, dt: float) -> RunError:
    """Return the error of a velocity (6,) with which ``conserving`` does not settle in a step."""
    speed, turn = (float(np.linalg.norm(part)) for part in np.split(velocity, 2))
    return RunError(
        f'{vehicle.name}: the integrator conserving does not converge at {speed:.3g} m/s and '
        f'{turn:.3g} rad/s with a step of {dt:g} s; expected a smaller step'
    )


def _midpoint(
    vehicle: Vehicle, state: State, environment: Environment, dt: float
) -> Callable[[Array], Array]:
    """Return what makes a better ν_c (..., 6) of one."""
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

    def improved(free: Array) -> Array:
        mean = (nu + free) / 2
        change = pushed
        for momentum, water in parts:
            change = change + carried(momentum, dt * (mean - water)) - momentum
        return nu + matvec(inverse, change)

    return improved


def integrator_of(vehicle: Vehicle) -> str:
    """Return the integrator that ``auto`` stands for.

    The explicit Coriolis terms of ``semi_implicit`` add ½ ω² dt of the velocity per second. Lumped
    drag takes more than that. The drag of a hull's panels vanishes with the speed, so that a hull
    that turns on the spot would spiral outwards: ``conserving``, but for those with an arm, whose
    coupling is a choice of its own (physics/arm/articulated.py).
    """
    hull = vehicle.hull
    panelled = hull is not None and hull.panels is not None and vehicle.manipulator is None
    return 'conserving' if panelled else 'semi_implicit'


INTEGRATORS = {'semi_implicit': _semi_implicit, 'rk4': _rk4, 'conserving': _conserving}
AUTO = 'auto'
CHOICES = (AUTO, *INTEGRATORS)


def step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    *,
    integrator: str = 'semi_implicit',
    implicit_drag: bool = True,
    inner: Wrench | None = None,
) -> State:
    """Return the state after dt seconds under a total wrench (weight included) at the start.

    Args:
        vehicle: the vehicle, as its arm is posed.
        state: state at the start.
        environment: environment at its time.
        wrench: τ (..., 6), all of it.
        dt: step, s.
        integrator: one of ``CHOICES``; ``auto``: that of :func:`integrator_of`.
        implicit_drag: treat the drag as linearly implicit.
        inner: what of it an articulated arm does, or None; ``conserving`` asks for it.
    """
    if integrator == AUTO:
        integrator = integrator_of(vehicle)
    return INTEGRATORS[integrator](vehicle, state, environment, wrench, dt, implicit_drag, inner)


def kinetic_energy(vehicle: Vehicle, state: State) -> Array:
    """Return ½ νᵀ M ν (...), J, added mass included."""
    xp = namespace(state.velocity)
    momentum = matvec(constant(xp, vehicle.mass_matrix), state.velocity)
    return xp.vecdot(state.velocity, momentum) / 2
