# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of long work, and of a run among processes.

A file holds simulated time and position, so that the command needs no participant of its own in
the graph.
"""

from __future__ import annotations

import atexit
import os
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
    'report_state',
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
_REPORT = struct.Struct('<4d')
"""Simulated time (s), and position of the first vehicle (map, m)."""


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

    def report(self) -> tuple[float, ...] | None:
        """Return the latest report: simulated time (s), position (map, m); None: none yet."""
        with suppress(OSError, struct.error):
            return _REPORT.unpack(Path(self._path).read_bytes())
        return None

    def close(self) -> None:
        """Remove the file; a fork of its owner does not."""
        if os.getpid() == self._owner:
            atexit.unregister(self.close)
            with suppress(OSError):
                os.unlink(self._path)


def report_state(time: float, position: Sequence[float]) -> None:
    """Report simulated time (s) and position (map, m) to the command that started this run."""
    path = os.environ.get(VARIABLE)
    if path:
        with suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY)  # never made anew: the command may be gone
            try:
                os.pwrite(descriptor, _REPORT.pack(time, *position), 0)
            finally:
                os.close(descriptor)
