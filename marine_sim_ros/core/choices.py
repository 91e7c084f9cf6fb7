# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hints at the name that was meant, for messages about a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ['expected_one_of', 'meant', 'nearest']


def nearest(word: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Return the name that is most like a word; empty where none is.

    Args:
        word: the word.
        names: the names.
        likeness: ratio of difflib, 0 to 1, that a name has at least.
    """
    from difflib import get_close_matches  # only a mistake needs it

    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), list(by_lower), 1, likeness)
    return by_lower[near[0]] if near else ''


def meant(word: str, names: Iterable[str]) -> str:
    """Return "did you mean NAME? " of the nearest name; empty where none is like the word."""
    near = nearest(word, names)
    return f'did you mean {near!r}? ' if near else ''


def expected_one_of(word: object, names: Iterable[str]) -> str:
    """Return "did you mean NAME? expected one of: NAMES", in the order of the names."""
    known = list(names)
    hint = meant(word, known) if isinstance(word, str) else ''
    return f'{hint}expected one of: {", ".join(known) or "none"}'
