# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The operator's seat: one page steers, the others watch."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ['PATIENCE', 'Seat', 'beat', 'expired', 'leave', 'take']

PATIENCE = 0.7
"""s of wall time that the operator's page may be silent."""


@dataclass(frozen=True)
class Seat:
    """Who steers.

    Attributes:
        page: of the operator; empty: nobody.
        name: of the operator, for the others.
        heard: when the page was heard last, s of wall time.
    """

    page: str = ''
    name: str = ''
    heard: float = 0.0


def take(seat: Seat, page: str, name: str, now: float, *, over: bool = False) -> Seat:
    """Return the seat after a page asked for it; ``over`` takes it from another one."""
    if seat.page in ('', page) or over:
        return Seat(page, name, now)
    return seat


def leave(seat: Seat, page: str) -> Seat:
    """Return the seat after a page gave it up, which only its operator can."""
    return Seat() if page == seat.page else seat


def beat(seat: Seat, page: str, now: float) -> Seat:
    """Return the seat after a sign of life of a page."""
    return replace(seat, heard=now) if page and page == seat.page else seat


def expired(seat: Seat, now: float, patience: float = PATIENCE) -> bool:
    """Return whether there is an operator who was not heard of for too long (s)."""
    return bool(seat.page) and now - seat.heard > patience
