# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of long work, and lines of processes beside the progress bar of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TextIO

__all__ = ['ReportProgress', 'log_format', 'no_progress', 'own_line_text']


# Progress reports of long work.

ReportProgress = Callable[[float], None]
"""Function that is called with the completed share, 0 to 1."""


def no_progress(share: float) -> None:
    """Ignore the progress."""


# Output lines of several processes beside one progress bar.

_CLEAR = '\r\x1b[2K'
"""Removes the bar from its line (ECMA-48: CR, EL 2); it is drawn again below."""
_FORMAT = '[{severity}] [{time}] [{name}]: {message}'
"""Default of rcutils."""


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
