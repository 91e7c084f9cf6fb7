# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes and readers of vehicles as forks of this process, with shared imports.

DDS takes 0.1 s to discover a process, so forks join the graph while the vehicle is still read. A
fork of its own reads descriptions: that needs lxml, xacro and fifty modules of this package, which
nodes with the finished vehicle do not need.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from marine_sim_ros.core.errors import MarineSimError, exit_code
from marine_sim_ros.core.processes import child_environment, end_with_parent
from marine_sim_ros.core.progress import ReportProgress, own_line_text
from marine_sim_ros.core.registry import ACTUATORS, CONTROLLERS, FORCES, SENSORS, VEHICLES
from marine_sim_ros.model.library import known_vehicles, vehicle_of
from marine_sim_ros.ros.base.internals import import_type_support
from marine_sim_ros.ros.launching.installation import fast_dds_library, uses_fast_dds

__all__ = ['EarlyFork', 'Fork', 'can_fork', 'import_shared', 'read_vehicles']


# Nodes as forks of this process, which share its imports.

_PR_SET_NAME = 15  # prctl(2)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL = 0.01
"""s between two looks at a process that is waited for."""
_SHARED_MODULES = (
    'control',
    'environment.reader',
    'faults.fault_types',
    'model.library',
    'physics',
    'sensors',
    'sim.fleet',
    'sim.step',
)
_MESSAGE_MODULES = (
    'builtin_interfaces.msg',
    'diagnostic_msgs.msg',
    'geometry_msgs.msg',
    'nav_msgs.msg',
    'rcl_interfaces.msg',
    'rcl_interfaces.srv',
    'rosgraph_msgs.msg',
    'sensor_msgs.msg',
    'service_msgs.msg',
    'std_msgs.msg',
    'std_srvs.srv',
    'tf2_msgs.msg',
    'type_description_interfaces.msg',
    'type_description_interfaces.srv',
    'visualization_msgs.msg',
)
_OF_RCLPY = ('ament_index_python', 'concurrent.futures.thread')
"""Imports of rclpy that start no thread."""


def can_fork() -> bool:
    """Return whether a fork of this process is all of it: no thread would be missing there.

    rclpy starts two as it is imported, so no process that has ROS already can fork nodes.
    """
    threads = Path('/proc/self/task')
    return threads.is_dir() and len(list(threads.iterdir())) == 1


def import_shared() -> None:
    """Import what every node imports, but for rclpy."""
    for name in _SHARED_MODULES:
        import_module(f'marine_sim_ros.{name}')
    for name in _OF_RCLPY:
        import_module(name)
    for name in _MESSAGE_MODULES:
        package = name.partition('.')[0]
        with suppress(ImportError):  # tf2_msgs is not on PyPI; a node says what it lacks
            import_module(name)
            import_module(f'{package}.{package}_s__rosidl_typesupport_c')
    import_type_support()
    # The largest of the libraries that rclpy loads; it starts no thread before there is a node.
    if uses_fast_dds() and (library := fast_dds_library()):
        with suppress(OSError):  # of another processor, say; rclpy then says so itself
            ctypes.CDLL(library.name)
    gc.freeze()  # a collection in a fork would copy every page that it looks at


class Fork:
    """A node in a fork of this process, with what ``subprocess.Popen`` has for it."""

    def __init__(
        self, name: str, executable: str, arguments: Sequence[str], env: Mapping[str, str]
    ) -> None:
        """Start it in a session of its own, without standard input.

        Args:
            name: name for ps and top, which have room for its last 15 characters.
            executable: module of ``marine_sim_ros.nodes``.
            arguments: words after it on a command line.
        """
        self._part(lambda: run_node(name, executable, arguments), env)

    def _part(self, run: Callable[[], None], env: Mapping[str, str]) -> None:
        """Have a fork of this process run a function, and end."""
        self.returncode: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        with _block_signals():
            self.pid = os.fork()
            if not self.pid:
                _run(run, env)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises subprocess.TimeoutExpired."""
        start = time.monotonic()
        while (code := self.poll()) is None:
            if timeout is not None and time.monotonic() - start > timeout:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_POLL)
        return code

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


@contextmanager
def _block_signals() -> Iterator[None]:
    """Hold signals back: one in between would be handled by the parent's handler in the child."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(function: Callable[[], None], env: Mapping[str, str]) -> NoReturn:
    """Call a function in a process of its own, which ends with it."""
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.update(env)
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        function()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except MarineSimError as error:
        sys.stderr.write(own_line_text(f'ERROR: {error}\n', sys.stderr))
        code = exit_code(error)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run_node(name: str, executable: str, arguments: Sequence[str]) -> None:
    """Become ``python -m marine_sim_ros.nodes.EXECUTABLE ARGUMENTS``."""
    sys.argv = [executable, *arguments]
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[-15:])
    import_module(f'marine_sim_ros.nodes.{executable}').main()


