# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables as text: columns of equal width, and rows of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ['aligned', 'markdown_row', 'markdown_text']

_MARKUP = {'<': '&lt;', '`': '\\`', '](': ']\\('}
"""Starts of HTML, of code, and of the target of a link or a picture."""


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns are as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ['  '.join(t.ljust(w) for t, w in zip(r, widths, strict=True)).rstrip() for r in rows]


def markdown_text(text: str) -> str:
    """Return a text in one line that Markdown shows without HTML, links and pictures."""
    text = ''.join(c if c.isprintable() else ' ' for c in ' '.join(text.split()))
    for start, shown in _MARKUP.items():
        text = text.replace(start, shown)
    return text


def markdown_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return '| ' + ' | '.join(markdown_text(cell).replace('|', '\\|') for cell in cells) + ' |'
