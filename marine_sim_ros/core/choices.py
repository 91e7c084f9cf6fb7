# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hints at the name that was meant, for messages about a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ['meant', 'nearest']


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the name that is most like a word; empty where none is."""
    from difflib import get_close_matches  # only a mistake needs it

    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), list(by_lower), 1)
    return by_lower[near[0]] if near else ''


def meant(word: str, names: Iterable[str]) -> str:
    """Return "did you mean NAME? " of the nearest name; empty where none is like the word."""
    near = nearest(word, names)
    return f'did you mean {near!r}? ' if near else ''
