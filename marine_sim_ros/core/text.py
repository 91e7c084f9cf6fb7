# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Text of others, made safe to be shown on a terminal."""

from __future__ import annotations

__all__ = ['printable']


def printable(text: str) -> str:
    """Return a text with its control characters escaped, line ends and tabs excepted.

    A terminal obeys them: a name could clear the screen, or hide what stands before it.
    """
    if text.isprintable():
        return text
    return ''.join(
        c if c.isprintable() or c in '\n\t' else c.encode('unicode_escape').decode('ascii')
        for c in text
    )
