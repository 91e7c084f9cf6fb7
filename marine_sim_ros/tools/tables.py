# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of comparisons: coloured on a terminal, plain columns in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from marine_sim_ros.analysis.experiments import (
    COMPARISON_COLUMNS,
    ComparedQuantity,
    plain_comparison,
)
from marine_sim_ros.core.terminal import Terminal

__all__ = ['print_comparisons']

_STYLES = {'better': 'green', 'as printed': 'cyan', 'worse': 'yellow', 'differs': 'yellow'}


def print_comparisons(
    comparisons: Sequence[ComparedQuantity], title: str, console: Console | None = None
) -> None:
    """Print the table to standard output, or to another console."""
    console = console or Terminal()
    if not console.is_terminal:
        print(plain_comparison(comparisons), file=console.file)
        return
    table = Table(title=title, title_justify='left', header_style='bold')
    for i, name in enumerate(COMPARISON_COLUMNS):
        table.add_column(name, justify='right' if i in (1, 2) else 'left')
    for c in comparisons:
        quantity, printed, ours, unit, verdict, required, state = c.cells()
        style = _STYLES.get(verdict)
        end = {True: 'green', False: 'bold red'}.get(bool(c.within)) if state else None
        table.add_row(
            quantity,
            printed,
            ours,
            unit,
            Text(verdict, style or ''),
            required,
            Text(state, end or ''),
        )
    console.print(table)
