# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""List vehicles, environments, scenarios and whatever else comes with the package."""

from __future__ import annotations

import argparse
import json

from marine_sim_ros.core.text import terminal_width, wrapped_columns
from marine_sim_ros.tools.catalogue import CATALOGUE

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument(
        'kind', metavar='KIND', choices=tuple(CATALOGUE), help=f'one of: {", ".join(CATALOGUE)}'
    )
    parser.add_argument('--json', action='store_true', help='print a JSON object')


def execute(options: argparse.Namespace) -> int:
    """Print one line for each: its name and what it is."""
    found = CATALOGUE[options.kind]()
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return 0
    for line in wrapped_columns([*found.items()], terminal_width()):
        print(line)
    return 0
