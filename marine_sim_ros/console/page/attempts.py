# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limit of wrong tokens by address: each one more doubles the wait for the next."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ['Attempts']

FREE = 5
"""Wrong tokens without a wait."""
LONGEST = 30.0
"""s of the longest wait."""
FORGOTTEN = 600.0
"""s after the last wrong token until an address starts anew."""
ADDRESSES = 256
"""Addresses that are remembered; the oldest is dropped for a new one."""


class Attempts:
    """Wrong tokens of each address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without any; the clock counts seconds."""
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Return how long an address waits until its next token is looked at, s."""
        count, last = self._wrong.get(address, (0, 0.0))
        if count < FREE:
            return 0.0
        pause = min(LONGEST, 2.0 ** (count - FREE))
        return max(0.0, last + pause - self._clock())

    def fail(self, address: str) -> None:
        """Note a wrong token."""
        now = self._clock()
        count, last = self._wrong.pop(address, (0, now))
        self._wrong[address] = (1 if now - last > FORGOTTEN else count + 1, now)
        while len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)
