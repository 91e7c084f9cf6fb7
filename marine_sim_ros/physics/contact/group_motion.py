# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of a group of bodies within one step under wrenches, conserving momentum in space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.numerics import matrix_inverse
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.added_mass import Buoyancy, Inertia
from marine_sim_ros.model.hull import Hull, VoxelSet
from marine_sim_ros.model.vehicle import Damping, Vehicle
from marine_sim_ros.physics.arm.links import LinkPoses
from marine_sim_ros.physics.rigid_body import (
    AUTO_INTEGRATOR,
    displace_state,
    resolve_integrator,
    transport_momentum,
)
from marine_sim_ros.physics.wrench_observer import StateTerms, StepPrediction, state_terms

__all__ = ['GroupMotion', 'ContactBody', 'PassiveBodies', 'combine_steps']


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
        passive: whether it is a free body on which nothing acts but weight, buoyancy, lumped drag
            and contact. Bodies of this kind are predicted together, and move by the prediction.
    """

    vehicle: Vehicle
    state: State
    integrator: str = AUTO_INTEGRATOR
    loose: bool = False
    links: LinkPoses | None = None
    closing: bool = False
    passive: bool = False

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

    def states_in_space(self, wrench: np.ndarray) -> list[State]:
        """Return the states after a step with wrenches (k, 6) in space."""
        return self.states(self.wrench_in_space(wrench))

    def states(self, wrench: np.ndarray) -> list[State]:
        """Return the states after a step with wrenches (k, 6) of the integrator."""
        dt = self.steps[0].dt
        twist = self.base + dt * dt * matvec(self.inverse, wrench + self.space_wrench)
        free = np.stack([step.free for step in self.steps])
        start = State(*map(np.stack, zip(*(body.state for body in self.bodies), strict=True)))
        end = displace_state(start, twist, free + dt * matvec(self.inverse, wrench))
        return [State(*row) for row in zip(*end, strict=True)]


class PassiveBodies(NamedTuple):
    """Passive bodies as one vehicle with an axis of bodies before all of its quantities.

    Attributes:
        names: b names.
        vehicle: the vehicle that the functions of physics take, with a batch of b states.
    """

    names: tuple[str, ...]
    vehicle: Vehicle

    @classmethod
    def groups(cls, bodies: Mapping[str, Vehicle]) -> list[PassiveBodies]:
        """Return the bodies with voxels, and those without."""
        result = []
        for has_voxels in (False, True):
            names = tuple(n for n, v in bodies.items() if (_voxels(v) is not None) == has_voxels)
            if names:
                result.append(cls(names, _stack_vehicles([bodies[name] for name in names])))
        return result

    def predict(
        self, bodies: Mapping[str, ContactBody], environment: Environment, dt: float
    ) -> Iterator[tuple[str, StateTerms, StepPrediction]]:
        """Yield name, terms and step without contact of each body.

        Args:
            bodies: these bodies at this tick, by name.
            environment: environment at its time.
            dt: step, s.
        """
        states = (bodies[name].state for name in self.names)
        state = State(*map(np.stack, zip(*states, strict=True)))
        terms = state_terms(self.vehicle, state, environment, dt)
        mass = self.vehicle.mass_matrix + dt * terms.damping
        inverse = matrix_inverse(mass)
        free = terms.free + dt * matvec(inverse, terms.known)
        for i, name in enumerate(self.names):
            own = StateTerms(*(None if values is None else values[i] for values in terms))
            yield name, own, StepPrediction(mass[i], inverse[i], free[i], dt)


def _voxels(vehicle: Vehicle) -> VoxelSet | None:
    return None if vehicle.hull is None else vehicle.hull.voxels


def _stack_vehicles(vehicles: Sequence[Vehicle]) -> Vehicle:
    """Return one vehicle whose quantities have a leading axis; numbers become columns (b, 1)."""
    inertia = _stack_records([v.inertia for v in vehicles], ('lever', 'matrix'))
    hull, voxels = None, [own for v in vehicles if (own := _voxels(v)) is not None]
    if voxels:
        hull = Hull(None, _stack_voxels(voxels), vehicles[0].buoyancy.fluid_density)
    name = vehicles[0].name if len(vehicles) == 1 else f'one of {len(vehicles)} free bodies'
    return replace(
        vehicles[0],
        name=name,
        inertia=inertia,
        added_mass=np.stack([v.added_mass for v in vehicles]),
        buoyancy=_stack_records([v.buoyancy for v in vehicles], ('lever',)),
        damping=_stack_records([v.damping for v in vehicles], ('lever_arm',)),
        hull=hull,
    )


Record = TypeVar('Record', Inertia, Buoyancy, Damping)


def _stack_records(records: Sequence[Record], derived: Sequence[str]) -> Record:
    """Return a record of stacked fields, and of the named properties that follow from them."""

    def stack(name: str) -> np.ndarray:
        values = np.stack([getattr(record, name) for record in records])
        return values[:, None] if values.ndim == 1 else values

    first = records[0]
    present = [f.name for f in fields(first) if getattr(first, f.name) is not None]
    stacked: dict[str, Any] = {name: stack(name) for name in present}
    result = replace(first, **stacked)
    result.__dict__.update({name: stack(name) for name in derived})  # cached properties
    return result


def _stack_voxels(voxels: Sequence[VoxelSet]) -> VoxelSet:
    """Return voxels with a leading axis, filled up with cells without volume."""
    size = max(map(len, voxels))

    def stack(name: str, filling: float = 0.0) -> np.ndarray:
        values = [getattr(own, name) for own in voxels]
        return np.stack([
            np.concatenate([v, np.full((size - len(v), *v.shape[1:]), filling)]) for v in values
        ])  # fmt: skip

    center, extent = stack('center'), stack('extent', 1.0)
    result = VoxelSet(center, stack('volume'), extent)
    result.__dict__.update(
        center_rows=np.ascontiguousarray(np.swapaxes(center, 1, 2)),
        extent_rows=np.ascontiguousarray(np.moveaxis(extent, 1, 3)),
    )
    return result