# Early fork: a process that joins the ROS graph before its node is known.


class EarlyFork(Fork):
    """A fork of this process that waits for its words; without them it ends, and says nothing."""

    def __init__(self, executable: str, env: Mapping[str, str]) -> None:
        """Start it.

        Args:
            executable: module of ``marine_sim_ros.nodes``.
        """
        end, self._start = os.pipe()
        self._part(lambda: self._wait(executable, end), env)
        os.close(end)

    def begin(self, name: str, arguments: Sequence[str]) -> None:
        """Let it run, with the vehicles that are known by now; arguments as of :class:`Fork`."""
        try:
            vehicles = pickle.dumps(known_vehicles)
        except (pickle.PicklingError, TypeError, AttributeError):
            vehicles = pickle.dumps({})  # it reads them itself
        with suppress(BrokenPipeError), open(self._start, 'wb') as pipe:
            pickle.dump((name, arguments, vehicles), pipe)

    def leave(self) -> None:
        """Let it end, where it is not needed."""
        os.close(self._start)

    def _wait(self, executable: str, end: int) -> None:
        os.close(self._start)
        import_module(f'marine_sim_ros.nodes.{executable}')
        import_module('marine_sim_ros.ros.base.process').join()
        with open(end, 'rb') as pipe:
            try:
                name, arguments, vehicles = pickle.load(pipe)
            except EOFError:
                os._exit(0)  # not through what DDS does at an end
        known_vehicles.update(pickle.loads(vehicles))
        run_node(name, executable, arguments)


# Vehicles read in a fork of this process: quicker start, smaller nodes.


def read_vehicles(
    vehicles: Iterable[Mapping[str, Any]],
    progress: ReportProgress,
    shared: Callable[[], None] = lambda: None,
) -> None:
    """Have :func:`~marine_sim_ros.model.library.vehicle_of` know vehicles.

    A fork reads them while this process imports what all nodes import. One that cannot be read, or
    cannot be handed over, is left to ``vehicle_of``, which says why. Without a fork nothing is
    done.

    Args:
        vehicles: parameters that name a vehicle each.
        progress: function that is called with the completed share of long work.
        shared: function that is called when all that nodes share is imported.
    """
    if not can_fork():
        return
    for registry in (ACTUATORS, FORCES, SENSORS, CONTROLLERS, VEHICLES):
        len(registry)  # what other packages bring is loaded, and what is wrong with it told, once
    end, start = os.pipe()
    parent = child_environment()
    pid = os.fork()
    if not pid:
        os.environ.update(parent)
        _send_vehicles(vehicles, start)
    os.close(start)
    import_shared()
    shared()
    with open(end, 'rb') as file, suppress(EOFError, pickle.UnpicklingError):
        while not isinstance(told := pickle.load(file), dict):
            progress(told)
        known_vehicles.update(told)
    os.waitpid(pid, 0)


def _send_vehicles(vehicles: Iterable[Mapping[str, Any]], pipe: int) -> NoReturn:
    """Write the vehicles to a pipe, after the shares of long work."""
    with suppress(BaseException):  # it is tried again where a message is due
        end_with_parent()
        with open(pipe, 'wb') as file:

            def tell(share: float) -> None:
                pickle.dump(share, file)
                file.flush()

            for parameters in vehicles:
                vehicle_of(parameters, tell)
            pickle.dump(known_vehicles, file)
    os._exit(0)
