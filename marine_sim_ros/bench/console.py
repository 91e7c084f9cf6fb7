# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cost of watching a run: ticks per second, processor time and memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from rich.table import Table

from marine_sim_ros.bench.graph import Odometer
from marine_sim_ros.console.page.access import cookie_of, opening_file
from marine_sim_ros.console.page.links import write_token
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.processes import cpu_seconds, end_child, resident_memory
from marine_sim_ros.core.text import open_terminal
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

__all__ = ['print_console_costs', 'print_console_memory']

PORT = 8960
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
WATCHERS = ('nobody', 'console, no page', 'console and a page', 'console and a browser')
"""Viewers of the run; a page is a program that receives a browser's data, and draws nothing."""


@contextmanager
def _page(address: str) -> Iterator[list[int]]:
    """Receive telemetry frames as a browser does; yield a list of their count."""
    from websockets.sync.client import connect

    cookie = {'Cookie': cookie_of(address)}
    count = [0]
    socket = connect(
        f'ws://127.0.0.1:{PORT}/wire?page=bench', proxy=None, additional_headers=cookie
    )

    def take() -> None:
        for _ in socket:
            count[0] += 1

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    yield count
    socket.close()
    thread.join(2.0)


@contextmanager
def _browser(address: str) -> Iterator[subprocess.Popen[bytes]]:
    """Open the page in a browser without a window, that draws with the processor."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise MarineSimError(f'no browser; expected one of: {", ".join(BROWSERS)}')
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            path,
            '--headless=new',
            '--no-first-run',
            '--no-proxy-server',
            '--window-size=1280,720',
            '--enable-unsafe-swiftshader',  # what it takes for graphics where there is no card
            f'--user-data-dir={profile}',
            '--remote-debugging-port=0',
            *(['--no-sandbox'] if os.geteuid() == 0 else []),
            opening_file(Path(profile), address).as_uri(),
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield process
        finally:
            end_child(process, 10.0)


def _await_console(address: str) -> None:
    deadline = time.monotonic() + 30.0
    while True:
        try:
            cookie_of(address, timeout=2.0)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


@dataclass
class _Run:
    """A running graph: counter of its ticks, its processes, frames that a page received."""

    odometer: Odometer
    groups: dict[str, list[int]]
    frames: list[int] = field(default_factory=lambda: [0])

    def of_each(self, number: Callable[[list[int]], float]) -> dict[str, float]:
        """Return the sum of a number over each group's processes and those they have started."""
        return {name: number(pids) for name, pids in self.groups.items()}


@contextmanager
def _graph(options: RunOptions, *, composed: bool) -> Iterator[tuple[Supervisor, Odometer]]:
    """Run a graph without its console."""
    supervisor = Supervisor()
    with ExitStack() as stack:
        stack.callback(supervisor.terminate_all)
        alone = replace(options, console=False)
        supervisor.start_run(alone, node_specs(alone), composed=composed)
        odometer = stack.enter_context(Odometer('/bench'))
        odometer.wait(60.0)
        yield supervisor, odometer


def _start_console(supervisor: Supervisor, options: RunOptions, folder: Path) -> str:
    """Start the console with a token of its own in a folder; return its address."""
    (spec,) = (spec for spec in node_specs(options) if spec.executable == 'console')
    spec.parameters['token_file'] = str(folder / 'token')
    token = write_token(folder / 'token')
    supervisor.start([spec])
    return f'http://127.0.0.1:{PORT}/?token={token}'


@contextmanager
def _watch_graph(
    supervisor: Supervisor, odometer: Odometer, options: RunOptions, watcher: str
) -> Iterator[_Run]:
    """Have somebody watch a graph that runs."""
    run = _Run(odometer, {'graph': [p.pid for p in supervisor.processes.values()]})
    with ExitStack() as stack:
        address = ''
        if watcher != WATCHERS[0]:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            address = _start_console(supervisor, options, Path(folder))
            stack.callback(supervisor.terminate, 'console')
            _await_console(address)
            run.groups['console'] = [supervisor.processes['console'].pid]
        if watcher == WATCHERS[2]:
            run.frames = stack.enter_context(_page(address))
        if watcher == WATCHERS[3]:
            browser = stack.enter_context(_browser(address))
            odometer.spin(6.0)
            run.groups['browser'] = [browser.pid]
        odometer.spin(3.0)
        yield run


