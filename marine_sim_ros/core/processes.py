# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Child processes: command, run number, end with the parent, isolated calls, time and memory."""

from __future__ import annotations

import ctypes
import os
import pickle
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import SIGPROF

__all__ = [
    'RUN',
    'THROUGH',
    'Limits',
    'answer_request',
    'call_isolated',
    'child_environment',
    'cpu_seconds',
    'end_child',
    'end_with_parent',
    'memory_of_each',
    'module_command',
    'resident_memory',
    'typed_command',
]


# Name of the command in messages that a user types again.


def typed_command() -> str:
    """Return the word that starts this package's command in a shell: its name, or its path.

    A user of `make` has not activated the virtual environment, and no shell finds the name.
    """
    name = 'marine_sim'
    beside = Path(sys.executable).with_name(name)
    if shutil.which(name) or not beside.is_file():
        return name
    with suppress(ValueError):
        beside = beside.relative_to(Path.cwd())
    return shlex.quote(str(beside))


# Number of a run, and end of a child process with its parent.

THROUGH = (0, -SIGPROF)
"""Exit codes of a node that ended regularly; SIGPROF: DDS did not close."""

RUN = 'MARINE_SIM_RUN'
"""Environment variable with the random number of a run, 1 to 16383."""
_PARENT = 'MARINE_SIM_PARENT'
_PR_SET_PDEATHSIG = 1  # prctl(2)


def child_environment() -> dict[str, str]:
    """Return the environment for processes of one run, that are to end with this one.

    The kernel watches the thread that starts a process, so only the main thread asks for it.
    """
    main = threading.current_thread() is threading.main_thread()
    return {RUN: _run()} | ({_PARENT: str(os.getpid())} if main else {})


@cache
def _run() -> str:
    """Return the number of the run whose processes this one starts."""
    return str(1 + secrets.randbelow(2**14 - 1))


def end_with_parent() -> None:
    """Make the kernel send SIGTERM to this process when its parent dies, if requested.

    Without it, nodes run on for ever after a kill -9 of ``ros2 launch`` or ``marine_sim run``, or
    a SIGTERM, which ``ros2 launch`` does not handle. A parent may die while a node still imports.
    """
    parent = os.environ.get(_PARENT, '')
    if sys.platform != 'linux' or not parent.isdecimal():
        return
    if parent == str(os.getppid()):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    # Where a launch prefix is the parent, who asked for it lives all the same.
    if parent != str(os.getppid()) and not _is_running(parent):
        os.kill(os.getpid(), signal.SIGTERM)


def _is_running(pid: str) -> bool:
    """Return whether a process has not ended; one that nobody has waited for yet has."""
    try:
        text = Path(f'/proc/{pid}/stat').read_text(encoding='ascii', errors='replace')
    except OSError:
        return False
    return text.rpartition(')')[2].split()[0] not in 'ZX'


# Child processes: command and end.

