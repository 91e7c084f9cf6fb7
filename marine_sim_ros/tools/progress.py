# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress bars on a terminal; elsewhere a line where work takes more than a day."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from marine_sim_ros.tools.reporting import print_warnings

__all__ = ['progress_bar', 'show_waiting']

MIN_DURATION = 0.5
"""s of wall time in which work is quick, and has no bar."""
ESTIMATE_DELAY = 5.0
"""s of wall time after which the rate is known."""
QUICK_REPORT, FIRST_PART = 1.0, 0.02
"""Wall time (s) and completed fraction up to which a first report is where the rate counts from:
what was done before, or the time of a start, says nothing about the rate."""
EARLY = 30.0
"""s of wall time in which less than that fraction says nothing about the rate either."""
DAY = 86400.0
"""s; longer work is warned of where no bar shows it."""


def _is_terminal() -> bool:
    """Return whether standard error is a terminal, without an import of rich."""
    forced = any(os.environ.get(name) for name in ('FORCE_COLOR', 'TTY_COMPATIBLE'))
    return forced or sys.stderr.isatty()


def _terminal() -> Any:
    """Return rich's console of standard error, or None where it is no terminal."""
    if not _is_terminal():
        return None
    from marine_sim_ros.core.terminal import Terminal

    console = Terminal(stderr=True)
    return console if console.is_terminal else None


@contextmanager
def progress_bar(
    description: str,
    total: float | None = 1.0,
    *,
    transient: bool = True,
    quiet: float = MIN_DURATION,
    forks: bool = False,
) -> Iterator[Callable[..., None]]:
    """Yield a function that takes the completed share, and perhaps another text, for a bar.

    The bar shows the share, the time that has passed and what is left. It appears by itself, so
    that long work has one before its first report. What is quick makes none, and imports no rich.
    Without a terminal, a warning says once what is left if that is more than a day.

    Args:
        description: text in front of the bar.
        total: the value at the end; None where it is unknown: a spinner, and no bar.
        transient: whether the bar goes when the work is done.
        quiet: wall time until the bar appears, s.
        forks: whether this process forks meanwhile, so that no thread may be in an import: the
            bar appears with a report.
    """
    bar = _Bar(description, total, transient=transient)
    timer = threading.Timer(quiet, bar.show)
    timer.daemon = True
    if not forks and bar.wanted:
        timer.start()

    estimated = bar.wanted

    def tell(done: float, text: str = '') -> None:
        nonlocal estimated
        passed = time.monotonic() - bar.began
        if passed >= quiet:
            bar.show()
        bar.move(done, text or description)
        if total and done > 0 and passed >= ESTIMATE_DELAY and not estimated:
            estimated = True
            left = passed * (total / done - 1)
            if left > DAY:
                print_warnings([f'{description} takes about {left / DAY:.3g} days more'])

    try:
        yield tell
    finally:
        timer.cancel()
        bar.close()


class _Bar:
    """A bar that is shown once, by whichever thread comes first."""

    def __init__(self, description: str, total: float | None, *, transient: bool) -> None:
        self.began = time.monotonic()
        self.wanted = _is_terminal()
        self._lock = threading.Lock()
        self._total, self._transient = total, transient
        self._now: dict[str, Any] = {'completed': 0.0, 'description': description}
        self._origin: tuple[float, float] | None = None
        self._progress: Any = None

    def show(self) -> None:
        """Show it where there is a terminal."""
        with self._lock:
            if not self.wanted:
                return
            self.wanted = False
            if (console := _terminal()) is None:
                return  # rich before 13.8 prints a blank line for a disabled bar
            self._progress = _columns(console, self._total, transient=self._transient)
            self._progress.add_task('', total=self._total, origin=self._origin)
            self._progress.tasks[0].start_time = self.began
            self._progress.update(0, **self._now)
            self._progress.start()

    def move(self, completed: float, description: str) -> None:
        """Show how much is done."""
        with self._lock:
            if self._origin is None:
                passed = time.monotonic() - self.began
                early = passed < QUICK_REPORT or completed <= FIRST_PART * (self._total or 1.0)
                self._origin = (self.began + passed, completed) if early else (self.began, 0.0)
            self._now = {
                'completed': completed,
                'description': description,
                'origin': self._origin,
            }
            if self._progress is not None:
                self._progress.update(0, **self._now)

    def close(self) -> None:
        """Show no more."""
        with self._lock:
            self.wanted = False
            if self._progress is not None:
                self._progress.stop()


def remaining_time(
    now: float, origin: tuple[float, float] | None, completed: float, total: float | None
) -> float | None:
    """Return the remaining time by the mean rate since the origin, s; None: not known yet.

    Args:
        now: wall time, s.
        origin: wall time (s) and completed work from which the rate counts.
        completed: work that is done.
        total: work at the end.
    """
    if total is None or completed >= total:
        return 0.0
    if origin is None or completed <= origin[1]:
        return None
    if completed - origin[1] < FIRST_PART * total and now - origin[0] < EARLY:
        return None
    return (now - origin[0]) * (total - completed) / (completed - origin[1])


def _columns(console: Any, total: float | None, *, transient: bool) -> Any:
    """Return rich's progress with our columns; without a total they draw no bar."""
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class RemainingColumn(ProgressColumn):
        """Remaining time by the mean rate; rich's own is short after a few quick reports."""

        def render(self, task: Task) -> Text:
            left = remaining_time(
                task.get_time(), task.fields['origin'], task.completed, task.total
            )
            return Text(f'left {"-:--:--" if left is None else timedelta(seconds=round(left))}')

    text, passed = TextColumn('{task.description}', markup=False), TimeElapsedColumn()
    if total is None:
        return Progress(text, SpinnerColumn(), passed, console=console, transient=transient)
    columns = (text, BarColumn(), TaskProgressColumn(), passed, RemainingColumn())
    return Progress(*columns, console=console, transient=transient)


@contextmanager
def show_waiting(description: str) -> Iterator[None]:
    """Show on a terminal that something takes a while."""
    console = _terminal()
    if console is None:
        yield
        return
    from rich.text import Text

    with console.status(Text(description)):
        yield
