# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed of one vehicle in Gazebo: its own underwater plugins against external forces."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.table import Table

from marine_sim_ros.bench.numpy_steps import BENCH_PWM
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.core.processes import cpu_seconds, end_child
from marine_sim_ros.core.state import step_nanoseconds
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gazebo.delivery import (
    COMPILED,
    IN_SERVER,
    bridge_program,
    has_binding,
    missing_programs,
)
from marine_sim_ros.gazebo.exchange import (
    MESSAGE_TYPE,
    NumberWriter,
    exerted_wrench,
    stepped_velocity,
)
from marine_sim_ros.gazebo.run_files import (
    GazeboWorld,
    bridge_command,
    bridge_parameters,
    write_run,
)
from marine_sim_ros.gazebo.server import (
    TERMINATION_GRACE,
    ServerConnection,
    start_server,
    stop_server,
)
from marine_sim_ros.gazebo.system.marine_sim_bindings import binding, message
from marine_sim_ros.model import xml
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Element
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sdf.model import sdf_model
from marine_sim_ros.sdf.world import sdf_world
from marine_sim_ros.sdf.xml_writer import add_element, to_text
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.step import StepCommands, Stepping, advance, begin

__all__ = [
    'GazeboCase',
    'check_gazebo',
    'command_topics',
    'gazebo_table',
    'measure_case',
    'plugin_world',
]


# World with Gazebo's own underwater plugins, for comparison.

_WATER = 1000.0
"""kg/m³."""
_PROPELLER = 0.01
"""kg; Gazebo's Thruster turns a link by a joint."""


def _plugin(parent: Element, system: str) -> Element:
    library = f'gz-sim-{system.lower()}-system'
    return add_element(parent, 'plugin', filename=library, name=f'gz::sim::systems::{system}')


def _add_thruster(model: Element, place: np.ndarray, axis: np.ndarray, joint: str) -> None:
    name = f'{joint}_propeller'
    link = add_element(model, 'link', name=name)
    add_element(link, 'pose', [*place, 0, 0, 0])
    inertial = add_element(link, 'inertial')
    add_element(inertial, 'mass', _PROPELLER)
    inertia = add_element(inertial, 'inertia')
    for tag in ('ixx', 'iyy', 'izz'):
        add_element(inertia, tag, 1e-5)
    element = add_element(model, 'joint', name=joint, type='revolute')
    add_element(element, 'parent', 'base_link')
    add_element(element, 'child', name)
    add_element(add_element(element, 'axis'), 'xyz', axis)
    plugin = _plugin(model, 'Thruster')
    add_element(plugin, 'namespace', model.get('name', ''))
    add_element(plugin, 'joint_name', joint)
    add_element(plugin, 'thrust_coefficient', 0.445)
    add_element(plugin, 'propeller_diameter', 0.076)
    add_element(plugin, 'fluid_density', _WATER)


def _joints(vehicle: Vehicle) -> list[str]:
    return [f'turn_{i}' for i in range(len(vehicle.thrusters))]


def command_topics(made: GazeboWorld, vehicle: Vehicle) -> list[str]:
    """Return the topics that each thruster's force (gz.msgs.Double, N) is asked for on."""
    return [f'/model/{made.model}/joint/{joint}/cmd_thrust' for joint in _joints(vehicle)]


def plugin_world(world: str, vehicle: Vehicle, *, step: float) -> GazeboWorld:
    """Return a world with a vehicle under Buoyancy, Hydrodynamics and a Thruster for each.

    Mass, added mass, shapes and the diagonals of both drag matrices are the vehicle's; a propeller
    is 10 g.

    Args:
        world: text of an SDF world.
        vehicle: vehicle to spawn, at 10 m depth.
        step: physics step of the world, s.
    """
    root = xml.parse(world, 'the world')
    model = xml.parse(sdf_model(vehicle).text, 'the vehicle').find('model')
    place = root.find('world')
    assert model is not None
    assert place is not None
    add_element(model, 'pose', [0, 0, -10, 0, 0, 0])
    add_element(_plugin(place, 'Buoyancy'), 'uniform_fluid_density', _WATER)
    drag = _plugin(model, 'Hydrodynamics')
    add_element(drag, 'link_name', 'base_link')
    for i, (force, velocity) in enumerate(zip('xyzkmn', 'UVWPQR', strict=True)):
        add_element(drag, f'{force}{velocity}', -vehicle.damping.linear[i, i])
        add_element(drag, f'{force}{velocity}abs{velocity}', -vehicle.damping.quadratic[i, i])
    thrusters = vehicle.thrusters
    rows = zip(thrusters.position, thrusters.axis, _joints(vehicle), strict=True)
    for position, axis, joint in rows:
        _add_thruster(model, position, axis, joint)
    place.append(model)
    name, label = place.get('name', ''), model.get('name', '')
    return GazeboWorld(to_text(root), name, label, 'base_link', step_nanoseconds(step))


