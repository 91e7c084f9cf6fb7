# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hulls: panels that drag, voxels that float, and the waves that they radiate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, nested, number
from marine_sim_ros.model.xml import Reader

__all__ = [
    'FORCE_TERMS',
    'Hull',
    'MAX_COUPLED_RATE',
    'MOTION_AXES',
    'PanelCoefficients',
    'Panels',
    'Radiation',
    'RadiationElement',
    'VoxelSet',
    'check_terms',
    'lever_mobility',
    'read_radiation',
]


# The hull of a vehicle as the physics sees it: panels that drag and voxels that float.

FORCE_TERMS = ('viscous', 'pressure', 'suction', 'slamming', 'air')
"""The forces on panels, by the names they are published and switched under."""


@dataclass(frozen=True, eq=False)
class PanelCoefficients:
    """Coefficients of every panel, (n,) each; pressures in Pa (physics/panels.py).

    Attributes:
        water_density: kg/m³, of the water the vehicle is trimmed for.
        air_density: kg/m³.
        velocity_reference: m/s.
        viscous: 1, or 0 where friction is switched off.
        C_PD1: linear pressure coefficient, Pa.
        C_PD2: quadratic pressure coefficient, Pa.
        f_P: exponent of the angle.
        C_SD1: linear suction coefficient, Pa.
        C_SD2: quadratic suction coefficient, Pa.
        f_S: exponent of the angle.
        slamming_power: exponent of the rise.
        max_acceleration: m/s².
        slamming_multiplier: factor.
        air_coefficient: drag coefficient in air.
    """

    water_density: np.ndarray
    air_density: np.ndarray
    velocity_reference: np.ndarray
    viscous: np.ndarray
    C_PD1: np.ndarray
    C_PD2: np.ndarray
    f_P: np.ndarray
    C_SD1: np.ndarray
    C_SD2: np.ndarray
    f_S: np.ndarray
    slamming_power: np.ndarray
    max_acceleration: np.ndarray
    slamming_multiplier: np.ndarray
    air_coefficient: np.ndarray


_SWITCHED = {
    'viscous': ('viscous',),
    'pressure': ('C_PD1', 'C_PD2'),
    'suction': ('C_SD1', 'C_SD2'),
    'slamming': ('slamming_multiplier',),
    'air': ('air_coefficient',),
}
"""What is zero where a term is switched off."""


@dataclass(frozen=True, eq=False)
class Panels:
    """Triangles of the hull, corners counter-clockwise seen from outside; n of them.

    Attributes:
        vertices: (v, 3) m.
        faces: (n, 3) indices of vertices.
    """

    vertices: np.ndarray
    faces: np.ndarray
    coefficients: PanelCoefficients

    def __len__(self) -> int:
        """Return the number of panels."""
        return len(self.faces)

    @cached_property
    def corners(self) -> np.ndarray:
        """(n, 3, 3) m: corner, coordinate."""
        return np.ascontiguousarray(self.vertices[self.faces])

    @cached_property
    def _area_vector(self) -> np.ndarray:
        a, b, c = np.moveaxis(self.corners, 1, 0)
        return np.cross(b - a, c - a) / 2

    @cached_property
    def area(self) -> np.ndarray:
        """(n,) m²."""
        return np.linalg.norm(self._area_vector, axis=1)

    @cached_property
    def normal(self) -> np.ndarray:
        """(n, 3) unit vectors, outward."""
        return self._area_vector / self.area[:, None]

    @cached_property
    def center(self) -> np.ndarray:
        """(n, 3) m."""
        return self.corners.mean(axis=1)

    @cached_property
    def corner_rows(self) -> np.ndarray:
        """(3, 3, n) m: corner, coordinate, panel."""
        return np.ascontiguousarray(np.moveaxis(self.corners, 0, 2))

    @cached_property
    def normal_rows(self) -> np.ndarray:
        """(3, n) unit vectors."""
        return np.ascontiguousarray(self.normal.T)

    @cached_property
    def center_rows(self) -> np.ndarray:
        """(3, n) m."""
        return np.ascontiguousarray(self.center.T)

    @cached_property
    def length(self) -> float:
        """Forward extent of the panels' centres, m."""
        return float(np.ptp(self.center[:, 0]))

    @cached_property
    def total_area(self) -> float:
        """Total area of the panels, m²."""
        return float(self.area.sum())


