# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion of a rigid body with added mass, and the integrators of its time steps.

(M_RB + M_A) ν̇ + C_RB(ν) ν + C_A(ν_r) ν_r − M_A ν̇_c = τ  (Fossen 2011, eq. 8.3), everything in
the body frame about the ``base_link`` origin. Damping, restoring forces and thrust are in τ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    constant,
    is_numeric,
    is_single_vector,
    matvec,
    namespace,
    while_loop,
)
from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.numerics import linear_solve, matrix_inverse
from marine_sim_ros.core.spatial import (
    VectorParts,
    cross_parts,
    join_vectors,
    momentum_rate,
    normalize,
    quaternion_product,
    rotation_matrix,
    rotation_vector_quaternion,
    skew,
    split_vectors,
    up_in_body,
)
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.drag import damping_about_base
from marine_sim_ros.physics.force import relative_velocity, water_acceleration

__all__ = [
    'AUTO_INTEGRATOR',
    'CONVERGENCE_TOLERANCE',
    'INTEGRATORS',
    'INTEGRATOR_CHOICES',
    'advance_pose',
    'check_convergence',
    'convergence_error',
    'displace_state',
    'implicit_velocity_change',
    'iteration_residual',
    'net_wrench',
    'resolve_integrator',
    'rigid_body_step',
    'rk4',
    'transport_gradient',
    'transport_momentum',
    'twist_translation',
    'unforced_velocity',
    'weight',
]


# Time steps of a rigid body, independent of the forces.


def implicit_velocity_change(mass: Array, damping: Array, force: Array, dt: float) -> Array:
    """Return Δν (..., n) of (M + dt D) Δν = dt F, where F holds −D ν.

    The same as ν⁺ = (M + dt D)⁻¹ (M ν + dt F₀) with F₀ = F + D ν, without needing F₀.

    Args:
        mass: M (..., n, n).
        damping: D (..., n, n), positive semi-definite.
        force: F (..., n).
        dt: step, s.
    """
    return linear_solve(mass + dt * damping, dt * force)


def advance_pose(state: State, velocity: Array, dt: float) -> State:
    """Move and turn a state for dt seconds at a body velocity (..., 6), and give it to it.

    p⁺ = p + dt R v, q⁺ = q ⊗ exp(½ ω dt), normalised.
    """
    turn = rotation_vector_quaternion(velocity[..., 3:] * dt)
    return State(
        state.position + dt * matvec(rotation_matrix(state.orientation), velocity[..., :3]),
        normalize(quaternion_product(state.orientation, turn)),
        velocity,
    )


def twist_translation(twist: Array) -> Array:
    """Return r (..., 3) of the displacement exp([v; φ]): r = v + A φ x v + B φ x (φ x v).

    A = (1 − cos θ)/θ², B = (θ − sin θ)/θ³ with θ = |φ|.
    """
    v, phi = split_vectors(twist)
    a, b, _ = _rotation_factors(phi)
    return join_vectors(twist, _double_cross(phi, v, a, b))


def _rotation_factors(phi: VectorParts) -> tuple[Any, Any, Any]:
    """Return A and B of :func:`twist_translation`, and sin θ/θ = 1 − B θ²."""
    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    small = square < 1e-2
    b = 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72))
    a = 1 / 2 - square / 24 * (1 - square / 30 * (1 - square / 56))
    if not (small if isinstance(small, bool) else is_numeric(small) and small.all()):
        # Not the usual step, which needs no functions of an angle.
        xp = namespace(square)
        one = square * 0 + 1
        angle = xp.sqrt(xp.where(small, one, square))
        b = xp.where(small, b, (angle - xp.sin(angle)) / angle**3)
        half = xp.where(small, one, xp.sin(angle / 2) / (angle / 2))
        a = xp.where(small, a, half * half / 2)
    return a, b, 1 - b * square


def _double_cross(phi: VectorParts, vector: VectorParts, a: Any, b: Any) -> VectorParts:
    """Return x + a φ x x + b φ x (φ x x) of a vector x."""
    once = cross_parts(phi, vector)
    twice = cross_parts(phi, once)
    x, y, z = (v + a * i + b * k for v, i, k in zip(vector, once, twice, strict=True))
    return x, y, z


def displace_state(state: State, twist: Array, velocity: Array) -> State:
    """Displace a state by exp of a body twist (..., 6), m and rad, and give it a velocity."""
    turn = rotation_vector_quaternion(twist[..., 3:])
    return State(
        state.position + matvec(rotation_matrix(state.orientation), twist_translation(twist)),
        normalize(quaternion_product(state.orientation, turn)),
        velocity,
    )


