# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Up to which stamp a subscriber has every message of every tick."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ['Progress']

LOST = 1.0
"""s of wall time; a topic that lags and has been silent for longer has lost its node."""


class Progress:
    """The newest stamp of each topic.

    Attributes:
        missing: topics that have not come at all; the first tick is complete when there are none.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Start with topics of which nothing has come."""
        self.missing = set(names)
        self._newest: dict[str, tuple[int, float]] = {}
        self._goal = 0
        self._short: set[str] = set()

    def take(self, name: str, stamp: int | None, now: float) -> None:
        """Note a message.

        Args:
            name: of its topic.
            stamp: ns; None where the message does not tell.
            now: wall time, s.
        """
        self.missing.discard(name)
        if stamp is not None:
            self._newest[name] = stamp, now
            if stamp >= self._goal:
                self._short.discard(name)

    def aim(self, stamp: int) -> None:
        """Have ``reached`` say when every topic so far has come up to a stamp (ns)."""
        self._goal = stamp
        self._short = {name for name, (newest, _) in self._newest.items() if newest < stamp}

    @property
    def reached(self) -> bool:
        """Whether every topic has come up to the stamp aimed at, those that lost a node too."""
        return not (self._short or self.missing)

    def complete(self, now: float) -> int | None:
        """Return the stamp (ns) up to which everything has come; None before the first tick is.

        A topic that has lost its node does not count.
        """
        if self.missing or not self._newest:
            return None
        newest = max(stamp for stamp, _ in self._newest.values())
        alive = now - LOST
        return min(s for s, seen in self._newest.values() if s == newest or seen > alive)
