# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Small and banded linear systems, tables, tracking of a target, and checks of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, is_single_vector, is_traced, namespace
from marine_sim_ros.core.errors import ParameterError

__all__ = [
    'InterpolationTable',
    'approach',
    'check_rows',
    'check_time',
    'interpolation_table',
    'limit_vector',
    'linear_between',
    'linear_solve',
    'matrix_inverse',
    'nice_step',
    'smallest_indices',
    'solve_banded',
]


# Small systems of linear equations for every array library.


def _eliminate(work: Array) -> Array:
    """Return A⁻¹ B by Gauss-Jordan elimination of [A | B] (..., n, n + k).

    Without pivoting: for matrices near symmetric positive ones. Compiled, n = 6, it is a tenth
    of a call of LAPACK with its exchange of rows.
    """
    xp, n = namespace(work), work.shape[-2]
    for k in range(n):
        is_pivot = constant(xp, np.arange(n)[:, None] == k)
        row = work[..., k : k + 1, :] / work[..., k : k + 1, k : k + 1]
        work = xp.where(is_pivot, row, work - work[..., :, k : k + 1] * row)
    return work[..., n:]


def linear_solve(matrix: Array, vector: Array) -> Array:
    """Return A⁻¹ b (..., n) of matrices (..., n, n) and vectors (..., n)."""
    xp = namespace(vector)
    if is_single_vector(vector) and matrix.ndim == 2:
        return np.linalg.solve(matrix, vector)
    if not is_traced(xp):
        return xp.linalg.solve(matrix, vector[..., None])[..., 0]
    column = vector[..., None] + xp.zeros_like(matrix[..., :1])
    return _eliminate(xp.concat([matrix + 0 * column, column], axis=-1))[..., 0]


def matrix_inverse(matrix: Array) -> Array:
    """Return A⁻¹ (..., n, n)."""
    xp = namespace(matrix)
    if not is_traced(xp):
        return xp.linalg.inv(matrix)
    eye = constant(xp, np.eye(matrix.shape[-1])) + xp.zeros_like(matrix)
    return _eliminate(xp.concat([matrix, eye], axis=-1))


def smallest_indices(values: Array, count: int) -> Array:
    """Return the indices (..., count) of the smallest values (..., n), in ascending order.

    They are compared in single precision; of equal ones the first counts. XLA's sort would take
    70 µs, its search for the largest takes 2.
    """
    xp = namespace(values)
    single = xp.astype(values, xp.float32)
    if not is_traced(xp):
        return xp.argsort(single, axis=-1, stable=True)[..., :count]
    from jax import lax

    return lax.top_k(-single, count)[1]


# Banded, symmetric positive definite linear systems: O(n) for n unknowns.


def solve_banded(band: Array, right: Array) -> Array:
    """Return x (..., n) of A x = b.

    LAPACK's Cholesky factors for NumPy; for what is traced L D Lᵀ, one row in a step of a loop.

    Args:
        band: (..., m + 1, n) lower band of A: ``band[r, j]`` is A[j + r, j], and 0 below A.
        right: (..., n) b.
    """
    xp = namespace(right)
    if is_traced(xp):
        return _solve_by_scan(xp, band, right)
    if right.ndim == 1:
        from scipy.linalg.lapack import dpbsv

        return np.asarray(dpbsv(band, right, lower=1)[1])
    flat = zip(band.reshape(-1, *band.shape[-2:]), right.reshape(-1, right.shape[-1]), strict=True)
    return np.stack([solve_banded(a, b) for a, b in flat]).reshape(right.shape)


