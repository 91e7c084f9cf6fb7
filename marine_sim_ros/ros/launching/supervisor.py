# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Supervisor of the processes of a run: starts, watches and ends them together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from marine_sim_ros.core.processes import child_environment, module_command
from marine_sim_ros.core.progress import ProgressFile, log_format
from marine_sim_ros.core.startup import paused_garbage_collection
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.ros.launching.fork import EarlyFork, Fork, can_fork, import_shared
from marine_sim_ros.ros.launching.installation import dds_profile, free_shared_memory, remove_stale
from marine_sim_ros.ros.node_graph import NodeSpec, has_own_process
from marine_sim_ros.sim.fleet import split_runs
from marine_sim_ros.sim.options import RunOptions

__all__ = ['Supervisor', 'process_environment']

TERMINATION_GRACE = 5.0
"""s of wall time between SIGTERM and SIGKILL."""


def process_environment() -> dict[str, str]:
    """Return the environment for child processes: ament prefix, output, discovery."""
    result = dict(os.environ, PYTHONUNBUFFERED='1', **child_environment(), **dds_profile())
    result.update(log_format(result, sys.stderr))
    result.setdefault('AMENT_PREFIX_PATH', sys.prefix)
    return result


def _is_suspended(pid: int) -> bool:
    """Return whether a child is suspended, without reaping it."""
    if not hasattr(os, 'waitid'):  # macOS before Python 3.13
        return False
    try:
        status = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # it has ended
        return False
    return status is not None and status.si_code == os.CLD_STOPPED


class Supervisor:
    """Processes of one run: start, exit codes, termination."""

    def __init__(self) -> None:
        """Start no process yet."""
        self.processes: dict[str, subprocess.Popen[bytes] | Fork] = {}
        self.shutdown_requested = False
        self.progress = ProgressFile()
        self.last_report: tuple[float, ...] | None = None
        self._early: list[EarlyFork] = []

    def prepare(self, count: int) -> None:
        """Fork processes of composed nodes that join the graph and wait for their run.

        Raises:
            MarineSimError: too little shared memory is free.
        """
        free_shared_memory()
        if can_fork():
            self._early = [EarlyFork('composed', self._environment()) for _ in range(count)]

    def _environment(self) -> dict[str, str]:
        return {**process_environment(), **self.progress.variables}

    def _request_shutdown(self, *_: Any) -> None:
        self.shutdown_requested = True

    @contextmanager
    def catch_signals(self) -> Iterator[None]:
        """Request the end of the run, instead of that of this process, on SIGINT and SIGTERM."""
        before = {
            number: signal.signal(number, self._request_shutdown)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def start(self, specs: Sequence[NodeSpec]) -> None:
        """Start one process per node; they share modules imported before the fork.

        Raises:
            MarineSimError: too little shared memory is free.
        """
        free_shared_memory()
        if specs and can_fork():
            import_shared()
            for spec in specs:
                if spec.parameters:  # the recorder of a fleet has none
                    vehicle_of(spec.parameters)
        for spec in specs:
            # Of a fleet, the nodes of the first vehicle have their plain names.
            is_taken = spec.name in self.processes
            name = f'{spec.namespace}/{spec.name}' if is_taken else spec.name
            self._start(name, spec.executable, spec.ros_arguments())

    @paused_garbage_collection()
    def start_run(
        self,
        options: RunOptions,
        specs: Sequence[NodeSpec],
        *,
        composed: bool,
        followers: Sequence[RunOptions] = (),
        process_count: int = 1,
    ) -> None:
        """Start all nodes of a run.

        Args:
            specs: nodes of the run, from :func:`marine_sim_ros.ros.node_graph.node_specs`.
            composed: one process for all nodes but slow ones (console, cameras).
            followers: options of the other vehicles of a fleet.
            process_count: number of processes that share the vehicles of a composed fleet.

        Raises:
            ParameterError: more processes than vehicles.
        """
        free_shared_memory()
        if composed or options.one_process or process_count > 1:
            for i, part in enumerate(split_runs((options, *followers), process_count)):
                arguments = [replace(run, console=False).to_json() for run in part]
                name = f'{part[0].namespace}/composed' if i else 'composed'
                self._start(name, 'composed', arguments)
            specs = [spec for spec in specs if has_own_process(spec, options)]
        while self._early:  # prepared, but not used by this run
            self._early.pop().leave()
        self.start(specs)

    def _start(self, name: str, executable: str, arguments: list[str]) -> None:
        # In a new session: a terminal's ctrl-C reaches only the supervisor, which terminates the
        # processes, so that each gets exactly one signal.
        if executable == 'composed' and self._early:
            self.processes[name] = early = self._early.pop(0)
            early.begin(name, arguments)
        elif can_fork():
            self.processes[name] = Fork(name, executable, arguments, self._environment())
        else:
            command = module_command(f'marine_sim_ros.nodes.{executable}', *arguments)
            self.processes[name] = subprocess.Popen(
                command, env=self._environment(), start_new_session=True, stdin=subprocess.DEVNULL
            )

    def exit_codes(self) -> dict[str, int]:
        """Return the exit codes of the processes that have ended."""
        codes = {name: process.poll() for name, process in self.processes.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def suspended_processes(self) -> dict[str, int]:
        """Return the process ids of those that SIGSTOP or SIGTSTP has suspended."""
        alive = {name: p.pid for name, p in self.processes.items() if p.poll() is None}
        return {name: pid for name, pid in alive.items() if _is_suspended(pid)}

    def terminate(self, name: str) -> int:
        """Terminate one process and remove it; return its exit code."""
        self._terminate([name])
        return self.processes.pop(name).wait()

    def terminate_all(self, *, last: str = '') -> dict[str, int]:
        """Terminate all processes, ``last`` after the others; return their exit codes."""
        self._terminate([n for n in self.processes if n != last])
        self._terminate([n for n in self.processes if n == last])
        remove_stale()
        self.last_report = self.progress.report()
        self.progress.close()
        return {name: process.wait() for name, process in self.processes.items()}

    def _terminate(self, names: list[str]) -> None:
        for name in names:
            if self.processes[name].poll() is None:
                # Not SIGINT: a node that is still starting would print a traceback.
                self.processes[name].terminate()
        deadline = time.monotonic() + TERMINATION_GRACE
        for name in names:
            try:
                self.processes[name].wait(max(0.01, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.processes[name].kill()
                self.processes[name].wait()
