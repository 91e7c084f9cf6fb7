# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a bag has every topic: `ros2 bag record` looks for topics, and not at once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

__all__ = ['Readiness']

_OVERDUE = 5.0
"""s without a message after which topics that the bag lacks are reported."""


class Readiness:
    """Readiness of a bag for the first tick.

    Attributes:
        reached: whether the bag has listened to every topic for its settling time.
    """

    def __init__(self, bag: Any, names: Iterable[str]) -> None:
        """Watch a bag for topics by full name."""
        self._bag, self._names = bag, tuple(names)
        self._complete_at = time.monotonic()
        self.reached = False

    def check(self, last_message: float) -> list[str]:
        """Update ``reached``; return the topics that are overdue.

        Args:
            last_message: monotonic time of the newest message, s.
        """
        if self.reached:
            return []
        missing, now = self._bag.deaf(self._names), time.monotonic()
        self._complete_at = now if missing else self._complete_at
        self.reached = now - self._complete_at >= self._bag.settling
        return missing if now - last_message > _OVERDUE else []
