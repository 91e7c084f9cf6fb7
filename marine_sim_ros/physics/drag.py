# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drag: linear and quadratic damping (6 × 6), drag elements, lift, and drag of hull panels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    constant,
    is_numeric,
    matvec,
    namespace,
    remember_vectors,
)
from marine_sim_ros.core.spatial import cross, skew
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Damping, DragElements, Lift, Vehicle
from marine_sim_ros.physics.force import ForceInputs, ForceModel, relative_velocity
from marine_sim_ros.physics.hull_drag import SweptWater, hull_drag, hull_forces

__all__ = [
    'DRAG',
    'coupled_drag',
    'damping',
    'damping_about_base',
    'damping_matrix',
    'drag',
    'drag_components',
    'drag_with_memory',
]


def damping_matrix(vehicle: Vehicle, velocity: Array) -> Array:
    """Return D(ν) (..., 6, 6); drag is −D(ν) ν, and νᵀ D(ν) ν ≥ 0.

    D = D_l + D_q diag(|ν|) + diag(K |ν|) + Σ_k g_k h_k h_kᵀ + L(ν): drag elements of rows
    h = [n; r x n] with g = l + c |w| + e |v_r|, and the antisymmetric L of lift. Source: Fossen
    (2011) eq. 6.57 and 6.85, section 6.4 for drag across the flow; K: thesis "Real-Time ROV
    Motion Simulator", ch. 5.

    Args:
        vehicle: its ``damping`` gives D_l (N·s/m, N·m·s/rad), D_q and K (N·s²/m², N·m·s²/rad²).
        velocity: (..., 6) of the damping centre relative to the water, body frame.
    """
    return _damping_matrix(velocity, vehicle.damping)


@partial(remember_vectors, shared=True)
def _damping_matrix(velocity: Array, damping: Damping) -> Array:
    """Return D(ν) (..., 6, 6)."""
    xp = namespace(velocity)
    speeds = xp.abs(velocity)
    result = constant(xp, damping.linear) + constant(xp, damping.quadratic) * speeds[..., None, :]
    if damping.modulus is not None:
        modulus_coefficients = matvec(constant(xp, damping.modulus), speeds)
        result = result + modulus_coefficients[..., None, :] * constant(xp, np.eye(6))
    if damping.elements is not None:
        result = result + _elements_matrix(damping, damping.elements, velocity)
    if damping.lift is not None:
        result = result + _lift_matrix(damping.lift, damping.lift_arms, velocity)
    return result


def _element_coefficients(damping: Damping, elements: DragElements, velocity: Array) -> Array:
    """Return l + c |w| + e |v| (..., k) of the drag elements."""
    xp = namespace(velocity)
    rows, arms = constant(xp, damping.element_rows), constant(xp, damping.element_arms)
    speed = xp.abs(matvec(rows, velocity))
    gain = constant(xp, elements.linear) + constant(xp, elements.quadratic) * speed
    linear, omega = velocity[..., None, :3], velocity[..., None, 3:]
    return gain + constant(xp, elements.mixed) * _norm(linear + cross(omega, arms))


def _elements_matrix(damping: Damping, elements: DragElements, velocity: Array) -> Array:
    """Return Σ_k (l + c |w| + e |v|) h hᵀ (..., 6, 6) about the damping centre."""
    rows = constant(namespace(velocity), damping.element_rows)
    return (rows.T * _element_coefficients(damping, elements, velocity)[..., None, :]) @ rows


def _lift_matrix(lift: Lift, arms: tuple[np.ndarray, ...], velocity: Array) -> Array:
    """Return −Σ Hᵀ S(B v) H (..., 6, 6) with v = H ν: antisymmetric, so that it does no work."""
    xp = namespace(velocity)
    total = 0.0
    for coefficients, lever_matrix in zip(lift.coefficients, arms, strict=True):
        lever = constant(xp, lever_matrix)
        circulation = matvec(constant(xp, coefficients), matvec(lever, velocity))
        total = total - lever.T @ (skew(circulation) @ lever)
    return total


def coupled_drag(damping: Damping, velocity: Array) -> Array:
    """Return D(ν) ν (..., 6) of modulus, drag elements and lift only.

    It equals this part of :func:`damping_matrix` times ν, without a matrix for each ν.
    """
    xp = namespace(velocity)
    total = xp.zeros_like(velocity)
    if damping.modulus is not None:
        total = total + matvec(constant(xp, damping.modulus), xp.abs(velocity)) * velocity
    if damping.elements is not None:
        rows = constant(xp, damping.element_rows)
        gain = _element_coefficients(damping, damping.elements, velocity)
        total = total + matvec(rows.T, gain * matvec(rows, velocity))
    if damping.lift is not None:
        for coefficients, lever_matrix in zip(
            damping.lift.coefficients, damping.lift_arms, strict=True
        ):
            lever = constant(xp, lever_matrix)
            flow = matvec(lever, velocity)
            total = total - matvec(lever.T, cross(matvec(constant(xp, coefficients), flow), flow))
    return total


