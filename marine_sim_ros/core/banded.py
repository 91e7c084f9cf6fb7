# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Linear systems whose matrix is symmetric, positive definite and banded: O(n) of n unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.control_flow import traced

__all__ = ['solve_banded']


def solve_banded(band: Array, right: Array) -> Array:
    """Return x (..., n) of A x = b.

    LAPACK's Cholesky factors for NumPy; for what is traced L D Lᵀ, one row in a step of a loop.

    Args:
        band: (..., m + 1, n) lower band of A: ``band[r, j]`` is A[j + r, j], and 0 below A.
        right: (..., n) b.
    """
    xp = namespace(right)
    if traced(xp):
        return _scanned(xp, band, right)
    if right.ndim == 1:
        from scipy.linalg.lapack import dpbsv

        return np.asarray(dpbsv(band, right, lower=1)[1])
    flat = zip(band.reshape(-1, *band.shape[-2:]), right.reshape(-1, right.shape[-1]), strict=True)
    return np.stack([solve_banded(a, b) for a, b in flat]).reshape(right.shape)


def _scanned(xp: Any, band: Array, right: Array) -> Array:
    """Return x (n,) of one system; a batch comes with ``jax.vmap``.

    Golub and Van Loan (2013), section 4.3, right-looking: a window has the m rows that the next
    row meets. Rows of an identity before the first and after the last need no special case.
    """
    from jax import lax

    width, n = band.shape[0] - 1, band.shape[1]
    # Row i of A: A[i, i - m], ..., A[i, i].
    apart = np.arange(width, -1, -1)
    column = np.arange(n)[:, None] - apart
    rows = xp.where(column >= 0, band[apart, np.maximum(column, 0)], 0.0)
    last = np.zeros((width, width + 1))
    last[:, -1] = 1.0
    rows = xp.concat([rows, xp.asarray(last, dtype=rows.dtype)])
    known = xp.concat([right, xp.zeros_like(right[:width])])

    def eliminate(window: Any, entering: Any) -> Any:
        (matrix, rest), (row, value) = window, entering
        full = xp.concat([xp.concat([matrix, row[:-1, None]], axis=1), row[None, :]])
        pivot, values = full[0, 0], xp.concat([rest, value[None]])
        factor = full[1:, 0] / pivot
        matrix = full[1:, 1:] - factor[:, None] * full[1:, 0]
        return (matrix, values[1:] - factor * values[0]), (factor, values[0] / pivot)

    start = (xp.eye(width, dtype=right.dtype), xp.zeros(width, dtype=right.dtype))
    _, (factors, values) = lax.scan(eliminate, start, (rows, known))

    def substitute(after: Any, row: Any) -> Any:
        factor, value = row
        x = value - xp.sum(factor * after)
        return xp.concat([x[None], after[:-1]]), x

    _, x = lax.scan(substitute, start[1], (factors, values), reverse=True)
    return x[width:]
