# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The operator's seat: one page steers, the others watch."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ['PATIENCE', 'ControlLease', 'beat', 'expired', 'leave', 'take']

PATIENCE = 0.7
"""s of wall time that the operator's page may be silent."""


@dataclass(frozen=True)
class ControlLease:
    """Who steers.

    Attributes:
        page: page of the operator; empty: none.
        name: name of the operator, as other pages show it.
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


def expired(seat: ControlLease, now: float, patience: float = PATIENCE) -> bool:
    """Return whether there is an operator who was not heard of for too long (s)."""
    return bool(seat.page) and now - seat.heard > patience
