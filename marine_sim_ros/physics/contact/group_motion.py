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
from marine_sim_ros.core.spatial import cross, rotation_matrix, rotation_vector_quaternion
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.added_mass import Buoyancy, Inertia
from marine_sim_ros.model.hull import Hull, VoxelSet
from marine_sim_ros.model.vehicle import Damping, Vehicle
from marine_sim_ros.physics.arm.links import LinkPoses
from marine_sim_ros.physics.contact.detection import step_reach
from marine_sim_ros.physics.rigid_body import (
    AUTO_INTEGRATOR,
    CONVERGENCE_TOLERANCE,
    convergence_error,
    displace_state,
    resolve_integrator,
    transport_gradient,
    transport_momentum,
    twist_translation,
)
from marine_sim_ros.physics.wrench_observer import StateTerms, StepPrediction, state_terms

__all__ = ['GroupMotion', 'ContactBody', 'PassiveBodies']


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

    def reach(self, dt: float) -> float:
        """Return the gap in m beyond which nothing can touch it within a step, s."""
        return float(step_reach(self.vehicle.contact.reach, self.state.velocity, dt))


_MAX_ITERATIONS = 20
"""Iterations of the rotation within a step, by Newton's method with the first derivative."""


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
        turn: (k, 6, 6) rotation of ν from the axes in which an integrator's velocity moves the
            body to those before the step: 1 but for the conserving one, which moves it by the
            velocity in the axes after the step.
        turned_inverse: (k, 6, 6) of M + dt D, in the axes before the step.
    """

    bodies: list[ContactBody]
    steps: list[StepPrediction]
    base: np.ndarray
    momentum: np.ndarray
    transported_momentum: np.ndarray
    space_wrench: np.ndarray
    inverse: np.ndarray
    turn: np.ndarray
    turned_inverse: np.ndarray

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
        axes = np.array(rotation_matrix(rotation_vector_quaternion(base[:, 3:])))
        axes[[term.free is None for term in terms]] = np.eye(3)
        turn = np.zeros_like(inverse)
        turn[:, :3, :3] = turn[:, 3:, 3:] = axes
        turned = turn @ inverse @ np.swapaxes(turn, 1, 2)
        return cls(bodies, steps, base, momentum, transported, space_wrench, inverse, turn, turned)

    def prediction(self) -> StepPrediction:
        """Return the steps of all bodies as one, their velocities stacked, in axes before it.

        Contacts and joints have their directions in these axes. In those after the step, a ball
        that rolls at ω with v would seem to rise at v sin(ω dt), and sink in.
        """
        k, dt = len(self.bodies), self.steps[0].dt
        mass, inverse = np.zeros((k, 6, k, 6)), np.zeros((k, 6, k, 6))
        turn, each = self.turn, np.arange(k)
        own = np.stack([step.mass for step in self.steps])
        mass[each, :, each] = turn @ own @ np.swapaxes(turn, 1, 2)
        inverse[each, :, each] = self.turned_inverse
        free = np.stack([step.free for step in self.steps])
        free = free - dt * matvec(self.inverse, self.space_wrench)
        free = matvec(turn, free) + dt * matvec(self.turned_inverse, self.space_wrench)
        size = 6 * k
        return StepPrediction(
            mass.reshape(size, size), inverse.reshape(size, size), free.reshape(size), dt
        )

    def advance(self, wrench: np.ndarray) -> tuple[np.ndarray, list[State]]:
        """Return the wrenches (k, 6) of the integrator, and the states after the step.

        The integrator adds wrenches in axes that rotate within the step, by an angle that depends
        on them. So that momentum in space changes as given, dt w' = T(M ν + dt w, ξ') − T(M ν, ξ),
        with the twists ξ without and ξ' with contact and T of ``transport_momentum``. The weight
        of free bodies is treated in the same way, and only the difference is returned.

        A passive body is displaced by dt² M⁻¹ w in the axes before the step. If its displacement
        depended on the rotation, it would turn away from its momentum with every rotation, and
        the moment between the two would turn a body further that moves by more than its radius of
        gyration in a step.

        Args:
            wrench: (k, 6) w of contacts and joints, in the axes before the step.

        Raises:
            RunError: the iterations do not converge: the step is too large.
        """
        dt, wrench = self.steps[0].dt, wrench + self.space_wrench
        momentum = self.momentum + dt * wrench
        magnitude = np.max(np.abs(momentum), axis=1) / dt
        passive = np.array([body.passive for body in self.bodies])
        displacement = twist_translation(self.base)
        displacement = displacement + dt * dt * matvec(self.turned_inverse, wrench)[:, :3]
        momentum[passive, 3:] -= cross(displacement, momentum[:, :3])[passive]
        base, response = self.base.copy(), dt * dt * self.inverse
        base[passive, :3] = response[passive, :3] = 0.0
        reported, twist = wrench, base + matvec(response, wrench)
        for _ in range(_MAX_ITERATIONS):
            moved = transport_momentum(momentum, twist)
            transported = moved - self.transported_momentum
            gradient = transport_gradient(moved, twist) @ response / dt
            residual = (transported / dt - reported)[..., None]
            correction = np.linalg.solve(np.eye(6) - gradient, residual)[..., 0]
            reported = reported + correction
            twist = base + matvec(response, reported)
            change = np.max(np.abs(correction), axis=1)
            if np.all(change <= 1e-15 * magnitude):
                break
        else:
            if np.any(change > CONVERGENCE_TOLERANCE * magnitude):
                body = self.bodies[int(np.argmax(change))]
                raise convergence_error(body.vehicle, body.state.velocity, dt)
        reported = reported - self.space_wrench
        free = np.stack([step.free for step in self.steps])
        start = State(*map(np.stack, zip(*(body.state for body in self.bodies), strict=True)))
        end = displace_state(start, twist, free + dt * matvec(self.inverse, reported))
        rotation = rotation_matrix(start.orientation)
        end.position[passive] += matvec(rotation, displacement)[passive]
        return reported, [State(*row) for row in zip(*end, strict=True)]


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
