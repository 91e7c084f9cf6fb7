# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of reference/sensors.md from the declarations of the kinds of sensors.

``.venv/bin/python docs/scripts/make_numbers.py``
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markdown_tables import SETTING_HEAD, setting_row, table
from marks import between

from marine_sim_ros.core.schema import fields_of
from marine_sim_ros.sensors import SENSORS

REFERENCE = Path(__file__).resolve().parent.parent / 'reference'


def sensors_page(page: str) -> str:
    """Return the page of the sensors with the parameters of each kind between its marks."""
    for name, kind in SENSORS.items():
        if kind.spec:
            rows = map(setting_row, fields_of(kind.spec).values())
            page = between(page, name, table(SETTING_HEAD, rows).rstrip())
    return page


PAGES: dict[str, Callable[[str], str]] = {'sensors': sensors_page}
"""Function that writes the tables of each page of reference/ into its text."""


if __name__ == '__main__':
    for name, write in PAGES.items():
        file = REFERENCE / f'{name}.md'
        file.write_text(write(file.read_text(encoding='utf-8')), encoding='utf-8')