# Speed of one vehicle in Gazebo: own underwater plugins against external forces.

VEHICLE = 'bluerov2'
COEFFICIENTS = 'maker'
"""Its drag, the same in all ways: that of the default set makes Gazebo's Hydrodynamics diverge."""
HULLED = 'surface_vessel'
"""The vehicle with hull panels: their drag and buoyancy are computed triangle by triangle."""
WARM_UP = 1.0
"""s of wall time after the first steps."""
START = 60.0
"""s of wall time in which the first steps must come."""
TRIES = 3
"""Starts of a server that ends by itself: of its own plugins, one in some starts meets a NaN."""


@dataclass(frozen=True)
class GazeboCase:
    """A way to give one vehicle its forces.

    Attributes:
        name: display name.
        forces: ``plugins``, ``process``, ``composed`` or ``separate``; ``compiled`` inside the
            server, with a ``hull`` of panels, or in lockstep with ``nodes``.
        period: time between wrenches, s.
        step: physics step of Gazebo, s.
    """

    name: str
    forces: str
    period: float
    step: float

    @property
    def vehicle(self) -> str:
        """The vehicle that it moves."""
        return HULLED if self.forces == 'compiled hull' else VEHICLE


_NAMES = {
    'plugins': "Gazebo's own plugins",
    'compiled': 'compiled, in the server',
    'compiled hull': f'compiled, {HULLED}, hull panels',
    'compiled nodes': 'compiled, lockstep with nodes',
    'process': 'one Python process, no ROS',
    'composed': 'nodes in one process',
    'separate': 'a process for each node',
}
CASES = (
    *(
        GazeboCase(name, forces, step, step)
        for step in (0.005, 0.001)
        for forces, name in _NAMES.items()
    ),
    *(
        GazeboCase(_NAMES[forces], forces, 0.005, 0.001)
        for forces in ('compiled', 'process', 'composed')
    ),
)


@dataclass(frozen=True)
class GazeboSpeed:
    """Measured speeds.

    Attributes:
        steps: physics steps per second of wall time.
        cpu: CPU time of all processes for one step, s.
    """

    steps: float
    cpu: float


def _vehicle() -> Vehicle:
    return load_vehicle(VEHICLE, coefficients=COEFFICIENTS)


def check_gazebo() -> None:
    """Raise a MarineSimError where what the measurement needs is not on this machine."""
    missing = missing_programs()
    missing += [] if has_binding('gz.transport') else ['the Python module gz.transport']
    if missing:
        raise MarineSimError(
            f'bench --gazebo: {", ".join(missing)}: not found; expected Gazebo and '
            f'{ros_packages("ros_gz")}, and their setup file sourced'
        )


class _Steps:
    """Counts a world's steps by what the server tells of itself."""

    def __init__(self, world: str, server: subprocess.Popen[bytes]) -> None:
        self._count, self._at = 0, 0.0
        self._new = threading.Condition()
        self._server = server
        self._node = binding('gz.transport').Node()
        statistics = message('WorldStatistics', 'world_stats')
        self._node.subscribe(statistics, f'/world/{world}/stats', self._hear)

    def _hear(self, statistics: Any) -> None:
        with self._new:
            self._count, self._at = statistics.iterations, time.monotonic()
            self._new.notify()

    def next_steps(self) -> tuple[int, float]:
        """Return the steps that were made up to the next word, and when it came.

        Raises:
            MarineSimError: nothing in time, or the server has ended.
        """
        deadline = time.monotonic() + START
        with self._new:
            before = self._at
            while not self._new.wait_for(lambda: self._at > before and self._count > 0, 1.0):
                if (code := self._server.poll()) is not None:
                    raise MarineSimError(f'bench --gazebo: Gazebo ended with exit code {code}')
                if time.monotonic() > deadline:
                    raise MarineSimError(f'bench --gazebo: no step of Gazebo in {START:g} s')
            return self._count, self._at