def _solve_by_scan(xp: Any, band: Array, right: Array) -> Array:
    """Return x (n,) of one system; a batch comes with ``jax.vmap``.

    Golub and Van Loan (2013), section 4.3, right-looking: a window has the m rows that the next
    row meets. Rows of an identity before the first and after the last need no special case.
    """
    from jax import lax

    width, n = band.shape[0] - 1, band.shape[1]
    # Row i of A: A[i, i - m], ..., A[i, i].
    distance = np.arange(width, -1, -1)
    column = np.arange(n)[:, None] - distance
    rows = xp.where(column >= 0, band[distance, np.maximum(column, 0)], 0.0)
    last = np.zeros((width, width + 1))
    last[:, -1] = 1.0
    rows = xp.concat([rows, xp.asarray(last, dtype=rows.dtype)])
    padded = xp.concat([right, xp.zeros_like(right[:width])])

    def eliminate(window: Any, entering: Any) -> Any:
        (matrix, remainder), (row, value) = window, entering
        full = xp.concat([xp.concat([matrix, row[:-1, None]], axis=1), row[None, :]])
        pivot, values = full[0, 0], xp.concat([remainder, value[None]])
        factor = full[1:, 0] / pivot
        matrix = full[1:, 1:] - factor[:, None] * full[1:, 0]
        return (matrix, values[1:] - factor * values[0]), (factor, values[0] / pivot)

    start = (xp.eye(width, dtype=right.dtype), xp.zeros(width, dtype=right.dtype))
    _, (factors, values) = lax.scan(eliminate, start, (rows, padded))

    def substitute(after: Any, row: Any) -> Any:
        factor, value = row
        x = value - xp.sum(factor * after)
        return xp.concat([x[None], after[:-1]]), x

    _, x = lax.scan(substitute, start[1], (factors, values), reverse=True)
    return x[width:]


# Sets of piecewise-linear tables.


@dataclass(frozen=True, eq=False)
class InterpolationTable:
    """n piecewise-linear functions through the origin value, held constant beyond their ends.

    y(x) = y₀ + Σⱼ slopeⱼ · clip(x − anchorⱼ, lowerⱼ, upperⱼ). The segments are anchored at the
    knot where y is zero, so that a table that has a zero gives it exactly, without rounding.
    Fixed shapes and no search, so the same code runs on every array library.
    """

    base: np.ndarray
    slope: np.ndarray
    anchor: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def __call__(self, x: Array) -> Array:
        """Return y (..., n) of x (..., n)."""
        xp = namespace(x)
        ramp = xp.minimum(
            xp.maximum(x[..., None] - constant(xp, self.anchor), constant(xp, self.lower)),
            constant(xp, self.upper),
        )
        return constant(xp, self.base) + xp.vecdot(ramp, constant(xp, self.slope))


