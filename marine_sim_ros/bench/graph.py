# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Speed, memory and start-up of running graphs, fleets and nodes."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, ReliabilityPolicy

from marine_sim_ros.bench.autopilot import autopilot_rows
from marine_sim_ros.bench.numpy_steps import ALL_SENSORS, IMAGE_SENSOR, NO_SENSORS, SURVEY_RATES
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.processes import (
    cpu_seconds,
    memory_of_each,
    module_command,
    resident_memory,
)
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.launching.installation import dds_profile
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.fleet import Fleet, FleetVehicle, fleet_runs
from marine_sim_ros.sim.options import RunOptions

__all__ = [
    'Odometer',
    'fleet_rows',
    'graph_rows',
    'node_costs',
    'sensor_graph_rows',
    'start_rows',
    'survey_graph_rows',
]


# External observer that counts the ticks of a run.

BURST = 1000
"""Reports that wait: those of a fleet's nodes come at once, nine for each vehicle."""


class Odometer:
    """Waits for the first odom, then counts through the state owner's reports.

    The reports come once a second, so that watching costs the run nothing.
    """

    def __init__(self, namespace: str) -> None:
        """Join the graph."""
        import rclpy
        from rclpy.signals import SignalHandlerOptions

        from marine_sim_ros.ros.base.internals import executor, log_arguments

        os.environ.update(dds_profile())  # or it would hear of a run up to 3 s late
        rclpy.init(args=log_arguments(), signal_handler_options=SignalHandlerOptions.NO)
        self._name = f'{namespace}/dynamics'
        self._odom_topic = f'{namespace}/odom'
        self._node = rclpy.create_node('odometer')
        self._reports: list[tuple[float, int]] = []
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._take, BURST)
        self._engine = executor()
        self._engine.add_node(self._node)

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {v.key: v.value for v in status.values}
            if status.name == self._name and int(values.get('ticks', 0)):
                self._reports.append((time.monotonic(), int(values['ticks'])))

    def spin(self, seconds: float) -> None:
        """Take reports for a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._engine.spin_once(timeout_sec=0.02)

    def wait(self, timeout: float) -> None:
        """Wait for the first odom.

        Raises:
            MarineSimError: there is none in time.
        """
        first: list[Odometry] = []
        subscription = self._node.create_subscription(
            Odometry, self._odom_topic, first.append, topics.ODOM.qos
        )
        deadline = time.monotonic() + timeout
        while not first:
            self.spin(0.01)
            if time.monotonic() > deadline:
                raise MarineSimError(f'{self._odom_topic}: no message within {timeout:g} s')
        self._node.destroy_subscription(subscription)

    def hear(self, topic: str, kind: type) -> list[float]:
        """Return a list that grows by the time (s) of each message of a topic, best effort."""
        times: list[float] = []
        quality = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._node.create_subscription(
            kind, topic, lambda _: times.append(time.monotonic()), quality
        )
        return times

    def ticks(self) -> int:
        """Wait for the next report and return its count."""
        seen = len(self._reports)
        deadline = time.monotonic() + 10
        while len(self._reports) == seen and time.monotonic() < deadline:
            self.spin(0.01)
        if len(self._reports) == seen:
            raise MarineSimError(f'{self._name}: no report of ticks within 10 s')
        return self._reports[-1][1]

    def __enter__(self) -> Odometer:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the graph."""
        import rclpy

        self._engine.shutdown()  # else it keeps the node, and its place among 32 on this machine
        self._node.destroy_node()
        rclpy.try_shutdown()


# Time from the command ``marine_sim run`` to the first odom.

COMMAND = ('run', 'bluerov2', '--scenario', 'dive', '--duration', '100000', '--namespace', 'bench')
SETTLED = 1.0
"""s after the first odom, when memory is looked at."""
_STARTED_TWICE = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
"""Set where Python has found the libraries of wheels and started anew, as it does for a user."""


def start_rows(add: Callable[[str, str, float], None]) -> None:
    """Measure a start in separate processes and a composed one.

    Args:
        add: takes name, format and value of a measurement.
    """
    environment = {name: text for name, text in os.environ.items() if name != _STARTED_TWICE}
    for kind, words, goal in (('separate processes', (), 1.5), ('composed', ('--composed',), 0.4)):
        with Odometer('/bench') as odometer:
            start = time.monotonic()
            process = subprocess.Popen(
                module_command('marine_sim_ros.tools.main', *COMMAND, *words),
                env=environment,
                stdout=subprocess.DEVNULL,
            )
            try:
                odometer.wait(60.0)
                clock, used = time.monotonic() - start, cpu_seconds([process.pid])
                time.sleep(SETTLED)
                memory = memory_of_each(process.pid)
            finally:
                process.terminate()
                process.wait()
        add(f'start, {kind}: to the first odom, s (goal {goal})', '.2f', clock)
        add(f'start, {kind}: CPU of all processes until then, s', '.2f', used)
        add(f'start, {kind}: memory of a node, MB', '.0f', max(held for held, _ in memory))
        add(f'start, {kind}: the same, shared pages divided', '.0f', max(own for _, own in memory))


# Cost of a vehicle in a composed fleet, by number of vehicles.

FLEET_SIZES = (1, 5, 20)
SPACING = 3.0
"""m."""
FLEET_SCENARIO = 'survey'
"""Ten minutes in which the controller always has something to do."""
REAL_TIME = 200.0
"""ticks/s."""


