# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled programs of a single tick, for nodes: a controller and a vehicle.

``CompiledLoop`` answers a state with pulse widths; the node ``controller`` calls it. Which
thrusters have failed is an argument of its program, so that none is compiled when one fails.

``CompiledVehicle`` makes a step of ``simulate --engine jax`` with commands from outside;
ros/owners/compiled.py calls it. Its programs are made for what is there at the start, and anew
where that changes: faults, gusts, or a current on a topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.control.allocator import Allocation, Allocator
from marine_sim_ros.control.closed_loop import ClosedLoop, LoopOutput, begin_loop, loop_step
from marine_sim_ros.control.controller_model import ControllerSettings, find_controller_model
from marine_sim_ros.core.arrays import namespace
from marine_sim_ros.core.state import NANOSECONDS, State, rest
from marine_sim_ros.engine.availability import precision, wait_for_programs
from marine_sim_ros.engine.compiled import is_scalarisable
from marine_sim_ros.engine.components import Components, components
from marine_sim_ros.engine.loop import (
    broadcast_carry,
    initial_loop_memory,
    report_arrays,
    starts_without_memory,
)
from marine_sim_ros.engine.program import ProgramCache, RowProgram, compile_row_program
from marine_sim_ros.engine.script import make_control
from marine_sim_ros.engine.thrust_tables import allocation_tables, with_thruster_curves
from marine_sim_ros.engine.trees import (
    TreeLayout,
    compute_cached_properties,
    have_same_values,
    tree_row,
)
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.tables import FaultTables
from marine_sim_ros.faults.thrusters import FaultMemory
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces, actuators_of
from marine_sim_ros.sim.step import Memory, StepCommands, StepOutput, Stepping, advance, begin

__all__ = ['CompiledLoop', 'CompiledVehicle', 'fastest_loop']


# A controller that answers a state with one call of a compiled program, for the compiled graph.

TIME_TOLERANCE = 1e-9
"""s; two times whose difference is this near to a step are a step apart."""


_CONTROLLER_PROGRAMS: ProgramCache[RowProgram] = ProgramCache()
"""From a row of memory, targets, state and allocation to the memory afterwards and the answer."""


def _allocation_row(allocator: Allocator, failed: np.ndarray) -> np.ndarray:
    """Return the numbers of an allocation without thrusters (n,), as many as with all."""
    none = np.zeros(len(failed), bool)
    both = allocation_tables(allocator, [none, failed], whole=True).tables
    return np.concatenate([table[1].reshape(-1) for table in both.values()])


def _compile_controller(vehicle: Vehicle, settings: ControllerSettings, dt: float) -> RowProgram:
    none = np.zeros(len(vehicle.thrusters), bool)
    control = compute_cached_properties(
        make_control(vehicle, settings, [True], [none], whole=True)
    )
    extended = control.allocation.extended
    shapes = {name: table.shape[1:] for name, table in control.allocation.tables.items()}

    def to_program(x: Any) -> Any:
        array = jnp.asarray(x, float)
        return components(array, array.ndim) if control.scalarisable else array

    def initial_memory(state: State) -> Any:
        start = State(*map(to_program, state))
        memory = begin_loop(control.law, len(none), start, dt=dt, extended=extended)
        return broadcast_carry(memory, (), jnp.float64)

    with precision('float64'):
        memory = TreeLayout(jax.eval_shape(initial_memory, rest()))
    sizes = [memory.size, 12, 3, 4, 6, 1, *(int(np.prod(s)) for s in shapes.values())]
    ends = np.cumsum(sizes)[:-1]

    def answer_row(row: jax.Array) -> tuple[Any, Any]:
        kept, wanted, *state, since, rest_ = jnp.split(row, ends[:6])[:7]
        parts = jnp.split(rest_, ends[6:] - ends[5])
        tables = {
            name: to_program(part.reshape(shape))
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }
        output, after = loop_step(
            control.law,
            replace(control.allocation, **tables),
            to_program(wanted),
            State(*map(to_program, state)),
            memory.unpack(kept),
            dt=to_program(since[0]),
            stages=control.stages,
        )
        answer = report_arrays({**vars(output.allocation), 'wrench': output.wrench}, row.dtype)
        return broadcast_carry(after, (), row.dtype), answer

    return compile_row_program(answer_row, sum(sizes), subject=vehicle.name, round_each=True)


