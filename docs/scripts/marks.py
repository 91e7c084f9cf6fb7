# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Puts what a script makes between marks of a page."""

from __future__ import annotations

__all__ = ['between']


def between(page: str, mark: str, table: str) -> str:
    """Return a page with a table put between its marks."""
    start, rest = page.split(f'<!-- {mark} -->')
    end = rest.split(f'<!-- /{mark} -->')[1]
    return f'{start}<!-- {mark} -->\n{table}\n<!-- /{mark} -->{end}'
