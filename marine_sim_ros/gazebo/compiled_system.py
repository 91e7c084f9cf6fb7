# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The system inside Gazebo's server that computes a vehicle's forces itself, compiled.

SDF parameters: those of the lockstep system (gazebo/system/marine_sim_lockstep.py); ``run``, a
file with the options of the run (RunOptions of sim/options.py) as JSON; ``physics_step``, ns.
Publishes ``/model/<model>/seat/tick`` (gz.msgs.Bytes as gazebo/exchange.py writes them) where
somebody listens, at every period: ``stamp`` (ns) and state as Gazebo reports it (``position``,
``orientation``, ``velocity`` in the body frame), and ``output.*``, all that acted from the stamp
``ticked`` on, a period before (-1: nothing yet); ``.../status`` (gz.msgs.StringMsg).
Subscribes ``/model/<model>/seat/commands`` (gz.msgs.Bytes likewise): ``stamp`` of the state that
they answer, ``pwm`` (n,) in µs, and of the commands of actuators by name, ``external`` (6,) and
``current`` (3,) what there is; beside the numbers ``faults``, a YAML text,
``lost_commands``, whether those of a tick may get lost, and ``remembered``, forces whose memory is
to be published too, as ``memory.<force>``. Only ``stamp`` and ``pwm`` must be there.
In lockstep the step waits for the commands of its stamp: that is all that goes to and fro. Without
it the newest commands hold, and only the first are waited for.
Failure: as of the lockstep system; commands that cannot be used end the server with one line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.state import NANOSECONDS, Wrench
from marine_sim_ros.engine.availability import require_jax
from marine_sim_ros.engine.compiled_vehicle import COMMON_INPUTS, ZERO_WRENCH, CompiledVehicle
from marine_sim_ros.engine.trees import TreeLayout
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import fault_text, parse_faults, with_gusts
from marine_sim_ros.faults.tables import fault_tables
from marine_sim_ros.gazebo.exchange import (
    MESSAGE_TYPE,
    NumberReader,
    NumberWriter,
    exerted_wrench,
    named_arrays,
    stepped_velocity,
)
from marine_sim_ros.gazebo.run_files import start_state
from marine_sim_ros.gazebo.system.marine_sim_lockstep import LockstepSystem, end_failed
from marine_sim_ros.model.contact import no_contact
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of, wrench_sources
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import environment_from_options
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.step import Memory, StepCommands, StepOutput, Stepping, advance

__all__ = ['CompiledSystem', 'GazeboTicks']

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


POLL_INTERVAL = 0.05
"""s of wall time from one look whether somebody listens to the next."""


class ServedVehicle:
    """The vehicle of a run, its water, its faults, and the program of its wrench."""

    def __init__(self, options: RunOptions, physics_step: float) -> None:
        """Compile; the physics step of Gazebo in s.

        Raises:
            MarineSimError: JAX is missing, or a vehicle that cannot be compiled.
        """
        require_jax()
        import jax

        from marine_sim_ros.gazebo.compiled_system import GazeboTicks

        jax.config.update('jax_enable_x64', True)  # this process computes nothing else
        vehicle = vehicle_of(options.named_vehicle())
        self.vehicle = replace(vehicle, find_contact=no_contact)  # contact is Gazebo's
        self._actuators = tuple(a.name for a in actuators_of(vehicle))
        self._seed = options.seed
        self._water = environment_from_options(options)
        faults = load_scenario(options.scenario).faults if options.scenario else ()
        self._settings = fault_text(faults), True
        self.engine = GazeboTicks(
            self.vehicle,
            with_gusts(self._water, faults),
            start_state(options),
            Stepping(
                options.dt, options.integrator, 'drag' in wrench_sources(self.vehicle, self._water)
            ),
            faults=fault_tables(faults, self.vehicle.thrusters.names, self._seed),
            physics_step=physics_step,
        )

    def take(self, numbers: Mapping[str, np.ndarray], extras: Mapping[str, Any]) -> StepCommands:
        """Return commands of a message, and let happen what it says of faults and water.

        Raises:
            ParameterError: numbers that do not fit the vehicle.
        """
        pwm = numbers.get('pwm')
        count = len(self.vehicle.thrusters)
        if pwm is None or pwm.shape != (count,):
            raise ParameterError(
                f'commands: pwm is {None if pwm is None else pwm.tolist()}; expected {count} '
                f"pulse widths, in the order of {self.vehicle.name}'s thrusters"
            )
        current = numbers.get('current')
        if current is not None and not np.array_equal(current, self._water.current):
            self._water = replace(self._water, current=current)
            self._change(*self._settings)
        settings = (
            extras.get('faults', self._settings[0]),
            extras.get('lost_commands', self._settings[1]),
        )
        if settings != self._settings:
            self._settings = settings
            self._change(*settings)
        actuators = {n: numbers[n] for n in self._actuators if n in numbers}
        return StepCommands(pwm, actuators, external=numbers.get('external'))

    def _change(self, text: str, loses_commands: bool) -> None:
        faults = parse_faults(text)
        tables = fault_tables(faults, self.vehicle.thrusters.names, self._seed)
        if tables is not None and not loses_commands:
            tables = replace(tables, lost=None)
        self.engine.change(with_gusts(self._water, faults), tables)


