# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of the water that packages add, and internal waves of stratified water."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.schema import REQUIRED, declaration, number
from marine_sim_ros.environment.water_fields import WaterFields

__all__ = ['INTERNAL_WAVES', 'InternalMode', 'InternalWaves', 'WaterFunction', 'internal_mode']


@dataclass(frozen=True)
class WaterFunction:
    """Function that gives an environment the fields of its water, or changes those it has.

    Attributes:
        name: as in an environment file, ``type``.
        spec: dataclass whose fields declare its keys (core/schema.py).
        make: function of the spec, of the fields that profile or data give, or None, and of the
            origin. It returns fields: those of another grid, or of a subclass whose methods are
            functions of place and time, in NumPy and JAX alike.
        text: one line about it.
    """

    name: str
    spec: type
    make: Callable[[Any, WaterFields | None, Origin], WaterFields]
    text: str


_GRAVITY = 9.81
_LEAST_STRATIFICATION = 1e-6
"""N², 1/s²: water of one temperature and salinity has up to a tenth of it."""
_LAYERS = 400
"""Layers of the grid on which a mode is computed."""
_BISECTIONS = 100
_COMPRESSION = 4.5e-3
"""kg/m³ per m: ρ g/c², by which sea water that sinks becomes denser."""


class InternalMode(NamedTuple):
    """Vertical mode: heights z (m,) in m, φ (m,), its slope dφ/dz (m,) in 1/m, and ω in rad/s."""

    height: np.ndarray
    shape: np.ndarray
    slope: np.ndarray
    frequency: float


def internal_mode(
    squared: np.ndarray, depth: float, wavenumber: float, number: int
) -> InternalMode:
    """Return a mode of internal waves in still water over a level bottom.

    φ'' + k² (N²/ω² − 1) φ = 0 with φ = 0 at the surface and at the bottom and the greatest |φ|
    1, by central differences and bisection of 1/ω². Sums and products alone: the result is the
    same on every machine. Source: Gill (1982), Atmosphere-Ocean Dynamics, section 6.10, with a
    rigid lid.

    Args:
        squared: N² (m,) at evenly spaced depths from 0 to the bottom, 1/s².
        depth: of the bottom, m.
        wavenumber: k, 1/m.
        number: of the mode, from 1: how many half waves φ has.

    Raises:
        ParameterError: the water is not stratified.
    """
    if not np.any(squared > _LEAST_STRATIFICATION):
        raise ParameterError(
            'internal_waves: density hardly increases with depth; expected stratified water, N² '
            f'of more than {_LEAST_STRATIFICATION:g} 1/s²'
        )
    step = depth / (len(squared) - 1)
    n2 = np.maximum(squared, 0.0).tolist()

    def shoot(slowness: float) -> list[float]:
        """Return φ from the surface down for a value of 1/ω²."""
        phi = [0.0, step]
        for i in range(1, len(n2) - 1):
            bend = wavenumber**2 * (1.0 - n2[i] * slowness)
            phi.append((2.0 + step * step * bend) * phi[-1] - phi[-2])
        return phi

    def half_waves(slowness: float) -> int:
        """Return the number of zeros of φ below the surface, with one at the bottom."""
        return sum(a * b <= 0 for a, b in pairwise(shoot(slowness)[1:]))

    low = high = 1.0 / max(n2)  # ω < N everywhere
    while half_waves(high) < number:
        high *= 2.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if half_waves(middle) >= number else (middle, high)
    phi = np.array(shoot(high))
    phi[-1] = 0.0
    phi /= phi[np.argmax(np.abs(phi))]
    slope = -np.gradient(phi, step)
    return InternalMode(-step * np.arange(len(phi)), phi, slope, 1.0 / math.sqrt(high))