class CompiledLoop(ClosedLoop):
    """A closed loop whose memory is a time and a row of numbers."""

    def __init__(self, vehicle: Vehicle, settings: ControllerSettings, *, dt: float) -> None:
        """Compile for states that are dt (s) apart.

        Raises:
            MarineSimError: JAX is missing, or settings that do not fit the vehicle.
        """
        super().__init__(vehicle, settings)
        wait_for_programs()
        make = partial(_compile_controller, vehicle, settings, dt)
        self._program, self._dt = (
            _CONTROLLER_PROGRAMS.find_or_make(vehicle, (settings, dt), make),
            dt,
        )
        self._plans: dict[bytes, np.ndarray] = {}

    def _allocation_without(self, failed: np.ndarray | None) -> np.ndarray:
        """Return the numbers of the allocation with some thrusters (n,) left out."""
        mask = np.zeros(self._count, bool) if failed is None else failed
        key = mask.tobytes()
        if key not in self._plans:
            self._plans[key] = _allocation_row(self._allocator, mask)
        return self._plans[key]

    def _begin(self, state: State) -> np.ndarray:
        begun = begin_loop(
            self.law, self._count, state, dt=self._dt, extended=self._allocator.extended
        )
        return tree_row(begun)

    def _answer(
        self,
        wanted: np.ndarray,
        state: State,
        memory: np.ndarray,
        dt: float,
        failed: np.ndarray | None,
    ) -> tuple[LoopOutput, np.ndarray]:
        since = self._dt if abs(dt - self._dt) < TIME_TOLERANCE else dt
        given = [memory, wanted, *state, (since,), self._allocation_without(failed)]
        out = self._program(np.concatenate(given))
        after, report = self._program.layouts
        size = after.size
        answer = report.unpack(out[size:])
        wrench = answer.pop('wrench')
        found = Allocation(**answer | {'saturated': bool(answer['saturated'])})
        return LoopOutput(found.pwm, wrench, found), out[:size]


def fastest_loop(vehicle: Vehicle, settings: ControllerSettings, *, dt: float) -> ClosedLoop:
    """Return the loop that takes the least time for states that are dt (s) apart.

    A law that keeps its arrays, for it remembers a window of the past, takes NumPy less.
    """
    if find_controller_model(settings).scalar:
        return CompiledLoop(vehicle, settings, dt=dt)
    return ClosedLoop(vehicle, settings)


# One vehicle, tick by tick: each tick is one call of a compiled program.

ZERO_WRENCH = np.full(6, -0.0)
"""Added to a sum it changes no bit of it, not even the sign of a zero."""


def _as_numpy_tree(tree: Any) -> Any:
    """Return a tree of NumPy arrays in place of Components of them."""

    def one(x: Any) -> np.ndarray:
        if not isinstance(x, Components):
            return np.asarray(x)
        shape = x.data.shape if x.length is None else (*x.data.shape[:-1], x.length)
        if x.length is None:
            return np.array([float(e) for e in x.data.flat]).reshape(shape)
        rows = [np.broadcast_to(np.asarray(e), (x.length,)) for e in x.data.flat]
        return np.stack(rows).reshape(shape)

    return jax.tree.map(one, tree, is_leaf=lambda x: isinstance(x, Components))


_TICK_PROGRAMS: ProgramCache[dict[Any, RowProgram]] = ProgramCache()
"""Programs of the same vehicle in the same water, from a row of memory and commands to the memory
afterwards and the output of the tick."""


