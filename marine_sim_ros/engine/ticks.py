# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One vehicle, tick by tick: each tick is one call of a compiled program.

It is the step of ``simulate --engine jax``, with commands from outside. Programs are made for what
is there at the start, and anew where that changes: faults, gusts, or a current on a topic.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.core.arrays import namespace
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.engine.availability import double_precision, precision, wait_for_programs
from marine_sim_ros.engine.compiled import compiled, scalarisable
from marine_sim_ros.engine.components import Components, components
from marine_sim_ros.engine.curves import with_curves
from marine_sim_ros.engine.kinds import Kinds, same
from marine_sim_ros.engine.layout import Layout, packed, row_of
from marine_sim_ros.engine.loop import memory_before, settled, starts_alike, told
from marine_sim_ros.engine.records import derived
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.tables import Tables
from marine_sim_ros.faults.thrust import FaultMemory
from marine_sim_ros.model.tether.tether import reel_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.arm.manipulator import by_efforts
from marine_sim_ros.sim.step import Commands, Memory, StepOutput, Stepping, advance, begin

__all__ = ['TickedVehicle', 'actuated']

NO_WRENCH = np.full(6, -0.0)
"""Added to a sum it changes no bit of it, not even the sign of a zero."""


def _plain(tree: Any) -> Any:
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


class _Program(NamedTuple):
    """A compiled tick, the memory that it leaves behind, and what it tells."""

    call: Any
    after: Layout
    told: Layout


_PROGRAMS: Kinds[dict[Any, _Program]] = Kinds()
"""Of the same vehicle in the same water."""


def actuated(commands: Commands) -> list[np.ndarray]:
    """Return what is commanded of actuators, in the order that programs take it in."""
    return [
        x
        for x in (
            commands.pwm,
            commands.joints,
            commands.fins,
            commands.azimuths,
            commands.reel,
            commands.joint_efforts,
        )
        if x is not None
    ]


