# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Account of the states that come from Gazebo; knows nothing of ROS."""

from __future__ import annotations

from enum import Enum

__all__ = ['Arrival', 'TickAccount']


class Arrival(Enum):
    """What a state is to the one before."""

    NEXT = 'next'
    AGAIN = 'again'
    BACK = 'back'
    LATE = 'late'


class TickAccount:
    """Says of each stamp whether it is the next, a repetition, a jump, or a world that was reset.

    Attributes:
        stamp: stamp of the newest state, ns; -1 before the first.
        lost: ticks that never came.
        resets: times that the world went back.
    """

    def __init__(self, step: int) -> None:
        """Expect one state every ``step`` ns."""
        self.step = step
        self.stamp = -1
        self.lost = 0
        self.resets = 0

    def take(self, stamp: int) -> Arrival:
        """Take a stamp in ns; the first may be any."""
        before, self.stamp = self.stamp, stamp
        if before < 0 or stamp == before + self.step:
            return Arrival.NEXT
        if stamp == before:
            return Arrival.AGAIN
        if stamp < before:
            self.resets += 1
            return Arrival.BACK
        self.lost += (stamp - before) // self.step - 1
        return Arrival.LATE
