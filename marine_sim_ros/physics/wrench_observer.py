# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Observer of the other wrenches over a step: M Δν/dt less the own wrench before.

For forces that answer with an impulse, contact and an articulated arm: ν* is where the others lead
without it, with weight, buoyancy, drag and Coriolis terms brought up to date. M is with the
implicit drag of the default integrator, dt D.
"""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.arrays import Array, matvec
from marine_sim_ros.core.numerics import matrix_inverse
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import damping_about_base, drag
from marine_sim_ros.physics.force import relative_velocity
from marine_sim_ros.physics.rigid_body import net_wrench, unforced_velocity, weight

__all__ = ['StateTerms', 'StepPrediction', 'predict_step', 'state_terms']


class StepPrediction(NamedTuple):
    """What is known of a step before its solution.

    Attributes:
        mass: M + dt D (..., 6, 6).
        free: ν* (..., 6).
        dt: s.
    """

    mass: Array
    inverse: Array
    free: Array
    dt: float


class StateTerms(NamedTuple):
    """What follows from a state alone.

    Attributes:
        damping: D (..., 6, 6) of drag −D ν_r, about ``base_link``.
        known: (..., 6) of M ν̇: weight, buoyancy, drag, Coriolis terms.
        free: ν (..., 6) after the step without wrenches, where the integrator finds it first and
            ``known`` has no Coriolis terms; or None.
        static: (..., 6) weight and buoyancy alone, where ``free`` is there; or None.
    """

    damping: Array
    known: Wrench
    free: Array | None = None
    static: Wrench | None = None


def state_terms(
    vehicle: Vehicle, state: State, environment: Environment, conserving: float | None = None
) -> StateTerms:
    """Return the terms that follow from the state of a vehicle, as its arm is posed.

    Args:
        environment: environment at its time.
        conserving: step of the conserving integrator, s; None: the default one.
    """
    velocity = relative_velocity(state, environment)
    damping = damping_about_base(vehicle, state, environment)
    wrench = weight(vehicle, state, environment) + buoyancy(vehicle, state, environment)
    lumped = vehicle.hull is None or vehicle.hull.panels is None
    dragged = -matvec(damping, velocity) if lumped else drag(vehicle, state, environment)
    if conserving is not None:
        free = unforced_velocity(vehicle, state, environment, conserving)
        return StateTerms(damping, wrench + dragged, free, wrench)
    return StateTerms(damping, net_wrench(vehicle, state, environment, wrench + dragged))


def predict_step(
    rigid: Array,
    state: State,
    now: StateTerms,
    answered: tuple[State, Wrench],
    before: StateTerms,
    dt: float,
    rigid_before: Array | None = None,
) -> StepPrediction:
    """Return a step without the own wrench; M + dt D is what a force meets with implicit drag.

    Args:
        rigid: M (..., 6, 6) of this tick, added mass included.
        state: state of this tick.
        now: terms of this tick.
        answered: state of the tick before, and the own wrench then.
        before: terms of the tick before.
        dt: time since then, s; the step to come is taken to be as long.
        rigid_before: M of the tick before; None: the same.
    """
    earlier = rigid if rigid_before is None else rigid_before
    came = answered[0].velocity if before.free is None else before.free
    goes = state.velocity if now.free is None else now.free
    done = matvec(earlier + dt * before.damping, state.velocity - came)
    others = done + dt * (now.known - before.known - answered[1])
    mass = rigid + dt * now.damping
    inverted = matrix_inverse(mass)
    return StepPrediction(mass, inverted, goes + matvec(inverted, others), dt)