def transport_momentum(momentum: Array, twist: Array) -> Array:
    """Return a momentum [p; h] (..., 6) in body axes after the body moved by a twist.

    It is constant in space: p⁺ = Eᵀ p, h⁺ = Eᵀ (h − r x p) with E and r of exp(twist). So is its
    power along the twist: twist·(P⁺ − P) = 0.
    """
    (p, h), (v, phi) = split_vectors(momentum), split_vectors(twist)
    a, b, sine = _rotation_factors(phi)
    lever = cross_parts(_double_cross(phi, v, a, b), p)
    moment = h[0] - lever[0], h[1] - lever[1], h[2] - lever[2]
    turned = (_double_cross(phi, x, -sine, a) for x in (p, moment))  # Eᵀ x
    return join_vectors(twist if is_single_vector(momentum) else momentum, *turned)


def _skew_blocks(*blocks: tuple[int, int, int]) -> np.ndarray:
    """Return the map (6, 36) of a vector to blocks S(v) or S(ω), each (row, column, part)."""
    form = np.zeros((6, 6, 6))
    for row, column, part in blocks:
        rows, columns = (slice(3 * i, 3 * i + 3) for i in (row, column))
        form[3 * part : 3 * part + 3, rows, columns] = skew(np.eye(3))
    return form.reshape(6, 36)


_MOMENTUM_RATE = _skew_blocks((0, 1, 0), (1, 0, 0), (1, 1, 1))
_ADJOINT = _skew_blocks((0, 0, 1), (0, 1, 0), (1, 1, 1))


def transport_gradient(moved: Array, twist: Array) -> Array:
    """Return ∂P⁺/∂ξ (..., 6, 6) of :func:`transport_momentum`, P⁺ (..., 6), at a twist ξ = [v; φ].

    [0, S(p⁺); S(p⁺), S(h⁺)] (E − [S(φ), S(v); 0, S(φ)]/2), to the second order of the twist.
    """
    xp = namespace(moved)
    rate, adjoint = (
        xp.reshape(vector @ constant(xp, form), (*vector.shape[:-1], 6, 6))
        for vector, form in ((moved, _MOMENTUM_RATE), (twist, _ADJOINT))
    )
    return rate @ (constant(xp, np.eye(6)) - adjoint / 2)


def _state_rates(state: State, acceleration: Array) -> State:
    """Return the time derivatives of a state."""
    xp = namespace(state.velocity)
    omega = state.velocity[..., 3:]
    pure = xp.concat([omega, xp.zeros_like(omega[..., :1])], axis=-1)
    return State(
        matvec(rotation_matrix(state.orientation), state.velocity[..., :3]),
        quaternion_product(state.orientation, pure) / 2,
        acceleration,
    )


def rk4(state: State, acceleration: Callable[[State], Array], dt: float) -> State:
    """Return the state after one classical Runge-Kutta step of dt seconds.

    Args:
        state: state at the start.
        acceleration: ν̇ (..., 6) of a state, body frame.
        dt: step, s.
    """

    def advance(rates: State, duration: float) -> State:
        return State(*(x + duration * r for x, r in zip(state, rates, strict=True)))

    k1 = _state_rates(state, acceleration(state))
    middle = advance(k1, dt / 2)
    k2 = _state_rates(middle, acceleration(middle))
    middle = advance(k2, dt / 2)
    k3 = _state_rates(middle, acceleration(middle))
    end = advance(k3, dt)
    k4 = _state_rates(end, acceleration(end))
    mean = State(*((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)))
    end_state = advance(mean, dt)
    return end_state._replace(orientation=normalize(end_state.orientation))


# Six degrees of freedom of a rigid body with added mass, and its time steps.

_MAX_MIDPOINT_ITERATIONS = 20
"""Iteration limit; each iteration reduces the error by a factor of about (dt |ω|)²."""
_MIDPOINT_TOLERANCE = 1e-15
CONVERGENCE_TOLERANCE = 1e-6
"""Largest change of the last iteration, as a fraction of the velocity."""
_UNROLLED_ITERATIONS = 6
"""Iterations in unrolled programs, where each costs compile time: enough at dt |ω| < 0.06."""


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
    if environment.is_still:
        return wrench - momentum_rate(nu, matvec(constant(xp, vehicle.mass_matrix), nu))
    added = constant(xp, vehicle.added_mass)
    nu_r = relative_velocity(state, environment)
    nu_c_rate = water_acceleration(state, environment)
    rigid = momentum_rate(nu, matvec(constant(xp, vehicle.rigid_body_mass), nu))
    return wrench - rigid - momentum_rate(nu_r, matvec(added, nu_r)) + matvec(added, nu_c_rate)


