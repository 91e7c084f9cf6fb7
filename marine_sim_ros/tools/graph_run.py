# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run of the node graph: lock of its namespaces, its processes, its exit code."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from marine_sim_ros.bags.storage import recording_parts
from marine_sim_ros.core.errors import MissingPackageError, ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.processes import THROUGH
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.ros.node_graph import NodeSpec
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sim.fleet import split_runs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.trajectory import end_text, motion_text
from marine_sim_ros.tools.command_line import print_warnings, progress_bar

__all__ = ['ProcessorLoad', 'claim_namespaces', 'recordings', 'run_graph', 'slow_cause']

PERIOD = 0.05
WINDOW, SLOW = 2.0, 0.9
"""s of wall time over which the pace of a run is taken, and the share of the wanted one below
which it is told."""
STOPPED = 1.0
"""s after which a process that a signal has stopped is reported."""
SLOW_WINDOWS = 3
"""Windows in a row that are slow, after which the cause is told."""


def recordings(runs: Sequence[RunOptions], processes: int) -> list[str]:
    """Return the folder of each recording of a run."""
    return [part[0].record for part in split_runs(runs, processes) if part[0].record]


def run_graph(
    settings: RunOptions,
    specs: Sequence[NodeSpec],
    *,
    composed: bool = False,
    summary: bool = True,
    followers: Sequence[RunOptions] = (),
    supervisor: Supervisor | None = None,
    processes: int = 1,
) -> int:
    """Start the nodes of a run, wait for its end, end them; return the exit code.

    Args:
        specs: nodes of the run, from :func:`marine_sim_ros.ros.node_graph.fleet_node_specs`.
        composed: all nodes in one process.
        summary: print what was recorded.
        followers: settings of the other vehicles of a fleet.
        supervisor: supervisor to use; it knows afterwards whether a signal ended the run.
        processes: number of processes that share the vehicles of a composed fleet.

    Raises:
        ParameterError: another run of this machine has a namespace of this one.
    """
    duration = settings.duration
    if settings.scenario and not duration:
        duration = load_scenario(settings.scenario).duration
    supervisor = supervisor or Supervisor()
    claimed = claim_namespaces(s.namespace for s in specs if s.namespace.strip('/'))
    with claimed, supervisor.catch_signals():
        try:
            supervisor.start_run(
                settings, specs, composed=composed, followers=followers, process_count=processes
            )
            start = time.monotonic()
            last = _final_processes(supervisor, settings)
            many = composed or processes > 1
            _wait(supervisor, duration, settings, last, composed=many)
            wall = time.monotonic() - start
            early = _run_ending(supervisor.exit_codes(), last)
        finally:  # only Linux ends children with their parent
            codes = supervisor.terminate_all(last='recorder')
    if summary:
        folders = recordings((settings, *followers), processes)
        for folder in folders:
            _summary(Path(folder), wall)
        refused = 2 in early.values()
        if not (folders or refused) and supervisor.last_report is not None:
            seconds, *position = supervisor.last_report
            print(f'simulated {seconds:.1f} s in {wall:.1f} s; {end_text(position)}')
            print('to keep a run for analyze and console: --record out/NAME')
    return _conclude(supervisor.shutdown_requested, early, codes)


def _wait(
    supervisor: Supervisor,
    duration: float,
    settings: RunOptions,
    last: Set[str],
    *,
    composed: bool,
) -> None:
    """Wait for the first process that ends or a signal, with a bar of simulated time.

    Args:
        supervisor: supervisor of the run.
        duration: simulated time of the run, s; 0: it has no end.
        last: processes with which the run ends.
        composed: whether all nodes are in one process.
    """
    load, told, asleep = ProcessorLoad(), False, _Asleep()
    with progress_bar('running', duration or None, transient=False) as tell:
        pace = _Pace()
        while not supervisor.shutdown_requested and not _run_ending(supervisor.exit_codes(), last):
            time.sleep(PERIOD)
            asleep.report(supervisor.suspended_processes())
            if (report := supervisor.progress.report()) is not None:
                now = report[0]
                tell(now, pace.text(now, settings.real_time_factor))
            if pace.slow_windows >= SLOW_WINDOWS and not told:
                told = True
                vehicle = vehicle_of(settings.named_vehicle())
                cause = slow_cause(vehicle, settings, composed=composed, others=load.others())
                print_warnings([f'slower than real time: {pace.factor:.2g}; cause: {cause}'])


