# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measure the speed of steps in this process and of ticks of the node graph."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from rich.table import Table

from marine_sim_ros.bench.gazebo import check_gazebo, gazebo_table
from marine_sim_ros.bench.numpy_steps import (
    ON_THE_DECK,
    camera_rows,
    mujoco_microseconds,
    sensor_cost_rows,
    solid_milliseconds,
    step_microseconds,
    survey_cost_rows,
)
from marine_sim_ros.control.allocator import Allocator
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.core.text import open_terminal
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.library import load_vehicle, vehicle_names
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag_with_memory

__all__ = ['add_arguments', 'execute']

STEPS = 4000
SECONDS = 4.0
MAX_GRAPH_DURATION = 3600.0
"""s of a graph measurement at most."""
TRIANGLES = (192, 768, 3072, 12288)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument(
        '--rounds', type=int, default=3, help='rounds of each measurement (default 3)'
    )
    parser.add_argument(
        '--seconds', type=float, help=f'length of each graph measurement, s (default {SECONDS:g})'
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument(
        '--steps-only', action='store_true', help='measure steps in this process only, no graph'
    )
    only.add_argument(
        '--sensors',
        action='store_true',
        help='measure only sensors: a reading of each, and composed runs without and with them',
    )
    only.add_argument(
        '--console',
        action='store_true',
        help='measure only the load of recorder, markers and console',
    )
    only.add_argument(
        '--fleet',
        action='store_true',
        help='measure only composed fleets: the cost of a vehicle against their number',
    )
    only.add_argument(
        '--start',
        action='store_true',
        help='measure only starts: marine_sim run to its first odom, and the memory of a node',
    )
    only.add_argument(
        '--gazebo',
        action='store_true',
        help="measure only Gazebo: its own underwater plugins against this package's",
    )
    only.add_argument(
        '--console-hours',
        type=float,
        metavar='H',
        help="measure the console's memory over simulated time",
    )


def hull_vehicle_urdf(triangles: int) -> str:
    """Return the URDF text of a BlueROV2 that drags and floats by its hull.

    Its outer box in panels of a size that gives about so many triangles, and 1,000 voxels.
    """
    text = load_vehicle('bluerov2').urdf
    for tag in ('linear_damping', 'quadratic_damping', 'damping_center', 'buoyancy'):
        text = re.sub(rf'<{tag}>.*?</{tag}>', '', text, flags=re.DOTALL)
    # Edges are halved until they fit: 12 triangles times a power of four.
    halvings = round(np.log(triangles / 12) / np.log(4))
    longest = float(np.hypot(0.457, 0.338))
    size = longest / 2**halvings * 1.01
    return text.replace('</hydrodynamics>', f'<panel_size>{size}</panel_size></hydrodynamics>')


def force_milliseconds(triangles: int) -> tuple[int, float, float]:
    """Return panels, and ms of one evaluation of the drag and of the buoyancy of a hull."""
    vehicle = load_vehicle(hull_vehicle_urdf(triangles))
    hull = vehicle.hull
    assert hull is not None
    assert hull.panels is not None
    turned = quaternion_from_rpy(0.1, 0.2, 0.3)
    state = State(np.array([0.0, 0.0, 0.01]), turned, np.array([1.0, 0.2, -0.3, 0.1, 0.2, 0.3]))
    _, memory = drag_with_memory(vehicle, state, Environment(), None, dt=0.0)

    def drag() -> object:
        return drag_with_memory(vehicle, state, Environment(), memory, dt=0.005)

    of_buoyancy = _per_call(lambda: buoyancy(vehicle, state, Environment()))
    return len(hull.panels), 1e3 * _per_call(drag), 1e3 * of_buoyancy


def allocation_microseconds(name: str, size: float) -> float:
    """Return the cost of sharing out a wrench of so many newtons on each axis."""
    vehicle = load_vehicle(name)
    allocator = Allocator(vehicle.thrusters, vehicle.inertia.center_of_mass)
    wrench = size * np.array([1.0, -0.8, 0.9, 0.05, 0.04, -0.06])
    return 1e6 * _per_call(lambda: allocator.allocate(wrench), STEPS)


def _per_call(work: Callable[[], object], count: int = 200) -> float:
    for _ in range(20):
        work()
    start = time.perf_counter()
    for _ in range(count):
        work()
    return (time.perf_counter() - start) / count


def _spread(values: list[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return f'{format(median(values), form)}  ({low} to {high})'


Add = Callable[[str, str, float], None]
"""Takes name, format and value of a measurement."""
Costs = dict[str, tuple[float, float]]
"""CPU share and memory (MB) of each node."""


class Rows(dict[str, tuple[str, list[float]]]):
    """Format and values of each measurement; a screen on stderr is told each at once."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self._screen = open_terminal(stderr=True)

    def add(self, name: str, form: str, value: float) -> None:
        """Take a value of a measurement."""
        self.setdefault(name, (form, []))[1].append(value)
        if self._screen.is_terminal:
            self._screen.print(f'{name}  {value:{form}}', style='dim', highlight=False)


def _steps(add: Add) -> None:
    """Measure what needs no graph."""
    for vehicle in ('bluerov2', 'bluerov2_heavy'):
        cost = step_microseconds(load_vehicle(vehicle), STEPS)
        add(f'in process, {vehicle}: µs/step', '.0f', cost)
    for load, size in (('within limits', 10.0), ('saturated', 1000.0)):
        cost = allocation_microseconds('bluerov2_heavy', size)
        add(f'thrust allocation, bluerov2_heavy, {load}: µs', '.0f', cost)
    for wanted in TRIANGLES:
        panels, drag, buoyancy = force_milliseconds(wanted)
        add(f'drag of {panels} hull triangles, ms', '.2f', drag)
    add('buoyancy of 1,000 voxels, ms', '.2f', buoyancy)
    for vehicle in vehicle_names():
        if not len(load_vehicle(vehicle).contact.position):
            continue  # it touches nothing
        afloat = solid_milliseconds(vehicle, height=20.0)
        fallen = solid_milliseconds(vehicle, height=0.05)
        add(f'contact, {vehicle} 20 m over rock: CPU ms', '.3f', afloat.contact)
        add(f'contact, {vehicle} on rock: CPU ms (200 Hz: 5)', '.2f', fallen.touching)
        add(f'boundary, {vehicle} 20 m over rock: CPU ms', '.3f', afloat.boundary)
        add(f'boundary, {vehicle} on rock: CPU ms (200 Hz: 5)', '.2f', fallen.boundary)
    resting = solid_milliseconds('bluerov2', height=0.05, still=True)
    add('contact, bluerov2 at rest on rock: CPU µs', '.0f', 1e3 * resting.touching)
    if importlib.util.find_spec('numba'):
        resting = solid_milliseconds(
            'bluerov2', height=0.05, scene='wreck', place=ON_THE_DECK, still=True
        )
        add('contact, bluerov2 at rest on the wreck: CPU µs', '.0f', 1e3 * resting.touching)
    if importlib.util.find_spec('mujoco'):
        add('MuJoCo, its box at rest on the same rock: CPU µs/step', '.1f', mujoco_microseconds())
    sensor_cost_rows(add)


def _engine(add: Add) -> None:
    """Measure the compiled engine, where there is JAX; its threads slow down what comes after."""
    if importlib.util.find_spec('jax') is None:
        return
    from marine_sim_ros.bench.engine import engine_rows

    for row in engine_rows(hull_vehicle_urdf, TRIANGLES[:-1]):
        add(*row)


def execute(options: argparse.Namespace) -> int:
    """Measure everything in turn, round by round, and print one table."""
    _check(options)
    if not options.steps_only:
        require_ros('bench without --steps-only')
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(60 + os.getpid() % 40))
    if options.gazebo:
        check_gazebo()
        os.environ.setdefault('GZ_PARTITION', f'marine_sim_bench_{os.getpid()}')
        open_terminal(width=120).print(gazebo_table(options.rounds, options.seconds))
        return 0
    if options.console or options.console_hours:
        return _console(options)
    rows = Rows()
    costs: Costs = {}
    try:
        costs = _measure(options, rows.add)
    except KeyboardInterrupt:  # half an hour of rows is not thrown away
        print('ended by ctrl-C; measured until then:', file=sys.stderr)
    finally:
        _print(options.rounds, rows, costs)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Look at the numbers, and give the length its default.

    Raises:
        ParameterError: a number is out of range, or has nothing to be the length of.
    """
    if options.rounds < 1:
        raise ParameterError(f'--rounds {options.rounds}: expected 1 or more')
    if options.seconds is None:
        options.seconds = SECONDS
    elif options.start or options.steps_only:
        only = '--start' if options.start else '--steps-only'
        raise ParameterError(f'--seconds: {only} measures nothing of a set length; leave it out')
    if not 0 < options.seconds <= MAX_GRAPH_DURATION:
        raise ParameterError(
            f'--seconds {options.seconds:g}: expected more than 0, to {MAX_GRAPH_DURATION:g}'
        )


def _measure(options: argparse.Namespace, add: Add) -> Costs:
    """Measure what is asked for, round by round; return what nodes take, if it was asked for."""
    only = {'sensors': _sensors, 'fleet': _fleet, 'start': _start}
    for name in filter(vars(options).get, only):
        for _ in range(options.rounds):
            only[name](add, options.seconds)
        return {}
    for _ in range(options.rounds):
        _steps(add)
        if not options.steps_only:
            _start(add, options.seconds)
            _graph(add, options.seconds)
            _fleet(add, options.seconds)
    for _ in range(options.rounds):
        _engine(add)
    return {} if options.steps_only else _node_costs(options.seconds)


# These need ROS, and --help and --steps-only do not.


def _console(options: argparse.Namespace) -> int:
    from marine_sim_ros.bench.console import print_console_costs, print_console_memory

    if options.console:
        print_console_costs(options.rounds, options.seconds)
    else:
        print_console_memory(options.console_hours)
    return 0


def _sensors(add: Add, seconds: float) -> None:
    from marine_sim_ros.bench.graph import camera_graph_rows, sensor_graph_rows, survey_graph_rows

    sensor_cost_rows(add)
    survey_cost_rows(add)
    sensor_graph_rows(add, seconds)
    survey_graph_rows(add, seconds)
    if importlib.util.find_spec('moderngl'):
        camera_rows(add)
        camera_graph_rows(add, seconds)


def _fleet(add: Add, seconds: float) -> None:
    from marine_sim_ros.bench.graph import fleet_rows

    fleet_rows(add, seconds)


def _start(add: Add, seconds: float) -> None:
    from marine_sim_ros.bench.graph import start_rows

    del seconds
    start_rows(add)


def _graph(add: Add, seconds: float) -> None:
    from marine_sim_ros.bench.graph import graph_rows

    graph_rows(add, seconds, hull=hull_vehicle_urdf(TRIANGLES[-2]))


def _node_costs(seconds: float) -> Costs:
    from marine_sim_ros.bench.graph import node_costs

    return node_costs(seconds)


def _print(rounds: int, rows: Rows, costs: Costs) -> None:
    write: Callable[..., None] = open_terminal(width=100).print
    machine = f'{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}'
    table = Table(title=f'median (minimum to maximum) of {rounds} rounds; {machine}')
    table.add_column('measurement')
    table.add_column('value', justify='right')
    for name, (form, values) in rows.items():
        table.add_row(name, _spread(values, form))
    write(table)
    if not costs:
        return
    table = Table(title='each node at real time, 200 ticks/s')
    for column in ('node', 'CPU, % of a core', 'memory, MB'):
        table.add_column(column, justify='right')
    for name, (share, memory) in costs.items():
        table.add_row(name, f'{100 * share:.1f}', f'{memory:.0f}')
    write(table)
