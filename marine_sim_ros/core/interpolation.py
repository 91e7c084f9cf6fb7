# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Piecewise-linear tables, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace

__all__ = ['Table', 'make_table']


@dataclass(frozen=True, eq=False)
class Table:
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


def make_table(knots: Sequence[tuple[np.ndarray, np.ndarray]]) -> Table:
    """Build a table of n functions from n pairs (x, y); x must rise strictly."""
    bases, rows = zip(
        *(_segments(np.asarray(x, float), np.asarray(y, float)) for x, y in knots), strict=True
    )
    longest = max(r.shape[1] for r in rows)
    padded = np.stack([np.pad(r, ((0, 0), (0, longest - r.shape[1]))) for r in rows])
    return Table(np.array(bases), *(np.ascontiguousarray(padded[:, i]) for i in range(4)))