def _measure_run(run: _Run, seconds: float) -> dict[str, float]:
    """Return the measurements over some seconds of a run."""
    ticks, since = run.odometer.ticks(), time.monotonic()
    before, sent = run.of_each(cpu_seconds), run.frames[0]
    run.odometer.spin(seconds)
    ticks, now = run.odometer.ticks() - ticks, time.monotonic()
    after, sent = run.of_each(cpu_seconds), run.frames[0] - sent
    found = {name: (after[name] - before[name]) / (now - since) for name in after}
    return found | {
        'rate': ticks / (now - since),
        'per tick': 1e3 * (after['graph'] - before['graph']) / ticks,
        'frames': sent / (now - since),
    }


def _round(order: Sequence[str], seconds: float, *, composed: bool) -> dict[str, dict[str, float]]:
    """Return the measurements of one viewer after the other on the same graph.

    Graphs that are alike differ by more than a console costs, by how their processes share cores.
    """
    options = RunOptions(
        namespace='bench',
        real_time_factor=0.0,
        duration=1e6,
        scenario='dive',
        console_port=PORT,
        console=True,
    )
    found = {}
    with _graph(options, composed=composed) as (supervisor, odometer):
        for watcher in order:
            with _watch_graph(supervisor, odometer, options, watcher) as run:
                found[watcher] = _measure_run(run, seconds)
    return found


def print_console_costs(rounds: int, seconds: float) -> None:
    """Measure graphs that are watched and not watched in turn; print medians."""
    write: Callable[..., None] = open_terminal(width=110).print
    for composed in (True, False):
        orders = [WATCHERS[:: -1 if k % 2 else 1] for k in range(rounds)]
        found = [_round(order, seconds, composed=composed) for order in orders]
        kind = 'composed' if composed else 'a process per node'
        table = Table(
            title=f'bluerov2, {kind}; medians of {rounds} rounds, {os.cpu_count()} cores'
        )
        for column in (
            'watched by',
            'ticks/s',
            'loss',
            'graph, CPU ms/tick',
            'loss by that',
            'console, cores',
            'browser, cores',
            'updates/s',
        ):
            table.add_column(column, justify='right')
        middle = {
            w: {key: median(one[w][key] for one in found) for key in found[0][w]} for w in WATCHERS
        }
        alone = middle[WATCHERS[0]]
        for watcher, one in middle.items():
            table.add_row(
                watcher,
                f'{one["rate"]:.0f}',
                f'{100 * (1 - one["rate"] / alone["rate"]):.1f} %',
                f'{one["per tick"]:.3f}',
                f'{100 * (1 - alone["per tick"] / one["per tick"]):.1f} %',
                f'{one.get("console", 0):.2f}',
                f'{one.get("browser", 0):.2f}',
                f'{one["frames"]:.0f}',
            )
        write(table)


def print_console_memory(hours: float) -> None:
    """Print the console's memory over hours of simulated time, with a browser that looks."""
    step = 0.02
    options = RunOptions(
        namespace='bench',
        real_time_factor=0.0,
        dt=step,
        compute=False,
        console=True,
        console_port=PORT,
    )
    with (
        _graph(options, composed=True) as (supervisor, odometer),
        _watch_graph(supervisor, odometer, options, WATCHERS[3]) as run,
    ):
        print('simulated, min   wall, s   console, MB   browser, MB', flush=True)
        start, due = time.monotonic(), 0.0
        while due <= 3600.0 * hours:
            if (simulated := run.odometer.ticks() * step) < due:
                continue
            memory, wall = run.of_each(resident_memory), time.monotonic() - start
            print(
                f'{simulated / 60:14.1f} {wall:9.0f} {memory["console"]:13.1f} '
                f'{memory["browser"]:13.1f}',
                flush=True,
            )
            due = simulated + 300.0
