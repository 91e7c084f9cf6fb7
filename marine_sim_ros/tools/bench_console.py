# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What watching costs a run that goes as fast as it can: ticks/s, and who takes the processor."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from urllib.request import ProxyHandler, build_opener

from rich.console import Console
from rich.table import Table

from marine_sim_ros.errors import MarineSimError
from marine_sim_ros.suite import RunOptions, describe
from marine_sim_ros.tools.odometer import Odometer
from marine_sim_ros.tools.supervisor import Supervisor

__all__ = ['cpu_seconds', 'print_console_costs']

PORT = 8960
HZ = os.sysconf('SC_CLK_TCK')
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
WATCHERS = ('nobody', 'console, no page', 'console and a page', 'console and a browser')
"""Who looks; a page is a program that takes what a browser is sent, and draws nothing."""


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has taken, s."""
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / HZ


def _family(pid: int) -> list[int]:
    """Return a process and all that it has started."""
    found = [pid]
    for one in found:
        with suppress(OSError):
            text = Path(f'/proc/{one}/task/{one}/children').read_text(encoding='ascii')
            found += map(int, text.split())
    return found


@contextmanager
def _page() -> Iterator[list[int]]:
    """Take moments as a browser is sent them; yield a list of their count."""
    from websockets.sync.client import connect

    count, socket = [0], connect(f'ws://127.0.0.1:{PORT}/wire?page=bench', proxy=None)

    def take() -> None:
        for _ in socket:
            count[0] += 1

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    yield count
    socket.close()
    thread.join(2.0)


@contextmanager
def _browser() -> Iterator[subprocess.Popen[bytes]]:
    """Open the page in a browser without a window, that draws with the processor."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise MarineSimError(f'no browser; expected one of: {", ".join(BROWSERS)}')
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            path, '--headless=new', '--no-first-run', '--no-proxy-server',
            '--window-size=1280,720',
            '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
            f'--user-data-dir={profile}', '--remote-debugging-port=0',
            *(['--no-sandbox'] if os.geteuid() == 0 else []), f'http://127.0.0.1:{PORT}/',
        ]  # fmt: skip
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(10.0)


def _await_console() -> None:
    opener = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + 30.0
    while True:
        try:
            opener.open(f'http://127.0.0.1:{PORT}/scenery', timeout=2.0).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _round(seconds: float, watcher: str, *, composed: bool) -> dict[str, float]:
    """Return what a run of so many seconds measures."""
    options = RunOptions(
        namespace='bench', real_time_factor=0.0, duration=1e6, scenario='dive', console_port=PORT,
        console=watcher != WATCHERS[0],
    )  # fmt: skip
    supervisor = Supervisor()
    with ExitStack() as stack:
        stack.callback(supervisor.stop)
        if composed:
            supervisor.start_composed(replace(options, console=False))
            supervisor.start([s for s in describe(options) if s.executable == 'console'])
        else:
            supervisor.start(describe(options))
        odometer = stack.enter_context(Odometer('/bench'))
        odometer.wait(60.0)
        groups = {'graph': [p.pid for n, p in supervisor.processes.items() if n != 'console']}
        moments = [0]
        if options.console:
            _await_console()
            groups['console'] = [supervisor.processes['console'].pid]
        if watcher == WATCHERS[2]:
            moments = stack.enter_context(_page())
        browser = stack.enter_context(_browser()) if watcher == WATCHERS[3] else None
        odometer.spin(8.0 if browser else 3.0)
        if browser is not None:
            groups['browser'] = _family(browser.pid)

        def taken() -> dict[str, float]:
            return {name: sum(map(cpu_seconds, pids)) for name, pids in groups.items()}

        ticks, since, before, sent = odometer.ticks(), time.monotonic(), taken(), moments[0]
        odometer.spin(seconds)
        ticks, now, after = odometer.ticks() - ticks, time.monotonic(), taken()
    found = {name: (after[name] - before[name]) / (now - since) for name in groups}
    return found | {
        'rate': ticks / (now - since),
        'per tick': 1e3 * (after['graph'] - before['graph']) / ticks,
        'moments': (moments[0] - sent) / (now - since),
    }


def print_console_costs(rounds: int, seconds: float) -> None:
    """Measure runs that somebody watches and runs that nobody watches in turn; print medians."""
    write: Callable[..., None] = Console(width=110).print
    for composed in (True, False):
        found: dict[str, list[dict[str, float]]] = {w: [] for w in WATCHERS}
        for k in range(rounds):
            for watcher in WATCHERS[:: -1 if k % 2 else 1]:
                found[watcher].append(_round(seconds, watcher, composed=composed))
        kind = 'composed' if composed else 'a process per node'
        table = Table(
            title=f'bluerov2, {kind}; medians of {rounds} rounds, {os.cpu_count()} cores'
        )
        for column in ('watched by', 'ticks/s', 'loss', 'graph, CPU ms/tick', 'loss by that',
                       'console, cores', 'browser, cores', 'moments/s'):  # fmt: skip
            table.add_column(column, justify='right')
        middle = {
            w: {key: median(one[key] for one in runs) for key in runs[0]}
            for w, runs in found.items()
        }
        alone = middle[WATCHERS[0]]
        for watcher, one in middle.items():
            table.add_row(
                watcher, f'{one["rate"]:.0f}', f'{100 * (1 - one["rate"] / alone["rate"]):.1f} %',
                f'{one["per tick"]:.3f}',
                f'{100 * (1 - alone["per tick"] / one["per tick"]):.1f} %',
                f'{one.get("console", 0):.2f}', f'{one.get("browser", 0):.2f}',
                f'{one["moments"]:.0f}',
            )  # fmt: skip
        write(table)
