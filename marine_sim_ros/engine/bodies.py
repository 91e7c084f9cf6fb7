# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies in compiled programs: the body simulation of NumPy, called back at every tick.

A program computes the vehicle, and calls Python for bodies, joints and all contact. The state of
the bodies is a row of numbers in the memory of the force ``contact``, so a step stays a pure
function of its memory: batches, resets and repeated runs need nothing else.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from threading import Lock
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.arrays import Array, host_call
from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.state import NANOSECONDS, State, is_physical
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.model.body_joints import SOLE_VEHICLE
from marine_sim_ros.model.free_bodies import tethered_bodies
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.contact.contact import MAX_PAIRS
from marine_sim_ros.physics.contact.group_motion import ContactBody
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.sim.step import (
    Memory,
    PreparedStep,
    StepCommands,
    StepOutput,
    Stepping,
    advance,
    finish_step,
    prepare_step,
)

__all__ = ['CompiledBodies']

_CONTACT = 'contact'
_MAX_NEIGHBOURS = 12
"""Upper bound of the bodies that one body of a heap touches, on average."""
_OWN_BYTES, _NODE_BYTES, _PAIR_BYTES, _CONTACT_BYTES = 2048, 512, 512, 32
"""Upper bounds of the memory of a body or joint, of a node of a cable, of a pair of bodies, and of
a contact of it."""


