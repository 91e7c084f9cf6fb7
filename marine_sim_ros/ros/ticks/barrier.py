# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Waits until every source has answered for a tick; knows nothing of ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ['WrenchBarrier']


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
