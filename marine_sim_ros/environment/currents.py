# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ocean currents that change with depth or with time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.random import uniform

__all__ = ['CurrentProfile', 'GaussMarkov']


@dataclass(frozen=True, eq=False)
class CurrentProfile:
    """A current over depth, linear between its points and constant beyond them.

    Attributes:
        depth: (n,) ascending, m below the mean surface.
        current: (n, 3) in map, m/s.
    """

    depth: np.ndarray
    current: np.ndarray

    def __post_init__(self) -> None:
        """Raise ParameterError for points that are no profile."""
        depth, current = np.asarray(self.depth, float), np.asarray(self.current, float)
        rising = depth.ndim == 1 and depth.size > 0 and bool(np.all(np.diff(depth) > 0))
        if not rising or not np.all(np.isfinite(depth)):
            raise ParameterError(
                f'profile depth is {depth.tolist()}; expected ascending numbers, m'
            )
        if current.shape != (len(depth), 3) or not np.all(np.isfinite(current)):
            raise ParameterError(
                f'profile current has shape {current.shape}; expected three finite numbers, m/s, '
                f'for each of {len(depth)} depths'
            )
        object.__setattr__(self, 'depth', depth)
        object.__setattr__(self, 'current', current)

    def velocity(self, points: Array) -> Array:
        """Return the velocity (..., 3) at points (..., 3)."""
        xp = namespace(points)
        below = -points[..., 2:3]
        result = xp.zeros_like(points) + constant(xp, self.current[0])
        for i in range(len(self.depth) - 1):
            span = float(self.depth[i + 1] - self.depth[i])
            share = (below - float(self.depth[i])) / span
            share = xp.minimum(xp.maximum(share, xp.zeros_like(share)), xp.ones_like(share))
            result = result + share * constant(xp, self.current[i + 1] - self.current[i])
        return result


@dataclass(frozen=True, eq=False)
class GaussMarkov:
    """A velocity that wanders about zero: first-order Gauss-Markov, each axis by itself.

    Its autocorrelation is σ² e^{−|τ|/T} (Fossen 2011, section 8.3, as a stationary process). It is
    a sum of harmonics of equal energy from the spectrum of that process, so that it has a value
    for every time without a history, the same in every node and after a restart.

    Attributes:
        deviation: (3,) σ along the axes of ``turn``, m/s.
        time_constant: T, s.
        seed: random seed of frequencies and phases.
        components: harmonics per axis.
        turn: (3, 3) from those axes to map; None: they are map's.
    """

    deviation: np.ndarray
    time_constant: float
    seed: int = 0
    components: int = 64
    turn: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no such process."""
        deviation = np.asarray(self.deviation, float)
        if deviation.shape != (3,) or not np.all(deviation >= 0) or np.any(np.isinf(deviation)):
            raise ParameterError(
                f'deviation is {deviation.tolist()}; expected three numbers from 0, m/s'
            )
        if not 0.0 < self.time_constant < math.inf:
            raise ParameterError(f'time_constant is {self.time_constant}; expected more than 0 s')
        if self.components < 1:
            raise ParameterError(f'components is {self.components}; expected at least 1')
        object.__setattr__(self, 'deviation', deviation)

    @cached_property
    def _harmonics(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies and phases, (3, n) each."""
        n = self.components
        draws = uniform(self.seed, 'current', 6 * n).reshape(2, 3, n)
        # Below ω lies the share (2/π) atan(ωT) of the energy.
        shares = (np.arange(n) + draws[0]) / n
        return np.tan(math.pi / 2 * shares) / self.time_constant, 2 * math.pi * draws[1]

    def velocity(self, xp: ModuleType, time: float) -> Array:
        """Return the velocity (3,) at a time in s."""
        frequency, phase = (constant(xp, a) for a in self._harmonics)
        swing = xp.sum(xp.cos(frequency * time + phase), axis=-1)
        velocity = swing * constant(xp, self.deviation * math.sqrt(2 / self.components))
        return velocity if self.turn is None else matvec(constant(xp, self.turn), velocity)
