# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Show a dive in this process, as a ROS graph and in the browser, in two minutes."""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from marine_sim_ros.console.page.access import opening_file
from marine_sim_ros.console.page.links import write_token
from marine_sim_ros.control.pilot import target_at_vehicle
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.core.text import open_terminal
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.ros.node_graph import NodeSpec, node_specs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.player import ScriptedPilot
from marine_sim_ros.sim.scenario import Scenario, load_scenario
from marine_sim_ros.sim.simulation import Simulation
from marine_sim_ros.sim.step import StepOutput
from marine_sim_ros.sim.trajectory import trajectory_hash
from marine_sim_ros.tools.graph_run import run_graph

__all__ = ['TOPICS', 'add_arguments', 'depth_plot', 'execute']

VEHICLE = 'bluerov2'
SCENARIO = 'dive'
TOPICS = (
    ('odom', 'nav_msgs/Odometry', 'pose, velocity; every step'),
    ('wrench/thrusters', 'geometry_msgs/WrenchStamped', 'of the thrusters'),
    ('wrench/buoyancy', 'geometry_msgs/WrenchStamped', 'of the displaced water'),
    ('wrench/drag', 'geometry_msgs/WrenchStamped', 'of the drag'),
    ('thrusters/pwm', 'std_msgs/UInt16MultiArray', 'what you send to steer'),
    ('barometer/pressure', 'sensor_msgs/FluidPressure', 'with noise'),
    ('/clock', 'rosgraph_msgs/Clock', 'simulation time'),
)
"""Name below the vehicle's namespace, type, and meaning of some topics of a run."""

NEXT_WITH_ROS = (
    ('marine_sim run bluerov2', 'starts the graph; ctrl-C ends it'),
    ('marine_sim teleop', 'steers it, from another terminal'),
    ('marine_sim run bluerov2 --console', 'steers it in a browser'),
)
NEXT = (
    ('marine_sim experiment heading_step', 'closes the loop'),
    ('marine_sim simulate bluerov2 --scenario dive --record out/dive', ''),
    ('marine_sim analyze out/dive -o out/report', 'reports on it'),
    ('marine_sim doctor my_vehicle.urdf', 'checks a vehicle of your own'),
)
"""Commands, and what they do."""

SPEED = 2.0
"""Seconds of the dive in one second of the tour."""
FRAME = 0.1
"""s of wall time between two pictures."""
LINE = 5.0
"""s of simulated time between two lines where there is no terminal."""
READING = 5.0
"""s of wall time that a paragraph stands before the next one."""
WIDTH, ROWS = 80, 12
"""Characters across the screen, and down the plot."""
MAX_DEPTH = 6.0
"""m at the lower edge of the plot; the dive goes to 5 m."""
LOG = '{name}: {message}'
"""Format of the nodes' log."""
PORT = 8060


class _Stage:
    """Output of the demo: a terminal, or a pipe that gets plain lines."""

    def __init__(self, *, fast: bool) -> None:
        self.console = open_terminal(highlight=False)
        self.live = self.console.is_terminal
        self.width = min(WIDTH, self.console.width) if self.live else WIDTH
        self.fast = fast

    def title(self, text: str) -> None:
        """Print a heading."""
        if self.live:
            self.console.print()
            self.console.print(Rule(Text(text, 'bold'), align='left'), width=self.width)
        else:
            print(f'\n{text}', flush=True)

    def tell(self, text: str) -> None:
        """Print a paragraph."""
        if self.live:
            self.console.print(Text(text), width=self.width)
        else:
            print(text, flush=True)

    def rest(self) -> None:
        """Leave time to read, where somebody reads."""
        if self.live and not self.fast:
            time.sleep(READING)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument(
        '--fast', action='store_true', help='no pauses and no console, as fast as it computes'
    )
    parser.add_argument(
        '--no-ros', action='store_true', help='leave out the ROS graph, also where ROS is'
    )


