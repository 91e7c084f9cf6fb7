# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of a recording whose clock started again, as a reset or a loop makes it."""

from __future__ import annotations

__all__ = ['Parts']

BACK = 500_000_000
"""ns by which a stamp of the odometry goes back where a new part begins; less is disorder."""


class Parts:
    """Tells to which part of a vehicle's recording each message belongs; they come in order.

    Attributes:
        part: number of the present part, from 0.
        count: number of parts so far; 1 where all stamps go back, as in a bag that is reversed.
    """

    def __init__(self) -> None:
        """Begin with the first part."""
        self.part = 0
        self._newest: int | None = None
        self._forward = self._backward = 0

    @property
    def count(self) -> int:
        """How many parts there were, if the run goes forward at all."""
        return self.part + 1 if self._forward > self._backward else 1

    def tick(self, stamp: int) -> int:
        """Return the part of an odometry with a stamp in ns, which may begin a new one."""
        if self._newest is not None:
            if stamp < self._newest - BACK:
                self.part += 1
            if stamp < self._newest:
                self._backward += 1
            else:
                self._forward += 1
        self._newest = stamp
        return self.part

    def part_of(self, stamp: int | None) -> int:
        """Return the part of another message with a stamp in ns; None: it has none.

        What is far ahead of the odometry just after a new part began is late, of the part before.
        """
        late = (
            stamp is not None
            and self.part > 0
            and self._newest is not None
            and stamp > self._newest + BACK
        )
        return self.part - late
