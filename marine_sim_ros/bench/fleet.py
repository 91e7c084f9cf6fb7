# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a vehicle of a composed fleet costs, against the number of vehicles."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from marine_sim_ros.bench.odometer import Odometer
from marine_sim_ros.bench.processes import cpu_seconds, resident
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.sim.fleet import Fleet, FleetVehicle, fleet_runs
from marine_sim_ros.sim.options import RunOptions

__all__ = ['fleet_rows']

NUMBERS = (1, 5, 20)
SPACING = 3.0
"""m."""
CLOSED = 'survey'
"""Ten minutes in which the controller always has something to do."""
REAL_TIME = 200.0
"""ticks/s."""


def _cost(seconds: float, count: int, engine: str) -> tuple[float, float]:
    """Return the processor time of a tick of one vehicle (s) and the memory of the fleet (MB)."""
    vehicles = tuple(
        FleetVehicle(f'bench_{i}', 'bluerov2', scenario=CLOSED, position=(i * SPACING, 0, -5))
        for i in range(count)
    )
    common = RunOptions(real_time_factor=0.0, duration=1e5, engine=engine)
    first, *followers = fleet_runs(Fleet(vehicles), common)
    supervisor = Supervisor()
    supervisor.start_run(first, [], composed=True, followers=followers)
    try:
        with Odometer('/bench_0') as odometer:
            odometer.wait(120.0)
            pids = [process.pid for process in supervisor.processes.values()]
            time.sleep(1.0)
            before, used = odometer.ticks(), cpu_seconds(pids)
            odometer.spin(seconds)
            ticks = max(odometer.ticks() - before, 1)  # of all, as they share one time
            return (cpu_seconds(pids) - used) / ticks / count, resident(pids)
    finally:
        supervisor.stop()


def fleet_rows(
    add: Callable[[str, str, float], None], seconds: float, numbers: Sequence[int] = NUMBERS
) -> None:
    """Measure composed fleets of BlueROV2s in closed loop, with their sensors, at full speed.

    Args:
        add: takes name, format and value of a measurement.
        seconds: time of each measurement, s.
        numbers: numbers of vehicles.
    """
    for engine in ('numpy', 'jax') if find_spec('jax') else ('numpy',):
        for count in numbers:
            name = f'composed fleet of {count}, {engine}'
            cost, memory = _cost(seconds, count, engine)
            add(f'{name}: CPU of a tick of a vehicle, ms', '.3f', 1e3 * cost)
            add(f'{name}: vehicles in real time on a core', '.1f', 1 / (cost * REAL_TIME))
            add(f'{name}: memory, MB', '.0f', memory)
