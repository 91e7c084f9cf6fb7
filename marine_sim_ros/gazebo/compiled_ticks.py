# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One vehicle whose body Gazebo moves: the wrench of a tick is one call of a compiled program."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.state import NANOSECONDS, Wrench
from marine_sim_ros.engine.compiled_vehicle import COMMON_INPUTS, ZERO_WRENCH, CompiledVehicle
from marine_sim_ros.engine.trees import TreeLayout
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gazebo.exchange import exerted_wrench, stepped_velocity
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.step import Memory, StepCommands, StepOutput, advance

__all__ = ['GazeboTicks']

STATE_SIZE = 13
"""Numbers of a state, with which a memory begins."""


class TickReport(NamedTuple):
    """Report of a program for a tick.

    Attributes:
        exerted: (6,) see :func:`~marine_sim_ros.gazebo.exchange.exerted_wrench`; first, so that it
            lies in one place whatever else there is.
        output: all that acted on the vehicle.
    """

    exerted: Wrench
    output: StepOutput


class GazeboTicks(CompiledVehicle):
    """A vehicle that Gazebo moves under the wrench that a compiled program computes.

    The state of every tick is Gazebo's; all else that a vehicle remembers is the program's.
    """

    round_each = False
    """No other program makes a step of Gazebo's: its bits may be those of any processor."""

    def __init__(self, *arguments: Any, physics_step: float, **options: Any) -> None:
        """Compile; ``physics_step`` is Gazebo's own, s, the rest as for CompiledVehicle."""
        self._physics_step = self._program_key = physics_step
        self._last_commands: StepCommands | None = None
        super().__init__(*arguments, **options)

    def restart(self) -> None:
        """Go back to the initial state, with everything at rest."""
        super().restart()
        self._last_commands = None

    def _advance(
        self,
        vehicle: Vehicle,
        around: Environment,
        memory: Memory,
        commands: StepCommands,
        since: Any,
    ) -> tuple[TickReport, Memory]:
        """Return the wrench and what acted, of a memory with the velocity that Gazebo reports."""
        step, dt = self._physics_step, self._stepping.dt
        velocity = stepped_velocity(memory.state.velocity, step)
        state = memory.state._replace(velocity=velocity)
        memory = memory._replace(state=state)
        output, after = advance(vehicle, around, memory, commands, self._stepping, since=since)
        exerted = exerted_wrench(
            vehicle, state, around, output.total, dt, physics_step=step, after=after.state
        )
        return TickReport(exerted, output), after

    def exert(self, stamp: int, state: np.ndarray, commands: StepCommands) -> np.ndarray:
        """Return the wrench (6,) that Gazebo is to exert, body frame about ``base_link``.

        Args:
            stamp: stamp of the tick, ns.
            state: (13,) position in map, m, quaternion, and velocity in the body frame, as Gazebo
                reports it.
            commands: as of :meth:`tick`; the same object as before where nothing has changed.
        """
        if not self._programs:
            self._prepare()
        size = self._layout.size
        if commands is not self._last_commands or len(self._inputs) != size + self._width:
            self._take(commands)
        row, inputs, since = self._row, self._inputs, 0.0 if self._first else self._stepping.dt
        inputs[:STATE_SIZE] = state
        inputs[STATE_SIZE:size] = row[STATE_SIZE:]
        at = size + self._stamp_offset
        inputs[at : at + 4] = (stamp / NANOSECONDS, since, stamp >> 32, stamp & 0xFFFFFFFF)
        inputs[-3:] = self._environment.current
        program = self._program(self._layout, first=self._first)
        # The program has its inputs when the call returns: it runs in this thread.
        out = np.asarray(program.call(inputs))
        after, report = program.layouts
        size = after.size
        self._previous = self._layout, row
        self._layout, self._row, self._report = after, out[:size], (report, out[size:])
        self._first = False
        return out[size : size + 6]

    def _take(self, commands: StepCommands) -> None:
        """Put commands where a program finds them."""
        self._last_commands, self._pwm = commands, commands.pwm
        row = np.concatenate(self._command_rows(commands))
        external = ZERO_WRENCH if commands.external is None else commands.external
        self._stamp_offset, self._width = len(row), len(row) + sum(COMMON_INPUTS.values())
        blank = np.zeros(self._layout.size)
        self._inputs = np.concatenate([blank, row, np.zeros(4), external, np.zeros(3)])

    @property
    def last_report(self) -> tuple[TreeLayout, np.ndarray]:
        """Layout of the :class:`TickReport` of the last tick, and its row."""
        return self._report
