# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ticks a second of running graphs, and what each of their processes takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from marine_sim_ros.bench.autopilot import autopilot_rows
from marine_sim_ros.bench.odometer import Odometer
from marine_sim_ros.bench.processes import cpu_seconds, resident
from marine_sim_ros.bench.sensors import EVERYTHING, IMAGE, NOTHING
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.sim.graph import describe
from marine_sim_ros.sim.options import RunOptions

__all__ = ['graph_rows', 'node_costs', 'sensor_graph_rows', 'ticks_per_second']

CLOSED = {'vehicle': 'investigator90', 'scenario': 'position_hold'}
SEA = 'moderate_sea'
CAMERA_WARM_UP = 8.0
"""s, in which shaders are compiled."""
REAL_TIME = 200.0
"""ticks/s."""


def ticks_per_second(
    seconds: float, *, composed: bool = False, compute: bool = True, **options_of: Any
) -> tuple[float, float]:
    """Return ticks/s of a running graph, and its processor time of a tick, s."""
    options = RunOptions(
        namespace='bench',
        real_time_factor=0.0,
        duration=1e5,
        compute=compute,
        **{'scenario': 'dive', **options_of},
    )
    supervisor = Supervisor()
    supervisor.start_run(options, [] if composed else describe(options), composed=composed)
    try:
        with Odometer('/bench') as odometer:
            odometer.wait(60.0)
            time.sleep(1.0)
            pids = [process.pid for process in supervisor.processes.values()]
            before, since, used = odometer.ticks(), time.monotonic(), cpu_seconds(pids)
            odometer.spin(seconds)
            ticks = max(odometer.ticks() - before, 1)
            used = cpu_seconds(pids) - used
            rate = ticks / (time.monotonic() - since)
    finally:
        supervisor.stop()
    return rate, used / ticks


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
        before = {name: cpu_seconds([pid]) for name, pid in pids.items()}
        time.sleep(seconds)
        return {
            name: ((cpu_seconds([pid]) - before[name]) / seconds, resident([pid]))
            for name, pid in pids.items()
        }
    finally:
        supervisor.stop()


def _arguments(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f'{name}:={value}' for name, value in values.items())


def _share(without: float, beside: float) -> float:
    """Return what more takes at real time, % of a core, of CPU seconds per tick."""
    return 100 * REAL_TIME * (beside - without)


Add = Callable[[str, str, float], None]
"""Takes name, format and value of a measurement."""


def _row(add: Add, seconds: float, name: str, **kind: Any) -> tuple[float, float]:
    """Measure a graph; return its ticks/s, and CPU s of a tick."""
    rate, tick = ticks_per_second(seconds, **kind)
    add(f'graph, {name}: ticks/s', '.0f', rate)
    return rate, tick


def sensor_graph_rows(add: Add, seconds: float) -> None:
    """Measure a composed run over sand without sensors, and with them; no reading is left out.

    Args:
        add: takes name, format and value of a measurement.
        seconds: time of each measurement, s.
    """
    used = []
    for name, arguments in (
        ('composed, bluerov2 over sand without sensors', NOTHING),
        ('the same with all sensors but imaging sonar and camera', EVERYTHING),
        ('the same with the imaging sonar', {**EVERYTHING, IMAGE: 'true'}),
    ):
        kind = {'environment': 'shallow_sand', 'vehicle_arguments': _arguments(arguments)}
        used.append(_row(add, seconds, name, composed=True, synchronous=True, **kind)[1])
    bare, seen, image = used
    add('sensors at 200 ticks/s, composed: CPU, % of a core (goal 33)', '.1f', _share(bare, seen))
    add('imaging sonar beside them: CPU, % of a core', '.1f', _share(seen, image))
    add('the whole run with them: CPU, % of a core (goal 100)', '.1f', _share(0.0, image))


def camera_graph_rows(add: Add, seconds: float) -> None:
    """Measure composed runs in real time beside the BlueROV2's camera, which has its own process.

    Args:
        add: takes name, format and value of a measurement.
        seconds: time of each measurement, s.
    """
    from sensor_msgs.msg import CameraInfo

    for around in ('pool', 'shallow_sand'):
        options = RunOptions(
            namespace='bench',
            scenario='dive',
            duration=1e5,
            environment=around,
            vehicle_arguments=('camera:=true', 'camera_height:=480'),
        )
        supervisor = Supervisor()
        supervisor.start_run(options, describe(options), composed=True)
        try:
            with Odometer('/bench') as odometer:
                odometer.wait(60.0)
                pictures = odometer.hear('/bench/camera/camera_info', CameraInfo)
                odometer.spin(CAMERA_WARM_UP)
                pid = supervisor.processes['camera'].pid
                ticks, shown, used = odometer.ticks(), len(pictures), cpu_seconds([pid])
                since = time.monotonic()
                odometer.spin(seconds)
                ticks = odometer.ticks() - ticks
                passed = time.monotonic() - since
                shown, used = len(pictures) - shown, cpu_seconds([pid]) - used
        finally:
            supervisor.stop()
        name = f'composed in real time, camera of 640 x 480 at 15 Hz, {around}'
        add(f'{name}: ticks/s (goal 200)', '.0f', ticks / passed)
        add(f'{name}: real-time factor (goal 1)', '.2f', ticks / passed / REAL_TIME)
        add(f'{name}: pictures/s (goal 15)', '.1f', shown / passed)
        add(f'{name}: CPU of the camera, % of a core', '.0f', 100 * used / passed)


def graph_rows(add: Add, seconds: float, *, hull: str) -> None:
    """Measure running graphs.

    Args:
        add: takes name, format and value of a measurement.
        seconds: time of each measurement, s.
        hull: URDF text of a vehicle with many panels.
    """

    def graph(name: str, **kind: Any) -> float:
        return _row(add, seconds, name, **kind)[0]

    full = graph('separate processes', composed=False, compute=True)
    null = graph('separate, computing nothing', composed=False, compute=False)
    one, cost = _row(add, seconds, 'composed', composed=True, compute=True)
    idle = graph('composed, computing nothing', composed=True, compute=False)
    add('ratio composed / composed null graph', '.2f', one / idle)
    if find_spec('jax'):
        fast, less = _row(add, seconds, 'composed, compiled', composed=True, engine='jax')
        add('ratio composed compiled / composed', '.2f', fast / one)
        add('composed: CPU of a tick, ms', '.3f', 1e3 * cost)
        add('composed, compiled: CPU of a tick, ms', '.3f', 1e3 * less)
    for vehicle in ('simple_rov', 'surface_vessel'):
        graph(f'separate, {vehicle}', vehicle=vehicle)
    with TemporaryDirectory() as folder:
        path = Path(folder) / 'bluerov2_hull.urdf'
        path.write_text(hull, encoding='utf-8')
        graph('separate, bluerov2 with 2,112 triangles', vehicle=str(path))
    graph('separate, surface_vessel in a sea', vehicle='surface_vessel', environment=SEA)
    graph('separate, bluerov2 in a pool', environment='pool')
    graph('separate, investigator90 in closed loop', **CLOSED)
    graph('composed, investigator90 in closed loop', composed=True, **CLOSED)
    if find_spec('jax'):
        graph('the same, compiled', composed=True, engine='jax', **CLOSED)
    sensor_graph_rows(add, seconds)
    autopilot_rows(add, seconds, ticks_per_second)
    add('ratio graph / null graph (goal 0.75)', '.2f', full / null)
    add('ratio composed / separate (goal 3)', '.2f', one / full)
