# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""State nodes on the compiled engine: in place of ``dynamics``, and of ``gazebo_bridge``.

At each tick such a node waits for the commands of all others, runs one compiled step, and
publishes the state and the wrenches.

``CompiledStateNode`` replaces the node ``dynamics`` in a process with the nodes of all forces. It
has the topics, services and parameters of that node, but ``on_missing_wrench`` and
``source_timeout`` are about the commands of nodes (thrusters, actuators, manipulator), the only
inputs that it waits for.

``CompiledGazeboNode`` replaces ``gazebo_bridge`` in the same way: the nodes of forces supply their
commands, and publish the wrenches that the server has computed. Commands go to the server, states
and wrenches come back, one message each per tick, over gz-transport; ros_gz_bridge has the world's
control service. Topics, services, parameters and failures are those of nodes/gazebo_bridge.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.files import program_folder
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.engine.availability import require_jax
from marine_sim_ros.faults.fault_types import Gust, fault_text
from marine_sim_ros.gazebo.exchange import (
    MESSAGE_TYPE,
    NumberReader,
    NumberWriter,
    rebuild_tree,
    stepped_velocity,
)
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding, message
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.dynamics.environment_changer import EnvironmentChanger
from marine_sim_ros.ros.dynamics.gazebo_node import (
    GAZEBO_PARAMETERS,
    GazeboStateNode,
    InServerTransport,
)
from marine_sim_ros.ros.dynamics.state_node import START_TIMEOUT, StateNode
from marine_sim_ros.ros.dynamics.wrench_sum_node import ExternalWrench
from marine_sim_ros.ros.force_node import CompiledGraph, CompiledTick
from marine_sim_ros.sim.step import Memory, StepCommands, StepOutput, Stepping, advance, begin

__all__ = ['CompiledGazeboNode', 'CompiledStateNode', 'CompiledTransport']


