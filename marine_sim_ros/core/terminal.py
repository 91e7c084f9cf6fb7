# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Text in colour on a terminal, plain in a pipe."""

from __future__ import annotations

from rich.console import Console

__all__ = ['Terminal']


class Terminal(Console):
    """A console of rich that leaves the exit code of a closed pipe to the command."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError again, where rich would exit with 1."""
        raise
