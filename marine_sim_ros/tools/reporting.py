# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Warnings of the verbs, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable

__all__ = ['print_warnings']


def print_warnings(texts: Iterable[str]) -> None:
    """Print each warning once."""
    for text in dict.fromkeys(texts):
        print(f'WARNING: {text}', file=sys.stderr)