class CompiledVehicle:
    """A vehicle that a compiled program moves on by a tick at a time.

    Attributes:
        compile_time: time that tracing and compiling took so far, s.
    """

    round_each = True
    """Round every product and every sum: a tick has the bits of ``simulate``."""
    _form: Any = None
    """What programs differ in beside the vehicle and what is around it."""

    def __init__(
        self,
        vehicle: Vehicle,
        environment: Environment,
        initial: State,
        stepping: Stepping,
        *,
        faults: FaultTables | None = None,
    ) -> None:
        """Compile.

        Args:
            vehicle: the vehicle to simulate.
            environment: around it, with gusts.
            initial: state at the first tick.
            stepping: step size and method of the integration.
            faults: faults of its thrusters, or None.

        Raises:
            MarineSimError: what cannot be compiled, or cannot start there.
        """
        wait_for_programs()
        forces = acting_forces(vehicle, environment)
        for force in forces:
            if force.check is not None:
                force.check(vehicle, initial, environment)
        self._vehicle = compute_cached_properties(with_thruster_curves(vehicle))
        if environment.scene is not None and len(environment.scene):
            _ = self._vehicle.contact  # a cached property that only a scene has a use for
        self._rest = {
            a.name: np.full(len(a.names(vehicle)), a.rest)
            for a in actuators_of(vehicle)
            if a.compiled
        }
        self._stepping = stepping
        self._initial = initial
        self._environment, self._faults = (
            compute_cached_properties(environment),
            compute_cached_properties(faults),
        )
        self._given_current = False
        self._written_out = self._scalarisable
        self._asked = faults
        kind = self._form, environment, faults, stepping, forces
        self._programs = _TICK_PROGRAMS.find_or_make(vehicle, kind, dict)
        self._pwm = np.zeros(0)
        self.compile_time = 0.0
        self.restart()

    def restart(self) -> None:
        """Go back to the initial state, with everything at rest."""
        self._first = True

        def memory(start: State) -> Memory:
            if self._starts_as_others:
                return initial_loop_memory(self._vehicle, self._environment, start, self._faults)
            return begin(self._vehicle, self._environment, start)

        def trace_memory(start: State) -> Memory:
            begun: Memory = broadcast_carry(
                memory(State(*map(self._to_program, start))), (), jnp.float64
            )
            return begun

        with precision('float64'):
            self._layout = TreeLayout(jax.eval_shape(trace_memory, self._initial))
        self._row = tree_row(memory(self._initial))
        self._prepare()

    @property
    def _starts_as_others(self) -> bool:
        """Whether the first tick has the program of the others."""
        return self._written_out and starts_without_memory(self._vehicle)

    def _to_program(self, x: Any) -> Any:
        """Return an array as the program computes with it."""
        array = jnp.asarray(x, float)
        return components(array, array.ndim) if self._written_out else array

    def change(self, environment: Environment, faults: FaultTables | None) -> None:
        """Go on with other currents, gusts and faults; the next tick has them."""
        before = self._environment
        if environment is before and faults is self._asked:
            return
        if not np.array_equal(environment.current, before.current) and not self._given_current:
            self._given_current = True
            self._programs = {}
        if not have_same_values(environment.gusts, before.gusts):
            self._programs = {}
        self._environment = compute_cached_properties(environment)
        asked, self._asked = self._asked, faults
        if not have_same_values(faults, asked):
            self._programs = {}
            self._change_faults(faults)

    def _change_faults(self, faults: FaultTables | None) -> None:
        """Let other faults happen; what is to be remembered of the past is."""
        # Never None again: past commands are kept for a later fault.
        before, self._faults = (
            self._faults,
            compute_cached_properties(faults or FaultTables(np.zeros(4))),
        )
        if self._first:
            self._written_out = self._written_out and self._scalarisable
            self.restart()
            return
        memory: Memory = self._layout.unpack(self._row)
        if self._written_out and not self._scalarisable:
            memory, self._written_out = _as_numpy_tree(memory), False
        if before is None:
            none = np.zeros(())
            known = FaultMemory(self._pwm, none, None, self._pwm, none, none, none)
            if self._written_out:
                known = jax.tree.map(lambda x: components(x, x.ndim), known)
            memory = memory._replace(propulsion=memory.propulsion._replace(faults=known))
        self._layout, self._row = TreeLayout(memory), tree_row(memory)
        self.before = self._layout, self._row

    @property
    def _scalarisable(self) -> bool:
        return is_scalarisable(self._vehicle, self._environment, self._faults)

    def _widths(self) -> list[int]:
        """Count the numbers of each input of a tick, in their order in a row."""
        actuators = map(len, self._rest.values())
        return [len(self._vehicle.thrusters), *actuators, 1, 1, 2, 6, 3]

    def _command_rows(self, commands: StepCommands) -> list[np.ndarray]:
        """Return the commands of thrusters and actuators, in the order of the inputs."""
        given = commands.actuators
        return [commands.pwm, *(given.get(name, rest) for name, rest in self._rest.items())]

    def _since(self, given: Any, *, first: bool) -> Any:
        """Return the time since the tick before: a number where programs differ in it."""
        if self._starts_as_others:
            return self._to_program(given)
        return 0.0 if first else self._stepping.dt

    def _compile(self, layout: TreeLayout, *, first: bool) -> RowProgram:
        """Return the program that goes on from a memory of a layout."""
        vehicle, ends = self._vehicle, np.cumsum(self._widths())[:-1]

        def tick_row(row: jax.Array) -> tuple[Any, Any]:
            memory = layout.unpack(row)
            parts = jnp.split(row[layout.size :], ends)
            pwm, *commanded, (moment,), (given,), stamp, external, current = parts
            time_ = self._to_program(moment)
            around = self._environment.at(time_)
            if self._given_current:
                around = around.with_current(self._to_program(current))
            acting = None
            if self._faults is not None:
                words = stamp.astype(jnp.uint32)
                acting = self._faults.at(namespace(time_), time_, words)
            commands = StepCommands(
                self._to_program(pwm),
                dict(zip(self._rest, map(self._to_program, commanded), strict=True)),
                acting,
                external=self._to_program(external),
            )
            since = self._since(given, first=first)
            happened, after = self._advance(vehicle, around, memory, commands, since)
            return broadcast_carry(after, (), row.dtype), report_arrays(happened, row.dtype)

        program = compile_row_program(
            tick_row,
            layout.size + sum(self._widths()),
            subject=vehicle.name,
            round_each=self.round_each,
        )
        self.compile_time += program.compile_time
        return program

    def _advance(
        self,
        vehicle: Vehicle,
        around: Environment,
        memory: Memory,
        commands: StepCommands,
        since: Any,
    ) -> tuple[Any, Memory]:
        """Return a program's outputs of a tick, and the memory after it."""
        return advance(vehicle, around, memory, commands, self._stepping, since=since)

    def _prepare(self) -> None:
        """Compile what this tick and the next ones need."""
        layout, first = self._layout, self._first
        for _ in range(4):  # memories of faults and forces take their shapes in few ticks
            layout, first = self._program(layout, first=first).layouts[0], False

    def _program(self, layout: TreeLayout, *, first: bool) -> RowProgram:
        key = layout.key, first and not self._starts_as_others
        if key not in self._programs:
            self._programs[key] = self._compile(layout, first=first)
        return self._programs[key]

    def tick(self, stamp: int, commands: StepCommands) -> tuple[StepOutput, State]:
        """Apply commands at a stamp, and return what happened and the state one step later.

        Args:
            stamp: stamp of the tick, ns: one step after the last one's, or 0 after a restart.
            commands: all that the vehicle follows, NumPy; faults and load are not used.
        """
        if not self._programs:
            self._prepare()
        since = 0.0 if self._first else self._stepping.dt
        external = ZERO_WRENCH if commands.external is None else commands.external
        inputs: Sequence[Any] = [
            self._row,
            *self._command_rows(commands),
            # The words are those of random.stamp_words.
            (stamp / NANOSECONDS, since, stamp >> 32, stamp & 0xFFFFFFFF),
            external,
            self._environment.current,
        ]
        program = self._program(self._layout, first=self._first)
        out = program(np.concatenate(inputs))
        after, report = program.layouts
        size = after.size
        self.before = self._layout, self._row
        self._layout, self._row = after, out[:size]
        self._first, self._pwm = False, commands.pwm
        output = report.unpack(out[size:])
        state = State(*(np.array(x) for x in self._state(out)))
        return output._replace(stamp=stamp), state

    def _state(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, orientation and velocity, which a memory begins with."""
        return row[:3], row[3:7], row[7:13]

    def force_memories(self, force: str) -> tuple[Any, Any]:
        """Return the memory of a force before and after the last tick, NumPy."""
        before, after = (
            _as_numpy_tree(layout.unpack(row).forces[force])
            for layout, row in (self.before, (self._layout, self._row))
        )
        return before, after
