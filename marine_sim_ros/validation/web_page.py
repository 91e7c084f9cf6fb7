# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The cards as one web page that needs nothing else, light or dark as the reader has it."""

from __future__ import annotations

from html import escape

from marine_sim_ros import __version__
from marine_sim_ros.validation.table import Cell, conclusions, make_table, sources
from marine_sim_ros.validation.validation_report import Validation

__all__ = ['web_page']

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
    table = make_table(validation)
    head = ''.join(f'<th scope="col">{escape(t)}</th>' for t in table.header)
    body = '\n'.join(
        '<tr>' + ''.join(f'<td{_class(c)}>{escape(c.text)}</td>' for c in row) + '</tr>'
        for row in table.rows
    )
    found = '\n'.join(f'<li>{escape(t)}</li>' for t in conclusions(validation))
    notes = '\n'.join(f'<li>{escape(t)}</li>' for t in sources(validation))
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
