# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stepper: N vehicles advanced by a few ticks per call, for learning and planning."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.state import NANOSECONDS, State, step_nanoseconds
from marine_sim_ros.engine.availability import wait_for_programs
from marine_sim_ros.engine.batch import BLOCK
from marine_sim_ros.engine.bodies import CompiledBodies
from marine_sim_ros.engine.compiled import is_scalarisable
from marine_sim_ros.engine.components import Components, components, join_components
from marine_sim_ros.engine.loop import broadcast_carry, initial_loop_memory, slot_value
from marine_sim_ros.engine.program import compile_program
from marine_sim_ros.engine.thrust_tables import prepare_vehicle
from marine_sim_ros.engine.trees import (
    Slot,
    TreeLayout,
    compute_cached_properties,
    fill_slots,
    pack_tree,
    slot_arguments,
    stack_records,
)
from marine_sim_ros.engine.xla_rewrites import reuse_common_values
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.tables import FaultTables
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.step import Memory, StepCommands, Stepping, begin

__all__ = ['LastForces', 'MotionSetting', 'Stepper', 'VehicleMotion', 'states_in_memory']


# A compiled function of many vehicles, one column of numbers each, in blocks by threads.

MIN_THREAD_COLUMNS = 128
"""Smallest number of vehicles for a further thread."""
COLUMN_GROUP = 32
"""Vehicles traced together. Contact is skipped in a group without a vehicle near the ground."""