class CompiledStateNode(StateNode):
    """Node ``dynamics`` of a run with ``--engine jax``."""

    can_change = True
    """Whether the program is compiled again for changes of the environment."""

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
        self._changer = EnvironmentChanger(self) if self.can_change else None
        self.follow_current(warns=True)
        self.health['outages'] = 0
        self._none = np.zeros(len(self.vehicle.thrusters))
        self._run = 0
        self._prepare()
        graph.serve(self._on_commands)
        self.create_timer(0.2, self._watch_commands, clock=self.wall_clock)

    def _prepare(self) -> None:
        """Compile the vehicle's step."""
        require_jax()
        from marine_sim_ros.engine.compiled_vehicle import CompiledVehicle

        graph = self._graph
        implicit = self.values['implicit_drag'] and 'drag' in graph.sources
        self._engine = CompiledVehicle(
            self.vehicle,
            self.environment.changed_at(0.0),
            self._initial,
            Stepping(self.dt, self.values['integrator'], implicit, graph.timeout),
            faults=graph.faults,
        )
        self._compile_time = self._engine.compile_time
        self.get_logger().info(
            f'engine jax: all forces of {self.vehicle.name} in one program, compiled in '
            f'{self._compile_time:.1f} s; {program_folder()}'
        )

    def on_reset(self) -> None:
        """Restart the vehicle and the exchange of commands."""
        self._run += 1
        self._graph.forget()
        self._external.restart()
        if self._changer is not None:
            self._changer.restart()
        self._restart_engine()

    def on_parameters(self) -> None:
        """Have all nodes of the vehicle take new changes of the environment."""
        super().on_parameters()
        if self._changer is not None:
            self._changer.ask_all()

    def awaits_state(self) -> bool:
        """Return whether the present state may not be published yet."""
        is_pending = self._changer is not None and self._changer.awaits_nodes()
        return is_pending or super().awaits_state()

    def _restart_engine(self) -> None:
        self._engine.restart()

    def on_published(self) -> None:
        """Request the commands for the state just published, after its delivery on the bus."""
        assert self.bus is not None
        self.bus.call(self._begin, (self._run, self.stamp))

    def _begin(self, tick: tuple[int, int]) -> None:
        if tick == (self._run, self.stamp) and self.published:
            self._run_guarded(lambda: self._graph.begin(self.stamp, self.state))

    def _on_commands(self, stamp: int, commands: dict[str, Any]) -> None:
        self._run_guarded(lambda: self._compute(stamp, commands))

    def _run_guarded(self, work: Any) -> None:
        """Call a function; its failure ends the run, because nothing would move the vehicle."""
        try:
            work()
        except Exception as error:  # of any kind: models and faults are the user's
            self.fail(f'engine jax: {type(error).__name__}: {error}'.splitlines()[0])

    def _compute(self, stamp: int, commands: dict[str, Any]) -> None:
        """Advance the vehicle by one tick, and publish the forces that acted."""
        environment = self.environment_at(stamp)
        self._engine.change(self.environment.changed_at(stamp / NANOSECONDS), self._graph.faults)
        step_commands = StepCommands(
            commands.get('pwm', self._none),
            {name: command for name, command in commands.items() if name != 'pwm'},
            external=self._external.at(stamp),
        )
        output, state = self._engine.tick(stamp, step_commands)
        self._log_compilation()
        engine = self._engine
        self._publish_forces(
            CompiledTick(stamp, environment, output, engine.force_memories, engine.body_simulation)
        )
        self.advance(state)

    def _publish_forces(self, tick: CompiledTick) -> None:
        """Let all force nodes publish their outputs of a tick."""
        for node in self._graph.forces.values():
            node.on_output(tick)
        self.total.publish(tick.stamp, tick.output.total)

    def _log_compilation(self) -> None:
        """Log the time of a compilation that a change of faults or water has caused."""
        duration = self._engine.compile_time - self._compile_time
        if duration:
            self._compile_time += duration
            self.get_logger().info(f'engine jax: compiled anew in {duration:.1f} s for a change')

    def _watch_commands(self) -> None:
        if self._changer is not None:
            self._changer.check()
        missing = ', '.join(self._graph.missing)
        if not missing or not self.published:
            return
        waited = self.seconds_since_publishing()
        started = self._graph.started
        if waited < (self.values['source_timeout'] if started else START_TIMEOUT):
            return
        text = f'no command for {missing} for {waited:.1f} s at {self.time:.3f} s'
        if not started or self.values['on_missing_wrench'] == 'stop':
            self.fail(text)
            return
        self.health['outages'] += len(self._graph.missing)
        self.warn_throttled(f'{text}: the last one holds')
        self._graph.give_up()


MAX_WAITING_STATES = 64
"""States of Gazebo that may wait for this node; without lockstep, further ones are dropped."""

Numbers = dict[str, np.ndarray]


class CompiledTransport(InServerTransport):
    """Transport to the compiled system in the server: commands out, states and forces back."""

    _node: CompiledGazeboNode

    def _connect(self, node: VehicleNode) -> None:
        """Open both topics.

        Raises:
            MarineSimError: Gazebo's Python bindings are not installed.
        """
        try:
            transport, content = binding('gz.transport'), message('Bytes')
        except ImportError as error:
            raise MarineSimError(
                f"gazebo_bridge: {error}; expected Gazebo's Python bindings, of Harmonic "
                'python3-gz-transport13 and python3-gz-msgs10'
            ) from None
        bus = node.bus
        assert bus is not None
        self._waiting = 0
        self._reader = NumberReader()
        self._gz = transport.Node()
        topic = f'/model/{self._settings.link.split("::")[0]}/seat'
        self._commands = self._gz.advertise(f'{topic}/commands', content)

        def on_tick(raw: bytes, info: Any) -> None:
            """Hand a message of gz-transport's thread over to the thread of the node."""
            del info
            if self._waiting < MAX_WAITING_STATES:
                self._waiting += 1
                bus.call_from_thread(self._on_tick, raw)

        self._gz.subscribe_raw(
            f'{topic}/tick', on_tick, MESSAGE_TYPE, transport.SubscribeOptions()
        )

    def send(self, stamp: int, state: State, answer: Any) -> None:
        """Publish the commands for a state, as a serialised message."""
        del stamp, state
        self._commands.publish_raw(answer, MESSAGE_TYPE)

    def _on_tick(self, raw: bytes) -> None:
        self._waiting -= 1
        try:
            numbers = self._reader.read(raw)
            stamp = int(numbers['stamp'])
            state = State(*(np.array(numbers[name]) for name in State._fields))
        except (MarineSimError, KeyError, ValueError) as error:
            self._node.warn_throttled(f'Gazebo: tick: {error}')
            return
        velocity = stepped_velocity(state.velocity, self._physics_step)
        self._node.take(stamp, numbers)
        self._arrived(stamp, state._replace(velocity=velocity))


