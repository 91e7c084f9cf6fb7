# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of the water: currents, gusts, regular waves, irregular seas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.random import uniform
from marine_sim_ros.core.schema import REQUIRED, check_ranges, number

__all__ = [
    'CurrentProfile',
    'GaussMarkov',
    'Gusts',
    'Waves',
    'dispersion',
    'irregular_waves',
    'jonswap',
    'pad_gusts',
    'regular_waves',
    'spreading_angles',
]


# Ocean currents that vary with depth or time.


_BLOCK = 256
"""Points of a block of many bodies' points."""


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
            fraction = (below - float(self.depth[i])) / span
            fraction = xp.minimum(
                xp.maximum(fraction, xp.zeros_like(fraction)), xp.ones_like(fraction)
            )
            result = result + fraction * constant(xp, self.current[i + 1] - self.current[i])
        return result


@dataclass(frozen=True, eq=False)
class GaussMarkov:
    """Velocity as a first-order Gauss-Markov process, independent in each axis.

    Its autocorrelation is σ² e^{−|τ|/T} (Fossen 2011, section 8.3, as a stationary process). It is
    a sum of harmonics of equal energy from the spectrum of that process, so that it has a value
    for every time without a history, the same in every node and after a restart.

    Attributes:
        deviation: (3,) σ along the axes of ``turn``.
        turn: (3, 3) from those axes to map; None: they are map's.
    """

    deviation: Any = number(
        REQUIRED, 0.0, 20.0, 'm/s', 'standard deviation, east, north, up', size=3
    )
    time_constant: float = number(REQUIRED, 1e-3, 1e6, 's', 'time constant T')
    seed: int = number(0, 0, 2**53, '', 'random seed of frequencies and phases', whole=True)
    components: int = number(64, 1, 5000, '', 'harmonics per axis', whole=True)
    turn: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError for what is no such process."""
        deviation = np.asarray(self.deviation, float)
        if deviation.shape != (3,):
            raise ParameterError(f'deviation is {deviation.tolist()}; expected three numbers, m/s')
        check_ranges(self)
        object.__setattr__(self, 'deviation', deviation)

    @cached_property
    def _harmonics(self) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies and phases, (3, n) each."""
        n = self.components
        draws = uniform(self.seed, 'current', 6 * n).reshape(2, 3, n)
        # Below ω lies the share (2/π) atan(ωT) of the energy.
        quantiles = (np.arange(n) + draws[0]) / n
        return np.tan(math.pi / 2 * quantiles) / self.time_constant, 2 * math.pi * draws[1]

    def velocity(self, xp: ModuleType, time: float) -> Array:
        """Return the velocity (3,) at a time in s."""
        frequency, phase = (constant(xp, a) for a in self._harmonics)
        swing = xp.sum(xp.cos(frequency * time + phase), axis=-1)
        velocity = swing * constant(xp, self.deviation * math.sqrt(2 / self.components))
        return velocity if self.turn is None else matvec(constant(xp, self.turn), velocity)


# Gusts: currents that rise and fall once.


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
            progress = (time - start[i]) / duration[i]
            within = (progress >= 0.0) & (progress <= 1.0)
            swell = 0.5 - 0.5 * xp.cos(2 * math.pi * progress)
            result = result + xp.where(within, swell, 0.0 * swell) * velocity[i]
        return result


def pad_gusts(gusts: Sequence[Gusts | None]) -> list[Gusts | None]:
    """Return gusts padded to equal number by gusts of zero speed; None: no vehicle has gusts."""
    longest = max((len(g.start) for g in gusts if g is not None), default=0)
    return [_pad_gust(g, longest) for g in gusts] if longest else list(gusts)


def _pad_gust(gusts: Gusts | None, count: int) -> Gusts:
    have = Gusts(np.zeros(0), np.ones(0), np.zeros((0, 3))) if gusts is None else gusts
    padding = count - len(have.start)
    if gusts is not None and not padding:
        return gusts
    return Gusts(
        np.append(have.start, np.zeros(padding)),
        np.append(have.duration, np.ones(padding)),
        np.append(have.velocity, np.zeros((padding, 3)), axis=0),
    )


