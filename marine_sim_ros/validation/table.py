# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The cards as a table of texts, the same for a terminal, a pipe, Markdown and a web page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from marine_sim_ros.core.columns import aligned, markdown_row
from marine_sim_ros.validation.measurement import Measurement
from marine_sim_ros.validation.references import Reference
from marine_sim_ros.validation.validation_report import VERDICTS, Validation, findings, verdict

__all__ = ['Cell', 'Table', 'conclusions', 'make_table', 'markdown', 'plain', 'sources']

NONE = '–'
UNPUBLISHED = VERDICTS[2]


class Cell(NamedTuple):
    """A text, and how it is to look: a verdict, with a question mark where in doubt, or empty."""

    text: str
    kind: str = ''


class Table(NamedTuple):
    """Texts of the header, and rows of as many cells: 2 and 3 are published, a note comes last."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def _number(value: float) -> str:
    """Return three figures, or whole numbers from 100 on."""
    if abs(value) < 5e-4:
        return '0'
    return f'{value:.0f}' if abs(value) >= 100 else f'{value:#.3g}'


def _span(low: float, high: float) -> str:
    return f'{low:.4g}' if low == high else f'{low:.4g} to {high:.4g}'


def _published(reference: Reference | None, numbers: Mapping[tuple[str, str], int]) -> list[Cell]:
    """Return the published value with the number of its source, and what passes."""
    if reference is None:
        return [Cell(NONE, UNPUBLISHED), Cell(NONE, UNPUBLISHED)]
    number = numbers[reference.source, reference.doubt]
    value = f'{_span(reference.low, reference.high)} [{number}]' + '?' * bool(reference.doubt)
    return [Cell(value), Cell(_span(*reference.limits))]


def _numbers(validation: Validation) -> dict[tuple[str, str], int]:
    """Return the number of each source and doubt."""
    found = dict.fromkeys((r.source, r.doubt) for r in validation.references)
    return {source: i for i, source in enumerate(found, 1)}


def _cell(measurement: Measurement, reference: Reference | None) -> Cell:
    text = NONE if measurement.value is None else _number(measurement.value)
    if reference is None:
        return Cell(text)
    found = verdict(measurement, reference) + ('?' if reference.doubt else '')
    return Cell(f'{text} {found}', found)


def make_table(validation: Validation) -> Table:
    """Return one row per quantity and published value, one column per card.

    Quantities that no card has are left out. A single card has its notes beside it.
    """
    rows = []
    alone = len(validation.cards) == 1
    numbers = _numbers(validation)
    for name, first in validation.cards[0].measured.items():
        measured = [c.measured[name] for c in validation.cards]
        references = validation.of(name)
        if all(m.value is None for m in measured) and not references:
            continue
        for i, r in enumerate(references or (None,)):
            rows.append(
                (
                    Cell(first.title if i == 0 else ''),
                    Cell(first.unit if i == 0 else ''),
                    *_published(r, numbers),
                    *(_cell(m, r) for m in measured),
                    *([Cell(first.note if i == 0 else '')] if alone else []),
                )
            )
    header = (
        'quantity',
        'unit',
        'published',
        'passes',
        *(c.name for c in validation.cards),
        *(['note'] if alone else []),
    )
    return Table(header, tuple(rows))


def sources(validation: Validation) -> tuple[str, ...]:
    """Return one line per source of published values: its number and doubt."""
    return tuple(
        f'[{i}] {source}.' + (f' In doubt: {doubt}.' if doubt else '')
        for (source, doubt), i in _numbers(validation).items()
    )


def _share(error: float | None) -> str:
    return 'no value' if error is None else f'{error:+.0%}'


def conclusions(validation: Validation) -> tuple[str, ...]:
    """Return which card reproduces which published value, and how many each does."""
    if not validation.references:
        return ('Nothing is published of this vehicle.',)
    found = findings(validation)
    firm = [f for f in found if not f.reference.doubt]
    lines = []
    for card in validation.cards:
        right = sum(card.name in f.reproduced for f in firm)
        lines.append(f'{card.name}: reproduces {right} of {len(firm)} published values.')
    default = validation.cards[0]
    for f in found:
        errors = f.errors
        if len(validation.cards) == 1:
            if default.name in f.reproduced:
                continue
            lines.append(f'{_what(validation, f.reference)}: {_share(errors[default.name])}.')
            continue
        if len(f.reproduced) == len(validation.cards):
            who = 'reproduced by all'
        elif f.reproduced:
            who = f'reproduced by {", ".join(f.reproduced)}'
        else:
            who = f'reproduced by none, nearest is {f.nearest} ({_share(errors[f.nearest or ""])})'
        if default.name not in f.reproduced:
            who += f'; the default {default.name} is off by {_share(errors[default.name])}'
        lines.append(f'{_what(validation, f.reference)}: {who}.')
    return tuple(lines)


def _what(validation: Validation, reference: Reference) -> str:
    measured = validation.cards[0].measured[reference.quantity]
    return f'{measured.title}, {_span(reference.low, reference.high)}' + (
        ' (in doubt)' if reference.doubt else ''
    )


def plain(validation: Validation) -> str:
    """Return table, conclusions and sources as plain text."""
    table = make_table(validation)
    lines = aligned([table.header, *(tuple(c.text for c in row) for row in table.rows)])
    return '\n'.join([*lines, '', *conclusions(validation), '', *sources(validation)]).rstrip()


def markdown(validation: Validation) -> str:
    """Return table, conclusions and sources as Markdown."""
    table = make_table(validation)
    rows = [table.header, *(tuple(c.text for c in row) for row in table.rows)]
    lines = [markdown_row(row) for row in rows]
    lines.insert(1, '|' + '|'.join(['---', '---', *['--:'] * (len(table.header) - 2)]) + '|')
    lists = [f'- {t}' for t in conclusions(validation)]
    notes = [f'- {t}' for t in sources(validation)]
    return '\n'.join([*lines, '', *lists, *(['', 'Sources:', '', *notes] if notes else [])])
