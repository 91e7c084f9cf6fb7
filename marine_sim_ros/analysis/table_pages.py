# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables as pages of a PDF. Matplotlib is imported when they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from marine_sim_ros.analysis.figure_sheet import BLACK, GREY
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require

__all__ = ['PageTable', 'write_table_pages']

PAGE = (8.27, 11.69)
"""Width and height of A4, inches."""
ROWS = 46
"""Rows of a page."""
MAX_LETTERS = 40
"""Of a cell; a longer one keeps its end, which a path is known by."""


@dataclass(frozen=True)
class PageTable:
    """A table under a title.

    Attributes:
        title: title of its pages.
        head: names of the columns.
        rows: texts of the cells, as many in each row as columns.
        widths: width of each column; they are scaled to the page.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    widths: Sequence[float]


def _pages(tables: Sequence[PageTable]) -> Iterator[PageTable]:
    for table in tables:
        count = max(1, -(-len(table.rows) // ROWS))
        for i in range(count):
            title = table.title if count == 1 else f'{table.title}, {i + 1} of {count}'
            rows = table.rows[i * ROWS : (i + 1) * ROWS]
            yield PageTable(title, table.head, rows, table.widths)


def write_table_pages(path: Path, tables: Sequence[PageTable]) -> None:
    """Write tables to a PDF, each on pages of its own; equal tables give equal bytes.

    Raises:
        RecordingError: the file cannot be written.
    """
    figures = require('matplotlib.figure', 'figures')
    PdfPages = require('matplotlib.backends.backend_pdf', 'figures').PdfPages
    try:
        with PdfPages(path, metadata={'CreationDate': None}) as file:
            for page in _pages(tables):
                figure = figures.Figure(figsize=PAGE)
                total, left = sum(page.widths), 0.06
                figure.text(left, 0.95, page.title, fontsize=14, weight='bold', color=BLACK)
                for i, row in enumerate([page.head, *page.rows]):
                    x = left
                    for text, width in zip(row, page.widths, strict=True):
                        shown = text if len(text) <= MAX_LETTERS else '…' + text[1 - MAX_LETTERS :]
                        colour = BLACK if i else GREY
                        figure.text(x, 0.92 - 0.019 * i, shown, fontsize=8, color=colour)
                        x += (1 - 2 * left) * width / total
                file.savefig(figure)
    except OSError as error:
        raise RecordingError(f'{path}: cannot be written: {error.strerror or error}') from None
