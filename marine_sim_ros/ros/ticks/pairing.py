# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Brings two per-tick inputs of the same stamp together; knows nothing of ROS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ['Pairing']

F = TypeVar('F')
S = TypeVar('S')


class Pairing(Generic[F, S]):
    """Answers each first input when the second of the same stamp is there.

    The second's sender may die: a tick that it missed is answered with its last word as soon as
    the next tick comes, and from then on nobody waits for it until it speaks again.
    """

    def __init__(self, answer: Callable[[int, F, S], None], initial: S) -> None:
        """Call ``answer`` with the stamp, the first and the second input."""
        self._answer = answer
        self.last = initial
        self._last_stamp = -1
        self._waiting: tuple[int, F] | None = None
        self.out = False

    def first(self, stamp: int, value: F) -> None:
        """Take a first input; where time went back, what waited is forgotten."""
        if self._waiting is not None and stamp > self._waiting[0]:
            self.out = True
            self._give()
        self._waiting = (stamp, value)
        if self.out or self._last_stamp == stamp:
            self._give()

    def second(self, stamp: int, value: S) -> None:
        """Take a second input."""
        self.last, self._last_stamp, self.out = value, stamp, False
        if self._waiting is not None and self._waiting[0] == stamp:
            self._give()

    def _give(self) -> None:
        assert self._waiting is not None
        (stamp, value), self._waiting = self._waiting, None
        self._answer(stamp, value, self.last)
