# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Observer of the external wrenches over a step: M Δν/dt minus the force's own last wrench.

Forces that are impulses, contact and an articulated arm, need ν*, the velocity after the step
under the external wrenches only, with weight, buoyancy, drag and Coriolis terms updated. M
includes the implicit drag of the default integrator, dt D.
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
    """Prediction of a step without the force that uses it.

    Attributes:
        mass: M + dt D (..., 6, 6).
        inverse: (M + dt D)⁻¹ (..., 6, 6).
        free: ν* (..., 6).
        dt: s.
    """

    mass: Array
    inverse: Array
    free: Array
    dt: float


class StateTerms(NamedTuple):
    """Terms of the equations of motion that depend on the state only.

    Attributes:
        damping: D (..., 6, 6) of drag −D ν_r, about ``base_link``.
        known: (..., 6) of M ν̇: weight, buoyancy, drag, Coriolis terms.
        free: ν (..., 6) after a step without wrenches, with the conserving integrator; ``known``
            then has no Coriolis terms; or None.
        static: (..., 6) weight and buoyancy only, with ``free``; or None.
    """

    damping: Array
    known: Wrench
    free: Array | None = None
    static: Wrench | None = None


def state_terms(
    vehicle: Vehicle, state: State, environment: Environment, conserving: float | None = None
) -> StateTerms:
    """Return the terms that depend on the state of a vehicle with its arm's pose.

    Args:
        environment: environment at its time.
        conserving: step of the conserving integrator, s; None: the default one.
    """
    velocity = relative_velocity(state, environment)
    damping = damping_about_base(vehicle, state, environment)
    wrench = weight(vehicle, state, environment) + buoyancy(vehicle, state, environment)
    lumped = vehicle.hull is None or vehicle.hull.panels is None
    drag_wrench = -matvec(damping, velocity) if lumped else drag(vehicle, state, environment)
    if conserving is not None:
        free = unforced_velocity(vehicle, state, environment, conserving)
        return StateTerms(damping, wrench + drag_wrench, free, wrench)
    return StateTerms(damping, net_wrench(vehicle, state, environment, wrench + drag_wrench))


def predict_step(
    mass_matrix: Array,
    state: State,
    terms: StateTerms,
    previous: tuple[State, Wrench],
    previous_terms: StateTerms,
    dt: float,
    previous_mass_matrix: Array | None = None,
) -> StepPrediction:
    """Return the predicted step without the own wrench; M + dt D is the mass with implicit drag.

    Args:
        mass_matrix: M (..., 6, 6) of this tick, added mass included.
        state: state of this tick.
        terms: terms of this tick.
        previous: state and own wrench of the previous tick.
        previous_terms: terms of the tick before.
        dt: time since then, s; the next step is assumed to be as long.
        previous_mass_matrix: M of the tick before; None: the same.
    """
    old_mass = mass_matrix if previous_mass_matrix is None else previous_mass_matrix
    previous_velocity = (
        previous[0].velocity if previous_terms.free is None else previous_terms.free
    )
    velocity_without = state.velocity if terms.free is None else terms.free
    observed_impulse = matvec(
        old_mass + dt * previous_terms.damping, state.velocity - previous_velocity
    )
    external_impulse = observed_impulse + dt * (terms.known - previous_terms.known - previous[1])
    mass = mass_matrix + dt * terms.damping
    inverse = matrix_inverse(mass)
    return StepPrediction(mass, inverse, velocity_without + matvec(inverse, external_impulse), dt)
