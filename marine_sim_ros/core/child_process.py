# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processes that are started here: their command, and their end."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

__all__ = ['end_child', 'module_command']

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
        ask: signal that asks it.
    """
    process.send_signal(ask)
    try:
        return process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