def depth_plot(
    seconds: Sequence[float],
    depths: Sequence[float],
    *,
    duration: float,
    deepest: float,
    width: int,
    rows: int = ROWS,
) -> list[str]:
    """Return the lines of a plot of depth over time, the surface at the top.

    Each character has an upper and a lower half, so that a row shows two depths.

    Args:
        seconds: (n,) times, s.
        depths: (n,) depths, m.
        duration: time at the right edge, s.
        deepest: depth at the lower edge, m.
        width: characters across.
        rows: characters down.
    """
    levels = np.full(width, -1)
    columns = np.minimum((np.asarray(seconds) / duration * width).astype(int), width - 1)
    shares = np.clip(np.asarray(depths) / deepest, 0.0, 1.0)
    levels[columns] = np.minimum((shares * 2 * rows).astype(int), 2 * rows - 1)
    lines = []
    for row in range(rows):
        marks = ''.join(
            '▀' if level == 2 * row else '▄' if level == 2 * row + 1 else ' '
            for level in levels.tolist()
        )
        lines.append(f'{row * deepest / rows:5.1f} ┤{marks}'.rstrip())
    ticks = ''.join(f'{share * duration / 4:<{width // 4}.0f}' for share in range(4))
    lines.append('  m   └' + '─' * width)
    lines.append(f'       {ticks[: width - 4]:<{width - 4}}{duration:.0f} s')
    return lines


def _telemetry(tick: StepOutput) -> str:
    at = target_at_vehicle(tick.state)
    speed = math.sqrt(sum(float(x) ** 2 for x in tick.state.velocity[:3]))
    heading = round(Origin().compass(at.yaw)) % 360
    return f'depth {at.depth:5.2f} m   heading {heading:03d}°   speed {speed:4.2f} m/s'


def _thrusters(tick: StepOutput) -> Table:
    """Return pulse width and thrust of every thruster, three to a row."""
    table = Table.grid(padding=(0, 4))
    cells = [
        f'T{i} {pwm:6.0f} µs {round(float(thrust), 1) + 0.0:+6.1f} N'  # and no -0.0
        for i, (pwm, thrust) in enumerate(zip(tick.pwm, tick.thrusters.thrust, strict=True), 1)
    ]
    for start in range(0, len(cells), 3):
        table.add_row(*cells[start : start + 3])
    return table


class _Dive:
    """The dive as it is computed, and how it is shown."""

    def __init__(self, vehicle: Vehicle, scenario: Scenario, stage: _Stage) -> None:
        self.vehicle, self.scenario, self.stage = vehicle, scenario, stage
        self.ticks: list[StepOutput] = []
        self._pilot = ScriptedPilot(scenario, vehicle)
        self._simulation = Simulation(vehicle, initial=scenario.initial_state())

    def run(self) -> str:
        """Compute it, show it, return the hash of its trajectory."""
        if self.stage.live:
            with Live(console=self.stage.console, auto_refresh=False) as live:
                self._go(FRAME * SPEED, lambda: live.update(self._screen(), refresh=True))
        else:
            self._go(LINE, lambda: self.stage.tell(self._line()))
            self.stage.tell('\n'.join(['', 'depth over time', *self._plot()]))
        states = State(
            *(np.stack(rows) for rows in zip(*(t.state for t in self.ticks), strict=True))
        )
        return trajectory_hash(np.array([t.stamp for t in self.ticks]), states)

    def _go(self, every: float, show: Callable[[], None]) -> None:
        """Compute all ticks; show them at intervals of simulated time (s)."""
        start, shown = time.monotonic(), 0
        paced = self.stage.live and not self.stage.fast
        for tick in self._simulation.ticks(self._pilot.command, self.scenario.duration):
            self.ticks.append(tick)
            now = tick.stamp / NANOSECONDS
            if now < shown * every:
                continue
            shown += 1
            show()
            if paced:
                time.sleep(max(0.0, start + now / SPEED - time.monotonic()))
        if self.stage.live:
            show()

    @property
    def _elapsed(self) -> float:
        return self.ticks[-1].stamp / NANOSECONDS

    def _line(self) -> str:
        return f'{self._elapsed:5.1f} s   {_telemetry(self.ticks[-1])}'

    def _plot(self) -> list[str]:
        ticks = self.ticks[::20]
        return depth_plot(
            [t.stamp / NANOSECONDS for t in ticks],
            [-float(t.state.position[2]) for t in ticks],
            duration=self.scenario.duration,
            deepest=MAX_DEPTH,
            width=self.stage.width - 12,
        )

    def _screen(self) -> RenderableType:
        total, width = self.scenario.duration, self.stage.width
        parts = Group(
            Text(f'{self._elapsed:4.1f} of {total:.0f} s    {_telemetry(self.ticks[-1])}', 'bold'),
            Padding(ProgressBar(total=total, completed=self._elapsed, width=width - 4), 0),
            Text('\n'.join(self._plot()), 'cyan'),
            _thrusters(self.ticks[-1]),
        )
        return Panel(
            parts,
            width=width,
            title=f'{self.vehicle.name}: {self.scenario.name}',
            subtitle='T: thrusters, pulse width and thrust',
        )


