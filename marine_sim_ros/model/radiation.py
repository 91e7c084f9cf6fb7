# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""<radiation>: the memory of the waves that a floating body makes, as damped oscillators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marine_sim_ros.model.xml import Reader

__all__ = ['AXES', 'FASTEST', 'Radiation', 'read_radiation']

AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
FASTEST = 50.0
"""rad/s; oscillator and vehicle together, so that steps of up to 40 ms are stable."""
_LARGEST = 1e12
_FASTEST = 100.0
"""rad/s and 1/s; waves of 1 cm have 78 rad/s."""


@dataclass(frozen=True, eq=False)
class Radiation:
    """Oscillators that a vehicle's velocity drives, and that push back.

    Attributes:
        axes: (n,) of surge to yaw, from 0.
        coefficient: (n,) c, N/m or N m/rad: the memory's kernel at time 0.
        frequency: (n,) ω₀, rad/s.
        decay: (n,) α, 1/s.
    """

    axes: np.ndarray
    coefficient: np.ndarray
    frequency: np.ndarray
    decay: np.ndarray

    @cached_property
    def selection(self) -> np.ndarray:
        """(n, 6) one where an oscillator is on an axis."""
        return np.eye(6)[self.axes]

    def fastest(self, inverse_mass: np.ndarray) -> float:
        """Return the largest √(ω₀² + Σ c M⁻¹) of an oscillator and its axis, rad/s.

        Args:
            inverse_mass: (6, 6) inverse of the mass matrix, added mass included.
        """
        stiffness = self.selection.T @ self.coefficient * np.diag(inverse_mass)
        return float(np.sqrt(np.max(self.frequency**2 + stiffness[self.axes])))

    def damping(self, omega: float) -> np.ndarray:
        """Return B(ω) (6,) = Σ 2 α c ω²/((ω₀² − ω²)² + 4 α² ω²), never negative; N s/m, N m s."""
        square = omega * omega
        below = (self.frequency**2 - square) ** 2 + 4 * self.decay**2 * square
        return self.selection.T @ (2 * self.decay * self.coefficient * square / below)

    def added_mass(self, omega: float) -> np.ndarray:
        """Return A(ω) − A(∞) (6,) = Σ c (ω₀² − ω²)/((ω₀² − ω²)² + 4 α² ω²); kg, kg m²."""
        rest = self.frequency**2 - omega * omega
        below = rest**2 + 4 * self.decay**2 * omega * omega
        return self.selection.T @ (self.coefficient * rest / below)


def read_radiation(reader: Reader) -> Radiation:
    """Return the oscillators of an element.

    ``<radiation> <mode axis="heave" coefficient="120000" frequency="1.2" decay="0.6"/> …``

    Raises:
        ModelError: no mode, an axis that is unknown, or a number that cannot be used.
    """
    modes = reader.children({'mode'})
    if not modes:
        raise reader.error('has no <mode>; expected one or more')
    rows = []
    for mode in modes:
        mode.children(())
        axis = mode.attribute('axis')
        if axis not in AXES:
            raise mode.error(f'axis is {axis!r}; expected one of: {", ".join(AXES)}')
        numbers = [
            mode.number(low, high, mode.attribute(name))
            for name, low, high in (
                ('coefficient', 0.0, _LARGEST),
                ('frequency', 1e-3, _FASTEST),
                ('decay', 1e-3, _FASTEST),
            )
        ]
        rows.append((AXES.index(axis), *numbers))
    axes, *columns = (np.array(column) for column in zip(*rows, strict=True))
    return Radiation(axes, *columns)
