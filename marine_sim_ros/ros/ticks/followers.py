# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How far those are that a state owner waits for; knows nothing of ROS."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ['SILENCE', 'Followers']

SILENCE = 10.0
"""s of wall time that another vehicle is waited for; its own forces get a second of it."""


class Followers:
    """The newest complete tick of each follower, and who is silent.

    A follower is another vehicle of the same clock, or a node of sensors.

    One that says nothing for too long while it is waited for is silent: nobody waits for it until
    it speaks again.

    Attributes:
        silent: those that nobody waits for.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Expect all of them from tick 0."""
        self._newest = dict.fromkeys(names, -1)
        self._heard: dict[str, float] = {}
        self._since: float | None = None
        self.silent: set[str] = set()

    def restart(self) -> None:
        """Expect all but the silent ones from tick 0 again."""
        self._newest = dict.fromkeys(self._newest, -1)
        self._since = None

    def take(self, name: str, stamp: int, now: float) -> bool:
        """Note a complete tick at a stamp (ns) and a wall time (s); return whether it is back."""
        self._newest[name], self._heard[name] = stamp, now
        back = name in self.silent
        self.silent.discard(name)
        return back

    def late(self, stamp: int) -> list[str]:
        """Return who is waited for at a stamp (ns)."""
        return [n for n, seen in self._newest.items() if seen < stamp and n not in self.silent]

    def give_up(self, stamp: int, now: float, limit: float, first: float) -> list[str]:
        """Return who is silent from now on.

        Args:
            stamp: complete tick that is waited for, ns.
            now: wall time, s.
            limit: wall time that one may say nothing, s.
            first: the same for one that has not spoken yet, s.
        """
        late = self.late(stamp)
        if not late:
            self._since = None
            return []
        self._since = now if self._since is None else self._since
        lost = [
            name
            for name in late
            if now - max(self._since, self._heard.get(name, self._since))
            > (limit if name in self._heard else first)
        ]
        self.silent.update(lost)
        return lost
