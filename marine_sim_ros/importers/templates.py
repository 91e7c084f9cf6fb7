# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Templates of descriptions, which other programs expand first."""

from __future__ import annotations

import re
from pathlib import Path

from marine_sim_ros.core.errors import ModelError

__all__ = ['refuse_template']

_SUFFIXES = {
    '.erb': 'erb',
    '.rsdf': 'erb',
    '.em': 'empy',
    '.jinja': 'jinja2',
    '.jinja2': 'jinja2',
    '.j2': 'jinja2',
}
_MARKS = {
    'erb': re.compile(r'<%[^\n]{0,60}'),
    'jinja2': re.compile(r'(?<!\$)\{\{[^\n]{0,60}\}\}|\{%[^\n]{0,60}%\}'),
    'empy': re.compile(r'@\([^\n)]{1,60}\)|@\[(?:if|for|end)\b[^\n]{0,60}\]'),
}
_NAMES = {
    'erb': 'ERB: erb',
    'empy': 'EmPy (Debian: python3-empy): empy3',
    'jinja2': 'Jinja (pip install jinja2-cli): jinja2',
}


def refuse_template(path: Path, text: str) -> None:
    """Refuse a file that another program has to expand first, by its suffix or its text.

    Args:
        path: the file.
        text: its text without comments, line breaks kept.

    Raises:
        ModelError: it is a template.
    """
    kind = _SUFFIXES.get(path.suffix)
    where = ''
    for name, mark in _MARKS.items():
        found = mark.search(text) if kind in (None, name) else None
        if found is not None:
            kind = name
            where = f':{text.count(chr(10), 0, found.start()) + 1}: has {found[0][:60]!r}'
            break
    if kind is None:
        return
    plain = path.with_suffix('') if path.suffix in _SUFFIXES else path.with_stem(f'{path.stem}_x')
    raise ModelError(
        f'{path}{where}: is a template; expand it first with {_NAMES[kind]} {path.name} > '
        f'{plain.name}, or with the program of its package'
    )
