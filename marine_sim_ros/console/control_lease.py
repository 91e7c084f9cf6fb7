# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The operator's seat: one page steers, the others watch."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = [
    'LEASE_TIMEOUT', 'OPERATOR_TIMEOUT', 'ControlLease', 'beat', 'expired', 'leave', 'silent',
    'take',
]  # fmt: skip

OPERATOR_TIMEOUT = 0.7
"""s of wall time that the operator's page may be silent until the thrusters are neutral."""
LEASE_TIMEOUT = 10.0
"""s of wall time that the operator's page may be silent until it loses control."""


@dataclass(frozen=True)
class ControlLease:
    """Who steers.

    Attributes:
        page: of the operator; empty: nobody.
        name: of the operator, for the others.
        heard: when the page was heard last, s of wall time.
    """

    page: str = ''
    name: str = ''
    heard: float = 0.0


def take(
    seat: ControlLease, page: str, name: str, now: float, *, over: bool = False
) -> ControlLease:
    """Return the seat after a page asked for it; ``over`` takes it from another one."""
    if seat.page in ('', page) or over:
        return ControlLease(page, name, now)
    return seat


def leave(seat: ControlLease, page: str) -> ControlLease:
    """Return the seat after a page gave it up, which only its operator can."""
    return ControlLease() if page == seat.page else seat


def beat(seat: ControlLease, page: str, now: float) -> ControlLease:
    """Return the seat after a sign of life of a page."""
    return replace(seat, heard=now) if page and page == seat.page else seat


def silent(seat: ControlLease, now: float, timeout: float = OPERATOR_TIMEOUT) -> bool:
    """Return whether the operator's page has been silent for more than a timeout (s)."""
    return bool(seat.page) and now - seat.heard > timeout


def expired(
    seat: ControlLease,
    now: float,
    timeout: float = LEASE_TIMEOUT,
    operator_timeout: float = OPERATOR_TIMEOUT,
) -> bool:
    """Return whether the operator's page has lost control: never before it counts as silent."""
    return silent(seat, now, max(timeout, operator_timeout))
