# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a process and the one that started it know of each other: their run, and their end."""

from __future__ import annotations

import ctypes
import os
import secrets
import signal
import sys
import threading
from functools import cache

from marine_sim_ros.core.posix import SIGPROF

__all__ = ['RUN', 'THROUGH', 'as_parent', 'end_with_parent']

THROUGH = (0, -SIGPROF)
"""Exit codes of a node that came to its end; SIGPROF: where DDS would not close."""

RUN = 'MARINE_SIM_RUN'
"""Environment variable with the number of a run, 1 to 16383, by chance."""
_PARENT = 'MARINE_SIM_PARENT'
_PR_SET_PDEATHSIG = 1  # prctl(2)


def as_parent() -> dict[str, str]:
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
