# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench that Gazebo is to exert, which has weight and added mass of its own."""

from __future__ import annotations

from marine_sim_ros.arrays import constant, matvec, namespace
from marine_sim_ros.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.rigid_body import step, weight
from marine_sim_ros.spatial import momentum_rate
from marine_sim_ros.state import State, Wrench

__all__ = ['exerted_wrench']


def exerted_wrench(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    wrench: Wrench,
    dt: float,
    *,
    carried: Vehicle | None = None,
    integrator: str = 'semi_implicit',
    implicit_drag: bool = True,
) -> Wrench:
    """Return the wrench (..., 6) under which Gazebo's body makes this simulation's step.

    Gazebo steps ν⁺ = ν + dt M⁻¹ (τ_G + w − C(ν) ν) with weight w, M = M_RB + M_A and C from M, so
    that τ_G = M Δν / dt + C(ν) ν − w for the Δν of :func:`marine_sim_ros.physics.rigid_body.step`.
    In steady water without implicit drag that is the sum of all forces but the weight, to the last
    rounding. Drag treated as implicit, currents in C_A, the water's own acceleration and the mass
    of an arm that moves are in it where they are.

    Args:
        vehicle: as it is now, its arm posed.
        state: at the start of the step.
        environment: at that time.
        wrench: (..., 6) total, weight included, body frame about ``base_link``.
        dt: step, s.
        carried: the vehicle as Gazebo has it; None takes ``vehicle``.
        integrator: of the step.
        implicit_drag: whether drag counts as linearly implicit.
    """
    xp = namespace(state.velocity)
    body = vehicle if carried is None else carried
    mass = constant(xp, body.mass_matrix)
    after = step(
        vehicle, state, environment, wrench, dt,
        integrator=integrator, implicit_drag=implicit_drag,
    )  # fmt: skip
    inertial = matvec(mass, after.velocity - state.velocity) / dt
    coriolis = momentum_rate(state.velocity, matvec(mass, state.velocity))
    return inertial + coriolis - weight(body, state, environment)
