# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Servos that turn fins and thrusters: what they have in common, and its reader."""

from __future__ import annotations

import math
from typing import Any, Protocol

from marine_sim_ros.model.xml import Reader

__all__ = ['FASTEST', 'Servos', 'read_limits', 'read_time_constant']

FASTEST = 1e3
"""rad/s; of servos that tell no rate."""


class Servos(Protocol):
    """Servos: (m,) limits ``lower`` and ``upper`` in rad, ``max_rate`` rad/s, lag in s."""

    @property
    def names(self) -> tuple[str, ...]:
        """What they turn."""

    @property
    def lower(self) -> Any:
        """(m,) rad."""

    @property
    def upper(self) -> Any:
        """(m,) rad."""

    @property
    def max_rate(self) -> Any:
        """(m,) rad/s."""

    @property
    def time_constant(self) -> Any:
        """(m,) s."""


def read_limits(reader: Reader) -> dict[str, float]:
    """Return ``lower`` and ``upper`` in rad and ``max_rate`` in rad/s of a child <limit>."""
    limit = reader.child('limit')
    if limit is None:
        raise reader.error('has no <limit>; expected <limit lower= upper= velocity=> in rad')
    lower = limit.attribute_number('lower', 0.0, -math.pi, 0.0)
    upper = limit.attribute_number('upper', 0.0, 0.0, math.pi)
    rate = limit.attribute_number('velocity', FASTEST, 1e-6, FASTEST)
    return {'lower': lower, 'upper': upper, 'max_rate': rate}


def read_time_constant(reader: Reader) -> float:
    """Return the servo's lag of a child <time_constant>, s; 0 without."""
    return reader.value_of('time_constant', lambda r: r.number(0.0, 60.0), 0.0)
