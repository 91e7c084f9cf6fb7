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
"""s of wall time; a run that is further behind continues at its pace instead of catching up."""


class Pacer:
    """Pacing of simulation time by wall time. Times are in seconds."""

    def __init__(self, real_time_factor: float) -> None:
        """Pace at a factor of real time; 0 never waits."""
        self.factor = real_time_factor
        self._wall0: float | None = None
        self._sim0 = 0.0

    def restart(self) -> None:
        """Start anew: the next stamp is due at once."""
        self._wall0 = None

    def is_due(self, sim: float, wall: float) -> bool:
        """Return whether a simulation time is due at a wall time."""
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
"""s of wall time; a late topic without a message for longer has lost its node."""


class TickProgress:
    """Newest stamp of each topic, and the stamp up to which all are complete.

    Attributes:
        missing: topics without any message; the first tick is complete when there are none.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Start without messages."""
        self.missing = set(names)
        self._newest: dict[str, tuple[int, float]] = {}
        self._goal = 0
        self._short: set[str] = set()

    def take(self, name: str, stamp: int | None, now: float) -> None:
        """Record a message.

        Args:
            stamp: ns; None where the message has none.
            now: wall time, s.
        """
        self.missing.discard(name)
        if stamp is not None:
            self._newest[name] = stamp, now
            if stamp >= self._goal:
                self._short.discard(name)

    def aim(self, stamp: int) -> None:
        """Set the stamp (ns) that :attr:`is_reached` is about."""
        self._goal = stamp
        self._short = {name for name, (newest, _) in self._newest.items() if newest < stamp}

    @property
    def is_reached(self) -> bool:
        """Whether every topic has reached the stamp of :meth:`aim`, silent ones included."""
        return not (self._short or self.missing)

    def complete(self, now: float) -> int | None:
        """Return the stamp (ns) up to which all topics are complete; None before the first tick.

        A topic that has lost its node does not count.
        """
        if self.missing or not self._newest:
            return None
        newest = max(stamp for stamp, _ in self._newest.values())
        alive_since = now - TOPIC_TIMEOUT
        return min(s for s, at in self._newest.values() if s == newest or at > alive_since)


# Progress of the nodes that a state node waits for; without ROS.

FOLLOWER_TIMEOUT = 10.0
"""s of wall time to wait for another vehicle, whose own forces have one second of it."""


