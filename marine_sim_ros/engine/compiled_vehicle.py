# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled vehicle for simulator nodes: each tick is one call of a compiled program.

``CompiledVehicle`` computes the ticks of ``simulate --engine jax`` with commands from outside;
``ros/dynamics/compiled_node.py`` calls it. Its programs fit the environment and faults at the
start, and are compiled again where these change structure: other faults, gusts, or a current from
a topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.arrays import namespace
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.engine.availability import precision, wait_for_programs
from marine_sim_ros.engine.bodies import CompiledBodies
from marine_sim_ros.engine.compiled import is_scalarisable
from marine_sim_ros.engine.components import Components, components
from marine_sim_ros.engine.loop import (
    broadcast_carry,
    initial_loop_memory,
    report_arrays,
    starts_without_memory,
)
from marine_sim_ros.engine.program import ProgramCache, RowProgram, compile_row_program
from marine_sim_ros.engine.script import compiled_actuators
from marine_sim_ros.engine.thrust_tables import prepare_vehicle
from marine_sim_ros.engine.trees import (
    TreeLayout,
    compute_cached_properties,
    have_same_values,
    tree_row,
)
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.devices import FaultMemory
from marine_sim_ros.faults.tables import FaultTables
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.sim.step import Memory, StepCommands, StepOutput, Stepping, begin

__all__ = ['COMMON_INPUTS', 'ZERO_WRENCH', 'CompiledVehicle']

ZERO_WRENCH = np.full(6, -0.0)
"""No external wrench. A sum with −0.0 keeps all its bits, even the sign of a zero."""
COMMON_INPUTS = {'time': 1, 'since': 1, 'stamp': 2, 'external': 6, 'current': 3}
"""Lengths of the inputs of a tick that follow the commands in a row: time and step, s, the two
words of the stamp, external wrench, current in map, m/s."""
MAX_LAYOUTS = 4
"""Ticks that are compiled ahead: memories of faults and forces may change shape in the first few.
A later change is compiled when it occurs."""


def _as_numpy_tree(tree: Any) -> Any:
    """Return a tree with NumPy arrays in place of its Components."""

    def convert(x: Any) -> np.ndarray:
        if not isinstance(x, Components):
            return np.asarray(x)
        shape = x.data.shape if x.length is None else (*x.data.shape[:-1], x.length)
        if x.length is None:
            return np.array([float(e) for e in x.data.flat]).reshape(shape)
        rows = [np.broadcast_to(np.asarray(e), (x.length,)) for e in x.data.flat]
        return np.stack(rows).reshape(shape)

    return jax.tree.map(convert, tree, is_leaf=lambda x: isinstance(x, Components))


_CHANGEABLE = ('fields', 'tide', 'water_density', 'wind')
"""Fields of an environment, beside current and gusts, that a change in a run replaces."""
_TICK_PROGRAMS: ProgramCache[dict[Any, RowProgram]] = ProgramCache()
"""Programs by memory layout, for a vehicle in an environment: from a row of memory and commands to
the next memory and the output of the tick."""


