# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The wrench that Gazebo is to exert, which has weight and added mass of its own."""

from __future__ import annotations

from marine_sim_ros.core.arrays import constant, matvec, namespace
from marine_sim_ros.core.spatial import cross, momentum_rate
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gazebo.kinematics import reported_velocity
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.rigid_body import step, weight

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
    physics_step: float | None = None,
    after: State | None = None,
) -> Wrench:
    """Return the wrench (..., 6) under which Gazebo's body makes this simulation's step.

    τ_G = M a + C(ν_G) ν_G − w with weight w, M = M_RB + M_A, C from M, and Gazebo's velocity ν_G,
    of which this simulation's ν is ν* (:mod:`marine_sim_ros.gazebo.kinematics`);
    a = Δν/dt + [(v − v_G)/h − ω x v_G; 0] for the Δν of
    :func:`marine_sim_ros.physics.rigid_body.step` and the physics step h. With h = dt Gazebo then
    comes to the very velocity, and with the ``semi_implicit`` integrator to the very pose, of this
    simulation's step; otherwise up to the order of the step. Drag treated as implicit, currents in
    C_A, the water's own acceleration and the mass of an arm that moves are in it where they are.
    Without those it is, of a body that does not turn, the sum of all forces but the weight.

    Args:
        vehicle: the vehicle with its arm in the present pose.
        state: state at the start of the step, with velocity ν*.
        environment: environment at that time.
        wrench: (..., 6) total, weight included, body frame about ``base_link``.
        dt: step, s.
        carried: the vehicle as Gazebo has it; None takes ``vehicle``.
        integrator: integrator of the step.
        implicit_drag: whether drag counts as linearly implicit.
        physics_step: Gazebo's own, s; None takes ``dt``.
        after: state after the step, where it is known already; None computes it.
    """
    xp = namespace(state.velocity)
    body = vehicle if carried is None else carried
    mass = constant(xp, body.mass_matrix)
    if after is None:
        after = step(
            vehicle,
            state,
            environment,
            wrench,
            dt,
            integrator=integrator,
            implicit_drag=implicit_drag,
        )
    h = dt if physics_step is None else physics_step
    nu, told = state.velocity, reported_velocity(state.velocity, h)
    turning = (nu - told)[..., :3] / h - cross(nu[..., 3:], told[..., :3])
    rate = (after.velocity - nu) / dt + xp.concat([turning, xp.zeros_like(turning)], axis=-1)
    coriolis = momentum_rate(told, matvec(mass, told))
    return matvec(mass, rate) + coriolis - weight(body, state, environment)
