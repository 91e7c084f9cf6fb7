# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""List vehicles, environments, scenarios and whatever else comes with the package."""

from __future__ import annotations

import argparse
import json

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
    width = max(map(len, found), default=0)
    for name, text in found.items():
        print(f'{name:{width}}  {text}'.rstrip())
    return 0
