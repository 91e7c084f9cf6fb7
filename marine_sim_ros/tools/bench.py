# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measure speed: steps in process, ticks of the graph, and each as a ratio in one run."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.simulation import Simulation
from marine_sim_ros.suite import RunOptions, describe
from marine_sim_ros.tools.odometer import Odometer
from marine_sim_ros.tools.supervisor import Supervisor

__all__ = ['add_arguments', 'execute']

STEPS = 4000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument('--rounds', type=int, default=3, help='of each measurement (default 3)')
    parser.add_argument('--seconds', type=float, default=4.0, help='of each graph measurement')


def step_microseconds(name: str) -> float:
    """Return the cost of a whole tick in process: all forces and the integration."""
    vehicle = load_vehicle(name)
    simulation = Simulation(vehicle)
    pwm = np.full(len(vehicle.thrusters), 1600.0)
    for _ in range(200):
        simulation.tick(pwm)
    start = time.perf_counter()
    for _ in range(STEPS):
        simulation.tick(pwm)
    return (time.perf_counter() - start) / STEPS * 1e6


def ticks_per_second(seconds: float, *, composed: bool, compute: bool) -> tuple[float, float]:
    """Return ticks/s of a running graph, and the seconds from its start to the first odom."""
    options = RunOptions(
        namespace='bench', scenario='dive', real_time_factor=0.0, duration=1e5, compute=compute
    )
    supervisor = Supervisor()
    start = time.monotonic()
    supervisor.start_composed(options) if composed else supervisor.start(describe(options))
    try:
        with Odometer('/bench') as odometer:
            odometer.wait(60.0)
            first = time.monotonic() - start
            time.sleep(1.0)
            before, since = odometer.ticks(), time.monotonic()
            odometer.spin(seconds)
            rate = (odometer.ticks() - before) / (time.monotonic() - since)
    finally:
        supervisor.stop()
    return rate, first


def _cpu_seconds(pid: int) -> float:
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def _resident(pid: int) -> float:
    pages = int(Path(f'/proc/{pid}/statm').read_text(encoding='ascii').split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


def node_costs(seconds: float) -> dict[str, tuple[float, float]]:
    """Return CPU share (of one core) and memory (MB) of each node's process at real time."""
    options = RunOptions(namespace='bench', scenario='dive', duration=1e5)
    supervisor = Supervisor()
    supervisor.start(describe(options))
    try:
        with Odometer('/bench') as odometer:
            odometer.wait(60.0)
        time.sleep(1.0)
        pids = {name: process.pid for name, process in supervisor.processes.items()}
        before = {name: _cpu_seconds(pid) for name, pid in pids.items()}
        time.sleep(seconds)
        return {
            name: ((_cpu_seconds(pid) - before[name]) / seconds, _resident(pid))
            for name, pid in pids.items()
        }
    finally:
        supervisor.stop()


def _spread(values: list[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return f'{format(median(values), form)}  ({low} to {high})'


def execute(options: argparse.Namespace) -> int:
    """Measure everything in turn, round by round, and print one table."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', str(60 + os.getpid() % 40))
    rows: dict[str, tuple[str, list[float]]] = {}

    def add(name: str, form: str, value: float) -> None:
        rows.setdefault(name, (form, []))[1].append(value)

    def graph(name: str, **kind: bool) -> float:
        rate, first = ticks_per_second(options.seconds, **kind)
        add(f'graph, {name}: ticks/s', '.0f', rate)
        add(f'graph, {name}: start to first odom, s', '.2f', first)
        return rate

    for _ in range(options.rounds):
        for vehicle in ('bluerov2', 'bluerov2_heavy'):
            add(f'in process, {vehicle}: µs/step', '.0f', step_microseconds(vehicle))
        full = graph('separate processes', composed=False, compute=True)
        null = graph('separate, computing nothing', composed=False, compute=False)
        one = graph('composed', composed=True, compute=True)
        add('ratio graph / null graph (goal 0.75)', '.2f', full / null)
        add('ratio composed / separate (goal 3)', '.2f', one / full)
    _print(options.rounds, rows, node_costs(options.seconds))
    return 0


def _print(
    rounds: int,
    rows: dict[str, tuple[str, list[float]]],
    costs: dict[str, tuple[float, float]],
) -> None:
    write: Callable[..., None] = Console(width=100).print
    machine = f'{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}'
    table = Table(title=f'median (minimum to maximum) of {rounds} rounds; {machine}')
    table.add_column('measurement')
    table.add_column('value', justify='right')
    for name, (form, values) in rows.items():
        table.add_row(name, _spread(values, form))
    write(table)
    table = Table(title='each node at real time, 200 ticks/s')
    for column in ('node', 'CPU, % of a core', 'memory, MB'):
        table.add_column(column, justify='right')
    for name, (share, memory) in costs.items():
        table.add_row(name, f'{100 * share:.1f}', f'{memory:.0f}')
    write(table)