@dataclass(frozen=True, eq=False, kw_only=True)
class InternalWaves(WaterFields):
    """Fields that an internal wave of small steepness displaces and moves.

    With θ = k·x − ω t + θ₀ and the mode φ(z), water is displaced upward by ζ = a φ cos θ, moves up
    by a ω φ sin θ and along the wave by (a ω/k) φ' cos θ, and its pressure changes by
    ρ (ω/k) times the latter. Temperature, salinity and the others are those of the depth where
    the water came from; density is that too, less the compression ρ g ζ/c². Source: Gill (1982),
    sections 6.4 and 6.10.

    Attributes:
        amplitude: a, largest displacement, m.
        wave: (2,) k, 1/m, in map.
        phase: θ₀, rad.
        mode: φ and ω.
    """

    amplitude: float
    wave: np.ndarray
    phase: float
    mode: InternalMode

    @property
    def is_steady(self) -> bool:
        """Whether the fields are the same at all times."""
        return False

    @property
    def has_current(self) -> bool:
        """Whether the current is among the fields."""
        return True

    def _angle(self, points: Array, time: Array) -> Array:
        across = points[..., 0] * float(self.wave[0]) + points[..., 1] * float(self.wave[1])
        return across - self.mode.frequency * time + self.phase

    def _mode_at(self, points: Array, *tables: np.ndarray) -> list[Array]:
        """Return φ, φ' or both (...) at points; 0 above the surface and below the bottom."""
        xp, count = namespace(points), len(self.mode.height)
        place = points[..., 2] / float(self.mode.height[1])
        inside = xp.minimum(xp.maximum(place, 0.0 * place), 0.0 * place + (count - 1))
        lower = xp.minimum(xp.floor(inside), 0.0 * place + (count - 2))
        index, fraction = xp.astype(lower, xp.int32), inside - lower
        is_in = (place >= 0) & (place <= count - 1)

        def at(values: np.ndarray) -> Array:
            table = constant(xp, values)
            above, below = (xp.take(table, index + i, axis=0) for i in (0, 1))
            return xp.where(is_in, above + fraction * (below - above), 0.0 * place)

        return [at(values) for values in tables]

    def displacement(self, points: Array, time: Array) -> Array:
        """Return ζ (...) at points, m upward."""
        angle = self._angle(points, time)
        [shape] = self._mode_at(points, self.mode.shape)
        return self.amplitude * shape * namespace(angle).cos(angle)

    def _source(self, points: Array, time: Array) -> tuple[Array, Array]:
        """Return the origin of the water at points (..., 3), and its rise, m."""
        rise = self.displacement(points, time)
        height = points[..., 2] - rise
        source = namespace(points).stack([points[..., 0], points[..., 1], height], axis=-1)
        return source, rise

    def value(self, name: str, points: Array, time: Array) -> Array:
        """Return a field (...) at points: temperature, salinity, or one of the others."""
        return super().value(name, self._source(points, time)[0], time)

    def density(self, points: Array, time: Array) -> Array:
        """Return ρ (...) at points, kg/m³."""
        source, rise = self._source(points, time)
        return super().density(source, time) - _COMPRESSION * rise

    def sound_speed(self, points: Array, time: Array) -> Array:
        """Return c (...) at points, m/s."""
        return super().sound_speed(self._source(points, time)[0], time)

    def mass_above(self, points: Array, time: Array) -> Array:
        """Return the pressure over g (...) at points, kg/m²; 0 above the mean surface."""
        xp = namespace(points)
        angle = self._angle(points, time)
        speed = self.mode.frequency / math.hypot(*self.wave.tolist())
        [slope] = self._mode_at(points, self.mode.slope)
        swing = self.amplitude * speed**2 / _GRAVITY * slope * xp.cos(angle)
        mass = super().mass_above(points, time) + super().density(points, time) * swing
        return xp.where(points[..., 2] < 0, mass, 0.0 * mass)

    def velocity(self, points: Array, time: Array) -> Array:
        """Return the current (..., 3) at points in map, m/s."""
        xp = namespace(points)
        angle = self._angle(points, time)
        shape, slope = self._mode_at(points, self.mode.shape, self.mode.slope)
        frequency = self.amplitude * self.mode.frequency
        squared = float(self.wave @ self.wave)
        along = frequency / squared * slope * xp.cos(angle)
        orbital = xp.stack(
            [
                float(self.wave[0]) * along,
                float(self.wave[1]) * along,
                frequency * shape * xp.sin(angle),
            ],
            axis=-1,
        )
        return super().velocity(points, time) + orbital if super().has_current else orbital


@declaration(frozen=True)
class InternalWaveElement:
    """Internal wave on stratified water."""

    amplitude: float = number(REQUIRED, 0.0, 200.0, 'm', 'greatest displacement of the water')
    wavelength: float = number(REQUIRED, 1.0, 1e6, 'm', 'length of the wave')
    depth: float = number(REQUIRED, 1.0, 11_000.0, 'm', 'depth of the level bottom of the mode')
    direction: float = number(
        0.0, -360.0, 360.0, '°', 'direction that the wave goes to, anticlockwise from east'
    )
    mode: int = number(1, 1, 8, '', 'number of the vertical mode', whole=True)
    phase: float = number(0.0, -360.0, 360.0, '°', 'phase at the origin at the start')


def _make(element: InternalWaveElement, water: WaterFields | None, origin: Origin) -> WaterFields:
    """Return fields that an internal wave moves.

    Raises:
        ParameterError: the water is not stratified, or the wave would overturn.
    """
    if water is None:
        raise ParameterError('internal_waves: the water is uniform; expected a profile or data')
    height = -np.linspace(0.0, element.depth, _LAYERS + 1)
    points = np.column_stack([np.zeros((len(height), 2)), height])
    density = water.density(points, 0.0)
    sound = water.sound_speed(points, 0.0)
    squared = -_GRAVITY / density * np.gradient(density, height) - (_GRAVITY / sound) ** 2
    wavenumber = 2 * math.pi / element.wavelength
    mode = internal_mode(squared, element.depth, wavenumber, element.mode)
    steepness = element.amplitude * float(np.max(np.abs(mode.slope)))
    if steepness >= 1.0:
        raise ParameterError(
            f'internal_waves: amplitude is {element.amplitude:g}; at '
            f'{element.amplitude / steepness:.3g} m the wave overturns'
        )
    angle = math.radians(element.direction + origin.heading)
    wave = wavenumber * np.array([math.cos(angle), math.sin(angle)])
    given = {f.name: getattr(water, f.name) for f in fields(WaterFields)}
    return InternalWaves(
        **given,
        amplitude=element.amplitude,
        wave=wave,
        phase=math.radians(element.phase),
        mode=mode,
    )


INTERNAL_WAVES = WaterFunction(
    'internal_waves',
    InternalWaveElement,
    _make,
    'Internal wave of a vertical mode: it displaces stratified water and moves what is in it',
)
