# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of long work, and of a run among processes.

A file holds the simulated time, so that the command needs no participant of its own in the graph.
"""

from __future__ import annotations

import atexit
import os
import struct
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

__all__ = [
    'PROGRESS_INTERVAL',
    'ProgressFile',
    'ReportProgress',
    'log_format',
    'no_progress',
    'own_line_text',
    'report_time',
]


# Progress reports of long work.

ReportProgress = Callable[[float], None]
"""Function that is called with the completed fraction, 0 to 1."""


PROGRESS_INTERVAL = 200
"""Ticks between two reports of progress."""


def no_progress(share: float) -> None:
    """Ignore the progress."""


# Output lines of several processes beside one progress bar.

_CLEAR = '\r\x1b[2K'
"""Removes the bar from its line (ECMA-48: CR, EL 2); it is drawn again below."""
_FORMAT = '[{severity}] [{time}] [{name}]: {message}'
"""Default log format of rcutils."""


def own_line_text(text: str, stream: TextIO) -> str:
    """Return a text that replaces the bar where the stream is a terminal."""
    return _CLEAR + text if stream.isatty() else text


def log_format(variables: Mapping[str, str], stream: TextIO) -> dict[str, str]:
    """Return the variable that lets each line of a node's log replace the bar.

    Args:
        variables: those of the process, of which one may have a format.
        stream: standard error of the nodes.
    """
    name = 'RCUTILS_CONSOLE_OUTPUT_FORMAT'
    return {name: own_line_text(variables.get(name, _FORMAT), stream)} if stream.isatty() else {}


VARIABLE = 'MARINE_SIM_PROGRESS'
"""Name of the environment variable with the path of the file."""
_TIME = struct.Struct('<d')


class ProgressFile:
    """The file, for the command that starts a run; it goes with :meth:`close`.

    Attributes:
        variables: environment of the processes that shall report.
    """

    def __init__(self) -> None:
        """Create the file."""
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
        """Remove the file; a fork of its owner does not."""
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
