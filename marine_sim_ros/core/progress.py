# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How long work tells how far it has come."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ['Progress', 'no_progress']

Progress = Callable[[float], None]
"""Function that is called with the completed share, 0 to 1."""


def no_progress(share: float) -> None:
    """Ignore the progress."""