class _Asleep:
    """Processes of a run that a signal has stopped: one line for each, and one when it goes on."""

    def __init__(self) -> None:
        self._pids: dict[str, int] = {}
        self._since: dict[str, float] = {}

    def report(self, pids: Mapping[str, int]) -> None:
        """Report what has changed, given the ids of those that are stopped now."""
        now = time.monotonic()
        self._since = {name: self._since.get(name, now) for name in pids}
        for name, pid in pids.items():
            if name not in self._pids and now - self._since[name] >= STOPPED:
                self._pids[name] = pid
                print_warnings([f'{name} is stopped by a signal; kill -CONT {pid} lets it go on'])
        for name in [n for n in self._pids if n not in pids]:
            del self._pids[name]
            print_warnings([f'{name} goes on'])


class _Pace:
    """Real-time factor of a run over the last seconds.

    Attributes:
        slow_windows: number of windows without a break that were too slow; a pause is none.
        factor: of the last window.
    """

    def __init__(self) -> None:
        self._since, self._from, self._text = time.monotonic(), 0.0, ''
        self.slow_windows, self.factor = 0, 0.0

    def text(self, now: float, wanted: float) -> str:
        """Return the text of a bar at a simulated time, s: the pace, where it is not as asked."""
        wall = time.monotonic()
        if now < self._from:  # it was reset
            self._since, self._from = wall, now
        if wall - self._since >= WINDOW:
            factor = (now - self._from) / (wall - self._since)
            self._since, self._from = wall, now
            slow = wanted and factor < SLOW * wanted
            self.slow_windows = self.slow_windows + 1 if slow and factor > 0 else 0
            self.factor = factor
            self._text = f'running, {factor:.2g} × real time' if slow or not wanted else 'running'
        return self._text


def _final_processes(supervisor: Supervisor, settings: RunOptions) -> set[str]:
    """Return the processes with which the run ends.

    That of the first vehicle, which waits for its followers; where the clock is that of another
    machine, those of all vehicles. Of a composed fleet all parts, which close what they record.
    """
    own = {n for n in supervisor.processes if _moves(n)}
    composed = {n for n in own if n.endswith('composed')}
    return own if settings.clock == 'follow' else composed or own & {'dynamics'}


def _moves(process: str) -> bool:
    return process.rpartition('/')[2] in ('dynamics', 'composed')


def _run_ending(ended: dict[str, int], last: Set[str]) -> dict[str, int]:
    """Return those of the ended processes that end the run: all but a vehicle before the last."""
    if last and last <= ended.keys():
        return ended
    return {n: code for n, code in ended.items() if code not in THROUGH or not _moves(n)}


def _conclude(asked: bool, early: dict[str, int], codes: dict[str, int]) -> int:
    # A node that was still starting knows no signals yet and is ended by ours.
    fine = (*THROUGH, -signal.SIGTERM)
    failed = {name: code for name, code in codes.items() if code not in fine}
    for name, code in failed.items():
        print(f'{name} ended with exit code {code}', file=sys.stderr)
    if 2 in early.values():
        return 2
    # A user who ends the run has not failed where a node took too long and was killed for it.
    late = {n for n, code in failed.items() if code == -signal.SIGKILL and n not in early}
    if failed.keys() - (late if asked else set()):
        return 1
    if not asked and not set(early) & {'dynamics', 'composed'}:
        print(f'{", ".join(early)} ended before the run', file=sys.stderr)
        return 1
    return 0


def _summary(folder: Path, wall: float) -> None:
    """Print what was recorded: after a reset each part has a folder of its own."""
    for part in (folder, *recording_parts(folder)):
        _print_recording(part, wall)


def _print_recording(folder: Path, wall: float) -> None:
    manifest = folder / 'manifest.json'
    if not manifest.is_file():
        print(f'no recording in {folder}', file=sys.stderr)
        return
    content = json.loads(manifest.read_text(encoding='utf-8'))
    for namespace, part in content.get('vehicles', {'': content}).items():
        seconds = (part['ticks'] - 1) * part['parameters']['dt']
        print(f'{namespace} simulated {seconds:.1f} s in {wall:.1f} s'.strip())
        if 'motion' in part:
            print(motion_text(part['motion']))
        print(f'trajectory_sha256 {part["trajectory_sha256"]}')
    print(f'bag       {folder / "bag"}')
    print(f'manifest  {manifest}')


# Causes of runs that are slower than real time, and what to change.

BUSY = 0.5
"""Fraction of all processors that other programs use, above which they are the cause."""
MANY_TRIANGLES = 1500
"""Of a hull; fewer take less than a step of real time on a usual machine."""