class TickedVehicle:
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
        faults: Tables | None = None,
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
        self._vehicle = derived(with_curves(vehicle))
        if environment.scene is not None and len(environment.scene):
            _ = self._vehicle.contact  # a cached property that only a scene has a use for
        self._stepping = stepping
        self._initial = initial
        self._environment, self._faults = derived(environment), derived(faults)
        self._given_current = False
        self._written_out = self._scalarisable
        self._asked = faults
        kind = self._form, environment, faults, stepping, forces
        self._programs = _PROGRAMS.shared(vehicle, kind, dict)
        self._pwm = np.zeros(0)
        self.compile_time = 0.0
        self.restart()

    def restart(self) -> None:
        """Go back to the initial state, with everything at rest."""
        self._first = True

        def memory(start: State) -> Memory:
            if self._alike:
                return memory_before(self._vehicle, self._environment, start, self._faults)
            return begin(self._vehicle, self._environment, start)

        def traced(start: State) -> Memory:
            begun: Memory = settled(memory(State(*map(self._inside, start))), (), jnp.float64)
            return begun

        with precision('float64'):
            self._layout = Layout(jax.eval_shape(traced, self._initial))
        self._row = row_of(memory(self._initial))
        self._prepare()

    @property
    def _alike(self) -> bool:
        """Whether the first tick has the program of the others."""
        return self._written_out and starts_alike(self._vehicle)

    def _inside(self, x: Any) -> Any:
        """Return an array as the program computes with it."""
        array = jnp.asarray(x, float)
        return components(array, array.ndim) if self._written_out else array

    def change(self, environment: Environment, faults: Tables | None) -> None:
        """Go on with other currents, gusts and faults; the next tick has them."""
        before = self._environment
        if environment is before and faults is self._asked:
            return
        if not np.array_equal(environment.current, before.current) and not self._given_current:
            self._given_current = True
            self._programs = {}
        if not same(environment.gusts, before.gusts):
            self._programs = {}
        self._environment = derived(environment)
        asked, self._asked = self._asked, faults
        if not same(faults, asked):
            self._programs = {}
            self._change_faults(faults)

    def _change_faults(self, faults: Tables | None) -> None:
        """Let other faults happen; what is to be remembered of the past is."""
        # Never None again: past commands are kept for a later fault.
        before, self._faults = self._faults, derived(faults or Tables(np.zeros(4)))
        if self._first:
            self._written_out = self._written_out and self._scalarisable
            self.restart()
            return
        memory: Memory = self._layout.unpacked(self._row)
        if self._written_out and not self._scalarisable:
            memory, self._written_out = _plain(memory), False
        if before is None:
            none = np.zeros(())
            known = FaultMemory(self._pwm, none, None, self._pwm, none, none, none)
            if self._written_out:
                known = jax.tree.map(lambda x: components(x, x.ndim), known)
            memory = memory._replace(propulsion=memory.propulsion._replace(faults=known))
        self._layout, self._row = Layout(memory), row_of(memory)

    @property
    def _scalarisable(self) -> bool:
        return scalarisable(self._vehicle, self._environment, self._faults)

    def _widths(self) -> list[int]:
        """Return how many numbers each input of a tick has, in their order in a row."""
        vehicle = self._vehicle
        arm = 0 if vehicle.manipulator is None else len(vehicle.manipulator)
        fins = 0 if vehicle.fins is None else len(vehicle.fins)
        azimuths = vehicle.thrusters.azimuths
        turning = 0 if azimuths is None else len(azimuths)
        reel = int(reel_of(vehicle) is not None)
        efforts = arm if by_efforts(vehicle) else 0
        return [len(vehicle.thrusters), arm, fins, turning, reel, efforts, 1, 1, 2, 6, 3]

    def _since(self, given: Any, *, first: bool) -> Any:
        """Return the time since the tick before: a number where programs differ in it."""
        if self._alike:
            return self._inside(given)
        return 0.0 if first else self._stepping.dt

    def _compile(self, layout: Layout, *, first: bool) -> _Program:
        """Return the program that goes on from a memory of a layout."""
        found: dict[str, Layout] = {}
        vehicle, ends = self._vehicle, np.cumsum(self._widths())[:-1]

        def ticked(row: jax.Array) -> jax.Array:
            memory = layout.unpacked(row)
            parts = jnp.split(row[layout.size :], ends)
            pwm, joints, fins, azimuths, reel, efforts, (moment,), (given,), stamp, *others = parts
            external, current = others
            time_ = self._inside(moment)
            around = self._environment.at(time_)
            if self._given_current:
                around = copy.copy(around)
                vars(around).update(current=self._inside(current), still=False)
            acting = None
            if self._faults is not None:
                words = stamp.astype(jnp.uint32)
                acting = self._faults.at(namespace(time_), time_, words)
            commands = Commands(
                self._inside(pwm),
                None if vehicle.manipulator is None else self._inside(joints),
                acting,
                None if vehicle.fins is None else self._inside(fins),
                None if vehicle.thrusters.azimuths is None else self._inside(azimuths),
                external=self._inside(external),
                reel=None if reel_of(vehicle) is None else self._inside(reel),
                joint_efforts=self._inside(efforts) if by_efforts(vehicle) else None,
            )
            since = self._since(given, first=first)
            happened, after = self._advance(vehicle, around, memory, commands, since)
            after = settled(after, (), row.dtype)
            output = told(happened, row.dtype)
            found.update(after=Layout(after), told=Layout(output))
            return jnp.concatenate([packed(after), packed(output)])

        inputs = np.zeros(layout.size + sum(self._widths()))
        try:
            lowered = jax.jit(ticked).lower(inputs)
        except MarineSimError:
            raise
        except Exception as error:  # whatever a function does that does not trace
            reason = f'{type(error).__name__}: {error}'.splitlines()[0]
            raise ParameterError(
                f'engine jax: {vehicle.name} cannot be compiled: {reason}; expected --engine numpy'
            ) from None
        call = compiled(lowered, round_each=self.round_each)
        return _Program(call, found['after'], found['told'])

    def _advance(
        self, vehicle: Vehicle, around: Environment, memory: Memory, commands: Commands, since: Any
    ) -> tuple[Any, Memory]:
        """Return what a program tells of a tick, and the memory after it."""
        return advance(vehicle, around, memory, commands, self._stepping, since=since)

    def _prepare(self) -> None:
        """Compile what this tick and the next ones need."""
        layout, first = self._layout, self._first
        begun = time.perf_counter()
        with precision('float64'):
            for _ in range(4):  # memories of faults and forces take their shapes in few ticks
                program = self._program(layout, first=first)
                layout, first = program.after, False
        self.compile_time += time.perf_counter() - begun

    def _program(self, layout: Layout, *, first: bool) -> _Program:
        key = layout.key, first and not self._alike
        if key not in self._programs:
            self._programs[key] = self._compile(layout, first=first)
        return self._programs[key]

    def tick(self, stamp: int, commands: Commands) -> tuple[StepOutput, State]:
        """Apply commands at a stamp, and return what happened and the state one step later.

        Args:
            stamp: stamp of the tick, ns: one step after the last one's, or 0 after a restart.
            commands: all that the vehicle follows, NumPy; faults and load are not used.
        """
        if not self._programs:
            self._prepare()
        since = 0.0 if self._first else self._stepping.dt
        external = NO_WRENCH if commands.external is None else commands.external
        inputs: Sequence[Any] = [
            self._row,
            *actuated(commands),
            # The words are those of random.stamp_words.
            (stamp / NANOSECONDS, since, stamp >> 32, stamp & 0xFFFFFFFF),
            external,
            self._environment.current,
        ]
        program = self._program(self._layout, first=self._first)
        with double_precision():
            out = np.asarray(program.call(np.concatenate(inputs)))
        size = program.after.size
        self.before = self._layout, self._row
        self._layout, self._row = program.after, out[:size]
        self._first, self._pwm = False, commands.pwm
        output = program.told.unpacked(out[size:])
        state = State(*(np.array(x) for x in self._state(out)))
        return output._replace(stamp=stamp, held=0), state

    def _state(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, orientation and velocity, which a memory begins with."""
        return row[:3], row[3:7], row[7:13]

    def remembered(self, force: str) -> tuple[Any, Any]:
        """Return what a force remembered before and after the last tick, NumPy."""
        before, after = (
            _plain(layout.unpacked(row).forces[force])
            for layout, row in (self.before, (self._layout, self._row))
        )
        return before, after
