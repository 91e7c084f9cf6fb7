# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formatting of text output: columns for terminals, Markdown, JSON, headers, file names."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Container, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    'aligned_columns',
    'cell_number',
    'file_name',
    'header_and_unit',
    'json_text',
    'markdown_row',
    'markdown_text',
    'open_terminal',
    'terminal_width',
    'wrapped_columns',
]


# Tables as text, and rows of Markdown.

_MARKUP = {'<': '&lt;', '`': '\\`', '](': ']\\('}
"""Starts of HTML, of code, and of the target of a link or a picture."""


def aligned_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns are as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ['  '.join(t.ljust(w) for t, w in zip(r, widths, strict=True)).rstrip() for r in rows]


def wrapped_columns(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the lines of a table whose last column is wrapped between words.

    Args:
        rows: cells; all rows have as many.
        width: letters of a line; 0: nothing is wrapped. The last column gets 20 at least.
    """
    indent = sum(max(map(len, column)) + 2 for column in zip(*(r[:-1] for r in rows), strict=True))
    room = max(width - indent, 20) if width else 0
    result: list[str] = []
    for line, row in zip(aligned_columns(rows), rows, strict=True):
        parts = textwrap.wrap(row[-1], room, break_long_words=False) if room else [row[-1]]
        result.append(f'{line[:indent]}{"".join(parts[:1])}'.rstrip())
        result += [' ' * indent + part for part in parts[1:]]
    return result


def terminal_width() -> int:
    """Return the letters of a line of standard output; 0 where it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def markdown_text(text: str) -> str:
    """Return a text in one line that Markdown shows without HTML, links and pictures."""
    text = ''.join(c if c.isprintable() else ' ' for c in ' '.join(text.split()))
    for start, shown in _MARKUP.items():
        text = text.replace(start, shown)
    return text


def markdown_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return '| ' + ' | '.join(markdown_text(cell).replace('|', '\\|') for cell in cells) + ' |'


# JSON with null in place of numbers that are not finite.


def json_text(content: Any, **settings: Any) -> str:
    """Return the JSON of some content; the settings are those of ``json.dumps``."""
    try:
        return json.dumps(content, allow_nan=False, **settings)
    except ValueError:  # rare, and to look at each number takes longer than to write it
        return json.dumps(_finite(content), allow_nan=False, **settings)


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return content


# File names from foreign names, such as topics and vehicles of a recording.

_PLAIN = re.compile(r'[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*')
_DEVICES = re.compile(r'(?i:con|prn|aux|nul|com\d|lpt\d)')
"""Device names of Windows, which may unpack archives written here."""
_MAX_LENGTH, _READABLE = 100, 40
"""Largest length of an unchanged name, and characters of another name before its digest."""


def file_name(name: str, taken: Container[str] = ()) -> str:
    """Return a file name, without its suffix, that lies in its folder and is of this name alone.

    A name of letters, digits and underscores stays as it is, with an underscore for each slash.
    Any other, or one whose file name is taken, ends with a dash and a digest of it.

    Args:
        taken: file names that others have.
    """
    plain = name.replace('/', '_')
    usable = _PLAIN.fullmatch(name) and len(name) <= _MAX_LENGTH and not _DEVICES.fullmatch(plain)
    if usable and plain not in taken:
        return plain
    digest = sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]
    readable = re.sub('[^A-Za-z0-9_]+', '_', name)[:_READABLE].strip('_')
    return f'{readable}-{digest}'


# Terminals: coloured text, plain in a pipe.


def open_terminal(**options: Any) -> Console:
    """Return a console of rich that leaves the exit code of a closed pipe to the command.

    A text is shown as it is: names of others may look like the markup of rich. The import of rich
    takes a while, so it is left to the first terminal.
    """
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            """Raise BrokenPipeError again, where rich would exit with 1."""
            raise

    return Terminal(**{'markup': False, 'emoji': False, **options})


MISSING_CELLS = frozenset(('', 'nan', 'na', 'null', 'none', '-'))
"""Texts of a cell without a value."""


def cell_number(row: Sequence[str], index: int) -> float | None:
    """Return the number in a cell of a table's row; NaN: it has none; None: it has other text."""
    cell = row[index].strip() if index < len(row) else ''
    if cell.lower() in MISSING_CELLS:
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return None


def header_and_unit(column: str, units: Container[str]) -> tuple[str, str | None]:
    """Return the name of a table's column in small letters, and its unit.

    Args:
        column: name, with its unit in brackets, or one of the units after ``_``.
        units: units that may stand after ``_``, in small letters.
    """
    text = column.strip().lower()
    if match := re.fullmatch(r'(.*?)\s*[\[(](.*)[\])]', text):
        return match[1].replace('_', ' ').strip(), match[2].strip()
    head, _, tail = text.rpartition('_')
    if head and tail in units:
        return head.replace('_', ' '), tail
    return text.replace('_', ' '), None
