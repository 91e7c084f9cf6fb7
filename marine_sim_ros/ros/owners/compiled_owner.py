# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Owner of a state that a compiled program advances: all forces and the integration at once.

It replaces the node ``dynamics`` in a process with the nodes of all forces, and has its topics,
services and parameters. ``on_missing_wrench`` and ``source_timeout`` are about the
commands of nodes (thrusters, actuators, manipulator), the only ones that are waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.files import program_folder
from marine_sim_ros.engine.availability import require_jax
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.force_node import CompiledGraph, CompiledTick
from marine_sim_ros.ros.owners.state_owner import START_TIMEOUT, StateOwner
from marine_sim_ros.ros.owners.summing import ExternalWrench
from marine_sim_ros.sim.step import StepCommands, Stepping

__all__ = ['CompiledOwner']


class CompiledOwner(StateOwner):
    """The node."""

    def __init__(
        self,
        name: str = 'dynamics',
        parameters: Sequence[NodeParameter] = (),
        *,
        graph: CompiledGraph,
        **options: Any,
    ) -> None:
        """Create it as ``dynamics``, after the nodes of all forces, and compile.

        Raises:
            MarineSimError: JAX is missing, or the vehicle cannot be compiled.
        """
        super().__init__(name, parameters, **options)
        self._graph = graph
        self._external = ExternalWrench(self)
        self.follow_current(warns=True)
        self.health['outages'] = 0
        self._none = np.zeros(len(self.vehicle.thrusters))
        self._run = 0
        self._prepare()
        graph.serve(self._on_commands)
        self.create_timer(0.2, self._watch_commands, clock=self.wall_clock)

    def _prepare(self) -> None:
        """Compile."""
        require_jax()
        from marine_sim_ros.engine.ticks import TickedVehicle

        graph = self._graph
        implicit = self.values['implicit_drag'] and 'drag' in graph.sources
        self._engine = TickedVehicle(
            self.vehicle,
            self.environment,
            self._initial,
            Stepping(self.dt, self.values['integrator'], implicit, graph.timeout),
            faults=graph.faults,
        )
        self._compiling = self._engine.compile_time
        self.get_logger().info(
            f'engine jax: all forces of {self.vehicle.name} in one program, compiled in '
            f'{self._compiling:.1f} s; {program_folder()}'
        )

    def on_reset(self) -> None:
        """Start the vehicle anew."""
        self._run += 1
        self._graph.forget()
        self._external.restart()
        self._restart_engine()

    def _restart_engine(self) -> None:
        self._engine.restart()

    def on_published(self) -> None:
        """Ask for the commands of the state that was just published, when others have had it."""
        assert self.bus is not None
        self.bus.call(self._begin, (self._run, self.stamp))

    def _begin(self, tick: tuple[int, int]) -> None:
        if tick == (self._run, self.stamp) and self.published:
            self._run_guarded(lambda: self._graph.begin(self.stamp, self.state))

    def _on_commands(self, stamp: int, commands: dict[str, Any]) -> None:
        self._run_guarded(lambda: self._compute(stamp, commands))

    def _run_guarded(self, work: Any) -> None:
        """Do something; where it fails the run ends, for nothing would move the vehicle."""
        try:
            work()
        except Exception as error:  # whatever a program does with what a user gives it
            self.fail(f'engine jax: {type(error).__name__}: {error}'.splitlines()[0])

    def _compute(self, stamp: int, commands: dict[str, Any]) -> None:
        """Move the vehicle by a tick, and tell all that acted on it."""
        environment = self.environment_at(stamp)
        self._engine.change(self.environment, self._graph.faults)
        given = StepCommands(
            commands.get('pwm', self._none),
            {name: command for name, command in commands.items() if name != 'pwm'},
            external=self._external.at(stamp),
        )
        output, state = self._engine.tick(stamp, given)
        self._tell_compiling()
        self._tell(CompiledTick(stamp, environment, output, self._engine.force_memories))
        self.advance(state)

    def _tell(self, tick: CompiledTick) -> None:
        """Have all nodes publish what acted in a tick."""
        for node in self._graph.forces.values():
            node.on_output(tick)
        self.total.publish(tick.stamp, tick.output.total)

    def _tell_compiling(self) -> None:
        """Say that a change of faults or water took a while."""
        spent = self._engine.compile_time - self._compiling
        if spent:
            self._compiling += spent
            self.get_logger().info(f'engine jax: compiled anew in {spent:.1f} s for a change')

    def _watch_commands(self) -> None:
        missing = ', '.join(self._graph.missing)
        if not missing or not self.published:
            return
        waited = self.seconds_since_publishing()
        started = self._graph.started
        if waited < (self.values['source_timeout'] if started else START_TIMEOUT):
            return
        told = f'no command for {missing} for {waited:.1f} s at {self.time:.3f} s'
        if not started or self.values['on_missing_wrench'] == 'stop':
            self.fail(told)
            return
        self.health['outages'] += len(self._graph.missing)
        self.warn_throttled(f'{told}: the last one holds')
        self._graph.give_up()