@dataclass(frozen=True, eq=False)
class VoxelSet:
    """Cells of displaced volume; m of them.

    Attributes:
        center: (m, 3) m.
        volume: (m,) that a cell displaces when it is under water, m³.
        extent: (m, 3, 3) edge vectors of the cell's box, m: edge, coordinate.
    """

    center: np.ndarray
    volume: np.ndarray
    extent: np.ndarray

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.volume)

    @cached_property
    def center_rows(self) -> np.ndarray:
        """(3, m) m."""
        return np.ascontiguousarray(self.center.T)

    @cached_property
    def extent_rows(self) -> np.ndarray:
        """(3, 3, m) m: edge, coordinate, cell."""
        return np.ascontiguousarray(np.moveaxis(self.extent, 0, 2))

    @property
    def total_volume(self) -> float:
        """m³."""
        return float(self.volume.sum())

    @property
    def centroid(self) -> np.ndarray:
        """(3,) centre of the displaced volume, m."""
        return self.volume @ self.center / self.volume.sum()


def check_terms(terms: Sequence[str]) -> None:
    """Raise ModelError for a name that is not in FORCE_TERMS."""
    for term in terms:
        if term not in FORCE_TERMS:
            raise ModelError(
                f'unknown hull force {term!r}; expected any of: {", ".join(FORCE_TERMS)}'
            )


@dataclass(frozen=True, eq=False)
class Hull:
    """What is in the water.

    Attributes:
        panels: panels of the drag; None where the drag is lumped.
        voxels: voxels of the buoyancy; None where the buoyancy is lumped.
        water_density: water density for which the vehicle is trimmed, kg/m³.
    """

    panels: Panels | None
    voxels: VoxelSet | None
    water_density: float

    def with_terms(self, terms: tuple[str, ...]) -> Hull:
        """Return the hull with only the named of the FORCE_TERMS switched on.

        Raises:
            ModelError: a term that does not exist.
        """
        check_terms(terms)
        if self.panels is None:
            return self
        off = {
            field: np.zeros(len(self.panels))
            for term, fields in _SWITCHED.items()
            for field in fields
            if term not in terms
        }
        coefficients = replace(self.panels.coefficients, **off)
        return replace(self, panels=replace(self.panels, coefficients=coefficients))


def lever_mobility(points: np.ndarray, inverse_mass: np.ndarray) -> np.ndarray:
    """Return tr(H M⁻¹ Hᵀ) (...) in 1/kg of points (..., 3), H = [E, −S(r)].

    The most that unit damping at a point can slow any motion of the body: with weights w at
    points, no rate of M⁻¹ Σ w Hᵀ H is above Σ w tr(H M⁻¹ Hᵀ).
    """
    x, y, z = np.moveaxis(np.asarray(points, float), -1, 0)
    zero = np.zeros_like(x)
    rows = [[zero, z, -y], [-z, zero, x], [y, -x, zero]]  # −S(r)
    turning = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    straight = np.broadcast_to(np.eye(3), turning.shape)
    lever = np.concatenate([straight, turning], axis=-1)
    return np.einsum('...ij,jk,...ik->...', lever, inverse_mass, lever)


# <radiation>: the memory of the waves that a floating body makes, as damped oscillators.

MOTION_AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
MAX_COUPLED_RATE = 50.0
"""rad/s; oscillator and vehicle together, so that steps of up to 40 ms are stable."""
_MAX_COEFFICIENT = 1e12
_MAX_MODE_RATE = 100.0
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
        difference = self.frequency**2 - omega * omega
        below = difference**2 + 4 * self.decay**2 * omega * omega
        return self.selection.T @ (self.coefficient * difference / below)


@declaration(frozen=True, kw_only=True)
class ModeElement:
    """<mode> of a <radiation>: one oscillator."""

    axis: str = choice(MOTION_AXES, 'axis of the vehicle', REQUIRED, place='attribute')
    coefficient: float = number(
        REQUIRED, 0.0, _MAX_COEFFICIENT, 'N/m', 'c; N m/rad of a rotation', place='attribute'
    )
    frequency: float = number(REQUIRED, 1e-3, _MAX_MODE_RATE, 'rad/s', 'ω₀', place='attribute')
    decay: float = number(REQUIRED, 1e-3, _MAX_MODE_RATE, '1/s', 'α', place='attribute')


@declaration(frozen=True, kw_only=True)
class RadiationElement:
    """<radiation>."""

    mode: tuple[ModeElement, ...] = nested(ModeElement, 'oscillators', many=True)


def read_radiation(reader: Reader) -> Radiation:
    """Return the oscillators of an element.

    ``<radiation> <mode axis="heave" coefficient="120000" frequency="1.2" decay="0.6"/> …``

    Raises:
        ModelError: no mode, an axis that is unknown, or a number that cannot be used.
    """
    modes = reader.read(RadiationElement).mode
    if not modes:
        raise reader.error('has no <mode>; expected one or more')
    axes = np.array([MOTION_AXES.index(mode.axis) for mode in modes])
    rows = [(mode.coefficient, mode.frequency, mode.decay) for mode in modes]
    return Radiation(axes, *map(np.array, zip(*rows, strict=True)))
