# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Texts of others on a terminal and in a log: control characters are shown, and do nothing."""

from __future__ import annotations

__all__ = ['printable']


def printable(text: str) -> str:
    r"""Return a text with its control characters, but line ends and tabs, written as ``\x1b``.

    Those would colour or clear a terminal, set its title, or reverse the reading direction.
    """
    if text.isprintable():
        return text
    return ''.join(c if c.isprintable() or c in '\n\t' else ascii(c)[1:-1] for c in text)