class ColumnFunction:
    """Compiled function of columns (k, N)."""

    def __init__(
        self,
        function: Callable[..., Any],
        widths: Sequence[int],
        size: int,
        *,
        subject: str,
        written_out: bool,
        together: bool,
    ) -> None:
        """Compile.

        Args:
            function: ``function(one, *columns)`` of a 1.0 that is no constant to the compiler, and
                columns (k, *batch); returns a tuple of columns.
            widths: numbers k of each column.
            size: usual number N of vehicles; calls with another are possible.
            subject: what is compiled, for error messages.
            written_out: whether it computes with
                :class:`~marine_sim_ros.engine.components.Components`.
            together: whether it is traced for a whole batch.
        """
        wait_for_programs()
        cores = max(os.cpu_count() or 1, 1)
        threads = min(cores, max(size // MIN_THREAD_COLUMNS, 1))
        self._block = min(BLOCK, -(-size // threads))
        self._map = ThreadPoolExecutor(threads).map if threads > 1 else map
        run = (
            function if together else _map_columns(function, None if written_out else COLUMN_GROUP)
        )
        shapes = [np.zeros((k, self._block)) for k in widths]
        self._program = compile_program(run, 1.0, *shapes, subject=subject)

    def __call__(self, *columns: np.ndarray) -> list[np.ndarray]:
        """Return the results (m, N) of columns (k, N)."""
        count, size = columns[0].shape[1], self._block

        def block(start: int) -> list[np.ndarray]:
            if start + size <= count:
                inputs = [x[:, start : start + size] for x in columns]
            else:  # the program has a fixed size: repeat the last vehicle
                rows = np.minimum(np.arange(start, start + size), count - 1)
                inputs = [x[:, rows] for x in columns]
            return list(self._program(1.0, *inputs))

        parts = list(self._map(block, range(0, count, size)))
        return [np.concatenate(p, axis=1)[:, :count] for p in zip(*parts, strict=True)]


def _map_columns(function: Callable[..., Any], group_size: int | None) -> Callable[..., Any]:
    """Return a function of columns (k, N) from a function of columns (k,).

    Args:
        function: function of a 1.0 and columns.
        group_size: vehicles at a time; None: one after the other, each with its own branches.
    """

    def run(one: jax.Array, *columns: jax.Array) -> Any:
        rows = tuple(jnp.moveaxis(x, -1, 0) for x in columns)
        outputs = jax.lax.map(
            lambda columns_of_vehicle: function(one, *columns_of_vehicle),
            rows,
            batch_size=group_size,
        )
        return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), outputs)

    return run


# Vehicles advanced by a few ticks at a time.

MIN_SAVED_OPERATIONS = 32
"""Operations that storing a value must save; in a long loop, where storing costs less, fewer."""


class LastForces(NamedTuple):
    """Inputs of sensors besides the state, from the last tick of a step.

    Attributes:
        acceleration: (..., 6) rate of change of the velocity, m/s² and rad/s².
        power: (..., n) of the thrusters, W.
    """

    acceleration: Array
    power: Array


@dataclass(frozen=True, eq=False)
class MotionSetting:
    """Vehicle, environment and faults of its thrusters; its numbers may differ in a batch."""

    vehicle: Vehicle
    environment: Environment
    faults: FaultTables | None = None


def _prepare_setting(setting: MotionSetting) -> MotionSetting:
    """Return a setting with its constants and look-up tables computed."""
    vehicle = prepare_vehicle(setting.vehicle, setting.environment)
    environment = setting.environment.with_jaws(vehicle)
    return compute_cached_properties(replace(setting, vehicle=vehicle, environment=environment))


def states_in_memory(memory: np.ndarray) -> State:
    """Return the states (N, 3), (N, 4), (N, 6), the first numbers of memories (k, N)."""
    return State(memory[:3].T, memory[3:7].T, memory[7:13].T)


class VehicleMotion:
    """Traceable step of a vehicle in its environment.

    A vehicle's memory is a column (k, *batch) of numbers that begins with its state: position,
    orientation, velocity. A column is of one vehicle, (k,), or where :attr:`together` of a batch,
    (k, N).

    Attributes:
        written_out: whether a step is computed number by number, see
            :mod:`marine_sim_ros.engine.components`.
        together: whether vehicles of a batch are traced together: without hull and number by
            number. The rows of a hull fill the cache already.
        size: k, numbers of a memory.
        varied: a, numbers of a vehicle that differ from those of others, see :meth:`numbers_of`.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        environment: Environment,
        *,
        ticks: int,
        dt: float,
        variations: Sequence[MotionSetting] = (),
    ) -> None:
        """Compute the constants of the step.

        Args:
            vehicle: the vehicle; its actuators besides thrusters rest.
            environment: its steady current is not used.
            ticks: number of ticks of one step.
            dt: tick, s.
            variations: settings that differ wherever those of the vehicles may differ; none: all
                are alike.

        Raises:
            MarineSimError: a vehicle of which no program can be made, or variations that differ
                in structure.
        """
        settings = [*map(_prepare_setting, variations or [MotionSetting(vehicle, environment)])]
        self._first = settings[0]
        self._template, arguments = stack_records(settings)
        self._widths = [len(a) for a in arguments]
        self.varied = sum(self._widths)
        self.vehicle, self.environment = self._first.vehicle, self._first.environment
        self.written_out = is_scalarisable(self.vehicle, self.environment, self._first.faults)
        self.together = self.written_out and vehicle.hull is None
        self._ticks = ticks
        self._stepping = Stepping(step_nanoseconds(dt) / NANOSECONDS)
        self._advance = CompiledBodies(self.environment, self._stepping.dt).advance
        shapes = [np.zeros(k) for k in (self.varied, 3, 4, 3, 1)]
        self._layout = TreeLayout(jax.eval_shape(self._initial_memory, *shapes))
        self.size = self._layout.size

    @property
    def rests_alike(self) -> bool:
        """Whether memories at rest differ in position and attitude only."""
        return self.together and self.vehicle.manipulator is None and not self.varied

    def numbers_of(self, settings: Sequence[MotionSetting]) -> np.ndarray:
        """Return the numbers (a, n) by which n settings differ from others.

        Raises:
            ParameterError: they differ where the variations did not.
        """
        prepared = [_prepare_setting(setting) for setting in settings]
        columns = slot_arguments(self._template, prepared)
        return np.concatenate([np.zeros((0, len(settings))), *columns])

    def _setting(self, numbers: Any) -> MotionSetting:
        """Return the traced setting of numbers (a, *batch)."""
        if not self.varied:
            return self._first
        arguments = jnp.split(numbers, np.cumsum(self._widths)[:-1])

        def fill(value: Any) -> Any:
            is_slot = isinstance(value, Slot)
            return slot_value(value, arguments, written_out=self.written_out) if is_slot else value

        return fill_slots(self._template, fill)

    def to_program(self, numbers: Any, axes: int = 1) -> Any:
        """Return numbers (..., *batch) in the type of the step; ``axes`` precede the batch."""
        return components(numbers, axes) if self.written_out else numbers

    def to_arrays(self, value: Any, batch: tuple[int, ...]) -> jax.Array:
        """Return values of the step's type as arrays (..., *batch)."""
        if isinstance(value, Components):
            return join_components(value, batch, float)
        return jnp.asarray(value, float)

    def _initial_memory(
        self, numbers: Any, position: Any, orientation: Any, current: Any, time: Any
    ) -> Memory:
        batch, setting = position.shape[1:], self._setting(numbers)
        vehicle, environment = setting.vehicle, setting.environment
        start = State(*map(self.to_program, (position, orientation, jnp.zeros((6, *batch)))))
        memory = initial_loop_memory(vehicle, environment, start, setting.faults)
        if not self.together:
            # The forces' memory of a previous tick is what they compute at the initial state.
            pwm = self.to_program(jnp.full((len(vehicle.thrusters), *batch), PWM_NEUTRAL))
            environment = environment.at(self.to_program(time)[0]).with_current(
                self.to_program(current)
            )
            first = begin(vehicle, environment, start)
            _, after = self._advance(
                vehicle, environment, first, StepCommands(pwm), self._stepping, since=0.0
            )
            memory = memory._replace(forces=after.forces, arm=after.arm)
        return broadcast_carry(memory, batch, float)  # type: ignore[no-any-return]

    def initial_row(
        self, numbers: Any, position: Any, orientation: Any, current: Any, time: Any
    ) -> jax.Array:
        """Return the memory (k, *batch) of a vehicle that was at rest in the tick before.

        Args:
            numbers: (a, *batch) from :meth:`numbers_of`.
            position: (3, *batch) m, map.
            orientation: (4, *batch) x, y, z, w.
            current: (3, *batch) m/s, map.
            time: (1, *batch) s.
        """
        memory = self._initial_memory(numbers, position, orientation, current, time)
        return pack_tree(memory, position.shape[1:])

    def step(
        self,
        memory: Any,
        pulses: Callable[[Any], Any],
        current: Any,
        time: Any,
        one: Any,
        *,
        numbers: Any = None,
        elapsed: Any = None,
    ) -> tuple[jax.Array, LastForces, State]:
        """Return the memory (k, *batch) a step later, the forces of its last tick, and the state.

        Args:
            memory: (k, *batch).
            pulses: function of the time since the start of the step, s, that returns pulse widths
                (n,) in µs, converted by :meth:`to_program`.
            current: (3, *batch) m/s, map.
            time: (1, *batch) at the start, s.
            one: () 1.0 that is no constant to the compiler.
            numbers: (a, *batch) from :meth:`numbers_of`; None where there are none.
            elapsed: (1, *batch) time by which faults begin and end, s; None: ``time``.
        """
        batch, dtype, dt = memory.shape[1:], memory.dtype, self._stepping.dt
        flow, start_time = self.to_program(current), self.to_program(time)[0]
        fault_time = start_time if elapsed is None else self.to_program(elapsed)[0]
        setting = self._setting(numbers)

        def tick(carry: Any, number: Any) -> Any:
            around = setting.environment.at(start_time + number * dt).with_current(flow)
            faults = None
            if setting.faults is not None:
                now = fault_time + number * dt
                faults = setting.faults.at(namespace(now), now)
            commands = StepCommands(pulses(number * dt), faults=faults)
            output, after = self._advance(
                setting.vehicle, around, carry[0], commands, self._stepping, since=dt
            )
            forces = LastForces(output.acceleration, output.thrusters.power)
            return broadcast_carry((after, forces), batch, dtype)

        first = self._layout.unpack(memory)
        _, shapes = jax.eval_shape(tick, (first, None), jnp.zeros(()))
        zero_forces = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        tick_once = reuse_common_values(tick, one, batch, MIN_SAVED_OPERATIONS)
        (after, forces), _ = jax.lax.scan(
            lambda now, i: (tick_once(now, i), None),
            (first, zero_forces),
            jnp.arange(self._ticks, dtype=dtype),
        )
        return pack_tree(after, batch), forces, after.state

    def columns(self, function: Any, widths: list[int], size: int) -> ColumnFunction:
        """Return a compiled function of columns of N vehicles, see :class:`ColumnFunction`."""
        return ColumnFunction(
            function,
            widths,
            size,
            subject=self.vehicle.name,
            written_out=self.written_out,
            together=self.together,
        )


class Stepper:
    """N copies of a vehicle, each in its own current, advanced by a few ticks per call."""

    def __init__(
        self,
        vehicle: Vehicle,
        *,
        size: int,
        ticks: int = 10,
        dt: float = 0.01,
        environment: Environment | None = None,
    ) -> None:
        """Compile.

        Args:
            vehicle: the vehicle; its actuators besides thrusters rest.
            size: N.
            ticks: number of ticks of one step.
            dt: tick, s.
            environment: its steady current is not used; None: still water.

        Raises:
            MarineSimError: a vehicle of which no program can be made.
        """
        motion = VehicleMotion(vehicle, environment or Environment(), ticks=ticks, dt=dt)
        thrusters = len(vehicle.thrusters)

        def step(one: Any, memory: Any, pwm: Any, current: Any, time: Any) -> tuple[Any]:
            widths = motion.to_program(pwm)
            after, *_ = motion.step(memory, lambda _: widths, current, time, one)
            return (after,)

        self._begin = motion.columns(
            lambda one, *start: (motion.initial_row(None, *start),), [3, 4, 3, 1], size
        )
        self._step = motion.columns(step, [motion.size, thrusters, 3, 1], size)

    def at_rest(
        self,
        position: np.ndarray,
        orientation: np.ndarray,
        current: np.ndarray | None = None,
        time: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the memories (k, N) of vehicles at rest, see :func:`states_in_memory`.

        Args:
            position: (N, 3) m, map.
            orientation: (N, 4) x, y, z, w.
            current: (N, 3) m/s, map; None: none.
            time: (N,) s; None: 0.
        """
        return self._begin(
            position.T, orientation.T, *_environment_columns(len(position), current, time)
        )[0]

    def step(
        self,
        memory: np.ndarray,
        pwm: np.ndarray,
        current: np.ndarray | None = None,
        time: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the memories (k, N) after a step.

        Args:
            memory: (k, N) at the start.
            pwm: (N, n) constant pulse widths, µs.
            current: (N, 3) velocity of the water in map, m/s; None: none.
            time: (N,) at the start, s; None: 0.
        """
        return self._step(memory, pwm.T, *_environment_columns(len(pwm), current, time))[0]


def _environment_columns(
    count: int, current: np.ndarray | None, time: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    current_columns = np.zeros((3, count)) if current is None else current.T
    return current_columns, np.zeros((1, count)) if time is None else np.reshape(time, (1, count))
