# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Text output: coloured on a terminal, plain in a pipe."""

from __future__ import annotations

from typing import Any

from rich.console import Console

__all__ = ['Terminal']


class Terminal(Console):
    """A console of rich that leaves the exit code of a closed pipe to the command.

    A text is shown as it is: names of others may look like the markup of rich.
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of rich's console."""
        super().__init__(**{'markup': False, 'emoji': False, **options})

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError again, where rich would exit with 1."""
        raise