def _segments(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the base value and rows (slope, anchor, lower, upper) of one table."""
    centre = int(np.argmin(np.abs(y)))
    width = np.diff(x)
    slope = np.diff(y) / width
    above = np.arange(len(width)) >= centre
    anchor = np.where(above, x[:-1], x[1:])
    zero = np.zeros_like(width)
    return float(y[centre]), np.stack(
        [slope, anchor, np.where(above, zero, -width), np.where(above, width, zero)]
    )


def interpolation_table(knots: Sequence[tuple[np.ndarray, np.ndarray]]) -> InterpolationTable:
    """Build a table of n functions from n pairs (x, y); x must rise strictly."""
    bases, rows = zip(
        *(_segments(np.asarray(x, float), np.asarray(y, float)) for x, y in knots), strict=True
    )
    longest = max(r.shape[1] for r in rows)
    padded = np.stack([np.pad(r, ((0, 0), (0, longest - r.shape[1]))) for r in rows])
    return InterpolationTable(
        np.array(bases), *(np.ascontiguousarray(padded[:, i]) for i in range(4))
    )


# Smooth motion towards a target, for driven joints and filtered set-points.

_TINY = 1e-30
"""Added before a square root, so that its derivative at 0 is finite in single precision too."""


def limit_vector(vector: Array, limit: Array, *, together: bool) -> Array:
    """Return a vector (..., n) no larger than ``limit``: each component, or its length."""
    xp = namespace(vector)
    if not together:
        return xp.clip(vector, -limit, limit)
    square = xp.vecdot(vector, vector)[..., None]
    length = xp.sqrt(xp.maximum(square, xp.zeros_like(square) + _TINY))
    return vector * (limit / xp.maximum(length, limit * xp.ones_like(length)))


def approach(
    error: Array,
    rate: Array,
    *,
    bandwidth: Array,
    max_rate: Array,
    dt: Any,
    together: bool = False,
) -> tuple[Array, Array]:
    """Return the next rate (..., n) and acceleration of a critically damped motion to a target.

    ẍ = ω² e − 2 ω ẋ with |ẋ| ≤ ẋ_max and |ẍ| ≤ ω ẋ_max / 2, one implicit Euler step: critically
    damped, stable at any step. Braking from full rate needs at most ω ẋ_max / e, so the limits
    cause no overshoot. Source: Fossen (2011) section 10.2.1, reference models of second order.

    Args:
        error: target less position, (..., n).
        rate: present rate (..., n).
        bandwidth: ω, rad/s.
        max_rate: ẋ_max > 0.
        dt: step, s; 0 changes nothing.
        together: the limits hold for the length of the vector: from rest it goes straight.
    """
    xp = namespace(rate)
    if isinstance(dt, int | float) and dt <= 0:
        return rate, xp.zeros_like(rate)
    h = bandwidth * dt
    unlimited_rate = (rate + h * bandwidth * error) / (1 + 2 * h + h * h)
    unlimited_rate = limit_vector(unlimited_rate, max_rate, together=together)
    change = limit_vector(unlimited_rate - rate, h * max_rate / 2, together=together)
    return rate + change, change / dt


# Checks of arrays: shape, finite numbers, rising times.


def check_time(time: np.ndarray, *, min_duration: float = 0.0) -> np.ndarray:
    """Return times (n,) in s that rise and are long enough to be judged.

    Raises:
        ParameterError: fewer than two, not finite, not rising, or shorter than ``min_duration``
            (s).
    """
    result = np.asarray(time, float)
    if result.ndim != 1 or len(result) < 2:
        raise ParameterError(f'time has shape {result.shape}; expected (n,) with two or more')
    _check_finite('time', result)
    late = np.flatnonzero(np.diff(result) <= 0)
    if len(late):
        i = int(late[0]) + 1
        raise ParameterError(
            f'time[{i}] is {result[i]:g} s after {result[i - 1]:g} s; expected rising times'
        )
    span = result[-1] - result[0]
    # A run of 10 s by 0.005 s may last 9.999999999999998 s.
    if span < min_duration * (1 - 1e-9):
        raise ParameterError(
            f'the run lasts {span:g} s; expected at least {min_duration:g} s to judge'
        )
    return result


def check_rows(
    name: str, values: np.ndarray, rows: int, columns: int, *, holes: bool = False
) -> np.ndarray:
    """Return an array (rows, columns) of finite numbers, or of numbers and NaN with ``holes``.

    Raises:
        ParameterError: another shape, or a value that is not finite.
    """
    result = np.asarray(values, float)
    if result.shape != (rows, columns):
        raise ParameterError(f'{name} has shape {result.shape}; expected ({rows}, {columns})')
    _check_finite(name, np.where(np.isnan(result), 0.0, result) if holes else result)
    return result


def _check_finite(name: str, values: np.ndarray) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = ', '.join(map(str, bad[0]))
        raise ParameterError(
            f'{name}[{where}] is {values[tuple(bad[0])]}; expected finite numbers'
        )


# Steps of scales.


def nice_step(span: float, parts: int) -> float:
    """Return 1, 2 or 5 times a power of ten, of which about ``parts`` cover a span."""
    raw = max(span, 1e-6) / parts
    power = 10.0 ** math.floor(math.log10(raw))
    return min((s * power for s in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(math.log(s / raw)))


def linear_between(
    values: np.ndarray, places: np.ndarray, count: int, axis: int = 0
) -> np.ndarray:
    """Return values at 0 to ``count`` − 1 along an axis, linear between those at rising places.

    Args:
        values: (..., k, ...) at the places.
        places: (k,) whole numbers, or more than one of the last.
        count: number of values to return.
        axis: the axis of the places.
    """
    index = np.arange(count)
    right = np.clip(np.searchsorted(places, index, side='right'), 1, len(places) - 1)
    span = np.maximum(places[right] - places[right - 1], 1)
    fraction = np.clip((index - places[right - 1]) / span, 0.0, 1.0)
    fraction = fraction.reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    left = np.take(values, right - 1, axis=axis)
    return np.asarray(left + fraction * (np.take(values, right, axis=axis) - left))
