# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sheet of a PNG figure: style, colours, scales and limits of axes; tables as pages of a PDF.

Matplotlib is imported when one is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require

__all__ = [
    'BLACK',
    'BLUE',
    'GREY',
    'LIGHT',
    'ORANGE',
    'PageTable',
    'THREE',
    'VERMILION',
    'box_corners',
    'figure_sheet',
    'thinning_slice',
    'write_table_pages',
]


# Style of all pictures: a palette for colour-blind readers, and one font size.

# Okabe and Ito (2008), Color Universal Design.
BLACK, ORANGE, SKY, GREEN = '#000000', '#E69F00', '#56B4E9', '#009E73'
BLUE, VERMILION = '#0072B2', '#D55E00'
GREY, LIGHT = '#5f6b76', '#e9edf1'
THREE = (BLUE, VERMILION, GREEN)
"""Of x, y, z and of roll, pitch, yaw."""

WIDTH = 12.0
DPI = 100
MAX_POINTS = 4000
_STYLE: dict[Any, Any] = {
    'font.size': 12,
    'axes.titlesize': 13,
    'axes.titlelocation': 'left',
    'axes.labelsize': 12,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.edgecolor': GREY,
    'axes.grid': True,
    'axes.axisbelow': True,
    'axes.formatter.useoffset': False,
    'grid.color': '#d5dbe1',
    'grid.linewidth': 0.8,
    'legend.fontsize': 11,
    'legend.frameon': False,
    'lines.linewidth': 1.8,
    'xtick.color': GREY,
    'ytick.color': GREY,
    'xtick.labelcolor': BLACK,
    'ytick.labelcolor': BLACK,
}


@contextmanager
def figure_sheet(path: Path, title: str, height: float) -> Iterator[Any]:
    """Give a Matplotlib figure 12 inches wide; write it to a PNG file when all went well.

    No global state of Matplotlib is touched, and no display is needed.

    Raises:
        RecordingError: the file cannot be written.
    """
    matplotlib = require('matplotlib', 'figures')
    Figure = require('matplotlib.figure', 'figures').Figure
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout='constrained')
        figure.suptitle(title, x=0.01, ha='left', fontsize=15, weight='bold')
        yield figure
        try:
            figure.savefig(path, format='png')
        except OSError as error:
            raise RecordingError(f'{path}: cannot be written: {error.strerror or error}') from None


def thinning_slice(count: int) -> slice:
    """Return the slice that leaves no more rows of a long run than a picture can show."""
    return slice(None, None, max(1, math.ceil(count / MAX_POINTS)))


def padded_limits(low: float, high: float, least: float) -> tuple[float, float]:
    """Return limits around values, at least ``least`` apart, so that noise does not look large."""
    middle, half = (low + high) / 2, max((high - low) * 0.54, least / 2)
    return middle - half, middle + half


def box_corners(size: tuple[float, float, float]) -> np.ndarray:
    """Return the corners (8, 3) of a box of a size (m) around the origin."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * np.asarray(size) / 2


# Tables as pages of a PDF.

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
