# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of Markdown, and the rows of declared settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from marine_sim_ros.core.schema import REQUIRED, Setting, fields_of

__all__ = ['SETTING_HEAD', 'cell', 'code', 'declared_rows', 'setting_row', 'table']

SETTING_HEAD = ('parameter', 'meaning', 'unit', 'range', 'default')


def cell(text: str) -> str:
    """Return a text for a cell of a table; ``<`` would begin a tag."""
    return text.replace('|', r'\|').replace('<', '&lt;')


def code(text: str) -> str:
    """Return a text as code; nothing for an empty one."""
    return f'`{text}`' if text else ''


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ['---'] * len(head), *rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines) + '\n'


def setting_row(setting: Setting) -> Sequence[str]:
    """Return the cells of a setting below :data:`SETTING_HEAD`."""
    return (
        code(setting.name),
        cell(setting.help),
        setting.unit,
        setting.range,
        'required' if setting.default is REQUIRED else setting.default_text,
    )


def declared_rows(kind: type, prefix: str = '') -> list[Sequence[str]]:
    """Return the rows of the fields of a dataclass, those of its children by dotted names."""
    rows: list[Sequence[str]] = []
    for field in fields_of(kind).values():
        named = replace(field, name=prefix + field.name)
        rows.append(setting_row(named))
        if field.parts is not None:
            rows += declared_rows(field.parts, f'{named.name}{"[]" * field.many}.')
    return rows
