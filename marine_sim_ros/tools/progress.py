# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A bar for work whose share that is done is known: on a terminal, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ['bar', 'waiting']


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
    console = Console(stderr=True)
    if not console.is_terminal:  # rich before 13.8 prints a blank line for a disabled bar
        yield lambda done: None
        return
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
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(description):
        yield
