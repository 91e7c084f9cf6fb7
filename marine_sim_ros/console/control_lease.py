# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lease of the controls: one page steers while the others watch; its silence stops the vehicle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

__all__ = [
    'ControlLease',
    'LEASE_TIMEOUT',
    'OPERATOR_TIMEOUT',
    'OperatorEvent',
    'OperatorWatchdog',
    'leave_lease',
    'renew_lease',
    'take_lease',
]

OPERATOR_TIMEOUT = 0.7
"""s of wall time that the operator's page may be silent until the thrusters are neutral."""
LEASE_TIMEOUT = 10.0
"""s of wall time that the operator's page may be silent until it loses control."""
MAX_LATE_PERIODS = 3.0
"""Periods between two calls of a watchdog that count at most as silence of a page."""


@dataclass(frozen=True)
class ControlLease:
    """The page that steers.

    Attributes:
        page: page of the operator; empty: none.
        name: name of the operator, as other pages show it.
        heard: time of the page's last message, s.
    """

    page: str = ''
    name: str = ''
    heard: float = 0.0

    def is_silent(self, now: float, timeout: float) -> bool:
        """Return whether the operator's page has been silent for more than a timeout (s)."""
        return bool(self.page) and now - self.heard > timeout


def take_lease(
    lease: ControlLease, page: str, name: str, now: float, *, over: bool = False
) -> ControlLease:
    """Return the lease after a page requested it; ``over`` takes it from another one."""
    if lease.page in ('', page) or over:
        return ControlLease(page, name, now)
    return lease


def leave_lease(lease: ControlLease, page: str) -> ControlLease:
    """Return the lease after a page gave it up, which only its holder can."""
    return ControlLease() if page == lease.page else lease


def renew_lease(lease: ControlLease, page: str, now: float) -> ControlLease:
    """Return the lease after a message of a page."""
    return replace(lease, heard=now) if page and page == lease.page else lease


class OperatorEvent(Enum):
    """Changes of what is heard of the operator's page."""

    SILENT = 'it is silent: the thrusters stop until it is heard'
    HEARD = 'it is heard again after a silence'
    SLOW = 'it lives but does not say what its sticks are: they count as let go'
    EXPIRED = 'it stays silent: it loses control'


class OperatorWatchdog:
    """Judge of the silence of the page that steers.

    Its clock goes on by at most a few periods from one call to the next: a process that does not
    get its turn cannot say that it is the page that is silent.

    Attributes:
        now: time of that clock, s; leases are taken and renewed by it.
    """

    def __init__(self, period: float, timeout: float, lease_timeout: float) -> None:
        """Start the clock.

        Args:
            period: period of calls of ``advance``, s.
            timeout: silence until the vehicle is stopped, s.
            lease_timeout: silence until control is lost, s; at least ``timeout`` counts.
        """
        self.now = 0.0
        self._longest = MAX_LATE_PERIODS * period
        self._timeout, self._lease_timeout = timeout, max(timeout, lease_timeout)
        self._called = self._sticks_at = 0.0
        self._silent = self._slow = False

    def advance(self, wall: float) -> None:
        """Let the clock go on to a time of the wall clock, s."""
        self.now += min(wall - self._called, self._longest)
        self._called = wall

    def note_sticks(self) -> None:
        """Note that the page said what its sticks are."""
        self._sticks_at = self.now

    def restart(self) -> None:
        """Forget the silence of a page that no longer steers."""
        self._silent = False

    def check(self, lease: ControlLease) -> OperatorEvent | None:
        """Return the changes of the page that steers since the last call."""
        if lease.is_silent(self.now, self._lease_timeout):
            return OperatorEvent.EXPIRED
        was_silent, was_slow = self._silent, self._slow
        self._silent = lease.is_silent(self.now, self._timeout)
        if self._silent != was_silent:
            return OperatorEvent.SILENT if self._silent else OperatorEvent.HEARD
        late = self.now - self._sticks_at > self._timeout
        self._slow = bool(lease.page) and late and not self._silent
        return OperatorEvent.SLOW if self._slow and not was_slow else None
