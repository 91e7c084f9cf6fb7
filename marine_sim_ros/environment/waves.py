# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Linear (Airy) waves: a sum of components, each a closed form of place and time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace

__all__ = ['Waves', 'dispersion', 'regular_waves']


def dispersion(frequency: np.ndarray, depth: float, gravity: float) -> np.ndarray:
    """Return wavenumbers k (...) in rad/m of ω² = g k tanh(k h), ω (...) in rad/s.

    Newton's method from the deep-water value; h may be infinite.
    """
    squared = np.asarray(frequency, float) ** 2 / gravity
    if math.isinf(depth):
        return squared
    # Between the deep and the shallow limit, k is at least each of them.
    k = np.maximum(squared, np.sqrt(squared / depth))
    for _ in range(50):
        t = np.tanh(k * depth)
        change = (k * t - squared) / (t + k * depth * (1 - t * t))
        k = k - change
        if np.all(np.abs(change) <= 1e-15 * k):
            break
    return np.asarray(k)


@dataclass(frozen=True, eq=False)
class Waves:
    """Components η = Σ a cos(k·x − ω t + φ); n of them.

    Attributes:
        amplitude: (n,) a, m.
        frequency: (n,) ω, rad/s.
        direction: (n,) towards which a component travels, rad from east to north.
        phase: (n,) φ, rad.
        depth: depth h of the water, m; may be infinite.
        gravity: m/s².
    """

    amplitude: np.ndarray
    frequency: np.ndarray
    direction: np.ndarray
    phase: np.ndarray
    depth: float = math.inf
    gravity: float = 9.8

    @cached_property
    def wavenumber(self) -> np.ndarray:
        """(n,) k, rad/m."""
        return dispersion(self.frequency, self.depth, self.gravity)

    @cached_property
    def _unit(self) -> np.ndarray:
        return np.stack([np.cos(self.direction), np.sin(self.direction)])

    @cached_property
    def _vectors(self) -> np.ndarray:
        """(2, n) wave vectors."""
        return np.ascontiguousarray(self._unit * self.wavenumber)

    @property
    def significant_height(self) -> float:
        """4 √m₀ with m₀ = Σ a²/2, m."""
        return float(4 * np.sqrt(np.sum(self.amplitude**2) / 2))

    @cached_property
    def crest(self) -> Any:
        """Bound of the elevation, Σ a, m."""
        xp = namespace(self.amplitude)
        return xp.sum(xp.abs(self.amplitude))

    def _phases(self, points: Array, time: float) -> tuple[ModuleType, Array]:
        xp = namespace(points)
        turn = constant(xp, self.phase) - constant(xp, self.frequency) * time
        return xp, points[..., :2] @ constant(xp, self._vectors) + turn

    def elevation(self, points: Array, time: float) -> Array:
        """Return η (...) in m at points (..., 2 or 3) and a time in s."""
        xp, theta = self._phases(points, time)
        return xp.cos(theta) @ constant(xp, self.amplitude)

    def _decay(self, xp: ModuleType, points: Array) -> tuple[Array, Array]:
        """Return cosh k(z+h)/cosh kh and sinh k(z+h)/cosh kh (..., n); e^{kz} in deep water.

        Above the mean surface, where the theory says nothing, the values at it go on.
        """
        k = constant(xp, self.wavenumber)
        z = points[..., 2:3]
        z = xp.minimum(z, xp.zeros_like(z))
        down = xp.exp(k * z)
        if math.isinf(self.depth):
            return down, down
        z = xp.maximum(z, -self.depth * xp.ones_like(z))
        # Written with e^{−…} alone, so that nothing overflows.
        up = xp.exp(-k * (z + 2 * self.depth))
        down = xp.exp(k * z)
        below = 1 + xp.exp(-2 * self.depth * k)
        return (down + up) / below, (down - up) / below

    def _motion(self, xp: ModuleType, along: Array, upward: Array, factor: np.ndarray) -> Array:
        """Return Σ of components along their direction and upward, with factors (n,)."""
        amount = constant(xp, self.amplitude * factor)
        horizontal = (along * amount) @ constant(xp, np.ascontiguousarray(self._unit.T))
        vertical = upward @ amount
        return xp.concat([horizontal, vertical[..., None]], axis=-1)

    def velocity(self, points: Array, time: float) -> Array:
        """Return the orbital velocity (..., 3) in m/s at points (..., 3) and a time in s.

        u = a g k/ω cosh k(z+h)/cosh kh cos θ along the wave, w = a g k/ω sinh …/cosh kh sin θ.
        """
        xp, theta = self._phases(points, time)
        cosh, sinh = self._decay(xp, points)
        factor = self.gravity * self.wavenumber / self.frequency
        return self._motion(xp, cosh * xp.cos(theta), sinh * xp.sin(theta), factor)

    def acceleration(self, points: Array, time: float) -> Array:
        """Return ∂u/∂t (..., 3) in m/s² at points (..., 3) and a time in s."""
        xp, theta = self._phases(points, time)
        cosh, sinh = self._decay(xp, points)
        factor = self.gravity * self.wavenumber
        return self._motion(xp, cosh * xp.sin(theta), -sinh * xp.cos(theta), factor)

    def dynamic_head(self, points: Array, time: float) -> Array:
        """Return p_dynamic/(ρ g) = Σ a cosh k(z+h)/cosh kh cos θ (...), m."""
        xp, theta = self._phases(points, time)
        cosh, _ = self._decay(xp, points)
        return (cosh * xp.cos(theta)) @ constant(xp, self.amplitude)


def regular_waves(
    height: float,
    period: float,
    *,
    direction: float = 0.0,
    phase: float = 0.0,
    depth: float = math.inf,
    gravity: float = 9.8,
) -> Waves:
    """Return one component: height 2a in m, period in s, angles in rad."""
    return Waves(
        np.array([height / 2]),
        np.array([2 * math.pi / period]),
        np.array([direction]),
        np.array([phase]),
        depth,
        gravity,
    )
