# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of a group of bodies within one step under wrenches, conserving momentum in space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.added_mass import Buoyancy, Inertia
from marine_sim_ros.model.hull import Hull, VoxelSet
from marine_sim_ros.model.vehicle import Damping, Vehicle
from marine_sim_ros.physics.arm.links import LinkPoses
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.contact.detection import step_reach
from marine_sim_ros.physics.force import water_acceleration, water_velocity
from marine_sim_ros.physics.rigid_body import (
    AUTO_INTEGRATOR,
    CONVERGENCE_TOLERANCE,
    convergence_error,
    resolve_integrator,
    weight,
)
from marine_sim_ros.physics.wrench_observer import StateTerms, StepPrediction

__all__ = ['BodyStates', 'GroupMotion', 'ContactBody', 'PassiveBodies']


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


class BodyStates(NamedTuple):
    """States of k bodies as arrays.

    Attributes:
        names: names of the bodies.
        poses: (k, 7) positions and quaternions.
        velocities: (k, 6).
    """

    names: tuple[str, ...]
    poses: np.ndarray
    velocities: np.ndarray

    @classmethod
    def of(cls, names: Sequence[str], bodies: Mapping[str, ContactBody]) -> BodyStates:
        """Return the states of some bodies by name."""
        poses, velocities = np.empty((len(names), 7)), np.empty((len(names), 6))
        for i, name in enumerate(names):
            poses[i, :3], poses[i, 3:], velocities[i] = bodies[name].state
        return cls(tuple(names), poses, velocities)

    def some(self, names: tuple[str, ...]) -> BodyStates:
        """Return the states of some of the bodies."""
        if names == self.names:
            return self
        place = {name: i for i, name in enumerate(self.names)}
        index = [place[name] for name in names]
        return BodyStates(names, self.poses[index], self.velocities[index])


_MAX_ITERATIONS = 20
"""Iterations of the rotation within a step, by Newton's method with the first derivative."""
_VELOCITY, _FREE, _UNFORCED, _SPACE, _BASE, _MOMENTUM, _TRANSPORTED, _TURNED = range(8)
_MASS, _IMPLICIT, _INVERSE, _TURNED_MASS, _TURNED_INVERSE = range(5)


