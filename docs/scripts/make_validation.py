# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of validation.md between their marks.

``.venv/bin/python docs/scripts/make_validation.py [--floating]``, then only that of floats
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from marks import between

from marine_sim_ros.model.library import vehicle_names
from marine_sim_ros.validation.card_table import markdown_cards
from marine_sim_ros.validation.cards import Validation, validate
from marine_sim_ros.validation.floating import floating_rows, floating_table

PAGE = Path(__file__).resolve().parent.parent / 'reference' / 'validation.md'
KGF = 9.80665
PUBLISHED = ((9.0, 1.0), (14.0, 1.0), (9.0, 1.5), (14.0, 1.5))
"""Bollard thrusts (kgf) and top speeds (m/s) that the BlueROV2's maker has given."""


def drag_table(validation: Validation) -> str:
    """Return the resistance at the published speeds beside that of the sets.

    Drag at 1 m/s: of a set T/v², from thrust and top speed alike, as if it were quadratic.
    """
    rows = ['| thrust, speed | T/v², N·s²/m² |', '|---|--:|']
    rows += [
        f'| published, {thrust:g} kgf and {speed:g} m/s | {thrust * KGF / speed**2:.0f} |'
        for thrust, speed in PUBLISHED
    ]
    for card in validation.cards:
        force = card.measured['bollard_surge_ahead'].value
        speed = card.measured['speed_surge_ahead'].value
        assert force is not None
        assert speed is not None
        rows.append(
            f'| {card.name}, {force / KGF:.1f} kgf and {speed:.2f} m/s | {force / speed**2:.0f} |'
        )
    return '\n'.join(rows)


def filled(page: str, validations: Mapping[str, Validation]) -> str:
    """Return the page with all its tables made of these validations."""
    for name, validation in validations.items():
        page = between(page, name, markdown_cards(validation))
    return between(page, 'drag', drag_table(validations['bluerov2']))


def main() -> None:
    """Make everything."""
    page = PAGE.read_text(encoding='utf-8')
    shown = [name for name in vehicle_names() if f'<!-- {name} -->' in page]
    page = between(page, 'floating', floating_table(floating_rows()))
    if '--floating' not in sys.argv:
        page = filled(page, {name: validate(name) for name in shown})
    PAGE.write_text(page, encoding='utf-8')


if __name__ == '__main__':
    main()
