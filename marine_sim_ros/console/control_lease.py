# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control lease: one page steers, the others watch."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = [
    'LEASE_TIMEOUT',
    'OPERATOR_TIMEOUT',
    'ControlLease',
    'beat',
    'expired',
    'leave',
    'silent',
    'take',
]

OPERATOR_TIMEOUT = 0.7
"""s of wall time that the operator's page may be silent until the thrusters are neutral."""
LEASE_TIMEOUT = 10.0
"""s of wall time that the operator's page may be silent until it loses control."""


@dataclass(frozen=True)
class ControlLease:
    """The page that steers.

    Attributes:
        page: page of the operator; empty: none.
        name: name of the operator, as other pages show it.
        heard: wall time of the page's last message, s.
    """

    page: str = ''
    name: str = ''
    heard: float = 0.0


def take(
    lease: ControlLease, page: str, name: str, now: float, *, over: bool = False
) -> ControlLease:
    """Return the lease after a page requested it; ``over`` takes it from another one."""
    if lease.page in ('', page) or over:
        return ControlLease(page, name, now)
    return lease


def leave(lease: ControlLease, page: str) -> ControlLease:
    """Return the lease after a page gave it up, which only its holder can."""
    return ControlLease() if page == lease.page else lease


def beat(lease: ControlLease, page: str, now: float) -> ControlLease:
    """Return the lease after a message of a page."""
    return replace(lease, heard=now) if page and page == lease.page else lease


def silent(lease: ControlLease, now: float, timeout: float = OPERATOR_TIMEOUT) -> bool:
    """Return whether the operator's page has been silent for more than a timeout (s)."""
    return bool(lease.page) and now - lease.heard > timeout


def expired(
    lease: ControlLease,
    now: float,
    timeout: float = LEASE_TIMEOUT,
    operator_timeout: float = OPERATOR_TIMEOUT,
) -> bool:
    """Return whether the operator's page has lost control: never before it counts as silent."""
    return silent(lease, now, max(timeout, operator_timeout))
