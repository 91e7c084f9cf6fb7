# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables as text: columns of equal width, and rows of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ['aligned', 'markdown_row']


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns are as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ['  '.join(t.ljust(w) for t, w in zip(r, widths, strict=True)).rstrip() for r in rows]


def markdown_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return '| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |'