class CompiledVehicle:
    """A vehicle that a compiled program advances one tick at a time.

    Attributes:
        compile_time: time that tracing and compiling took so far, s.
    """

    round_each = True
    """Round every product and every sum: a tick has the bits of ``simulate``."""
    _program_key: Any = None
    """Further part of the key of shared programs, for subclasses whose programs differ."""

    def __init__(
        self,
        vehicle: Vehicle,
        environment: Environment,
        initial: State,
        stepping: Stepping,
        *,
        faults: FaultTables | None = None,
    ) -> None:
        """Compile the programs of the first ticks.

        Args:
            vehicle: the vehicle to simulate.
            environment: the environment, with gusts.
            initial: state at the first tick.
            stepping: step size and method of the integration.
            faults: faults of its thrusters, or None.

        Raises:
            MarineSimError: a vehicle that cannot be compiled, or cannot start at this state.
        """
        wait_for_programs()
        forces = acting_forces(vehicle, environment)
        for force in forces:
            if force.check is not None:
                force.check(vehicle, initial, environment)
        self._vehicle = prepare_vehicle(vehicle, environment)
        self._rest = {
            a.name: np.full(len(a.names(vehicle)), a.rest) for a in compiled_actuators(vehicle)
        }
        self._bodies = CompiledBodies(environment, stepping.dt)
        self._stepping = stepping
        self._initial = initial
        self._environment = compute_cached_properties(environment)
        self._faults = compute_cached_properties(faults)
        self._requested_faults = faults
        self._current_is_input = False
        self._written_out = self._scalarisable
        key = self._program_key, environment, faults, stepping, forces
        self._programs: dict[Any, RowProgram] = {}
        if self._bodies.simulation is None:  # programs with bodies call those of their vehicle
            self._programs = _TICK_PROGRAMS.find_or_make(vehicle, key, dict)
        self._pwm = np.zeros(0)
        self.compile_time = 0.0
        self.restart()

    def restart(self) -> None:
        """Go back to the initial state, with everything at rest."""
        self._first = True

        def memory(start: State) -> Memory:
            if self._first_tick_is_regular:
                return initial_loop_memory(self._vehicle, self._environment, start, self._faults)
            return begin(self._vehicle, self._environment, start)

        def trace_memory(start: State) -> Memory:
            initial: Memory = broadcast_carry(
                memory(State(*map(self._to_program, start))), (), jnp.float64
            )
            return initial

        with precision('float64'):
            self._layout = TreeLayout(jax.eval_shape(trace_memory, self._initial))
        self._row = tree_row(memory(self._initial))
        self._previous = self._layout, self._row
        self._prepare()

    @property
    def _first_tick_is_regular(self) -> bool:
        """Whether the first tick runs the program of all others."""
        return self._written_out and starts_without_memory(self._vehicle)

    def _to_program(self, x: Any) -> Any:
        """Return an array in the type that the program computes with."""
        array = jnp.asarray(x, float)
        return components(array, array.ndim) if self._written_out else array

    def change(self, environment: Environment, faults: FaultTables | None) -> None:
        """Replace water, wind, gusts and faults from the next tick on.

        Programs are compiled again when something but the current changes, and when the current
        changes for the first time: from then on it is an input of the program.
        """
        previous = self._environment
        if environment is previous and faults is self._requested_faults:
            return
        self._bodies.changes = environment.body_changes
        current_changed = not np.array_equal(environment.current, previous.current)
        if current_changed and not self._current_is_input:
            self._current_is_input = True
            self._programs = {}
        water_changed = any(
            getattr(environment, name) is not getattr(previous, name) for name in _CHANGEABLE
        )
        if water_changed or not have_same_values(environment.gusts, previous.gusts):
            self._programs = {}
        self._environment = compute_cached_properties(environment)
        if water_changed and not self._first:
            self._write_arrays_if_needed()
        faults_changed = not have_same_values(faults, self._requested_faults)
        self._requested_faults = faults
        if faults_changed:
            self._programs = {}
            self._change_faults(faults)

    def _change_faults(self, faults: FaultTables | None) -> None:
        """Replace the faults, and keep the memory of past commands.

        After the first change the tables are never None again, also without faults: a delay or a
        lost command that begins later needs the commands before it.
        """
        previous = self._faults
        self._faults = compute_cached_properties(faults or FaultTables(np.zeros(4)))
        if self._first:
            self._written_out = self._written_out and self._scalarisable
            self.restart()
            return
        self._write_arrays_if_needed()
        memory: Memory = self._layout.unpack(self._row)
        if previous is None:
            none = np.zeros(())
            fault_memory = FaultMemory(self._pwm, none, None, self._pwm, none, none, none)
            if self._written_out:
                fault_memory = jax.tree.map(lambda x: components(x, x.ndim), fault_memory)
            memory = memory._replace(propulsion=memory.propulsion._replace(faults=fault_memory))
        self._layout, self._row = TreeLayout(memory), tree_row(memory)
        self._previous = self._layout, self._row

    def _write_arrays_if_needed(self) -> None:
        """Go on with arrays where the step can no longer be written out number by number."""
        if not self._written_out or self._scalarisable:
            return
        self._written_out = False
        memory = _as_numpy_tree(self._layout.unpack(self._row))
        self._layout, self._row = TreeLayout(memory), tree_row(memory)
        self._previous = self._layout, self._row

    @property
    def _scalarisable(self) -> bool:
        return is_scalarisable(self._vehicle, self._environment, self._faults)

    def _widths(self) -> list[int]:
        """Return the length of each input of a tick, in their order in a row."""
        actuators = map(len, self._rest.values())
        return [len(self._vehicle.thrusters), *actuators, *COMMON_INPUTS.values()]

    def _command_rows(self, commands: StepCommands) -> list[np.ndarray]:
        """Return the commands of thrusters and actuators, in the order of the inputs."""
        actuators = commands.actuators
        return [commands.pwm, *(actuators.get(name, rest) for name, rest in self._rest.items())]

    def _since(self, since_input: Any, *, first: bool) -> Any:
        """Return the s since the tick before: a constant where the first has its own program."""
        if self._first_tick_is_regular:
            return self._to_program(since_input)
        return 0.0 if first else self._stepping.dt

    def _compile(self, layout: TreeLayout, *, first: bool) -> RowProgram:
        """Return the program of a tick that starts from a memory of this layout."""
        vehicle, ends = self._vehicle, np.cumsum(self._widths())[:-1]

        def tick_row(row: jax.Array) -> tuple[Any, Any]:
            memory = layout.unpack(row)
            parts = jnp.split(row[layout.size :], ends)
            pwm, *actuators, (tick_time,), (since_input,), stamp, external, current = parts
            time = self._to_program(tick_time)
            environment = self._environment.at(time)
            if self._current_is_input:
                environment = environment.with_current(self._to_program(current))
            active_faults = None
            if self._faults is not None:
                active_faults = self._faults.at(namespace(time), time, stamp.astype(jnp.uint32))
            commands = StepCommands(
                self._to_program(pwm),
                dict(zip(self._rest, map(self._to_program, actuators), strict=True)),
                active_faults,
                external=self._to_program(external),
            )
            since = self._since(since_input, first=first)
            output, after = self._advance(vehicle, environment, memory, commands, since)
            return broadcast_carry(after, (), row.dtype), report_arrays(output, row.dtype)

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
        environment: Environment,
        memory: Memory,
        commands: StepCommands,
        since: Any,
    ) -> tuple[Any, Memory]:
        """Return a program's outputs of a tick, and the memory after it."""
        return self._bodies.advance(
            vehicle, environment, memory, commands, self._stepping, since=since
        )

    def _prepare(self) -> None:
        """Compile the programs of this tick and the next ones."""
        layout, first = self._layout, self._first
        for _ in range(MAX_LAYOUTS):
            layout, first = self._program(layout, first=first).layouts[0], False

    def _program(self, layout: TreeLayout, *, first: bool) -> RowProgram:
        """Return the program for a memory layout; compile it at its first use."""
        key = layout.key, first and not self._first_tick_is_regular
        if key not in self._programs:
            self._programs[key] = self._compile(layout, first=first)
        return self._programs[key]

    def tick(self, stamp: int, commands: StepCommands) -> tuple[StepOutput, State]:
        """Apply commands at a stamp; return the output of the tick and the state one step later.

        Args:
            stamp: stamp of the tick, ns: one step after the last one's, or 0 after a restart.
            commands: commands in NumPy arrays; their faults and load are not used.

        Raises:
            RunError: the state of a free body is no longer physical.
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
        if self._bodies.failure is not None:
            raise self._bodies.failure
        after, report = program.layouts
        size = after.size
        self._previous = self._layout, self._row
        self._layout, self._row = after, out[:size]
        self._first, self._pwm = False, commands.pwm
        output = report.unpack(out[size:])
        state = State(*(np.array(x) for x in self._state(out)))
        return output._replace(stamp=stamp), state

    def _state(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, orientation and velocity, the first numbers of a memory."""
        return row[:3], row[3:7], row[7:13]

    @property
    def body_simulation(self) -> BodySimulation | None:
        """The free bodies as at the last tick; None where there are none."""
        return self._bodies.simulation

    def force_memories(self, force: str) -> tuple[Any, Any]:
        """Return the memory of a force before and after the last tick, NumPy."""
        before, after = (
            _as_numpy_tree(layout.unpack(row).forces[force])
            for layout, row in (self._previous, (self._layout, self._row))
        )
        return before, after