def _cost(seconds: float, count: int, engine: str) -> tuple[float, float]:
    """Return the processor time of a tick of one vehicle (s) and the memory of the fleet (MB)."""
    vehicles = tuple(
        FleetVehicle(
            f'bench_{i}', 'bluerov2', scenario=FLEET_SCENARIO, position=(i * SPACING, 0, -5)
        )
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
            return (cpu_seconds(pids) - used) / ticks / count, resident_memory(pids)
    finally:
        supervisor.terminate_all()


def fleet_rows(
    add: Callable[[str, str, float], None], seconds: float, numbers: Sequence[int] = FLEET_SIZES
) -> None:
    """Measure composed fleets of BlueROV2s in closed loop, with their sensors, at full speed.

    Args:
        add: takes name, format and value of a measurement.
        seconds: time of each measurement, s.
    """
    for engine in ('numpy', 'jax') if find_spec('jax') else ('numpy',):
        for count in numbers:
            name = f'composed fleet of {count}, {engine}'
            cost, memory = _cost(seconds, count, engine)
            add(f'{name}: CPU of a tick of a vehicle, ms', '.3f', 1e3 * cost)
            add(f'{name}: vehicles in real time on a core', '.1f', 1 / (cost * REAL_TIME))
            add(f'{name}: memory, MB', '.0f', memory)


# Ticks per second of running graphs, and load of each process.

CLOSED_LOOP_RUN = {'vehicle': 'investigator90', 'scenario': 'position_hold'}
SEA = 'moderate_sea'
CAMERA_WARM_UP = 8.0
"""s, in which shaders are compiled."""


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
    supervisor.start_run(options, [] if composed else node_specs(options), composed=composed)
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
        supervisor.terminate_all()
    return rate, used / ticks


def node_costs(seconds: float) -> dict[str, tuple[float, float]]:
    """Return CPU share (of one core) and memory (MB) of each node's process at real time."""
    options = RunOptions(namespace='bench', scenario='dive', duration=1e5)
    supervisor = Supervisor()
    supervisor.start(node_specs(options))
    try:
        with Odometer('/bench') as odometer:
            odometer.wait(60.0)
        time.sleep(1.0)
        pids = {name: process.pid for name, process in supervisor.processes.items()}
        before = {name: cpu_seconds([pid]) for name, pid in pids.items()}
        time.sleep(seconds)
        return {
            name: ((cpu_seconds([pid]) - before[name]) / seconds, resident_memory([pid]))
            for name, pid in pids.items()
        }
    finally:
        supervisor.terminate_all()


def _arguments(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f'{name}:={value}' for name, value in values.items())


def _core_percent(without: float, beside: float) -> float:
    """Return the additional load at real time, % of a core, from CPU seconds per tick."""
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
        ('composed, bluerov2 over sand without sensors', NO_SENSORS),
        ('the same with all sensors but imaging sonar and camera', ALL_SENSORS),
        ('the same with the imaging sonar', {**ALL_SENSORS, IMAGE_SENSOR: 'true'}),
    ):
        kind = {'environment': 'shallow_sand', 'vehicle_arguments': _arguments(arguments)}
        used.append(_row(add, seconds, name, composed=True, synchronous=True, **kind)[1])
    bare, seen, image = used
    add(
        'sensors at 200 ticks/s, composed: CPU, % of a core (goal 33)',
        '.1f',
        _core_percent(bare, seen),
    )
    add('imaging sonar beside them: CPU, % of a core', '.1f', _core_percent(seen, image))
    add('the whole run with them: CPU, % of a core (goal 100)', '.1f', _core_percent(0.0, image))


_SURVEY_SONARS = ('multibeam', 'sonar_3d', 'side_scan')


def survey_graph_rows(add: Add, seconds: float) -> None:
    """Measure a composed run over sand with multibeam, 3D sonar and side-scan at survey rates.

    No reading is left out.

    Args:
        add: takes name, format and value of a measurement.
        seconds: time of each measurement, s.
    """
    arguments: dict[str, Any] = dict.fromkeys(_SURVEY_SONARS, 'true')
    text = load_vehicle('bluerov2', **arguments).urdf
    for name in _SURVEY_SONARS:
        kind_of = f'type="{name}"'
        text = text.replace(kind_of, f'{kind_of} rate="{SURVEY_RATES[name]:g}"')
    with TemporaryDirectory() as folder:
        path = Path(folder) / 'bluerov2_survey.urdf'
        path.write_text(text, encoding='utf-8')
        name = 'composed, bluerov2 with multibeam, 3D sonar (10 Hz) and side-scan (20 Hz)'
        kind = {'environment': 'shallow_sand', 'composed': True, 'synchronous': True}
        tick = _row(add, seconds, name, vehicle=str(path), **kind)[1]
    percent = _core_percent(0.0, tick)
    add('the whole run with survey sonars: CPU, % of a core (goal 100)', '.1f', percent)


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
        supervisor.start_run(options, node_specs(options), composed=True)
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
            supervisor.terminate_all()
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
    graph('separate, investigator90 in closed loop', **CLOSED_LOOP_RUN)
    graph('composed, investigator90 in closed loop', composed=True, **CLOSED_LOOP_RUN)
    if find_spec('jax'):
        graph('the same, compiled', composed=True, engine='jax', **CLOSED_LOOP_RUN)
    sensor_graph_rows(add, seconds)
    autopilot_rows(add, seconds, ticks_per_second)
    add('ratio graph / null graph (goal 0.75)', '.2f', full / null)
    add('ratio composed / separate (goal 3)', '.2f', one / full)
