# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States from Gazebo: order, velocities, and the wrench that Gazebo exerts for a step.

DART steps a free body's velocity in the axes of before, ν* = ν + h (ν̇ + [ω x v; 0]), moves it by
that, p⁺ = p + h R v* and R⁺ = R E with E = exp(S(ω*) h), then reports v⁺ = Eᵀ v* in the axes of
after (``FreeJoint``, since https://github.com/dartsim/dart/pull/1437). The simulation moves
a body by the ν that it then has. So its ν is DART's ν*.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import (
    cross,
    momentum_rate,
    rotation_matrix,
    rotation_vector,
    rotation_vector_quaternion,
    to_body,
)
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.rigid_body import rigid_body_step, weight

__all__ = [
    'TickSequence',
    'TickArrival',
    'exerted_wrench',
    'reported_velocity',
    'stepped_velocity',
    'twist_between',
]


# Order of the states from Gazebo; without ROS.


class TickArrival(Enum):
    """Relation of a state to the one before."""

    NEXT = 'next'
    AGAIN = 'again'
    BACK = 'back'
    LATE = 'late'


class TickSequence:
    """Order of stamps: the next, a repetition, a jump, or a world that was reset.

    Attributes:
        stamp: stamp of the newest state, ns; -1 before the first.
        lost: ticks that never came.
        resets: times that the world went back.
    """

    def __init__(self, step: int) -> None:
        """Expect one state every ``step`` ns."""
        self.step = step
        self.stamp = -1
        self.lost = 0
        self.resets = 0

    def classify(self, stamp: int) -> TickArrival:
        """Return the relation of a stamp (ns) to the one before; the first may be any."""
        before, self.stamp = self.stamp, stamp
        if before < 0 or stamp == before + self.step:
            return TickArrival.NEXT
        if stamp == before:
            return TickArrival.AGAIN
        if stamp < before:
            self.resets += 1
            return TickArrival.BACK
        self.lost += (stamp - before) // self.step - 1
        return TickArrival.LATE


# Conversion between the velocities of Gazebo and those of the simulation.


def stepped_velocity(reported: Array, dt: float) -> Array:
    """Return ν* = [E v; ω] (..., 6), which moved the body, of the ν that Gazebo reports.

    Args:
        reported: (..., 6), body frame, at the end of a physics step.
        dt: that step, s.
    """
    xp = namespace(reported)
    v, omega = reported[..., :3], reported[..., 3:]
    rotation = rotation_matrix(rotation_vector_quaternion(omega * dt))
    return xp.concat([(rotation @ v[..., None])[..., 0], omega], axis=-1)


def reported_velocity(stepped: Array, dt: float) -> Array:
    """Return the ν (..., 6) that Gazebo has where :func:`stepped_velocity` is ν*."""
    xp = namespace(stepped)
    v, omega = stepped[..., :3], stepped[..., 3:]
    return xp.concat([to_body(rotation_vector_quaternion(omega * dt), v), omega], axis=-1)


def twist_between(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], dt: float
) -> np.ndarray:
    """Return ν* (6,), which moves one pose to the other in dt seconds.

    v = Rᵀ (p⁺ − p)/dt and ω = log(Rᵀ R⁺)/dt: the inverse of
    :func:`marine_sim_ros.physics.rigid_body.advance_pose`. A turn is taken to be less than half
    a revolution.

    Args:
        before: position (3,), m, and quaternion (4,).
        after: the same, dt later.
        dt: s.
    """
    (p0, q0), (p1, q1) = before, after
    return np.concatenate([to_body(q0, p1 - p0), rotation_vector(q0, q1)]) / dt


# Wrench that Gazebo exerts, without its own weight and added mass.


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
    of which this simulation's ν is ν* (:mod:`marine_sim_ros.gazebo.exchange`);
    a = Δν/dt + [(v − v_G)/h − ω x v_G; 0] for the Δν of
    :func:`marine_sim_ros.physics.rigid_body.rigid_body_step` and the physics step h. With h = dt
    Gazebo then comes to the very velocity, and with the ``semi_implicit`` integrator to the very
    pose, of this simulation's step; otherwise up to the order of the step. Drag treated as
    implicit, currents in C_A, the water's own acceleration and the mass of an arm that moves are
    in it where they are. Without those it is, of a body that does not turn, the sum of all forces
    but the weight.

    Args:
        vehicle: the vehicle with its arm in the present pose.
        state: state at the start of the step, with velocity ν*.
        wrench: (..., 6) total, weight included, body frame about ``base_link``.
        dt: step, s.
        carried: the vehicle as Gazebo has it; None takes ``vehicle``.
        implicit_drag: whether drag counts as linearly implicit.
        physics_step: Gazebo's own, s; None takes ``dt``.
        after: state after the step, where it is known already; None computes it.
    """
    xp = namespace(state.velocity)
    body = vehicle if carried is None else carried
    mass = constant(xp, body.mass_matrix)
    if after is None:
        after = rigid_body_step(
            vehicle,
            state,
            environment,
            wrench,
            dt,
            integrator=integrator,
            implicit_drag=implicit_drag,
        )
    h = dt if physics_step is None else physics_step
    nu, reported = state.velocity, reported_velocity(state.velocity, h)
    turning = (nu - reported)[..., :3] / h - cross(nu[..., 3:], reported[..., :3])
    rate = (after.velocity - nu) / dt + xp.concat([turning, xp.zeros_like(turning)], axis=-1)
    coriolis = momentum_rate(reported, matvec(mass, reported))
    return matvec(mass, rate) + coriolis - weight(body, state, environment)