_RUN = (
    'import sys; sys.path[:] = [*filter(None, sys.path), sys.argv[1]]; del sys.argv[:2]; '
    'import runpy; runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)'
)
"""Program that runs a module; until its second line it imports nothing that lies in a folder.

``python -m`` looks in the working folder first, where a file of somebody else may have the name of
a module. ``-P`` does not, but is new in Python 3.11; ``-I`` ignores PYTHONPATH, which a ROS
workspace needs.
"""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command of a module in this Python, without the working folder on its path.

    The folder of this package comes last on the path, for a start from a checkout.
    """
    folder = str(Path(__file__).resolve().parents[2])
    return [sys.executable, '-c', _RUN, folder, module, *arguments]


def end_child(
    process: subprocess.Popen[bytes], grace: float, *, ask: signal.Signals = signal.SIGTERM
) -> int:
    """Ask a process to end, kill it where it has not after ``grace`` s; return its exit code.

    Args:
        process: the process to end; one that has ended already has its own exit code.
        grace: time that it gets to end by itself, s.
    """
    process.send_signal(ask)
    try:
        return process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


# Calls in a process of their own: files that break a library, or never end, end only that.


@dataclass(frozen=True)
class Limits:
    """Resources of a call; the clock may show twice the processor time.

    Attributes:
        seconds: processor time, s.
        address_space: bytes of virtual memory, mapped files included; 0: not limited.
        data: bytes of private memory; 0: not limited.
    """

    seconds: int
    address_space: int = 0
    data: int = 0

    def __str__(self) -> str:
        """Return the limits as a message has them."""
        memory = (self.data or self.address_space) / 2**30
        return f'{self.seconds} s and {memory:g} GiB'

    def apply(self) -> None:
        """Bound this process, where the system can."""
        with suppress(ImportError):  # Windows: the time-out of the parent is left
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds))
            for kind, size in (('RLIMIT_AS', self.address_space), ('RLIMIT_DATA', self.data)):
                if size and hasattr(resource, kind):
                    resource.setrlimit(getattr(resource, kind), (size, size))


def call_isolated(
    module: str,
    request: tuple[Any, ...],
    subject: str,
    limits: Limits,
    error: type[MarineSimError],
) -> Any:
    """Return the answer of another process to a request.

    Args:
        module: module whose ``__main__`` calls :func:`answer_request`.
        request: arguments of the function that it answers with.
        subject: file and library, for messages.
        limits: resources of the call.

    Raises:
        MarineSimError: of the given kind: the function raised it, or the process ended before.
    """
    expected = f'expected a file that {limits} suffice for'
    try:
        done = subprocess.run(
            module_command(module),
            input=pickle.dumps((limits, request)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=2 * limits.seconds,
            check=False,
            # Threads of linear algebra reserve memory each.
            env={**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'},
        )
    except subprocess.TimeoutExpired:
        raise error(f'{subject} does not come to an end; {expected}') from None
    if done.returncode or not done.stdout:
        raise error(f'{subject} breaks off (exit code {done.returncode}); {expected}')
    answer = pickle.loads(done.stdout)  # our own process
    if isinstance(answer, Exception):
        raise answer
    return answer


def answer_request(function: Callable[..., Any], error: type[MarineSimError]) -> None:
    """Call a function with what standard input has; write its result or error to standard output.

    Libraries may print: standard output is kept for the answer.
    """
    channel = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)
    limits, request = pickle.load(sys.stdin.buffer)
    limits.apply()
    answer: Any
    try:
        answer = function(*request)
    except MarineSimError as problem:
        answer = problem
    except MemoryError:
        answer = error(f'{request[0]}: needs too much memory; expected at most {limits}')
    channel.write(pickle.dumps(answer))
    channel.close()


# Processor time and memory.


def _sum_of_family(pids: Iterable[int], number: Callable[[Any], float]) -> float:
    """Return the sum of a number over processes and their descendants that are still there."""
    psutil = require('psutil', 'bench')
    family: set[Any] = set()
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            leader = psutil.Process(pid)
            family |= {leader, *leader.children(recursive=True)}
    total = 0.0
    for process in family:
        with suppress(psutil.NoSuchProcess):
            total += number(process)
    return total


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the processor time that processes have taken, s."""

    def process_seconds(process: Any) -> float:
        times = process.cpu_times()
        return float(times.user + times.system)

    return _sum_of_family(pids, process_seconds)


def resident_memory(pids: Iterable[int]) -> float:
    """Return the memory that processes hold, MB."""
    return _sum_of_family(pids, lambda process: process.memory_info().rss / 1e6)


def memory_of_each(parent: int) -> list[tuple[float, float]]:
    """Return the memory of each child of a process, MB: all of it, and with shared pages divided.

    The second needs Linux.
    """
    psutil = require('psutil', 'bench')
    children = psutil.Process(parent).children(recursive=True)
    memories = [child.memory_full_info() for child in children]
    return [(memory.rss / 1e6, memory.pss / 1e6) for memory in memories]