def _answer(
    correspondent: ServerConnection, dt: float, step: float, stop: threading.Event
) -> None:
    """Answer every state with the wrench of all forces, as gazebo_bridge and the nodes do."""
    vehicle, water = _vehicle(), Environment()
    commands = StepCommands(np.full(len(vehicle.thrusters), BENCH_PWM))
    memory, stamp = None, -1
    while not stop.is_set():
        try:
            stamp, told = correspondent.next_state(stamp, 0.2)
        except Empty:
            continue
        state = told._replace(velocity=stepped_velocity(told.velocity, step))
        memory = begin(vehicle, water, state) if memory is None else memory._replace(state=state)
        since = 0.0 if stamp == 0 else dt
        happened, memory = advance(vehicle, water, memory, commands, Stepping(dt), since=since)
        total = happened.total
        correspondent.answer(
            stamp, exerted_wrench(vehicle, state, water, total, dt, physics_step=step)
        )


@contextmanager
def _process(made: GazeboWorld, case: GazeboCase) -> Iterator[list[int]]:
    """Answer from a thread of this process, which has nothing else to do."""
    stop = threading.Event()
    correspondent = ServerConnection(made.model)
    worker = threading.Thread(target=_answer, args=(correspondent, case.period, case.step, stop))
    worker.start()
    try:
        yield [os.getpid()]
    finally:
        stop.set()
        worker.join()
        correspondent.close()


@contextmanager
def _nodes(
    made: GazeboWorld, case: GazeboCase, options: RunOptions, folder: Path
) -> Iterator[list[int]]:
    """Start ros_gz_bridge and the nodes."""
    program = bridge_program()
    assert program is not None
    command = bridge_command(program, made.name, folder / 'ros_gz_bridge.yaml')
    own = bridge_parameters(made, case.period, delivery=_delivery(case))
    options = replace(options, gazebo=own)
    supervisor = Supervisor()
    quiet = subprocess.DEVNULL
    bridge = subprocess.Popen(command, start_new_session=True, stdout=quiet, stderr=quiet)
    try:
        supervisor.start_run(options, node_specs(options), composed=case.forces != 'separate')
        yield [bridge.pid, *(p.pid for p in supervisor.processes.values())]
    finally:
        supervisor.terminate_all()
        end_child(bridge, TERMINATION_GRACE)


def _world(case: GazeboCase, options: RunOptions, folder: Path) -> GazeboWorld:
    """Write world.sdf and what belongs to it."""
    bare = sdf_world('bench', Environment(), step=case.step).text
    if case.forces == 'plugins':
        made = plugin_world(bare, _vehicle(), step=case.step)
        (folder / 'world.sdf').write_text(made.text, encoding='utf-8')
        return made
    (folder / 'bare.sdf').write_text(bare, encoding='utf-8')
    return write_run(options, folder, world=str(folder / 'bare.sdf'), delivery=_delivery(case))


def _delivery(case: GazeboCase) -> str:
    return COMPILED if case.forces.startswith(COMPILED) else IN_SERVER


@contextmanager
def _commands(made: GazeboWorld, case: GazeboCase) -> Iterator[list[int]]:
    """Command the thrusters five times a second; the system waits for the first commands."""
    pwm = np.full(len(load_vehicle(case.vehicle).thrusters), float(BENCH_PWM))
    writer = NumberWriter([('stamp', ()), ('pwm', pwm.shape)])
    node = binding('gz.transport').Node()
    publisher = node.advertise(f'/model/{made.model}/seat/commands', message('Bytes'))
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(0.2):
            publisher.publish_raw(writer.write(np.zeros(1), pwm), MESSAGE_TYPE)

    worker = threading.Thread(target=send)
    worker.start()
    try:
        yield []
    finally:
        stop.set()
        worker.join()


