# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress bars, on a terminal only."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ['bar', 'waiting']


def _terminal() -> Any:
    """Return rich's console of standard error, or None where it is no terminal."""
    if not _wanted():
        return None  # rich is not even imported
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_terminal else None


def _wanted() -> bool:
    forced = any(os.environ.get(name) for name in ('FORCE_COLOR', 'TTY_COMPATIBLE'))
    return forced or sys.stderr.isatty()


class _Bar:
    """A bar of rich that is there from its first share on: what is quick needs no rich at all."""

    def __init__(self, description: str, total: float | None, *, transient: bool) -> None:
        self._about = description, total, transient
        self._began = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    def tell(self, done: float) -> None:
        """Show a share."""
        if self._task is None:
            self._start()
        if self._progress is not None:
            self._progress.update(self._task, completed=done)

    def _start(self) -> None:
        description, total, transient = self._about
        self._task = 0
        if (console := _terminal()) is None:
            return  # rich before 13.8 prints a blank line for a disabled bar
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=transient)
        self._task = self._progress.add_task(description, total=total)
        self._progress.tasks[0].start_time = self._began
        self._progress.start()

    def stop(self) -> None:
        """Leave it as it is, or take it away."""
        if self._progress is not None:
            self._progress.stop()


@contextmanager
def bar(
    description: str, total: float | None = 1.0, *, transient: bool = True
) -> Iterator[Callable[[float], None]]:
    """Yield a function that takes the completed share; the bar appears with its first call.

    Args:
        description: text in front of the bar.
        total: the value at the end; None where it is unknown.
        transient: whether the bar goes when the work is done.
    """
    shown = _Bar(description, total, transient=transient)
    try:
        yield shown.tell
    finally:
        shown.stop()


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Show on a terminal that something takes a while."""
    console = _terminal()
    if console is None:
        yield
        return
    with console.status(description):
        yield
