# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Brings states and thrusts of one stamp together; knows nothing of ROS."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from marine_sim_ros.state import State

__all__ = ['PATIENCE', 'Pair', 'Pairing']

PATIENCE = 64
"""States that may wait for their thrusts. The state owner waits for every answer, so more than one
waits only where it has given up on somebody; more than the topics keep for a node that is late
(their depth) only where the thrusters are gone."""

Pair = tuple[int, State, np.ndarray]


class Pairing:
    """Takes states and thrusts in any order and gives every state back once, with its thrusts.

    When the thrusters fall silent, the owner goes on without them and without whoever waits for
    them. Then the last thrusts hold, and every state is answered at once, until new ones come:
    the owner takes such answers in again and never waits a second time.
    """

    def __init__(self, count: int) -> None:
        """Expect this many thrusters; before their first message their thrust is zero."""
        self.last = np.zeros(count)
        self.holding = False
        self._states: OrderedDict[int, State] = OrderedDict()
        self._thrusts: dict[int, np.ndarray] = {}
        self._newest = -1

    def state(self, stamp: int, state: State) -> list[Pair]:
        """Take the state of a stamp (ns); return what can be answered."""
        if any(other > stamp for other in self._states):  # the run was reset
            self._states.clear()
        if stamp in self._thrusts:
            return self._through(stamp, state)
        self._states[stamp] = state
        if len(self._states) > PATIENCE:
            self.holding = True
        return self._answer_all() if self.holding else []

    def thrust(self, stamp: int, thrust: np.ndarray) -> list[Pair]:
        """Take the thrusts (n,) of a stamp (ns); return what can be answered."""
        if stamp < self._newest:  # the run was reset, or these are late
            self._thrusts.clear()
        self._newest, self.holding = stamp, False
        self._thrusts[stamp] = thrust
        while len(self._thrusts) > PATIENCE:
            del self._thrusts[next(iter(self._thrusts))]
        if stamp not in self._states:
            if not self._states or stamp < min(self._states):
                self.last = thrust
            return []
        return self._through(stamp, self._states.pop(stamp))

    def _through(self, stamp: int, state: State) -> list[Pair]:
        """Answer a state that has its thrusts, and before it those that never got any."""
        earlier = [(s, self._states.pop(s), self.last) for s in list(self._states) if s < stamp]
        self.last = self._thrusts.pop(stamp)
        return [*earlier, (stamp, state, self.last)]

    def _answer_all(self) -> list[Pair]:
        pairs = [(stamp, state, self.last) for stamp, state in self._states.items()]
        self._states.clear()
        return pairs