class GroupMotion(NamedTuple):
    """Motion of k bodies in a step as a function of the wrenches on them.

    Attributes:
        bodies: the bodies.
        poses: (k, 7) their positions and quaternions.
        passive: (k,) whether they move by this prediction.
        vectors: (8, k, 6) ν; ν* of the step, and without any wrench; weight and buoyancy of free
            bodies, else zero; twist of the step without these and without contacts; momentum
            before the step, and in the axes after that twist; ν* in the axes before the step.
        matrices: (5, k, 6, 6) M; M + dt D and its inverse; both in the axes before the step. The
            conserving integrator moves a body by the velocity in the axes after it.
        dt: step, s.
    """

    bodies: list[ContactBody]
    poses: np.ndarray
    passive: np.ndarray
    vectors: np.ndarray
    matrices: np.ndarray
    dt: float

    @classmethod
    def of(
        cls, bodies: list[ContactBody], terms: list[StateTerms], steps: list[StepPrediction]
    ) -> GroupMotion:
        """Return the motion of bodies from the terms of their states and their predictions."""
        from marine_sim_ros.physics.contact.kernels import motion

        k, dt = len(bodies), steps[0].dt
        poses, vectors, matrices = np.empty((k, 7)), np.zeros((8, k, 6)), np.empty((5, k, 6, 6))
        conserving, passive = np.zeros(k, bool), np.zeros(k, bool)
        for i, (body, term, step) in enumerate(zip(bodies, terms, steps, strict=True)):
            state = body.state
            poses[i, :3], poses[i, 3:], passive[i] = (
                state.position,
                state.orientation,
                body.passive,
            )
            vectors[_VELOCITY, i], vectors[_FREE, i] = state.velocity, step.free
            matrices[_MASS, i] = body.vehicle.mass_matrix
            matrices[_IMPLICIT, i], matrices[_INVERSE, i] = step.mass, step.inverse
            if body.loose and term.static is not None:
                vectors[_SPACE, i] = term.static
            if term.free is not None:
                vectors[_UNFORCED, i], conserving[i] = term.free, True
        motion.start_motion(vectors, matrices, conserving, dt)
        return cls(bodies, poses, passive, vectors, matrices, dt)

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[GroupMotion, int]]) -> GroupMotion:
        """Return the motion of bodies, each in a place of some motion."""
        first, index = rows[0][0], [i for _, i in rows]
        bodies = [motion.bodies[i] for motion, i in rows]
        if all(motion is first for motion, _ in rows):
            if index == [*range(len(first.bodies))]:
                return first
            poses, passive = first.poses[index], first.passive[index]
            # Indexed arrays would have another layout, for which the kernels compile again.
            vectors, matrices = (
                first.vectors.take(index, axis=1),
                first.matrices.take(index, axis=1),
            )
        else:
            poses, passive = (
                np.stack([getattr(motion, name)[i] for motion, i in rows])
                for name in ('poses', 'passive')
            )
            vectors, matrices = (
                np.stack([getattr(motion, name)[:, i] for motion, i in rows], axis=1)
                for name in ('vectors', 'matrices')
            )
        return cls(bodies, poses, passive, vectors, matrices, first.dt)

    @property
    def inverses(self) -> np.ndarray:
        """(k, 6, 6) of the inverses of M + dt D, in the axes before the step."""
        return self.matrices[_TURNED_INVERSE]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels need of it to advance the bodies, besides their poses."""
        return self.passive, self.vectors, self.matrices, self.dt, _MAX_ITERATIONS

    def prediction(self) -> StepPrediction:
        """Return the steps of all bodies as one, their velocities stacked, in axes before it.

        Contacts and joints have their directions in these axes. In those after the step, a ball
        that rolls at ω with v would seem to rise at v sin(ω dt), and sink in.
        """
        k, free = len(self.bodies), self.vectors[_TURNED].reshape(-1)
        if k == 1:
            return StepPrediction(
                self.matrices[_TURNED_MASS, 0], self.matrices[_TURNED_INVERSE, 0], free, self.dt
            )
        each, blocks = np.arange(k), np.zeros((2, k, 6, k, 6))
        blocks[0, each, :, each] = self.matrices[_TURNED_MASS]
        blocks[1, each, :, each] = self.matrices[_TURNED_INVERSE]
        mass, inverse = blocks.reshape(2, 6 * k, 6 * k)
        return StepPrediction(mass, inverse, free, self.dt)

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
        from marine_sim_ros.physics.contact.kernels import motion

        wrenches, poses, velocities, changes = motion.advance_bodies(
            self.poses, self.passive, self.vectors, self.matrices, wrench, self.dt, _MAX_ITERATIONS
        )
        if changes.max() > CONVERGENCE_TOLERANCE:
            body = self.bodies[int(changes.argmax())]
            raise convergence_error(body.vehicle, body.state.velocity, self.dt)
        states = zip(poses[:, :3], poses[:, 3:], velocities, strict=True)
        return wrenches, [State(*row) for row in states]


class PassiveBodies(NamedTuple):
    """Passive bodies as one vehicle with an axis of bodies before all of its quantities.

    Attributes:
        names: b names.
        vehicle: the vehicle that the functions of physics take, with a batch of b states.
        constants: (b, 6, 6, 6) of their equations, as the kernel takes them.
        lumped: levers (b, 2, 6, 3), masses, volumes and heights (b, 3), likewise.
    """

    names: tuple[str, ...]
    vehicle: Vehicle
    constants: np.ndarray
    lumped: tuple[np.ndarray, np.ndarray]

    @classmethod
    def groups(cls, bodies: Mapping[str, Vehicle]) -> list[PassiveBodies]:
        """Return the bodies with voxels, and those without."""
        result = []
        for has_voxels in (False, True):
            names = tuple(n for n, v in bodies.items() if (_voxels(v) is not None) == has_voxels)
            if names:
                own = [bodies[name] for name in names]
                constants = np.array([_constants(vehicle) for vehicle in own])
                levers = np.array([[v.inertia.lever, v.buoyancy.lever] for v in own])
                lumped = [[v.inertia.mass, v.buoyancy.volume, v.buoyancy.height] for v in own]
                result.append(
                    cls(names, _stack_vehicles(own), constants, (levers, np.array(lumped)))
                )
        return result

    def motion(
        self,
        bodies: Mapping[str, ContactBody],
        states: BodyStates,
        environment: Environment,
        dt: float,
    ) -> GroupMotion:
        """Return their motion without contact.

        Args:
            bodies: these bodies at this tick, by name.
            states: their states, in the same order.
            environment: environment at its time.
            dt: step, s.

        Raises:
            RunError: the iterations do not converge: the step is too large.
        """
        from marine_sim_ros.physics.contact.kernels import prediction

        own, poses, velocity = [bodies[n] for n in self.names], states.poses, states.velocities
        state = State(poses[:, :3], poses[:, 3:], velocity)
        if environment.is_flat and self.vehicle.hull is None:
            fluid_density = self.vehicle.buoyancy.fluid_density
            density = np.empty((len(own), 1))
            density[:] = environment.density(state.position, fluid_density)
            static = prediction.static_wrenches(
                *self.lumped, density[:, 0], poses, environment.gravity
            )
        else:
            static = weight(self.vehicle, state, environment)
            static = static + buoyancy(self.vehicle, state, environment)
        water = acceleration = np.zeros_like(static)
        if not environment.is_still:
            water = water_velocity(state, environment)
            acceleration = water_acceleration(state, environment)
        vectors, matrices, changes = prediction.predict_bodies(
            self.constants, velocity, water, acceleration, static, dt, _MAX_ITERATIONS
        )
        if changes.max() > CONVERGENCE_TOLERANCE:
            body = own[int(changes.argmax())]
            raise convergence_error(body.vehicle, body.state.velocity, dt)
        return GroupMotion(own, poses, np.ones(len(own), bool), vectors, matrices, dt)


def _constants(vehicle: Vehicle) -> list[np.ndarray]:
    """Return the matrices of a passive body of :attr:`PassiveBodies.constants`."""
    drag = vehicle.damping
    masses = [vehicle.mass_matrix, vehicle.rigid_body_mass, vehicle.added_mass]
    return [*masses, drag.lever_arm, drag.linear, drag.quadratic]


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
