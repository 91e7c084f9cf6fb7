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
def bar(description: str) -> Iterator[Callable[[float], None]]:
    """Yield what is to be told the share that is done; the bar appears with the first call."""
    console = Console(stderr=True)
    columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=True,
                        disable=not console.is_terminal)  # fmt: skip
    task = progress.add_task(description, total=1.0)

    def tell(share: float) -> None:
        progress.start()  # a second time does nothing
        progress.update(task, completed=share)

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
