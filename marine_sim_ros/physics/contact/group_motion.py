# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of bodies in one step, together, by the wrenches on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.rigid_body import (
    AUTO_INTEGRATOR,
    displace_state,
    resolve_integrator,
    transport_momentum,
)
from marine_sim_ros.physics.wrench_observer import StateTerms, StepPrediction

__all__ = ['GroupMotion', 'Mover', 'combine_steps']


class Mover(NamedTuple):
    """A body that may touch others.

    Attributes:
        vehicle: the body, as its arm is posed.
        integrator: its integrator, with its drag implicit.
        loose: whether the world moves it: then its weight is held in space over a step, not in
            axes that turn, by which a pendulum would gain energy.
    """

    vehicle: Vehicle
    state: State
    integrator: str = AUTO_INTEGRATOR
    loose: bool = False

    @property
    def conserving(self) -> bool:
        """Whether its integrator is the conserving one."""
        auto = self.integrator == AUTO_INTEGRATOR
        return (resolve_integrator(self.vehicle) if auto else self.integrator) == 'conserving'


def combine_steps(predictions: list[StepPrediction]) -> StepPrediction:
    """Return the steps of several bodies as one of all their velocities."""
    size = 6 * len(predictions)
    mass, inverse = np.zeros((size, size)), np.zeros((size, size))
    for i, step in enumerate(predictions):
        own = slice(6 * i, 6 * i + 6)
        mass[own, own], inverse[own, own] = step.mass, step.inverse
    free = np.concatenate([step.free for step in predictions])
    return StepPrediction(mass, inverse, free, predictions[0].dt)


_MAX_TURNS = 20
"""Iterations of what the axes turn by; each gains a factor of about dt |ω|."""


class GroupMotion(NamedTuple):
    """How k bodies move in a step, by the wrenches on them.

    Attributes:
        movers: the bodies.
        steps: their motion without contact and joints.
        base: (k, 6) twist of the step without these, and without a weight that is held in space.
        momentum: (k, 6) before the step.
        kept: (k, 6) what it is in the axes after ``base``.
        held: (k, 6) wrench of weight and buoyancy of what is loose, else zero.
        inverse: (k, 6, 6) of M + dt D.
    """

    movers: list[Mover]
    steps: list[StepPrediction]
    base: np.ndarray
    momentum: np.ndarray
    kept: np.ndarray
    held: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(
        cls, movers: list[Mover], terms: list[StateTerms], steps: list[StepPrediction]
    ) -> GroupMotion:
        """Return it of bodies, what follows from their states, and their steps."""
        base, momentum, held = (np.zeros((len(movers), 6)) for _ in range(3))
        for i, (mover, own, step) in enumerate(zip(movers, terms, steps, strict=True)):
            velocity = mover.state.velocity
            momentum[i] = mover.vehicle.mass_matrix @ velocity
            if mover.loose and own.static is not None:
                held[i] = own.static
            base[i] = step.dt * (step.free - step.dt * (step.inverse @ held[i]))
            if own.free is not None:  # as the conserving integrator moves
                base[i] += step.dt / 2 * (velocity - own.free)
        inverse = np.stack([step.inverse for step in steps])
        kept = np.asarray(transport_momentum(momentum, base))
        return cls(movers, steps, base, momentum, kept, held, inverse)

    def wrench_in_space(self, wrench: np.ndarray) -> np.ndarray:
        """Return the wrenches (k, 6) that change momentum in space by what the given ones hold.

        The integrator adds them in axes that the step turns, by how far depends on what is added:
        dt w' = T(M ν + dt w, ξ') − T(M ν, ξ), with the twists ξ without and ξ' with contact and T
        of ``transport_momentum``. With the weight of what is loose the same is done, and only what
        it differs by is told.
        """
        dt, wrench = self.steps[0].dt, wrench + self.held
        changed, told = self.momentum + dt * wrench, wrench
        for _ in range(_MAX_TURNS):
            before, twist = told, self.base + dt * dt * matvec(self.inverse, told)
            told = (transport_momentum(changed, twist) - self.kept) / dt
            apart, size = (np.max(np.abs(x), axis=1) for x in (told - before, told))
            if np.all(apart <= 1e-14 * size):
                break
        return np.asarray(told - self.held)

    def states(self, wrench: np.ndarray) -> list[State]:
        """Return the states after the step in which wrenches (k, 6) act."""
        dt = self.steps[0].dt
        twist = self.base + dt * dt * matvec(
            self.inverse, self.wrench_in_space(wrench) + self.held
        )
        still = np.zeros(6)
        return [
            displace_state(mover.state, own, still)
            for mover, own in zip(self.movers, twist, strict=True)
        ]
