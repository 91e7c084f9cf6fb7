# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is fitted: names, units and bounds, and the matrices that a vector of values makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.drag import coupled_drag

__all__ = ['KINDS', 'Parameter', 'ParameterSet']

KINDS = ('added_mass', 'linear_damping', 'quadratic_damping')
"""Those with a value for each axis, called as in <hydrodynamics>."""
_UNITS = {
    'added_mass': ('kg', 'kg·m²'),
    'linear_damping': ('N·s/m', 'N·m·s'),
    'quadratic_damping': ('N·s²/m²', 'N·m·s²'),
}
_SLOWEST = 5.0
"""Of rotors, s."""
_TRIM = 0.2
"""How far the volume may be from that of the description, as a share of it."""


@dataclass(frozen=True)
class Parameter:
    """One number to be fitted.

    Attributes:
        kind: element of the URDF that holds it.
        axis: one of ``AXES``; empty where it has none.
        unit: SI.
        low: least value that is possible.
        high: largest.
        described: value in the description.
    """

    kind: str
    axis: str
    unit: str
    low: float
    high: float
    described: float

    @property
    def name(self) -> str:
        """As a person would call it."""
        return f'{self.kind} {self.axis}'.strip()


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """What is fitted of a vehicle; everything else stays as it is described.

    A vector θ (k,) has the diagonals of added mass, linear and quadratic damping, then the
    rotors' common time constant and the displaced volume where those are fitted.

    Attributes:
        vehicle: gives rigid-body mass, thrusters, centres, and all that is not on a diagonal.
        lag: whether the time constant is fitted.
        volume: whether the volume is.
    """

    vehicle: Vehicle
    lag: bool
    volume: bool

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All of them, in the order of θ."""
        vehicle = self.vehicle
        matrices = (vehicle.added_mass, vehicle.damping.linear, vehicle.damping.quadratic)
        result = [
            Parameter(kind, axis, _UNITS[kind][i > 2], 0.0, np.inf, float(matrix[i, i]))
            for kind, matrix in zip(KINDS, matrices, strict=True)
            for i, axis in enumerate(AXES)
        ]
        if self.lag:
            mean = float(np.mean(vehicle.thrusters.time_constant))
            result.append(Parameter('time_constant', '', 's', 0.0, _SLOWEST, mean))
        if self.volume:
            v = vehicle.buoyancy.volume
            result.append(Parameter('volume', '', 'm³', (1 - _TRIM) * v, (1 + _TRIM) * v, v))
        return tuple(result)

    def __len__(self) -> int:
        """Return k."""
        return len(self.parameters)

    @cached_property
    def low(self) -> np.ndarray:
        """(k,) lower bounds."""
        return np.array([p.low for p in self.parameters])

    @cached_property
    def high(self) -> np.ndarray:
        """(k,) upper bounds."""
        return np.array([p.high for p in self.parameters])

    @cached_property
    def described(self) -> np.ndarray:
        """(k,) values of the description."""
        return np.array([p.described for p in self.parameters])

    @cached_property
    def size(self) -> np.ndarray:
        """(k,) what each is small or large against before anything is known of it.

        The rigid body's own inertia M_ii; what brakes it within a second, M_ii/s, and within a
        metre or a radian; a second; the volume.
        """
        own = np.diag(self.vehicle.rigid_body_mass)
        rest = [1.0] * self.lag + [self.vehicle.buoyancy.volume] * self.volume
        return np.concatenate([own, own, own, rest])

    def mass(self, theta: np.ndarray) -> np.ndarray:
        """Return M_RB + M_A (..., 6, 6) of θ (..., k)."""
        described = self.vehicle.added_mass
        return self.vehicle.rigid_body_mass + _with_diagonal(described, theta[..., :6])

    def linear(self, theta: np.ndarray) -> np.ndarray:
        """Return D_l (..., 6, 6) of θ (..., k)."""
        return _with_diagonal(self.vehicle.damping.linear, theta[..., 6:12])

    def quadratic(self, theta: np.ndarray) -> np.ndarray:
        """Return D_q (..., 6, 6) of θ (..., k)."""
        return _with_diagonal(self.vehicle.damping.quadratic, theta[..., 12:18])

    def kept_drag(self, velocity: np.ndarray) -> np.ndarray:
        """Return what modulus damping, drag elements and lift take (..., 6) at a velocity."""
        return np.asarray(coupled_drag(self.vehicle.damping, velocity))

    def kept_damping(self, speed: np.ndarray) -> np.ndarray:
        """Return their drag over the speed (..., 6) of each axis alone, N·s/m and N·m·s."""
        none = np.zeros((6, 6))
        damping = replace(self.vehicle.damping, linear=none, quadratic=none)
        linear, quadratic = damping.by_axis
        return linear + quadratic * np.abs(speed)

    def time_constant(self, theta: np.ndarray) -> float | None:
        """Return the rotors' common time constant, s; None where it is not fitted."""
        return float(theta[18]) if self.lag else None

    def extra_volume(self, theta: np.ndarray) -> np.ndarray:
        """Return the volume (...) beyond the described one of θ (..., k), m³."""
        if not self.volume:
            return np.zeros(theta.shape[:-1])
        return np.asarray(theta[..., -1] - self.vehicle.buoyancy.volume)


def _with_diagonal(matrix: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    others = matrix - np.diag(np.diag(matrix))
    return others + diagonal[..., None, :] * np.eye(6)
