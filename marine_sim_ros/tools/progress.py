# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress bars, on a terminal only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ['bar', 'waiting']


def _terminal() -> Any:
    """Return rich's console of standard error, or None where it is no terminal."""
    forced = any(os.environ.get(name) for name in ('FORCE_COLOR', 'TTY_COMPATIBLE'))
    if not (forced or sys.stderr.isatty()):
        return None  # rich is not even imported
    from rich.console import Console

    console = Console(stderr=True)
    return console if console.is_terminal else None


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
    console = _terminal()
    if console is None:  # rich before 13.8 prints a blank line for a disabled bar
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=transient)
    task = progress.add_task(description, total=total)

    def tell(done: float) -> None:
        progress.start()  # a second time does nothing
        progress.update(task, completed=done)

    try:
        yield tell
    finally:
        progress.stop()


@contextmanager
def waiting(description: str) -> Iterator[None]:
    """Show on a terminal that something takes a while."""
    console = _terminal()
    if console is None:
        yield
        return
    with console.status(description):
        yield