class CompiledSystem(LockstepSystem):
    """The system; ``gz`` brings Gazebo's classes, so that a test can bring others."""

    name = 'marine_sim_compiled'
    wanted = 'commands'

    def _open(self, entity: Any, sdf: Any) -> None:
        file = Path(sdf.get_string('run'))
        options = RunOptions.from_json(file.read_text(encoding='utf-8'))
        step = int(sdf.get_string('physics_step')) / NANOSECONDS
        self.served = ServedVehicle(options, step)
        engine = self._engine = self.served.engine
        sys.stderr.write(
            f'{self.name}: all forces of {self.served.vehicle.name} in one program, compiled in '
            f'{engine.compile_time:.1f} s\n'
        )
        self._reader = NumberReader()
        self._row = np.zeros(15)
        self._ticked = -1
        self._remembered: tuple[str, ...] = ()
        self._next_poll, self._listeners = 0.0, False
        self._taken: Any = None
        self._writers: dict[Any, NumberWriter] = {}
        super()._open(entity, sdf)

    def _connect(self, node: Any) -> None:
        topic = f'/model/{self.model}/seat'
        self._state = node.advertise(f'{topic}/tick', self._gz.Bytes)
        options = self._gz.SubscribeOptions()
        node.subscribe_raw(f'{topic}/commands', self._on_commands, MESSAGE_TYPE, options)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, MarineSimError):
            sys.stderr.write(f'ERROR: {self.name}: {error}\n')
            end_failed()
        else:
            super()._fail(error)

    def reset(self, info: Any, ecm: Any) -> None:
        """Start anew with the world."""
        super().reset(info, ecm)
        self._engine.restart()
        self._ticked = -1

    def _on_commands(self, raw: bytes, info: Any = None) -> None:
        """Take commands, in the thread of the transport, which must not fail."""
        del info
        try:
            numbers = self._reader.read(raw)
            self.vehicle.exchange.offer(int(numbers['stamp']), (numbers, self._reader.extras))
        except (MarineSimError, KeyError, ValueError) as error:
            self._publish_status(f'commands: {error}')

    def _decide(self, stamp: int, ecm: Any) -> None:
        """Compute the wrench of a tick by the state that Gazebo reports."""
        self._read(stamp, ecm)
        message = self._message() if self._heard_by_somebody() else None

        def publish() -> None:
            if message is not None:
                self._state.publish_raw(message, MESSAGE_TYPE)

        publish()
        answer = self._answer(self.vehicle, stamp, publish)
        if answer is None:
            self.vehicle.wrench = None
            return
        if answer is not self._taken:
            self._taken = answer
            self._commands = self.served.take(*answer)
            self._remembered = tuple(answer[1].get('remembered', ()))
        x, y, z, k, m, n = self._engine.exert(stamp, self._row[2:], self._commands).tolist()
        self._ticked = stamp
        vector = self._gz.Vector3d
        self.vehicle.wrench = vector(x, y, z), vector(k, m, n)

    def _heard_by_somebody(self) -> bool:
        """Whether a message is to be written; who is waited for may come yet."""
        if self.lockstep or self.vehicle.exchange.wrench is None:
            return True
        now = time.monotonic()
        if now >= self._next_poll:  # the question costs as much as half a wrench
            self._next_poll, self._listeners = now + POLL_INTERVAL, self._state.has_connections()
        return self._listeners

    def _read(self, stamp: int, ecm: Any) -> None:
        pose, probe = self.vehicle.pose, self.vehicle.probe
        position, rotation = pose.pos(), pose.rot()
        linear, angular = probe.world_linear_velocity(ecm), probe.world_angular_velocity(ecm)
        if linear is None or angular is None:  # before the first step there is none
            velocity: tuple[float, ...] = (0.0,) * 6
        else:
            back = rotation.rotate_vector_reverse
            v, w = back(linear), back(angular)
            velocity = v.x(), v.y(), v.z(), w.x(), w.y(), w.z()
        self._row[:] = (
            stamp,
            self._ticked,
            *(position.x(), position.y(), position.z()),
            *(rotation.x(), rotation.y(), rotation.z(), rotation.w()),
            *velocity,
        )

    def _message(self) -> bytes:
        """Return the state, and what acted in the period before it."""
        names: list[tuple[str, tuple[int, ...]]] = [
            ('stamp', ()),
            ('ticked', ()),
            ('position', (3,)),
            ('orientation', (4,)),
            ('velocity', (6,)),
        ]
        rows = [self._row]
        if self._ticked < 0:
            writer = NumberWriter(names)
            return writer.write(*rows)
        layout, row = self._engine.last_report
        rows.append(row)
        memory: dict[str, np.ndarray] = {}
        for force in self._remembered:
            memory |= named_arrays(self._engine.force_memories(force)[1], f'memory.{force}')
        rows += memory.values()
        key = layout.key, self._remembered
        if key not in self._writers:
            arrays = {**named_arrays(layout.unpack(row)), **memory}
            self._writers[key] = NumberWriter([*names, *((n, x.shape) for n, x in arrays.items())])
        return self._writers[key].write(*rows)