class CompiledBodies:
    """Free bodies of an environment with one vehicle, for compiled programs.

    Attributes:
        changes: changes of the bodies; each applies from its time on.
        failure: error that ended the motion of bodies, or None; states are NaN from then on.
        simulation: bodies as at the last tick that was computed; None without bodies.
    """

    def __init__(self, environment: Environment, dt: float) -> None:
        """Place the bodies at their start.

        Args:
            environment: the environment, with all changes of its bodies.
            dt: step, s.
        """
        self.changes = environment.body_changes
        self.failure: RunError | None = None
        self.simulation: BodySimulation | None = None
        if not environment.free_bodies:
            return
        self.simulation = BodySimulation(environment, dt)
        self._lock = Lock()
        joints, bodies = environment.body_joints, environment.free_bodies
        nodes = sum(tether.segments + 1 for tether in tethered_bodies(bodies).values())
        shapes = {
            'bodies': (len(bodies), 13),
            'body_joints': (sum(joint.is_reported for joint in joints),),
            'body_cables': (nodes, 3),
        }
        self._shapes = {name: shape for name, shape in shapes.items() if shape[0]}
        count = len(bodies) + 1
        pairs = count * min(count + 1, _MAX_NEIGHBOURS) // 2
        start = pickle.dumps(self.simulation.snapshot())
        size = len(start) + _OWN_BYTES * (count + len(joints)) + _NODE_BYTES * nodes
        size += pairs * (_PAIR_BYTES + _CONTACT_BYTES * MAX_PAIRS)
        self._start = _pack(start, size // 4)

    def advance(
        self,
        vehicle: Vehicle,
        environment: Environment,
        memory: Memory,
        commands: StepCommands,
        stepping: Stepping,
        **options: Any,
    ) -> tuple[StepOutput, Memory]:
        """Return a tick and the memory after it, as :func:`~marine_sim_ros.sim.step.advance`."""
        inputs = vehicle, environment, memory, commands, stepping
        if self.simulation is None:
            return advance(*inputs, **options)
        prepared = prepare_step(*inputs, deferred=(_CONTACT,), **options)
        row = memory.forces[_CONTACT]
        wrench, row, outputs = self._tick(prepared, self._start if row is None else row)
        forces = {**prepared.memory.forces, _CONTACT: row}
        prepared = prepared._replace(memory=prepared.memory._replace(forces=forces))
        output, after = finish_step(prepared, {_CONTACT: wrench})
        if (jaws := commands.actuators.get(GRIPPER)) is not None:
            output.actuators[GRIPPER] = jaws
        return output._replace(**outputs), after

    def _tick(self, prepared: PreparedStep, row: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Return the vehicle's contact wrench (6,), the row after the tick, and the outputs."""
        body, environment, motion = prepared.body, prepared.environment, prepared.memory.joints
        _ = body.contact  # found here, because it may be traced
        arm = body.manipulator
        joints = jnp.zeros(0) if arm is None or motion is None else motion.position
        jaws = prepared.commands.actuators.get(GRIPPER, jnp.zeros(1))
        records, numbers = zip(*map(_split, (body, environment)), strict=True)

        def tick(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            if arrays[0].ndim > 1:  # a batch
                rows = [tick(*member) for member in zip(*arrays, strict=True)]
                return tuple(map(np.stack, zip(*rows, strict=True)))
            row, joints, jaws, *values = arrays
            state, found = State(*values[:3]), iter(values[3:])
            posed_body, water = (join(found) for join in records)
            contact_body = ContactBody(
                posed_body,
                state,
                prepared.stepping.integrator,
                links=None if arm is None else link_poses(arm, joints),
                closing=bool(jaws[0] > 0.5),
            )
            return self._compute(row, water, contact_body)

        shapes = ((6,), row.shape, *self._shapes.values())
        inputs = (row, joints, jaws, *prepared.memory.state, *numbers[0], *numbers[1])
        wrench, row, *outputs = host_call(tick, shapes, *map(jnp.asarray, inputs))
        return wrench, row, dict(zip(self._shapes, outputs, strict=True))

    def _compute(
        self, row: np.ndarray, environment: Environment, vehicle: ContactBody
    ) -> tuple[np.ndarray, ...]:
        """Return wrench, next row and outputs of a tick from arrays of NumPy."""
        time, state = float(environment.time), vehicle.state
        changes = tuple(c for c in self.changes if c.start <= time)
        nothing = (np.full(shape, np.nan) for shape in self._shapes.values())
        if not is_physical(state.position, state.velocity):
            return np.full(6, np.nan), row, *nothing
        stamp, water = round(time * NANOSECONDS), environment.with_body_changes(changes)
        simulation = self.simulation
        assert simulation is not None
        try:
            with self._lock, np.errstate(over='ignore', invalid='ignore'):
                simulation.resume(_unpack(row))
                wrenches = simulation.tick(stamp, water, {SOLE_VEHICLE: vehicle})
                outputs = simulation.output()
                row = _pack(pickle.dumps(simulation.snapshot()), len(row))
        except RunError as error:
            self.failure = self.failure or error
            return np.full(6, np.nan), row, *nothing
        return wrenches[SOLE_VEHICLE], row, *(outputs[name] for name in self._shapes)


# The state of bodies as a row: the words of its pickle, which every float64 holds exactly.


def _pack(data: bytes, size: int) -> np.ndarray:
    """Return data as a row (size,).

    Raises:
        RunError: it is longer.
    """
    if len(data) > 4 * size:
        raise RunError(
            f'engine jax: the state of all bodies takes {len(data)} bytes in place of at most '
            f'{4 * size}; expected engine numpy'
        )
    row = np.zeros(size)
    row[: -(-len(data) // 4)] = np.frombuffer(data + bytes(-len(data) % 4), '<u4')
    return row


def _unpack(row: np.ndarray) -> Any:
    """Return the object of a row."""
    return pickle.loads(row.astype('<u4').tobytes())


# Records with traced numbers, which go to Python as arguments of the call.

_Path = tuple[str, ...]
_Record = TypeVar('_Record', bound=Any)


def _split(record: _Record) -> tuple[Callable[[Iterator[np.ndarray]], _Record], list[Array]]:
    """Return the traced numbers of a record, and a function that makes one of others."""
    found = dict(_traced_numbers(record))
    template = record
    for path in found:  # a copy, for the record may store traced properties later
        template = _with_number(template, path, None)

    def join(numbers: Iterator[np.ndarray]) -> _Record:
        result = template
        for path, number in zip(found, numbers, strict=False):
            result = _with_number(result, path, number if number.ndim else number.item())
        return result

    return join, list(found.values())


def _traced_numbers(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Array]]:
    """Yield the path and value of each traced number in a record."""
    if hasattr(value, 'aval'):
        yield path, value
    elif isinstance(value, Mapping):
        for name, child in value.items():
            yield from _traced_numbers(child, (*path, name))
    elif is_dataclass(value) and hasattr(value, '__dict__') and not isinstance(value, type):
        yield from _traced_numbers(vars(value), path)


def _with_number(value: Any, path: Sequence[str], number: Any) -> Any:
    """Return a record with a number at a path; parts beside the path stay the same objects."""
    if not path:
        return number
    name, *rest = path
    if isinstance(value, Mapping):
        return {**value, name: _with_number(value[name], rest, number)}
    result = object.__new__(type(value))
    result.__dict__.update(vars(value))
    result.__dict__[name] = _with_number(vars(value)[name], rest, number)
    return result
