# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Standard output that nobody reads any more."""

from __future__ import annotations

import os
import sys

__all__ = ['discard_output', 'flush_or_discard']


def discard_output() -> None:
    """Let the interpreter flush at its end without a further error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_or_discard() -> None:
    """Write what is left for a terminal that may be gone."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()