def _norm(vector: Array) -> Array:
    """Return |v| (...) of vectors (..., 3), with a derivative of 0 at 0."""
    xp = namespace(vector)
    square = xp.sum(vector * vector, axis=-1)
    if is_numeric(square):  # no derivatives needed; the branch below takes 12 µs
        return xp.sqrt(square)
    is_nonzero = square > 0
    root = xp.sqrt(xp.where(is_nonzero, square, xp.ones_like(square)))
    return xp.where(is_nonzero, root, xp.zeros_like(square))


def damping_about_base(vehicle: Vehicle, state: State, environment: Environment) -> Array:
    """Return Hᵀ D(H ν_r) H (..., 6, 6), by which damping about ``base_link`` is −(…) ν_r."""
    xp = namespace(state.velocity)
    lever = constant(xp, vehicle.damping.lever_arm)
    velocity = matvec(lever, relative_velocity(state, environment))
    return xp.matrix_transpose(lever) @ damping_matrix(vehicle, velocity) @ lever


def damping(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Return −D(ν_r) ν_r, acting at the damping centre, as a wrench about ``base_link``.

    ν_r is the velocity of that centre relative to the water. Source: Fossen (2011) eq. 6.57
    with the quadratic term of eq. 6.85; Orca3 plugin documentation, OrcaDragPlugin.
    """
    xp = namespace(state.velocity)
    lever = constant(xp, vehicle.damping.lever_arm)
    velocity = matvec(lever, relative_velocity(state, environment))
    return -matvec(lever.T, matvec(damping_matrix(vehicle, velocity), velocity))


def drag_components(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: SweptWater | None = None,
    *,
    dt: float = 0.0,
) -> tuple[dict[str, Wrench], SweptWater | None]:
    """Return the wrenches (..., 6) of drag by kind, and the memory of slamming.

    ``damping`` is always present; the kinds of hull drag if the vehicle has panels.
    """
    wrenches = {'damping': damping(vehicle, state, environment)}
    if vehicle.hull is None or vehicle.hull.panels is None:
        return wrenches, None
    hull, memory = hull_forces(vehicle, state, environment, memory, dt=dt)
    if dt > 0:
        first, *others = hull.values()
        total = sum(others, first)
        fraction = _dissipative_fraction(vehicle, relative_velocity(state, environment), total, dt)
        hull = {kind: wrench * fraction for kind, wrench in hull.items()}
    return {**wrenches, **hull}, memory


def _dissipative_fraction(vehicle: Vehicle, velocity: Array, wrench: Wrench, dt: float) -> Array:
    """Return the fraction (..., 1) of a wrench F that a step of dt may apply explicitly.

    s = min(1, −νᵀF/(dt Fᵀ M⁻¹ F)) for braking F: half of the value at which kinetic energy would
    not change, so that drag never accelerates a light hull, for any step.
    """
    xp = namespace(velocity)
    braking = -xp.vecdot(velocity, wrench)
    change = matvec(constant(xp, vehicle.inverse_mass_matrix), wrench)
    limit = dt * xp.vecdot(wrench, change)
    bounded = (braking > 0) & (limit > braking)
    fraction = xp.where(
        bounded, braking / xp.where(bounded, limit, xp.ones_like(limit)), xp.ones_like(limit)
    )
    return fraction[..., None]


def drag_with_memory(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: SweptWater | None,
    *,
    dt: float,
) -> tuple[Wrench, SweptWater | None]:
    """Return the sum of all kinds of drag, and the next memory."""
    lumped = damping(vehicle, state, environment)
    if vehicle.hull is None or vehicle.hull.panels is None:
        return lumped, None
    hull, memory = hull_drag(vehicle, state, environment, memory, dt=dt)
    if dt > 0:
        velocity = relative_velocity(state, environment)
        hull = hull * _dissipative_fraction(vehicle, velocity, hull, dt)
    return lumped + hull, memory


def drag(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Return the drag of a state without slamming, which needs a memory."""
    return drag_with_memory(vehicle, state, environment, None, dt=0.0)[0]


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: SweptWater | None,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, SweptWater | None]:
    del inputs
    return drag_with_memory(vehicle, state, environment, memory, dt=dt)


DRAG = ForceModel('drag', _step, label='Drag', colour='#f2991a', executable='drag', scalar=True)