@contextmanager
def _plugins(made: GazeboWorld) -> Iterator[list[int]]:
    """Ask every thruster for a force, so that it has work."""
    number = message('Double')
    node = binding('gz.transport').Node()
    topics = command_topics(made, _vehicle())
    publishers = [node.advertise(topic, number) for topic in topics]
    deadline = time.monotonic() + START
    while not all(p.has_connections() for p in publishers) and time.monotonic() < deadline:
        time.sleep(0.02)
    for publisher in publishers:
        publisher.publish(number(data=5.0))
    yield []


def measure_case(case: GazeboCase, seconds: float) -> GazeboSpeed:
    """Return the speed of one way over so many seconds of wall time.

    Raises:
        MarineSimError: Gazebo makes no steps.
    """
    plain = case.vehicle == VEHICLE
    options = RunOptions(
        vehicle=case.vehicle,
        namespace='bench',
        vehicle_arguments=(f'coefficients:={COEFFICIENTS}',) if plain else (),
        scenario='dive' if plain else '',
        dt=case.period,
        real_time_factor=0.0,
        duration=1e5,
        lockstep=case.forces not in ('compiled', 'compiled hull'),
    )
    if _delivery(case) == COMPILED:
        options = replace(options, engine='jax', gazebo={'delivery': COMPILED})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        made = _world(case, options, folder)
        ways: dict[str, Callable[[], Any]] = {
            'plugins': lambda: _plugins(made),
            'process': lambda: _process(made, case),
            'compiled': lambda: _commands(made, case),
            'compiled hull': lambda: _commands(made, case),
        }
        server = start_server(folder / 'world.sdf', compiled=_delivery(case) == COMPILED)
        stack.callback(stop_server, server)
        steps = _Steps(made.name, server)
        way = ways.get(case.forces, lambda: _nodes(made, case, options, folder))
        pids = [server.pid, *stack.enter_context(way())]
        steps.next_steps()
        time.sleep(WARM_UP)
        (before, since), used = steps.next_steps(), cpu_seconds(pids)
        time.sleep(seconds)
        (after, until), spent = steps.next_steps(), cpu_seconds(pids)
        return GazeboSpeed((after - before) / (until - since), (spent - used) / (after - before))


def _measure_with_retries(case: GazeboCase, seconds: float) -> GazeboSpeed:
    """Return the speed of one way, of the first of some starts that lives."""
    for _ in range(TRIES - 1):
        with suppress(MarineSimError):
            return measure_case(case, seconds)
    return measure_case(case, seconds)


def gazebo_table(rounds: int, seconds: float) -> Table:
    """Return every way's speed, measured in turn, round by round.

    Raises:
        MarineSimError: Gazebo makes no steps.
    """
    found: dict[GazeboCase, list[GazeboSpeed]] = {case: [] for case in CASES}
    for _ in range(rounds):
        for case in CASES:
            found[case].append(_measure_with_retries(case, seconds))
    table = Table(title=f'{VEHICLE} in Gazebo: median (minimum to maximum) of {rounds} rounds')
    for column in (
        'forces',
        'wrench, ms',
        'step, ms',
        'steps/s',
        'x real time',
        'CPU µs/step',
        'x CPU',
        'slower',
    ):
        table.add_column(column, justify='left' if column == 'forces' else 'right')
    for case, speeds in found.items():
        rates = [speed.steps for speed in speeds]
        rate, cpu = median(rates), median(speed.cpu for speed in speeds)
        own = next(c for c in CASES if c.forces == 'plugins' and c.step == case.step)
        pairs = list(zip(found[own], speeds, strict=True))
        ratio = median(a.steps / b.steps for a, b in pairs)
        table.add_row(
            case.name,
            f'{1e3 * case.period:g}',
            f'{1e3 * case.step:g}',
            f'{rate:.0f} ({min(rates):.0f} to {max(rates):.0f})',
            f'{rate * case.step:.1f}',
            f'{1e6 * cpu:.0f}',
            f'{median(b.cpu / a.cpu for a, b in pairs):.1f}',
            f'{ratio:.1f}',
        )
    return table