class Followers:
    """Newest complete tick of each follower, and the followers that timed out.

    A follower is another vehicle of the same clock, or a node of sensors. One that times out is
    silent: the run does not wait for it until its next message.

    Attributes:
        silent: followers that the run does not wait for.
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
        """Record a complete tick (ns) at a wall time (s); return whether it was silent."""
        self._newest[name], self._heard[name] = stamp, now
        back = name in self.silent
        self.silent.discard(name)
        return back

    def late_sources(self, stamp: int) -> list[str]:
        """Return the sources that have not answered at a stamp (ns)."""
        return [n for n, newest in self._newest.items() if newest < stamp and n not in self.silent]

    def give_up(self, stamp: int, now: float, limit: float, first: float) -> list[str]:
        """Drop the sources that have not answered, and return their names.

        Args:
            stamp: complete tick that is waited for, ns.
            now: wall time, s.
            limit: time-out since the last message, s of wall time.
            first: time-out of the first message, s of wall time.
        """
        late = self.late_sources(stamp)
        if not late:
            self._since = None
            return []
        self._since = now if self._since is None else self._since
        timed_out = [
            name
            for name in late
            if now - max(self._since, self._heard.get(name, self._since))
            > (limit if name in self._heard else first)
        ]
        self.silent.update(timed_out)
        return timed_out


# Synchroniser of two per-tick inputs with the same stamp; without ROS.

F = TypeVar('F')
S = TypeVar('S')


class PairSynchronizer(Generic[F, S]):
    """Calls back for each first input once the second of the same stamp has arrived.

    If the second's sender stops, the tick that it missed is answered with its last value when the
    next tick arrives; from then on there is no waiting for it until a message of the newest tick:
    a sender that has started again and works off old ticks would be waited for at each.
    """

    def __init__(self, answer: Callable[[int, F, S], None], initial: S) -> None:
        """Call ``answer`` with the stamp, the first and the second input."""
        self._answer = answer
        self.last = initial
        self._last_stamp = self._newest = -1
        self._waiting: tuple[int, F] | None = None
        self.out = False

    def first(self, stamp: int, value: F) -> None:
        """Take a first input; if time went back, drop the waiting one."""
        if self._waiting is not None and stamp > self._waiting[0]:
            self.out = True
            self._answer_ready()
        self._waiting, self._newest = (stamp, value), stamp
        if self.out or self._last_stamp == stamp:
            self._answer_ready()

    def second(self, stamp: int, value: S) -> None:
        """Take a second input."""
        self.last, self._last_stamp = value, stamp
        self.out = self.out and stamp < self._newest
        if self._waiting is not None and self._waiting[0] == stamp:
            self._answer_ready()

    def _answer_ready(self) -> None:
        assert self._waiting is not None
        (stamp, value), self._waiting = self._waiting, None
        self._answer(stamp, value, self.last)


# Synchroniser of several per-tick inputs with the same stamp; without ROS.

MAX_WAITING_TICKS = 8
"""Bound of ticks that wait for an input; in lockstep, senders are never so far apart."""

MAX_KEPT_VALUES = 8 * MAX_WAITING_TICKS
"""Values of an input that wait for the main one."""


class TickSynchronizer:
    """Calls back for each stamp of the main input once the others of that stamp have arrived.

    If a sender stops, a stamp that waits for longer than ``MAX_WAITING_TICKS`` is answered with
    its last value. Required inputs have no such bound: they are waited for until they are in
    ``absent``.
    """

    def __init__(
        self,
        answer: Callable[[int, Any, Mapping[str, Any]], None],
        last: Mapping[str, Any],
        required: Collection[str] = (),
    ) -> None:
        """Call ``answer`` with the stamp, the main input and the others, by name.

        Args:
            answer: called with each complete tick.
            last: initial values of the other inputs, by name.
            required: inputs that are waited for, however many ticks wait.
        """
        self._required = frozenset(required)
        self.absent: set[str] = set()
        self._answer, self._last = answer, dict(last)
        self._main: dict[int, Any] = {}
        self._newest = -1
        self._inputs: dict[str, dict[int, Any]] = {name: {} for name in last}

    def main(self, stamp: int, value: Any) -> None:
        """Take a main input; if time went back, drop the waiting ones."""
        if stamp <= self._newest:
            self._main.clear()
            for values in self._inputs.values():
                for late in [other for other in values if other > stamp]:
                    del values[late]
        self._newest = stamp
        self._main[stamp] = value
        self._answer_ready()

    def add_other(self, name: str, stamp: int, value: Any) -> None:
        """Take another input."""
        values = self._inputs[name]
        values[stamp] = self._last[name] = value
        if len(values) > MAX_KEPT_VALUES:
            del values[next(iter(values))]
        self._answer_ready()

    @property
    def next_stamp(self) -> int:
        """Oldest waiting stamp, ns; −1: none."""
        return next(iter(self._main), -1)

    def leave(self, names: Collection[str]) -> None:
        """Do not wait for some inputs until they are removed from ``absent``."""
        self.absent.update(names)
        self._answer_ready()

    def _answer_ready(self) -> None:
        while self._main:
            stamp = next(iter(self._main))
            arrived = {
                name: values[stamp] for name, values in self._inputs.items() if stamp in values
            }
            missing = self._inputs.keys() - arrived.keys() - self.absent
            if missing & self._required or (missing and len(self._main) <= MAX_WAITING_TICKS):
                return
            value = self._main.pop(stamp)
            for name in arrived:
                del self._inputs[name][stamp]
            self._answer(stamp, value, {**self._last, **arrived})


# Barrier that waits for every source of a tick; without ROS.


class WrenchBarrier:
    """Collects one wrench per source and tick.

    A source that missed a tick is out: its last wrench holds, and no tick waits for it until it
    answers again.

    Attributes:
        last: latest wrench (6,) of each source.
        out: sources that have missed a tick.
        ever: sources that have answered at least once.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        """Expect these sources, summed in this order."""
        self.sources = tuple(sources)
        self.last = {s: np.zeros(6) for s in sources}
        self._awaited = set(sources)
        self.out: set[str] = set()
        self.ever: set[str] = set()
        self.stamp = -1

    def begin(self, stamp: int) -> None:
        """Begin to wait for the answers to a stamp (ns)."""
        self.stamp = stamp
        self._awaited = {s for s in self.sources if s not in self.out}

    @property
    def complete(self) -> bool:
        """Whether every source that is not out has answered."""
        return not self._awaited

    @property
    def missing(self) -> list[str]:
        """The sources that are waited for."""
        return [s for s in self.sources if s in self._awaited]

    def offer(self, source: str, stamp: int, wrench: np.ndarray) -> bool:
        """Take an answer; return whether the source was out before.

        Answers to other stamps do not count, but show that a source is running.
        """
        self.ever.add(source)
        back = source in self.out
        if back:
            self.out.discard(source)
            self._awaited.add(source)
        if stamp == self.stamp:
            self._awaited.discard(source)
            self.last[source] = wrench
        elif back and stamp < self.stamp:
            # Still an answer to an earlier tick: newer than the wrench that holds.
            self.last[source] = wrench
        return back

    def give_up(self) -> list[str]:
        """Put the missing sources out and return them."""
        missing = self.missing
        self.out.update(missing)
        self._awaited.clear()
        return missing

    def total(self, start: np.ndarray) -> np.ndarray:
        """Return the sum (6,) of a first wrench and those of all sources, in a fixed order."""
        result = start
        for source in self.sources:
            result = result + self.last[source]
        return result
