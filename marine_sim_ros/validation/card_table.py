# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Validation cards as text table, Markdown and web page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from marine_sim_ros import __version__
from marine_sim_ros.core.text import aligned_columns, markdown_row
from marine_sim_ros.validation.cards import VERDICTS, PublishedValue, Validation, findings, verdict
from marine_sim_ros.validation.rest import Measurement

__all__ = [
    'conclusion_lines',
    'make_card_table',
    'markdown_cards',
    'plain_cards',
    'source_lines',
    'web_page',
]


# Cards as a table of texts, the same for terminal, pipe, Markdown and web page.

NONE = '–'
UNPUBLISHED = VERDICTS[2]


class Cell(NamedTuple):
    """A text, and how it is to look: a verdict, with a question mark where in doubt, or empty."""

    text: str
    kind: str = ''


class CardTable(NamedTuple):
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


def _published_cells(
    reference: PublishedValue | None, numbers: Mapping[tuple[str, str], int]
) -> list[Cell]:
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


def _cell(measurement: Measurement, reference: PublishedValue | None) -> Cell:
    text = NONE if measurement.value is None else _number(measurement.value)
    if reference is None:
        return Cell(text)
    found = verdict(measurement, reference) + ('?' if reference.doubt else '')
    return Cell(f'{text} {found}', found)


def make_card_table(validation: Validation) -> CardTable:
    """Return one row per quantity and published value, one column per card.

    Quantities that no card has are left out. A single card has its notes beside it.
    """
    rows = []
    alone = len(validation.cards) == 1
    numbers = _numbers(validation)
    for name, first in validation.cards[0].measured.items():
        measured = [c.measured[name] for c in validation.cards]
        references = validation.values_of(name)
        if all(m.value is None for m in measured) and not references:
            continue
        for i, r in enumerate(references or (None,)):
            rows.append(
                (
                    Cell(first.title if i == 0 else ''),
                    Cell(first.unit if i == 0 else ''),
                    *_published_cells(r, numbers),
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
    return CardTable(header, tuple(rows))


def source_lines(validation: Validation) -> tuple[str, ...]:
    """Return one line per source of published values: its number and doubt."""
    return tuple(
        f'[{i}] {source}.' + (f' In doubt: {doubt}.' if doubt else '')
        for (source, doubt), i in _numbers(validation).items()
    )


def _share(error: float | None) -> str:
    return 'no value' if error is None else f'{error:+.0%}'


def conclusion_lines(validation: Validation) -> tuple[str, ...]:
    """Return lines on the published values that each card reproduces."""
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
            lines.append(
                f'{_value_title(validation, f.reference)}: {_share(errors[default.name])}.'
            )
            continue
        if len(f.reproduced) == len(validation.cards):
            who = 'reproduced by all'
        elif f.reproduced:
            who = f'reproduced by {", ".join(f.reproduced)}'
        else:
            who = f'reproduced by none, nearest is {f.nearest} ({_share(errors[f.nearest or ""])})'
        if default.name not in f.reproduced:
            who += f'; the default {default.name} is off by {_share(errors[default.name])}'
        lines.append(f'{_value_title(validation, f.reference)}: {who}.')
    return tuple(lines)


def _value_title(validation: Validation, reference: PublishedValue) -> str:
    measured = validation.cards[0].measured[reference.key]
    return f'{measured.title}, {_span(reference.low, reference.high)}' + (
        ' (in doubt)' if reference.doubt else ''
    )


def plain_cards(validation: Validation) -> str:
    """Return table, conclusions and sources as plain text."""
    table = make_card_table(validation)
    lines = aligned_columns([table.header, *(tuple(c.text for c in row) for row in table.rows)])
    return '\n'.join(
        [*lines, '', *conclusion_lines(validation), '', *source_lines(validation)]
    ).rstrip()


def markdown_cards(validation: Validation) -> str:
    """Return table, conclusions and sources as Markdown."""
    table = make_card_table(validation)
    rows = [table.header, *(tuple(c.text for c in row) for row in table.rows)]
    lines = [markdown_row(row) for row in rows]
    lines.insert(1, '|' + '|'.join(['---', '---', *['--:'] * (len(table.header) - 2)]) + '|')
    lists = [f'- {t}' for t in conclusion_lines(validation)]
    notes = [f'- {t}' for t in source_lines(validation)]
    return '\n'.join([*lines, '', *lists, *(['', 'Sources:', '', *notes] if notes else [])])


# Cards as one self-contained web page, light or dark by the reader's setting.

_STYLE = """
:root { color-scheme: light dark; --text: #1c2430; --quiet: #5f6b76; --page: #ffffff;
  --line: #d8dee4; --band: #f4f6f8; --pass: #1a7f37; --fail: #c2283a; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e8ee; --quiet: #9aa6b2; --page: #12171d; --line: #313a44;
    --band: #1a212a; --pass: #56c271; --fail: #ff7b84; } }
body { margin: 2rem auto; padding: 0 1.5rem; max-width: 76rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { color: var(--quiet); margin: 0 0 1.25rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { background: var(--band); position: sticky; top: 0; }
th:nth-child(n+3), td:nth-child(n+3) { text-align: right; }
.note th:last-child, .note td:last-child { text-align: left; color: var(--quiet); }
td:nth-child(2), .none { color: var(--quiet); }
.pass { color: var(--pass); } .fail { color: var(--fail); font-weight: 600; }
.doubt { font-weight: 400; font-style: italic; opacity: .85; }
li { margin: .2rem 0; overflow-wrap: anywhere; } ul { padding-left: 1.2rem; }
ul.sources { list-style: none; padding: 0; color: var(--quiet); font-size: .9rem; }
"""


def _class(cell: Cell) -> str:
    if not cell.kind:
        return ''
    name = cell.kind.rstrip('?').split()[0].replace('no', 'none')
    return f' class="{name}{" doubt" if cell.kind.endswith("?") else ""}"'


def web_page(validation: Validation) -> str:
    """Return the page as HTML."""
    table = make_card_table(validation)
    head = ''.join(f'<th scope="col">{escape(t)}</th>' for t in table.header)
    body = '\n'.join(
        '<tr>' + ''.join(f'<td{_class(c)}>{escape(c.text)}</td>' for c in row) + '</tr>'
        for row in table.rows
    )
    found = '\n'.join(f'<li>{escape(t)}</li>' for t in conclusion_lines(validation))
    notes = '\n'.join(f'<li>{escape(t)}</li>' for t in source_lines(validation))
    notes = f'<h2>Sources</h2>\n<ul class="sources">\n{notes}\n</ul>' if notes else ''
    note = ' class="note"' if table.header[-1] == 'note' else ''
    title = escape(f'Manoeuvres: {validation.vehicle}')
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p>marine_sim_ros {escape(__version__)}. Verdicts with a question mark are against published
values that are in doubt; they decide nothing.</p>
<div class="wide">
<table{note}>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>
<h2>What fits</h2>
<ul>
{found}
</ul>
{notes}
</body>
</html>
"""
