# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of a group of bodies within one step under wrenches, conserving momentum in space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.links import LinkPoses
from marine_sim_ros.physics.rigid_body import (
    AUTO_INTEGRATOR,
    displace_state,
    resolve_integrator,
    transport_momentum,
)
from marine_sim_ros.physics.wrench_observer import StateTerms, StepPrediction

__all__ = ['GroupMotion', 'ContactBody', 'combine_steps']


class ContactBody(NamedTuple):
    """Body that may touch others.

    Attributes:
        vehicle: the body, with its arm's pose.
        state: its state.
        integrator: its integrator, with implicit drag.
        loose: whether it is a free body. Its weight is constant in space over a step, not in
            rotating body axes, by which a pendulum would gain energy.
        links: poses of the joint frames of its arm, or None.
        closing: whether its gripper closes.
    """

    vehicle: Vehicle
    state: State
    integrator: str = AUTO_INTEGRATOR
    loose: bool = False
    links: LinkPoses | None = None
    closing: bool = False

    @property
    def conserving(self) -> bool:
        """Whether its integrator is the conserving one."""
        auto = self.integrator == AUTO_INTEGRATOR
        return (resolve_integrator(self.vehicle) if auto else self.integrator) == 'conserving'


def combine_steps(predictions: list[StepPrediction]) -> StepPrediction:
    """Return the predictions of several bodies as one, with their velocities stacked."""
    size = 6 * len(predictions)
    mass, inverse = np.zeros((size, size)), np.zeros((size, size))
    for i, step in enumerate(predictions):
        block = slice(6 * i, 6 * i + 6)
        mass[block, block], inverse[block, block] = step.mass, step.inverse
    free = np.concatenate([step.free for step in predictions])
    return StepPrediction(mass, inverse, free, predictions[0].dt)


_MAX_ITERATIONS = 20
"""Iterations of the rotation within a step; each reduces the error by a factor of about dt |ω|."""


class GroupMotion(NamedTuple):
    """Motion of k bodies in a step as a function of the wrenches on them.

    Attributes:
        bodies: the bodies.
        steps: their motion without contact and joints.
        base: (k, 6) twist of the step without these and without ``space_wrench``.
        momentum: (k, 6) before the step.
        transported_momentum: (k, 6) the same in the axes after ``base``.
        space_wrench: (k, 6) weight and buoyancy of free bodies, else zero.
        inverse: (k, 6, 6) of M + dt D.
    """

    bodies: list[ContactBody]
    steps: list[StepPrediction]
    base: np.ndarray
    momentum: np.ndarray
    transported_momentum: np.ndarray
    space_wrench: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(
        cls, bodies: list[ContactBody], terms: list[StateTerms], steps: list[StepPrediction]
    ) -> GroupMotion:
        """Return the motion of bodies from the terms of their states and their predictions."""
        base, momentum, space_wrench = (np.zeros((len(bodies), 6)) for _ in range(3))
        for i, (body, term, step) in enumerate(zip(bodies, terms, steps, strict=True)):
            velocity = body.state.velocity
            momentum[i] = body.vehicle.mass_matrix @ velocity
            if body.loose and term.static is not None:
                space_wrench[i] = term.static
            base[i] = step.dt * (step.free - step.dt * (step.inverse @ space_wrench[i]))
            if term.free is not None:  # as the conserving integrator moves
                base[i] += step.dt / 2 * (velocity - term.free)
        inverse = np.stack([step.inverse for step in steps])
        transported = np.asarray(transport_momentum(momentum, base))
        return cls(bodies, steps, base, momentum, transported, space_wrench, inverse)

    def wrench_in_space(self, wrench: np.ndarray) -> np.ndarray:
        """Return the wrenches (k, 6) by which the integrator changes momentum in space as given.

        The integrator adds them in axes that rotate within the step, by an angle that depends on
        them: dt w' = T(M ν + dt w, ξ') − T(M ν, ξ), with the twists ξ without and ξ' with contact
        and T of ``transport_momentum``. The weight of free bodies is treated in the same way, and
        only the difference is returned.
        """
        dt, wrench = self.steps[0].dt, wrench + self.space_wrench
        new_momentum, reported = self.momentum + dt * wrench, wrench
        for _ in range(_MAX_ITERATIONS):
            previous, twist = reported, self.base + dt * dt * matvec(self.inverse, reported)
            reported = (transport_momentum(new_momentum, twist) - self.transported_momentum) / dt
            change, magnitude = (
                np.max(np.abs(x), axis=1) for x in (reported - previous, reported)
            )
            if np.all(change <= 1e-14 * magnitude):
                break
        return np.asarray(reported - self.space_wrench)

    def states(self, wrench: np.ndarray) -> list[State]:
        """Return the states after a step with wrenches (k, 6)."""
        dt = self.steps[0].dt
        twist = self.base + dt * dt * matvec(
            self.inverse, self.wrench_in_space(wrench) + self.space_wrench
        )
        zero_velocity = np.zeros(6)
        return [
            displace_state(body.state, body_twist, zero_velocity)
            for body, body_twist in zip(self.bodies, twist, strict=True)
        ]
