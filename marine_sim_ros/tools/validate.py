# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run standard manoeuvres of a vehicle, and compare them with published values."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from marine_sim_ros.core.text import json_text, open_terminal
from marine_sim_ros.tools.command_line import check_writable, progress_bar, write_file
from marine_sim_ros.tools.options import add_option, parse_set_options
from marine_sim_ros.validation.card_table import (
    conclusion_lines,
    make_card_table,
    plain_cards,
    source_lines,
    web_page,
)
from marine_sim_ros.validation.cards import Validation, validate, validation_dict

__all__ = ['add_arguments', 'execute', 'print_validation']

_STYLES = {
    'pass': 'green',
    'fail': 'bold red',
    'pass?': 'dim green',
    'fail?': 'dim red',
    'no published value': 'dim',
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the subcommand."""
    add_option(parser, 'vehicle', positional=True)
    add_option(parser, 'vehicle_arguments')
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')
    parser.add_argument('--html', default='', metavar='FILE', help='write a web page too')


def execute(options: argparse.Namespace) -> int:
    """Run the subcommand; exit code 1 if the recommended set misses a reliable published value."""
    arguments = parse_set_options(options.vehicle_arguments)
    if options.html:
        check_writable(Path(options.html), '--html')
    with progress_bar('manoeuvres') as report_progress:
        validation = validate(options.vehicle, arguments, progress=report_progress)
    if options.html:
        write_file(Path(options.html), web_page(validation), '--html')
    if options.json:
        print(json_text(validation_dict(validation), indent=2, ensure_ascii=False))
    else:
        print_validation(validation)
    return 0 if validation.is_reproduced else 1


def print_validation(validation: Validation, console: Console | None = None) -> None:
    """Print the table to standard output, or to another console."""
    console = console or open_terminal()
    if not console.is_terminal:
        print(plain_cards(validation), file=console.file)
        return
    content = make_card_table(validation)
    table = Table(
        title=f'Manoeuvres: {validation.vehicle}', title_justify='left', header_style='bold'
    )
    for i, name in enumerate(content.header):
        table.add_column(name, justify='right' if i > 1 else 'left')
    for row in content.rows:
        table.add_row(*(Text(c.text, style=_STYLES.get(c.kind, '')) for c in row))
    console.print(table)
    for line in (*conclusion_lines(validation), '', *source_lines(validation)):
        console.print(Text(line))
