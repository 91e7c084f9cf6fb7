# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of a run: one number, from the state owner to the command that started the run.

A file holds the simulated time, so that the command needs no participant of its own in the graph.
"""

from __future__ import annotations

import atexit
import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ['ProgressFile', 'report_time']

VARIABLE = 'MARINE_SIM_PROGRESS'
"""Name of the environment variable with the path of the file."""
_TIME = struct.Struct('<d')


class ProgressFile:
    """The file, for the command that starts a run; it goes with :meth:`close`.

    Attributes:
        variables: environment of the processes that shall report.
    """

    def __init__(self) -> None:
        """Make it."""
        handle, self._path = tempfile.mkstemp(prefix='marine_sim_progress_')
        os.close(handle)
        self._owner = os.getpid()
        atexit.register(self.close)  # a run that is refused before it starts is never stopped
        self.variables = {VARIABLE: self._path}

    def time(self) -> float | None:
        """Return the simulated time that was reported last, s; None: none yet."""
        with suppress(OSError, struct.error):
            return float(_TIME.unpack(Path(self._path).read_bytes())[0])
        return None

    def close(self) -> None:
        """Remove it; a fork of its owner leaves it."""
        if os.getpid() == self._owner:
            atexit.unregister(self.close)
            with suppress(OSError):
                os.unlink(self._path)


def report_time(time: float) -> None:
    """Tell the command that started this run its simulated time, s; where one asked for it."""
    path = os.environ.get(VARIABLE)
    if path:
        with suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY)  # never made anew: the command may be gone
            try:
                os.pwrite(descriptor, _TIME.pack(time), 0)
            finally:
                os.close(descriptor)
