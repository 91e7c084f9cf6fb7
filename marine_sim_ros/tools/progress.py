# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Progress bars on a terminal; elsewhere a line where work takes more than a day."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from typing import Any

from marine_sim_ros.tools.reporting import print_warnings

__all__ = ['progress_bar', 'show_waiting']

MIN_DURATION = 0.5
"""s of wall time in which work is quick, and has no bar."""
ESTIMATE_DELAY = 5.0
"""s of wall time after which the rate is known."""
DAY = 86400.0
"""s; longer work is warned of where no bar shows it."""


def _terminal() -> Any:
    """Return rich's console of standard error, or None where it is no terminal."""
    forced = any(os.environ.get(name) for name in ('FORCE_COLOR', 'TTY_COMPATIBLE'))
    if not (forced or sys.stderr.isatty()):
        return None  # rich is not even imported
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
) -> Iterator[Callable[..., None]]:
    """Yield a function that takes the completed share, and perhaps another text, for a bar.

    The bar shows the time that has passed and what is left, by the share. What is quick makes
    none, and imports no rich. Without a terminal, a warning says once what is left if that is
    more than a day.

    Args:
        description: text in front of the bar.
        total: the value at the end; None where it is unknown.
        transient: whether the bar goes when the work is done.
        quiet: wall time until the bar appears with the next call, s.
    """
    began = time.monotonic()
    with ExitStack() as shown:

        @cache
        def start_bar() -> Callable[..., None] | None:
            """Show the bar, and return what moves it; None where there is no terminal."""
            if (console := _terminal()) is None:
                return None  # rich before 13.8 prints a blank line for a disabled bar
            from rich.progress import (
                BarColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            columns = (
                TextColumn('{task.description}', markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                *([] if total is None else [TextColumn('left'), TimeRemainingColumn()]),
            )
            progress = Progress(*columns, console=console, transient=transient)
            task = progress.add_task(description, total=total)
            progress.tasks[0].start_time = began
            shown.enter_context(progress)
            return partial(progress.update, task)

        estimated = False

        def tell(done: float, text: str = '') -> None:
            nonlocal estimated
            passed = time.monotonic() - began
            if passed < quiet:
                return
            if (move := start_bar()) is not None:
                move(completed=done, description=text or description)
            elif total and done > 0 and passed >= ESTIMATE_DELAY and not estimated:
                estimated = True
                left = passed * (total / done - 1)
                if left > DAY:
                    print_warnings([f'{description} takes about {left / DAY:.3g} days more'])

        yield tell


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