def _semi_implicit_step(
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
        change = implicit_velocity_change(constant(xp, vehicle.mass_matrix), damping, force, dt)
    else:
        change = dt * matvec(constant(xp, vehicle.inverse_mass_matrix), force)
    return advance_pose(state, state.velocity + change, dt)


def _rk4_step(
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


def _conserving_step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    implicit_drag: bool,
    inner: Wrench | None,
) -> State:
    """Step by exp of the mean twist; without forces it conserves energy and momentum in space.

    P_c = Ad*(exp(dt (ν + ν_c)/2)) P with P = M ν and P_c = M ν_c, by iteration. The momentum in
    space is unchanged, and so is ½ νᵀ M ν, because (ν + ν_c)·(P_c − P) = 0. Forces change ν_c by
    (M + dt D)⁻¹ dt τ, and the pose moves with this change, as in the semi-implicit step.
    ``inner``, the part of τ by the body's own arm, belongs to the free motion: for it the pose
    moves by the mean of before and after (:mod:`marine_sim_ros.physics.arm.chain_solvers`).

    Source: Simo & Wong (1991), the conserving midpoint rule for rotations; here for Kirchhoff's
    equations.
    """
    xp = namespace(state.velocity)
    free = unforced_velocity(vehicle, state, environment, dt)
    damping = damping_about_base(vehicle, state, environment) if implicit_drag else None

    def change_by(force: Wrench) -> Array:
        if damping is None:
            return dt * matvec(constant(xp, vehicle.inverse_mass_matrix), force)
        return implicit_velocity_change(constant(xp, vehicle.mass_matrix), damping, force, dt)

    change = change_by(wrench)
    twist = dt * ((state.velocity + free) / 2 + change)
    if inner is not None:
        twist = twist - dt * change_by(inner) / 2
    return displace_state(state, twist, free + change)


def _largest(values: Array) -> Array:
    """Return the largest magnitude () of values (...)."""
    if is_single_vector(values):
        return max(map(abs, values.tolist()))
    xp = namespace(values)
    return xp.max(xp.abs(values))


def unforced_velocity(
    vehicle: Vehicle, state: State, environment: Environment, dt: float
) -> Array:
    """Return ν_c (..., 6), the velocity after a step without forces.

    Raises:
        RunError: the iterations do not converge, with NumPy; see :func:`iteration_residual` for
            JAX.
    """
    xp = namespace(state.velocity)
    improve, free = _midpoint_iteration(vehicle, state, environment, dt)

    def continues(search: tuple[Array, Array, int]) -> Array:
        free, previous, count = search
        moves = _largest(free - previous) > _MIDPOINT_TOLERANCE * _largest(free)
        return (count < _MAX_MIDPOINT_ITERATIONS) & moves

    nu = state.velocity
    free, previous, count = while_loop(
        xp,
        continues,
        lambda s: (improve(s[0]), s[0], s[2] + 1),
        (free, nu, 1),
        unrolled=_UNROLLED_ITERATIONS - 1,
    )
    if is_numeric(free) and count == _MAX_MIDPOINT_ITERATIONS:
        change = _iteration_change(free, previous)
        if np.any(change > CONVERGENCE_TOLERANCE):
            raise convergence_error(vehicle, nu.reshape(-1, 6)[np.argmax(change)], dt)
    return free


def iteration_residual(vehicle: Vehicle, velocity: np.ndarray, dt: float) -> np.ndarray:
    """Return the relative change (...) of ν_c by the last iteration of a compiled step.

    Args:
        vehicle: the vehicle, in still water.
        velocity: (..., 6) before the step.
        dt: step, s.
    """
    rest_state = state_at_rest()
    improve, free = _midpoint_iteration(
        vehicle, rest_state._replace(velocity=velocity), Environment(), dt
    )
    previous = velocity
    for _ in range(1, _UNROLLED_ITERATIONS):
        free, previous = improve(free), free
    return _iteration_change(free, previous)


def check_convergence(
    vehicle: Vehicle, velocity: np.ndarray, stamps: np.ndarray, dt: float, integrator: str
) -> None:
    """Check a run (n ticks) for steps of ``conserving`` that did not converge.

    Args:
        velocity: (n, 6) before each step.
        stamps: (n,) ns.
        dt: step, s.
        integrator: one of ``INTEGRATOR_CHOICES``; others than ``conserving`` do not iterate.

    Raises:
        RunError: a step did not converge.
    """
    if 'conserving' not in (
        integrator,
        integrator == AUTO_INTEGRATOR and resolve_integrator(vehicle),
    ):
        return
    unconverged = np.flatnonzero(iteration_residual(vehicle, velocity, dt) > CONVERGENCE_TOLERANCE)
    if len(unconverged):
        error = convergence_error(vehicle, velocity[unconverged[0]], dt)
        raise RunError(f'{error}, after {stamps[unconverged[0]] / NANOSECONDS:g} s')


def _iteration_change(free: np.ndarray, previous: np.ndarray) -> np.ndarray:
    magnitude = np.maximum(np.max(np.abs(free), axis=-1), np.finfo(float).tiny)
    return np.asarray(np.max(np.abs(free - previous), axis=-1) / magnitude)


def convergence_error(vehicle: Vehicle, velocity: np.ndarray, dt: float) -> RunError:
    """Return the error of a step of ``conserving`` that does not converge at a velocity (6,)."""
    speed, turn = (float(np.linalg.norm(part)) for part in np.split(velocity, 2, axis=-1))
    return RunError(
        f'{vehicle.name}: the integrator conserving does not converge at {speed:.3g} m/s and '
        f'{turn:.3g} rad/s with a step of {dt:g} s; expected a smaller step'
    )


def _midpoint_iteration(
    vehicle: Vehicle, state: State, environment: Environment, dt: float
) -> tuple[Callable[[Array], Array], Array]:
    """Return Newton's iteration of ν_c (..., 6), with the derivative at ν, and its first result.

    With M in place of that derivative, P = M ν of a fast and slender body would make it diverge:
    an error δv of the linear velocity turns it by dt m |v| |δv| / I, however slowly it rotates.
    """
    xp = namespace(state.velocity)
    nu, mass = state.velocity, constant(xp, vehicle.mass_matrix)
    if environment.is_still:
        momenta = [(matvec(mass, nu), xp.zeros_like(nu))]
        wave_impulse = xp.zeros_like(nu)
    else:
        added, nu_r = constant(xp, vehicle.added_mass), relative_velocity(state, environment)
        rigid_momentum = matvec(constant(xp, vehicle.rigid_body_mass), nu)
        momenta = [(rigid_momentum, xp.zeros_like(nu)), (matvec(added, nu_r), nu - nu_r)]
        wave_impulse = dt * matvec(added, water_acceleration(state, environment))

    def transport(mean: Array) -> list[Array]:
        return [transport_momentum(momentum, dt * (mean - water)) for momentum, water in momenta]

    at_start = transport(nu)
    gradient = sum(
        transport_gradient(moved, dt * (nu - water))
        for moved, (_, water) in zip(at_start, momenta, strict=True)
    )
    inverse = matrix_inverse(mass - dt / 2 * gradient)

    def correct(free: Array, transported: list[Array]) -> Array:
        change = wave_impulse - matvec(mass, free - nu)
        for moved, (momentum, _) in zip(transported, momenta, strict=True):
            change = change + moved - momentum
        return free + matvec(inverse, change)

    def improve(free: Array) -> Array:
        return correct(free, transport((nu + free) / 2))

    return improve, correct(nu, at_start)


def resolve_integrator(vehicle: Vehicle) -> str:
    """Return the integrator that ``auto`` stands for.

    The explicit Coriolis terms of ``semi_implicit`` increase the velocity by ½ ω² dt per second.
    Lumped drag dissipates more. The drag of a hull's panels vanishes at low speed, so that a hull
    rotating in
    place would spiral outwards: it gets ``conserving``, unless it has an arm, whose user chooses
    (physics/arm/articulated.py).
    """
    hull = vehicle.hull
    panelled = hull is not None and hull.panels is not None and vehicle.manipulator is None
    return 'conserving' if panelled else 'semi_implicit'


INTEGRATORS = {
    'semi_implicit': _semi_implicit_step,
    'rk4': _rk4_step,
    'conserving': _conserving_step,
}
AUTO_INTEGRATOR = 'auto'
INTEGRATOR_CHOICES = (AUTO_INTEGRATOR, *INTEGRATORS)


def rigid_body_step(
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
        vehicle: the vehicle with its arm's pose.
        state: state at the start.
        environment: environment at its time.
        wrench: τ (..., 6), all of it.
        dt: step, s.
        integrator: one of ``INTEGRATOR_CHOICES``; ``auto``: that of :func:`resolve_integrator`.
        implicit_drag: treat the drag as linearly implicit.
        inner: part of the wrench by an articulated arm, or None; used by ``conserving``.
    """
    if integrator == AUTO_INTEGRATOR:
        integrator = resolve_integrator(vehicle)
    return INTEGRATORS[integrator](vehicle, state, environment, wrench, dt, implicit_drag, inner)