class ProcessorLoad:
    """Fraction of the processors that programs other than this run use."""

    def __init__(self) -> None:
        """Begin to measure; without psutil or /proc nothing is known."""
        self._last: tuple[float, float, float] | None = None
        self.others()

    def others(self) -> float:
        """Return the fraction since the last call, 0 to 1; 0 where it is not known."""
        try:
            psutil = require('psutil', 'load of the processors')
            times = psutil.cpu_times()
        except (MissingPackageError, OSError):  # no psutil; no /proc, as in a chroot
            return 0.0
        total = sum(times[:8])  # Linux counts the time of guests in that of users
        own = 0.0
        for process in (me := psutil.Process(), *me.children(recursive=True)):
            with suppress(psutil.Error):
                own += sum(process.cpu_times()[:2])
        now, last = (total, times.idle, own), self._last
        self._last = now
        if last is None or total <= last[0]:
            return 0.0
        span, idle, mine = (a - b for a, b in zip(now, last, strict=True))
        return min(max((span - idle - mine) / span, 0.0), 1.0)


def slow_cause(vehicle: Vehicle, run: RunOptions, *, composed: bool, others: float) -> str:
    """Return the most likely cause of a slow run, and what to change.

    Args:
        vehicle: vehicle of the run, or the first one.
        composed: whether all nodes are in one process.
        others: fraction of the processors that other programs use.
    """
    if others > BUSY:
        return f'other programs use {100 * others:.0f} % of the processors; end some of them'
    hull = vehicle.hull
    panels = 0 if hull is None or hull.panels is None else len(hull.panels.faces)
    if panels > MANY_TRIANGLES:
        return f'{panels:,} triangles of the hull; give <max_triangles>1000</max_triangles>'
    pictures = [s.name for s in vehicle.sensors if SENSORS[s.kind].executable == 'sensor']
    if pictures:
        return (
            f'pictures of {", ".join(pictures)}; give fewer pixels or a lower rate, or a GPU to '
            'cameras'
        )
    if not (composed or run.one_process):
        return 'each node is a process of its own; add --composed'
    if run.engine != 'jax':
        return f'{1 / run.dt:.0f} steps a second of NumPy; add --engine jax, or a longer --dt'
    return f'{1 / run.dt:.0f} steps a second; give a longer --dt'


# Lock of a namespace on this machine: a second run with it is refused before it starts.

TERMINATION_GRACE = 5.0
"""s of wall time to wait for the end of an earlier run's processes."""


@contextmanager
def claim_namespaces(namespaces: Iterable[str]) -> Iterator[None]:
    """Lock namespaces in this ROS domain within a ``with`` block.

    Each is a socket with an abstract name (Linux). The kernel frees it with the last process of
    the run, and separates containers as it separates their networks. Runs of other machines are
    detected by the state node, once they are discovered.

    Raises:
        ParameterError: another run of this machine has one of them.
    """
    with ExitStack() as sockets:
        if sys.platform == 'linux':
            for namespace in sorted(set(namespaces)):
                sockets.enter_context(_claim(namespace))
        yield


def _claim(namespace: str) -> socket.socket:
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    partition = (
        os.environ.get(name, '')
        for name in ('ROS_DISCOVERY_SERVER', 'ROS_AUTOMATIC_DISCOVERY_RANGE')
    )
    key = sha256('\n'.join((domain, *partition, namespace)).encode()).hexdigest()
    address = f'\0marine_sim_ros/{key}'
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end = time.monotonic() + TERMINATION_GRACE
    while not (bound := _bind(lock, address)) and time.monotonic() < end:
        time.sleep(0.1)
    if not bound:
        lock.close()
        raise ParameterError(
            f'{namespace}: {_holder(address)} of this machine has this name in ROS domain '
            f'{domain}: end it, or set another ROS_DOMAIN_ID, or join its clock with '
            '--clock follow, --namespace and --frame-prefix'
        )
    lock.listen()
    return lock


def _bind(lock: socket.socket, address: str) -> bool:
    """Bind a socket to an address; return whether it was free."""
    try:
        lock.bind(address)
    except OSError:
        return False
    return True


def _holder(address: str) -> str:
    """Return a description of the run that holds an address, with its process id."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(0.2)  # a full backlog blocks
        try:
            caller.connect(address)
            peer = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return 'another run'
    return f'another run (process {struct.unpack("3i", peer)[0]})'