# Linear (Airy) waves: a sum of components, each a closed form of position and time.


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
        offset = constant(xp, self.phase) - constant(xp, self.frequency) * time
        return xp, points[..., :2] @ constant(xp, self._vectors) + offset

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

    def elevation_and_acceleration(self, points: Array, time: float) -> tuple[Array, Array]:
        """Return η (...), m, and ∂u/∂t (..., 3), m/s², at points (..., 3) and a time in s."""
        if isinstance(points, np.ndarray) and points.ndim > 2:  # points of many bodies
            blocks = points.reshape(-1, 3)
            parts = [
                self._block(blocks[i : i + _BLOCK], time) for i in range(0, len(blocks), _BLOCK)
            ]
            elevation, acceleration = map(np.concatenate, zip(*parts, strict=True))
            return elevation.reshape(points.shape[:-1]), acceleration.reshape(points.shape)
        xp, theta = self._phases(points, time)
        cosine, (cosh, sinh) = xp.cos(theta), self._decay(xp, points)
        factor = self.gravity * self.wavenumber
        acceleration = self._motion(xp, cosh * xp.sin(theta), -sinh * cosine, factor)
        return cosine @ constant(xp, self.amplitude), acceleration

    def _block(self, points: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Return η (n,) and ∂u/∂t (n, 3) at n points that fit into the processor's cache.

        Cosine and sine follow from t = tan(θ/2), within 1e-15: (1 − t²)/(1 + t²), 2 t/(1 + t²).
        """
        xp, theta = self._phases(points, time)
        theta *= 0.5
        tangent = np.tan(theta, out=theta)
        square = tangent * tangent
        scale = 1 / (1 + square)
        cosine, sine = (1 - square) * scale, 2 * tangent * scale
        cosh, sinh = self._decay(xp, points)
        factor = self.gravity * self.wavenumber
        return cosine @ self.amplitude, self._motion(xp, cosh * sine, -sinh * cosine, factor)

    def acceleration(self, points: Array, time: float) -> Array:
        """Return ∂u/∂t (..., 3) in m/s² at points (..., 3) and a time in s."""
        return self.elevation_and_acceleration(points, time)[1]

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


# Irregular seas: wave spectra cut into components of equal energy, drawn from a seed.

_GRID = np.linspace(0.4, 6.0, 20_001)
"""ω/ω_p over which spectra are integrated; less than 1 % of the energy is outside."""


def jonswap(ratio: np.ndarray, gamma: float) -> np.ndarray:
    """Return the shape (...) of the JONSWAP spectrum at ω/ω_p (...); γ = 1 is Pierson-Moskowitz.

    S ∝ (ω/ω_p)^−5 exp(−5/4 (ω/ω_p)^−4) γ^exp(−(ω/ω_p − 1)²/(2σ²)), σ = 0.07 up to the peak and
    0.09 beyond. Source: Hasselmann et al. (1973); DNV-RP-C205, 3.5.5.
    """
    sigma = np.where(ratio <= 1, 0.07, 0.09)
    peak = gamma ** np.exp(-((ratio - 1) ** 2) / (2 * sigma**2))
    return ratio**-5.0 * np.exp(-1.25 * ratio**-4.0) * peak


def spreading_angles(exponent: float, quantiles: np.ndarray) -> np.ndarray:
    """Return angles (n,) in rad whose distribution cos^2s(θ/2) has below them shares (n,).

    Source: Longuet-Higgins et al. (1963). An infinite exponent is a long-crested sea.
    """
    if math.isinf(exponent):
        return np.zeros_like(quantiles)
    theta = np.linspace(-np.pi, np.pi, 7201)
    density = np.cos(theta / 2) ** (2 * exponent)
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(quantiles, total / total[-1], theta)


def irregular_waves(
    significant_height: float,
    peak_period: float,
    *,
    gamma: float = 3.3,
    direction: float = 0.0,
    spreading: float = math.inf,
    components: int = 64,
    seed: int = 0,
    depth: float = math.inf,
    gravity: float = 9.8,
) -> Waves:
    """Return a sea of a JONSWAP spectrum (Pierson-Moskowitz for γ = 1).

    Every component has the same energy, so 4 √m₀ is the significant height exactly; its frequency
    is drawn within its share of the spectrum, so that the sea does not repeat.

    Args:
        significant_height: 4 √m₀, m.
        peak_period: s.
        direction: towards which the sea travels, rad from east to north.
        spreading: s of cos^2s(θ/2).
        components: number of them.
        seed: random seed of frequencies, directions and phases.
        depth: depth of the water, m.
        gravity: m/s².
    """
    density = jonswap(_GRID, gamma)
    energy = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    draws = uniform(seed, 'waves', 3 * components).reshape(3, components)
    quantiles = (np.arange(components) + draws[0]) / components
    ratio = np.interp(quantiles, energy / energy[-1], _GRID)
    # Directions are dealt to the frequencies at random, one from every part of the spreading.
    order = np.argsort(draws[1])
    angles = spreading_angles(spreading, (order + 0.5) / components)
    amplitude = significant_height / 4 * math.sqrt(2 / components)
    return Waves(
        np.full(components, amplitude),
        2 * math.pi / peak_period * ratio,
        direction + angles,
        2 * math.pi * draws[2],
        depth,
        gravity,
    )