def _introduce(stage: _Stage) -> Vehicle:
    """Load the vehicle and say what it is."""
    stage.title('1  A vehicle is a URDF')
    vehicle = load_vehicle(VEHICLE)
    rigid, added = vehicle.inertia.mass, float(vehicle.added_mass[0, 0])
    stage.tell(
        f'{VEHICLE}: {rigid:.1f} kg, {added:.1f} kg more of water that surges with it '
        f'(added mass), {len(vehicle.thrusters)} thrusters, '
        f'{vehicle.buoyancy.volume * 1e3:.2f} litres displaced.'
    )
    stage.rest()
    return vehicle


def _dive(stage: _Stage, vehicle: Vehicle) -> tuple[int, str]:
    """Dive in this process; return the number of steps and the hash of the trajectory."""
    stage.title('2  A dive in this process, without ROS')
    scenario = load_scenario(SCENARIO)
    stage.tell(f'{scenario.description}: the scenario "{SCENARIO}".')
    dive = _Dive(vehicle, scenario, stage)
    digest = dive.run()
    stage.tell(f'{len(dive.ticks)} steps; the trajectory hashes to {digest[:12]}...')
    stage.rest()
    return len(dive.ticks), digest


def _topics(stage: _Stage) -> None:
    stage.title('3  The same dive as a ROS 2 graph has a node per force')
    if stage.live:
        table = Table(box=None, pad_edge=False, header_style='bold')
        for name in ('topic', 'type', 'meaning'):
            table.add_column(name, no_wrap=True)
        for row in TOPICS:
            table.add_row(*row)
        stage.console.print(table)
    else:
        for name, kind, meaning in TOPICS:
            print(f'{name:<20} {kind:<28} {meaning}')
    stage.tell(f'Names without / are below /{VEHICLE}; docs/reference/topics.md lists all.')
    stage.rest()


def _has_ros() -> bool:
    return find_spec('rclpy') is not None and find_spec('fcntl') is not None  # POSIX


