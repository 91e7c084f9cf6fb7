# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parent and child processes: command, number of the run, end of one with the other."""

from __future__ import annotations

import ctypes
import os
import secrets
import signal
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

from marine_sim_ros.core.files import SIGPROF

__all__ = ['RUN', 'THROUGH', 'child_environment', 'end_child', 'end_with_parent', 'module_command']


# Number of a run, and end of a child process with its parent.

THROUGH = (0, -SIGPROF)
"""Exit codes of a node that came to its end; SIGPROF: where DDS would not close."""

RUN = 'MARINE_SIM_RUN'
"""Environment variable with the number of a run, 1 to 16383, by chance."""
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
    """Let the kernel send SIGTERM to this process when its parent dies, where that was asked for.

    Without it, nodes run on for ever after a kill -9 of ``ros2 launch`` or ``marine_sim run``.
    """
    parent = os.environ.get(_PARENT)
    if sys.platform != 'linux' or parent != str(os.getppid()):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if parent != str(os.getppid()):  # it died just before
        os.kill(os.getpid(), signal.SIGTERM)


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
