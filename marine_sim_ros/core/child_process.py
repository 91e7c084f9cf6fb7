# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The end of a process that was started here."""

from __future__ import annotations

import signal
import subprocess

__all__ = ['end_child']


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
