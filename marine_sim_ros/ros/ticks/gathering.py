# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Brings several per-tick inputs of the same stamp together; knows nothing of ROS."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

__all__ = ['Gathering']

WINDOW = 8
"""Ticks that wait for an input; the senders of a lockstep run are never so far apart."""

KEPT = 8 * WINDOW
"""Values of an input that wait for the main one."""


class Gathering:
    """Answers each stamp of the main input when the others of that stamp are there.

    A sender may die: a stamp that waits for it longer than ``WINDOW`` ticks is answered with its
    last word. Those in ``patient`` are waited for until they are in ``absent``.
    """

    def __init__(
        self,
        answer: Callable[[int, Any, Mapping[str, Any]], None],
        last: Mapping[str, Any],
        patient: Collection[str] = (),
    ) -> None:
        """Call ``answer`` with the stamp, the main input and the others, by name.

        Args:
            answer: what to do with a complete tick.
            last: the other inputs by name, as they are before anybody has sent one.
            patient: those that are waited for, however many ticks wait.
        """
        self._patient = frozenset(patient)
        self.absent: set[str] = set()
        self._answer, self._last = answer, dict(last)
        self._main: dict[int, Any] = {}
        self._newest = -1
        self._others: dict[str, dict[int, Any]] = {name: {} for name in last}

    def main(self, stamp: int, value: Any) -> None:
        """Take a main input; where time went back, what waited is forgotten."""
        if stamp <= self._newest:
            self._main.clear()
            for known in self._others.values():
                for late in [other for other in known if other > stamp]:
                    del known[late]
        self._newest = stamp
        self._main[stamp] = value
        self._give()

    def other(self, name: str, stamp: int, value: Any) -> None:
        """Take another input."""
        known = self._others[name]
        known[stamp] = self._last[name] = value
        if len(known) > KEPT:
            del known[next(iter(known))]
        self._give()

    @property
    def waiting(self) -> int:
        """The stamp that is answered next, ns; −1 where none waits."""
        return next(iter(self._main), -1)

    def leave(self, names: Collection[str]) -> None:
        """Wait for some no more, until they are taken out of ``absent``."""
        self.absent.update(names)
        self._give()

    def _give(self) -> None:
        while self._main:
            stamp = next(iter(self._main))
            here = {name: known[stamp] for name, known in self._others.items() if stamp in known}
            missing = self._others.keys() - here.keys() - self.absent
            if missing & self._patient or (missing and len(self._main) <= WINDOW):
                return
            value = self._main.pop(stamp)
            for name in here:
                del self._others[name][stamp]
            self._answer(stamp, value, {**self._last, **here})
