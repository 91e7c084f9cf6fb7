# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Currents that swell and fall again once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from marine_sim_ros.core.arrays import Array, constant

__all__ = ['Gusts', 'as_many']


@dataclass(frozen=True, eq=False)
class Gusts:
    """Velocities that are there for a while, the same everywhere; g of them, which add up.

    u(t) = U/2 (1 − cos 2π(t − t₀)/T) from t₀ to t₀ + T, the discrete gust of airworthiness codes
    (14 CFR 25.341, with time for distance): u and its rate are 0 at both ends.

    Attributes:
        start: t₀ (g,), s.
        duration: T (g,), s.
        velocity: U (g, 3) in map, m/s.
    """

    start: np.ndarray
    duration: np.ndarray
    velocity: np.ndarray

    def at(self, xp: ModuleType, time: Array) -> Array:
        """Return the velocity (3,) at a time, s."""
        start, duration = constant(xp, self.start), constant(xp, self.duration)
        velocity = constant(xp, self.velocity)
        result = velocity[0] * 0.0
        for i in range(len(self.start)):
            share = (time - start[i]) / duration[i]
            within = (share >= 0.0) & (share <= 1.0)
            swell = 0.5 - 0.5 * xp.cos(2 * math.pi * share)
            result = result + xp.where(within, swell, 0.0 * swell) * velocity[i]
        return result


def as_many(gusts: Sequence[Gusts | None]) -> list[Gusts | None]:
    """Return as many gusts for all, by gusts of no speed; None where nobody has any."""
    most = max((len(g.start) for g in gusts if g is not None), default=0)
    return [_filled(g, most) for g in gusts] if most else list(gusts)


def _filled(gusts: Gusts | None, count: int) -> Gusts:
    have = Gusts(np.zeros(0), np.ones(0), np.zeros((0, 3))) if gusts is None else gusts
    more = count - len(have.start)
    if gusts is not None and not more:
        return gusts
    return Gusts(
        np.append(have.start, np.zeros(more)),
        np.append(have.duration, np.ones(more)),
        np.append(have.velocity, np.zeros((more, 3)), axis=0),
    )
