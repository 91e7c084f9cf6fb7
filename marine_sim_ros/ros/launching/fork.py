# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes and readers of vehicles as forks of this process, with shared imports.

DDS takes 0.1 s to discover a process, so forks join the graph while the vehicle is still read. A
separate fork reads descriptions, because that needs lxml, xacro and fifty modules of this package,
which nodes with a finished vehicle do not need.
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
_POLL_PERIOD = 0.01
"""s between two polls of a process that is waited for."""
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
_RCLPY_IMPORTS = ('ament_index_python', 'concurrent.futures.thread')
"""Imports of rclpy that start no thread."""


def can_fork() -> bool:
    """Return whether this process has one thread: a fork would lack all others.

    The import of rclpy starts two, so a process that has imported it cannot fork nodes.
    """
    threads = Path('/proc/self/task')
    return threads.is_dir() and len(list(threads.iterdir())) == 1


def import_shared() -> None:
    """Import what every node imports, except rclpy."""
    for name in _SHARED_MODULES:
        import_module(f'marine_sim_ros.{name}')
    for name in _RCLPY_IMPORTS:
        import_module(name)
    for name in _MESSAGE_MODULES:
        package = name.partition('.')[0]
        with suppress(ImportError):  # tf2_msgs is not on PyPI; a node reports what it lacks
            import_module(name)
            import_module(f'{package}.{package}_s__rosidl_typesupport_c')
    import_type_support()
    # The largest of the libraries that rclpy loads; it starts no thread before there is a node.
    if uses_fast_dds() and (library := fast_dds_library()):
        with suppress(OSError):  # for example of another processor; rclpy then reports it
            ctypes.CDLL(library.name)
    gc.freeze()  # else garbage collection in a fork would copy every page


class Fork:
    """Node in a fork of this process, with the interface of ``subprocess.Popen``."""

    def __init__(
        self, name: str, executable: str, arguments: Sequence[str], env: Mapping[str, str]
    ) -> None:
        """Start it in a new session, without standard input.

        Args:
            name: name for ps and top, which have room for its last 15 characters.
            executable: module of ``marine_sim_ros.nodes``.
            arguments: command-line arguments.
        """
        self._fork(lambda: run_node(name, executable, arguments), env)

    def _fork(self, run: Callable[[], None], env: Mapping[str, str]) -> None:
        """Fork this process; the child runs a function and ends."""
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
            time.sleep(_POLL_PERIOD)
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
    """Block signals around a fork: in the child they would reach the parent's handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(function: Callable[[], None], env: Mapping[str, str]) -> NoReturn:
    """Call a function in the child process, and end it with its exit code."""
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
    """Fork that waits for its arguments; without them it ends silently."""

    def __init__(self, executable: str, env: Mapping[str, str]) -> None:
        """Start it.

        Args:
            executable: module of ``marine_sim_ros.nodes``.
        """
        end, self._start = os.pipe()
        self._fork(lambda: self._wait(executable, end), env)
        os.close(end)

    def begin(self, name: str, arguments: Sequence[str]) -> None:
        """Send the arguments, as of :class:`Fork`, and the vehicles read so far."""
        try:
            vehicles = pickle.dumps(known_vehicles)
        except (pickle.PicklingError, TypeError, AttributeError):
            vehicles = pickle.dumps({})  # the child reads them itself
        with suppress(BrokenPipeError), open(self._start, 'wb') as pipe:
            pickle.dump((name, arguments, vehicles), pipe)

    def leave(self) -> None:
        """End the child, because it is not needed."""
        os.close(self._start)

    def _wait(self, executable: str, end: int) -> None:
        os.close(self._start)
        import_module(f'marine_sim_ros.nodes.{executable}')
        import_module('marine_sim_ros.ros.base.process').join()
        with open(end, 'rb') as pipe:
            try:
                name, arguments, vehicles = pickle.load(pipe)
            except EOFError:
                os._exit(0)  # skips the shutdown of DDS
        known_vehicles.update(pickle.loads(vehicles))
        run_node(name, executable, arguments)


# Vehicles read in a fork of this process: quicker start, smaller nodes.


def read_vehicles(
    vehicles: Iterable[Mapping[str, Any]],
    progress: ReportProgress,
    on_imported: Callable[[], None] = lambda: None,
) -> None:
    """Fill the cache of :func:`~marine_sim_ros.model.library.vehicle_of` with vehicles.

    A fork reads them while this process imports what all nodes import. A vehicle that cannot be
    read or pickled is left to ``vehicle_of``, which reports the reason. Without forks this does
    nothing.

    Args:
        vehicles: parameters of each vehicle.
        progress: called with the completed fraction of long work.
        on_imported: called when all modules that nodes share are imported.
    """
    if not can_fork():
        return
    for registry in (ACTUATORS, FORCES, SENSORS, CONTROLLERS, VEHICLES):
        len(registry)  # loads entry points of other packages here, so that each warning comes once
    end, start = os.pipe()
    parent = child_environment()
    pid = os.fork()
    if not pid:
        os.environ.update(parent)
        _send_vehicles(vehicles, start)
    os.close(start)
    import_shared()
    on_imported()
    with open(end, 'rb') as file, suppress(EOFError, pickle.UnpicklingError):
        while not isinstance(item := pickle.load(file), dict):
            progress(item)
        known_vehicles.update(item)
    os.waitpid(pid, 0)


def _send_vehicles(vehicles: Iterable[Mapping[str, Any]], pipe: int) -> NoReturn:
    """Write the completed fractions of long work to a pipe, then the vehicles."""
    with suppress(BaseException):  # vehicle_of tries again and reports the error
        end_with_parent()
        with open(pipe, 'wb') as file:

            def send_progress(fraction: float) -> None:
                pickle.dump(fraction, file)
                file.flush()

            for parameters in vehicles:
                vehicle_of(parameters, send_progress)
            pickle.dump(known_vehicles, file)
    os._exit(0)
