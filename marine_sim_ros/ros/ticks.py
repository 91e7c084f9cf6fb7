# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Synchronisation of the inputs of a tick, and pacing by the wall clock; without ROS."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

__all__ = [
    'FOLLOWER_TIMEOUT',
    'Followers',
    'Pacer',
    'PairSynchronizer',
    'TickProgress',
    'TickSynchronizer',
    'WrenchBarrier',
]


# Pacing of simulation time by the wall clock; without ROS.

MAX_DEBT = 0.5
"""s of wall time; a run that is further behind goes on from where it is instead of racing."""


class Pacer:
    """Tells when a stamp is due. Times are in seconds."""

    def __init__(self, real_time_factor: float) -> None:
        """Pace at a factor of real time; 0 never waits."""
        self.factor = real_time_factor
        self._wall0: float | None = None
        self._sim0 = 0.0

    def restart(self) -> None:
        """Forget the past: the next stamp is due at once."""
        self._wall0 = None

    def is_due(self, sim: float, wall: float) -> bool:
        """Return whether a simulation time may be shown at a wall time."""
        if self.factor <= 0:
            return True
        if self._wall0 is None:
            self._wall0, self._sim0 = wall, sim
        deadline = self._wall0 + (sim - self._sim0) / self.factor
        if wall - deadline > MAX_DEBT:
            self._wall0, self._sim0 = wall, sim
        return wall >= deadline


# Completeness of a subscriber: the stamp up to which it has every tick.

TOPIC_TIMEOUT = 1.0
"""s of wall time; a topic that lags and has been silent for longer has lost its node."""


class TickProgress:
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
    def is_reached(self) -> bool:
        """Whether every topic has come up to the stamp aimed at, those that lost a node too."""
        return not (self._short or self.missing)

    def complete(self, now: float) -> int | None:
        """Return the stamp (ns) up to which everything has come; None before the first tick is.

        A topic that has lost its node does not count.
        """
        if self.missing or not self._newest:
            return None
        newest = max(stamp for stamp, _ in self._newest.values())
        alive = now - TOPIC_TIMEOUT
        return min(s for s, seen in self._newest.values() if s == newest or seen > alive)


# Progress of the nodes that a state owner waits for; without ROS.

FOLLOWER_TIMEOUT = 10.0
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

    def late_sources(self, stamp: int) -> list[str]:
        """Return the sources that have not answered at a stamp (ns)."""
        return [n for n, seen in self._newest.items() if seen < stamp and n not in self.silent]

    def give_up(self, stamp: int, now: float, limit: float, first: float) -> list[str]:
        """Drop the sources that have not answered, and return their names.

        Args:
            stamp: complete tick that is waited for, ns.
            now: wall time, s.
            limit: wall time that one may say nothing, s.
            first: the same for one that has not spoken yet, s.
        """
        late = self.late_sources(stamp)
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


# Synchroniser of two per-tick inputs with the same stamp; without ROS.

F = TypeVar('F')
S = TypeVar('S')


class PairSynchronizer(Generic[F, S]):
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


# Synchroniser of several per-tick inputs with the same stamp; without ROS.

MAX_WAITING_TICKS = 8
"""Ticks that wait for an input; the senders of a lockstep run are never so far apart."""

MAX_KEPT_VALUES = 8 * MAX_WAITING_TICKS
"""Values of an input that wait for the main one."""


class TickSynchronizer:
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

    def add_other(self, name: str, stamp: int, value: Any) -> None:
        """Take another input."""
        known = self._others[name]
        known[stamp] = self._last[name] = value
        if len(known) > MAX_KEPT_VALUES:
            del known[next(iter(known))]
        self._give()

    @property
    def next_stamp(self) -> int:
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
            if missing & self._patient or (missing and len(self._main) <= MAX_WAITING_TICKS):
                return
            value = self._main.pop(stamp)
            for name in here:
                del self._others[name][stamp]
            self._answer(stamp, value, {**self._last, **here})


# Barrier that waits for every source of a tick; without ROS.


class WrenchBarrier:
    """Collects one wrench per source and tick, and keeps account of who is out.

    A source that missed a tick is out: its last wrench holds and nobody waits for it, until it
    answers again.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        """Expect these sources, summed in this order."""
        self.sources = tuple(sources)
        self.last = {s: np.zeros(6) for s in sources}
        self.answered: set[str] = set()
        self.out: set[str] = set()
        self.ever: set[str] = set()
        self.stamp = -1

    def begin(self, stamp: int) -> None:
        """Start to wait for the answers to a stamp (ns)."""
        self.stamp = stamp
        self.answered = set()

    @property
    def complete(self) -> bool:
        """Whether everyone who is not out has answered."""
        return all(s in self.answered or s in self.out for s in self.sources)

    @property
    def missing(self) -> list[str]:
        """The sources that are waited for."""
        return [s for s in self.sources if s not in self.answered and s not in self.out]

    def offer(self, source: str, stamp: int, wrench: np.ndarray) -> bool:
        """Take an answer; return whether the source came back with it.

        Answers to other stamps do not count, but show that a source lives.
        """
        self.ever.add(source)
        back = source in self.out
        self.out.discard(source)
        if stamp == self.stamp:
            self.answered.add(source)
            self.last[source] = wrench
        elif back and stamp < self.stamp:
            # It answers an earlier tick; this one it has not seen to the end yet.
            self.last[source] = wrench
        return back

    def give_up(self) -> list[str]:
        """Put the missing sources out and return them."""
        missing = self.missing
        self.out.update(missing)
        return missing

    def total(self, start: np.ndarray) -> np.ndarray:
        """Return the sum of a first wrench and all sources', always in the same order."""
        result = start
        for source in self.sources:
            result = result + self.last[source]
        return result