class CompiledGazeboNode(GazeboStateNode, CompiledStateNode):
    """Node ``gazebo_bridge`` of a run with ``delivery:=compiled``."""

    can_change = False

    def __init__(self, **options: Any) -> None:
        """Create it as ``gazebo_bridge``, after the nodes of all forces."""
        super().__init__('gazebo_bridge', GAZEBO_PARAMETERS, **options)
        self.follow(CompiledTransport)

    def _prepare(self) -> None:
        """Compute one tick, for the names and shapes of the arrays that the server will send."""
        first = begin(self.vehicle, self.environment, self._initial)
        commands = StepCommands(np.full(len(self.vehicle.thrusters), PWM_NEUTRAL, float))
        self._example: tuple[StepOutput, Memory] = advance(
            self.vehicle, self.environment.at(0.0), first, commands, Stepping(self.dt), since=0.0
        )
        self._writers: dict[Any, NumberWriter] = {}
        self._last_faults: tuple[Any, str] = (None, '')
        forces = self._graph.forces.items()
        self._remembered = [n for n, f in forces if getattr(f, 'has_watchers', False)]
        self._begun = first.forces
        self._restart_engine()

    def _restart_engine(self) -> None:
        self._before = {name: self._begun[name] for name in self._remembered}

    def idle_answer(self) -> bytes:
        """Return commands that stop the thrusters."""
        return self._message(self.stamp, {'pwm': np.full(len(self._none), PWM_NEUTRAL, float)})

    def _compute(self, stamp: int, commands: dict[str, Any]) -> None:
        """Send the commands of a tick to the server."""
        numbers = {'pwm': self._none, **commands, 'current': self.environment.current}
        if (external := self._external.at(stamp)) is not None:
            numbers['external'] = external
        self.answer(self._message(stamp, numbers))

    def _message(self, stamp: int, numbers: dict[str, Any]) -> bytes:
        rows = {'stamp': np.array(float(stamp))}
        rows |= {name: np.asarray(x, float) for name, x in numbers.items() if x is not None}
        faults, lost_commands = self._fault_text(), self._graph.loses_command
        key = *((name, x.shape) for name, x in rows.items()), faults, lost_commands
        if key not in self._writers:
            self._writers[key] = NumberWriter(
                [(name, x.shape) for name, x in rows.items()],
                faults=faults,
                lost_commands=lost_commands,
                remembered=self._remembered,
            )
        return self._writers[key].write(*rows.values())

    def _fault_text(self) -> str:
        """Return all faults that act on the vehicle: gusts are this node's, as everywhere."""
        sources = self._graph.fault_list, self.faults
        if self._last_faults[0] != sources:
            thrusters = (f for f in self._graph.fault_list if not isinstance(f, Gust))
            gusts = (f for f in self.faults if isinstance(f, Gust))
            self._last_faults = sources, fault_text((*thrusters, *gusts))
        return self._last_faults[1]

    def take(self, stamp: int, numbers: Numbers) -> None:
        """Let the force nodes publish what led to the state of a stamp (ns), once."""
        ticked = int(numbers['ticked'])
        if ticked < 0 or not self._awaits or stamp == self.sequence.stamp or stamp < ticked:
            return
        output: StepOutput = rebuild_tree(self._example[0], numbers, 'output')
        before, forces = self._before, self._example[1].forces
        after = {n: rebuild_tree(forces[n], numbers, f'memory.{n}') for n in before}
        self._before = {n: before[n] if x is None else x for n, x in after.items()}
        environment = self.environment_at(ticked)
        self._publish_forces(
            CompiledTick(ticked, environment, output, lambda n: (before[n], after[n]))
        )