def _free_port() -> int:
    """Return the console's usual port, or any other one where somebody has that."""
    for port in (PORT, 0):
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(('127.0.0.1', port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    return PORT


def _has_browser() -> bool:
    """Whether a browser with a window can be opened; one in this terminal would take it over."""
    if not (os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def _open_when_served(port: int, page: Path, over: threading.Event) -> None:
    """Open a page that leads to the console in the browser as soon as the console answers."""
    while not over.wait(0.2):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(('127.0.0.1', port)) == 0:
                webbrowser.open(page.as_uri())
                return


def _console(stage: _Stage) -> int:
    """Say where the console is; return its port, or 0 for none."""
    if stage.fast or not stage.live:
        return 0
    if find_spec('nicegui') is None:
        stage.tell("No console here: pip install 'marine_sim_ros[console]' brings it.")
        return 0
    port = _free_port()
    opened = 'opens in your browser' if _has_browser() else 'is for a browser'
    stage.tell(f'The console {opened}; its links follow.')
    return port


def _graph(stage: _Stage, steps: int, digest: str) -> int:
    """Run the dive through the nodes and compare it; return the exit code."""
    stage.title('4  The same dive through the nodes')
    if not _has_ros():
        stage.tell(
            'This Python has no rclpy, so this part is left out. A ROS 2 workspace has it; '
            "without one: pip install 'marine_sim_ros[ros]'"
        )
        return 0
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    port = _console(stage)
    if stage.live:
        stage.tell('Ctrl-C ends the graph, and the tour goes on.')
    with tempfile.TemporaryDirectory(prefix='marine_sim_demo_') as folder:
        settings = RunOptions(
            vehicle=VEHICLE,
            scenario=SCENARIO,
            console=bool(port),
            console_port=port or PORT,
            real_time_factor=0.0 if stage.fast else 1.0,
            record=f'{folder}/run' if find_spec('rosbags') else '',
        )
        code = _run(settings, stage, Path(folder) if port else None)
        found = _recorded_hash(Path(folder) / 'run', steps)
    if code:
        stage.tell(f'The graph ended with exit code {code}; the lines above say why.')
        return 1
    if not found:
        return 0
    same = found == digest
    stage.tell(
        f'{"The same" if same else "NOT the same"} trajectory to the last bit: '
        f'{found[:12]}... through the nodes, {digest[:12]}... without.'
    )
    stage.rest()
    return 0 if same else 1


def _offer_console(port: int, specs: list[NodeSpec], folder: Path, over: threading.Event) -> None:
    """Give the console a token, and open its page in the browser where there is one."""
    token = folder / 'token'
    address = f'http://127.0.0.1:{port}/?token={write_token(token)}'
    for spec in specs:
        if spec.executable == 'console':
            spec.parameters['token_file'] = str(token)
    if _has_browser():
        page = opening_file(folder, address)
        threading.Thread(target=_open_when_served, args=(port, page, over), daemon=True).start()


def _run(settings: RunOptions, stage: _Stage, private: Path | None) -> int:
    """Run the graph, with a console of which a private folder keeps the token.

    ctrl-C ends the graph alone.
    """
    if stage.live:
        os.environ.setdefault('RCUTILS_CONSOLE_OUTPUT_FORMAT', LOG)
    over, supervisor = threading.Event(), Supervisor()
    specs = node_specs(settings)
    if private is not None:
        _offer_console(settings.console_port, specs, private, over)
    try:
        code = run_graph(settings, specs, composed=True, summary=False, supervisor=supervisor)
        return (
            0 if supervisor.shutdown_requested else code
        )  # a busy machine may end what is still starting
    finally:
        over.set()


def _recorded_hash(folder: Path, steps: int) -> str:
    """Return the hash of a recording that has all steps, or nothing."""
    manifest = folder / 'manifest.json'
    if not manifest.is_file():
        return ''
    content = json.loads(manifest.read_text(encoding='utf-8'))
    return str(content['trajectory_sha256']) if content['ticks'] == steps else ''


def _farewell(stage: _Stage) -> None:
    stage.title('What to try next')
    for command, meaning in (*(NEXT_WITH_ROS if _has_ros() else ()), *NEXT):
        stage.tell(f'  {command:<44}{meaning}'.rstrip())


def execute(options: argparse.Namespace) -> int:
    """Walk through the tour; ctrl-C leaves it at any point."""
    if not options.no_ros and _has_ros():
        require_ros('demo without --no-ros')
    stage = _Stage(fast=options.fast)
    vehicle = _introduce(stage)
    steps, digest = _dive(stage, vehicle)
    _topics(stage)
    code = 0 if options.no_ros else _graph(stage, steps, digest)
    _farewell(stage)
    return code
