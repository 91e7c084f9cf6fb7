# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the damping of <hydrodynamics>, and accepts only what cannot add energy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.vehicle import Damping, DragElements, Lift
from marine_sim_ros.model.xml import Reader

__all__ = ['linear_flaw', 'quadratic_flaw', 'read_damping']

_ROUNDING = 1e-9
_NOTHING = 1e-60
"""Of roots of coefficients; what is less counts as 0, so that nothing overflows."""


def read_damping(root: Reader) -> Damping:
    """Return the damping of a <hydrodynamics>.

    Raises:
        ModelError: numbers that cannot be used, or with which some motion would gain energy.
    """
    zero = np.zeros((6, 6))
    return Damping(
        root.value_of('linear_damping', lambda r: _checked(r, linear_flaw), zero),
        root.value_of('quadratic_damping', lambda r: _checked(r, quadratic_flaw), zero),
        root.value_of('damping_center', Reader.vector, np.zeros(3)),
        root.value_of('modulus_damping', _modulus, None),
        _elements([Reader(e, root.source) for e in root.element.findall('drag_element')]),
        _lift([Reader(e, root.source) for e in root.element.findall('lift')]),
    )


def _checked(reader: Reader, flaw: Callable[[np.ndarray], str]) -> np.ndarray:
    matrix = reader.matrix6()
    if text := flaw(matrix):
        raise reader.error(text)
    return matrix


def linear_flaw(matrix: np.ndarray) -> str:
    """Return what is wrong with D_l (6, 6), or nothing.

    νᵀ D_l ν ≥ 0 where its symmetric part has no negative eigenvalue.
    """
    # Divided by what each axis has of its own, so that units do not matter.
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(size > _NOTHING, size, 1.0)
    least = float(np.min(np.linalg.eigvalsh((matrix + matrix.T) / 2 / np.outer(scale, scale))))
    if least >= -_ROUNDING:
        return ''
    return (
        'adds energy to some motion: its symmetric part has a negative eigenvalue; expected '
        'D with νᵀ D ν ≥ 0, such as |D_ij + D_ji| at most 2 √(D_ii D_jj) for a single pair'
    )


def quadratic_flaw(matrix: np.ndarray) -> str:
    """Return what is wrong with D_q (6, 6) of F_i = −Σ_j D_ij |ν_j| ν_j, or nothing.

    Its diagonal has to brake more than the rest adds. With x_i = D_ii^(1/3) |ν_i|, the power is at
    least Σ x_i³ − Σ |d_ij| x_i x_j², and x_i x_j² ≤ x_i³/3 + 2 x_j³/3 (Young's inequality).
    """
    root = np.cbrt(np.diag(matrix))
    rest = np.abs(matrix - np.diag(np.diag(matrix)))
    coupled = (rest > 0).any(axis=0) | (rest > 0).any(axis=1)
    if np.any(coupled & (root <= _NOTHING)):
        return (
            'couples an axis that has no coefficient of its own, which can add energy; expected a '
            'number on the diagonal of each axis with numbers beside it'
        )
    safe = np.where(root > _NOTHING, root, 1.0)
    share = rest / np.outer(safe, safe**2)
    most = share.sum(axis=1) / 3 + 2 * share.sum(axis=0) / 3
    if not np.any(most > 1 + _ROUNDING):
        return ''
    return (
        'can add energy to some motion: beside the diagonal it is too large; expected, with '
        'd_ij = |D_ij|/(D_ii D_jj²)^⅓, Σ_j d_ij/3 + 2 Σ_j d_ji/3 ≤ 1 for every axis i'
    )


def _modulus(reader: Reader) -> np.ndarray:
    """Return K of F_i = −(Σ_j K_ij |ν_j|) ν_i."""
    matrix = reader.matrix6()
    if np.any(matrix < 0):
        raise reader.error(
            'has a negative number, with which some motion adds energy to another; expected 0 or '
            'more everywhere'
        )
    return matrix


def _elements(readers: list[Reader]) -> DragElements | None:
    if not readers:
        return None
    direction = [reader.direction(reader.attribute('axis')) for reader in readers]

    def numbers(name: str) -> np.ndarray:
        return np.array([r.attribute_number(name, 0.0, 0.0, 1e9) for r in readers])

    places = [r.numbers({3}, r.attribute('xyz', '0 0 0')) for r in readers]
    for reader, place in zip(readers, places, strict=True):
        if np.max(np.abs(place)) > FARTHEST:
            raise reader.error(f"attribute 'xyz' is beyond {FARTHEST:g} m; expected a place on it")
    return DragElements(
        np.array(places),
        np.array(direction),
        numbers('linear'),
        numbers('quadratic'),
        numbers('mixed'),
    )


def _lift(readers: list[Reader]) -> Lift | None:
    """Return the lift; F · v = (B v) x v · v = 0 for every B, so none adds energy."""
    if not readers:
        return None
    values = [r.numbers({9}).reshape(3, 3) for r in readers]
    centers = [r.numbers({3}, r.attribute('xyz', '0 0 0')) for r in readers]
    for reader, value, center in zip(readers, values, centers, strict=True):
        if np.max(np.abs(value)) > 1e9 or np.max(np.abs(center)) > FARTHEST:
            raise reader.error('has a number that no vehicle has; expected N·s²/m², and a place')
    return Lift(np.array(values), np.array(centers))
